"""Test whether a register that an instruction in a loop uses has the same value in all iterations of the loop.

``is_invariant(code, loop, position, name)`` returns a bool.
"""

from __future__ import annotations

from ncuview.sass.cfg import Loop, control_flow
from ncuview.sass.code import Code
from ncuview.sass.dataflow import use_def
from ncuview.sass.instruction import Instruction
from ncuview.sass.loads import LANE_EXCHANGES, loaded_from

_OF_THE_MOMENT = frozenset({"S2R", "CS2R", "S2UR", "CS2UR", "CALL", "VOTE", "VOTEU"}) | LANE_EXCHANGES
"""Opcodes whose result may differ each time although the operands are the same."""


def is_invariant(code: Code, loop: Loop, position: int, name: str) -> bool:
    """Whether a register that an instruction in a loop uses has the same value in all iterations.

    It comes from outside the loop, or from one instruction in it that computes the same each time.
    """
    return _comes_from(code, _executed_in(code, loop), position, name, seen=frozenset())


def _comes_from(code: Code, inside: frozenset[int], position: int, name: str, seen: frozenset[int]) -> bool:
    definitions = use_def(code)[position].get(name, ())
    if inside.isdisjoint(definitions):
        return True
    at = definitions[0]
    if len(definitions) > 1 or at in seen or not _is_pure(code.instructions[at]):
        return False
    return all(_comes_from(code, inside, at, used, seen | {at}) for used in use_def(code)[at])


def _is_pure(each: Instruction) -> bool:
    return each.base_opcode not in _OF_THE_MOMENT and loaded_from(each) in {None, "constant"}


def _executed_in(code: Code, loop: Loop) -> frozenset[int]:
    """The positions of a loop and of the functions that it calls."""
    flow = control_flow(code)
    blocks = {flow.block_of[position] for position in loop.body}
    waiting = list(blocks)
    while waiting:
        entry = flow.calls.get(waiting.pop())
        new = set(flow.reachable(entry)) - blocks if entry is not None else set[int]()
        blocks |= new
        waiting.extend(new)
    return frozenset(position for block in blocks for position in flow.blocks[block])
