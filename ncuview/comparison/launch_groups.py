"""Group ``LaunchDiagnosis`` objects of the same kernel, grid and block into ``LaunchGroup``: repeats of each other.

``group_launches`` groups them by configuration, time and counters; ``merged`` joins the groups of one configuration.
A kernel may be launched with the same grid and block on different data, such as another stride or tree depth. Launches
are repeats of each other where their times and exact counters agree.
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

MAX_TIME_RATIO = 1.25
"""Times within a launch group differ by less than this factor, or by less than the noise of one launch: on an H200 the
worst two runs of a 3 us kernel differ by 1.10."""
MAX_COUNT_RATIO = 1.02
"""Counters that repeat differ by less than this factor within a launch group, also where threads race."""
_MOST_GROUPS = 16
"""A configuration with more launch groups than this is treated as one group."""


@dataclass(frozen=True)
class LaunchGroup:
    """Launches of one kernel and configuration that repeat each other, in the order of the reports."""

    launches: tuple[LaunchDiagnosis, ...]

    @property
    def configuration(self) -> Configuration:
        """Demangled name, grid and block."""
        return configuration_of(self.launches[0])

    @property
    def times(self) -> Repeats:
        """Median and spread of the launches' times, with their copies where the host timed them."""
        return repeats_of([launch.whole_ns for launch in self.launches])

    @property
    def middle(self) -> LaunchDiagnosis:
        """The launch of median time; of an even number, the lower of the two in the middle."""
        timed = sorted(self.launches, key=lambda launch: launch.whole_ns if isfinite(launch.whole_ns) else float("inf"))
        return timed[(len(timed) - 1) // 2]

    def values(self, metric: str) -> list[float]:
        """The finite values of a textbook metric."""
        found = (launch.metrics[metric].value for launch in self.launches if metric in launch.metrics)
        return [value for value in found if isfinite(value)]


def configuration_of(launch: LaunchDiagnosis) -> Configuration:
    """What launches must share to be compared: demangled name, grid and block."""
    return (launch.demangled or launch.kernel, launch.grid, launch.block)


def group_launches(launches: Iterable[LaunchDiagnosis]) -> dict[Configuration, list[LaunchGroup]]:
    """The launch groups of each configuration, in the order of their first launch."""
    of_each: defaultdict[Configuration, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in launches:
        of_each[configuration_of(launch)].append(launch)
    return {key: _kinds(members) for key, members in of_each.items()}


def merged(groups: Sequence[LaunchGroup]) -> LaunchGroup:
    """All launches of several groups as one group."""
    return LaunchGroup(tuple(launch for group in groups for launch in group.launches))


def _kinds(launches: Sequence[LaunchDiagnosis]) -> list[LaunchGroup]:
    kinds: list[tuple[_Signature, list[LaunchDiagnosis]]] = []
    for launch in launches:
        signature = _signature(launch)
        for kind, members in kinds:
            if kind.matches(signature):
                members.append(launch)
                break
        else:
            kinds.append((signature, [launch]))
    if len(kinds) > _MOST_GROUPS:
        return [LaunchGroup(tuple(launches))]
    return [LaunchGroup(tuple(members)) for _, members in kinds]


@dataclass(frozen=True)
class _Signature:
    """What launches of one group have in common: GPU, time and exact counters."""

    gpu: str
    time_ns: float
    counts: Mapping[str, float]

    def matches(self, other: _Signature) -> bool:
        """Whether two launches may repeat each other."""
        counts = ((was, other.counts.get(name, was)) for name, was in self.counts.items())
        return (
            self.gpu == other.gpu
            and (_within(MAX_TIME_RATIO, self.time_ns, other.time_ns) or abs(self.time_ns - other.time_ns) <= FLOOR_NS)
            and all(_within(MAX_COUNT_RATIO, was, now) for was, now in counts)
        )


def _signature(launch: LaunchDiagnosis) -> _Signature:
    counts = {
        name: metric.value
        for name, metric in launch.metrics.items()
        if class_of_expression(metric.source) is MetricClass.EXACT
    }
    return _Signature(launch.device.name, launch.whole_ns, counts)


def _within(factor: float, one: float, other: float) -> bool:
    """Whether two numbers differ by no more than a factor; an unknown number matches every other."""
    return not (isfinite(one) and isfinite(other)) or max(one, other) <= factor * min(one, other)


def median_or_nan(values: Sequence[float]) -> float:
    """The median; NaN of an empty sequence."""
    return median(values) if values else float("nan")
