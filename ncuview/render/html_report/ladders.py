"""HTML section of ``Ladder``s in the report (``ladders_section``): predicted and measured speedup of each step.

Each ladder has an SVG chart and a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import isfinite, log
from xml.etree import ElementTree as ET

from ncuview.records.ladder import Ladder, LadderStep
from ncuview.render.html_report.checks import Ids
from ncuview.render.html_report.elements import Part, dim, element, heading, scrolled, section, table
from ncuview.render.ladder import HTML_COLUMNS, HTML_NUMBERS, step_cells
from ncuview.render.words import ladder_meaning, notes_title, provenance, textbook_notes

_ROW, _LEFT, _WIDTH, _TOP, _BOTTOM = 24, 270, 1100, 8, 40
_TICKS = (1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000)
_BEYOND = 3.0
"""A bound that is this many times farther than all other values is drawn to the edge of the chart."""
_NAME = 34
_CSS = {"kernel": "long", "bottleneck": "short"}


def ladders_section(ladders: Sequence[Ladder], ids: Ids) -> ET.Element:
    """A part for each family; the first is open."""
    if len(ladders) == 1:
        return section("ladders", _title(ladders[0]), *_ladder(ladders[0], ids))
    parts: list[Part] = []
    for place, ladder in enumerate(ladders):
        summary = element("summary", element("h3", _title(ladder)))
        origin = dim(provenance(ladder.reports, tuple(step.diagnosis for step in ladder.steps), ladder.remark))
        shown = element("details", summary, origin, *_ladder(ladder, ids), data_print="")
        if place == 0:
            shown.set("open", "")
        parts.append(shown)
    return section("ladders", "Ladders", *parts)


def _title(ladder: Ladder) -> str:
    return f"Ladder of {ladder.family}: {len(ladder.steps)} kernel{'s'[: len(ladder.steps) != 1]}"


def _ladder(ladder: Ladder, ids: Ids) -> Iterator[Part]:
    advised = [step for step in ladder.steps if step.diagnosis.findings]
    if advised:
        chart = scrolled(_chart(advised, ladder.family), f"Chart of {ladder.family}")
        yield element("div", chart, _legend(), css="roomy")
    numbers = {step.kernel: step.number for step in ladder.steps}
    head = [heading(name, css="number" if name in HTML_NUMBERS else "") for name in HTML_COLUMNS]
    rows = [_row(step, numbers, ids) for step in ladder.steps]
    yield scrolled(table(head, rows, css="wide steps-table"), f"Table of {ladder.family}")
    yield dim(ladder_meaning(ladder))
    if notes := textbook_notes(ladder):
        summary = element("summary", notes_title(ladder))
        yield element("details", summary, *(element("p", note) for note in notes))


def _row(step: LadderStep, numbers: dict[str, int], ids: Ids) -> ET.Element:
    launch = step.diagnosis
    row = ids.get((launch.demangled, launch.grid, launch.block))
    cells: dict[str, Part] = {**step_cells(step, numbers)}
    if row:
        cells["kernel"] = element("a", step.kernel, href=f"#{row}")
    return element(
        "tr",
        *(
            element("td", cells[name], css="number" if name in HTML_NUMBERS else _CSS.get(name, ""))
            for name in HTML_COLUMNS
        ),
    )


def _chart(steps: Sequence[LadderStep], family: str) -> ET.Element:
    """A row per step with advice; speedup from left to right, logarithmic. The table has the same numbers."""
    gains = [step.diagnosis.findings[0].predicted_speedup for step in steps]
    shown = [gain.best for gain in gains] + [step.measured_speedup for step in steps if step.measured_speedup]
    farthest = max([2.0, *(value for value in shown if isfinite(value))])
    most = max(farthest, min(max(gain.high for gain in gains if isfinite(gain.high)), _BEYOND * farthest)) * 1.08
    least = min([0.9, *(max(value, 0.1) for value in shown if isfinite(value))]) * 0.97

    def across(speedup: float) -> float:
        bounded = min(max(speedup, least), most)
        return _LEFT + (_WIDTH - _LEFT - 10) * log(bounded / least) / log(most / least)

    height = _TOP + _ROW * len(steps) + _BOTTOM
    parts: list[Part] = [element("title", f"{family}: predicted and measured")]
    bottom = _TOP + _ROW * len(steps)
    ticks = [tick for tick in _TICKS if least <= tick <= most]
    for tick in _spread(ticks, across):
        css = "axis" if tick == 1 else "grid"
        parts.append(element("line", css=css, x1=across(tick), x2=across(tick), y1=float(_TOP), y2=float(bottom)))
        parts.append(element("text", f"{tick:,g}x", css="tick", x=across(tick), y=bottom + 16.0, text_anchor="middle"))
    words = "speedup by the first advice, times faster"
    parts.append(element("text", words, css="label", x=(_LEFT + _WIDTH) / 2, y=bottom + 34.0, text_anchor="middle"))
    for place, (step, gain) in enumerate(zip(steps, gains, strict=True)):
        middle = _TOP + _ROW * (place + 0.5)
        parts.append(
            element(
                "text",
                f"{short(step.kernel)}  #{step.number}",
                css="name",
                x=_LEFT - 12.0,
                y=middle + 4.0,
                text_anchor="end",
            )
        )
        parts.append(element("line", css="predicted", x1=across(gain.low), x2=across(gain.high), y1=middle, y2=middle))
        parts.append(element("circle", css="predicted", cx=across(gain.best), cy=middle, r=5.0))
        if step.measured_speedup:
            parts.append(element("path", css="measured", d=_diamond(across(step.measured_speedup), middle)))
    return element(
        "svg",
        *parts,
        css="chart steps-chart",
        viewBox=f"0 0 {_WIDTH} {height}",
        role="img",
        aria_label=f"{family}: predicted and measured, as in the table below",
    )


def _legend() -> ET.Element:
    predicted = element(
        "svg",
        element("line", css="predicted", x1=0.0, x2=20.0, y1=6.0, y2=6.0),
        element("circle", css="predicted", cx=10.0, cy=6.0, r=4.0),
        **_SAMPLE,
    )
    measured = element("svg", element("path", css="measured", d=_diamond(10.0, 6.0)), **_SAMPLE)
    return element("p", predicted, " predicted, with low and high   ", measured, " measured", css="key")


_SAMPLE = {"viewBox": "0 0 20 12", "aria_hidden": "true"}


def _diamond(x: float, y: float) -> str:
    return f"M{x:.1f} {y - 6:.1f}l6 6-6 6-6-6z"


def _spread(ticks: Sequence[float], across: Callable[[float], float]) -> list[float]:
    """The ticks whose labels do not overlap."""
    labelled: list[float] = []
    for tick in ticks:
        if not labelled or across(tick) - across(labelled[-1]) >= 44:
            labelled.append(tick)
    return labelled


def short(name: str, most: int = _NAME) -> str:
    """A name that fits left of a chart; its end, which holds sizes, is not cut."""
    return name if len(name) <= most else f"{name[: most - 15]}...{name[-12:]}"
