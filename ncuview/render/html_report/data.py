"""Build the JSON data of the HTML report's script (``report_data``): each detailed kernel's metrics and source lines.

``Texts`` stores every text once, so that the page stays small; ``definition_of`` gives the meaning of a metric,
``amount`` its value for people: ``3.79 TB/s``, ``84.4 %``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from ncuview.metrics.textbook import definitions
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.html_report.rows import KernelRow

if TYPE_CHECKING:
    from ncuview.render.html_report.lines import LineData

_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SCALED = {"byte": "B", "byte/s": "B/s", "FLOP/s": "FLOP/s", "FLOP": "FLOP"}
_EXACT = 1e15
_OF_KERNEL_FILES = {
    "effective_bandwidth": "Useful bytes of the problem, over the time.",
    "useful_flops": "Useful floating-point operations of the problem, over the time.",
}
"""Metrics that only kernel files define."""


class Texts:
    """Each text once, in the order of its first use."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, text: str) -> int:
        """The index of a text in ``all``."""
        return self._places.setdefault(text, len(self._places))

    def all(self) -> list[str]:
        """The texts."""
        return list(self._places)


def report_data(rows: Sequence[KernelRow], line_data: LineData | None) -> Mapping[str, Any]:
    """``texts``; ``kernels`` with details, by the id of their row; ``files``.

    A kernel's ``metrics`` is a flat list with four texts for each metric: name, value, definition and source. Its
    ``lines`` is the result of ``LineData.of``.
    """
    texts = Texts()
    detailed = [row for row in rows if row.detailed]
    kernels = {row.id: {"metrics": list(_metrics(row.shown, texts))} for row in detailed}
    if line_data:
        for row in detailed:
            if lines := line_data.of(row):
                kernels[row.id]["lines"] = lines
    return {"texts": texts.all(), "kernels": kernels, "files": line_data.files() if line_data else {}}


def _metrics(launch: LaunchDiagnosis, texts: Texts) -> list[int]:
    places: list[int] = []
    for name, metric in launch.metrics.items():
        if isfinite(metric.value):
            cells = (name, amount(metric.value, metric.unit), definition_of(name), metric.source)
            places += map(texts.place, cells)
    return places


def definition_of(name: str) -> str:
    """The definition of a metric, in one sentence; empty where there is none."""
    known = definitions().get(name)
    return known.definition if known else _OF_KERNEL_FILES.get(name, "")


def amount(value: float, unit: str) -> str:
    """``3.79 TB/s``, ``84.4 %``, ``33,554,432 sector``; ``unknown`` where there is no number."""
    if not isfinite(value):
        return "unknown"
    if unit == "%":
        return f"{value:.3g} %"
    if unit == "ratio 0-1":
        return f"{100 * value:.3g} %"
    if unit in _SCALED:
        return _scaled(value, _SCALED[unit])
    number = f"{value:,.0f}" if value == round(value) and abs(value) < _EXACT else f"{value:,.4g}"
    return f"{number} {unit}".rstrip()


def _scaled(value: float, unit: str) -> str:
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
