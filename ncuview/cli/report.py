"""``ncuview report DIR...``: shows trends of many reports over commits, dates, ranks or GPUs on one page.

A target is a folder or a file: reports, which are diagnosed, or JSON documents of ``ncuview analyze``; or a store.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import ReportEmpty, UsageError
from ncuview.base.suggestion import did_you_mean
from ncuview.cli.completion import one_of
from ncuview.cli.inputs import MineOption, RulesOption
from ncuview.cli.outputs import errors_written, exit_with
from ncuview.cli.printing import color, print_text, print_written, width

_ENDINGS = {".txt": "terminal", ".json": "json", ".html": "html", ".md": "markdown"}


class By(StrEnum):
    """What is ranked."""

    KERNEL = "kernel"
    CALL = "call"


def report(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR...",
            help="Folders of reports, or of what analyze --format json printed; or one store.",
        ),
    ],
    rules: RulesOption = None,
    mine: MineOption = None,
    by: Annotated[By, typer.Option("--by", help="Rank kernels, or the lines that launch them.")] = By.KERNEL,
    to: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"Printed format: {', '.join(_ENDINGS.values())}.",
            autocompletion=one_of(*_ENDINGS.values()),
        ),
    ] = "terminal",
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help=f"Also write a file: {', '.join(_ENDINGS)}. Repeatable."),
    ] = None,
) -> None:
    """Show many reports on one page: trends over commits, ranks or GPUs, kernels whose time changed, costly lines."""
    if to not in _ENDINGS.values():
        hint = did_you_mean(to, _ENDINGS.values(), f"There are {', '.join(_ENDINGS.values())}.")
        raise UsageError(f"--format {to}: unknown format", hint=hint)
    files = {path: _format_of(path) for path in output or ()}
    from ncuview.api import load_rules
    from ncuview.base.patterns import patterns_of
    from ncuview.pipeline.history import history
    from ncuview.render.history import render_history
    from ncuview.render.outputs import write_output

    with errors_written(None, to, [(form, path) for path, form in files.items()]):
        found = history(*targets, rules=load_rules(rules or ()), mine=patterns_of(mine, "--mine"))
        if by is By.CALL and not any(series.calls for series in found.series):
            raise ReportEmpty(
                "no report has call stacks", hint="ncuview analyze --export FILE -- PROGRAM records them."
            )
    for path, form in files.items():
        write_output(path, render_history(found, form, by=by.value))
        print_written(path)
    print_text(render_history(found, to, by=by.value, width=width(), color=color()))
    exit_with(*found.failures)


def _format_of(path: Path) -> str:
    from ncuview.render.outputs import check_place

    if path.suffix not in _ENDINGS:
        raise UsageError(f"{path}: the file must end in {', '.join(_ENDINGS)}")
    check_place(path)
    return _ENDINGS[path.suffix]
