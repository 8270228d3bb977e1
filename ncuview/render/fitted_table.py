"""Print a table of text cells on a rich console, fitted to any width (``print_table`` with ``Column`` definitions).

``fits`` answers whether a row takes one line.

Columns move below their rows or are folded where they do not fit; no text is cut.

No number is separated from its unit. Columns that are long and often empty move first; where that is not enough, a row
takes several lines. A narrower page is longer and has the same content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

_BREAK = re.compile(r"(?<=[^\d\s])\s+(?=\S)|(?<=[_<,(\[])(?=[^\s_<,(\[])|(?<=[a-z\d])(?=[A-Z\[])")
"""Where long text is folded: at blanks, except between a number and its unit; in names after separators, before
brackets and before the capital of a new word."""


@dataclass(frozen=True)
class Column:
    """A column; rows have its cells under its name."""

    name: str
    right: bool = False
    least: int | None = None
    """The width that it may be folded to; None: the width of its widest cell."""
    moves: bool = False
    """Whether it moves below its row, with its name, before any other column is folded."""


_Line = list[tuple[Column, int]]
"""The columns of one line, each with its width."""


def print_table(console: Console, columns: Sequence[Column], rows: Sequence[Mapping[str, str]]) -> None:
    """Print a table as wide as the console.

    Args:
        console: The console; nothing is printed beyond its width.
        columns: The number of the row, the name of its subject, then all others.
        rows: Cells by the names of the columns. Columns that are empty in all rows are left out; without rows,
            nothing is printed.
    """
    if not rows:
        return
    width = console.width
    natural = _natural(columns, rows, width)
    filled = [column for column in columns if column.name in natural]
    margin = natural[columns[0].name] + 1
    lines, below = _layout(filled, natural, width, margin)
    headings = _lines_of({column.name: column.name for column in filled}, lines, margin)
    console.print(Text("\n".join(headings), style="bold"), no_wrap=True)
    body = (text for row in rows for text in _row(row, lines, below, width, margin))
    console.print(Text("\n".join(body)), no_wrap=True)


def fits(console: Console, columns: Sequence[Column], rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether the console is wide enough for all columns in one line, those that may be folded at their least width."""
    natural = _natural(columns, rows, console.width)
    return _needed([column for column in columns if column.name in natural], natural) <= console.width


def _natural(columns: Sequence[Column], rows: Sequence[Mapping[str, str]], width: int) -> dict[str, int]:
    """The width of the widest cell of each column that is not empty, at most that of the page."""
    return {
        column.name: min(width, max(cell_len(text) for text in (column.name, *(row[column.name] for row in rows))))
        for column in columns
        if any(row[column.name] for row in rows)
    }


def _layout(
    columns: Sequence[Column], natural: Mapping[str, int], width: int, margin: int
) -> tuple[list[_Line], list[Column]]:
    """The lines of a row, and the columns below it."""
    staying = [column for column in columns if not column.moves]
    for together in (columns, staying):
        if _needed(together, natural) <= width:
            return [_spread(together, natural, width)], [column for column in columns if column not in together]
    lines = [staying[:2], []]
    for column in staying[2:]:
        if _needed([*lines[-1], column], natural) > width - margin:
            lines.append([])
        lines[-1].append(column)
    first, *others = filter(None, lines)
    spread = [_spread(first, natural, width), *(_spread(line, natural, width - margin) for line in others)]
    return spread, [column for column in columns if column.moves]


def _needed(columns: Sequence[Column], natural: Mapping[str, int]) -> int:
    return sum(_least(column, natural) + 1 for column in columns) - 1


def _least(column: Column, natural: Mapping[str, int]) -> int:
    return min(natural[column.name], column.least or natural[column.name])


def _spread(columns: Sequence[Column], natural: Mapping[str, int], width: int) -> _Line:
    """The columns with their widths; columns that may be folded share the width that the others leave."""
    spare = width - _needed(columns, natural)
    line = []
    for column in columns:
        least = _least(column, natural)
        more = max(0, min(spare, natural[column.name] - least))
        spare -= more
        line.append((column, min(width, least + more)))
    return line


def _row(
    cells: Mapping[str, str], lines: Sequence[_Line], below: Sequence[Column], width: int, margin: int
) -> Iterator[str]:
    yield from _lines_of(cells, lines, margin)
    for column in below:
        if cells[column.name]:
            words = _folded(f"{column.name}: {cells[column.name]}", width - margin)
            yield from (" " * margin + text for text in words)


def _lines_of(cells: Mapping[str, str], lines: Sequence[_Line], margin: int) -> Iterator[str]:
    """A row, or the headings, with each line folded as often as its longest cell needs."""
    for place, line in enumerate(lines):
        indent = " " * margin if place else ""
        parts = [_folded(cells[column.name], width) for column, width in line]
        for at in range(max(map(len, parts))):
            texts = (
                _justified(part[at] if at < len(part) else "", width, right=column.right)
                for part, (column, width) in zip(parts, line, strict=True)
            )
            text = (indent + " ".join(texts)).rstrip()
            if text:
                yield text


def _justified(text: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if right else text + blanks


def _folded(text: str, width: int) -> list[str]:
    """The text in pieces that fit: broken at a good place in the second half of a line, else at its end."""
    pieces = []
    while cell_len(text) > width:
        fits = len(chop_cells(text[: 4 * width], width)[0])
        good = [found.start() for found in _BREAK.finditer(text, 0, fits + 2) if width // 2 < found.start() <= fits]
        end = good[-1] if good else max(1, fits)
        pieces.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*pieces, text]
