"""The time of one launch by CUDA events: ncu is not needed, and no permission for counters."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ncuview.collect.catalogue import Launch
from ncuview.collect.compiler import Compiled
from ncuview.collect.live import SECONDS_PER_LAUNCH, check_results, host_environment, host_program
from ncuview.collect.machine import gpu_state
from ncuview.errors import GpuNotFound, LauncherNotFound, ProgramFailed

_LAST_WORDS = 5


@dataclass(frozen=True)
class EventTimes:
    """What the GPU took for one launch, again and again with the same data and cold caches.

    Attributes:
        device: The GPU's name.
        capability: Its compute capability: ``9.0``.
        multiprocessors: How many it has.
        times_ns: Of each launch, in order; the first of all, which loads the kernel, is not among them.
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
        launch: What to launch.
        compiled: Function -> machine code, as ``live.compile_all`` gives it.
        folder: A private folder for the files of this run.

    Raises:
        ToolError: There is no GPU or no PyCUDA.
        ProgramError: The kernel fails, takes too long, or computes something wrong.
    """
    if gpu_state() is None:
        raise GpuNotFound("no NVIDIA GPU here: nvidia-smi is missing or lists none", hint="Run it where the GPU is.")
    if find_spec("pycuda") is None:
        raise LauncherNotFound("no PyCUDA here: it is not installed", hint="pip install 'ncuview[gpu]'")
    program, result = host_program([launch], compiled, folder)
    try:
        done = subprocess.run(
            [*program, "times"],
            cwd=launch.kernel.root,
            env={**os.environ, **host_environment()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS_PER_LAUNCH,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise ProgramFailed(
            f"{launch.kernel.name} did not end within {SECONDS_PER_LAUNCH} s", hint="Give it a smaller problem."
        ) from late
    if done.returncode:
        words = "\n".join(done.stderr.strip().splitlines()[-_LAST_WORDS:])
        raise ProgramFailed(f"the host process failed while it timed {launch.kernel.name}:\n{words}")
    check_results(result)
    (found,) = json.loads(result.read_text(encoding="utf-8"))["launches"]
    return EventTimes(found["device"], found["compute_capability"], found["multiprocessors"], tuple(found["times_ns"]))
