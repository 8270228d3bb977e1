"""Decide whether a kernel became slower, from medians and spreads of repeated launches before and after.

``slowdown`` returns passed, failed or inconclusive; ``repeats_of`` and ``noise_of`` compute median, spread and noise.
A difference counts when it exceeds all three: the tolerance, as a share of the time before; the floor, below which a
timer and a launch vary by themselves; and the noise, what medians of so few repeats may differ by. It is excluded when
even at the edge of the noise it is below twice what is allowed. What is neither is inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, sqrt
from statistics import NormalDist, median

from ncuview.records.gate import CheckResult

TOLERANCE = 0.05
"""The share by which a kernel may become slower."""
FLOOR_NS = 1_000.0
"""Below this difference nothing is said: on an H200, six runs of a kernel of 20 us lie within 1 us, of one of 36 us
within 1 us too, and of one of 3 us within 0.3 us."""
LEAST_REPEATS = 3
"""With fewer launches on either side only what takes much longer is called slower."""
_MUCH = 0.25
"""The share that a single launch must add to be called slower: of 200 launches of the catalogue that were recorded
twice on an H200, the worst differs by 10 %."""

_FALSE_ALARMS = 0.001
"""How often a gate may fail without a change, for all its times together."""
_MISSED = 0.05
"""How often a slowdown of twice the tolerance may be taken for none."""
_DRIFT = 0.01
"""The standard deviation of a whole run, whatever its repeats say of each other: of 200 launches of the catalogue that
were recorded twice on an H200, 95 % differ by less than 3 %, which is two standard deviations of a difference."""
_USUAL_SHARE, _USUAL_NS = 0.004, 250.0
"""The least standard deviation of one launch that is believed, as a share and in ns: three may agree by chance. Six
runs on an H200: 0.5 % above 75 us, 1.1 to 2.8 % at 36 us, 4.9 % at 20 us, from the smallest to the largest."""
_MAD = 1.4826
"""A standard deviation over a median absolute deviation, for normal noise."""
_MEDIAN = sqrt(1.5708)
"""How much more the median of many spreads than their mean."""


@dataclass(frozen=True)
class Repeats:
    """Launches that do the same, as far as their times matter."""

    median_ns: float
    deviation_ns: float
    """The median absolute deviation, scaled to a standard deviation of one launch; 0 for a single launch."""
    count: int


@dataclass(frozen=True)
class Slowdown:
    """What two sets of repeats say of each other."""

    result: CheckResult
    change: float
    """Time after over time before, less 1."""
    why: str
    """The reason for the result, for those who wonder: ``within the 5 % allowed``."""


def repeats_of(times_ns: Sequence[float]) -> Repeats:
    """Median and spread of the times that are known; NaN for none."""
    known = [time for time in times_ns if isfinite(time)]
    if not known:
        return Repeats(float("nan"), float("nan"), 0)
    middle = median(known)
    few = len(known) / (len(known) - 0.8)  # the deviation of few values is too small by this
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
    """Whether the median has grown by more than tolerance, floor and noise.

    Args:
        before: What it took.
        after: What it takes.
        tolerance: The share of the time before that may be added.
        floor_ns: The time that may be added whatever the share.
        spread: The standard deviation of a single launch as a share, where it was measured; else a usual one counts.
        comparisons: How many times are compared in all; the more, the larger a difference must be to be no chance.
    """
    difference = after.median_ns - before.median_ns
    noise = hypot(*(_noise_of_median(side, _deviation(before, after, spread)) for side in (before, after)))
    allowed = max(tolerance * before.median_ns, floor_ns)
    least = NormalDist().inv_cdf(1 - _FALSE_ALARMS / comparisons) * noise
    change = difference / before.median_ns
    few = min(before.count, after.count) < LEAST_REPEATS
    excluded = difference + NormalDist().inv_cdf(1 - _MISSED) * noise <= 2 * allowed
    share, chance = allowed / before.median_ns, least / before.median_ns
    if difference > max(allowed, least):
        if few and change < _MUCH:
            return Slowdown("inconclusive", change, f"{LEAST_REPEATS} launches on either side would tell")
        return Slowdown("failed", change, f"{_share(max(share, chance))} are allowed")
    if excluded and difference <= allowed:
        return Slowdown("passed", change, f"{_share(share)} are allowed")
    if excluded and not few:
        return Slowdown("passed", change, f"chance explains {_share(chance)}")
    return Slowdown("inconclusive", change, f"the launches differ too much to tell {_share(2 * share)}")


def noise_of(times: Repeats, spread: float | None = None) -> float:
    """By how much the median of these repeats may lie off, in ns: three standard deviations, the clocks' included."""
    return 3 * _noise_of_median(times, _deviation(times, times, spread))


def _deviation(before: Repeats, after: Repeats, spread: float | None) -> float:
    """The standard deviation of one launch: what both sides show together, no less than what is known of it."""
    largest = max(before.median_ns, after.median_ns)
    known = hypot(_USUAL_SHARE * largest, _USUAL_NS) if spread is None else spread * largest
    seen = [side.deviation_ns for side in (before, after) if side.count >= LEAST_REPEATS]
    return max(known, hypot(*seen) / sqrt(len(seen))) if seen else known


def _noise_of_median(side: Repeats, deviation_ns: float) -> float:
    loss = _MEDIAN if side.count >= LEAST_REPEATS else 1.0
    return hypot(loss * deviation_ns / sqrt(side.count), _DRIFT * side.median_ns)


def _share(share: float) -> str:
    return f"{100 * share:.3g} %"
