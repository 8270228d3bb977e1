"""``ncuview try TARGET``: makes the advised changes in a private copy, checks and times them, and keeps what gains.

TARGET is a kernel of the catalogue, a .cu file with its launch, a Python script with CUDA source in a string or a
Triton kernel, or a program after ``--``, built by ``--build``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.inputs import (
    ArgOption,
    BlockOption,
    GridOption,
    KernelOption,
    NvccOption,
    SharedOption,
    SizeOption,
    option,
)
from ncuview.cli.printing import ProgressDisplay, color, print_text, print_written, width

if TYPE_CHECKING:
    from ncuview.catalogue.kernel_file import Kernel
    from ncuview.catalogue.kernels import Launch
    from ncuview.records.trial import Trial

_BUDGET = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?)\s*(?P<unit>|s|m|h)")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_INTERRUPTED = {"interrupted": 130, "terminated": 143}
_FORMS = ("terminal", "json")
_ENDINGS = (".txt", ".json", ".html", ".patch")


def try_(
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET | -- PROGRAM ARGS...", help="A kernel of the catalogue, a .cu or .py file, or a program."
        ),
    ] = None,
    build: Annotated[
        str, option("The shell command that builds the program, in a copy of this folder.", "--build", value="COMMAND")
    ] = "",
    check: Annotated[
        str,
        option(
            "The shell command that says with exit code 0 that results are right. Default: output and files are equal.",
            "--check",
            value="COMMAND",
        ),
    ] = "",
    tree: Annotated[
        Path | None,
        option(
            "The folder that is copied, in which the program is built and run. Default: this one, or the script's.",
            "--tree",
            value="DIR",
        ),
    ] = None,
    budget: Annotated[str, option("How long changes are tried: 45s, 3m.", "--budget", value="TIME")] = "45s",
    dry_run: Annotated[bool, option("Print the changes as patches, and run nothing.", "--dry-run")] = False,
    kernel: KernelOption = "",
    grid: GridOption = "",
    block: BlockOption = "",
    shared: SharedOption = "",
    arg: ArgOption = None,
    size: SizeOption = None,
    nvcc_args: NvccOption = "",
    to: Annotated[str, typer.Option("--format", metavar="NAME", help="Printed format: terminal, json.")] = "terminal",
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it too: .txt, .json, .html or .patch. Repeatable."),
    ] = None,
) -> None:
    """Try the changes that are advised: make, check and time them, and keep what gains as one patch."""
    from ncuview.catalogue.user_kernel import LaunchOptions
    from ncuview.pipeline.trial_targets import launch_to_try

    program, seconds, files = context.obj, _seconds(budget), output or []
    if target is not None and target.endswith(".py"):
        target, program = None, (target, *(program or ()))
    if (target is None) == (program is None):
        raise UsageError("name either one target or a program after --", hint="ncuview try -- ./app args")
    if to not in _FORMS:
        raise UsageError(f"no output format {to!r}", hint=f"There are {' and '.join(_FORMS)}.")
    if wrong := [file for file in files if file.suffix not in _ENDINGS]:
        raise UsageError(f"{wrong[0]}: an output file ends in one of {', '.join(_ENDINGS)}")
    if dry_run and (files or to != "terminal"):
        raise UsageError("--dry-run prints patches: --format and --output are for the answer of a trial")
    words = LaunchOptions(kernel, grid, block, shared, tuple(arg or ()), tuple(size or ()), nvcc_args)
    if program is not None:
        if words != LaunchOptions(kernel):
            raise UsageError("--grid, --block, --arg and --size are for .cu files")
        if dry_run:
            _print_program(program, kernel, tree)
            return
        with ProgressDisplay() as progress:
            trial = _of_program(program, build, check, kernel, tree, seconds, progress.say)
    else:
        if build or check or tree:
            raise UsageError("--build, --check and --tree are for programs")
        launch, reload = launch_to_try(str(target), words)
        if dry_run:
            _print_launch(launch)
            return
        with ProgressDisplay() as progress:
            trial = _of_launch(launch, reload, str(target), seconds, progress.say)
    _write(trial, to, files)
    if code := _INTERRUPTED.get(trial.stopped, 0):
        raise typer.Exit(code)


def _of_program(
    program: tuple[str, ...],
    build: str,
    check: str,
    kernel: str,
    tree: Path | None,
    seconds: float,
    say: Callable[[str], None],
) -> Trial:
    from ncuview.pipeline.trials import try_program

    return try_program(program, build, check, kernel, tree=tree, budget_s=seconds, say=say)


def _of_launch(
    launch: Launch, reload: Callable[[Path], Kernel], target: str, seconds: float, say: Callable[[str], None]
) -> Trial:
    from ncuview.pipeline.trials import try_launch

    return try_launch(launch, reload, target, budget_s=seconds, say=say)


def _print_launch(launch: Launch) -> None:
    """Print the edits and ablations that would be tried, as patches."""
    from ncuview.pipeline.planned import planned_launch
    from ncuview.render.trial import planned_page

    print_text(planned_page(planned_launch(launch)))


def _print_program(program: tuple[str, ...], kernel: str, tree: Path | None) -> None:
    """Print those of a program's kernel that its source permits."""
    from ncuview.pipeline.planned import planned_program
    from ncuview.render.trial import planned_page

    print_text(planned_page(planned_program(program, kernel, tree)))


def _write(trial: Trial, to: str, files: list[Path]) -> None:
    """Print the answer, and write it to files."""
    from ncuview.render.html_report.trial import trial_html
    from ncuview.render.outputs import write_output
    from ncuview.render.trial import trial_document, trial_page

    contents = {
        ".txt": lambda: trial_page(trial, width=100, color=False),
        ".json": lambda: trial_document(trial),
        ".html": lambda: trial_html(trial),
        ".patch": lambda: trial.patch,
    }
    for file in files:
        write_output(file, contents[file.suffix]())
    page = trial_document(trial) if to == "json" else trial_page(trial, width=width(), color=color())
    print_text(page)
    for file in files:
        print_written(file)


def _seconds(budget: str) -> float:
    found = _BUDGET.fullmatch(budget.strip())
    if found is None or not float(found["number"]):
        raise UsageError(f"--budget {budget!r} is no time", hint="As in --budget 45s, 3m or 1h.")
    return float(found["number"]) * _SECONDS[found["unit"]]
