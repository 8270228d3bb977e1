"""Compute which thread and block indices reach each instruction of a ``Code`` (``index_dependence``).

Weights derived from it mark thread-invariant instructions and floats, and loads that are invariant along a grid axis.

What no index reaches is the same in all threads; what the indices of one axis do not reach is the same along it. Sets
of indices are integers of the bits below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple

import numpy as np

from ncuview.sass.cfg import called, control_flow, innermost_loop, loops
from ncuview.sass.code import Code, Weights, analysis, by_opcode, positions_of, weights_at
from ncuview.sass.control_dependence import decisions
from ncuview.sass.dataflow import Chains, propagate, reads, use_def, with_functions
from ncuview.sass.instruction import LANE_EXCHANGES, Instruction, loaded_from

Axis = Literal["x", "y", "z"]

TID_X, TID_Y, TID_Z, CTAID_X, CTAID_Y, CTAID_Z, OTHER_THREADS = (1 << bit for bit in range(7))
ANYTHING = (1 << 7) - 1
OF_THREADS = TID_X | TID_Y | TID_Z | OTHER_THREADS
"""The indices that make a value differ between the threads of a block."""
ALONG: dict[Axis, int] = {
    "x": TID_X | CTAID_X | OTHER_THREADS,
    "y": TID_Y | CTAID_Y | OTHER_THREADS,
    "z": TID_Z | CTAID_Z | OTHER_THREADS,
}
"""The indices that make a value differ along an axis of the grid."""

_SPECIAL = re.compile(r"\bSR_?(?P<name>\w+(?:\.[XYZ])?)")
_SPECIAL_REGISTERS = {
    "TID.X": TID_X,
    "TID.Y": TID_Y,
    "TID.Z": TID_Z,
    "CTAID.X": CTAID_X,
    "CTAID.Y": CTAID_Y,
    "CTAID.Z": CTAID_Z,
    **dict.fromkeys(("LANEID", "WARPID", "EQMASK", "LTMASK", "LEMASK", "GTMASK", "GEMASK"), TID_X),
}
"""The lane number and the warp number count as x. Other special registers are assumed thread-invariant: ``SRZ`` is
zero, and nvcc adds ``SR_CgaCtaId`` to an address in the block's own shared memory."""
_OF_OTHER_THREADS = {"generic", "shared", "texture", "surface", "distributed", "tensor"}
_ATOMIC = ("ATOM", "SUATOM")
_SELECTION = "selection"
"""A register that stands for the branches that choose which definition reaches a use."""
_FLOAT_ARITHMETIC = re.compile(r"F(?!LO|ENCE|OOTPRINT)|MUFU|D(?:ADD|MUL|FMA|SETP|MNMX)|I2F|F2F|F2I")


class Dependence(NamedTuple):
    """The indices that an instruction depends on.

    Attributes:
        operands: Those that reach its operands, and those that it reads itself.
        guard: Those that reach its guard.
        control: Those that reach the branches which decide whether it is executed.
    """

    operands: int
    guard: int
    control: int


@analysis
def index_dependence(code: Code) -> tuple[Dependence, ...]:
    """Find the indices that each instruction depends on. A loaded value depends on the indices of its address.

    Where paths meet, a value also depends on the branch that chose between its definitions; a value computed in a loop
    and used after it depends on the branches that end the loop.
    """
    brought = with_functions(code, [_brought(each) for each in code.instructions])
    guards = [each.guard.predicate if each.guard else "" for each in code.instructions]

    def transfer(position: int, operands: Mapping[str, int]) -> int:
        return reduce(or_, operands.values(), brought[position])

    found = propagate(code, transfer, join=or_, least=0, linked=_with_selections).operands
    decided, flow = decisions(code), control_flow(code)
    known = [reduce(or_, operands.values(), 0) for operands in found]
    of_blocks = [reduce(or_, (known[at] for at in decided.named(each)), 0) for each in decided.decided_by]
    functions = called(code)
    return tuple(
        Dependence(
            0
            if position in functions
            else reduce(
                or_,
                (indices for name, indices in operands.items() if name == _SELECTION or reads(each, name)),
                brought[position],
            ),
            operands.get(guards[position], 0),
            of_blocks[flow.block_of[position]],
        )
        for position, (each, operands) in enumerate(zip(code.instructions, found, strict=True))
    )


