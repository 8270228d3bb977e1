"""Record the launches of programs on this GPU, with their calls: one run of ncu for the labelled variants of each.

    python -m validation.calls.record OUT [PROGRAM ...]       for example q003 q012; all without names

Reports of PyTorch hold much machine code of libraries, so that none is kept: what the rules about programs read is
written to ``OUT/PROGRAM.VARIANT.json``, and at the end all such files together to ``OUT/calls.json.xz``. Variants that
OUT has are left out, so that the command can be repeated. Needs a GPU, ncu, NVIDIA's reader and the frameworks.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import read
from ncuview.base.errors import NcuviewError
from ncuview.profiling.job import Job
from ncuview.profiling.machine import find_ncu
from ncuview.profiling.ncu import NcuRun, classify
from ncuview.profiling.options import CallStacks, NcuOptions
from ncuview.programs.of_profile import calls_of, launches_of
from ncuview.programs.owners import owners_of
from ncuview.reader.precheck import launches_in
from ncuview.records.profile import CallStack, Profile
from ncuview.records.program import ProgramLaunch
from validation.calls import step as runner
from validation.calls.labels import HERE, labels_of, sources
from validation.calls.recorded import Recorded, Step, is_written, pack, write
from validation.calls.step import MARK

METRICS = (
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "gpu__time_duration.sum",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_shared_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
)
"""What the rules about programs read, in one pass."""
OPTIONS = NcuOptions(profile_from_start=False, call_stack=CallStacks.ALL)
LIMIT_S = 120.0
LEFT_TO_READ_S = 45.0
"""Before the deadline no run of ncu may take the time that its report needs."""
LEAST_S = 20.0
"""Starting PyTorch under ncu takes about as long."""
RUNNER = str(Path(runner.__file__).relative_to(HERE.parent.parent))
Read = tuple[str, Future[str]]


def known_programs(names: list[str] | None) -> list[str] | None:
    """The names of programs on a command line, each of which must exist."""
    for name in names or ():
        if name not in sources():
            raise typer.BadParameter(f"there is no program {name!r}")
    return names


def main(
    out: Path,
    programs: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM", callback=known_programs)] = None,
    *,
    limit: Annotated[float, typer.Option(metavar="SECONDS", help="For each run of ncu.")] = LIMIT_S,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="End by then.")] = math.inf,
) -> None:
    """Record one variant after the other; the report of one is read while the next runs under ncu."""
    end = time.monotonic() + deadline
    out.mkdir(parents=True, exist_ok=True)
    ncu = find_ncu()
    if ncu is None:
        raise SystemExit("ncu is missing")
    left = [(program, missing) for program in programs or list(sources()) if (missing := _missing(out, program))]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as pool:
        reading: Read | None = None
        for number, (program, variants) in enumerate(left):
            remaining = end - time.monotonic() - LEFT_TO_READ_S
            if remaining < LEAST_S:
                print(f"deadline: {len(left) - number} programs are left, the first is {program}", flush=True)
                break
            report = Path(folder) / f"{number}.ncu-rep"
            failed, run = _profiled(ncu, program, variants, report, min(limit, remaining))
            _say(reading)
            reading = None
            if failed:
                print(f"{program}: FAILED after {run.seconds:.1f} s: {failed}", flush=True)
                report.unlink(missing_ok=True)
            else:
                reading = program, pool.submit(_converted, program, variants, report, run, out)
        _say(reading)
    print(f"{pack(out):,} bytes packed", flush=True)


def _missing(out: Path, program: str) -> list[str]:
    """The labelled variants of a program that are not recorded yet."""
    return [variant for variant in labels_of(sources()[program]) if not is_written(out, Step(program, variant))]


def _profiled(ncu: Path, program: str, variants: Sequence[str], report: Path, timeout_s: float) -> tuple[str, NcuRun]:
    """Run a step of each variant under ncu: why that failed, or an empty text."""
    words = [sys.executable, "-m", "validation.calls.step", str(sources()[program]), *variants]
    job = Job(ncu, words, METRICS, Path.cwd(), launches_in, OPTIONS, timeout_s=timeout_s)
    run = job.run(report)
    failed = classify(run, report)
    return (f"{failed}\n{run.log[-1500:]}" if failed else ""), run


def _say(reading: Read | None) -> None:
    """Wait for a report to be read, and say how that ended."""
    if reading is None:
        return
    program, future = reading
    try:
        said = future.result()
    except (NcuviewError, OSError, ValueError, LookupError) as error:
        said = f"FAILED to read: {type(error).__name__}: {error}"
    print(f"{program}: {said}", flush=True)


def _converted(program: str, variants: Sequence[str], report: Path, run: NcuRun, out: Path) -> str:
    """Write what the rules read of each variant, remove the report, and return what was found in words."""
    started, size = time.monotonic(), report.stat().st_size
    try:
        profile = without_runner(read(report))
    finally:
        report.unlink()
    if len(profile.launches) < run.launches or profile.failure:
        raise ValueError(f"{len(profile.launches)} of {run.launches} launches could be read: {profile.failure}")
    launches = program_launches(profile)
    device, passes = str(profile.launches["device"].iloc[0]), max(run.passes)
    read_s = round(time.monotonic() - started, 1)
    said = [f"{run.seconds:.1f} s in ncu, {read_s} s to read {size / 1e6:.1f} MB, {passes} passes at most"]
    for variant, part in zip(variants, by_marks(launches), strict=True):
        write(Recorded(program, variant, device, passes, round(run.seconds, 1), read_s, part), out)
        known, time_ms = sum(each.call is not None for each in part), sum(each.duration_ns for each in part) / 1e6
        said.append(f"  {variant}: {len(part)} launches of {time_ms:.3f} ms, {known} with a call")
    return "\n".join(said)


def by_marks(launches: Sequence[ProgramLaunch]) -> list[tuple[ProgramLaunch, ...]]:
    """The launches of each variant: those between two marks of step.py."""
    marks = [number for number, launch in enumerate(launches) if launch.kernel == MARK]
    return [tuple(launches[start + 1 : end]) for start, end in pairwise(marks)]


def program_launches(profile: Profile) -> tuple[ProgramLaunch, ...]:
    """The launches as the rules about programs read them."""
    return tuple(launches_of(profile, owners_of(profile), calls_of(profile)))


def without_runner(profile: Profile) -> Profile:
    """The profile without the calls of step.py, which are none of the program's."""
    stacks = {launch: _without_runner(stack) for launch, stack in profile.call_stacks.items()}
    return replace(profile, call_stacks=stacks)


def _without_runner(stack: CallStack) -> CallStack:
    return replace(stack, python=tuple(frame for frame in stack.python if not frame.file.endswith(RUNNER)))


if __name__ == "__main__":
    typer.run(main)
