"""Build ncu's command line, run ncu to its end or a time limit, and turn a failed run into an error with its fix.

``ncu_command`` gives the arguments, ``run_ncu`` an ``NcuRun`` (exit status, output, passes), ``classify`` the error.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import NcuRefused, NcuviewError, ProgramFailed, UsageError
from ncuview.base.figures import duration
from ncuview.base.log import LOG
from ncuview.base.suggestion import did_you_mean
from ncuview.profiling.ncu_failures import SAVES_TO_THE_HOST, Found, errors_among, failure, first_match, remarks
from ncuview.profiling.ncu_output import Progress, ProgressReader, Transcript, plain_lines
from ncuview.profiling.options import ClockControl, NcuOptions, ReplayMode
from ncuview.profiling.privileges import variables_for_ncu
from ncuview.profiling.runner import NO_PROGRESS_S, Overdue, Watch, supervise

# Without this, ncu copies its rules into the home folder and runs every Python file in it.
_ENVIRONMENT = {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"}

_LAST_WORDS = 20
_NCU_S = re.compile(r"==|\.{4}(?:50%|100%)")
"""ncu's own lines: marked ones, and the rest of a progress line that other output interrupted."""
_LISTED = re.compile(r"Available Kernels:\s*\n((?:\s*\d+\W\s*\S.*\n?)+)")
_ADVICE = ("Profiling kernels launched by child processes requires", "Note that specified NVTX include expressions")
"""Unmarked messages of ncu when it profiled nothing."""
_KERNELS_TO_NAME = 10
_LOCKS_CLOCKS = f"--clock-control={ClockControl.BASE}"
_RERUNS = frozenset(f"--replay-mode={mode}" for mode in (ReplayMode.APPLICATION, ReplayMode.APP_RANGE))


@dataclass(frozen=True)
class NcuRun:
    """How a run of ncu ended."""

    returncode: int
    """ncu's exit code, or the program's, or the number of the signal that ended the program."""
    stdout: str
    """The output of ncu and the program, shortened in the middle when it is long."""
    stderr: str
    launches: int
    """Launches that ncu began to profile."""
    passes: tuple[int, ...]
    """For each launch that it finished, the number of passes."""
    unfinished: Progress | None = None
    """The launch that it was profiling when it ended."""
    stopped: Overdue = ""
    """Why ncuview stopped it, where it did."""
    seconds: float = 0.0
    """How long it ran."""

    @property
    def log(self) -> str:
        """All output."""
        return f"{self.stdout}\n{self.stderr}"


def ncu_command(
    ncu: Path,
    metrics: Sequence[str],
    report: Path,
    program: Sequence[str],
    options: NcuOptions | None = None,
) -> list[str]:
    """The argument list that profiles a program.

    Args:
        ncu: The command line of Nsight Compute.
        metrics: Exactly what is collected.
        report: The file to write; ncu never gets the option to overwrite. In its name, not in its folder's, ncu
            replaces ``%p`` by the process, ``%h`` by the host, ``%q{NAME}`` by a variable and ``%%`` by a percent sign.
        program: The program and its arguments.
        options: Which launches are profiled, and how; ncuview's defaults if None.

    Raises:
        UsageError: There is no such program.
    """
    folder = str(report.parent).replace("%", "%%")
    chosen = (options or NcuOptions()).argv()
    collected = [f"--metrics={','.join(metrics)}", f"--export={os.path.join(folder, report.name)}"]  # noqa: PTH118
    # One word per option, and an absolute program: ncu cannot take a user's name for an option.
    return [str(ncu), *chosen, *collected, absolute_program(program[0]), *program[1:]]


def absolute_program(program: str) -> str:
    """The absolute path of a program.

    Raises:
        UsageError: There is no such program.
    """
    found = shutil.which(program)
    if found is None:
        raise UsageError(
            f"There is no program {program} that could be started",
            hint="Check its path and permissions.",
            id="NCU-USAGE",
        )
    return str(Path(found).absolute())


def run_ncu(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float = math.inf,
    no_progress_s: float = NO_PROGRESS_S,
    progress: Callable[[Progress], object] | None = None,
    environment: Mapping[str, str] | None = None,
    remove: Sequence[Path] = (),
    meanwhile: Callable[[], object] = lambda: None,
) -> NcuRun:
    """Run ncu to its end; after any interruption, neither ncu nor the program is left running.

    Args:
        argv: The arguments from ``ncu_command``.
        cwd: The folder that the program runs in.
        timeout_s: How long it may take.
        no_progress_s: How long ncu may profile one launch, or the program be silent between two, without progress.
        progress: Called when a launch begins and when it is finished.
        environment: Variables to set for ncu and the program in addition to those of this process.
        remove: Folders that are removed should this process be killed.
        meanwhile: Called once ncu has been started.
    """
    watch = Watch(timeout_s, no_progress_s)
    launches = ProgressReader(clock=lambda: watch.elapsed_s, reruns=not _RERUNS.isdisjoint(argv))
    stdout, stderr = Transcript(), Transcript()
    signs = 0

    def watch_signs() -> None:
        nonlocal signs
        if launches.signs > signs:
            signs = launches.signs
            watch.progressed()

    def hear(chunk: bytes) -> None:
        stdout.add(chunk)
        for news in launches.feed(chunk):
            if progress is not None:
                progress(news)
        watch_signs()

    def hear_errors(chunk: bytes) -> None:
        stderr.add(chunk)
        launches.heard()
        watch_signs()

    ended = supervise(
        argv,
        cwd=cwd,
        environment={**variables_for_ncu(), **(environment or {}), **_ENVIRONMENT},
        overdue=lambda: watch.overdue,
        stdout=hear,
        stderr=hear_errors,
        frees_clocks=[argv[0], "--clock-control=reset"] if _LOCKS_CLOCKS in argv else [],
        remove=remove,
        meanwhile=meanwhile,
    )
    LOG.info("ncu began %d launches; passes of the finished ones: %s", launches.begun, launches.passes)
    return NcuRun(
        ended.returncode,
        stdout.text(),
        stderr.text(),
        launches.begun,
        tuple(launches.passes),
        launches.unfinished,
        ended.stopped,
        watch.elapsed_s,
    )


