"""``asked``: the answer of a store to a question, as a bounded part of its rows.

Rows of all tables are one list, so that one cursor goes through them; the tables of the rows that are shown come along.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Literal

from ncuview.base.errors import UsageError
from ncuview.mcp_server import documents
from ncuview.mcp_server.pages import Listing, filled
from ncuview.records.documents.store_answer import ProfilerSettings
from ncuview.render.text import known
from ncuview.render.views.pages import clipped
from ncuview.store import kernel_history, questions
from ncuview.store.answer import UNITS, Answer, AnswerTable, Cell, Settings
from ncuview.store.opened import Store, open_store

Question = Literal["top", "history", "compare", "outliers", "unprofiled"]
_SHORT = 160
"""Bytes of a text in a row as JSON."""
_HEAD = 2_500
"""Bytes of an answer without the texts of its first row."""
_SAFE_INTEGER = 1 << 53


def asked(
    place: str,
    question: Question,
    *,
    kernel: str,
    by: questions.By | None,
    limit: int,
    key: str,
    cursor: str,
    max_bytes: int,
) -> dict[str, Any]:
    """The part of an answer that a key and a cursor ask for.

    Args:
        place: The folder of the store.
        question: What is asked.
        kernel: Of ``history`` and ``compare``: the kernel's name.
        by: Of ``compare``: what differs.
        limit: The most rows of a table.
        key: A row to show with long texts; empty for all.
        cursor: What an earlier answer to the same request holds.
        max_bytes: The most bytes of the answer as JSON in one line.

    Raises:
        UsageError: The words do not fit the question; no row has the key, or the cursor is none of this answer.
        ReportError: There is no store, or it cannot be read.
        ToolError: DuckDB is not installed.
    """
    with open_store(place) as store:
        answer = _answer(store, question, kernel, by, limit)
        reports, damaged = len(store.reports), len(store.damaged)
    checksum = _checksum(answer)
    tables = {f"table-{at}": each for at, each in enumerate(answer.tables)}
    found = list(_rows(tables))
    if key:
        found = [each for each in found if each[0] == key]
        if not found:
            raise UsageError(f"no row has the key {key!r}", hint="Without a key the answer has the keys of all rows.")
    longest = max(_SHORT, (max_bytes - _HEAD) // len(found[0][2])) if key else _SHORT
    rows = [
        documents.StoredRow(name, table, tuple(_cell(each, longest) for each in cells)) for name, table, cells in found
    ]

    def document(notes: documents.Notes, part: documents.StoredRows) -> documents.StoredDocument:
        shown = dict.fromkeys(each.table for each in part.items)
        return documents.StoredDocument(
            schema="ncuview.store-part/1",
            document=checksum,
            question=answer.question,
            reports=reports,
            damaged=damaged,
            tables=tuple(_table(name, tables[name]) for name in shown),
            rows=part,
            notes=notes,
        )

    notes = [] if key else [clipped(each, 300) for each in answer.notes]
    named = f"{checksum}/{key}" if key else checksum
    listings = [Listing(documents.Notes, f"{named}/notes", notes), Listing(documents.StoredRows, f"{named}/rows", rows)]
    return filled(document, listings, cursor, max_bytes)


def _answer(store: Store, question: Question, kernel: str, by: questions.By | None, limit: int) -> Answer:
    if kernel and question not in {"history", "compare"}:
        raise UsageError(f"{question} takes no kernel", hint="history and compare take one.")
    if (by is None) == (question == "compare"):
        raise UsageError("by is for compare, and compare needs it: gpu, shape or rank")
    match question:
        case "top":
            return questions.top(store, limit)
        case "history":
            if not kernel:
                raise UsageError("history is of a kernel", hint="top names those of most GPU time.")
            return kernel_history.history(store, kernel, limit)
        case "compare":
            return questions.compare(store, by or "gpu", kernel or None, limit)
        case "outliers":
            return questions.outliers(store, limit)
        case "unprofiled":
            return questions.unprofiled(store, limit)


def _rows(tables: dict[str, AnswerTable]) -> Iterator[tuple[str, str, tuple[Cell, ...]]]:
    """Key, table and cells of each row. A row has the same key as long as it has the same cells."""
    seen: set[str] = set()
    for name, table in tables.items():
        for at, row in enumerate(table.rows):
            key = _checksum((table.title, table.settings, row))
            key = f"{key}-{at}" if key in seen else key
            seen.add(key)
            yield key, name, row


def _table(name: str, table: AnswerTable) -> documents.StoredTable:
    return documents.StoredTable(
        key=name,
        title=clipped(table.title, 100),
        settings=_settings(table.settings) if table.settings else None,
        columns=table.columns,
        units={column: UNITS[column] for column in table.columns if column in UNITS},
        left_out=table.left_out,
    )


def _settings(settings: Settings) -> ProfilerSettings:
    texts = (settings.clock_control, settings.cache_control, settings.replay_mode)
    return ProfilerSettings(*(each if each is None else clipped(each, 60) for each in texts))


def _cell(cell: Cell, longest: int) -> Cell:
    if isinstance(cell, str):
        return clipped(cell, longest)
    if isinstance(cell, float):
        return known(cell)
    if isinstance(cell, int) and abs(cell) > _SAFE_INTEGER:
        return str(cell)
    return cell


def _checksum(value: object) -> str:
    return blake2b(repr(value).encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
