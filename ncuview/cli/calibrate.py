"""``ncuview calibrate``: measures the share of each unit's peak that good kernels attain, and writes the user's table.

With ``--repeat`` it measures and writes instead how far times and counters of repeated runs spread.

``--from`` uses existing reports; ``--output`` names another file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.completion import kernel_names
from ncuview.cli.inputs import option
from ncuview.cli.printing import ProgressDisplay, print_note, print_text, width

_LEAST_REPEATS = 2


def calibrate(
    context: typer.Context,
    kernels: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KERNEL...] [-- PROGRAM ARGS...]",
            help="With --repeat: what to measure the spread of.",
            autocompletion=kernel_names,
        ),
    ] = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option("--from", metavar="REPORT", help="Use reports of an earlier run instead. Repeatable."),
    ] = None,
    repeat: Annotated[
        int | None, option("Profile this many times, and keep the spread of times and counters.", "--repeat")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The table to write. Default: your own, which predictions use."),
    ] = None,
) -> None:
    """Measure which share of each unit's peak good kernels attain on this GPU, and keep it for predictions."""
    program = context.obj
    if repeat is None:
        if kernels or program:
            raise UsageError("kernels and programs are for --repeat", hint="--repeat 6 measures how far runs differ.")
        _attainable(reports or [], output)
        return
    if repeat < _LEAST_REPEATS:
        raise UsageError(f"--repeat takes {_LEAST_REPEATS} or more")
    if sum(map(bool, (kernels, program, reports))) != 1:
        raise UsageError("--repeat takes kernels of the catalogue, or a program after --, or reports by --from")
    _spreads(kernels or [], program or (), reports or [], repeat, output)


def _attainable(reports: list[Path], output: Path | None) -> None:
    """Measure the shares of peak that good kernels attain."""
    from ncuview.base.paths import users_table
    from ncuview.pipeline import calibration
    from ncuview.render.calibration import calibration_page
    from ncuview.speedup.attainable import check_writable, save_calibration

    table = _table(output, users_table())
    check_writable(table)
    with ProgressDisplay() as progress:
        found = calibration.calibrate(*reports, progress=progress.show)
    print_text(calibration_page(found, width()))
    save_calibration(found, table)
    print_note(f"{table}: written, for {found.device}")


def _spreads(
    kernels: list[str], program: tuple[str, ...], reports: list[Path], repeats: int, output: Path | None
) -> None:
    """Measure how far runs of the same code differ, for ``check``."""
    from ncuview.base.paths import users_spreads
    from ncuview.gate.spread import read_spreads, save_spreads
    from ncuview.pipeline import calibration
    from ncuview.render.calibration import spread_page

    table = _table(output, users_spreads())
    read_spreads(table)  # refuses an unusable table before anything is measured
    with ProgressDisplay() as progress:
        spreads = calibration.measure_spreads(kernels, program, reports, repeats=repeats, progress=progress.show)
    print_text(spread_page(spreads, width()))
    save_spreads(spreads, table)
    print_note(f"{table}: written, for {', '.join(spreads.gpus)}")


def _table(output: Path | None, own: Path | None) -> Path:
    table = output or own
    if table is None:
        raise UsageError("there is no home folder to keep the table in", hint="--output FILE writes it elsewhere.")
    return table
