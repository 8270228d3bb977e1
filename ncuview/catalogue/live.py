"""Profile catalogue kernels or a user's .cu kernel on this machine: compile, launch under ncu, check results.

``profile_live`` takes ``Launch``es and returns the report's path; other functions, as ``run_host``, run without ncu.
``event_times`` makes a launch many times without ncu, which needs no permission to read counters -> ``EventTimes``.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ncuview.base.errors import GpuNotFound, LauncherNotFound, NcuNotFound, ProgramFailed, UsageError, WrongResult
from ncuview.base.figures import duration
from ncuview.base.log import run_logged
from ncuview.catalogue.compiler import NATIVE, Compiled, compile_kernel, compile_user_kernel
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import Launch
from ncuview.catalogue.user_kernel import check_arguments
from ncuview.profiling.job import Job, profile
from ncuview.profiling.machine import find_ncu, find_nvcc, gpu_state, missing_for_live
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.privileges import invoking_user, variables_for_ncu
from ncuview.reader.host_times import host_times_of
from ncuview.reader.precheck import launches_in

SECONDS_PER_LAUNCH = 120
"""More than any catalogue kernel takes in all its passes; a run that takes longer hangs."""
_LAST_WORDS = 5

Timed = Literal["", "launches", "transfers"]
"""What the host process times: nothing, repeated launches of each, or the host's copies for each."""


def profile_live(
    launches: Sequence[Launch],
    metrics: Sequence[str],
    folder: Path,
    progress: Callable[[Progress], object] | None = None,
    options: NcuOptions | None = None,
    meanwhile: Callable[[], object] = lambda: None,
    compiled: Mapping[str, Compiled] | None = None,
) -> Path:
    """Make each launch once under ncu and return the report.

    Args:
        launches: The launches to make, in this order; all of one root.
        metrics: The metrics to collect.
        folder: An empty private folder for the files of this run; the times of transfers are left there too, as
            ``reader/host_times.py`` expects them.
        progress: Called for every kernel that ncu starts and finishes.
        options: How ncu profiles; options that select launches are refused.
        meanwhile: Called once ncu has been started, for each attempt.
        compiled: Function -> machine code of all launches, from ``compile_all``; they are compiled where it is None.

    Raises:
        UsageError: Options select launches.
        KernelFileError: A user's kernel takes other arguments than its launch gives.
        ToolError: GPU, ncu, nvcc or PyCUDA is missing, or ncu was refused.
        ProgramError: A kernel does not compile, fails, or computes a wrong result.
        NothingProfiled: ncu recorded fewer launches than were made.
    """
    if options and (chosen := options.chosen_by()):
        raise UsageError(
            f"{chosen[0]} selects launches of a program; a kernel file defines its launches itself",
            hint="Leave it out, or give your own program: ncuview analyze -- ./program",
        )
    if missing := missing_for_live():
        raise missing
    ncu, nvcc = find_ncu(), find_nvcc()
    if ncu is None or nvcc is None:
        raise NcuNotFound("ncu or nvcc was removed after it was found")
    host = folder / "host"
    host.mkdir()
    if compiled is None:
        compiled = compile_all(nvcc, [launch.kernel for launch in launches], host)
    else:
        # In the host's folder, which under sudo its user may read.
        compiled = {name: replace(each, cubin=Path(shutil.copy(each.cubin, host))) for name, each in compiled.items()}
    for launch in launches:
        if not launch.kernel.of_catalogue:
            check_arguments(launch, compiled[launch.kernel.function].parameters)
    program, result = host_program(launches, compiled, host)
    if user := invoking_user():
        folder.chmod(0o711)  # the host process runs as the user; the folder of reports stays root's
        user.hand_over([host, *host.iterdir()])
    job = Job(
        ncu,
        program,
        metrics,
        launches[0].kernel.root,
        launches_in,
        options or NcuOptions(),
        host_environment(),
        timeout_s=SECONDS_PER_LAUNCH * len(launches),
        no_progress_s=math.inf,
        progress=progress,
        meanwhile=meanwhile,
    )
    report = profile(job, folder).complete_reports()[0]
    check_results(result)
    _time_transfers(launches, compiled, folder / "transfers", report)
    return report


