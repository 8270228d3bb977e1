"""``python -m tests.snapshot groups OLD NEW`` and ``python -m tests.snapshot write catalogue|labelled FILE``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tests.snapshot import parsed
from tests.snapshot.groups import groups, page
from tests.snapshot.recorded import SETS

app = typer.Typer(help="Snapshots of the diagnoses of recorded launches.", add_completion=False)


@app.command("groups")
def print_groups(old: Path, new: Path) -> None:
    """Group the differences of two files."""
    before, after = (parsed(file.read_text(encoding="utf-8")) for file in (old, new))
    sys.stdout.write(page(groups(before, after)))


@app.command()
def write(name: Annotated[str, typer.Argument(metavar="|".join(SETS))], file: Path) -> None:
    """Write a snapshot of recorded launches."""
    if name not in SETS:
        raise typer.BadParameter(f"{name!r} is neither {' nor '.join(SETS)}")
    file.write_text(str(SETS[name]()), encoding="utf-8")


if __name__ == "__main__":
    app()
