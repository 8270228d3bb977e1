"""Time the labelled variants of programs on this GPU, without ncu, and add them to a copy of times.json.

    python -m validation.calls.timing OUT.json [PROGRAM ...]      those without times where none is named

Wall time is the median of seven steps after three to warm up; kernel time is that of one step by CUPTI, without copies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ncuview.profiling.python_hook import trace_variables
from validation.calls import step
from validation.calls.labels import labels_of, sources, times
from validation.calls.record import known_programs

LIMIT_S = 120.0


def main(
    out: Path, programs: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM", callback=known_programs)] = None
) -> None:
    """Time one variant after the other, each in a process of its own."""
    found = {name: dict(variants) for name, variants in times().items()}
    for program in programs or [name for name, source in sources().items() if source.stem not in found]:
        source = sources()[program]
        for variant in labels_of(source):
            if took := _took(source, variant):
                found.setdefault(source.stem, {})[variant] = took
                out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _took(source: Path, variant: str) -> Mapping[str, Any] | None:
    """What a step of a variant took; None, and a line about it, where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", step.__name__, "--time", str(source), variant]
        environment = {**os.environ, **trace_variables(Path(folder), only_ranges=True)}
        environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        try:
            ended = subprocess.run(words, env=environment, timeout=LIMIT_S, check=True, capture_output=True, text=True)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failed:
            print(f"{source.stem} {variant}: FAILED: {failed} {str(failed.stderr)[-800:]}", flush=True)
            return None
        traces = [json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("*.json")]
    if len(traces) != 1:
        print(f"{source.stem} {variant}: {len(traces)} traces", flush=True)
        return None
    wall_ms = float(ended.stdout.split()[-1])
    kernel_ms = round(traces[0]["busy_ns"] / 1e6, 3)
    print(f"{source.stem} {variant}: wall {wall_ms} ms, kernels {kernel_ms} ms, {traces[0]['launches']}", flush=True)
    return {"wall_ms": round(wall_ms, 3), "kernel_ms": kernel_ms, "kernels": traces[0]["launches"]}


if __name__ == "__main__":
    typer.run(main)
