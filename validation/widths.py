"""Intervals around predicted gains that hold a wanted share of the measured ones, fitted on other programs."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ncuview.speedup.model import MORE_THAN_THE_WASTE, MOST_UNEXPLAINED, UNEXPLAINED
from validation.labelled_findings import Launch, folds, in_view_and_latest, pairs

COVERED = 0.80
"""The share of measured gains that intervals shall hold."""
FEW = 20.0
"""A rule's factor is as much that of all rules as its own, where it has so many pairs."""
OFFSETS = (0.0, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 1.0)
LEAST = 0.02
"""The least logarithm of a bound that is stretched: a bound at the best itself would stay there."""
SMALL = 1.5
REPEATS = 5
"""Random assignments of programs to folds."""


@dataclass(frozen=True)
class Sample:
    """A first advice and what its change brought; gains are logarithms.

    Attributes:
        best: The predicted gain.
        off: The measured gain over the predicted one.
        low: Today's low over the best, at most 0.
        high: Today's high over the best, at least 0.
    """

    rule: str
    best: float
    off: float
    low: float
    high: float

    @property
    def limit(self) -> float:
        """The most over the best that units allow which the change leaves as they are; infinite where they do not."""
        uncapped = min(UNEXPLAINED * self.best, math.log(MOST_UNEXPLAINED)) + math.log(MORE_THAN_THE_WASTE)
        return self.high if self.high < uncapped - 1e-6 else math.inf


Shape = Callable[[Sample], tuple[float, float]]
"""How far an interval goes below and above the best, but for a factor."""


def right_first(launches: Iterable[Launch]) -> list[Sample]:
    """The pairs whose first advice is right; the gain is that of the labelled step."""
    advised = [launch for launch in pairs(launches) if launch.advice]
    return [_sample(each, each.gain) for each in advised if each.advice[0].optimization in each.right]


def own_steps(launches: Iterable[Launch]) -> list[Sample]:
    """The launches whose first advice is the labelled step itself, whatever that gained."""
    advised = [launch for launch in launches if launch.advice]
    return [_sample(each, each.measured) for each in advised if each.advice[0].optimization == each.step]


def _sample(launch: Launch, gain: float) -> Sample:
    first = launch.advice[0]
    low, best, high = math.log(first.low), math.log(first.best), math.log(first.high)
    return Sample(first.rule, best, math.log(gain) - best, low - best, high - best)


def as_today(sample: Sample) -> tuple[float, float]:
    """The bounds of the model."""
    return max(-sample.low, LEAST), max(sample.high, LEAST)


def offset_above(offset: float) -> Shape:
    """Upwards also where little is predicted: a change may gain more than the waste that was found."""
    return lambda sample: (max(sample.best, LEAST), offset + sample.best)


class Intervals:
    """A shape and the factors at which it holds the wanted share of gains, for all rules or for each rule."""

    def __init__(self, train: Sequence[Sample], shape: Shape, *, by_rule: bool) -> None:
        self._shape = shape
        needed: dict[str, list[float]] = defaultdict(list)
        for sample in train:
            beyond = sample.off > sample.limit
            needed[sample.rule].append(math.inf if beyond else abs(sample.off) / shape(sample)[sample.off > 0])
        self._all = _covering([each for factors in needed.values() for each in factors])
        self._of_rule = {rule: self._blended(factors) for rule, factors in needed.items()} if by_rule else {}

    def _blended(self, factors: Sequence[float]) -> float:
        if all(map(math.isinf, factors)):
            return self._all
        own = math.log(_covering(factors)) * len(factors) + math.log(self._all) * FEW
        return math.exp(own / (len(factors) + FEW))

    def __call__(self, sample: Sample) -> tuple[float, float]:
        """Low and high over the best."""
        factor = self._of_rule.get(sample.rule, self._all)
        below, above = self._shape(sample)
        return -factor * below, min(factor * above, sample.limit)


def _covering(factors: Sequence[float]) -> float:
    """The least factor that holds the wanted share of one more gain too; infinite factors hold none."""
    finite = sorted(filter(math.isfinite, factors))
    place = math.ceil((len(factors) + 1) * COVERED) - 1
    return finite[min(place, len(finite) - 1)]


Bounds = Callable[[Sample], tuple[float, float]]


def _with_offset(train: Sequence[Sample], *, by_rule: bool) -> Bounds:
    """The offset with the least penalty on the launches that it is fitted on."""
    tried = [Intervals(train, offset_above(offset), by_rule=by_rule) for offset in OFFSETS]
    return min(tried, key=lambda bounds: statistics.mean(_penalty(sample, bounds(sample)) for sample in train))


WIDTHS: Mapping[str, Callable[[Sequence[Sample]], Bounds]] = {
    "today": lambda _: lambda sample: (sample.low, sample.high),
    "today's, one factor": lambda train: Intervals(train, as_today, by_rule=False),
    "today's, a factor for each rule": lambda train: Intervals(train, as_today, by_rule=True),
    "with an offset above, one factor": lambda train: _with_offset(train, by_rule=False),
    "with an offset above, a factor for each rule": lambda train: _with_offset(train, by_rule=True),
}


def of_intervals(launches: Sequence[Launch]) -> Iterator[str]:
    """A table of intervals around right first advice, for programs in view and for the latest."""
    in_view, latest = in_view_and_latest(launches)
    columns = ("inside", f"predicted below {SMALL}x", "below, above", "median high/low", "mean", "penalty", "own steps")
    yield f"| programs | interval | {' | '.join(columns)} |"
    yield "| --- | --- |" + " ---: |" * len(columns)
    parted = [split for seed in range(REPEATS) for split in folds(in_view, seed)]
    for programs, splits in (("in view", parted), ("latest", [(in_view, latest)])):
        for name, fit in WIDTHS.items():
            judged = [(test, fit(right_first(train))) for train, test in splits]
            yield f"| {programs} | {name} | {' | '.join(_widths(judged))} |"


def _widths(judged: Sequence[tuple[Sequence[Launch], Bounds]]) -> Iterator[str]:
    """Columns of launches beside the bounds that were fitted without them."""
    held = [(sample, bounds(sample)) for test, bounds in judged for sample in right_first(test)]
    widths = [high - low for _, (low, high) in held]
    yield _inside(held)
    yield _inside([each for each in held if each[0].best < math.log(SMALL)])
    below, above = (sum(each) / len(held) for each in zip(*((s.off < a, s.off > b) for s, (a, b) in held), strict=True))
    yield f"{below:.0%}, {above:.0%}"
    yield f"{math.exp(statistics.median(widths)):.2f}"
    yield f"{math.exp(statistics.mean(widths)):.2f}"
    yield f"{statistics.mean(_penalty(sample, bounds) for sample, bounds in held):.2f}"
    yield _inside([(sample, bounds(sample)) for test, bounds in judged for sample in own_steps(test)])


def _inside(held: Sequence[tuple[Sample, tuple[float, float]]]) -> str:
    return f"{sum(low <= sample.off <= high for sample, (low, high) in held) / len(held):.1%}"


def _penalty(sample: Sample, bounds: tuple[float, float]) -> float:
    """Winkler's score: the width, and what the measured gain lies outside by, times 2 / (1 - COVERED)."""
    low, high = bounds
    return high - low + 2 / (1 - COVERED) * max(low - sample.off, sample.off - high, 0.0)
