"""Decide whether the time of an ablation may be believed, and what it says of the finding.

``static_guards`` compares the machine code of original and variant, ``dynamic_guards`` their counters; ``in_bounds``
and ``ended`` judge runs. Each returns ``PASSED`` or the guard that failed, as a ``Guarded``.

``judged`` is the conclusion, a pure function: a finding is ``Withdrawn`` where the ablation gains less than 1.05x, as
long as the cure is no more than the end of the waste; otherwise the ablation is a ``MeasuredBound``. An ablation that
does less than the original says nothing. One that does more is slower for it: it bounds from below and withdraws
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from ncuview.base.figures import factor
from ncuview.catalogue.machine_code import KernelCode
from ncuview.records.diagnosis import Finding, Gain
from ncuview.sass import opcode_classes
from ncuview.sass.cfg import Loop, innermost_loop, loops
from ncuview.sass.code import positions_of
from ncuview.sass.instruction import Instruction
from ncuview.trial.ablations import KINDS, Ablation
from ncuview.trial.timing import LEAST_GAIN

_LEFT = 0.9
"""The least share of the work in the machine code that must be left: nvcc copies and joins a few instructions where
only addresses differ, and removes all of it where a result is unused."""
_UNROLLED_LEFT = 0.45
"""Unrolled half as much, a loop has half as many loads in flight, and a remainder more or less; less makes it slower by
itself, so that the variant's time is no bound."""
_OCCUPANCY_LEFT = 0.75
_REGISTERS, _MOST_WARPS, _WARP_REGISTERS = 65536, 64, 8 * 32
"""Of a multiprocessor, from Volta to Blackwell: registers, warps, and the registers that warps get at once."""

_FLOATS = frozenset({"FADD", "FMUL", "FFMA", "FFMA2", "FADD2", "FMUL2", "HADD2", "HMUL2", "HFMA2", "FMNMX", "FSETP"})
_INTEGER_OPCODES = frozenset(
    {"IMAD", "IADD3", "LOP3", "SHF", "LEA", "IMNMX", "VIMNMX", "VIADDMNMX", "POPC", "PRMT", "VIADD"}
)
_SHARED_ATOMICS = frozenset({"ATOMS"})


@dataclass(frozen=True)
class Guarded:
    """What a guard says.

    Attributes:
        failed: The guard that failed; empty where all passed.
        why: What it saw, as a clause.
        more: Whether all that it saw is work in addition to the original's, by which the variant is slower: its gain is
            one from below. Elsewhere the gain says nothing.
    """

    failed: str = ""
    why: str = ""
    more: bool = False


PASSED = Guarded()


def first_failed(answers: Iterable[Guarded]) -> Guarded:
    """The first guard that failed, one that saw more work only where no other failed, or ``PASSED``."""
    found = PASSED
    for each in answers:
        if each.failed and not each.more:
            return each
        found = found if found.failed else each
    return found


def _is_shared_load(each: Instruction) -> bool:
    return opcode_classes.is_shared_access(each) and each.memory is not None and each.memory.access == "load"


def _is_shared_store(each: Instruction) -> bool:
    return opcode_classes.is_shared_access(each) and each.memory is not None and each.memory.access == "store"


def _is_shared_atomic(each: Instruction) -> bool:
    return each.base_opcode in _SHARED_ATOMICS


def _is_float(each: Instruction) -> bool:
    return each.base_opcode in _FLOATS and each.operands[1:3] != ("-RZ", "RZ")


def _is_integer(each: Instruction) -> bool:
    return each.base_opcode in _INTEGER_OPCODES and each.memory is None


WORK: Mapping[str, opcode_classes.Class] = {
    "global loads": opcode_classes.is_global_load,
    "global stores": opcode_classes.is_global_store,
    "global atomics": opcode_classes.is_global_atomic,
    "shared loads": _is_shared_load,
    "shared stores": _is_shared_store,
    "shared atomics": _is_shared_atomic,
    "floating-point operations": _is_float,
    "double-precision operations": opcode_classes.is_double_arithmetic,
    "special functions": opcode_classes.is_special_function,
    "matrix products": opcode_classes.is_matrix_product,
    "integer operations": _is_integer,
}
"""Kinds of work that the compiler must have left; accesses count by the bytes that a thread moves."""
_INTEGERS = "integer operations"
_ARITHMETIC = frozenset({"floating-point operations", "double-precision operations", "special functions", _INTEGERS})
_MEMORY = frozenset({"global loads", "global stores"})
_MAY_GO: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("coalesced_index", "aligned_index", "conflict_free_index"), frozenset({_INTEGERS})),
    **dict.fromkeys(("fast_functions", "fast_power", "float_literals"), _ARITHMETIC),
    "smaller_element": frozenset({"double-precision operations", "special functions"}),
}
"""What an ablation is meant to remove or to replace, by kind: index arithmetic, precise functions, conversions."""
_BYTES_LEFT: Mapping[str, float] = {"smaller_element": 0.5}

