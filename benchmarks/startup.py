"""How long ncuview takes to start and to answer, as ratios to what it cannot do without, measured side by side.

    python benchmarks/startup.py

``--help`` is compared with ``import typer``; the first analysis of a recorded profile and of a report, and the second
one, whose diagnosis is kept, with ``import pandas``. The time of the reader's child process bounds the first analysis.
Commands are run in turn, REPEATS times; medians are compared. The processor time of a command includes its children,
and changes less than its wall time where other programs run.

``ncuview mcp`` is timed until it has answered ``initialize`` and its client has left.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ncuview.catalogue.kernels import recorded_report
from ncuview.reader.child import Children, Shard
from ncuview.reader.readable_part import approve

REPEATS = 9
KERNEL = "transposeCoalesced"
INITIALIZE = (
    b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
    b'"capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}}\n'
)


def main() -> None:
    """Print the medians and the ratios."""
    python = sys.executable
    report = recorded_report("transpose")
    approved = approve(report)
    shard = Shard(approved.snapshot, 0, approved.header.launches, approved.header.results)
    targets = {"recorded": [KERNEL, "--recorded"], "report": [str(report), "-k", KERNEL]}

    with tempfile.TemporaryDirectory() as cache:

        def run(*command: str) -> Callable[[], object]:
            variables = {**os.environ, "XDG_CACHE_HOME": cache}
            return partial(subprocess.run, [python, *command], capture_output=True, check=True, env=variables)

        server = partial(
            subprocess.run, [python, "-m", "ncuview", "mcp"], input=INITIALIZE, stdout=subprocess.PIPE, check=True
        )
        commands: dict[str, Callable[[], object]] = {
            "pass": run("-c", "pass"),
            "import typer": run("-c", "import typer"),
            "ncuview --help": run("-m", "ncuview", "--help"),
            "import pandas": run("-c", "import pandas"),
            "import mcp": run("-c", "import mcp"),
            "ncuview mcp, initialize": server,
            "reader child": partial(Children(KERNEL).read, [shard], with_code=True),
        }
        for name, words in targets.items():
            commands[f"{name}, judged"] = run("-m", "ncuview", "analyze", *words, "--no-cache")
            commands[f"{name}, kept"] = run("-m", "ncuview", "analyze", *words)
        wall, processor = _medians(commands)
        assert len([*Path(cache).rglob("*")]) == len(["ncuview", "diagnoses", *targets]), "nothing is kept"
    for name in commands:
        print(f"{name:28} {wall[name] * 1e3:7.0f} ms  {processor[name] * 1e3:7.0f} ms of processors")
    print(f"--help / import typer: {wall['ncuview --help'] / wall['import typer']:.2f} (aim: at most 3)")
    print(f"ncuview mcp, initialize: {wall['ncuview mcp, initialize']:.2f} s (aim: less than 1 s)")
    for name in targets:
        for what, aim in (("judged", 2.5), ("kept", 1.2)):
            times = f"{_ratio(wall, name, what):.2f}, of processors {_ratio(processor, name, what):.2f}"
            print(f"{name}, {what} / import pandas: {times} (aim: at most {aim}, with two free processors)")


def _ratio(seconds: dict[str, float], name: str, what: str) -> float:
    return seconds[f"{name}, {what}"] / seconds["import pandas"]


def _medians(commands: dict[str, Callable[[], object]]) -> tuple[dict[str, float], dict[str, float]]:
    """The median wall time and processor time of each command."""
    for command in commands.values():  # what is compiled or kept once is not measured
        command()
    wall: dict[str, list[float]] = {name: [] for name in commands}
    processor: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(REPEATS):
        for name, command in commands.items():
            started, used = time.perf_counter(), _used()
            command()
            wall[name].append(time.perf_counter() - started)
            processor[name].append(_used() - used)
    return _of_each(wall), _of_each(processor)


def _of_each(seconds: dict[str, list[float]]) -> dict[str, float]:
    return {name: statistics.median(times) for name, times in seconds.items()}


def _used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
