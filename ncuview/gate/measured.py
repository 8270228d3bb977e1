"""Look up a launch's number by the name that a budget uses: duration, textbook metric or ncu metric.

``Numbers.of`` returns value, unit and repeatability, or why there is no value; ``lines_to_blame`` the source lines.
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
class Measured:
    """A number of one launch, or why there is none."""

    value: float | None
    unit: str = ""
    kind: MetricClass = MetricClass.EXACT
    metrics: frozenset[str] = frozenset()
    """Ncu's metrics that it was computed from."""
    has_subject: bool = True
    """Whether there is something to measure; a kernel without shared memory has no bank conflicts."""
    why: str = ""
    """Why there is no value although there is something to measure; empty where it was not collected."""


@dataclass(frozen=True)
class Numbers:
    """All numbers of a profile."""

    profile: Profile

    def of(self, launch: LaunchDiagnosis, name: str) -> Measured:
        """A textbook metric, one of ncu's, or the duration."""
        if name == DURATION:
            return self._duration(launch)
        if name in launch.metrics:
            found = launch.metrics[name]
            names = metric_names(found.source)
            return Measured(_known(found.value), found.unit, class_of_expression(found.source), names)
        if name in definitions():
            needed = frozenset[str]().union(*(metric_names(text) for text in definitions()[name].expressions))
            collected = self._was_collected(launch, name)
            return Measured(None, definitions()[name].unit, has_subject=not collected, why=self._why(launch, needed))
        names = frozenset([name])
        unit = self.profile.units.get(name, "")
        value = _known(self._ncu(launch, name))
        return Measured(value, unit, class_of_metric(name), names, why=self._why(launch, names))

    def _duration(self, launch: LaunchDiagnosis) -> Measured:
        """The launch's time, with its copies; none where only some of the host's times are known."""
        partly = launch.host is None and any(
            isfinite(self._ncu(launch, name)) or name in self._refused(launch) for name in HOST_TIMES
        )
        value = None if partly or launch.whole_ns <= 0 else _known(launch.whole_ns)
        names = frozenset([_TIME, *HOST_TIMES])
        why = self._why(launch, names) or ("the host's times of its copies are not all known" if partly else "")
        return Measured(value, "ns", MetricClass.TIME, frozenset([_TIME]), why=why)

    def _why(self, launch: LaunchDiagnosis, metrics: frozenset[str]) -> str:
        """Which of these the report has and cannot be right; empty where none is."""
        wrong = [f"{name} is {value:g}" for name, value in self._refused(launch).items() if name in metrics]
        return f"the report says that {', '.join(wrong)}, which cannot be" if wrong else ""

    def _refused(self, launch: LaunchDiagnosis) -> Mapping[str, float]:
        row = self._rows.get((launch.report, launch.index))
        return {} if row is None else self._valid.refused.get(row, {})

    def _was_collected(self, launch: LaunchDiagnosis, name: str) -> bool:
        """Whether all that a textbook metric needs is there, so that it has no value because it has no subject."""
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


def lines_to_blame(launch: LaunchDiagnosis, metrics: frozenset[str]) -> tuple[SourceLine, ...]:
    """The lines of the first finding whose evidence rests on one of these metrics."""
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding) and any(metrics & set(each.metrics) for each in outcome.evidence):
            return outcome.where
    return ()
