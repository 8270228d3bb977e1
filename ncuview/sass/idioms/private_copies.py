"""Weights of a ``Code`` for blocks that keep a copy of a result in shared memory and merge it into global memory.

``merging_atomics`` marks the atomics that merge; ``merge_per_block`` what each block executes once for its copy:
clearing, waiting and merging. nvcc 12 and 13, from Volta on: ``ATOMS``, or ``LDS``, ``FADD``
and ``STS``, update the copy, and a later ``LDS`` gives ``REDG`` or ``ATOMG`` its value.
"""

from __future__ import annotations

import re

from ncuview.sass.cfg import control_flow, innermost_loop
from ncuview.sass.code import Code, Weights, analysis, positions_of, weights_at
from ncuview.sass.dataflow import use_def
from ncuview.sass.idioms.memory_patterns import shared_updates
from ncuview.sass.index_dependence import index_dependence
from ncuview.sass.instruction import Instruction, register
from ncuview.sass.opcode_classes import is_barrier, is_global_atomic, is_operand_load
from ncuview.sass.slices import backward_slice

_COMBINES = re.compile(
    r"(?:[FDI]ADD[23]?|V?IADD3?|[FDI]MNMX3?|VIMNMX3?|LOP3|IMAD\.(?:MOV|IADD)|MOV|I2FP?|F2F|SHFL|REDUX)(?:\.|$)"
)
"""Sums, extremes and bits of several copies, their moves and conversions, and exchanges between lanes."""


@analysis
def merging_atomics(code: Code) -> Weights:
    """1 at each atomic in global memory whose value comes from shared memory alone, in a kernel that updates it there.

    Values of several copies may have been combined before. Where no instruction updates shared memory, what was loaded
    from global memory only passes through it, and does not count.
    """
    atomics = positions_of(code, is_global_atomic) if _updates(code) else ()
    return weights_at(code, [at for at in atomics if _is_of_copies(code, at)])


@analysis
def merge_per_block(code: Code) -> Weights:
    """1 at each instruction that clears a block's copy, waits at barriers before the first update, or follows the last.

    Instructions that updates are computed from do not count, nor do loops before the updates, except those that clear.
    All are 0 where the kernel does not merge, or updates its copy again after it has merged it.
    """
    merging, updates = merging_atomics(code).nonzero()[0].tolist(), _updates(code)
    updating = _before(code, updates)
    if not merging or not updating.isdisjoint(merging):
        return weights_at(code, [])
    barriers = frozenset(positions_of(code, is_barrier))
    first = updating - _before(code, updates, barriers) - {at for each in updates for at in backward_slice(code, each)}
    clearing = {at for store in positions_of(code, _is_store) for at in _clearing_loop(code, store)}
    once = {at for at in first if innermost_loop(code, at) is None} | clearing
    return weights_at(code, [at for at in range(len(code)) if at not in updating or at in once])


def _clearing_loop(code: Code, store: int) -> frozenset[int]:
    """The innermost loop around a store of one value for all threads; empty if it loads or updates something."""
    loop, value = innermost_loop(code, store), register(code.instructions[store].operands[-1])
    dependence, sources = index_dependence(code), use_def(code)[store].get(value, ())
    others = {*positions_of(code, is_operand_load), *_updates(code)}
    if loop is None or not loop.body.isdisjoint(others) or any(dependence[at].operands for at in sources):
        return frozenset()
    return loop.body


@analysis
def _updates(code: Code) -> tuple[int, ...]:
    """The positions of shared atomics, and of stores that replace what was just loaded from there."""
    return (*positions_of(code, _is_shared_atomic), *shared_updates(code).nonzero()[0].tolist())


def _is_store(each: Instruction) -> bool:
    return each.base_opcode == "STS"


def _is_shared_atomic(each: Instruction) -> bool:
    return each.base_opcode == "ATOMS"


def _is_of_copies(code: Code, atomic: int) -> bool:
    """Whether an atomic's value is combined from nothing but shared memory and constants."""
    value, dependence = register(code.instructions[atomic].operands[-1]), index_dependence(code)
    waiting = list(use_def(code)[atomic].get(value, ()))
    found, loaded = set[int](), False
    while waiting:
        if (at := waiting.pop()) in found:
            continue
        found.add(at)
        each = code.instructions[at]
        if each.base_opcode == "LDS":
            loaded = True
        elif _COMBINES.match(each.opcode):
            chains = use_def(code)[at].items()
            waiting.extend(source for name, sources in chains if "P" not in name for source in sources)
        elif each.uses or dependence[at].operands:
            return False
    return loaded


def _before(code: Code, positions: tuple[int, ...], stops: frozenset[int] = frozenset()) -> set[int]:
    """The instructions from which execution may arrive at some positions without one of the stops, these included."""
    flow, found, waiting = control_flow(code), set[int](), list(positions)
    while waiting:
        if (at := waiting.pop()) not in found and at not in stops:
            found.add(at)
            block = flow.block_of[at]
            inside = at > flow.blocks[block].start
            waiting.extend([at - 1] if inside else [flow.blocks[each][-1] for each in flow.predecessors[block]])
    return found
