"""``render_history``: a ``History`` (a series of reports) as terminal page, JSON, HTML or Markdown, by format name.

The terminal page (``history_page``) has per GPU the kernels whose time changed and why, then all kernels, kernels with
uneven ranks at the newest point, and new and missing kernels; or, by call, the lines of the user's programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

from ncuview.base.figures import duration
from ncuview.render.terminal import page_console, page_text, plain_table, row
from ncuview.render.text import safe_text
from ncuview.render.trend_words import (
    BY_CALL,
    KERNEL_COLUMNS,
    MEANING,
    NO_CALLS,
    Ranking,
    break_words,
    call_cells,
    call_columns,
    calls_sentence,
    configuration_words,
    imbalance_words,
    is_unrelated,
    kernel_cells,
    provenance_words,
    step_sentence,
    summary_words,
)
from ncuview.render.words import failure_sentence, step_words
from ncuview.trends import History, KernelTrend, Series

if TYPE_CHECKING:
    from rich.console import Console

_PAGES = 5
_LINES = 20
_TIMES = 8
_MOST_NAMES = 8
_NAME_WIDTH = 20


def render_history(
    found: History, to: str = "terminal", *, by: Ranking = "kernel", width: int = 100, color: bool = False
) -> str:
    """Format a history.

    Args:
        found: The history to show.
        to: ``terminal`` for people, ``json`` for programs, ``html`` for a browser, ``markdown`` for a comment.
        by: What is ranked; JSON and HTML hold both rankings, and the page begins with this one.
        width: Columns of the terminal.
        color: Whether the terminal shows colours.
    """
    if to == "json":
        from ncuview.render.history_document import history_json

        return history_json(found)
    if to == "html":
        from ncuview.render.html_report.history import history_html

        return history_html(found, by=by)
    if to == "markdown":
        from ncuview.render.history_markdown import history_markdown

        return history_markdown(found, by=by)
    return history_page(found, by=by, width=width, color=color)


def history_page(history: History, *, by: Ranking = "kernel", width: int, color: bool) -> str:
    """One part per GPU: the kernels whose time changed in full, then a table of all kernels; or a table of calls."""
    console = page_console(width, color=color)
    for failure in history.failures:
        console.print(Text(failure_sentence(failure)), style="bold yellow")
    for place, series in enumerate(history.series):
        if place:
            console.print()
        console.print(Text(safe_text(provenance_words(series)), style="dim"))
        for line in break_words(series):
            console.print(Text(safe_text(line), style="yellow"))
        console.print()
        if by == "call":
            _calls(console, series)
        else:
            _kernels(console, series)
    return page_text(console)


def _calls(console: Console, series: Series) -> None:
    if not series.calls:
        console.print(Text(NO_CALLS))
        return
    console.print(Text(calls_sentence(series)))
    console.print()
    name, *others = call_columns(series)
    columns = [
        Column(name, overflow="fold", min_width=_NAME_WIDTH),
        *(Column(other, justify="right", no_wrap=True) for other in others),
    ]
    console.print(plain_table(columns, map(call_cells, series.calls[:_LINES])))
    _hidden(console, len(series.calls) - _LINES, "are in the table of --format html and json", "lines")


def _kernels(console: Console, series: Series) -> None:
    console.print(Text(safe_text(summary_words(series))))
    for kernel in series.changed[:_PAGES]:
        console.print()
        _kernel(console, kernel, series)
    _hidden(console, len(series.changed) - _PAGES, "changed")
    if series.uneven:
        console.print()
        console.print(Text("Uneven ranks at the newest point:"))
        for kernel in series.uneven[:_PAGES]:
            words = f"{kernel.kernel}  {configuration_words(kernel)}  {imbalance_words(kernel.last)}"
            console.print(Text(safe_text(words)))
        _hidden(console, len(series.uneven) - _PAGES, "have uneven ranks")
    console.print()
    console.print(_overview(series))
    _hidden(console, len(series.kernels) - _LINES, "are in the table of --format html and json")
    for label, kernels in () if is_unrelated(series) else (("New", series.new), ("Gone", series.gone)):
        if kernels:
            console.print()
            row(console, label, Text(safe_text(", ".join(_named(kernels, series, label)))))
    if series.changed:
        console.print()
        console.print(Text(MEANING, style="dim"))
    if series.calls:
        console.print()
        console.print(Text(BY_CALL, style="dim"))


def _kernel(console: Console, kernel: KernelTrend, series: Series) -> None:
    heading = Text(safe_text(kernel.kernel), style="bold")
    heading.append(f"  {configuration_words(kernel)}", style="not bold")
    console.print(heading)
    console.print()
    for step in reversed(kernel.steps):
        row(console, "Changed", Text(safe_text(f"{step_sentence(step, series)}.")))
    times = [duration(reading.time_ns) for reading in kernel.readings[-_TIMES:]]
    earlier = len(kernel.readings) - len(times)
    row(console, "Times", Text(", ".join([*([f"{earlier} earlier"] if earlier > 0 else []), *times])))
    was = next(reading for reading in kernel.readings if reading.at == kernel.steps[-1].since)
    row(console, "Next", Text(safe_text(f"{step_words(kernel.last.launch)}, before: {step_words(was.launch)}")))


def _overview(series: Series) -> Table:
    name, first, newest, *others = KERNEL_COLUMNS
    columns = [
        Column(name, overflow="fold", min_width=_NAME_WIDTH),
        *(Column(other, justify="right", no_wrap=True) for other in (first, newest)),
        *(Column(other, no_wrap=True) for other in others),
    ]
    return plain_table(columns, map(kernel_cells, series.kernels[:_LINES]))


def _named(kernels: Sequence[KernelTrend], series: Series, label: str) -> Iterator[str]:
    """The kernels, each with its first or last point."""
    for kernel in kernels[:_MOST_NAMES]:
        at = kernel.readings[0].at if label == "New" else kernel.last.at
        where = "since" if label == "New" else "last at"
        yield f"{kernel.kernel} ({configuration_words(kernel)}, {where} {series.points[at].name})"
    if len(kernels) > _MOST_NAMES:
        yield f"and {len(kernels) - _MOST_NAMES} more"


def _hidden(console: Console, count: int, what: str, rows: str = "kernels") -> None:
    if count > 0:
        console.print(Text(f"{count} more {rows} {what}.", style="dim"))
