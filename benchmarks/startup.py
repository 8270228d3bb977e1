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

from ncuview.collect.recorded import recorded_report
from ncuview.report.approved import approve
from ncuview.report.task import Task

REPEATS = 9
KERNEL = "transposeCoalesced"


def main() -> None:
    """Print the medians and the two ratios."""
    python = sys.executable
    report = recorded_report("transpose")
    approved = approve(report)
    launches = [(launch.mangled, launch.code, launch.metrics) for launch in approved.header.launches]
    task = Task(str(approved.snapshot.name), KERNEL, 0, launches, with_code=True, memory=4 << 30, cpu_s=60)
    told, given = task.to_json(), [approved.snapshot.descriptor]  # commands that need neither leave them alone
    reader = [python, "-P", "-m", "ncuview.report.native"]
    commands = {
        "import typer": [python, "-c", "import typer"],
        "ncuview --help": [python, "-m", "ncuview", "--help"],
        "import pandas, ncu_report": [python, "-c", "import pandas, ncu_report"],
        "reader child": reader,
        "ncuview analyze": [python, "-m", "ncuview", "analyze", KERNEL, "--recorded"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(REPEATS):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, input=told, capture_output=True, pass_fds=given, check=True)
            seconds[name].append(time.perf_counter() - started)
    median = {name: statistics.median(times) for name, times in seconds.items()}
    for name, value in median.items():
        print(f"{name:28} {value * 1e3:7.0f} ms")
    print(f"--help / import typer: {median['ncuview --help'] / median['import typer']:.2f} (aim: at most 3)")
    budget = 2 * median["import pandas, ncu_report"] + median["reader child"]
    print(f"analyze / (2 x imports + reader child): {median['ncuview analyze'] / budget:.2f} (aim: at most 1)")


if __name__ == "__main__":
    main()
