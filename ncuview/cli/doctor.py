"""``ncuview doctor``: checks what profiling needs on this machine and prints verdicts and fixes; exits with 0 or 5.

With ``--live`` it also profiles a tiny kernel twice.
"""

from __future__ import annotations

from typing import Annotated

import typer

from ncuview.base.errors import ToolError
from ncuview.cli.outputs import ListFormat, ListFormatOption
from ncuview.cli.printing import ProgressDisplay, color, print_text, width


def doctor(
    to: ListFormatOption = ListFormat.TERMINAL,
    live: Annotated[bool, typer.Option("--live", help="Also profile a tiny kernel, twice.")] = False,
) -> None:
    """Check this machine for what profiling needs, and name the fix for each problem; exits with 5 if there is one."""
    from dataclasses import replace

    from ncuview.doctor.checkup import examine_this_machine
    from ncuview.render.doctor_page import doctor_json, doctor_page

    found = examine_this_machine()
    if live:
        from ncuview.doctor.live import live_checks

        with ProgressDisplay() as progress:
            found = replace(found, live=live_checks(progress.show))
    print_text(doctor_json(found) if to is ListFormat.JSON else doctor_page(found, width=width(), color=color()))
    if found.failed:
        raise typer.Exit(ToolError.exit_code)