Work = Mapping[tuple[str, int], float]
"""(kind of work, source line) -> instructions, or bytes of accesses."""


def static_guards(kind: str, original: KernelCode, variant: KernelCode) -> Guarded:
    """Whether the compiler has left the loops and the work of the original.

    Lines are compared with lines, so that a loop that is unrolled otherwise keeps its work: all kinds of work of a loop
    may change by one factor, down to about a half. Where a loop has one kind of work only, unrolling cannot be told
    from removal, and the guard fails.

    Args:
        kind: The kind of the ablation.
        original: The original's code, compiled with line information.
        variant: The ablation's.
    """
    return first_failed(
        (
            _loops_left(kind, original, variant),
            _work_left(kind, original, variant),
            _resources_left(original, variant),
        )
    )


def _work(kind: str, code: KernelCode, *, in_loops: bool = False) -> dict[tuple[str, int], float]:
    """The work of each kind on each line, in loops only if asked.

    Integer operations count in loops, on lines without accesses to memory: elsewhere they compute addresses.
    """
    found: dict[tuple[str, int], float] = defaultdict(float)
    ignored = {position for loop in _loops_of_functions(kind, code) for position in loop.body}
    for work, asked in WORK.items():
        for position in positions_of(code.code, asked):
            looped = innermost_loop(code.code, position) is not None
            if position not in ignored and (looped or not (in_loops or work == _INTEGERS)):
                memory = code.code.instructions[position].memory
                found[work, code.places[position][1]] += max(1, memory.bytes) if memory is not None else 1
    accessed = {line for work, line in found if work.endswith(("loads", "stores", "atomics"))}
    return {(work, line): amount for (work, line), amount in found.items() if work != _INTEGERS or line not in accessed}


def _loops_of_functions(kind: str, code: KernelCode) -> list[Loop]:
    """The loops of precise functions that an ablation replaces: they are inlined, so that all of them is one line.

    The reduction of large arguments of sinf has one, which loads from a table.
    """
    if not _MAY_GO.get(kind, frozenset()) >= _ARITHMETIC:
        return []
    return [loop for loop in loops(code.code) if len({code.places[position][1] for position in loop.body}) == 1]


def _loops_left(kind: str, original: KernelCode, variant: KernelCode) -> Guarded:
    gone = _lines_of_latches(kind, original) - _lines_of_latches(kind, variant)
    if gone:
        return Guarded("loop", f"the loop of line {min(gone)} is gone")
    before, after = (_work(kind, each, in_loops=True) for each in (original, variant))
    for work, line in sorted(before, key=lambda each: each[1]):
        if (work, line) not in after and work not in _MAY_GO.get(kind, frozenset()):
            return Guarded("loop", f"the {work} of line {line} are no longer in a loop")
    return PASSED


def _lines_of_latches(kind: str, code: KernelCode) -> set[int]:
    """The lines that loops are written on, where a jump leads back."""
    own = [loop for loop in loops(code.code) if loop not in _loops_of_functions(kind, code)]
    return {code.places[latch][1] for loop in own for latch in loop.latches}


def _work_left(kind: str, original: KernelCode, variant: KernelCode) -> Guarded:
    before, after = _work(kind, original), _work(kind, variant)
    looped = _lines_of_loops(original)
    together = [line for lines in looped for line in lines]
    outside = frozenset(line for _, line in before if line not in together)
    for lines in (*looped, outside):
        shares = {
            work: share / _BYTES_LEFT.get(kind, 1.0) if work in _MEMORY else share
            for work, share in _shares(before, after, lines).items()
            if work not in _MAY_GO.get(kind, frozenset())
        }
        # A loop that is unrolled less has less of all of its work; nothing else does that.
        unrolled = min(1.0, max(shares.values(), default=1.0)) if lines in looped and len(shares) > 1 else 1.0
        if unrolled < _UNROLLED_LEFT:
            return Guarded("unrolling", f"the loop of {_named(lines)} has fewer accesses at once: it is unrolled less")
        for work, share in shares.items():
            if share < _LEFT * unrolled:
                return Guarded("work", f"{100 * share:.0f} % of the {work} of {_named(lines)} are left")
    return PASSED


def _named(lines: frozenset[int]) -> str:
    return f"line {min(lines)}" if len(lines) == 1 else f"lines {min(lines)} to {max(lines)}"


