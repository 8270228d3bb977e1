"""Compute backward slices over use-def chains of a ``Code``: what an instruction or a memory address comes from.

``backward_slice``, ``value_slice`` and ``address_slice`` return them, ``forward_slice`` what uses a result;
``waits_for`` the loads that an instruction may wait for.
``is_invariant`` tests whether a register has the same value in all iterations of a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ncuview.sass.cfg import Loop, control_flow
from ncuview.sass.code import Code, analysis
from ncuview.sass.control_dependence import decided_by
from ncuview.sass.dataflow import LOCAL, Chains, def_use, last_touches, use_def
from ncuview.sass.instruction import LANE_EXCHANGES, Instruction, loaded_from

_OF_THE_MOMENT = frozenset({"S2R", "CS2R", "S2UR", "CS2UR", "CALL", "VOTE", "VOTEU"}) | LANE_EXCHANGES
"""Opcodes whose result may differ each time although the operands are the same."""


def backward_slice(code: Code, position: int, *, control: bool = False) -> frozenset[int]:
    """The instructions that an instruction's operands and guard come from, itself included.

    Args:
        code: The kernel's code.
        position: The instruction.
        control: Whether to include the branches that decide whether these are executed, and their slices.
    """
    found, waiting = {position}, [position]
    while waiting:
        at = waiting.pop()
        sources = {definition for definitions in use_def(code)[at].values() for definition in definitions}
        if control:
            sources.update(decided_by(code, at))
        waiting.extend(sources - found)
        found |= sources
    return frozenset(found)


def forward_slice(code: Code, positions: Iterable[int]) -> frozenset[int]:
    """The instructions that use a result of one of these, or of another such instruction; these included."""
    found = set(positions)
    waiting = list(found)
    while waiting:
        users = {user for using in def_use(code)[waiting.pop()].values() for user in using} - found
        waiting.extend(users)
        found |= users
    return frozenset(found)


def value_slice(code: Code, store: int) -> frozenset[int]:
    """The instructions that the number which a store writes is computed by, loads included, the store not.

    The addresses of loads are left out, and predicates, which choose between values and are no part of them.
    """
    found, waiting = set[int](), [store]
    while waiting:
        at = waiting.pop()
        memory = code.instructions[at].memory
        address = {*memory.base, *memory.uniform} if memory else set[str]()
        sources = {
            definition
            for name, definitions in use_def(code)[at].items()
            if name not in address and not name.startswith(("P", "UP"))
            for definition in definitions
        }
        waiting.extend(sources - found)
        found |= sources
    return frozenset(found)


@analysis
def address_slice(code: Code) -> Chains:
    """The definitions that addresses come from: those of ``use_def`` for the memory accesses and their slices.

    Predicates are left out, since they choose values but are not part of them. Elements of arrays in local memory at
    unknown offsets are left out too: most of what was stored there is not what is loaded.
    """
    linked: list[Mapping[str, tuple[int, ...]]] = [{}] * len(code)
    waiting: list[int] = []
    for position, each in enumerate(code.instructions):
        if each.memory:
            address = {*each.memory.base, *each.memory.uniform}
            linked[position] = {name: at for name, at in use_def(code)[position].items() if name in address}
            waiting.extend(at for definitions in linked[position].values() for at in definitions)
    found = set[int]()
    while waiting:
        if (at := waiting.pop()) not in found:
            found.add(at)
            uses = use_def(code)[at]
            left_out = ("P", "UP") if _is_fixed(code.instructions[at]) else ("P", "UP", LOCAL)
            linked[at] = {
                name: before for name, before in uses.items() if name != LOCAL and not name.startswith(left_out)
            }
            waiting.extend(definition for definitions in linked[at].values() for definition in definitions)
    return tuple(linked)


def _is_fixed(each: Instruction) -> bool:
    """Whether an instruction accesses the stack at a known place, as spilled registers are."""
    return each.memory is not None and each.memory.base == ("R1",)


def waits_for(code: Code, position: int) -> tuple[int, ...]:
    """The loads that an instruction may have to wait for, in order.

    These are the loads whose result it uses or overwrites, where no instruction in between does so and has already
    waited.
    """
    return tuple(
        sorted(
            {
                at
                for name, touched in last_touches(code)[position].items()
                for at in touched
                if loaded_from(code.instructions[at]) and name in code.instructions[at].definitions
            }
        )
    )


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
