"""Find global loads that only the slow paths of precise functions keep apart: ``batches_without_slow_paths``.

nvcc 12 and 13, Volta to Hopper, put a branch into each precise square root, reciprocal and division of floats, for
numbers that the usual path cannot serve: BSSY, the test, the branch, the usual path, BSYNC. No load moves across it, so
a thread waits for the operands of one function before it loads those of the next. Fast forms have no such branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ncuview.sass.address import address_registers
from ncuview.sass.cfg import control_flow, innermost_loop
from ncuview.sass.code import Code, analysis, positions_of
from ncuview.sass.global_loads import LoadBatch, load_batches
from ncuview.sass.idioms.math_functions import precise_instructions
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import is_barrier, is_global_atomic, is_global_load, is_global_store
from ncuview.sass.slices import address_slice

_READ_ONLY = "CONSTANT"
"""The modifier of loads of read-only data, which may move before a store."""


@analysis
def batches_without_slow_paths(code: Code) -> Sequence[LoadBatch]:
    """Find the batches of ``load_batches`` as they would be without the branches of precise functions.

    Batches are joined where the same threads issue both, at least one such branch and no other lies between them, and
    the addresses of the second do not come from loads of the first.
    """
    batches, joined = load_batches(code), list[LoadBatch]()
    starts = [*(batch.start for batch in batches), len(code)]
    for number, batch in enumerate(batches):
        loads = range(batch.start, starts[number + 1])
        if joined and _could_join(code, joined[-1].start, starts[number - 1], loads):
            joined[-1] = LoadBatch(joined[-1].start, joined[-1].size + batch.size)
        else:
            joined.append(batch)
    return tuple(joined)


def _could_join(code: Code, first: int, before: int, batch: range) -> bool:
    """Whether the loads of a batch could be issued with the one at ``first``; ``before`` begins the batch before it."""
    slow = _slow_paths(code)
    if not any(before <= path.start < batch.start for path in slow):
        return False
    between = [at for at in range(first, batch.start) if not any(at in path for path in slow)]
    loop = innermost_loop(code, first)
    loads = [at for at in positions_of(code, is_global_load) if at in batch]
    return (
        not any(batch.start in path for path in slow)
        and all(innermost_loop(code, at) == loop for at in (*between, batch.start))
        and not any(at in control_flow(code).deciding or _separates(code.instructions[at]) for at in between)
        and (not _writes(code, between) or all(_READ_ONLY in code.instructions[at].opcode for at in loads))
        and not any(_comes_from_loads(code, at, first) for at in loads)
    )


@analysis
def _slow_paths(code: Code) -> Sequence[range]:
    """The code between the branch of each precise function and the end of its region, both paths."""
    deciding, precise = control_flow(code).deciding, np.flatnonzero(precise_instructions(code))
    found = list[range]()
    for position in positions_of(code, _opens_region) if len(precise) else ():
        region = range(position, _end_of_region(code, position))
        branch = next((at for at in region if at in deciding), None)
        if branch is not None and any(position < at < branch for at in precise):
            found.append(range(branch, region.stop))
    return found


def _end_of_region(code: Code, opening: int) -> int:
    """The BSYNC that waits for the threads of a region: the next one with its barrier."""
    barrier = code.instructions[opening].operands[0]
    closing = (at for at in positions_of(code, _closes_region) if at > opening)
    return next((at for at in closing if code.instructions[at].operands[0] == barrier), opening)


def _opens_region(each: Instruction) -> bool:
    return each.base_opcode == "BSSY"


def _closes_region(each: Instruction) -> bool:
    return each.base_opcode == "BSYNC"


def _separates(each: Instruction) -> bool:
    """Whether no load moves across an instruction, or part of the threads ends there."""
    return is_barrier(each) or each.base_opcode == "EXIT"


def _writes(code: Code, positions: Iterable[int]) -> bool:
    each = [code.instructions[at] for at in positions]
    return any(map(is_global_store, each)) or any(map(is_global_atomic, each))


def _comes_from_loads(code: Code, load: int, first: int) -> bool:
    """Whether the address of a load comes from one at ``first`` or between the two."""
    chains, found = address_slice(code), set[int]()
    waiting = [at for name in address_registers(code.instructions[load]) for at in chains[load].get(name, ())]
    while waiting:
        at = waiting.pop()
        if first <= at < load and at not in found:
            found.add(at)
            waiting.extend(definition for definitions in chains[at].values() for definition in definitions)
    return any(is_global_load(code.instructions[at]) for at in found)
