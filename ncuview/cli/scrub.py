"""``ncuview scrub IN OUT``: copies a report with every counter, but no host, user, path, command line, environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncuview.cli.printing import print_note


def scrub(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A report.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The copy to write.")],
) -> None:
    """Copy a report with every counter and without host name, user, path, command line or environment."""
    from ncuview.reader.scrub import scrub as scrub_report

    scrub_report(source, target)
    replaces = "; it replaces the original" if target.samefile(source) else ""
    print_note(f"{target}: {target.stat().st_size:,} bytes{replaces}")
