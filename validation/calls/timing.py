"""Time the labelled variants of programs on this GPU, without ncu, and add them to a copy of times.json.

    python -m validation.calls.timing OUT.json [PROGRAM ...]      those without times where none is named

Wall time is the median of seven steps after three to warm up; kernel time is that of one step by CUPTI, without copies.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import NcuviewError
from validation.calls.labels import labels_of, sources, times
from validation.calls.record import known_programs
from validation.calls.runs import Took, program_of


def main(
    out: Path, programs: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM", callback=known_programs)] = None
) -> None:
    """Time one variant after the other, each in a process of its own."""
    found = {name: dict(variants) for name, variants in times().items()}
    for program in programs or [name for name, source in sources().items() if source.stem not in found]:
        source = sources()[program]
        for variant, took in _took(source):
            found.setdefault(source.stem, {})[variant] = {
                "wall_ms": round(took.wall_ms, 3),
                "kernel_ms": round(took.kernel_ms, 3),
                "kernels": took.kernels,
            }
            out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _took(source: Path) -> Iterator[tuple[str, Took]]:
    """What a step of each labelled variant took; a line about what failed, and what did not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = program_of(source, Path(folder))
        except NcuviewError as error:
            print(f"{source.stem}: FAILED: {error}", flush=True)
            return
        for variant in labels_of(source):
            try:
                took = program.took(variant)
            except NcuviewError as error:
                print(f"{source.stem} {variant}: FAILED: {error}", flush=True)
                continue
            wall, kernels = f"wall {took.wall_ms:.3f} ms", f"kernels {took.kernel_ms:.3f} ms, {took.kernels}"
            print(f"{source.stem} {variant}: {wall}, {kernels}", flush=True)
            yield variant, took


if __name__ == "__main__":
    typer.run(main)