def _shares(before: Work, after: Work, lines: frozenset[int]) -> dict[str, float]:
    """What is left of each kind of work on these lines."""
    found = {}
    for work in WORK:
        was = sum(amount for (each, line), amount in before.items() if each == work and line in lines)
        if was:
            found[work] = sum(amount for (each, line), amount in after.items() if each == work and line in lines) / was
    return found


def _lines_of_loops(code: KernelCode) -> list[frozenset[int]]:
    """The lines with work of each innermost loop; loops with a line in common, as a remainder has, are one.

    Lines with integer operations only count where a loop has no other work: loops that are in others would be one.
    """
    groups: list[set[int]] = []
    places = {loop: (set[int](), set[int]()) for loop in loops(code.code)}
    for work, asked in WORK.items():
        for position in positions_of(code.code, asked):
            if (loop := innermost_loop(code.code, position)) is not None:
                places[loop][work == _INTEGERS].add(code.places[position][1])
    for lines in (found or integers for found, integers in places.values()):
        touching = [group for group in groups if group & lines]
        groups = [group for group in groups if not group & lines]
        if lines:
            groups.append(lines.union(*touching))
    return [frozenset(group) for group in groups]


def _resources_left(original: KernelCode, variant: KernelCode) -> Guarded:
    before, after = _warps(original.registers), _warps(variant.registers)
    if after < _OCCUPANCY_LEFT * before:
        return Guarded("occupancy", f"registers allow {after} warps instead of {before}")
    if variant.stack > original.stack:
        words = f"the variant keeps {variant.stack} bytes of each thread in local memory"
        return Guarded("registers", words, more=True)
    return PASSED


