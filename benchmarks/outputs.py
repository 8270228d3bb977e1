"""What writing a diagnosis of many launches in every format costs, beside reading the report.

    python -m benchmarks.outputs [LAUNCHES]

The report is a recorded one, its launches again and again. Reading, diagnosing and every format are timed in turn in
one process, REPEATS times; medians are compared. Needs no GPU.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.reading import FAMILY, repeated
from ncuview.api import diagnose, load_rules
from ncuview.catalogue.kernels import recorded_report
from ncuview.reader.precheck import read_report
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, Gate
from ncuview.render.outputs import FORMATS, output_text, write_output

LAUNCHES = 1_000
REPEATS = 3
AIM = 3.0
_LIMIT_NS = 300_000.0


def main(launches: Annotated[int, typer.Argument(min=1)] = LAUNCHES) -> None:
    """Print a row for each step, and the ratio."""
    rules = load_rules()
    runs: defaultdict[str, list[float]] = defaultdict(list)
    sizes: dict[str, int] = {}

    @contextmanager
    def timed(step: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        runs[step].append(time.perf_counter() - started)

    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "many.ncu-rep")
        report.write_bytes(repeated(read_report(recorded_report(FAMILY)), launches))
        for _ in range(REPEATS):
            with timed("read"):
                profile = read([report])
            with timed("diagnose"):
                diagnosis = diagnose(profile, rules)
            gate = _gate(diagnosis)
            for to in FORMATS:
                with timed(to):
                    content = output_text(diagnosis, gate, to, rules=rules)
                    write_output(Path(folder, to), content)
                sizes[to] = len(content)
    median = {step: statistics.median(seconds) for step, seconds in runs.items()}
    print(f"{launches:,} launches, a check for each; medians of {REPEATS} runs\n")
    print(f"{'step':12} {'seconds':>8} {'size':>12}")
    for step, seconds in median.items():
        print(f"{step:12} {seconds:8.2f}" + (f" {sizes[step]:12,}" if step in sizes else ""))
    outputs = sum(median[to] for to in FORMATS)
    print(f"\nall outputs: {outputs:.2f} s, {outputs / median['read']:.2f} times reading (aim: at most {AIM:g})")


def _gate(diagnosis: Diagnosis) -> Gate:
    return Gate(tuple(_check(launch) for launch in diagnosis.launches), "error")


def _check(launch: LaunchDiagnosis) -> Check:
    return Check(
        kernel=launch.demangled,
        grid=launch.grid,
        block=launch.block,
        subject="duration_ns",
        condition=f"at most {_LIMIT_NS:,.0f} ns",
        result="failed" if launch.duration_ns > _LIMIT_NS else "passed",
        level="error",
        measured=launch.duration_ns,
        limit=_LIMIT_NS,
        unit="ns",
        message=f"takes {launch.duration_ns:,.0f} ns",
        origin="budget.toml, budget 1",
        where=launch.findings[0].where if launch.findings else (),
    )


if __name__ == "__main__":
    typer.run(main)
