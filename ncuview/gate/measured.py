"""The numbers of a launch by any name that a budget may use, and why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from ncuview.gate.classes import DURATION, MetricClass, class_of_expression, class_of_metric
from ncuview.model import Finding, LaunchDiagnosis, SourceLine
from ncuview.report.metrics import definitions, metric_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.model import Profile

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


@dataclass(frozen=True)
class Numbers:
    """All numbers of a profile."""

    profile: Profile

    def of(self, launch: LaunchDiagnosis, name: str) -> Measured:
        """A textbook metric, one of ncu's, or the duration."""
        if name == DURATION:
            known = isfinite(launch.whole_ns)
            return Measured(launch.whole_ns if known else None, "ns", MetricClass.TIME, frozenset([_TIME]))
        if name in launch.metrics:
            found = launch.metrics[name]
            names = metric_names(found.source)
            return Measured(found.value, found.unit, class_of_expression(found.source), names)
        if name in definitions():
            return Measured(None, definitions()[name].unit, has_subject=not self._was_collected(launch, name))
        value = self._ncu(launch, name)
        known = isfinite(value)
        unit = self.profile.units.get(name, "")
        return Measured(value if known else None, unit, class_of_metric(name), frozenset([name]))

    def _was_collected(self, launch: LaunchDiagnosis, name: str) -> bool:
        """Whether all that a textbook metric needs is there, so that it has no value because it has no subject."""
        needs = (metric_names(expression) for expression in definitions()[name].expressions)
        return any(all(isfinite(self._ncu(launch, metric)) for metric in metrics) for metrics in needs)

    def _ncu(self, launch: LaunchDiagnosis, name: str) -> float:
        column = self._columns.get(name)
        row = self._rows.get((launch.report, launch.index))
        return float(column[row]) if column is not None and row is not None else float("nan")

    @cached_property
    def _rows(self) -> Mapping[tuple[str, int], int]:
        launches = self.profile.launches
        pairs = zip(launches["report"].tolist(), launches["index"].tolist(), strict=True)
        return {pair: row for row, pair in enumerate(pairs)}

    @cached_property
    def _columns(self) -> Mapping[str, NDArray[np.float64]]:
        metrics = self.profile.metrics
        return dict(zip(metrics.columns, metrics.to_numpy(np.float64).T, strict=True))


def lines_to_blame(launch: LaunchDiagnosis, metrics: frozenset[str]) -> tuple[SourceLine, ...]:
    """The lines of the first finding whose evidence rests on one of these metrics."""
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding) and any(metrics & set(each.metrics) for each in outcome.evidence):
            return outcome.where
    return ()
