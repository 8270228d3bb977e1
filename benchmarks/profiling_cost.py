"""What a diagnosis costs on this machine: passes, and wall time against ``ncu --set full`` and the bare program.

    python benchmarks/profiling_cost.py transpose

Needs a GPU, ncu, nvcc and PyCUDA. The three are run in turn, REPEATS times, and the medians are compared; kernels are
compiled once, before.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.base.paths import shipped
from ncuview.catalogue.kernels import family, find_kernel, launch_of, launches_of
from ncuview.catalogue.live import compile_all, host_environment, host_program
from ncuview.engine.plan import metrics_for
from ncuview.profiling.machine import find_ncu, find_nvcc
from ncuview.profiling.ncu import ncu_command, run_ncu

REPEATS = 3


def main(name: Annotated[str, typer.Argument(metavar="FAMILY|KERNEL")]) -> None:
    """Print one row for each way to run a family, or a single kernel."""
    ncu, nvcc = find_ncu(), find_nvcc()
    if ncu is None or nvcc is None:
        sys.exit("needs ncu and nvcc")
    one = (shipped("kernels") / name).is_dir()
    launches = launches_of(family(name)) if one else [launch_of(find_kernel(name))]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        compiled = compile_all(nvcc, [launch.kernel for launch in launches], folder)
        program, _ = host_program(launches, compiled, folder)
        planned = ncu_command(ncu, metrics_for(load_rules()), folder / "planned", program)
        full = [part for part in planned if not part.startswith("--metrics")]
        full[full.index("--import-source=yes") : full.index("--import-source=yes")] = ["--set=full"]
        ways = {"bare program": program, "ncuview": planned, "ncu --set full": full}
        seconds: dict[str, list[float]] = {way: [] for way in ways}
        passes: dict[str, tuple[int, ...]] = dict.fromkeys(ways, (0,))
        for _ in range(REPEATS):
            for way, command in ways.items():
                for report in folder.glob("*.ncu-rep"):
                    report.unlink()
                started = time.perf_counter()
                if way == "bare program":
                    subprocess.run(command, cwd=shipped("kernels"), env={**_environment()}, check=True)
                else:
                    run = run_ncu(command, cwd=shipped("kernels"), timeout_s=600, environment=host_environment())
                    passes[way] = run.passes
                seconds[way].append(time.perf_counter() - started)
    _print_table(name, len(launches), seconds, passes)


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, **host_environment()}


def _print_table(name: str, launches: int, seconds: dict[str, list[float]], passes: dict[str, tuple[int, ...]]) -> None:
    median = {way: statistics.median(times) for way, times in seconds.items()}
    print(f"{name}: {launches} launches, median of {REPEATS}")
    print(f"{'':16} {'passes':>6} {'seconds':>8} {'to full':>8} {'to bare':>8}")
    for way, time_s in median.items():
        row = f"{way:16} {max(passes[way], default=0):6} {time_s:8.2f}"
        print(f"{row} {time_s / median['ncu --set full']:8.2f} {time_s / median['bare program']:8.2f}")


if __name__ == "__main__":
    typer.run(main)
