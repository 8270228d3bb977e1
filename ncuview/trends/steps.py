"""Detect steps in a kernel's median times in ns at successive points: changes of the level that are larger than noise.

``changes`` takes times and their noise and returns ``Change`` objects; ``noise_of_median`` computes that noise.
The rule:

- The level is the median of the points since the last step. A point is off the level when it differs by more than the
  noise.
- The noise is the largest of three bounds: what the gate allows (``comparison.repeats``: its tolerance and its floor),
  the noise of medians of so few launches, and three times the spread of the level's own points. This spread is computed
  from differences of successive points, so that a slow drift does not count as noise.
- A point off the level is a step when the next point is off it on the same side; else it is a single odd run and is
  left out. The last point has no next one: it is an unconfirmed step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import hypot, isfinite, sqrt
from statistics import median

from ncuview.comparison.repeats import FLOOR_NS, TOLERANCE, noise_of, repeats_of

_NOISE = 3.0
_SIGMA = 1.4826
"""Standard deviation over the median of absolute deviations, for normal errors."""
_ENOUGH_POINTS = 4
"""Fewer points do not show their spread."""


@dataclass(frozen=True)
class Level:
    """Successive points at which a kernel takes the same time within noise."""

    points: tuple[int, ...]
    """Places in the series, without odd runs."""
    median: float


@dataclass(frozen=True)
class Change:
    """A step from one level to the next."""

    before: Level
    after: Level
    noise_ns: float
    """The noise at the first point of the new level; the step is larger."""
    is_confirmed: bool
    """Whether the next point is off the old level too; False for the last point."""


def changes(times: Sequence[float], noises_ns: Sequence[float]) -> tuple[Change, ...]:
    """The steps in a series, in its order.

    Args:
        times: The median time at each point; NaN where it is unknown.
        noises_ns: How far each may differ by noise.
    """
    known = [at for at, time in enumerate(times) if isfinite(time) and time > 0]
    levels: list[list[int]] = []
    found: list[tuple[float, bool]] = []
    for place, at in enumerate(known):
        if not levels:
            levels.append([at])
            continue
        level = levels[-1]
        noise = _noise([times[point] for point in level], times[at], [noises_ns[point] for point in (*level, at)])
        side = _side(times[at], median(times[point] for point in level), noise)
        following = known[place + 1 : place + 2]
        if not side:
            level.append(at)
        elif all(_side(times[point], median(times[p] for p in level), noise) == side for point in following):
            levels.append([at])
            found.append((noise, bool(following)))
    medians = [Level(tuple(level), median(times[point] for point in level)) for level in levels]
    return tuple(Change(*both, *how) for both, how in zip(pairwise(medians), found, strict=True))


def noise_of_median(groups: Sequence[Sequence[float]]) -> float:
    """How far the median of repeated launches may differ by noise, in ns.

    Args:
        groups: The times of the launches of each rank. Differences between ranks do not count as noise.
    """
    middle = median(time for group in groups for time in group)
    return noise_of(repeats_of([time * middle / median(group) for group in groups for time in group]))


def _noise(level: Sequence[float], time: float, noises_ns: Sequence[float]) -> float:
    larger, between = max(median(level), time), 0.0
    if len(level) >= _ENOUGH_POINTS:
        successive = (abs(after / before - 1) for before, after in pairwise(level))
        between = _NOISE * _SIGMA * median(successive) / sqrt(2)
    within = hypot(noises_ns[-1], median(noises_ns[:-1]))
    return max(TOLERANCE * larger, FLOOR_NS, between * larger, within)


def _side(time: float, level: float, noise_ns: float) -> int:
    """1 above the noise of a level, -1 below it, 0 within it."""
    if abs(time - level) <= noise_ns:
        return 0
    return 1 if time > level else -1
