"""Build the JSON data of the HTML report's script (``report_data``): each detailed kernel's metrics and source lines.

``Texts`` stores every text once, so that the page stays small; ``definition_of`` gives the meaning of a metric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from ncuview.metrics.textbook import definitions
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.html_report.numbers import amount
from ncuview.render.html_report.rows import KernelRow

if TYPE_CHECKING:
    from ncuview.render.html_report.lines import LineData

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
