"""Chains of launches that only stream arrays, and the bytes and time that are left where they are fused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

import numpy as np

from ncuview.programs.kinds import Kind
from ncuview.programs.launches import Program
from ncuview.records.profile import Extent
from ncuview.records.program import Estimate, ProgramLaunch

STREAMING: frozenset[Kind] = frozenset({"elementwise", "cast", "reduction", "softmax", "copy", "create"})
"""Kinds that read and write each element about once."""
SMALL = 0.125
"""A launch that moves less than this share of the chain's largest does not break it: the statistics of rows, say."""
AGREES = 4.0
"""Sizes agree within this factor: a cast from 2 to 4 bytes and a second operand change the bytes by up to it."""
_NUMBERED = re.compile(r"_\d+$")
_CUPY = re.compile(r"^cupy_([a-z]\w*?)(?:__|$)")
_NUMPY_WORDS = {
    "multiply": "mul",
    "true_divide": "div",
    "divide": "div",
    "subtract": "sub",
    "power": "pow",
    "square": "pow",
    "amax": "max",
    "amin": "min",
    "reciprocal": "div",
    "negative": "neg",
}


def word_of(program: Program, number: int) -> str:
    """The operation of a launch, in PyTorch's words: ``mul``, ``mean``, ``softmax``; empty where it is unknown."""
    operator = program.calls[number].operator
    if operator and not program.calls[number].backward:
        return operator.strip("_")
    found = _CUPY.match(program.launches[number].kernel)
    return _NUMPY_WORDS.get(found[1], found[1]) if found else ""


def streams(program: Program, further: frozenset[Kind] = frozenset()) -> Iterator[list[int]]:
    """Runs of streaming launches, or launches of the further kinds, from one iteration at the same place."""
    wanted = STREAMING | further
    for _, run in program.runs():
        current: list[int] = []
        for number in run:
            if program.kinds[number] in wanted or (current and _is_fused(program, current[-1], number)):
                current.append(number)
            elif current:
                yield from _iterations(program, current)
                current = []
        if current:
            yield from _iterations(program, current)


def _is_fused(program: Program, last: int, number: int) -> bool:
    """Whether a launch is one of CuPy's kernels for expressions, which are launched as its own operators are."""
    if program.frameworks[number] != "cupy" or program.kinds[number] != "other":
        return False
    launch, before = program.launches[number], program.launches[last]
    return (launch.grid, launch.block) == (before.grid, before.block)


def _iterations(program: Program, run: Sequence[int]) -> Iterator[list[int]]:
    """A run in parts that begin where its lines start over, or where the same launches come again."""
    lines = [program.calls[number].line for number in run]
    same = [(program.calls[number].line, *work_of(program.launches[number])) for number in run]
    start = 0
    for at in range(1, len(run)):
        starts_over = lines[at] <= lines[start] < lines[at - 1]
        length = at - start
        again = length > 1 and same[at] == same[start] and same[at : at + length] == same[start:at]
        if starts_over or again:
            yield list(run[start:at])
            start = at
    yield list(run[start:])


def work_of(launch: ProgramLaunch) -> tuple[str, Extent, Extent]:
    """What launches that do the same have in common; XLA numbers kernels that do the same."""
    return _NUMBERED.sub("", launch.demangled), launch.grid, launch.block


def sizable(program: Program, chain: Sequence[int]) -> list[int]:
    """The launches of a chain that move a fair part of what its largest moves; all where no bytes are known."""
    moved = program.moved[list(chain)]
    if not np.isfinite(moved).all():
        return list(chain)
    return [number for number, bytes_ in zip(chain, moved, strict=True) if bytes_ >= SMALL * moved.max()]


def linked(program: Program, run: Sequence[int]) -> Iterator[list[int]]:
    """Parts of a run in which each sizable launch reads about as much as the one before it moved."""
    large = set(sizable(program, run))
    current: list[int] = []
    last: int | None = None
    for number in run:
        if number in large:
            if last is not None and not _agree(program, last, number):
                yield current
                current = []
            last = number
        current.append(number)
    if current:
        yield current


def _agree(program: Program, earlier: int, later: int) -> bool:
    """Whether a launch reads about what an earlier one wrote, such as a sum, or what that one read."""
    sizes, read = (program.read[earlier], program.written[earlier]), program.read[later]
    if not (np.isfinite(sizes).all() and np.isfinite(read)):
        return program.launches[earlier].grid == program.launches[later].grid
    return any(size <= AGREES * read and read <= AGREES * size for size in sizes)


def ends(program: Program, chain: Sequence[int]) -> float:
    """The bytes that the first sizable launch reads and the last one writes: they stay where a chain is fused."""
    large = sizable(program, chain)
    return float(program.read[large[0]] + program.written[large[-1]])


def fused_rest(program: Program, chain: Sequence[int]) -> tuple[float, float]:
    """The least and the most time that is left where a chain is one launch, in ns.

    At least the ends move, at the bandwidth of the chain's best launch. At most, only what one launch writes and the
    next one reads no longer moves, and the rest moves as fast as the chain does now. A launch does not get shorter
    than the chain's shortest; CuPy starts a thread for each element, so that its launch does not get shorter than the
    shortest with as many. Without bytes, the longest launch is left, or half of the chain.
    """
    duration = program.duration[list(chain)]
    if not np.isfinite(program.moved[list(chain)]).all():
        longest = float(duration.max())
        return longest, max(longest, float(duration.sum()) / 2)
    large = sizable(program, chain)
    least = ends(program, chain)
    links = sum(min(program.written[a], program.read[b]) for a, b in pairwise(large))
    most = max(least, float(program.moved[list(chain)].sum()) - 2 * links)
    fast = program.bandwidth_of(large)
    typical = float(program.moved[large].sum() / program.duration[large].sum())
    if not fast or not typical:
        return float(duration.max()), float(duration.sum())
    floor = float(program.duration[_as_long(program, chain, large)].min())
    return max(floor, least / fast), max(floor, most / typical)


def _as_long(program: Program, chain: Sequence[int], large: Sequence[int]) -> list[int]:
    """The launches of which the shortest is at most as long as a fused one."""
    if program.frameworks[large[0]] != "cupy":
        return list(chain)
    grids = {number: prod(program.launches[number].grid) for number in large if program.kinds[number] != "reduction"}
    most = max(grids.values(), default=0)
    return [number for number, blocks in grids.items() if blocks == most] or list(chain)


def share_of(estimate: Estimate, share: float) -> Estimate:
    """An estimate of which only a share counts."""
    return Estimate(*(bound * share for bound in estimate))
