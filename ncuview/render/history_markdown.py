"""Markdown page of a ``History`` (``history_markdown``), per GPU: a table of all kernels, or of the user's lines."""

from __future__ import annotations

from collections.abc import Iterator

from ncuview.render.inert_markdown import clipped, code, prose, table_head, table_row
from ncuview.render.trend_words import (
    BY_CALL,
    KERNEL_COLUMNS,
    NO_CALLS,
    Ranking,
    break_words,
    call_cells,
    call_columns,
    calls_sentence,
    kernel_cells,
    provenance_words,
    step_sentence,
    summary_words,
)
from ncuview.render.words import failure_sentence
from ncuview.trends import History, Series

_ROWS = 100
_NAME = 160
_SENTENCE = 600


def history_markdown(history: History, *, by: Ranking = "kernel") -> str:
    """A page in GitHub's Markdown, with at most 100 rows of each table."""
    parts = [f"**{prose(clipped(failure_sentence(each), _SENTENCE))}**\n" for each in history.failures]
    for series in history.series:
        parts.append(f"## ncuview: {prose(clipped(provenance_words(series), _SENTENCE))}\n")
        parts += [f"- {prose(clipped(line, _SENTENCE))}\n" for line in break_words(series)]
        parts += _calls(series) if by == "call" else _kernels(series)
    return "\n".join(parts)


def _calls(series: Series) -> Iterator[str]:
    if not series.calls:
        yield f"{NO_CALLS}\n"
        return
    columns = call_columns(series)
    yield f"In all, {prose(calls_sentence(series))}\n"
    yield _table(columns, "l" + "r" * (len(columns) - 1), map(call_cells, series.calls[:_ROWS]))
    yield from _rest(len(series.calls), "lines")


def _kernels(series: Series) -> Iterator[str]:
    yield f"In all: {prose(summary_words(series))}\n"
    changes = [
        f"- {code(kernel.kernel, _NAME)} {prose(clipped(step_sentence(step, series), _SENTENCE))}.\n"
        for kernel in series.changed[:_ROWS]
        for step in reversed(kernel.steps)
    ]
    if changes:
        yield "".join(changes)
    yield _table(KERNEL_COLUMNS, "lrrlll", map(kernel_cells, series.kernels[:_ROWS]))
    yield from _rest(len(series.kernels), "kernels")
    if series.calls:
        yield f"*{prose(BY_CALL)}*\n"


def _table(columns: tuple[str, ...], sides: str, rows: Iterator[tuple[str, ...]]) -> str:
    lines = (table_row([code(name, _NAME), *(prose(clipped(cell, _NAME)) for cell in cells)]) for name, *cells in rows)
    return table_head(columns, sides) + "".join(lines)


def _rest(count: int, what: str) -> Iterator[str]:
    if count > _ROWS:
        yield f"*{count - _ROWS:,} more {what} are in `--format json` and `html`.*\n"
