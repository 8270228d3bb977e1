"""Profile any program under ncu, and return its reports or the failure; list its kernels where the filters match none.

``run_program`` takes program, metrics, folder and options; ``python_script`` gives the command for a Python file.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ncuview.base.errors import NcuNotFound, NcuviewError, UsageError
from ncuview.base.files import is_file
from ncuview.base.suggestion import did_you_mean_file
from ncuview.profiling.job import Job, Profiled, profile
from ncuview.profiling.machine import find_ncu, missing_for_ncu
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.ncu_failures import failure
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.passes import TIME_ALONE
from ncuview.profiling.runner import NO_PROGRESS_S

_KERNELS_TO_NAME = 20


def python_script(script: Path, arguments: Sequence[str] = ()) -> list[str]:
    """The command that runs a Python file with the Python that runs ncuview.

    Raises:
        UsageError: There is no such file.
    """
    if not is_file(script):
        raise UsageError(f"there is no Python file {script}", hint=did_you_mean_file(script, "Check its path."))
    return [sys.executable, str(script), *arguments]


def run_program(
    program: Sequence[str],
    metrics: Sequence[str],
    folder: Path,
    options: NcuOptions | None = None,
    *,
    launches_in: Callable[[Path], int],
    export: Path | None = None,
    timeout_s: float = math.inf,
    no_progress_s: float | None = None,
    progress: Callable[[Progress], object] | None = None,
    variables: Mapping[str, str] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> Profiled:
    """Run a program under ncu, in the folder that ncuview runs in, and return what was profiled.

    The program's output does not mix with ncuview's; its last lines are in the message when it fails.

    Args:
        program: The program and its arguments.
        metrics: What to collect.
        folder: An empty private folder for the files of this run.
        options: Which launches are profiled, and how; ncuview's defaults if None.
        launches_in: Counts the launches of a report, and raises ``ReportError`` for a damaged one.
        export: Where a report is to stay, as ncu's option of this name: ``%p``, ``%h``, ``%i`` and ``%q{NAME}`` in its
            name are ncu's. None leaves the reports in ``folder``. A file under its name is always complete.
        timeout_s: How long the program may take under ncu, in seconds.
        no_progress_s: How long ncu may profile one launch, or the program print and launch nothing, without progress;
            None for ``profiling.runner.NO_PROGRESS_S``.
        progress: Called for every kernel that ncu starts and finishes.
        variables: Environment variables for the program in addition to those of this process.
        meanwhile: Called once ncu has been started, for each attempt.

    Raises:
        UsageError: There is no such program, or ncu refuses its command line or the file to be written.
        ToolError: GPU or ncu is missing, or ncu was refused.
        ProgramFailed: The program failed before a launch was profiled.
        NothingProfiled: No launch was profiled; the hint names the kernels that the program launches.
    """
    options = options or NcuOptions()
    if missing := missing_for_ncu():
        raise missing
    ncu = find_ncu()
    if ncu is None:
        raise NcuNotFound("ncu was removed after it was found")
    job = Job(
        ncu,
        program,
        metrics,
        Path.cwd(),
        launches_in,
        options,
        variables or {},
        timeout_s=timeout_s,
        no_progress_s=NO_PROGRESS_S if no_progress_s is None else no_progress_s,
        progress=progress,
        meanwhile=meanwhile,
    )
    made = profile(job, folder, export)
    if made.reports or made.failure is None:
        return made
    if _nothing_chosen(made.run, options):
        raise _none_of(_kernels_launched(job, folder), options) from made.failure
    raise made.failure


def _nothing_chosen(run: NcuRun, options: NcuOptions) -> bool:
    """Whether a run without an error profiled nothing, options may be why, and ncu listed no kernels."""
    good = run.returncode == 0 and not run.stopped and not run.launches
    return good and bool(options.chosen_by()) and "Available Kernels:" not in run.log


def _kernels_launched(job: Job, folder: Path) -> tuple[str, ...]:
    """The first kernels that a program launches without filters, from a second run that takes little time."""
    names: dict[str, None] = {}
    everything = replace(
        job,
        metrics=TIME_ALONE,
        options=NcuOptions(launch_count=_KERNELS_TO_NAME, kill=True),
        progress=lambda news: names.setdefault(news.kernel),
    )
    everything.run(folder / "kernels.ncu-rep", remove=[folder])
    return tuple(names)


def _none_of(launched: Sequence[str], options: NcuOptions) -> NcuviewError:
    chosen, nothing = ", ".join(options.chosen_by()), failure("NCU-NOKERN")
    if not launched:
        return nothing.as_error(
            "the program launches no kernel that ncu sees, with or without the options that select launches"
        )
    return nothing.as_error(
        f"{chosen} left out every launch of the program", hint=f"The program launches {', '.join(launched)}."
    )
