"""What says the same as a metric: the table equivalents.toml, and the values that it gives to missing metrics.

``determine`` fills in metrics missing from launches, in place, from expressions over other metrics of the same
launches; ``METRIC_OF_LABEL`` and ``METRICS_OF_COLUMN`` name the metrics that labels and columns of CSV exports mean.
validation/full-sets.md holds what rules say of launches that were profiled both ways.
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
    """What gives a metric."""

    unit: str
    expressions: tuple[str, ...]
    """Over other metrics, the best first; one may read what stands above it in the table."""


_TABLE: Mapping[str, Any] = tomllib.loads(
    files("ncuview.reader").joinpath("equivalents.toml").read_text(encoding="utf-8")
)
DETERMINED: Mapping[str, Determined] = {
    name: Determined(of["unit"], tuple(of["expressions"])) for name, of in _TABLE["determined"].items()
}
METRICS_OF_COLUMN: Mapping[str, Sequence[str]] = _TABLE["columns"]
"""Column of a CSV export -> the metrics that say the same, one for each number in a cell."""
METRIC_OF_LABEL: Mapping[tuple[str, str], str] = {
    (section, label): metric for section, of in _TABLE["labels"].items() for label, metric in of.items()
}
"""What details pages call a metric, by section and label -> its name."""


def determinable(metrics: Iterable[str]) -> Iterator[str]:
    """The names in the table that launches with these metrics may get a value for."""
    known = set(metrics)
    for name in DETERMINED:
        if any(expression.names <= known for expression in _expressions(name)):
            known.add(name)
            yield name


def determine(metrics: Mapping[str, Column]) -> None:
    """Put the values in that are missing and determined, in place.

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