def _brought(each: Instruction) -> int:
    """The indices that an instruction itself introduces."""
    if each.base_opcode == "CALL":
        return ANYTHING  # replaced by what the function's instructions bring, where it is known
    from_memory = loaded_from(each) in _OF_OTHER_THREADS or each.base_opcode.startswith(_ATOMIC)
    if from_memory or each.base_opcode in LANE_EXCHANGES:
        return OTHER_THREADS
    if each.base_opcode not in {"S2R", "S2UR", "CS2R"}:
        return 0
    special = _SPECIAL.search(each.operands[-1])
    return _SPECIAL_REGISTERS.get(special["name"], 0) if special else 0


@analysis
def _with_selections(code: Code) -> Chains:
    """The definitions that reach each use, and the branches that choose between them.

    What an instruction of a function receives from outside is chosen where the function is called; which call it was
    chooses nothing.
    """
    flow, decided, around, functions = control_flow(code), decisions(code), _loops_around(code), _functions_of(code)
    callers = flow.callers()
    linked: list[Mapping[str, tuple[int, ...]]] = []
    chains = use_def(code)
    for position, uses in enumerate(chains):
        block, selecting = flow.block_of[position], 0
        for name, definitions in uses.items():
            blocks = {flow.block_of[at] for at in definitions}
            if len(definitions) > 1 or any(around[each] - around[block] for each in blocks):
                outside = {each for each in blocks if functions[each].isdisjoint(functions[block])}
                selecting |= decided.selecting(blocks - outside, block)
                for call in (call for entry in functions[block] if outside for call in callers[entry]):
                    passed = chains[flow.blocks[call][-1]].get(name, ())
                    if len(passed) > 1:
                        selecting |= decided.selecting({flow.block_of[at] for at in passed}, call)
        linked.append({**uses, _SELECTION: decided.named(selecting)} if selecting else uses)
    return tuple(linked)


def _functions_of(code: Code) -> list[set[int]]:
    """For each block the entries of the functions that it belongs to."""
    flow = control_flow(code)
    found: list[set[int]] = [set() for _ in flow.blocks]
    for entry in flow.entries:
        for block in flow.reachable(entry):
            found[block].add(entry)
    return found


def _loops_around(code: Code) -> list[frozenset[int]]:
    """For each block the loops that it lies in."""
    flow = control_flow(code)
    around: list[set[int]] = [set() for _ in flow.blocks]
    for number, loop in enumerate(loops(code)):
        for block in {flow.block_of[position] for position in loop.body}:
            around[block].add(number)
    return list(map(frozenset, around))


def thread_invariant(code: Code) -> Weights:
    """1 at each thread-invariant instruction: no index and no data from other threads reaches its operands."""
    return np.array([not each.operands for each in index_dependence(code)], dtype=np.float64)


def thread_invariant_floats(code: Code) -> Weights:
    """1 at each thread-invariant instruction of floating-point arithmetic."""
    return thread_invariant(code) * float_arithmetic(code)


def thread_invariant_float_results(code: Code) -> Weights:
    """1 at each of these whose result is used by an instruction that differs between threads: the values of a table.

    Thread-invariant integer arithmetic may stand between the two. What a loop computes and only code after the loop
    uses does not count: of all iterations, one result is used.
    """
    floats, invariant = float_arithmetic(code), thread_invariant(code)
    used, chains = set[int](), use_def(code)
    same = frozenset(np.flatnonzero(invariant).tolist())
    waiting = np.flatnonzero(invariant == 0).tolist() if (floats * invariant).any() else []
    while waiting:
        user = waiting.pop()
        reaching = chains[user]
        sources = {at for name in code.instructions[user].uses for at in reaching[name] if at in same}
        for source in sources - used:
            loop = innermost_loop(code, source)
            if loop is None or user in loop.body:
                used.add(source)
                waiting.extend([] if floats[source] else [source])
    is_used = np.zeros(len(code))
    is_used[list(used)] = 1
    return floats * invariant * is_used


def float_arithmetic(code: Code) -> Weights:
    """1 at each instruction of floating-point arithmetic, and at each function, comparison and conversion."""
    return by_opcode(code, lambda opcode: bool(_FLOAT_ARITHMETIC.match(opcode)))


@analysis
def loads_invariant_along(code: Code, axis: Axis) -> Weights:
    """1 at each load from global memory that is invariant along an axis of the grid.

    Neither its address nor a branch that decides whether it is executed depends on the indices of this axis.
    """
    found, along = index_dependence(code), ALONG[axis]
    loads = positions_of(code, _is_load)
    return weights_at(code, [at for at in loads if not (found[at].operands | found[at].control) & along])


def _is_load(each: Instruction) -> bool:
    return each.base_opcode == "LDG"
