"""Detectors of calls for which another operator does less: messages, caches, sorts, one-hot products, transforms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, takewhile

from ncuview.programs.launches import Candidate, Program, by_place, saved_of
from ncuview.programs.traffic import SMALL, word_of
from ncuview.records.program import Estimate

NEAR = 5
"""Launches between a gather and the scatter of its messages at most."""
APPENDS = 4
"""A cache is appended to at least as often in a step."""
SPARSE = 64.0
"""A launch that writes this many times what it reads makes a matrix of few different values."""
MOST = 0.8
"""The matrix is this share of what its products read at least."""
NARROW = 0.05
"""A slice of a sorted array below this share of it is what a top-k gives."""
REAL_TO_COMPLEX = re.compile(r"cupy_copy__float\d+_complex\d+$")


def messages(program: Program) -> Iterator[Candidate]:
    """PROG012: rows are gathered for every edge, perhaps scaled, and added up by a scatter: a sparse product."""
    found = []
    for start, kind in enumerate(program.kinds):
        if kind != "gather" or word_of(program, start) not in {"index_select", "index", "gather", "take"}:
            continue
        near = range(start + 1, min(start + NEAR, len(program.launches)))
        end = next((number for number in near if program.kinds[number] == "scatter"), None)
        if end is None or not program.read[end] >= program.written[start] / 2:
            continue
        between = range(start + 1, end)
        small = SMALL * program.written[start]
        if all(word_of(program, number) == "mul" or program.moved[number] <= small for number in between):
            part = (start, *between, end)
            # the sparse product reads rows and weights as the scaling does, and adds up as the scatter does
            rest = program.time_of([end]), 2 * program.time_of([*between, end])
            found.append(Candidate(part, part, saved_of(program.time_of(part), *rest), len(part) - 1))
    yield from by_place(program, found)


def appended(program: Program) -> Iterator[Candidate]:
    """PROG013: arrays that grow by concatenation and are then read by attention: a cache that is copied each time."""
    cats = [number for number, kind in enumerate(program.kinds) if kind == "cat" and program.calls[number].line]
    readers = [number for number, kind in enumerate(program.kinds) if kind in {"attention", "softmax"}]
    found = []
    for number in cats:
        reader = next((later for later in readers if number < later <= number + NEAR), None)
        again = [other for other in cats if _same_line(program, other, number)]
        sizes = program.read[again]
        if reader is not None and len(again) >= APPENDS and sizes.max() <= 1.1 * sizes.min():
            time = program.time_of([number])
            found.append(Candidate((number,), (number,), saved_of(time, 0.01 * time, 0.05 * time)))
    yield from by_place(program, found)


def one_hot_products(program: Program) -> Iterator[Candidate]:
    """PROG015: a matrix that is made from almost nothing, such as one-hot rows, and that products then read."""
    found = []
    for number, kind in enumerate(program.kinds):
        size = program.written[number]
        made = kind in {"elementwise", "compiled", "other"} and not program.calls[number].backward
        if not made or not size >= SPARSE * max(program.read[number], 1.0):
            continue
        users = [
            later
            for later in range(number + 1, min(number + NEAR, len(program.launches)))
            if program.kinds[later] == "product"
            and program.places[later] == program.places[number]
            and MOST <= size / program.read[later] <= 1 / MOST
        ]
        part = [number, *users]
        if users and program.bandwidth:
            others = float(program.moved[users].sum() - program.read[users].clip(max=size).sum())
            rest = others / program.bandwidth + program.gpu.launch_ns * len(users)
            found.append(Candidate(tuple(part), tuple(part), saved_of(program.time_of(part), rest, 4 * rest), 1))
    yield from by_place(program, found)


def _same_line(program: Program, one: int, other: int) -> bool:
    return program.places[one] == program.places[other] and program.calls[one].line == program.calls[other].line


def sorted_for_few(program: Program) -> Iterator[Candidate]:
    """PROG014: a complete sort, of which the next launches of the same function read a few values."""
    found = []
    for _, run in program.runs():
        for is_sort, part in groupby(run, key=lambda number: _is_sort(program, number)):
            passes = list(part)
            after = range(passes[-1] + 1, min(passes[-1] + NEAR, run[-1] + 1))
            size = float(program.moved[passes].max()) / 2
            few = all(program.read[number] <= NARROW * size for number in after)
            if is_sort and after and few and program.bandwidth:
                once = size / program.bandwidth
                time = program.time_of(passes)
                found.append(Candidate(tuple(passes), tuple(passes), saved_of(time, once, 3 * once), len(passes) - 1))
    yield from by_place(program, found)


def _is_sort(program: Program, number: int) -> bool:
    word = word_of(program, number)
    return word in {"sort", "argsort", "msort"} or (program.kinds[number] == "sort" and not word)


def real_transforms(program: Program) -> Iterator[Candidate]:
    """PROG017: a real array is made complex, transformed, and transformed back, and then a real array is read.

    The transforms and what is between them do twice the work.
    """
    found = []
    for cast, launch in enumerate(program.launches):
        if not REAL_TO_COMPLEX.match(launch.kernel):
            continue
        part = [*takewhile(lambda number: _is_complex(program, number), range(cast + 1, len(program.launches)))]
        transforms = [number for number in part if _is_transform(program, number)]
        after = cast + 1 + len(part)
        if not transforms or transforms[0] != cast + 1 or after == len(program.launches):
            continue
        between = [number for number in part if number not in transforms and number < transforms[-1]]
        if between and program.launches[after].kernel.startswith("cupy_"):
            once, half = program.time_of([cast]), program.time_of([*transforms, *between]) / 2
            saved = Estimate(once, once + half, once + program.time_of(part) / 2)
            found.append(Candidate((cast, *part), (cast, *part), saved, 1))
    yield from by_place(program, found)


def _is_transform(program: Program, number: int) -> bool:
    return "fft" in program.launches[number].kernel


def _is_complex(program: Program, number: int) -> bool:
    return _is_transform(program, number) or "_complex" in program.launches[number].kernel
