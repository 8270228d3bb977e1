"""``FromCounters``: the quantities of launches without machine code, from counters alone and from assumptions.

What a quantity of instructions is without code stands in ``without_code.toml``: an expression over counters. A rule
assumes the rest in its ``[without_code]`` table. What neither gives stays NaN.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ncuview.base.expression import Expression, compile_expression
from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import QUANTITIES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis
    from ncuview.metrics.instruction_table import Executed
    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]

_TABLE: Mapping[str, Mapping[str, Any]] = tomllib.loads(
    files("ncuview.metrics").joinpath("without_code.toml").read_text(encoding="utf-8")
)
COUNTED: Mapping[str, Sequence[Expression]] = {
    name: tuple(compile_expression(text, dotted=True) for text in of["expressions"]) for name, of in _TABLE.items()
}
"""Quantity -> expressions over counters and other quantities, the best first."""


def uncounted(names: Iterable[str], assumed: Iterable[str]) -> Iterator[str]:
    """The quantities of instructions under these names that neither counters nor the assumptions give."""
    given = {*assumed, *COUNTED}
    for name in names:
        quantity = QUANTITIES.get(name)
        if quantity is None or name in given:
            continue
        if quantity.of_instructions:
            yield name
        else:
            yield from uncounted(quantity.inputs, given)


class FromCounters:
    """The launches of an ``Analysis`` as if none had machine code; ``value`` and ``metric`` as there.

    Args:
        analysis: The launches.
        assumed: Quantity -> its value where there is no code, over other quantities and short names of metrics.
    """

    def __init__(self, analysis: Analysis, assumed: Mapping[str, Expression] | None = None) -> None:
        self._analysis = analysis
        self._assumed = assumed or {}
        self._values: dict[str, Column] = {}
        self._metrics: dict[str, tuple[str, ...]] = {}
        """They depend on all launches together, and every launch whose rules are skipped asks for them."""

    @property
    def profile(self) -> Profile:
        """The launches with valid numbers."""
        return self._analysis.profile

    @property
    def instructions(self) -> Mapping[int, Executed]:
        """None."""
        return {}

    def metric(self, name: str) -> Column:
        """A metric by ncu's name; NaN where a launch does not have it."""
        return self._analysis.metric(name)

    def was_refused(self, metrics: Iterable[str]) -> NDArray[np.bool_]:
        """For each launch whether the report's value of one of these metrics is impossible."""
        return self._analysis.was_refused(metrics)

    def value(self, name: str) -> Column:
        """A quantity or a metric by its short name, for all launches; NaN where counters do not give it."""
        if name not in self._values:
            with np.errstate(all="ignore"):
                values = self._computed(name)
            self._values[name] = np.where(np.isfinite(values), values, np.nan)
        return self._values[name]

    def metrics_of(self, name: str) -> tuple[str, ...]:
        """The counters of a quantity's value, under ncu's names; none where it is assumed to be a number."""
        if name not in self._metrics:
            self._metrics[name] = self._found_metrics_of(name)
        return self._metrics[name]

    def _found_metrics_of(self, name: str) -> tuple[str, ...]:
        quantity = QUANTITIES.get(name)
        if name in self._assumed:
            read: Iterable[str] = self._assumed[name].names
        elif name in COUNTED:
            read = self._expression_of(name).names
        elif quantity is None:
            return (NAMES.get(name, name),)
        elif quantity.needs_code:
            read = quantity.inputs
        else:
            return quantity.metrics
        return tuple(dict.fromkeys(metric for each in sorted(read) for metric in self.metrics_of(each)))

    def _expression_of(self, name: str) -> Expression:
        """The first expression that gives a value; the best one where none does."""
        given = (each for each in COUNTED[name] if np.isfinite(self._first_known([each])).any())
        return next(given, COUNTED[name][0])

    def _computed(self, name: str) -> Column:
        quantity = QUANTITIES.get(name)
        if name in self._assumed:
            return self._first_known([self._assumed[name]])
        if quantity is None or not quantity.needs_code:
            known = self._analysis.value(name)
            return np.where(np.isnan(known), self._first_known(COUNTED.get(name, ())), known)
        if name in COUNTED:
            return self._first_known(COUNTED[name])
        if quantity.of_instructions:
            return np.full(len(self.profile.launches), np.nan)
        return quantity.compute(self)

    def _first_known(self, expressions: Sequence[Expression]) -> Column:
        found = np.full(len(self.profile.launches), np.nan)
        for each in expressions:
            values = each.evaluate({name: self.value(name) for name in each.names})
            found = np.where(np.isnan(found), values, found)
        return found
