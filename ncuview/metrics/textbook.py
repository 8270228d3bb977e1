"""Compute each launch's textbook and nvprof metrics (``gld_efficiency``) from Nsight Compute's: ``textbook_metrics``.

``definitions`` reads names and expressions from textbook_metrics.csv; ``definition`` finds one by its name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ncuview.base.errors import UnknownMetric
from ncuview.base.expression import Expression, compile_expression
from ncuview.base.suggestion import did_you_mean
from ncuview.records.diagnosis import TextbookMetric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis

    Column = NDArray[np.float64]

_METRIC_NAME = re.compile(r"(?<![\w.])(?!(?:and|or|not|min|max|abs|where)\b)[A-Za-z_][\w.]*")
_SAMPLES, _NOT_ISSUED = "smsp__pcsamp_warps_issue_stalled_", "_not_issued"
_REASONS_OF_EVERY_CHIP = 17  # imc_miss and warpgroup_arrive exist on some chips only


@dataclass(frozen=True)
class TextbookDefinition:
    """What a textbook metric means and how it is computed.

    Attributes:
        name: As documents and nvprof write it.
        kind: ``metric`` or ``event``, as in nvprof.
        definition: What it measures, in one sentence.
        unit: Of its value, on nvprof's scale.
        expressions: Over Nsight Compute's metrics. The first whose metrics a launch has gives the value; where there is
            none, Nsight Compute has no equivalent.
        documented_expression: The expression in NVIDIA's table of equivalents; empty when it has none.
        status: How ``expressions`` relates to that table.
        notes: What to know about the number, or which other metric to use.
    """

    name: str
    kind: str
    definition: str
    unit: str
    expressions: tuple[str, ...]
    documented_expression: str
    status: str
    notes: str


@cache
def definitions() -> Mapping[str, TextbookDefinition]:
    """All textbook metrics by name."""
    found: dict[str, TextbookDefinition] = {}
    table = files("ncuview.metrics").joinpath("textbook_metrics.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(table.splitlines()):
        expressions = tuple(text for text in row.pop("expressions").split(" | ") if text)
        # nvprof has inst_executed both as a metric and as an event. They count the same; the metric comes first.
        found.setdefault(row["name"], TextbookDefinition(**row, expressions=expressions))
    return MappingProxyType(found)


def definition(name: str, also: Iterable[str] = ()) -> TextbookDefinition:
    """The textbook metric of this name.

    Args:
        name: Its name.
        also: Other names that a hint may suggest.

    Raises:
        UnknownMetric: There is none; the hint has the names that come closest.
    """
    if name in definitions():
        return definitions()[name]
    hint = did_you_mean(name, {*definitions(), *also}, "`ncuview metrics` lists the names, with --quantities others.")
    raise UnknownMetric(f"no metric is called {name!r}", hint=hint)


def textbook_metrics(analysis: Analysis) -> list[Mapping[str, TextbookMetric]]:
    """The textbook metrics of each launch; one that cannot be computed for a launch is left out."""
    launches, columns = len(analysis.profile.metrics), _columns(analysis)
    found: dict[str, _OfAll] = {}
    for metric in definitions().values():
        known = [text for text in metric.expressions if metric_names(text) <= columns.keys()]
        values = np.full(launches, np.nan)
        chosen = np.zeros(launches, np.int8)
        for place, text in enumerate(known):
            more = np.broadcast_to(_compiled(text).evaluate(columns), (launches,))
            first = np.isnan(values) & np.isfinite(more)
            values[first], chosen[first] = more[first], place
        if np.isfinite(values).any():
            found[metric.name] = _OfAll(metric.unit, known, values, chosen)
    return [_OfLaunch(found, launch) for launch in range(launches)]


@dataclass(frozen=True)
class _OfAll:
    """A textbook metric of all launches, NaN where one does not have it."""

    unit: str
    expressions: Sequence[str]
    numbers: Column
    chosen: NDArray[np.int8]
    """Which of the expressions gave each value."""


class _OfLaunch(Mapping[str, TextbookMetric]):
    """The textbook metrics of one launch, each created on access.

    Created in advance, those of all launches took as much memory as the rest of the diagnosis.
    """

    __slots__ = ("_known", "_launch")

    def __init__(self, known: Mapping[str, _OfAll], launch: int) -> None:
        self._known = known
        self._launch = launch

    def __getitem__(self, name: str) -> TextbookMetric:
        if name not in self:
            raise KeyError(name)
        known = self._known[name]
        expression = known.expressions[known.chosen.item(self._launch)]
        return TextbookMetric(known.numbers.item(self._launch), known.unit, expression)

    def __contains__(self, name: object) -> bool:
        return name in self._known and not isnan(self._known[str(name)].numbers.item(self._launch))

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._known if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


@cache
def metric_names(expression: str) -> frozenset[str]:
    """The metrics that an expression reads, found without parsing it: for most expressions some metric is missing."""
    return frozenset(_METRIC_NAME.findall(expression))


@cache
def _compiled(expression: str) -> Expression:
    return compile_expression(expression, dotted=True)


def _columns(analysis: Analysis) -> dict[str, Column]:
    """The collected metrics, and two that ncu often leaves out although other metrics determine them exactly."""
    metrics = analysis.profile.metrics
    columns: dict[str, Column] = dict(zip(metrics.columns, metrics.to_numpy(np.float64).T, strict=True))
    determined = {
        "smsp__warps_launched.sum": analysis.value("warps"),
        "smsp__pcsamp_sample_count": _sample_count(analysis),
    }
    for name, values in determined.items():
        collected = columns.get(name, values)
        columns[name] = np.where(np.isnan(collected), values, collected)
    return columns


def _sample_count(analysis: Analysis) -> Column:
    """Samples of all stall reasons; unknown where a report has only some of them, or one has an impossible value."""
    metrics = analysis.profile.metrics
    reasons = [name for name in metrics.columns if name.startswith(_SAMPLES) and not name.endswith(_NOT_ISSUED)]
    counts = metrics[reasons].sum(axis=1, min_count=_REASONS_OF_EVERY_CHIP).to_numpy(np.float64)
    return np.where(analysis.was_refused(reasons), np.nan, counts)
