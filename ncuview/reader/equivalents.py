"""Compute missing metrics from other metrics, and map CSV labels and columns to metrics, by equivalents.toml.

``determine`` fills columns in place; ``METRIC_OF_LABEL`` and ``METRICS_OF_COLUMN`` are the maps for CSV exports.
The expressions are over other metrics of the same launch. validation/full-sets.md compares the diagnoses of launches
that were profiled with both sets of metrics.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ncuview.base.expression import Expression, compile_expression

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


class Determined(NamedTuple):
    """How a metric is computed."""

    unit: str
    expressions: tuple[str, ...]
    """Over other metrics, the best first; one may read metrics that are determined above it in the table."""


_TABLE: Mapping[str, Any] = tomllib.loads(
    files("ncuview.reader").joinpath("equivalents.toml").read_text(encoding="utf-8")
)
DETERMINED: Mapping[str, Determined] = {
    name: Determined(of["unit"], tuple(of["expressions"])) for name, of in _TABLE["determined"].items()
}
METRICS_OF_COLUMN: Mapping[str, Sequence[str]] = _TABLE["columns"]
"""Column of a CSV export -> the metrics with the same values, one for each number in a cell."""
METRIC_OF_LABEL: Mapping[tuple[str, str], str] = {
    (section, label): metric for section, of in _TABLE["labels"].items() for label, metric in of.items()
}
"""Section and label on a details page -> the metric's name."""


def determinable(metrics: Iterable[str]) -> Iterator[str]:
    """The names in the table that may be computed from these metrics."""
    known = set(metrics)
    for name in DETERMINED:
        if any(expression.names <= known for expression in _expressions(name)):
            known.add(name)
            yield name


def determine(metrics: Mapping[str, Column]) -> None:
    """Fill in, in place, missing values that other metrics determine.

    Args:
        metrics: Nsight Compute's metrics by name: one float64 per launch, NaN where it has none. It has a column for
            each ``determinable`` name.
    """
    for name in (name for name in DETERMINED if name in metrics):
        for expression in _expressions(name):
            missing = np.isnan(metrics[name])
            if missing.any() and expression.names <= metrics.keys():
                metrics[name][missing] = expression.evaluate(metrics)[missing]


@cache
def _expressions(name: str) -> tuple[Expression, ...]:
    return tuple(compile_expression(text, dotted=True) for text in DETERMINED[name].expressions)