def classify(run: NcuRun, report: Path, *, kernel_name: str | None = None) -> NcuviewError | None:
    """Why a run failed, or None when it left a report and no error that is known to damage it.

    Neither ncu's exit code nor the presence of a report proves anything, and its last line is rarely the cause, so
    every error and warning is read and the most specific one counts.
    """
    if run.stopped:
        return _overdue(run)
    lines = remarks(run.log, started=run.returncode <= 0)
    if run.returncode == 0 and report.exists():
        found = first_match(["cause"], errors_among(lines))
        return _explained(found, run, kernel_name) if found else None
    found = first_match(["cause", "symptom"], lines)
    return _explained(found, run, kernel_name) if found else _unexplained(run)


def _overdue(run: NcuRun) -> NcuviewError:
    """Why a run was stopped: ncu's errors before, else the launch that it was profiling.

    How the program ended proves nothing then, since it was stopped.
    """
    found = first_match(["cause"], errors_among(remarks(run.log, started=True)))
    if found and found[0].id not in {"NCU-APP", "NCU-CRASH"}:
        return _explained(found, run, None)
    after = f"ncu was stopped after {duration(1e9 * run.seconds, digits=2)}"
    if run.unfinished is not None:
        where = f'while it profiled "{run.unfinished.kernel}" (launch {run.unfinished.index})'
        saves = ", for which it saved the program's device memory in the host's" if SAVES_TO_THE_HOST in run.log else ""
        hint = failure("NCU-OOM").fix if saves else ""
        return failure("NCU-HANG").as_error(f"{after}, {where}{saves}{_words_of_program(run)}", hint=hint)
    finished = f"launches profiled: {len(run.passes)}"
    if run.stopped == "silence":
        return failure("NCU-HANG").as_error(
            f"{after}, since the program neither launched nor printed anything; {finished}{_words_of_program(run)}",
            hint="Run it without ncu; if it is only slow between two launches, give it a longer --no-progress-timeout.",
        )
    return failure("NCU-PART").as_error(
        f"{after}, while the program ran on; {finished}{_words_of_program(run)}",
        hint="Give it more time, or profile a shorter run of the program.",
    )


def _explained(found: Found, run: NcuRun, kernel_name: str | None) -> NcuviewError:
    cause, match = found
    what = cause.what.format(**match.groupdict("of this name"))
    if cause.error == ProgramFailed.__name__:
        return cause.as_error(f"{what}{_last_words(run.stderr) or _last_words(run.stdout)}")
    message = f"{what} (ncu: {textwrap.shorten(match.string, 300)}){_words_of_program(run)}"
    return cause.as_error(message, hint=_kernels_to_choose(run.log, kernel_name))


def _unexplained(run: NcuRun) -> NcuviewError:
    if run.returncode == 0 and run.launches:
        return failure("NCU-FULL").as_error(
            f"ncu left no report; launches profiled: {run.launches}{_words_of_program(run)}",
            hint="Check that the disk has room for the report.",
        )
    if run.returncode == 0:
        nothing = failure("NCU-NOKERN")
        return nothing.as_error(f"{nothing.what} and left no report{_words_of_program(run)}")
    if run.returncode < 0:
        return failure("NCU-PART").as_error(
            f"ncu was ended by signal {-run.returncode}{_words_of_program(run)}",
            hint="Run it again and let it finish; `ncu --clock-control reset` frees clocks that it left locked.",
        )
    return NcuRefused(
        f"ncu ended with exit code {run.returncode} and did not say why{_last_words(run.log)}",
        hint="Run the program without ncu, then under ncu by hand.",
        id="NCU-UNKNOWN",
    )


def _words_of_program(run: NcuRun) -> str:
    """The program's last lines, to be appended to a message; empty where it was never started."""
    if "==PROF==" not in run.log:
        return ""
    words = _last_words(run.stderr) or _last_words(run.stdout)
    return f". The program's last lines{words}" if words else ""


def _last_words(text: str) -> str:
    """The end of a program's output, without ncu's own lines, to be appended to a sentence."""
    lines = [line.rpartition("\r")[2] for line in _LISTED.sub("", "\n".join(plain_lines(text))).split("\n")]
    own = [line for line in lines if line.strip() and not _NCU_S.match(line) and not line.startswith(_ADVICE)]
    return "\n".join([":", *(f"    {line}" for line in own[-_LAST_WORDS:])]) if own else ""


def _kernels_to_choose(log: str, kernel_name: str | None) -> str:
    """A hint from the list of kernels that ncu prints when none has the requested name."""
    available = _LISTED.search("\n".join(plain_lines(log)))
    if available is None:
        return ""
    names = re.findall(r"^\s*\d+\W\s*(\S.*?)\s*$", available[1], re.MULTILINE)
    launches = f"The program launches {', '.join(names[:_KERNELS_TO_NAME])}."
    return did_you_mean((kernel_name or "").removeprefix("regex:"), names, launches)
