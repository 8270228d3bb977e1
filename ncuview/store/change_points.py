"""Find change points in series of times over commits, in ns, by a permutation test.

``time_changes`` returns the steps of a series of times, and what is no step: a drift, or times that alternate between
two levels. It takes NumPy arrays, in the order of the points, and reads nothing else.

The test: the largest t statistic over all splits of the logarithms, against the largest of the same values in
PERMUTATIONS random orders. Where none of them reaches it, the split is a step, and both sides are tested again. Most
steps need no such orders: an inequality shows that too few of all orders reach them. The noise need therefore not be
normal; it must not depend on the order. Noise that does is recognised in three cases:

- A drift. The step is compared with a line over the same points, and with ramps around the split. Where one of these
  fits better, the times drift, and no step is reported there.
- Times that wander, such as those of a clock that stays in one of two states for a while. Where the differences of
  successive points from their levels have the same sign more often than chance explains, no step is reported. Two
  states that alternate once in the series look like a step, unless the clock is known:
- The clock. Where the clock changed by at least half of the step in the other direction, the step is the clock's.

``benchmarks/store_changes.py`` measures how many steps are found, and how many are invented on real noise, and compares
the test with PELT of ``ruptures`` and with E-divisive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

PERMUTATIONS = 1_999
"""A step is at the 0.05 % level: at most one false alarm in 2,000 series."""
_CERTAIN = 0.01 / PERMUTATIONS
"""With at most this share of all orders, no random one reaches the statistic, in 99 of 100 cases."""
LEAST_STEP = 0.01
"""Smaller steps are left out: of 200 launches of the catalogue that were recorded twice, most differ by that much."""
LEAST_POINTS = 3
"""On either side of a step. Fewer cannot be told from odd runs at this level."""
_SEED = 2026
_LARGEST_BLOCK = 4_000_000
"""Values that are permuted at a time: 32 MB."""
_SHORTEST_RAMP = 4
_WANDER_LEVEL = 0.01
"""The probability that a step in noise without memory is left out as wandering."""
_WANDER_PERMUTATIONS = 499
_OF_CLOCK = 0.5
"""The share of a step that a change of the clock must explain."""


@dataclass(frozen=True)
class TimeChange:
    """A step from one level of times to the next."""

    at: int
    """The first point of the new level."""
    before_ns: float
    """The median of the level before."""
    after_ns: float

    @property
    def ratio(self) -> float:
        """The time after over the time before."""
        return self.after_ns / self.before_ns


@dataclass(frozen=True)
class TimeChanges:
    """What a series of times holds."""

    steps: tuple[TimeChange, ...] = ()
    drifts: bool = False
    """Whether a part of the series rises or falls slowly; no step is reported in that part."""
    wanders: bool = False
    """Whether successive times resemble each other so much that a step between them says nothing."""
    with_clock: tuple[int, ...] = ()
    """The points of steps that follow the clock; these are not reported as steps."""


def time_changes(times_ns: Numbers, clocks: Numbers | None = None) -> TimeChanges:
    """The steps of a series of times, at a level of 0.05 %; the same series gives the same answer.

    Args:
        times_ns: The time at each point, shape (points,), for example the median of its launches; NaN or not positive
            where unknown.
        clocks: The clock rate at each point in any unit, shape (points,); NaN where unknown.
    """
    places = np.flatnonzero(np.isfinite(times_ns) & (times_ns > 0))
    times, logs = times_ns[places], np.log(times_ns[places])
    chance = np.random.default_rng(_SEED)
    splits, drifts = _splits(logs, chance)
    parts = [slice(start, end) for start, end in pairwise([0, *splits, len(logs)])]
    steps: list[TimeChange] = []
    with_clock: list[int] = []
    wanders = False
    for before, after in pairwise(parts):
        step = TimeChange(int(places[after.start]), float(np.median(times[before])), float(np.median(times[after])))
        size = float(np.log(step.ratio))
        clock = _clock_step(clocks[places], before, after) if clocks is not None else 0.0
        if abs(size) < np.log1p(LEAST_STEP):
            continue
        if _wanders(logs[before], logs[after], chance):
            wanders = True
        elif -clock / size >= _OF_CLOCK:
            with_clock.append(step.at)
        else:
            steps.append(step)
    return TimeChanges(tuple(steps), drifts, wanders, tuple(with_clock))


def _splits(logs: Numbers, chance: np.random.Generator) -> tuple[list[int], bool]:
    """The significant splits in ascending order, and whether a part drifts instead."""
    splits: list[int] = []
    drifts = False
    parts = [(0, len(logs))]
    while parts:
        start, end = parts.pop()
        split = _split(logs[start:end], chance)
        if split is None:
            continue
        if _drifts(logs[start:end], split):
            drifts = True
            continue
        splits.append(start + split)
        parts += [(start, start + split), (start + split, end)]
    return sorted(splits), drifts


def _split(part: Numbers, chance: np.random.Generator) -> int | None:
    """The place of the most significant step, the number of points before it; None where chance explains it."""
    if len(part) < 2 * LEAST_POINTS or np.ptp(part) == 0:
        return None
    part = part - part.mean()
    seen = _statistics(part)
    largest = seen.max() * (1 - 1e-9)
    if _share_of_orders(part, largest) > _CERTAIN and _reached_by_chance(part, largest, chance):
        return None
    return int(seen.argmax()) + LEAST_POINTS


def _share_of_orders(centred: Numbers, statistic: float) -> float:
    """At most this share of all orders reaches a statistic: for each split by the inequality of Hoeffding and Serfling.

    A sum of the smaller side of k values, drawn without replacement, exceeds x with a probability of at most
    ``exp(-2 x^2 / (k (1 - (k - 1) / n) range^2))``; here ``x^2 = statistic^2 k (n - k)``.
    """
    count = len(centred)
    smaller = count // 2
    exponent = 2 * (statistic / np.ptp(centred)) ** 2 * count * (count - smaller) / (count - smaller + 1)
    return float(2 * (count - 2 * LEAST_POINTS + 1) * np.exp(-exponent))


def _reached_by_chance(part: Numbers, statistic: float, chance: np.random.Generator) -> bool:
    """Whether one of PERMUTATIONS random orders reaches a statistic."""
    for rows in _blocks(PERMUTATIONS, len(part)):
        shuffled = chance.permuted(np.broadcast_to(part, (rows, len(part))), axis=1)
        if (_statistics(shuffled) >= statistic).any():
            return True
    return False


def _statistics(centred: Numbers) -> Numbers:
    """|t| of each split of rows of centred values, but for a monotone function that the order does not change."""
    count = centred.shape[-1]
    before = np.arange(LEAST_POINTS, count - LEAST_POINTS + 1)
    sums = np.cumsum(centred, axis=-1)[..., before - 1]
    statistics: Numbers = np.abs(sums) / np.sqrt(before * (count - before))
    return statistics


def _blocks(rows: int, width: int) -> Iterator[int]:
    """The number of rows of each block that is permuted at once; the first is small, as most series have no step."""
    block = min(100, rows)
    while rows:
        yield block
        rows -= block
        block = min(rows, max(1, _LARGEST_BLOCK // width))


def _drifts(part: Numbers, split: int) -> bool:
    """Whether a line, or a ramp around the split, fits the points better than the step."""
    count = len(part)
    at = np.arange(count, dtype=np.float64)
    step = _residual(part, (at >= split).astype(np.float64))
    line = _residual(part, at)
    if line <= step * count ** (1 / count):  # by BIC: the place of a step is a parameter
        return True
    reach = min(split, count - split)
    ramps = (
        _residual(part, np.clip(at, split - 0.5 - half, split - 0.5 + half))
        for half in range(_SHORTEST_RAMP // 2, reach + 1)
    )
    return any(ramp < step * count ** (-1 / count) for ramp in ramps)


def _residual(part: Numbers, shape: Numbers) -> float:
    """The sum of squared residuals of the best ``a + b * shape``."""
    centred, shape = part - part.mean(), shape - shape.mean()
    total = float(centred @ centred)
    return max(total - float(centred @ shape) ** 2 / float(shape @ shape), total * 1e-12)


def _wanders(before: Numbers, after: Numbers, chance: np.random.Generator) -> bool:
    """Whether differences of successive points from their side's mean agree more than in random orders of the sides."""
    rows = _WANDER_PERMUTATIONS + 1
    products = np.zeros(rows)
    for side in (before, after):
        orders = chance.permuted(np.broadcast_to(side - side.mean(), (rows, len(side))), axis=1)
        orders[0] = side - side.mean()
        products += (orders[:, 1:] * orders[:, :-1]).sum(axis=1)
    return bool((products >= products[0]).sum() <= _WANDER_LEVEL * rows)


def _clock_step(clocks: Numbers, before: slice, after: slice) -> float:
    """The step of the logarithm of the clock; 0 where it is unknown."""
    sides = [clocks[part][np.isfinite(clocks[part]) & (clocks[part] > 0)] for part in (before, after)]
    if not all(side.size for side in sides):
        return 0.0
    return float(np.log(np.median(sides[1]) / np.median(sides[0])))
