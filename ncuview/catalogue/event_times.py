"""Launch one compiled kernel many times without ncu and measure each launch by CUDA events -> ``EventTimes``.

Results are checked where an oracle knows them; no permission for counters is needed.
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
        folder: A private folder with the machine code, for the files of this run; under sudo it becomes the user's.

    Raises:
        ToolError: There is no GPU or no PyCUDA.
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
