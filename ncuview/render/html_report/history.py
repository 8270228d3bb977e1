"""HTML page of a ``History`` (``history_html``), per GPU: kernels whose time changed, all kernels, ranks and points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration, factor
from ncuview.render.html_report.elements import (
    Part,
    choice,
    dim,
    element,
    filters,
    heading,
    hidden,
    number,
    scrolled,
    section,
)
from ncuview.render.html_report.page import page, shipped
from ncuview.render.trend_words import (
    MEANING,
    NO_CALLS,
    Ranking,
    break_words,
    call_cells,
    call_columns,
    calls_sentence,
    change_words,
    configuration_words,
    imbalance_words,
    is_unrelated,
    judged_words,
    provenance_words,
    step_sentence,
    summary_words,
)
from ncuview.render.words import bottleneck_words, failure_sentence, step_words
from ncuview.trends import History, KernelTrend, Point, Reading, Series, Step

_WIDTH, _HEIGHT = 100.0, 100.0
_LEAST_SPAN = 0.1
"""The time axis spans at least this share of the time, so that noise does not look like a large change."""
_COLUMNS = (
    ("kernel", "rising", ""),
    ("over the points", "", ""),
    ("first", "falling", "number less"),
    ("newest", "falling", "number"),
    ("changed", "falling", "number"),
    ("bottleneck", "rising", "less"),
    ("next step", "rising", ""),
)


def history_html(history: History, *, by: Ranking = "kernel") -> str:
    """One self-contained page; the ranking by ``by`` comes first."""
    several = len(history.series) > 1
    body = [element("p", failure_sentence(each), css="warn", role="alert") for each in history.failures]
    for at, series in enumerate(history.series, start=1):
        body += _parts(series, at, by, several=several)
    return page("Kernels over time", body, style=shipped("report.css") + shipped("history.css"))


def _parts(series: Series, at: int, by: Ranking, *, several: bool) -> Iterator[ET.Element]:
    suffix, of = (f"-{at}", f", {series.device.name}") if several else ("", "")
    yield section(f"summary{suffix}", f"Summary{of}", *_summary(series))
    if by == "call":
        yield section(f"calls{suffix}", f"Calls{of}", *_calls(series))
    if series.changed:
        yield section(f"changed{suffix}", f"Changes{of}", scrolled(_changed(series), "Changes"), dim(MEANING))
    yield section(f"kernels{suffix}", f"Kernels{of}", *_kernels(series, f"kernels{suffix}"))
    if by == "kernel" and series.calls:
        yield section(f"calls{suffix}", f"Calls{of}", *_calls(series))
    if any(point.ranks for point in series.points):
        yield section(f"ranks{suffix}", f"Ranks{of}", *_ranks(series))
    yield section(f"points{suffix}", f"Points{of}", scrolled(_points(series.points), "Points"))


def _summary(series: Series) -> Iterator[ET.Element]:
    yield element("p", f"{provenance_words(series)}.")
    yield element("p", element("strong", summary_words(series)))
    yield element("p", judged_words(series))
    for line in break_words(series):
        yield element("p", line)
    for words, kernels in (("New since the first point", series.new), ("Gone at the newest", series.gone)):
        if kernels and not is_unrelated(series):
            items = (element("li", f"{_name(kernel)}: {_range(kernel, series)}") for kernel in kernels)
            yield element("details", element("summary", f"{words}: {len(kernels)}"), element("ul", *items))


def _calls(series: Series) -> Iterator[ET.Element]:
    if not series.calls:
        yield element("p", NO_CALLS)
        return
    yield element("p", calls_sentence(series))
    rows = []
    for each in series.calls:
        name, *words = call_cells(each)
        ends = (each.times_ns[0], each.times_ns[-1]) if len(each.times_ns) > 1 else ()
        values = (each.share, each.time_ns, each.launches, each.kernels, *ends)
        numbers = (number(word, value) for word, value in zip(words, values, strict=True))
        rows.append(element("tr", element("th", name, scope="row"), *numbers))
    yield scrolled(_table("Calls, the line with the most kernel time first", call_columns(series), rows), "Calls")


def _name(kernel: KernelTrend) -> str:
    return f"{kernel.kernel}, {configuration_words(kernel)}"


def _range(kernel: KernelTrend, series: Series) -> str:
    first, last = (series.points[reading.at].name for reading in (kernel.readings[0], kernel.last))
    return f"at {first}" if first == last else f"{first} to {last}"


def _changed(series: Series) -> ET.Element:
    rows = []
    for kernel in series.changed:
        steps = [element("p", f"{step_sentence(step, series)}.") for step in reversed(kernel.steps)]
        name = element("th", kernel.kernel, dim(configuration_words(kernel), "small"), scope="row")
        rows.append(element("tr", name, element("td", *steps)))
    return _table("Changes", ("kernel", "change"), rows, "moves")


def _kernels(series: Series, name: str) -> Iterator[ET.Element]:
    head = element(
        "tr",
        *(heading(name, css=css, **({"data_sort": order} if order else {})) for name, order, css in _COLUMNS),
    )
    table = element(
        "table",
        element("caption", "Kernels, the largest change of time first", css="hidden"),
        element("thead", head),
        *(_kernel(kernel, series, f"{name}-{at}") for at, kernel in enumerate(series.kernels, start=1)),
        id=f"{name}-table",
        css="trends",
    )
    if len(series.kernels) > 1:
        table.set("data-sortable", "parts")
        bottlenecks = sorted({kernel.last.launch.bottleneck_name for kernel in series.kernels})
        choices = [
            choice("changed", "Changed", [("changed", "changed"), ("unchanged", "unchanged")]),
            choice("bottleneck", "Bottleneck", zip(bottlenecks, bottlenecks, strict=True)),
        ]
        about = f"Kernels of {series.device.name}"
        yield filters(f"{name}-table", about, "Name, bottleneck, advice ...", choices)
    yield scrolled(table, "Kernels")
    yield element("p", "No kernel matches.", id=f"{name}-table-none", hidden="")


def _kernel(kernel: KernelTrend, series: Series, name: str) -> ET.Element:
    newest, opened = kernel.last, f"{name}-points"
    button = element("button", kernel.kernel, type="button", css="expand", aria_expanded="false", aria_controls=opened)
    line = element(
        "tr",
        element("th", button, dim(configuration_words(kernel), "small"), scope="row"),
        element("td", _line(kernel, series, "trend")),
        _time(kernel.readings[0].time_ns, "number less"),
        _time(newest.time_ns, "number"),
        number(change_words(kernel), kernel.last_step_ns if kernel.steps else None),
        element("td", bottleneck_words(newest.launch), css="less"),
        element("td", step_words(newest.launch)),
    )
    details = element("td", _line(kernel, series, "trend large"), _readings(kernel, series), colspan=str(len(_COLUMNS)))
    return element(
        "tbody",
        line,
        element("tr", details, css="opens", id=opened),
        id=name,
        data_changed="changed" if kernel.steps else "unchanged",
        data_bottleneck=newest.launch.bottleneck_name,
        data_words=kernel.demangled,
    )


def _line(kernel: KernelTrend, series: Series, css: str) -> ET.Element:
    """The times as a line over the points, with marks at steps. The table below has the numbers."""
    known = [reading for reading in kernel.readings if isfinite(reading.time_ns)]
    words = f"Time of {kernel.kernel} over {len(series.points)} points"
    if known:
        words += f", {duration(known[0].time_ns)} to {duration(known[-1].time_ns)}"
    places = {reading.at: place for reading, place in zip(known, _places(known, len(series.points)), strict=True)}
    marks = [element("path", css=f"step-mark {_direction(step)}", d=_dot(places[step.at])) for step in kernel.steps]
    ends = [element("path", css="newest", d=_dot(place)) for place in list(places.values())[-1:]]
    path = "M" + "L".join(f"{x:.4g} {y:.4g}" for x, y in places.values()) if places else "M0 0"
    return element(
        "svg",
        element("path", d=path),
        *ends,
        *marks,
        css=css,
        role="img",
        aria_label=words,
        viewBox=f"-2 -6 {_WIDTH + 4:g} {_HEIGHT + 12:g}",
        preserveAspectRatio="none",
    )


def _places(readings: Sequence[Reading], points: int) -> Iterator[tuple[float, float]]:
    """The coordinates of each reading: points at equal distances, times between the smallest and the largest."""
    times = [reading.time_ns for reading in readings]
    least, most = min(times, default=0.0), max(times, default=0.0)
    span = max(most - least, _LEAST_SPAN * most) or 1.0
    middle = (least + most) / 2
    for reading in readings:
        x = _WIDTH * reading.at / (points - 1) if points > 1 else _WIDTH / 2
        yield x, _HEIGHT * (0.5 - (reading.time_ns - middle) / span)


def _direction(step: Step) -> str:
    return "slower" if step.after_ns > step.before_ns else "faster"


def _dot(place: tuple[float, float]) -> str:
    """A line of length 0, whose round ends stay round however the drawing is stretched."""
    x, y = place
    return f"M{x:.4g} {y:.4g}h0"


def _readings(kernel: KernelTrend, series: Series) -> ET.Element:
    ranked = any(reading.ranks for reading in kernel.readings)
    columns = ["point", "time", "launches", "bottleneck", "next step", *(["slowest rank"] if ranked else [])]
    changes = {step.at: _direction(step) for step in kernel.steps}
    rows = []
    for reading in kernel.readings:
        name = series.points[reading.at].name
        change = changes.get(reading.at)
        mark: list[Part] = [element("small", change, css=change)] if change else []
        cells = [
            element("th", name, *mark, scope="row"),
            _time(reading.time_ns, "number"),
            number(f"{reading.launches:,}", reading.launches),
            element("td", bottleneck_words(reading.launch)),
            element("td", step_words(reading.launch)),
        ]
        cells += [element("td", imbalance_words(reading))] if ranked else []
        rows.append(element("tr", *cells))
    return _table(f"{_name(kernel)} at each point", columns, rows)


def _ranks(series: Series) -> Iterator[ET.Element]:
    """The kernels with uneven ranks at the newest point, and the time of each rank."""
    if not series.uneven:
        yield element("p", "At the newest point no rank takes much longer than the others.")
        return
    ranks = series.points[-1].ranks
    rows = []
    for kernel in (kernel for kernel in series.uneven if kernel.last.at == len(series.points) - 1):
        newest = kernel.last
        cells = [
            element("th", kernel.kernel, dim(configuration_words(kernel), "small"), scope="row"),
            number(factor(newest.imbalance or 1.0), newest.imbalance),
            element("td", newest.slowest),
            *(_time(newest.ranks.get(rank, float("nan")), "number") for rank in ranks),
        ]
        rows.append(element("tr", *cells))
    columns = ("kernel", "slowest over median", "slowest", *ranks)
    yield scrolled(_table(f"Ranks at {series.points[-1].name}", columns, rows), "Ranks")


def _points(points: Sequence[Point]) -> ET.Element:
    rows = [
        element(
            "tr",
            element("th", point.name, scope="row"),
            element("td", f"{point.created:%Y-%m-%d %H:%M} UTC" if point.created else "unknown"),
            element("td", point.ncu or "unknown"),
            element("td", point.settings.clock_control or "unknown"),
            number(f"{point.launches:,}", point.launches),
            _time(point.time_ns, "number"),
        )
        for point in points
    ]
    return _table("Points", ("point", "written", "ncu", "clock control", "launches", "time of all"), rows)


def _table(caption: str, columns: Sequence[str], rows: Sequence[ET.Element], css: str = "") -> ET.Element:
    head = element("tr", *map(heading, columns))
    body = element("tbody", *rows)
    return element("table", element("caption", hidden(caption)), element("thead", head), body, css=css)


def _time(nanoseconds: float, css: str) -> ET.Element:
    return number(duration(nanoseconds), nanoseconds, css)
