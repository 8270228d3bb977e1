"""Record the launches of programs on this GPU, with their calls: two runs of ncu for the labelled variants of each.

As ``ncuview analyze``, the first takes time and calls of each launch, the second counters of each configuration.

    python -m validation.calls.record OUT [PROGRAM ...]       for example q003 q012; all without names

Reports of PyTorch hold much machine code of libraries, so that none is kept: what the rules about programs read is
written to ``OUT/PROGRAM.VARIANT.json``, and at the end all such files together to ``OUT/calls.json.xz``. Variants that
OUT has are left out, so that the command can be repeated. Needs a GPU, ncu, NVIDIA's reader and the frameworks; C++
programs need nvcc, cuBLAS and cuFFT.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from math import isfinite
from pathlib import Path
from shutil import rmtree
from typing import Annotated

import typer

from ncuview.base.errors import NcuviewError
from ncuview.pipeline.profiled import read_with_sources
from ncuview.pipeline.program_runs import ONE_OF_EACH, Seen, compile_variables, with_counters_of
from ncuview.profiling.job import Job
from ncuview.profiling.machine import find_ncu
from ncuview.profiling.ncu import NcuRun, classify
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.passes import TIME_ALONE, program_metrics
from ncuview.programs.of_profile import calls_of, launches_of
from ncuview.reader.precheck import launches_in
from ncuview.records.profile import CallStack, Profile
from ncuview.records.program import ProgramLaunch
from validation.calls import step as runner
from validation.calls.labels import HERE, labels_of, sources
from validation.calls.recorded import Recorded, Step, is_written, pack, write
from validation.calls.runs import program_of
from validation.calls.step import MARK

OPTIONS = NcuOptions(profile_from_start=False, import_source=False)
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
    """Record one program after the other; the reports of one are read while the next runs under ncu."""
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
            made = _profiled(ncu, program, variants, Path(folder) / str(number), min(limit, remaining))
            _say(reading)
            reading = None
            if isinstance(made, str):
                print(f"{program}: FAILED {made}", flush=True)
            else:
                reading = program, pool.submit(_converted, program, variants, made, out)
        _say(reading)
    print(f"{pack(out):,} bytes packed", flush=True)


def _missing(out: Path, program: str) -> list[str]:
    """The labelled variants of a program that are not recorded yet."""
    return [variant for variant in labels_of(sources()[program]) if not is_written(out, Step(program, variant))]


def _profiled(
    ncu: Path, program: str, variants: Sequence[str], folder: Path, timeout_s: float
) -> list[tuple[Path, NcuRun]] | str:
    """Run a step of each variant under ncu twice: both reports, or why that failed."""
    compiled = folder / "compiled"
    compiled.mkdir(parents=True)
    try:
        built = program_of(sources()[program], compiled)
    except NcuviewError as error:
        rmtree(folder)
        return str(error)
    words = [*built.words, *variants]
    if "import jax" in sources()[program].read_text(encoding="utf-8"):
        # XLA times its candidates, which crashed ncu; ncuview's run without ncu compiles before the others.
        subprocess.run(words, env={**os.environ, **compile_variables(compiled)}, check=False, capture_output=True)
    made = []
    runs = (
        (TIME_ALONE, replace(OPTIONS, call_stack=built.call_stacks)),
        (program_metrics(), replace(OPTIONS, **ONE_OF_EACH)),
    )
    for number, (metrics, options) in enumerate(runs):
        report = folder / f"{number}.ncu-rep"
        job = Job(
            ncu, words, metrics, Path.cwd(), launches_in, options, compile_variables(compiled), timeout_s=timeout_s
        )
        run = job.run(report)
        if failed := classify(run, report):
            rmtree(folder)
            return f"after {run.seconds:.1f} s: {failed}\n{run.log[-1500:]}"
        made.append((report, run))
    return made


def _say(reading: Read | None) -> None:
    """Wait for a report to be read, and say how that ended."""
    if reading is None:
        return
    program, future = reading
    try:
        said = future.result()
    except (NcuviewError, OSError, ValueError, LookupError) as error:
        said = f"FAILED to read: {''.join(traceback.format_exception(error))}"
    print(f"{program}: {said}", flush=True)


def _converted(program: str, variants: Sequence[str], made: Sequence[tuple[Path, NcuRun]], out: Path) -> str:
    """Write what the rules read of each variant, remove the reports, and return what was found in words."""
    (times, first), (counters, second) = made
    started, size = time.monotonic(), sum(report.stat().st_size for report, _ in made)
    try:
        profile = without_runner(read_with_sources([times], instructions=False))
        counted = read_with_sources([counters])
    finally:
        rmtree(times.parent)
    if len(profile.launches) < first.launches or profile.failure:
        raise ValueError(f"{len(profile.launches)} of {first.launches} launches could be read: {profile.failure}")
    launches = program_launches(with_counters_of(profile, counted))
    device, passes = str(profile.launches["device"].iloc[0]), max(second.passes)
    read_s, ncu_s = round(time.monotonic() - started, 1), round(first.seconds + second.seconds, 1)
    said = [f"{ncu_s} s in ncu, {read_s} s to read {size / 1e6:.1f} MB, {passes} passes at most"]
    for variant, part in zip(variants, by_marks(launches), strict=True):
        write(Recorded(program, variant, device, passes, ncu_s, read_s, part), out)
        known, time_ms = sum(each.call is not None for each in part), sum(each.duration_ns for each in part) / 1e6
        counted_too = sum(isfinite(each.bytes_read) for each in part)
        said.append(f"  {variant}: {len(part)} launches of {time_ms:.3f} ms, {known} with call, {counted_too} counted")
    return "\n".join(said)


def by_marks(launches: Sequence[ProgramLaunch]) -> list[tuple[ProgramLaunch, ...]]:
    """The launches of each variant: those between two marks of step.py or step.cuh."""
    marks = [number for number, launch in enumerate(launches) if launch.kernel == MARK]
    return [tuple(launches[start + 1 : end]) for start, end in pairwise(marks)]


def program_launches(seen: Seen) -> tuple[ProgramLaunch, ...]:
    """The launches as the rules about programs read them."""
    return tuple(launches_of(seen.profile, seen.owners, calls_of(seen.profile)))


def without_runner(profile: Profile) -> Profile:
    """The profile without the calls of step.py, which are none of the program's."""
    stacks = {launch: _without_runner(stack) for launch, stack in profile.call_stacks.items()}
    return replace(profile, call_stacks=stacks)


def _without_runner(stack: CallStack) -> CallStack:
    return replace(stack, python=tuple(frame for frame in stack.python if not frame.file.endswith(RUNNER)))


if __name__ == "__main__":
    typer.run(main)
