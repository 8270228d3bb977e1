"""Run a program with the times of its kernels, which CUPTI traces without permission to read counters.

``tracer`` compiles the library that the driver loads into the program; ``traced_run`` runs the program with it.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ncuview.base.errors import CompilerNotFound
from ncuview.base.log import run_logged
from ncuview.profiling.machine import find_nvcc
from ncuview.records.profile import Extent
from ncuview.trial.scratch import Ran, run_in

_SOURCE = Path(__file__).with_name("kernel_times.cpp")
_LINE = re.compile(r"(\d{1,18})\t(\d+),(\d+),(\d+)\t(\d+),(\d+),(\d+)\t(\S*)")
_LARGEST = 1 << 28
"""Bytes of a trace: several million launches."""


@dataclass(frozen=True)
class KernelRun:
    """One launch of a run."""

    name: str
    """The mangled name of its kernel."""
    grid: Extent
    block: Extent
    duration_ns: int


@dataclass(frozen=True)
class TracedRun:
    """A run of a program and its launches."""

    ran: Ran
    launches: tuple[KernelRun, ...]
    complete: bool
    """Whether no launch is missing."""

    @cached_property
    def kernel_ns(self) -> Mapping[str, int]:
        """The time of each kernel, summed over its launches, by its mangled name."""
        found: defaultdict[str, int] = defaultdict(int)
        for launch in self.launches:
            found[launch.name] += launch.duration_ns
        return found


def tracer(folder: Path) -> Path:
    """Compile the library that traces kernels.

    Args:
        folder: A private folder for it.

    Raises:
        CompilerNotFound: There is no nvcc, or no CUPTI beside it.
    """
    nvcc = find_nvcc()
    if nvcc is None:
        raise CompilerNotFound("no nvcc here", hint="Install the CUDA toolkit or set CUDA_HOME to where it is.")
    library = folder / "kernel_times.so"
    extras = nvcc.resolve().parents[1] / "extras" / "CUPTI"
    command = [str(nvcc), "-shared", "-O2", "-std=c++17", "-Xcompiler", "-fPIC", "-o", str(library), str(_SOURCE)]
    command += [f"-I{extras / 'include'}", f"-L{extras / 'lib64'}", "-lcupti"]
    command += ["-Xlinker", f"-rpath,{extras / 'lib64'}"]
    done = run_logged(command, cwd=folder)
    if done.returncode:
        raise CompilerNotFound(
            f"the CUDA toolkit here has no CUPTI, which times kernels:\n{(done.stderr or done.stdout).strip()[-500:]}",
            hint="Install cuda-cupti-dev, or the complete toolkit.",
        )
    return library


def traced_run(library: Path, folder: Path, command: Sequence[str], timeout_s: float) -> TracedRun:
    """Run a program in a folder, and read the times of its kernels.

    Args:
        library: What ``tracer`` made.
        folder: The folder that it runs in.
        command: The program and its arguments.
        timeout_s: How long it may take, in seconds.
    """
    with tempfile.TemporaryDirectory(prefix="ncuview-") as traces:
        variables = {"CUDA_INJECTION64_PATH": str(library), "NCUVIEW_KERNEL_TIMES": traces}
        ran = run_in(folder, command, timeout_s, variables)
        files = sorted(Path(traces).glob("*.tsv"))
        small = all(file.stat().st_size <= _LARGEST for file in files)
        texts = [file.read_text(encoding="utf-8", errors="replace").splitlines() for file in files] if small else []
    launches = tuple(_launch(found) for text in texts for line in text if (found := _LINE.fullmatch(line)))
    return TracedRun(ran, launches, small and all(text[-1:] == ["complete"] for text in texts))


def _launch(found: re.Match[str]) -> KernelRun:
    duration, *extents = (int(number) for number in found.groups()[:7])
    grid, block = (extents[0], extents[1], extents[2]), (extents[3], extents[4], extents[5])
    return KernelRun(found[8], grid, block, duration)
