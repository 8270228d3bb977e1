"""Tables that scripts add rows to over several runs: ``rows_of`` a file, and ``append``.

The first line has the columns; cells are separated by tabs.
"""

from __future__ import annotations

import fcntl
from collections.abc import Sequence
from pathlib import Path


def rows_of(file: Path) -> list[dict[str, str]]:
    """The rows by their columns; none where there is no file yet."""
    if not file.exists():
        return []
    columns, *rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [dict(zip(columns, row, strict=True)) for row in rows]


def append(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Add rows to a table, to which other processes and threads may add rows."""
    with file.open("a", encoding="utf-8") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        heading = [] if file.stat().st_size else [columns]
        for row in [*heading, *rows]:
            opened.write("\t".join(" ".join(cell.split()) for cell in row) + "\n")
