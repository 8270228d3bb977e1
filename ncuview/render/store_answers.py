"""An ``Answer`` of a store as a terminal page, JSON or CSV; names and texts of reports are made safe in each.

``answer_csv`` writes all tables of an answer below one header: the columns ``table`` and those of the settings come
first, and a cell that a table does not have is empty. The answer to a query of the user's has the query's columns only.
"""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, fields
from functools import partial
from io import StringIO
from typing import Literal

from rich.table import Column

from ncuview.base.figures import duration, factor
from ncuview.records.documents import store_answer as documents
from ncuview.records.schema import plain
from ncuview.render.table import inert
from ncuview.render.terminal import page_console, page_text, plain_table
from ncuview.render.text import json_text, known, safe_page, safe_text
from ncuview.store.answer import UNITS, Answer, AnswerTable, Cell, Settings

SCHEMA: Literal["ncuview.store-answer/1"] = "ncuview.store-answer/1"
_SETTINGS = tuple(field.name for field in fields(Settings))
_IDENTITIES = {"report", "launch", "line"}
_SAME = ("gpu", "name", "grid", "block")
"""Columns that stand in the title of a table where all rows have the same."""
_CLOCKS = {"base": "clocks locked", "none": "clocks not locked"}
_CACHES = {"all": "caches emptied", "none": "caches not emptied"}


def answer_page(answer: Answer, width: int) -> str:
    """Each table below its title and its settings, then the notes."""
    parts = [_section(table, width) for table in answer.tables] or ["No launch in the store is an answer.\n"]
    notes = "".join(f"{safe_text(note)}\n" for note in answer.notes)
    return safe_page("\n".join([*parts, *([notes] if notes else [])]).rstrip())


def answer_json(answer: Answer, width: int = 0) -> str:
    """The answer with the units of its columns; texts are unchanged, as JSON escapes them."""
    del width
    return json_text(
        plain(
            documents.StoreAnswerDocument(SCHEMA, answer.question, tuple(map(_document, answer.tables)), answer.notes)
        )
    )


def _document(table: AnswerTable) -> documents.StoreTable:
    return documents.StoreTable(
        title=table.title,
        settings=documents.ProfilerSettings(**asdict(table.settings)) if table.settings else None,
        units={column: UNITS[column] for column in table.columns if column in UNITS},
        columns=table.columns,
        rows=tuple(tuple(known(cell) if isinstance(cell, float) else cell for cell in row) for row in table.rows),
        left_out=table.left_out if table.left_out >= 0 else None,
        complete=not table.left_out,
    )


def answer_csv(answer: Answer, width: int = 0) -> str:
    """All rows; no text is a formula."""
    del width
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_csv_cell(cell) for cell in row] for row in _csv_rows(answer.tables))
    return text.getvalue()


def _csv_rows(tables: Sequence[AnswerTable]) -> Iterator[Sequence[Cell]]:
    if len(tables) == 1 and not tables[0].settings:  # a query of the user may give two columns the same name
        yield tables[0].columns
        yield from tables[0].rows
        return
    names = dict.fromkeys(name for table in tables for name in table.columns)
    yield "table", *_SETTINGS, *names
    for table in tables:
        settings = astuple(table.settings) if table.settings else (None,) * len(_SETTINGS)
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            yield table.title, *settings, *map(cells.get, names)


def _csv_cell(cell: Cell) -> Cell:
    return inert(safe_text(cell)) if isinstance(cell, str) else known(cell) if isinstance(cell, float) else cell


FORMATS: Mapping[str, Callable[[Answer, int], str]] = {"terminal": answer_page, "json": answer_json, "csv": answer_csv}


def shown_columns(table: AnswerTable) -> list[int]:
    """The places of the columns to show: those with a value in a row, without those of ``of_all_rows``."""
    used = _used(table)
    return [at for at in used if at not in of_all_rows(table)] or used


def of_all_rows(table: AnswerTable) -> list[int]:
    """The places of the columns that name what is measured and have one value in all rows: a title has it."""
    if not table.settings:
        return []
    same = [at for at in _used(table) if table.columns[at] in _SAME and len({row[at] for row in table.rows}) == 1]
    return same if len(same) < len(_used(table)) else []


def _used(table: AnswerTable) -> list[int]:
    used = [at for at, _ in enumerate(table.columns) if any(row[at] not in {None, ""} for row in table.rows)]
    return used or list(range(len(table.columns)))


def _section(table: AnswerTable, width: int) -> str:
    used, of_all = shown_columns(table), of_all_rows(table)
    what = table.columns.index("what") if "what" in table.columns else -1
    columns = [
        Column(safe_text(table.columns[at]), overflow="fold", justify="right" if is_number(table, at) else "left")
        for at in used
    ]
    rows = [
        [cell_words(table.columns[at], row[at], str(row[what]) if what >= 0 else "") for at in used]
        for row in table.rows
    ]
    console = page_console(width, color=False)
    console.print(plain_table(columns, rows))
    title = [safe_text(f"{table.title[:1].upper()}{table.title[1:]}")] if table.title else []
    title += [safe_text(f"{table.columns[at]} {table.rows[0][at]}") for at in of_all]
    if table.settings:
        title.append(settings_words(table.settings))
    head = f"{textwrap.fill('; '.join(title), width)}\n\n" if title else ""
    return f"{head}{page_text(console).rstrip()}\n{_left_out(table)}"


def _left_out(table: AnswerTable) -> str:
    if not table.left_out:
        return ""
    how_many = f"{table.left_out:,} more rows" if table.left_out > 0 else "More rows"
    return f"{how_many} are left out; --limit 0 shows all.\n"


def settings_words(settings: Settings) -> str:
    """``clocks locked, caches emptied, kernel replay``."""
    clocks = _CLOCKS.get(settings.clock_control or "", "clock control unknown")
    caches = _CACHES.get(settings.cache_control or "", "cache control unknown")
    return safe_text(f"{clocks}, {caches}, {settings.replay_mode or 'unknown'} replay")


def is_number(table: AnswerTable, at: int) -> bool:
    """Whether a column has numbers only."""
    return all(row[at] is None or isinstance(row[at], int | float) for row in table.rows)


def cell_words(column: str, cell: Cell, what: str) -> str:
    """A cell for people: times in a suitable unit, shares in per cent."""
    if cell is None or cell is False:
        return ""
    if cell is True:
        return "yes"
    if isinstance(cell, str):
        return cell[:10] if column == "created" else cell
    return _NUMBERS.get(what if column in {"before", "after"} else column, partial(_plain, column))(cell)


def _plain(column: str, number: float) -> str:
    if column in _IDENTITIES:
        return str(number)
    return f"{number:,}" if isinstance(number, int) else f"{number:,.15g}"


_NUMBERS: Mapping[str, Callable[[float], str]] = {
    **dict.fromkeys((column for column, unit in UNITS.items() if unit == "ns"), duration),
    "share": "{:.1%}".format,
    "ratio": factor,
}
