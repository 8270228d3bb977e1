"""Run ncu on a program with retries (``profile``), check its reports, and return them with the failure, if any.

A ``Job`` enters, a ``Profiled`` leaves; retries wait for busy counters, or use fewer metrics if the program dies.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copyfile
from typing import NamedTuple

from ncuview.base.errors import NcuviewError, ProgramFailed, ReportDamaged, ReportEmpty, ReportError, UsageError
from ncuview.base.log import LOG
from ncuview.base.report_files import REPORT_ENDINGS, report_files
from ncuview.profiling.export import (
    ROOM_FOR_A_REPORT,
    check_room,
    free_bytes,
    move_into_place,
    private_folder,
    report_to_write,
)
from ncuview.profiling.ncu import NcuRun, absolute_program, classify, ncu_command, run_ncu
from ncuview.profiling.ncu_failures import Note, failure, note, remarks
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import CallStacks, ClockControl, NcuOptions
from ncuview.profiling.passes import SmallerPlan, smaller_plans
from ncuview.profiling.privileges import invoking_user
from ncuview.profiling.python_hook import is_python, nvtx_variables
from ncuview.profiling.runner import NO_PROGRESS_S

_REPORT_WRITTEN = re.compile(r"==PROF== Report: (\S.*\.ncu-repz?)\s*$", re.MULTILINE)
_DEATHS = frozenset({"NCU-CRASH", "NCU-OOM"})
_BY_SIGNAL = frozenset({sign * number + base for number in (4, 6, 7, 8, 9, 11) for sign, base in ((-1, 0), (1, 128))})
"""Exit statuses of ncu after a signal to it or to the program: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL and SIGSEGV."""
_FOR_NCU = {
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "TF_FORCE_GPU_ALLOW_GROWTH": "true",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}
"""JAX reserves three quarters of the GPU's memory when it starts, TensorFlow nearly all, and ncu saves all of that for
every kernel that takes more than one pass: 105 GB on an H200, into the host's memory, over half a minute per kernel.
torch.compile starts a process for each core of the host to compile, and ncu 2025.3.1 connects to each: it crashed once,
and left them running. With these variables the first two reserve what they need, and torch.compile compiles in the
process itself; values that the user has set stay."""
_BACK_OFF_S = (5.0, 15.0, 45.0)
"""Waits before further attempts while another tool uses the counters."""
_MANY_LAUNCHES = 200
_MUCH_BYTES = 10**9


@dataclass(frozen=True)
class Job:
    """What ncu is to do.

    Attributes:
        ncu: The command line of Nsight Compute.
        program: The program and its arguments.
        metrics: What to collect.
        cwd: The folder that the program runs in.
        launches_in: Counts the launches of a report, and raises ``ReportError`` for a damaged one.
        options: Which launches are profiled, and how.
        variables: Environment variables for the program in addition to those of this process.
        timeout_s: How long one attempt may take, in seconds.
        no_progress_s: How long it may show no progress, in seconds.
        progress: Called for every kernel that ncu starts and finishes.
        meanwhile: Called once ncu has been started, for each attempt.
    """

    ncu: Path
    program: Sequence[str]
    metrics: Sequence[str]
    cwd: Path
    launches_in: Callable[[Path], int]
    options: NcuOptions = field(default_factory=NcuOptions)
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = math.inf
    no_progress_s: float = NO_PROGRESS_S
    progress: Callable[[Progress], object] | None = None
    meanwhile: Callable[[], object] = lambda: None

    def run(self, report: Path, remove: Sequence[Path] = ()) -> NcuRun:
        """Run ncu once, and the program with the rights of the user who called sudo."""
        lightly = {name: value for name, value in _FOR_NCU.items() if name not in os.environ}
        program, variables = [absolute_program(self.program[0]), *self.program[1:]], {**lightly, **self.variables}
        options = self.options
        if uses_hook(options, program):
            options, variables = replace(options, nvtx=True), {**variables, **nvtx_variables()}
        if user := invoking_user():
            program, variables = user.runs(program, variables), {}
        return run_ncu(
            ncu_command(self.ncu, self.metrics, report, program, options),
            cwd=self.cwd,
            timeout_s=self.timeout_s,
            no_progress_s=self.no_progress_s,
            progress=self.progress,
            environment=variables,
            remove=remove,
            meanwhile=self.meanwhile,
        )


def uses_hook(options: NcuOptions, program: Sequence[str]) -> bool:
    """Whether PyTorch's ranges are switched on in a program: they name lines where its Python stack is recorded."""
    stacks = options.call_stack in {CallStacks.ALL, CallStacks.PYTHON}
    return stacks and not options.no_hook and is_python(program[0])


