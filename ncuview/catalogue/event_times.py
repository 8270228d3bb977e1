"""Launch one compiled kernel many times without ncu and measure each launch by CUDA events -> ``EventTimes``.

``event_times`` checks results where the kernel has an oracle, and needs no permission to read counters.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ncuview.base.errors import GpuNotFound, LauncherNotFound
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernels import Launch
from ncuview.catalogue.live import SECONDS_PER_LAUNCH, check_results, host_program, results_of, run_host
from ncuview.profiling.machine import gpu_state


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
