"""HTML page of a store (``store_html``): where the time of all reports goes, what changed, what is not judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration
from ncuview.render.html_report.elements import dim, element, heading, hidden, number, scrolled, section
from ncuview.render.html_report.page import page, shipped
from ncuview.render.store_answers import cell_words, is_number, of_all_rows, settings_words, shown_columns
from ncuview.store.answer import Answer, AnswerTable, Cell
from ncuview.store.names import base_name
from ncuview.store.overview import Overview

_PARTS = (
    ("kernels", "Kernels", "kernels by GPU time", "No launch is in the store."),
    ("calls", "Calls", "calls by GPU time", "No report has call stacks."),
    ("advice", "Advice", "advice by saved time", "No rule has advice on a launch."),
)
_NEVER, _DAMAGED = "kernels that were never judged", "reports of which launches may be missing"


def store_html(found: Overview) -> str:
    """One self-contained page."""
    body = [section("summary", "Summary", *_summary(found))]
    for name, title, table, without in _PARTS:
        body.append(section(name, title, *_tables(_titled(found.top, table), without, title)))
    body.append(section("changes", "Changes", *_changes(found.histories)))
    never = _titled(found.unprofiled, _NEVER)
    body.append(section("unjudged", "Never judged", *_tables(never, "Every kernel was judged.", "Never judged")))
    damaged = _titled(found.unprofiled, _DAMAGED)
    body.append(section("damaged", "Damaged reports", *_tables(damaged, "No report is damaged.", "Damaged reports")))
    return page(f"Store {base_name(found.name.rstrip('/'))}", body, style=shipped("report.css") + shipped("store.css"))


def _summary(found: Overview) -> Iterator[ET.Element]:
    dates = " to ".join(dict.fromkeys(filter(None, (found.first, found.last))))
    counts = f"{_counted(found.reports, 'report')} with {_counted(found.launches, 'launch', 'launches')}"
    yield element("p", element("strong", f"{counts}, {duration(found.time_ns)} of GPU time."))
    yield element("p", f"{', '.join(found.gpus) or 'No known GPU'}{dates and f'; written {dates}'}.")
    if found.damaged:
        yield element("p", f"{_counted(found.damaged, 'report')} could not be read completely.", css="warn")
    yield from map(dim, found.top.notes)


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def _titled(answer: Answer, title: str) -> list[AnswerTable]:
    return [table for table in answer.tables if table.title == title]


def _tables(tables: Sequence[AnswerTable], without: str, label: str) -> Iterator[ET.Element]:
    if not tables:
        yield element("p", without)
    for at, table in enumerate(tables, start=1):
        yield from _table(table, f"{label} {at}" if len(tables) > 1 else label)


def _changes(histories: Sequence[tuple[str, Answer]]) -> Iterator[ET.Element]:
    """The changes of each kernel and its counters that vary; then, in a part that opens, the kernels without any."""
    changed = [each for each in histories if any(table.title != "times" for table in each[1].tables)]
    unchanged = [each for each in histories if each not in changed]
    if not histories:
        yield element("p", "No kernel has a known time.")
    for name, answer in changed:
        yield element("h3", name, css="kernel-name")
        yield from map(dim, answer.notes)
        for table in answer.tables:
            if table.title != "times":
                yield from _table(table, f"{table.title} of {name}")
        yield element("details", element("summary", "Times", hidden(f" of {name}")), *_times(name, answer))
    if unchanged:
        parts: list[ET.Element] = []
        for name, answer in unchanged:
            parts += [element("h3", name, css="kernel-name"), *map(dim, answer.notes), *_times(name, answer)]
        yield element("details", element("summary", f"{_counted(len(unchanged), 'kernel')} without a change"), *parts)


def _times(name: str, answer: Answer) -> Iterator[ET.Element]:
    for at, table in enumerate(_titled(answer, "times"), start=1):
        yield from _table(table, f"Times of {name}, configuration {at}")


def _table(table: AnswerTable, label: str) -> Iterator[ET.Element]:
    """A table with what holds for all of its rows above it."""
    columns, same = shown_columns(table), of_all_rows(table)
    above = [f"{table.columns[at]} {table.rows[0][at]}" for at in same]
    if table.settings:
        above.append(settings_words(table.settings))
    if above:
        yield dim("; ".join([*(["work varies from run to run"] if table.title == "work varies" else []), *above]))
    head = [_heading(table, at) for at in columns]
    what = table.columns.index("what") if "what" in table.columns else -1
    rows = (
        element("tr", *(_cell(table, at, row, what, first=at == columns[0]) for at in columns)) for row in table.rows
    )
    made = element(
        "table",
        element("caption", hidden(label)),
        element("thead", element("tr", *head)),
        element("tbody", *rows),
        css="wide answer",
    )
    if len(table.rows) > 1:
        made.set("data-sortable", "rows")
    yield scrolled(made, label)
    if table.left_out:
        yield dim(f"{table.left_out:,} more rows are left out.")


def _heading(table: AnswerTable, at: int) -> ET.Element:
    words = table.columns[at].removesuffix("_ns").replace("_", " ")
    if is_number(table, at):
        return heading(words, css="number", data_sort="falling")
    return heading(words, data_sort="rising")


def _cell(table: AnswerTable, at: int, row: Sequence[Cell], what: int, *, first: bool) -> ET.Element:
    value = row[at]
    words = cell_words(table.columns[at], value, str(row[what]) if what >= 0 else "")
    if is_number(table, at):
        return number(words, None if value is None or isinstance(value, str) else float(value))
    return element("th", words, scope="row") if first else element("td", words)