def _time_transfers(launches: Sequence[Launch], compiled: Mapping[str, Compiled], folder: Path, report: Path) -> None:
    """Run the launches with ``[transfers]`` once more, without ncu, and write their times to a file beside the report.

    The folder is a new one: the first host process's folder belongs to the user, who may have changed it.

    Raises:
        ProgramFailed: The host process failed or took too long.
    """
    indices = [index for index, launch in enumerate(launches) if launch.kernel.text.transfers]
    if not indices:
        return
    timed = [launches[index] for index in indices]
    folder.mkdir()
    program, result = host_program(timed, compiled, folder, timed="transfers")
    run_host(program, folder, timed[0].kernel.root, SECONDS_PER_LAUNCH * len(timed), "transfers")
    times = results_of(result)
    numbered = [{"index": index, **entry} for index, entry in zip(indices, times, strict=True)]
    host_times_of(report).write_text(json.dumps({"launches": numbered}, indent=1) + "\n", encoding="utf-8")


def run_host(program: Sequence[str], folder: Path, root: Path, seconds: float, timed: str) -> None:
    """Run the host process without ncu, with the rights of the user who called sudo.

    Args:
        program: The command line from ``host_program``.
        folder: The private folder of its job file. Under sudo it and its files become the user's.
        root: The folder that the process runs in.
        seconds: The time limit.
        timed: What it times, for messages.

    Raises:
        ProgramFailed: It failed or took too long.
    """
    command, environment = for_user(program, folder)
    try:
        done = run_logged(command, cwd=root, env=environment, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        raise ProgramFailed(
            f"the host process did not end within {duration(1e9 * seconds)} while it timed {timed}",
            hint="Give it a smaller problem.",
        ) from late
    if done.returncode:
        words = "\n".join(done.stderr.strip().splitlines()[-_LAST_WORDS:]) or f"exit code {done.returncode}"
        raise ProgramFailed(f"the host process failed while it timed {timed}:\n{words}")


def for_user(program: Sequence[str], folder: Path) -> tuple[list[str], dict[str, str]]:
    """A command line with the rights of the user who called sudo, and its environment, in which ncuview is found.

    Args:
        program: The command line, with an absolute path.
        folder: The private folder of its files. Under sudo it and its files become the user's.
    """
    variables = host_environment()
    if user := invoking_user():
        user.hand_over([folder, *folder.iterdir()])
        return user.runs(program, variables), variables_for_ncu()
    return list(program), {**variables_for_ncu(), **variables}


def results_of(result: Path) -> list[dict[str, Any]]:
    """The host process's results for each launch.

    Raises:
        ProgramFailed: It wrote no results.
    """
    if not result.exists():
        raise ProgramFailed("the host process ended without results", hint="Run it without ncu to see its error.")
    launches: list[dict[str, Any]] = json.loads(result.read_text(encoding="utf-8"))["launches"]
    return launches


def check_results(result: Path) -> None:
    """Refuse the profile when a kernel computed a wrong result.

    Raises:
        WrongResult: At least one element differs from the oracle.
        ProgramFailed: The host process wrote no results.
    """
    for launch in results_of(result):
        if launch["wrong_elements"]:
            raise WrongResult(
                f"{launch['kernel']} computes {launch['wrong_elements']:,} wrong elements; its profile is not shown",
                hint="The profile of a wrong kernel is no evidence about the right one. Fix the kernel first.",
            )


def compile_all(nvcc: Path, kernels: Sequence[Kernel], folder: Path, architecture: str = NATIVE) -> dict[str, Compiled]:
    """Compile each distinct kernel file once, several at a time: function -> machine code.

    See ``compile_kernel`` for the arguments.
    """

    def compiled_kernel(kernel: Kernel) -> Compiled:
        compile_ = compile_kernel if kernel.of_catalogue else compile_user_kernel
        return compile_(nvcc, kernel, folder, architecture)

    distinct = {kernel.function: kernel for kernel in kernels}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = pool.map(compiled_kernel, distinct.values())
        return dict(zip(distinct, compiled, strict=True))


def host_program(
    launches: Sequence[Launch], compiled: Mapping[str, Compiled], folder: Path, *, timed: Timed = ""
) -> tuple[list[str], Path]:
    """The command that makes or times the launches, and the file that it will write its results to."""
    job, result = folder / "launches.job.json", folder / "launches.json"
    entries = [
        {
            "kernel": launch.kernel.name,
            "cubin": str(compiled[launch.kernel.function].cubin),
            "symbol": compiled[launch.kernel.function].symbol(launch.template),
            "oracle": launch.kernel.text.oracle,
            "tolerance": launch.kernel.text.tolerance,
            "sizes": launch.sizes,
            "grid": launch.grid,
            "block": launch.block,
            "shared": launch.shared,
            "args": launch.args,
            "transfers": _transfers(launch),
        }
        for launch in launches
    ]
    job.write_text(json.dumps({"launches": entries, "timed": timed}), encoding="utf-8")
    return host_command(job, result), result


def host_command(job: Path, result: Path) -> list[str]:
    """The host process's command, which makes the launches of a job file and writes a result file."""
    return [sys.executable, "-P", "-m", "ncuview.catalogue.launcher", str(job), str(result)]


def _transfers(launch: Launch) -> dict[str, Any] | None:
    how = launch.kernel.text.transfers
    return {"memory": how.memory, "pieces": launch.pieces[0], "streams": launch.pieces[1]} if how else None


def host_environment() -> dict[str, str]:
    """The variables with which the host process finds ncuview in a checkout."""
    root = str(Path(__file__).resolve().parents[2])
    return {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))}