@dataclass(frozen=True)
class Profiled:
    """The result of profiling a program.

    Attributes:
        reports: Reports that can be read: all launches, or those that were profiled before the failure.
        damaged: Only a part of each can be read.
        hooked: The ranges of PyTorch were switched on in the program.
        options: ncu's options in the last attempt, which may differ from those of the job.
        run: How the last run of ncu ended.
        failure: Why launches are missing, or a report is not kept under its name; None where nothing failed.
        notes: Remarks to show with the result.
    """

    reports: tuple[Path, ...]
    options: NcuOptions
    run: NcuRun
    failure: NcuviewError | None = None
    notes: tuple[Note, ...] = ()
    damaged: bool = False
    hooked: bool = False

    def complete_reports(self) -> tuple[Path, ...]:
        """The reports, where nothing failed.

        Raises:
            NcuviewError: The failure.
        """
        if self.failure:
            raise self.failure
        return self.reports


def profile(
    job: Job, folder: Path, export: Path | None = None, *, sleep: Callable[[float], object] = time.sleep
) -> Profiled:
    """Run a program under ncu, and return its reports with the failure, if launches are missing.

    Args:
        job: What ncu is to do.
        folder: A private folder for the files of this run, without reports.
        export: Where a report is to stay, as ncu's option of this name; None leaves the reports in ``folder``.
        sleep: Waits so many seconds before a further attempt.

    Raises:
        UsageError: There is no such program, or the report cannot be written.
        NothingProfiled: The disk has no room for a report.
    """
    check_room(folder)
    if export is None:
        return _attempts(job, folder / f"profile{REPORT_ENDINGS[0]}", [folder], sleep)
    target = report_to_write(export)
    with private_folder(target) as private:
        return _moved(_attempts(job, private / target.name, [private, folder], sleep), target.parent, folder)


def _moved(made: Profiled, to: Path, folder: Path) -> Profiled:
    """Move complete reports to the names that the user gave; others are only copied to the folder of this run."""
    shown: list[Path] = []
    failed = made.failure
    for report in made.reports:
        try:
            place = _copied(report, folder) if made.damaged else move_into_place(report, to)
        except (UsageError, ReportError) as refused:
            place = _copied(report, folder)
            failed = _and_not_kept(failed, refused, shown=place is not None)
        shown += [place] if place else []
    return replace(made, reports=tuple(shown), failure=failed)


def _copied(report: Path, folder: Path) -> Path | None:
    """A copy in the folder of this run; None where that disk is full as well."""
    with suppress(OSError):
        return Path(copyfile(report, folder / report.name))
    return None


def _and_not_kept(failed: NcuviewError | None, refused: NcuviewError, *, shown: bool) -> NcuviewError:
    """The failure why launches are missing, if any are, with the reason why a report is not kept."""
    said = f"{refused}; what was profiled is shown and not kept" if shown else str(refused)
    return _reworded(failed, f"{failed}\n{said}") if failed else _reworded(refused, said)


def _attempts(job: Job, report: Path, folders: Sequence[Path], sleep: Callable[[float], object]) -> Profiled:
    """Run ncu until another attempt would not help; reports are looked for in the first of the private folders."""
    waits, notes = iter(_BACK_OFF_S), dict[str, Note]()
    while True:
        made = _attempt(job, report, folders)
        failed = made.failure.id if made.failure else ""
        if failed == "NCU-BUSY" and (wait := next(waits, None)) is not None:
            notes[failed] = note(failed)
            LOG.info("%s: ncu is started again in %g s", failed, wait)
            sleep(wait)
        elif failed == "NCU-MIG-CLK" and job.options.clock_control is not ClockControl.NONE:
            notes[failed] = note(failed)
            LOG.info("%s: ncu is started again without locking the clocks", failed)
            job = replace(job, options=replace(job.options, clock_control=ClockControl.NONE))
        else:
            made = _with_smaller_plan(job, made, report, folders) if _plan_may_be_why(made) else made
            return replace(made, notes=(*notes.values(), *made.notes, *_notes(made)))
        for refused in folders[0].glob(f"*{REPORT_ENDINGS[0]}"):
            refused.unlink()


def _plan_may_be_why(made: Profiled) -> bool:
    """Whether profiling itself may have ended the program or ncu: it ended by a signal or by too little memory."""
    failed = made.failure
    return failed is not None and (failed.id in _DEATHS or made.run.returncode in _BY_SIGNAL) and not made.run.stopped


def _with_smaller_plan(job: Job, died: Profiled, report: Path, folders: Sequence[Path]) -> Profiled:
    """The result with the largest smaller plan that the program survives; ``died`` where it survives none.

    Time alone is tried first: a program that dies even then fails by itself, and is not run a third time.
    """
    plans = smaller_plans(job.metrics)
    if not plans:
        return died
    survived = _smaller(job, plans[-1], report, folders)
    if _plan_may_be_why(survived) or not survived.reports:
        return died
    for plan in plans[:-1]:
        made = _smaller(job, plan, report, folders)
        if not _plan_may_be_why(made) and made.reports:
            survived = made
            break
    return survived


