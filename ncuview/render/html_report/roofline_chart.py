"""HTML section of the report (``roofline_section``) with each GPU's ``Roofline`` as an SVG chart and as a table.

``point_words`` describes one kernel of a chart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import atan2, ceil, degrees, floor, isfinite, log10
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration
from ncuview.render.html_report.data import amount
from ncuview.render.html_report.elements import Part, dim, element, heading, number, scrolled, section, table
from ncuview.render.html_report.roofline import Point, Roof, Roofline
from ncuview.render.html_report.rows import KernelRow

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 1000, 480, 76, 136, 16, 52
_MOST_NAMES = 400

Place = Callable[[float], float]


def roofline_section(lines: Sequence[Roofline]) -> ET.Element:
    """A chart and a table for each GPU."""
    parts: list[Part] = []
    for line in lines:
        if len(lines) > 1:
            parts.append(element("h3", line.roof.device.name or "unknown GPU"))
        parts.append(element("p", _roof_words(line.roof)))
        if line.points:
            parts.append(_figure(line))
            parts.append(_table(line))
        parts += _left_out(line)
    return section("roofline", "Roofline", *parts)


def _roof_words(roof: Roof) -> str:
    parts = [
        f"{roof.device.name or 'This GPU'}: device memory {amount(roof.bytes_per_s, 'byte/s')} at its peak",
        f"{amount(roof.attainable_bytes_per_s, 'byte/s')} attained by kernels that only read",
    ]
    parts += [f"FP32 {amount(roof.single_per_s, 'FLOP/s')}"] if roof.single_per_s else ["the FP32 peak is not known"]
    parts += [f"FP64 {amount(roof.double_per_s, 'FLOP/s')}"] if roof.double_per_s else []
    return (
        f"{'; '.join(parts)}. Operations are those of threads that ran; a multiply-add counts as two; those of tensor"
        " cores and of half precision are not included."
    )


def _figure(line: Roofline) -> ET.Element:
    readout = "Point at a kernel, or go from one to the next with the arrow keys; Enter goes to its row."
    chart = _chart(line)
    return element("div", chart, element("p", readout, css="readout"), _legend(), css="figure-chart")


def _chart(line: Roofline) -> ET.Element:
    """The roofs, and a link for each kernel."""
    xs = [point.intensity for point in line.points]
    ys = [point.per_s for point in line.points]
    roof = line.roof
    peaks = [peak for peak in (roof.single_per_s, roof.double_per_s) if peak]
    ridge = max(peaks) / roof.attainable_bytes_per_s if peaks else max(xs)
    left, right = floor(log10(min(*xs, ridge / 10))), ceil(log10(max(*xs, ridge * 4)))
    bottom, top = floor(log10(min(ys))), ceil(log10(max(*ys, *peaks, 1.0)))
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def across(intensity: float) -> float:
        return _LEFT + wide * (log10(intensity) - left) / (right - left)

    def down(per_s: float) -> float:
        return _TOP + high * (top - log10(per_s)) / (top - bottom)

    parts: list[Part] = [*_grid(left, right, bottom, top, across, down)]
    parts += (_point(point, roof, across, down) for point in line.points)
    parts += _roof_lines(roof, 10.0**left, 10.0**right, 10.0**bottom, across, down)
    return element(
        "svg",
        *parts,
        css="chart roofline",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="group",
        aria_label="Roofline: operations per byte to the right, operations per second upwards; same numbers below",
        data_points="",
    )


def _grid(left: int, right: int, bottom: int, top: int, across: Place, down: Place) -> Iterator[ET.Element]:
    floor_at, end = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    for power in range(left, right + 1):
        x = across(10.0**power)
        yield element("line", css="grid", x1=x, x2=x, y1=float(_TOP), y2=float(floor_at))
        yield element("text", _tick(power), css="tick", x=x, y=floor_at + 18.0, text_anchor="middle")
    for power in range(bottom, top + 1):
        y = down(10.0**power)
        yield element("line", css="grid", x1=float(_LEFT), x2=float(end), y1=y, y2=y)
        words = amount(10.0**power, "FLOP/s").replace("FLOP/s", "")
        yield element("text", words, css="tick", x=_LEFT - 8.0, y=y + 4, text_anchor="end")
    words = "FP32 and FP64 operations per byte of device memory"
    yield element("text", words, css="label", x=(_LEFT + end) / 2, y=_HEIGHT - 10.0, text_anchor="middle")
    yield element(
        "text",
        "FLOP/s",
        css="label",
        transform=f"translate(16 {(_TOP + floor_at) / 2}) rotate(-90)",
        text_anchor="middle",
    )


def _roof_lines(
    roof: Roof, left: float, right: float, bottom: float, across: Place, down: Place
) -> Iterator[ET.Element]:
    speed = roof.attainable_bytes_per_s
    peak = roof.single_per_s or roof.double_per_s
    start = max(left, bottom / speed)
    ridge = min(peak / speed, right) if peak else right
    path = f"M{across(start):.1f} {down(start * speed):.1f}L{across(ridge):.1f} {down(ridge * speed):.1f}"
    if peak and ridge < right:
        path += f"L{across(right):.1f} {down(peak):.1f}"
        yield _peak("FP32" if roof.single_per_s else "FP64", peak, across(right), down(peak))
    yield element("path", css="roof", d=path)
    if roof.single_per_s and roof.double_per_s and roof.double_per_s < roof.single_per_s:
        other = roof.double_per_s / speed
        yield element(
            "path",
            css="roof second",
            d=f"M{across(other):.1f} {down(roof.double_per_s):.1f}L{across(right):.1f} {down(roof.double_per_s):.1f}",
        )
        yield _peak("FP64", roof.double_per_s, across(right), down(roof.double_per_s))
    if ridge > start:
        middle = start * (ridge / start) ** 0.7
        x, y = across(middle), down(middle * speed)
        rotation = -_degrees(across, down, speed, start, ridge)
        yield element(
            "text",
            f"memory attainable {amount(speed, 'byte/s')}",
            css="roof",
            transform=f"translate({x:.1f} {y - 8:.1f}) rotate({rotation:.1f})",
            text_anchor="middle",
        )


def _peak(name: str, peak: float, x: float, y: float) -> ET.Element:
    """The label at the right end of a roof."""
    return element("text", f"{name} {amount(peak, 'FLOP/s')}", css="roof", x=x + 6, y=y + 4)


def _tick(power: int) -> str:
    """``0.01``, ``10``, ``100k``."""
    return f"{10.0**power:g}" if power < 4 else amount(10.0**power, "FLOP").replace(" ", "").replace("FLOP", "")


def _degrees(across: Place, down: Place, speed: float, start: float, ridge: float) -> float:
    return degrees(atan2(down(start * speed) - down(ridge * speed), across(ridge) - across(start)))


def _point(point: Point, roof: Roof, across: Place, down: Place) -> ET.Element:
    x, y = across(point.intensity), down(point.per_s)
    words = point_words(point, roof)
    return element(
        "a",
        element("path", css=f"point {_kind(point.row)}", d=_shape(_kind(point.row), x, y)),
        element("title", words),
        href=f"#{point.row.id}",
        aria_label=words,
    )


def point_words(point: Point, roof: Roof) -> str:
    """The kernel and its numbers."""
    share = point.share_of(roof)
    under = f", {share:.0%} of the roof" if isfinite(share) else ""
    return (
        f"{point.row.name}, {point.row.configuration}: {point.intensity:.3g} FLOP/byte,"
        f" {amount(point.per_s, 'FLOP/s')}{under}"
    )


def _kind(row: KernelRow) -> str:
    return "advice" if row.group.advice else row.shown.verdict


def _shape(kind: str, x: float, y: float) -> str:
    """Kernels with advice are disks, those near their peak and of other owners squares, all others triangles."""
    if kind in {"near-peak", "not-yours"}:
        return f"M{x - 5:.1f} {y - 5:.1f}h10v10h-10z"
    if kind in {"unclear", "not-judged"}:
        return f"M{x:.1f} {y - 6:.1f}l6 11h-12z"
    return f"M{x - 5.5:.1f} {y:.1f}a5.5 5.5 0 1 1 11 0a5.5 5.5 0 1 1-11 0z"


_KINDS = {
    "advice": "has advice",
    "near-peak": "near its peak",
    "unclear": "unclear",
    "not-judged": "not judged",
    "not-yours": "not yours",
}


def _legend() -> ET.Element:
    parts: list[Part] = []
    for kind, words in _KINDS.items():
        sample = element("path", css=f"point {kind}", d=_shape(kind, 8, 8))
        parts += [element("svg", sample, viewBox="0 0 16 16", aria_hidden="true"), f" {words}   "]
    return element("p", *parts, css="key")


def _table(line: Roofline) -> ET.Element:
    numbers = ("operations", "of them FP64", "bytes", "FLOP/byte", "FLOP/s", "of the roof")
    head = [
        heading("kernel", data_sort="rising"),
        *(heading(name, css="number", data_sort="falling") for name in numbers),
        heading("counted by", data_sort="rising"),
    ]
    rows = [_row(point, line.roof) for point in line.points]
    summary = element("summary", f"The same as a table ({len(line.points)} kernels)")
    shown = scrolled(table(head, rows, css="wide", data_sortable="rows"), "Roofline as a table")
    return element("details", summary, shown, data_print="")


def _row(point: Point, roof: Roof) -> ET.Element:
    total = point.operations.single + point.operations.double
    share = point.share_of(roof)
    numbers = (
        (amount(total, "FLOP"), total),
        (f"{point.operations.double / total:.0%}", point.operations.double / total),
        (amount(point.bytes, "byte"), point.bytes),
        (f"{point.intensity:.3g}", point.intensity),
        (amount(point.per_s, "FLOP/s"), point.per_s),
        (f"{share:.0%}" if isfinite(share) else "", share),
    )
    name = element("a", point.row.name, href=f"#{point.row.id}")
    return element(
        "tr",
        element(
            "th", name, dim(f"{point.row.configuration}, {duration(point.row.shown.duration_ns)}", "small"), scope="row"
        ),
        *(number(words, value) for words, value in numbers),
        element("td", point.operations.source),
    )


def _left_out(line: Roofline) -> Iterator[Part]:
    for reason, rows in line.left_out.items():
        names = ", ".join(dict.fromkeys(row.name for row in rows[:_MOST_NAMES]))
        summary = element("summary", f"{len(rows):,} kernel{'s'[: len(rows) != 1]} left out: {reason}")
        yield element("details", summary, element("p", names, css="dim"))
