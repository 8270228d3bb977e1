"""HTML table of one launch's hardware units (``units_table``): use as a share of peak, beside the attainable share.

``attainable_bounds`` gives the attainable share of a unit; ``written_share`` the writes' share of device memory bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from xml.etree import ElementTree as ET

from ncuview.metrics.units import UNITS, units_of
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.html_report.elements import Part, dim, element, heading, hidden, table
from ncuview.render.words import bottleneck_sentence, unit_words
from ncuview.speedup.attainable import bounds_of, of_gpu

_SHOWN_FROM = 0.05
"""Units with less use have no bar."""

_THINNEST = 0.008
"""The least width of a mark, as a share of the bar."""


def units_table(launch: LaunchDiagnosis) -> ET.Element:
    """A row for each unit with at least 5 % use, the busiest first; then the others in one line."""
    busy = sorted(launch.units.items(), key=lambda item: -item[1])
    shown = [(unit, share) for unit, share in busy if share >= _SHOWN_FROM or unit == launch.bottleneck]
    little = ", ".join(
        unit_words(launch, unit)[0] for unit, share in busy if share < _SHOWN_FROM and unit != launch.bottleneck
    )
    head = [
        heading("unit"),
        heading(hidden("use as a bar, with a mark at what is attainable")),
        heading("of its peak", css="number"),
        heading("attainable", css="number"),
    ]
    body = [_row(launch, unit, share) for unit, share in shown]
    parts: list[Part] = [element("h3", "Units"), element("p", f"{bottleneck_sentence(launch)}.")]
    parts += [table(head, body, css="units")] if shown else []
    parts += [dim(f"Below 5 %: {little}.")] if little else []
    return element("div", *parts)


def _row(launch: LaunchDiagnosis, unit: str, share: float) -> ET.Element:
    low, high = attainable_bounds(launch, unit)
    is_bottleneck = unit == launch.bottleneck
    shown, says = unit_words(launch, unit)
    name: list[Part] = [element("strong", shown) if is_bottleneck else shown]
    if says:
        name.append(element("small", says))
    range_words = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
    return element(
        "tr",
        element("th", *name, scope="row"),
        element("td", _bar(share, low, high, is_bottleneck=is_bottleneck)),
        element("td", f"{share:.0%}", css="number"),
        element("td", range_words if isfinite(low) else "", css="number"),
        css="bottleneck" if is_bottleneck else "",
    )


def _bar(share: float, low: float, high: float, *, is_bottleneck: bool) -> ET.Element:
    return element("svg", *_bar_parts(share, low, high), css="bar bottleneck" if is_bottleneck else "bar", **_BAR)


_BAR = {"viewBox": "0 0 100 10", "preserveAspectRatio": "none", "aria_hidden": "true"}


def _bar_parts(share: float, low: float, high: float) -> Iterator[ET.Element]:
    yield element("rect", css="track", width=100.0, height=10.0)
    yield element("rect", css="use", width=100 * min(max(share, 0.0), 1.0), height=10.0)
    if isfinite(low):
        is_range = high - low > _THINNEST
        width = 100 * max(high - low, _THINNEST)
        yield element(
            "rect", css="mark range" if is_range else "mark", x=100 * min(low, 0.99), width=width, height=10.0
        )


def attainable_bounds(launch: LaunchDiagnosis, unit: str) -> tuple[float, float]:
    """The share of its peak that a good kernel attains on a unit; a range where the unit has several parts."""
    gpu = of_gpu(launch.device.name)
    best = [bounds_of(gpu, member)["best"] for member in units_of(unit) if member in UNITS]
    if unit == "dram":
        best = [share - written_share(launch) * gpu["dram_write_cost"] for share in best]
    use = launch.units.get(unit, 0.0)
    best = [max(share, use) for share in best]  # a launch with a larger use than in the table attains it
    return (min(best), max(best)) if best else (float("nan"), float("nan"))


def written_share(launch: LaunchDiagnosis) -> float:
    """Bytes written as a share of all bytes of device memory; 0 where they were not counted."""
    read, written = (launch.metrics.get(f"dram_{way}_bytes") for way in ("read", "write"))
    total = (read.value if read else 0.0) + (written.value if written else 0.0)
    return written.value / total if written and total else 0.0