def _smaller(job: Job, plan: SmallerPlan, report: Path, folders: Sequence[Path]) -> Profiled:
    """An attempt with a smaller plan, in a new folder, so that the reports of other attempts stay."""
    LOG.info("the plan may be why: ncu is started again with %d metrics", len(plan.metrics))
    private = Path(tempfile.mkdtemp(dir=folders[0]))
    made = _attempt(replace(job, metrics=plan.metrics), private / report.name, [private, *folders])
    return replace(made, notes=(note("NCU-PLAN", without=plan.without),))


def _attempt(job: Job, report: Path, folders: Sequence[Path]) -> Profiled:
    run = job.run(report, remove=folders)
    written = _reports_written(run, report, folders[0])
    failed = classify(run, written[0] if written else report, kernel_name=job.options.kernel_name)
    if failed and not _is_partial(failed):
        return Profiled((), job.options, run, failed)
    if failed and written and _killed_as_asked(failed, run, job.options):
        failed = None
    found = _contents(written, job.launches_in)
    if failed is None and found.error:
        failed = _damaged(found.error, folders[0])
    elif failed is None and found.launches < run.launches:
        failed = failure("NCU-PART").as_error("ncu ended without an error, and launches that it began are missing")
    if failed and found.launches:
        failed = _with_what_is_left(failed, found.launches, run)
    hooked = uses_hook(job.options, job.program)
    return Profiled(found.readable, job.options, run, failed, damaged=not found.launches, hooked=hooked)


class _Contents(NamedTuple):
    """The launches in the reports of a run."""

    readable: tuple[Path, ...]
    """The complete reports; where there is none, damaged ones that may hold launches."""
    launches: int
    """In the complete ones."""
    error: ReportError | None
    """Why the first of the others is not complete."""


def _contents(reports: Sequence[Path], launches_in: Callable[[Path], int]) -> _Contents:
    complete: list[Path] = []
    damaged: list[Path] = []
    launches, wrong = 0, None
    for report in reports:
        try:
            launches += launches_in(report)
            complete.append(report)
        except ReportError as error:
            wrong = wrong or error
            damaged += [report] if isinstance(error, ReportDamaged) else []
    return _Contents(tuple(complete or damaged), launches, wrong)


def _reports_written(run: NcuRun, report: Path, folder: Path) -> tuple[Path, ...]:
    """The file given to ncu, those that ncu's log names, and those of further ranks in the private folder."""
    named = [Path(name) for name in _REPORT_WRITTEN.findall(run.log)]
    try:
        found = report_files([folder])
    except ReportEmpty:
        found = ()
    candidates = (report, *(path for path in named if path.parent == folder), *found)
    return tuple({path.resolve(): path for path in candidates if path.is_file()}.values())


def _is_partial(failed: NcuviewError) -> bool:
    return failure(failed.id).partial


def _killed_as_asked(failed: NcuviewError, run: NcuRun, options: NcuOptions) -> bool:
    """Whether the program only failed because ncu ended it after ``--launch-count`` launches, as ``--kill`` asks."""
    count = options.launch_count
    return isinstance(failed, ProgramFailed) and options.kill and count is not None and len(run.passes) >= count


def _damaged(error: ReportError, folder: Path) -> NcuviewError:
    """Why a report of this run is not complete."""
    if (free := free_bytes(folder)) < ROOM_FOR_A_REPORT:
        full = failure("NCU-FULL")
        return full.as_error(f"{full.what}: {free:,} bytes are free in {folder.parent} ({error})")
    return error


def _with_what_is_left(failed: NcuviewError, launches: int, run: NcuRun) -> NcuviewError:
    """The same failure, with the number of launches that are shown in spite of it."""
    of_all = f", of {run.launches} that were begun" if launches < run.launches else ""
    return _reworded(failed, f"{failed}\nLaunches that are shown: {launches}{of_all}.")


def _reworded(failed: NcuviewError, message: str) -> NcuviewError:
    return type(failed)(message, hint=failed.hint, id=failed.id)


def _notes(made: Profiled) -> Iterator[Note]:
    """Remarks about a run that left reports, which are not failures."""
    if not made.reports:
        return
    lines = remarks(made.run.log, started=True)
    for id_ in ("NCU-HOME", "NCU-MIG-MET"):
        if any(re.search("|".join(failure(id_).texts), line) for line in lines):
            yield note(id_)
    size = sum(report.stat().st_size for report in made.reports)
    if made.run.launches > _MANY_LAUNCHES or size > _MUCH_BYTES:
        yield note("NCU-JIT", launches=f"{made.run.launches:,}", size=f"{size / 1e6:,.0f} MB")
