"""What -ftz=true alone brings: labelled programs compiled with and without it, each launch timed under ncu.

    python -m validation.flushed_denormals validation/flushed-denormals.md p025 p028 ...

Each program runs twice each way, in turn, with durations only, and the shorter one of each launch counts. The share of
the executed instructions that scale denormal numbers and the busiest unit come from the recorded report. Needs a GPU,
ncu and nvcc.
"""

from __future__ import annotations

import csv
import io
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.metrics.analysis import Analysis
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Finding
from validation.labelled import PROGRAMS, REPORTS, known_programs, sources
from validation.measure import compiled, ncu_here

REPEATS = 2
LEAST = 0.01
RULE = "INST006"
_FLUSH = "-ftz=true"
_DURATION = "gpu__time_duration.sum"
_NCU = ("--clock-control=none", "--kernel-name=regex:^k[0-9]", f"--metrics={_DURATION}", "--csv", "--print-units=base")
_HEAD = """# Denormal numbers flushed to zero

Made by `python -m validation.flushed_denormals` on an NVIDIA H200: labelled programs compiled as they are and with
`-ftz=true`, the shorter of two durations of each launch. *Share* is how many of the executed instructions scale
denormal numbers, *predicted* the gain that denormal-scaling predicts for the recorded launch, *measured* the ratio of
the two durations.

| launch | share | busiest unit | predicted | measured |
| --- | ---: | --- | ---: | ---: |
"""


def main(target: Path, names: Annotated[list[str], typer.Argument(metavar="PROGRAM", callback=known_programs)]) -> None:
    """Measure the programs and write the page."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        jobs = [(sources()[name], options) for name in names for options in ([], [_FLUSH])]
        programs = pool.map(lambda job: compiled(job[0], Path(folder), *job[1]), jobs)
        ways = [(bool(options), program) for (_, options), program in zip(jobs, programs, strict=True) if program]
        best: dict[tuple[str, bool], float] = {}
        for flush, program in ways * REPEATS:
            for kernel, duration in _durations(program):
                best[kernel, flush] = min(duration, best.get((kernel, flush), duration))
    measured = {kernel: best[kernel, False] / best[kernel, True] for kernel, flush in best if flush}
    target.write_text(page(tuple(names), measured), encoding="utf-8")


def page(names: tuple[str, ...], measured: Mapping[str, float]) -> str:
    """The page: launches of these programs that scale denormal numbers, in order, with their measured gains."""
    rows, rules = [], load_rules()
    for name in names:
        analysis = Analysis(read([REPORTS / f"{name}.ncu-repz"]))
        shares = analysis.value("denormal_scaling") / analysis.value("executed")
        launches = diagnose(analysis.profile, rules, "report").launches
        for share, launch in zip(shares, launches, strict=True):
            if share < LEAST or launch.kernel not in measured:
                continue
            predicted = [
                found.predicted_speedup.best
                for found in launch.outcomes
                if isinstance(found, Finding) and found.rule.code == RULE
            ]
            said = f"{predicted[0]:.2f}" if predicted else "-"
            unit, use = max(launch.units.items(), key=lambda item: item[1])
            gain = f"{measured[launch.kernel]:.2f}"
            rows.append(f"| {launch.kernel} | {share:.2f} | {unit} {use:.0%} | {said} | {gain} |\n")
    return _HEAD + "".join(rows)


def _durations(program: Path) -> Iterator[tuple[str, float]]:
    command = [str(ncu_here()), *_NCU, str(program)]
    ended = subprocess.run(command, cwd=PROGRAMS, stdout=subprocess.PIPE, text=True, check=True)
    table = ended.stdout[ended.stdout.index('"ID"') :]
    for row in csv.DictReader(io.StringIO(table)):
        yield row["Kernel Name"].partition("(")[0], float(row["Metric Value"].replace(",", ""))


if __name__ == "__main__":
    typer.run(main)
