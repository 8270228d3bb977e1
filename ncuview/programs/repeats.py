"""Detectors of work that repeats: loops of small calls, the same results again, and launches that Python delays."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from ncuview.programs.kinds import Kind
from ncuview.programs.launches import Candidate, Program, by_place, saved_of
from ncuview.programs.traffic import word_of, work_of
from ncuview.records.program import Estimate

LONGEST_PERIOD = 4
"""Launches of one iteration at most: a recurrence, whose iterations need each other, has more."""
WORK: frozenset[Kind] = frozenset({"product", "convolution", "gather", "reduction", "softmax", "sort", "other"})
"""Kinds that batch; a loop of elementwise launches alone is to be fused."""
FEWEST_ROUNDS = 8
SHORT_NS = 100_000.0
"""A longer launch keeps a GPU busy on its own."""
MAKERS = {"arange", "linspace", "ones", "eye", "tril", "triu", "full", "range", "logspace", "indices"}
"""Operators whose results follow from no tensor."""
ON_DATA = {"masked_fill", "softmax", "log_softmax", "dropout", "native_dropout", "gelu", "silu", "relu", "layer_norm"}
"""Operators whose input is rarely a constant."""
PARAMETRIC: frozenset[Kind] = frozenset({"product", "convolution", "attention", "optimizer"})
"""Kinds that take parameters, which differ between layers."""
_UNIQUE = re.compile(r"DeviceUniqueByKey|DeviceRunLengthEncode|DeviceSelectUnique")
"""CUB's kernels that keep one of equal values."""
_GEMM = re.compile(r"cublas(?!.*Batched).*(?:[Gg]emm|Matmul)")
FITS = 0.4
"""The share of L2 that an array may take and be kept, so that a report does not show that it was written."""
GROWS = 4.0
"""An array of constants that is this much larger than all before it in its part is none of them."""
SAME = 0.03
"""Bytes of launches that do the same agree within this share."""
FEWEST_LAUNCHES = 20
"""A program with fewer launches waits for something else."""
IDLE = 0.5
"""The share of the step without kernels from which on the GPU waits for the host."""


def loops(program: Program) -> Iterator[Candidate]:
    """PROG009: a loop of short launches whose iterations do not need each other, as far as can be seen.

    In Python the results are joined afterwards. A program in C++ writes them to parts of an array, which no launch
    shows, so that loops of products by cuBLAS count.
    """
    found, end = [], 0
    signatures = [_signature(program, number) for number in range(len(program.launches))]
    for start, stop, period in sorted(_rounds(signatures)):
        loop = list(range(start, stop))
        joined = stop < len(signatures) and program.kinds[stop] == "cat"
        kept = any(_is_kept(program, number) or _has_batched_form(program, number) for number in loop[:period])
        if start >= end and (joined or kept) and _is_batchable(program, loop):
            rounds = len(loop) // period
            found.append(_batched(program, [*loop, stop] if joined else loop, rounds))
            end = stop
    yield from by_place(program, found)


def _is_batchable(program: Program, loop: list[int]) -> bool:
    """Whether short launches from one place do more than stream."""
    short = bool((program.duration[loop] < SHORT_NS).all())
    work = any(program.kinds[number] in WORK for number in loop)
    return short and work and len({program.places[number] for number in loop}) == 1


def _rounds(signatures: Sequence[tuple[object, ...]]) -> Iterator[tuple[int, int, int]]:
    """Start, end and period of repeated signatures."""
    for period in range(1, LONGEST_PERIOD + 1):
        start = 0
        for number in range(len(signatures) + 1):
            follows = start + period <= number < len(signatures) and signatures[number] == signatures[number - period]
            if follows or number < start + period:
                continue
            if (number - start) // period >= FEWEST_ROUNDS:
                yield start, number, period
            start = number - period + 1


def _signature(program: Program, number: int) -> tuple[object, ...]:
    return program.calls[number].line, program.places[number], *work_of(program.launches[number])


def _is_kept(program: Program, number: int) -> bool:
    """Whether a launch assigns to a part of an array, as in ``out[i] = ...``."""
    return program.calls[number].operator in {"copy_", "index_put_"} or (
        program.launches[number].kernel.startswith("cupy_copy__")
    )


def _has_batched_form(program: Program, number: int) -> bool:
    """Whether a launch is of one product, by a function that has a batched form."""
    of_cuda = program.frameworks[number] == "cuda" and program.kinds[number] == "product"
    return of_cuda and bool(_GEMM.match(program.calls[number].operator))


def _gradients(program: Program, loop: Sequence[int], rounds: int) -> list[int]:
    """The backward pass of the operators of a loop, where it is as many times the same kernels."""
    words = {program.calls[number].operator.strip("_") for number in loop}
    found = [
        number
        for number, call in enumerate(program.calls)
        if call.backward and call.operator.strip("_") in words - {""}
    ]
    kernels = [program.launches[number].demangled for number in found]
    length, rest = divmod(len(found), rounds)
    return found if not rest and kernels == kernels[:length] * rounds else []


