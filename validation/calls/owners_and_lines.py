"""List owner and call of every launch of the programs in models/, to be checked by hand.

    python3 -m validation.calls.owners_and_lines OUT [PROGRAM ...]       all of models/ without names

Each program runs as ``ncuview analyze -q PROGRAM --format json``. ``OUT/launches.tsv`` gets a line for each combination
of program, kernel, owner and call, with its number of launches. A program that fails is said, and the others go on.
Needs a GPU, ncu and the frameworks.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

HERE = Path(__file__).resolve().parent / "models"
LIMIT_S = 240.0


class Line(NamedTuple):
    """What ncuview says of a launch: names and places as text, empty where unknown."""

    program: str
    kernel: str
    owner_kind: str
    owner: str
    call: str
    operator: str
    backward: str
    forward: str


def main(out: Path, programs: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM")] = None) -> None:
    """Profile one program after the other, and write the list after each."""
    out.mkdir(parents=True, exist_ok=True)
    found: Counter[Line] = Counter()
    for name in programs or sorted(path.stem for path in HERE.glob("*.py")):
        started = time.monotonic()
        command = [sys.executable, "-m", "ncuview", "analyze", "-q", str(HERE / f"{name}.py"), "--format", "json"]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            print(f"{name}: FAILED: not ended after {LIMIT_S} s", flush=True)
            continue
        if not ended.stdout:
            print(f"{name}: FAILED with {ended.returncode}: {ended.stderr[-1500:]}", flush=True)
            continue
        launches = json.loads(ended.stdout)["launches"]
        found.update(_line(name, launch) for launch in launches)
        print(
            f"{name}: {len(launches)} launches, {time.monotonic() - started:.0f} s, exit {ended.returncode}", flush=True
        )
        rows = ("\t".join((str(count), *line)) for line, count in sorted(found.items()))
        header = "\t".join(("launches", *Line._fields))
        (out / "launches.tsv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")


def _line(program: str, launch: Mapping[str, Any]) -> Line:
    call = launch.get("call") or {}
    forward = call.get("forward") or {}
    return Line(
        program,
        launch["demangled"].replace("\t", " "),
        launch["owner_kind"],
        launch["owner"],
        _place(call),
        call.get("operator", ""),
        call.get("backward", ""),
        _place(forward),
    )


def _place(frame: Mapping[str, Any]) -> str:
    return f"{Path(frame['file']).name}:{frame['line']} {frame['function']}" if frame.get("file") else ""


if __name__ == "__main__":
    typer.run(main)
