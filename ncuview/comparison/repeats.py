"""Decide from times of repeated launches before and after whether a kernel is slower: ``slowdown`` -> ``Slowdown``.

``repeats_of`` computes median and spread (``Repeats``) of times in ns; ``noise_of`` the noise of that median.
A kernel is slower when the difference of the medians exceeds three bounds: the tolerance, as a share of the time
before; the floor, below which a timer and a launch vary; and the noise of medians of so few repeats. A slowdown is
excluded when the difference plus its noise is below twice the allowed difference. All other cases are inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, sqrt
from statistics import NormalDist, median

from ncuview.base.figures import duration
from ncuview.records.gate import CheckResult

TOLERANCE = 0.05
"""The share by which a kernel may become slower."""
FLOOR_NS = 1_000.0
"""Smaller differences are ignored: on an H200, six runs of a 20 us kernel lie within 1 us, of a 36 us kernel within
1 us too, and of a 3 us kernel within 0.3 us."""
LEAST_REPEATS = 3
"""With fewer launches on either side, only a much longer time is called slower."""
_MUCH = 0.25
"""A single launch must add this share to be called slower: of 200 launches of the catalogue that were recorded twice on
an H200, the worst differs by 10 %."""
_OF_FEW = f"with fewer than {LEAST_REPEATS} launches on a side, only {100 * _MUCH:g} % more is a failure"

_FALSE_ALARMS = 0.001
"""The probability that a gate fails without a change, over all its times together."""
_MISSED = 0.05
"""The probability that a slowdown of twice the tolerance passes."""
_DRIFT = 0.01
"""The standard deviation of a complete run, on top of the spread of its repeats: of 200 launches of the catalogue that
were recorded twice on an H200, 95 % differ by less than 3 %, which is two standard deviations of a difference."""
_USUAL_SHARE, _USUAL_NS = 0.004, 250.0
"""The smallest standard deviation of one launch, as a share and in ns, because three times may agree by chance. Six
runs on an H200: 0.5 % above 75 us, 1.1 to 2.8 % at 36 us, 4.9 % at 20 us, from the smallest to the largest."""
_MAD = 1.4826
"""Standard deviation over median absolute deviation, for normal noise."""
_MEDIAN = sqrt(1.5708)
"""The standard deviation of a median over that of a mean, for many normal values."""


@dataclass(frozen=True)
class Repeats:
    """Median and spread of the times of launches that repeat each other."""

    median_ns: float
    deviation_ns: float
    """The median absolute deviation, scaled to the standard deviation of one launch; 0 for a single launch."""
    count: int


@dataclass(frozen=True)
class Slowdown:
    """The result of comparing two sets of repeats."""

    result: CheckResult
    change: float
    """Time after over time before, minus 1."""
    why: str
    """The reason for the result: ``5 % are allowed``."""


def repeats_of(times_ns: Sequence[float]) -> Repeats:
    """Median and spread of the known times; NaN where there are none."""
    known = [time for time in times_ns if isfinite(time)]
    if not known:
        return Repeats(float("nan"), float("nan"), 0)
    middle = median(known)
    few = len(known) / (len(known) - 0.8)  # corrects the deviation of few values, which is too small by this factor
    return Repeats(middle, _MAD * few * median(abs(time - middle) for time in known), len(known))


def slowdown(
    before: Repeats,
    after: Repeats,
    *,
    tolerance: float = TOLERANCE,
    floor_ns: float = FLOOR_NS,
    spread: float | None = None,
    comparisons: int = 1,
) -> Slowdown:
    """Decide whether the median has grown by more than tolerance, floor and noise.

    Args:
        before: The times before.
        after: The times after.
        tolerance: The share of the time before by which the time may grow.
        floor_ns: The time by which it may grow whatever the share.
        spread: The measured standard deviation of a single launch as a share; None for the usual one.
        comparisons: The number of times that the gate compares; more comparisons need a larger difference.
    """
    difference = after.median_ns - before.median_ns
    noise = hypot(*(_noise_of_median(side, _deviation(before, after, spread)) for side in (before, after)))
    allowed = max(tolerance * before.median_ns, floor_ns)
    least = NormalDist().inv_cdf(1 - _FALSE_ALARMS / comparisons) * noise
    change = difference / before.median_ns
    few = min(before.count, after.count) < LEAST_REPEATS
    excluded = difference + NormalDist().inv_cdf(1 - _MISSED) * noise <= 2 * allowed
    share, chance = allowed / before.median_ns, least / before.median_ns
    floor = f": differences below {duration(floor_ns)} are ignored" if allowed > tolerance * before.median_ns else ""
    allowance = f"{_share(share)} are allowed{floor}"
    if difference > max(allowed, least):
        if few and change < _MUCH:
            return Slowdown("inconclusive", change, f"{allowance}; {_OF_FEW}")
        return Slowdown("failed", change, _decided(allowance, share, chance, min(before.count, after.count)))
    if excluded and difference <= allowed:
        return Slowdown("passed", change, allowance)
    if excluded and not few:
        return Slowdown("passed", change, f"noise explains {_share(chance)}")
    return Slowdown("inconclusive", change, f"the launches differ too much to detect {_share(2 * share)}")


def _decided(allowance: str, share: float, chance: float, launches: int) -> str:
    """The largest of the three bounds that a failed time has passed, and why it is that one."""
    if launches < LEAST_REPEATS and max(share, chance) < _MUCH:
        return f"{_share(_MUCH)} are allowed: {_OF_FEW}"
    if chance <= share:
        return allowance
    spread = f"the spread of {launches:,} {'launch' if launches == 1 else 'launches'}"
    return f"{_share(chance)} are allowed: {_share(share)}, raised by {spread}"


def noise_of(times: Repeats, spread: float | None = None) -> float:
    """The noise of the median of these repeats in ns: three standard deviations, including the drift of clocks."""
    return 3 * _noise_of_median(times, _deviation(times, times, spread))


def _deviation(before: Repeats, after: Repeats, spread: float | None) -> float:
    """The standard deviation of one launch: of both sides together, and at least the known one."""
    largest = max(before.median_ns, after.median_ns)
    known = hypot(_USUAL_SHARE * largest, _USUAL_NS) if spread is None else spread * largest
    seen = [side.deviation_ns for side in (before, after) if side.count >= LEAST_REPEATS]
    return max(known, hypot(*seen) / sqrt(len(seen))) if seen else known


def _noise_of_median(side: Repeats, deviation_ns: float) -> float:
    loss = _MEDIAN if side.count >= LEAST_REPEATS else 1.0
    return hypot(loss * deviation_ns / sqrt(side.count), _DRIFT * side.median_ns)


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"