def _warps(registers: int) -> int:
    """How many warps the registers of a multiprocessor are enough for."""
    of_warp = -(-registers * 32 // _WARP_REGISTERS) * _WARP_REGISTERS
    return min(_MOST_WARPS, _REGISTERS // max(1, of_warp))


Share = tuple[float, float]
_EQUAL: Share = (0.98, 1.02)
_EXECUTED_LEFT: Mapping[str, float] = {"uniform_condition": 0.7}
"""Of the work that threads execute, where it is not ``_LEFT``: the sides of a branch differ in their work."""
_BYTES: Share = (0.8, 1.25)
"""Bytes of device memory vary with what the caches still hold."""
_INSTRUCTIONS: Share = (0.85, 1.5)
"""Another index may cost a few instructions, and save as many."""
_ALL: Mapping[str, Share] = {
    "inst_executed": _INSTRUCTIONS,
    "global loads": _EQUAL,
    "global stores": _EQUAL,
    "dram_bytes_read": _BYTES,
    "dram_bytes_written": _BYTES,
    "all_shared_wavefronts_ideal": _BYTES,
}
_SHARES: Mapping[str, Mapping[str, Share]] = {
    # Scattered accesses move sectors that are not used, up to eight times the bytes.
    "coalesced_index": {"dram_bytes_read": (0.1, 1.25), "dram_bytes_written": (0.1, 1.25), "l2_sectors": (0.1, 1.1)},
    "conflict_free_index": {"all_shared_wavefronts": (0.02, 1.0), "all_shared_wavefronts_ideal": (0.25, 1.5)},
    # A warp that takes one side executes half of what it did, or less; its lanes together execute as much.
    "uniform_condition": {
        "inst_executed": (0.1, 1.1),
        "thread_inst_executed": (0.7, 1.4),
        "global loads": (0.7, 1.4),
        "global stores": (0.7, 1.4),
    },
    "fast_functions": {"inst_executed": (0.05, 1.02)},
    "fast_power": {"inst_executed": (0.02, 1.02)},
    "float_literals": {"inst_executed": (0.05, 1.02)},
    "smaller_element": {
        "dram_bytes_read": (0.4, 1.25),
        "dram_bytes_written": (0.4, 1.25),
        "global loads": (0.4, 1.02),
        "global stores": (0.4, 1.02),
    },
    "spread_atomics": {"dram_bytes_written": (0.5, 20.0)},
}


_WASTE: Mapping[str, frozenset[str]] = {
    "coalesced_index": frozenset({"l2_sectors"}),
    "conflict_free_index": frozenset({"all_shared_wavefronts"}),
    **dict.fromkeys(
        ("uniform_condition", "fast_functions", "fast_power", "float_literals"), frozenset({"inst_executed"})
    ),
    "smaller_element": frozenset({"dram_bytes_read", "dram_bytes_written", *_MEMORY}),
}
"""The counters of the waste itself: where they rise, it is still there, and whatever was gained is not its end."""


def dynamic_guards(kind: str, original: Mapping[str, float], variant: Mapping[str, float]) -> Guarded:
    """Whether the counters of both launches show the same work.

    Less of anything, or more of the waste itself, makes the time worthless, and so does work that was not counted;
    other work in addition does not.

    Args:
        kind: The kind of the ablation.
        original: Counters by the short names of ``ncuview.metrics.names``, and the executed work by the names of
            ``WORK``.
        variant: The ablation's.
    """
    # The compiler may do some index arithmetic once for several accesses, which the bounds of all instructions allow.
    executed = WORK.keys() - _MAY_GO.get(kind, frozenset()) - {_INTEGERS}
    least = dict.fromkeys(sorted(executed), (_EXECUTED_LEFT.get(kind, _LEFT), inf))
    return first_failed(
        _counted(kind, name, limits, original.get(name), variant.get(name))
        for name, limits in {**least, **_ALL, **_SHARES.get(kind, {})}.items()
    )


def _counted(kind: str, name: str, limits: Share, before: float | None, after: float | None) -> Guarded:
    if before is None or after is None:
        return Guarded("counters", f"{name} was not counted")
    low, high = limits
    if before <= 0 or low <= after / before <= high:
        return PASSED
    share, above = factor(after / before), after > high * before
    words = f"more than {factor(high)}" if above else f"less than {factor(low)}"
    more = above and name not in _WASTE.get(kind, frozenset())
    if name in WORK:
        return Guarded("counters", f"threads executed {share} the {name} of the original, {words}", more)
    return Guarded("counters", f"{name} is {share} of the original's, {words}", more)


def ended(seconds: float | None) -> Guarded:
    """Whether a variant ended within the time that it was given.

    Args:
        seconds: How long it ran; None where the watchdog ended it.
    """
    return PASSED if seconds is not None else Guarded("watchdog", "the variant did not end in time")


def in_bounds(made: Ablation, memcheck: bool | None) -> Guarded:
    """Whether all accesses of a variant are inside their arrays.

    Args:
        made: The ablation.
        memcheck: Whether compute-sanitizer's memcheck found nothing; None where it did not run or failed itself.
    """
    if memcheck is False:
        return Guarded("bounds", "compute-sanitizer found accesses out of bounds")
    if memcheck is None and not made.in_bounds:
        return Guarded("bounds", "the accesses are not in bounds by construction, and compute-sanitizer has not run")
    return PASSED


@dataclass(frozen=True)
class Withdrawn:
    """The finding's cure brings nothing here.

    Attributes:
        why: The measurement, as a sentence.
    """

    why: str


@dataclass(frozen=True)
class MeasuredBound:
    """What the end of the waste brings, at most or at least.

    Attributes:
        bounds: ``at most`` where no cure gains more.
        measured: What the ablation gained.
        finding: The finding of grade ``measured``, with a prediction that does not exceed what is gained at most.
    """

    bounds: Literal["at most", "at least"]
    measured: Gain
    finding: Finding


@dataclass(frozen=True)
class NoStatement:
    """The ablation says nothing about the finding.

    Attributes:
        why: The guard that failed, as a sentence.
    """

    why: str


def judged(
    finding: Finding, kind: str, measured: Gain, guards: Sequence[Guarded]
) -> Withdrawn | MeasuredBound | NoStatement:
    """What an ablation's time says of a finding.

    Args:
        finding: The finding.
        kind: The kind of the ablation.
        measured: The original's time over the ablation's, with its interval.
        guards: What every guard said.
    """
    failed = first_failed(guards)
    if failed.failed and not failed.more:
        return NoStatement(f"The time is not believed: {failed.why}.")
    if why := failed.why or KINDS[kind].only_the_waste:
        # The variant is slower than one without the waste alone, or the cure is more than the end of the waste.
        if measured.low < LEAST_GAIN:
            return NoStatement(f"The gain of {factor(measured.best)} ({measured.bounds}) is no bound: {why}.")
        return MeasuredBound("at least", measured, replace(finding, grade="measured"))
    if measured.high < LEAST_GAIN:
        return Withdrawn(f"Without this waste the kernel is {factor(measured.best)} as fast ({measured.bounds}).")
    predicted = finding.predicted_speedup
    capped = Gain(*(min(one, measured.high) for one in (predicted.low, predicted.best, predicted.high)))
    if measured.best < capped.best:
        capped = Gain(min(capped.low, measured.low), measured.best, capped.high)
    return MeasuredBound("at most", measured, replace(finding, predicted_speedup=capped, grade="measured"))
