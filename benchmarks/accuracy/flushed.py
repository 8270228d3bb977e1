"""What -ftz=true alone brings: programs of the accuracy set compiled with and without it, each launch timed under ncu.

    python -m benchmarks.accuracy.flushed docs/flushed-denormals.md p25 p28 ...

Each program runs twice each way, in turn, with durations only, and the shorter one of each launch counts. Beside it
stand the share of the executed instructions that scale denormal numbers and the wall, from the recorded report. Needs a
GPU, ncu and nvcc.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.accuracy.measure import compiled, ncu_here
from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.metrics.analysis import Analysis
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Finding

HERE = Path(__file__).resolve().parent
REPEATS = 2
LEAST = 0.01
RULE = "INST006"
_FLUSH = "-ftz=true"
_DURATION = "gpu__time_duration.sum"
_NCU = ("--clock-control=none", "--kernel-name=regex:^k[0-9]", f"--metrics={_DURATION}", "--csv", "--print-units=base")
_HEAD = """# Denormal numbers flushed to zero

Made by `python -m benchmarks.accuracy.flushed` on an NVIDIA H200: programs of the accuracy set compiled as they are and
with `-ftz=true`, the shorter of two durations of each launch. *Share* is how many of the executed instructions scale
denormal numbers, *wall* the busiest unit, *promised* what denormal-scaling said of the recorded launch, *got* the
measured ratio.

| launch | share | wall | promised | got |
| --- | ---: | --- | ---: | ---: |
"""


def main(target: str, *names: str) -> None:
    """Measure the programs and write the page."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        jobs = [(HERE / "programs" / f"{name}.cu", options) for name in names for options in ([], [_FLUSH])]
        programs = pool.map(lambda job: compiled(job[0], Path(folder), *job[1]), jobs)
        ways = [(bool(options), program) for (_, options), program in zip(jobs, programs, strict=True) if program]
        best: dict[tuple[str, bool], float] = {}
        for flush, program in ways * REPEATS:
            for kernel, duration in _durations(program):
                best[kernel, flush] = min(duration, best.get((kernel, flush), duration))
    got = {kernel: best[kernel, False] / best[kernel, True] for kernel, flush in best if flush}
    Path(target).write_text(page(names, got), encoding="utf-8")


def page(names: tuple[str, ...], got: Mapping[str, float]) -> str:
    """The page: launches of these programs that scale denormal numbers, in order, with what was got."""
    rows, rules = [], load_rules()
    for name in names:
        analysis = Analysis(read([HERE / "h200" / f"{name}.ncu-repz"]))
        shares = analysis.value("denormal_scaling") / analysis.value("executed")
        launches = diagnose(analysis.profile, rules, "report").launches
        for share, launch in zip(shares, launches, strict=True):
            if share < LEAST or launch.kernel not in got:
                continue
            promises = [
                found.predicted_speedup.best
                for found in launch.outcomes
                if isinstance(found, Finding) and found.rule.code == RULE
            ]
            said = f"{promises[0]:.2f}" if promises else "-"
            wall, use = max(launch.units.items(), key=lambda item: item[1])
            rows.append(f"| {launch.kernel} | {share:.2f} | {wall} {use:.0%} | {said} | {got[launch.kernel]:.2f} |\n")
    return _HEAD + "".join(rows)


def _durations(program: Path) -> Iterator[tuple[str, float]]:
    command = [str(ncu_here()), *_NCU, str(program)]
    ended = subprocess.run(command, cwd=HERE / "programs", stdout=subprocess.PIPE, text=True, check=True)
    table = ended.stdout[ended.stdout.index('"ID"') :]
    for row in csv.DictReader(io.StringIO(table)):
        yield row["Kernel Name"].partition("(")[0], float(row["Metric Value"].replace(",", ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
