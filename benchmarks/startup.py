"""How long ncuview takes to start and to answer, as ratios to what it cannot do without, measured side by side.

    python benchmarks/startup.py

``--help`` is compared with ``import typer``; the analysis of a recorded profile with ``import pandas, ncu_report`` and
the reader's child process. Commands are run in turn, REPEATS times; medians are compared.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from ncuview.catalogue.kernels import recorded_report
from ncuview.reader.child import Children, Shard
from ncuview.reader.readable_part import approve

REPEATS = 9
KERNEL = "transposeCoalesced"


def main() -> None:
    """Print the medians and the two ratios."""
    python = sys.executable
    approved = approve(recorded_report("transpose"))
    shard = Shard(approved.snapshot, 0, approved.header.launches, approved.header.results)

    def run(*command: str) -> Callable[[], object]:
        return partial(subprocess.run, [python, *command], capture_output=True, check=True)

    commands: dict[str, Callable[[], object]] = {
        "import typer": run("-c", "import typer"),
        "ncuview --help": run("-m", "ncuview", "--help"),
        "import pandas, ncu_report": run("-c", "import pandas, ncu_report"),
        "reader child": partial(Children(KERNEL).read, shard, with_code=True),
        "ncuview analyze": run("-m", "ncuview", "analyze", KERNEL, "--recorded"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(REPEATS):
        for name, command in commands.items():
            started = time.perf_counter()
            command()
            seconds[name].append(time.perf_counter() - started)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    for name, value in median.items():
        print(f"{name:28} {value * 1e3:7.0f} ms")
    print(f"--help / import typer: {median['ncuview --help'] / median['import typer']:.2f} (aim: at most 3)")
    budget = 2 * median["import pandas, ncu_report"] + median["reader child"]
    print(f"analyze / (2 x imports + reader child): {median['ncuview analyze'] / budget:.2f} (aim: at most 1)")


if __name__ == "__main__":
    main()
