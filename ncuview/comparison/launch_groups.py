"""Group launches of the same kernel, grid and block into ``Work``: repeats of each other by time and counters.

``works_of`` groups launches by configuration and work; ``together`` joins all launches of one configuration.

The same kernel may be launched with the same grid and block to do different things: another stride, another depth of a
tree. Its launches are repeats where their times and what they count are alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median

from ncuview.comparison.repeats import FLOOR_NS, Repeats, repeats_of
from ncuview.metrics.repeatability import MetricClass, class_of_expression
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.profile import Configuration

ALIKE_TIMES = 1.25
"""Launches of the same work differ by less than this factor, or by less than a launch itself varies by: on an H200 the
worst two runs of 3 us differ by 1.10."""
ALIKE_COUNTS = 1.02
"""Counters that repeat differ by less than this factor in launches of the same work, also where threads race."""
_MOST_KINDS = 16
"""Where launches of one configuration do more different things, they are taken together."""


@dataclass(frozen=True)
class Work:
    """Launches of one kernel and configuration that do the same, in the order of the reports."""

    launches: tuple[LaunchDiagnosis, ...]

    @property
    def configuration(self) -> Configuration:
        """Demangled name, grid and block."""
        return configuration_of(self.launches[0])

    @property
    def times(self) -> Repeats:
        """Of the launches, with their copies where the host timed them."""
        return repeats_of([launch.whole_ns for launch in self.launches])

    @property
    def middle(self) -> LaunchDiagnosis:
        """The launch whose time is the median, or the one before the middle of two."""
        timed = sorted(self.launches, key=lambda launch: launch.whole_ns if isfinite(launch.whole_ns) else float("inf"))
        return timed[(len(timed) - 1) // 2]

    def values(self, metric: str) -> list[float]:
        """A textbook metric of the launches that have it."""
        found = (launch.metrics[metric].value for launch in self.launches if metric in launch.metrics)
        return [value for value in found if isfinite(value)]


def configuration_of(launch: LaunchDiagnosis) -> Configuration:
    """What launches must share to be compared: demangled name, grid and block."""
    return (launch.demangled or launch.kernel, launch.grid, launch.block)


def works_of(launches: Iterable[LaunchDiagnosis]) -> dict[Configuration, list[Work]]:
    """The launches of each configuration by what they do, in the order in which each work is first done."""
    of_each: defaultdict[Configuration, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in launches:
        of_each[configuration_of(launch)].append(launch)
    return {key: _kinds(members) for key, members in of_each.items()}


def together(works: Sequence[Work]) -> list[Work]:
    """All launches of a configuration as one work."""
    return [Work(tuple(launch for work in works for launch in work.launches))]


def _kinds(launches: Sequence[LaunchDiagnosis]) -> list[Work]:
    kinds: list[tuple[_Told, list[LaunchDiagnosis]]] = []
    for launch in launches:
        told = _told(launch)
        for kind, members in kinds:
            if kind.is_like(told):
                members.append(launch)
                break
        else:
            kinds.append((told, [launch]))
    if len(kinds) > _MOST_KINDS:
        return [Work(tuple(launches))]
    return [Work(tuple(members)) for _, members in kinds]


@dataclass(frozen=True)
class _Told:
    """What tells one work from another."""

    gpu: str
    time_ns: float
    counts: Mapping[str, float]

    def is_like(self, other: _Told) -> bool:
        """Whether two launches may be repeats of each other."""
        counts = ((was, other.counts.get(name, was)) for name, was in self.counts.items())
        return (
            self.gpu == other.gpu
            and (_within(ALIKE_TIMES, self.time_ns, other.time_ns) or abs(self.time_ns - other.time_ns) <= FLOOR_NS)
            and all(_within(ALIKE_COUNTS, was, now) for was, now in counts)
        )


def _told(launch: LaunchDiagnosis) -> _Told:
    counts = {
        name: metric.value
        for name, metric in launch.metrics.items()
        if class_of_expression(metric.source) is MetricClass.EXACT
    }
    return _Told(launch.device.name, launch.whole_ns, counts)


def _within(factor: float, one: float, other: float) -> bool:
    """Whether two numbers differ by no more than a factor; one that is unknown differs from none."""
    return not (isfinite(one) and isfinite(other)) or max(one, other) <= factor * min(one, other)


def middle_value(values: Sequence[float]) -> float:
    """The median; NaN of nothing."""
    return median(values) if values else float("nan")
