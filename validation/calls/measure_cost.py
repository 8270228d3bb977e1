"""Measure what profiling whole programs costs on this GPU: without ncu, under ncu with one metric, with ncuview.

    python -m validation.calls.measure_cost validation/calls/cost.md [PROGRAM ...]       all of cost/ without names

The three runs of a program follow each other, so that the ratio is of one machine. Needs a GPU, ncu and the frameworks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ncuview.profiling.machine import find_ncu

HERE = Path(__file__).resolve().parent / "cost"
LIMIT_S = 300.0


class Cost(NamedTuple):
    """What a program takes, in seconds, and how many launches ncu profiled."""

    program: str
    launches: int
    without_s: float
    one_metric_s: float
    ncuview_s: float


def main(page: Path, programs: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM")] = None) -> None:
    """Measure each program, print its row, and write the page."""
    ncu = find_ncu()
    if ncu is None:
        raise SystemExit("ncu is missing")
    rows = []
    for name in programs or sorted(path.stem for path in HERE.glob("*.py")):
        rows.append(_cost(ncu, HERE / f"{name}.py"))
        print(_row(rows[-1]), flush=True)
    gpu = subprocess.run(
        ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], check=True, capture_output=True, text=True
    )
    page.write_text(_page(gpu.stdout.strip().splitlines()[0], rows), encoding="utf-8")


def _cost(ncu: Path, program: Path) -> Cost:
    command = [sys.executable, str(program)]
    without_s, _ = _timed(command, {})
    with tempfile.TemporaryDirectory() as folder:
        report = f"--export={folder}/one"
        metric = [str(ncu), "--clock-control=none", "--metrics=gpu__time_duration.sum", report, *command]
        one_metric_s, said = _timed(metric, {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
    ours_s, _ = _timed([sys.executable, "-m", "ncuview", "analyze", "-q", str(program)], {})
    return Cost(program.stem, said.count("100% - "), without_s, one_metric_s, ours_s)


def _timed(command: Sequence[str], variables: Mapping[str, str]) -> tuple[float, str]:
    """Seconds of a command that must succeed, and what it printed."""
    started = time.monotonic()
    ended = subprocess.run(
        command, check=True, timeout=LIMIT_S, env={**os.environ, **variables}, capture_output=True, text=True
    )
    return time.monotonic() - started, ended.stdout


def _row(cost: Cost) -> str:
    seconds = " | ".join(f"{each:.1f}" for each in cost[2:])
    return f"| {cost.program} | {cost.launches:,} | {seconds} | {cost.ncuview_s / cost.one_metric_s:.2f} |"


def _page(gpu: str, rows: Sequence[Cost]) -> str:
    ours, one = sum(row.ncuview_s for row in rows), sum(row.one_metric_s for row in rows)
    table = "\n".join(map(_row, rows))
    return f"""# What profiling a program costs

`python -m validation.calls.measure_cost validation/calls/cost.md` on an {gpu}: seconds of a program without ncu,
under ncu with one metric for every launch, and with `ncuview analyze -q`, its run without ncu included.

| program | launches | without ncu | one metric | ncuview | ratio |
| --- | ---: | ---: | ---: | ---: | ---: |
{table}

Together {ours:.0f} s against {one:.0f} s: {ours / one:.2f} times.
"""


if __name__ == "__main__":
    typer.run(main)