@dataclass(frozen=True)
class EventTimes:
    """The times of one launch on the GPU, repeated with the same data and cold caches.

    Attributes:
        device: The GPU's name.
        capability: Its compute capability: ``9.0``.
        multiprocessors: How many it has.
        times_ns: The time of each launch, in order, without the first one, which loads the kernel.
    """

    device: str
    capability: str
    multiprocessors: int
    times_ns: tuple[float, ...]

    @property
    def median_ns(self) -> float:
        """The median of the launches."""
        return statistics.median(self.times_ns)

    @property
    def bounds_ns(self) -> tuple[float, float]:
        """The shortest and the longest."""
        return min(self.times_ns), max(self.times_ns)


def event_times(launch: Launch, compiled: Mapping[str, Compiled], folder: Path) -> EventTimes:
    """Make a launch many times without ncu, check its result, and time it with events.

    Args:
        launch: The launch to make.
        compiled: Function -> machine code, from ``live.compile_all``.
        folder: A private folder with the machine code, for the files of this run; under sudo it becomes the user's.

    Raises:
        ToolError: GPU or PyCUDA is missing.
        ProgramError: The kernel fails, takes too long, or computes something wrong.
    """
    if gpu_state() is None:
        raise GpuNotFound("no NVIDIA GPU here: nvidia-smi is missing or lists none", hint="Run it where the GPU is.")
    if find_spec("pycuda") is None:
        raise LauncherNotFound("no PyCUDA here: it is not installed", hint="pip install 'ncuview[gpu]'")
    program, result = host_program([launch], compiled, folder, timed="launches")
    run_host(program, folder, launch.kernel.root, SECONDS_PER_LAUNCH, launch.kernel.name)
    check_results(result)
    (found,) = results_of(result)
    return EventTimes(found["device"], found["compute_capability"], found["multiprocessors"], tuple(found["times_ns"]))
