"""Run ncu: build its command line, watch it work, and say in plain words why it failed."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.collect.ncu_failures import (
    CAUSES,
    SYMPTOMS,
    Failure,
    first_match,
    remarks,
    stopped_between_launches,
    stopped_in_a_launch,
)
from ncuview.collect.ncu_output import Progress, ProgressReader, Transcript
from ncuview.collect.options import NcuOptions
from ncuview.collect.supervise import supervise
from ncuview.errors import NcuRefused, NcuviewError, NothingProfiled, ProgramFailed, UsageError

# Without this, ncu copies its rules into the home folder and runs every Python file that it finds there.
_ENVIRONMENT = {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"}

_LAST_WORDS = 20
_NCU_S = re.compile(r"==|\.{4}(?:50%|100%)")
"""Lines of ncu's own: marked ones, and the rest of a progress line that something broke in two."""
_KERNELS_TO_NAME = 10


@dataclass(frozen=True)
class NcuRun:
    """How a run of ncu ended."""

    returncode: int
    """ncu's own, or the program's, or the number of the signal that ended the program."""
    stdout: str
    """What ncu and the program said, shortened in the middle when it was much."""
    stderr: str
    launches: int
    """Launches that ncu began to profile."""
    passes: tuple[int, ...]
    """Of each launch that it finished."""

    @property
    def log(self) -> str:
        """All that was said."""
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
        report: The file to write; ncu is never told to overwrite. In its name, not in its folder's, ncu replaces ``%p``
            by the process, ``%h`` by the host, ``%q{NAME}`` by a variable and ``%%`` by a percent sign.
        program: The program and its arguments.
        options: Which launches are profiled, and how; ncuview's defaults if None.

    Raises:
        UsageError: There is no such program.
    """
    folder = str(report.parent).replace("%", "%%")
    chosen = (options or NcuOptions()).argv()
    collected = [f"--metrics={','.join(metrics)}", f"--export={os.path.join(folder, report.name)}"]  # noqa: PTH118
    # One word per option, and an absolute program: nothing that a user names can be taken for an option.
    return [str(ncu), *chosen, *collected, _absolute(program[0]), *program[1:]]


def run_ncu(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    progress: Callable[[Progress], object] | None = None,
    environment: Mapping[str, str] | None = None,
) -> NcuRun:
    """Run ncu to its end; whatever interrupts it, neither ncu nor the program is left running.

    Args:
        argv: What ``ncu_command`` made.
        cwd: The folder that the program runs in.
        timeout_s: How long it may take.
        progress: Called when a launch begins and when it is finished.
        environment: Variables to set for ncu and the program beside those of this process.

    Raises:
        NothingProfiled: The time was over.
    """
    started = time.monotonic()
    launches = ProgressReader(clock=lambda: time.monotonic() - started)
    stdout, stderr = Transcript(), Transcript()

    def hear(chunk: bytes) -> None:
        stdout.add(chunk)
        for news in launches.feed(chunk):
            if progress is not None:
                progress(news)

    returncode = supervise(
        argv,
        cwd=cwd,
        environment={**os.environ, **_ENVIRONMENT, **(environment or {})},
        timeout_s=timeout_s,
        stdout=hear,
        stderr=stderr.add,
    )
    if returncode is None and launches.unfinished is not None:
        raise stopped_in_a_launch(timeout_s, launches.unfinished.kernel, launches.unfinished.index)
    if returncode is None:
        raise stopped_between_launches(timeout_s, len(launches.passes))
    return NcuRun(returncode, stdout.text(), stderr.text(), launches.begun, tuple(launches.passes))


def classify(run: NcuRun, report: Path, *, kernel_name: str | None = None) -> NcuviewError | None:
    """Why a run failed, or None when it left a report and no error that is known to spoil it.

    Neither ncu's exit code nor the presence of a report proves anything, and its last line is rarely the cause, so
    every error and warning is read and the most specific one counts.
    """
    lines = remarks(run.log)
    if run.returncode == 0 and report.exists():
        found = first_match(CAUSES, [line for line in lines if line.startswith("==ERROR==")])
        return _explained(*found, run, kernel_name) if found else None
    found = first_match((*CAUSES, *SYMPTOMS), lines)
    return _explained(*found, run, kernel_name) if found else _unexplained(run)


def _absolute(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise UsageError(f"There is no program {program} that could be started", hint="Check its path and permissions.")
    return str(Path(found).absolute())


def _explained(failure: Failure, match: re.Match[str], run: NcuRun, kernel_name: str | None) -> NcuviewError:
    what = failure.what.format(**match.groupdict())
    if failure.error is ProgramFailed:
        words = _last_words(run.stderr) or _last_words(run.stdout)
        return ProgramFailed(f"{what}{words} [{failure.id}]", hint=failure.fix)
    message = f"{what} (ncu: {textwrap.shorten(match.string, 300)}) [{failure.id}]"
    return failure.error(message, hint=_kernels_to_choose(run.log, kernel_name) or failure.fix)


def _unexplained(run: NcuRun) -> NcuviewError:
    if run.returncode == 0 and run.launches:
        return NothingProfiled(
            f"ncu left no report; launches profiled: {run.launches} [NCU-FULL]",
            hint="Check that the disk has room for the report.",
        )
    if run.returncode == 0:
        return NothingProfiled(
            "ncu saw no kernel to profile and left no report [NCU-NOKERN]",
            hint="Run the program without ncu and check that it launches a kernel on this GPU.",
        )
    if run.returncode < 0:
        return NothingProfiled(
            f"ncu was ended by signal {-run.returncode} [NCU-PART]",
            hint="Run it again and let it finish; `ncu --clock-control reset` frees clocks that it left locked.",
        )
    return NcuRefused(
        f"ncu ended with exit code {run.returncode} and did not say why{_last_words(run.log)} [NCU-UNKNOWN]",
        hint="Run the program without ncu, then under ncu by hand.",
    )


def _last_words(text: str) -> str:
    """The end of what a program said, without ncu's own lines, to be put behind a sentence."""
    words = [line for line in text.splitlines() if line.strip() and not _NCU_S.match(line)][-_LAST_WORDS:]
    return "\n".join([":", *(f"    {line}" for line in words), ""]) if words else ""


def _kernels_to_choose(log: str, kernel_name: str | None) -> str:
    """A hint from the list that ncu gives when no kernel has the name that was asked for."""
    available = re.search(r"Available Kernels:\s*\n((?:\s*\d+\W\s*\S.*\n?)+)", log)
    if available is None:
        return ""
    names = re.findall(r"^\s*\d+\W\s*(\S.*?)\s*$", available[1], re.MULTILINE)
    nearest = difflib.get_close_matches((kernel_name or "").removeprefix("regex:"), names, n=1)
    advice = f"Did you mean {nearest[0]}? " if nearest else ""
    return f"{advice}The program launches {', '.join(names[:_KERNELS_TO_NAME])}."
