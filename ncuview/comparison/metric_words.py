"""``metric_change_words`` of a ``MetricChange``: ``sectors per store request 32 -> 4``.

``explained`` gives those of the counter that saves most time between two launches.
"""

from __future__ import annotations

from ncuview.base.figures import duration
from ncuview.comparison.counters import MetricChange, metric_changes
from ncuview.records.diagnosis import LaunchDiagnosis

_PREFIXES = ((1e9, " G"), (1e6, " M"), (1e3, " k"))


def explained(before: LaunchDiagnosis, after: LaunchDiagnosis) -> str:
    """The counter that saves most time, as a clause: ``occupancy 48% -> 71%``; empty where none does."""
    return next((metric_change_words(each) for each in metric_changes(before, after) if each.saves_ns > 0), "")


def metric_change_words(change: MetricChange) -> str:
    """``sectors per store request 32 -> 4``."""
    was, now = (_amount(value, change) for value in (change.before, change.after))
    return f"{change.words} {was} -> {now}"


def _amount(value: float | None, change: MetricChange) -> str:
    """A number with three significant digits, in a unit that fits it."""
    if value is None:
        return "none"
    if change.unit == "%":
        return f"{value:.0f}%"
    if change.unit == "ratio 0-1":
        return f"{value:.0%}"
    if change.unit == "ns":
        return duration(value, digits=3)
    unit = "B" if change.unit == "byte" else ""
    for scale, letter in _PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.3g}{letter}{unit}"
    return f"{value:.3g} {unit}".rstrip()
