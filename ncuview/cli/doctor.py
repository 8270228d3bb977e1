"""``ncuview doctor``: checks what profiling needs on this machine and prints verdicts and fixes; exits with 0 or 5.

With ``--live`` it also profiles a tiny kernel twice; ``--bundle`` writes an archive for a bug report.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncuview.base.errors import ToolError
from ncuview.cli.outputs import ListFormat, ListFormatOption
from ncuview.cli.printing import ProgressDisplay, color, print_error, print_text, width

if TYPE_CHECKING:
    from ncuview.doctor.verdict import Examination


def doctor(
    to: ListFormatOption = ListFormat.TERMINAL,
    live: Annotated[bool, typer.Option("--live", help="Also profile a tiny kernel, twice.")] = False,
    bundle: Annotated[
        Path | None,
        typer.Option("--bundle", metavar="FILE.zip", help="Also write an archive for a bug report, without names."),
    ] = None,
) -> None:
    """Check this machine for what profiling needs, and name the fix for each problem; exits with 5 if there is one."""
    from dataclasses import replace

    from ncuview.doctor import examine_this_machine
    from ncuview.render.doctor import doctor_json, doctor_page

    found = examine_this_machine()
    if live:
        from ncuview.doctor.live import live_checks

        with ProgressDisplay() as progress:
            found = replace(found, live=live_checks(progress.show))
    print_text(doctor_json(found) if to is ListFormat.JSON else doctor_page(found, width=width(), color=color()))
    if bundle:
        _write_bundle(bundle, found)
    if found.failed:
        raise typer.Exit(ToolError.exit_code)


def _write_bundle(file: Path, found: Examination) -> None:
    import os

    from ncuview.base.paths import last_error
    from ncuview.doctor import on_this_machine
    from ncuview.doctor.facts import Private, environment, versions
    from ncuview.render.doctor import doctor_bundle
    from ncuview.render.outputs import write_output

    about = on_this_machine(versions)
    write_output(file, doctor_bundle(found, about, environment(os.environ), last_error(), Private.here()))
    print_error(f"{file} was written", "It names neither you nor this machine; look at it before you send it.")
