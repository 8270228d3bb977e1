"""``ncuview analyze``: diagnoses reports, catalogue kernels, .cu and Python files, or programs, and prints the advice.

It has options for outputs, sampling, a dry run, a run without counters, a ranking (``--top``) and patches (``--diff``).

``cli.inputs`` has the options that it shares with ``check``.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ncuview.base.errors import UsageError
from ncuview.cli.inputs import Inputs, option, takes_inputs
from ncuview.cli.outputs import (
    OutputOption,
    SourceRootOption,
    ViewFormatOption,
    destinations,
    errors_written,
    exit_with,
    write_answer,
    write_files,
)
from ncuview.cli.patches import print_patches
from ncuview.cli.printing import ProgressDisplay, print_text
from ncuview.cli.views import CursorOption, KeyOption, MaxBytesOption, ViewOption, chosen_view
from ncuview.cli.without_counters import report_without_counters
from ncuview.render.text import safe_page

if TYPE_CHECKING:
    from ncuview.engine.rule_file import Rule
    from ncuview.pipeline.examine import Examined


_SHOW_PROFILE = {"html"}
"""Formats that show more than the diagnosis: all source lines. For them the report is read again."""
_SHOW_RULES = {"sarif"}
"""Formats that describe the rules."""


class Look(StrEnum):
    """How thoroughly a program is profiled."""

    FULL = "full"
    RUNS = "runs"
    QUICK = "quick"


@takes_inputs
def analyze(
    inputs: Inputs,
    to: ViewFormatOption = "terminal",
    output: OutputOption = None,
    source_root: SourceRootOption = None,
    look: Annotated[
        Look | None,
        option(
            "full: all metrics of each launch; runs: times and calls first, for Python programs; quick: a sample.",
            "--look",
        ),
    ] = None,
    dry_run: Annotated[bool, option("Print ncu's command, its passes and time, and run nothing.", "--dry-run")] = False,
    no_counters: Annotated[
        bool, option("Never start ncu: times, machine code and recorded profiles.", "--no-counters")
    ] = False,
    top: Annotated[
        int | None, option("Rank kernels by the time that their advice saves; list N, each in full.", "--top")
    ] = None,
    diff_only: Annotated[bool, option("Print the changes of your source as patches for git apply.", "--diff")] = False,
    no_cache: Annotated[bool, option("Judge again, and keep no diagnosis for the next run.", "--no-cache")] = False,
    view: ViewOption = None,
    key: KeyOption = "",
    cursor: CursorOption = "",
    max_bytes: MaxBytesOption = None,
) -> None:
    """Name what to change next in a kernel: from a live run, its recorded profile, or any report."""
    written = chosen_view(to, view, key, cursor, max_bytes)
    files = destinations(to, output, views=True)
    if top is not None and top < 0:
        raise UsageError("--top takes a number of kernels")
    if written:
        _refuse_beside_views(diff_only=diff_only, dry_run=dry_run, no_counters=no_counters, top=top)
    if diff_only:
        _refuse_beside_patches(to, dry_run=dry_run, no_counters=no_counters)
    inputs.refuse_conflicting_options()
    look = _look(inputs, look)
    if no_counters:
        report_without_counters(inputs, to, files)
        return
    if dry_run:
        _forecast(inputs, inputs.chosen_rules(), look)
        return
    shipped_sources = None
    forms = {to, *(form for form, _ in files)}
    entry = None if no_cache or look is Look.QUICK or diff_only else inputs.cache_entry()
    diagnosis = entry.read() if entry and not forms & _SHOW_PROFILE else None
    if entry and diagnosis:
        rules = inputs.chosen_rules() if forms & _SHOW_RULES else None
        profile = None
    else:
        rules = inputs.chosen_rules()
        with errors_written(inputs, to, files, written), ProgressDisplay() as progress:
            examined = _examined(inputs, look, rules, progress)
        diagnosis, shipped_sources = examined.diagnosis, examined.shipped_sources
        profile = examined.profile if look is Look.FULL else None  # the launches of others have no lines
        if entry:
            entry.write(examined, rules)
    if diff_only:
        from ncuview.pipeline.patches import with_patches

        folders = inputs.options.source_folders
        patched = with_patches(diagnosis, folders, profile=profile, shipped_sources=shipped_sources)
        write_files(patched.diagnosis, files, top=top, rules=rules, source_root=source_root, profile=profile)
        exit_with(diagnosis.failure, code=print_patches(patched))
        return
    if written:
        write_files(diagnosis, files, top=top, rules=rules, source_root=source_root, profile=profile)
        print_text(written(diagnosis))
        exit_with(diagnosis.failure)
        return
    write_answer(diagnosis, to, files, top=top, rules=rules, source_root=source_root, profile=profile)
    exit_with(diagnosis.failure)


def _look(inputs: Inputs, chosen: Look | None) -> Look:
    """How the target is profiled: as chosen, or by what it is; options for another way are refused."""
    look = chosen or (Look.RUNS if _is_whole_python_program(inputs) else Look.FULL)
    if look is not Look.RUNS:
        inputs.refuse_bare_run_option()
    if look is not Look.FULL and inputs.export:
        raise UsageError("--export keeps the report of a program that is profiled in one run")
    if look is not Look.FULL and not inputs.runs_program:
        raise UsageError(f"--look {look} is for programs", hint="Leave it out for reports and kernels.")
    return look


def _examined(inputs: Inputs, look: Look, rules: tuple[Rule, ...] | None, progress: ProgressDisplay) -> Examined:
    """Profile or read the target, and diagnose it."""
    if look is Look.FULL:
        return inputs.examine(rules, progress.show)
    if look is Look.QUICK:
        from ncuview.pipeline.sampled import examine_sample as in_runs
    else:
        from ncuview.pipeline.program_runs import examine_in_runs as in_runs
    return in_runs(
        inputs.command,
        rules,
        inputs.options,
        timeout_s=inputs.timeout,
        no_progress_s=inputs.no_progress_timeout,
        mine=inputs.patterns,
        progress=progress.show,
        say=progress.say,
    )


def _is_whole_python_program(inputs: Inputs) -> bool:
    """Whether a Python program is profiled of which no launch is left out, and no report is kept."""
    from ncuview.profiling.python_hook import is_python

    if not inputs.runs_program or inputs.export or set(inputs.options.chosen_by()) - {"--profile-from-start"}:
        return False
    return inputs.suffix == ".py" or is_python(inputs.command[0])


def _refuse_beside_patches(to: str, *, dry_run: bool, no_counters: bool) -> None:
    """Refuse what goes not together with ``--diff``."""
    if to != "terminal":
        raise UsageError(
            "--diff prints patches, and --format another answer", hint=f"-o {to}:FILE writes it beside the patches."
        )
    if dry_run or no_counters:
        raise UsageError(
            f"{'--dry-run' if dry_run else '--no-counters'} gives no advice, of which --diff makes patches"
        )


def _refuse_beside_views(*, diff_only: bool, dry_run: bool, no_counters: bool, top: int | None) -> None:
    """Refuse what prints another answer than a view."""
    given = {"--diff": diff_only, "--dry-run": dry_run, "--no-counters": no_counters, "--top": top is not None}
    if other := next((name for name, value in given.items() if value), None):
        raise UsageError(f"{other} prints another answer than a view", hint="Leave it out, or the view.")


def _forecast(inputs: Inputs, rules: tuple[Rule, ...] | None, look: Look) -> None:
    """Print ncu's command and its estimated cost; a .cu file's launch is checked as far as that takes no compiler."""
    if not inputs.runs_program and inputs.suffix != ".cu":
        raise UsageError("--dry-run is for programs, Python and .cu files")
    from ncuview.catalogue.live import host_command
    from ncuview.catalogue.signature import check_number_of_arguments
    from ncuview.catalogue.user_kernel import user_launch
    from ncuview.pipeline.sampled import forecast_of

    if look is Look.RUNS:
        _forecast_runs(inputs)
        return
    if not inputs.runs_program:
        check_number_of_arguments(user_launch(Path(inputs.named[0]), inputs.words))

    launcher = host_command(Path("job.json"), Path("result.json"))
    runs_as = inputs.command if inputs.runs_program else launcher
    quick = look is Look.QUICK
    print_text(safe_page(str(forecast_of(runs_as, rules, inputs.options, quick=quick, export=inputs.export))))
    if runs_as is launcher:
        print_text("ncuview writes job.json, and reads result.json, in a temporary folder of each run\n")


def _forecast_runs(inputs: Inputs) -> None:
    """Print the runs of a Python program, with ncu's commands."""
    from ncuview.pipeline.program_runs import forecasts_of_runs

    times, counters = forecasts_of_runs(inputs.command, inputs.options)
    without = [] if inputs.options.no_bare_run else ["The program without ncu, for the time between its kernels.\n"]
    runs = [
        *without,
        f"Time and calls of each launch:\n\n{times}",
        f"Counters of one launch of each configuration:\n\n{counters}",
        "All metrics of kernels of your own that are worth it; not run where there are none.\n",
    ]
    print_text(safe_page("\n".join(f"{number}. {what}" for number, what in enumerate(runs, start=1))))
