"""Look up the value of a launch by the name that a budget uses: ``duration_ns``, a textbook metric or an ncu metric.

``MetricValues(profile).of(launch, name)`` returns a ``MetricValue``: value, unit, repeatability, or why it is missing.

``finding_lines`` returns the source lines of a finding that rests on given metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ncuview.metrics.repeatability import DURATION, MetricClass, class_of_expression, class_of_metric
from ncuview.metrics.textbook import definitions, metric_names
from ncuview.reader.host_times import HOST_TIMES
from ncuview.reader.validity import valid
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, SourceLine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.records.profile import Profile

_TIME = "gpu__time_duration.sum"


@dataclass(frozen=True)
class MetricValue:
    """A metric of one launch, or the reason why it has no value."""

    value: float | None
    unit: str = ""
    kind: MetricClass = MetricClass.EXACT
    metrics: frozenset[str] = frozenset()
    """The ncu metrics that it was computed from."""
    has_subject: bool = True
    """Whether there is something to measure; a kernel without shared memory has no bank conflicts."""
    why: str = ""
    """Why there is no value although there is a subject; empty where it was not collected."""


@dataclass(frozen=True)
class MetricValues:
    """All metric values of a profile."""

    profile: Profile

    def of(self, launch: LaunchDiagnosis, name: str) -> MetricValue:
        """The value of a textbook metric, an ncu metric, or ``duration_ns``."""
        if name == DURATION:
            return self._duration(launch)
        if name in launch.metrics:
            found = launch.metrics[name]
            names = metric_names(found.source)
            return MetricValue(_known(found.value), found.unit, class_of_expression(found.source), names)
        if name in definitions():
            needed = frozenset[str]().union(*(metric_names(text) for text in definitions()[name].expressions))
            collected = self._was_collected(launch, name)
            return MetricValue(None, definitions()[name].unit, has_subject=not collected, why=self._why(launch, needed))
        names = frozenset([name])
        unit = self.profile.units.get(name, "")
        value = _known(self._ncu(launch, name))
        return MetricValue(value, unit, class_of_metric(name), names, why=self._why(launch, names))

    def _duration(self, launch: LaunchDiagnosis) -> MetricValue:
        """The launch's time with its copies; no value where only some of the host's times are known."""
        partly = launch.host is None and any(
            isfinite(self._ncu(launch, name)) or name in self._refused(launch) for name in HOST_TIMES
        )
        value = None if partly or launch.whole_ns <= 0 else _known(launch.whole_ns)
        names = frozenset([_TIME, *HOST_TIMES])
        why = self._why(launch, names) or ("the host's times of its copies are not all known" if partly else "")
        return MetricValue(value, "ns", MetricClass.TIME, frozenset([_TIME]), why=why)

    def _why(self, launch: LaunchDiagnosis, metrics: frozenset[str]) -> str:
        """Which of these metrics have impossible values in the report; empty where none has."""
        wrong = [f"{name} is {value:g}" for name, value in self._refused(launch).items() if name in metrics]
        return f"the report gives an impossible value: {', '.join(wrong)}" if wrong else ""

    def _refused(self, launch: LaunchDiagnosis) -> Mapping[str, float]:
        row = self._rows.get((launch.report, launch.index))
        return {} if row is None else self._valid.refused.get(row, {})

    def _was_collected(self, launch: LaunchDiagnosis, name: str) -> bool:
        """Whether all metrics of one of its expressions have values, so that it has no value for want of a subject."""
        needs = (metric_names(expression) for expression in definitions()[name].expressions)
        return any(all(isfinite(self._ncu(launch, metric)) for metric in metrics) for metrics in needs)

    def _ncu(self, launch: LaunchDiagnosis, name: str) -> float:
        column = self._columns.get(name)
        row = self._rows.get((launch.report, launch.index))
        return float(column[row]) if column is not None and row is not None else float("nan")

    @cached_property
    def _valid(self) -> Profile:
        return valid(self.profile)

    @cached_property
    def _rows(self) -> Mapping[tuple[str, int], int]:
        launches = self.profile.launches
        pairs = zip(launches["report"].tolist(), launches["index"].tolist(), strict=True)
        return {pair: row for row, pair in enumerate(pairs)}

    @cached_property
    def _columns(self) -> Mapping[str, NDArray[np.float64]]:
        metrics = self._valid.metrics
        return dict(zip(metrics.columns, metrics.to_numpy(np.float64).T, strict=True))


def _known(value: float) -> float | None:
    return value if isfinite(value) else None


def finding_lines(launch: LaunchDiagnosis, metrics: frozenset[str]) -> tuple[SourceLine, ...]:
    """The lines of the first finding whose evidence includes one of these metrics."""
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding) and any(metrics & set(each.metrics) for each in outcome.evidence):
            return outcome.where
    return ()
