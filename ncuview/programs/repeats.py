"""Detectors of work that repeats: loops of small calls, the same results again, and launches that Python delays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ncuview.programs.launches import Candidate, Place, Program, by_place, saved_of
from ncuview.programs.traffic import word_of
from ncuview.records.program import Estimate

LONGEST_PERIOD = 4
"""Launches of one iteration at most: a recurrence, whose iterations need each other, has more."""
FEWEST_ROUNDS = 8
SHORT_NS = 100_000.0
"""A longer launch keeps a GPU busy on its own."""
STARTING_NS = 1_000.0
"""What a launch takes at least to start and to end, while few of its blocks run."""
MAKERS = {"arange", "linspace", "ones", "eye", "tril", "triu", "full", "range", "logspace", "indices"}
"""Operators whose results follow from no tensor."""
SAME = 0.03
"""Bytes of launches that do the same agree within this share."""
GRAPH_NS = 1_000.0
"""What is left between two kernels of a CUDA graph; 400 and 100 small kernels took 0.6 and 1.3 us each."""
FEWEST_LAUNCHES = 20
"""A program with fewer launches waits for something else."""
IDLE = 0.3
"""The share of the wall time without kernels from which on the GPU waits for the host."""


def loops(program: Program) -> Iterator[Candidate]:
    """PROG009: a loop of short launches whose results are then joined: the iterations do not need each other."""
    found = []
    for number, kind in enumerate(program.kinds):
        if kind == "cat" and (rounds := _rounds_before(program, number)):
            found.append(_batched(program, [*rounds, number]))
    yield from by_place(program, found)


def _rounds_before(program: Program, end: int) -> list[int]:
    """The launches of the loop that ends where results are joined; empty where there is none."""
    for period in range(1, LONGEST_PERIOD + 1):
        start = end
        while start - period >= 0 and _signature(program, start - period, period) == _signature(
            program, end - period, period
        ):
            start -= period
        if (end - start) // period >= FEWEST_ROUNDS:
            loop = list(range(start, end))
            short = bool((program.duration[loop] < SHORT_NS).all())
            return loop if short and len({*map(program.places.__getitem__, loop)}) == 1 else []
    return []


def _signature(program: Program, start: int, length: int) -> list[tuple[object, ...]]:
    return [
        (program.calls[number].line, program.places[number], *_same_launch(program, number))
        for number in range(start, start + length)
    ]


def _same_launch(program: Program, number: int) -> tuple[object, ...]:
    launch = program.launches[number]
    return launch.demangled, launch.grid, launch.block


def _batched(program: Program, loop: Sequence[int]) -> Candidate:
    """A batched launch fills the GPU: what is left is the use of the busiest unit, or all but the starts."""
    duration = program.duration[list(loop)]
    rates = program.moved[list(loop)] / duration / (program.bandwidth or np.inf)
    used = np.nanmax([rates, program.fma[list(loop)] / 100, program.tensor[list(loop)] / 100, 0 * duration], axis=0)
    low = float(np.maximum(duration - STARTING_NS, duration * used).clip(min=0.0, max=duration).sum())
    high = float((duration * np.minimum(used, 1.0)).sum())
    return Candidate(tuple(loop), tuple(loop), saved_of(float(duration.sum()), high, low), len(loop) - 2)


def same_again(program: Program) -> Iterator[Candidate]:
    """PROG010: launches from the same lines that start from no tensor, and are repeated with equal bytes."""
    parts: dict[tuple[Place, tuple[object, ...]], list[list[int]]] = defaultdict(list)
    for place, run in program.runs():
        for part in _without_products(program, run):
            made = next((at for at, number in enumerate(part) if word_of(program, number) in MAKERS), None)
            if made is not None:
                lines = tuple((program.calls[number].line, *_same_launch(program, number)) for number in part[made:])
                parts[place, lines].append(part[made:])
    found = []
    for again in parts.values():
        equal = [part for part in again if _same_bytes(program, again[0], part)]
        if len(equal) > 1:
            launches = [number for part in equal for number in part]
            time = program.time_of(launches)
            once = max(program.time_of(part) for part in equal)
            removed = len(launches) - len(equal[0])
            found.append(Candidate(tuple(launches), tuple(launches), saved_of(time, once, once), removed))
    yield from by_place(program, found)


def _without_products(program: Program, run: Sequence[int]) -> Iterator[list[int]]:
    part: list[int] = []
    for number in run:
        if program.kinds[number] in {"product", "convolution", "attention", "optimizer"}:
            if part:
                yield part
            part = []
        else:
            part.append(number)
    if part:
        yield part


def _same_bytes(program: Program, first: Sequence[int], other: Sequence[int]) -> bool:
    """Whether both read the same, which a report does not always say; L2 makes writes vary."""
    a, b = program.read[list(first)], program.read[list(other)]
    return bool((np.abs(a - b) <= SAME * np.maximum(a, b) + 65_536).all())


def launch_gaps(program: Program) -> Iterator[Candidate]:
    """PROG011: the GPU waits for the host between short kernels; needs the wall time."""
    count = len(program.launches)
    gap = program.gap_ns * count
    if count < FEWEST_LAUNCHES or gap < IDLE * (gap + program.total_ns):
        return
    left = min(gap, GRAPH_NS * count)
    everything = tuple(range(count))
    costly = tuple(number for number in everything if program.calls[number].line) or everything
    yield Candidate(everything, costly, Estimate((gap - left) / 2, gap - left, gap))