def _batched(program: Program, loop: Sequence[int], rounds: int) -> Candidate:
    """A batched launch fills the GPU: what is left is the use of the busiest unit, or all but the starts.

    Only launches outside of the loop show what bandwidth the GPU has.
    """
    gradients = _gradients(program, loop, rounds)
    everything = [*loop, *gradients]
    duration = program.duration[everything]
    others = program.bandwidth_of({*range(len(program.launches))} - {*everything})
    rates = program.moved[everything] / duration / (others or np.inf)
    pipes = program.fma[everything] / 100, program.tensor[everything] / 100
    used = np.nanmax([rates, *pipes, 0 * duration], axis=0)
    low = float(np.maximum(duration - program.gpu.start_ns, duration * used).clip(min=0.0, max=duration).sum())
    high = float((duration * np.minimum(used, 1.0)).sum())
    removed = len(loop) - 2 + len(gradients) * (1 - 1 / rounds)
    return Candidate(tuple(everything), tuple(loop), saved_of(float(duration.sum()), high, low), removed)


def same_again(program: Program) -> Iterator[Candidate]:
    """PROG010: launches from the same lines that start from no tensor, or from equal values, with equal bytes."""
    parts: dict[tuple[object, ...], list[list[int]]] = defaultdict(list)
    for constant in (*_of_equal_values(program), *_of_makers(program)):
        if len(constant) > 1:
            parts[tuple(_signature(program, number) for number in constant)].append(constant)
    found, taken = [], set[int]()
    for again in parts.values():
        equal = [part for part in again if _same_bytes(program, again[0], part) and not taken & {*part}]
        if len(equal) > 1:
            launches = [number for part in equal for number in part]
            taken |= {*launches}
            time = program.time_of(launches)
            once = max(program.time_of(part) for part in equal)
            removed = len(launches) - len(equal[0])
            saved = Estimate(time - once, time - once, time)  # all of it where the values are those of the step before
            found.append(Candidate(tuple(launches), tuple(launches), saved, removed))
    yield from by_place(program, found)


def _of_makers(program: Program) -> Iterator[list[int]]:
    """Parts of runs from an operator that takes no tensor to the first that takes data."""
    for _, run in program.runs():
        for part in _without_products(program, run):
            made = next((at for at, number in enumerate(part) if word_of(program, number) in MAKERS), None)
            if made is not None:
                yield _constant(program, part[made:])


def _of_equal_values(program: Program) -> Iterator[list[int]]:
    """Calls of a function that drop repeated values of an array: how many are left decides the grids of what follows.

    Where these are the same each time, so are the values; those are indices, which activations are not.
    """
    called = groupby(range(len(program.launches)), key=lambda number: program.places[number][:2])
    for (_, function), run in called:
        numbers = list(run)
        kinds = {program.kinds[number] for number in numbers}
        unique = any(_UNIQUE.search(program.launches[number].kernel) for number in numbers[:-1])
        if function and unique and not kinds & PARAMETRIC and not program.calls[numbers[0]].backward:
            yield numbers


def _constant(program: Program, part: Sequence[int]) -> list[int]:
    """The launches up to the first that takes data: an operator on activations, or an array far larger than so far."""
    found: list[int] = []
    largest = 0.0
    for number in part:
        size = min(program.read[number], program.written[number])
        if word_of(program, number) in ON_DATA or size > max(FITS * program.gpu.l2_bytes, GROWS * largest):
            break
        largest = max(largest, float(program.moved[number]) / 2)
        found.append(number)
    return found


def _without_products(program: Program, run: Sequence[int]) -> Iterator[list[int]]:
    part: list[int] = []
    for number in run:
        if program.kinds[number] in PARAMETRIC:
            if part:
                yield part
            part = []
        else:
            part.append(number)
    if part:
        yield part


def _same_bytes(program: Program, first: Sequence[int], other: Sequence[int]) -> bool:
    """Whether both read the same, which a report does not always say; L2 makes writes vary."""
    a, b = (np.array([program.launches[number].bytes_read for number in part]) for part in (first, other))
    return bool((np.abs(a - b) <= SAME * np.maximum(a, b) + 65_536).all())


def launch_gaps(program: Program) -> Iterator[Candidate]:
    """PROG011: the GPU waits for the host between short kernels; needs the run without ncu."""
    count = len(program.launches)
    gap = program.gap_ns * count
    if count < FEWEST_LAUNCHES or gap < IDLE * (gap + program.total_ns):
        return
    left = min(gap, program.gpu.graph_gap_ns * count)
    yield Candidate(tuple(range(count)), _with_lines(program), Estimate((gap - left) / 2, gap - left, gap))


def host_work(program: Program) -> Iterator[Candidate]:
    """PROG016: the GPU waits for the host far longer than launches take, while data is copied to or from it.

    Waits without a copy, such as for memory to be allocated or for a program that computes, are nothing that it cures.
    """
    if program.copied_ns and program.copied_ns >= IDLE * program.step_ns:
        saved = Estimate(*(share * program.copied_ns for share in (0.5, 0.75, 1.0)))
        yield Candidate(tuple(range(len(program.launches))), _with_lines(program), saved)


def _with_lines(program: Program) -> tuple[int, ...]:
    """The launches whose line is known; all where none is."""
    everything = range(len(program.launches))
    return tuple(number for number in everything if program.calls[number].line) or tuple(everything)
