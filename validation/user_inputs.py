"""Analyse programs of every kind with one command each, and check the line and the advice.

    python -m validation.user_inputs validation/user-inputs.md

Each program of validation/user_programs reads a matrix by columns, on the line that ends in ``waste`` as a comment;
torch_chain.py launches a kernel of PyTorch's own, which has no source lines. Needs a GPU, ncu, nvcc, PyCUDA, CuPy,
Triton, Numba and PyTorch; what is not installed is left out and said.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from ncuview.profiling.machine import find_nvcc

PROGRAMS = Path(__file__).resolve().parent / "user_programs"
WORDS = {"coalescing", "shared_memory_tiling"}
"""What is right for a matrix that is read by columns."""


@dataclass(frozen=True)
class Input:
    """One program with the command that analyses it."""

    kind: str
    words: list[str]
    module: str = ""
    shows: str = "waste"
    """What the place of the waste must hold; empty where there are no lines to be right about."""


def main(target: Path) -> None:
    """Analyse all of them and write a table."""
    rows = ["| input | command | advice | predicted | where | s |", "| --- | --- | --- | ---: | --- | ---: |"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for given in _inputs(Path(folder)):
            if given.module and not find_spec(given.module):
                print(f"{given.kind}: {given.module} is not installed", flush=True)
                continue
            row, right = _analysed(given)
            failed += not right
            rows.append(row)
            print(row, flush=True)
    target.write_text("\n".join([*_HEAD, *rows, ""]), encoding="utf-8")
    sys.exit(failed)


_HEAD = [
    "# Programs of every kind",
    "",
    "Made by `python -m validation.user_inputs validation/user-inputs.md` on an NVIDIA H200. Each is one command,",
    "`ncuview analyze --format json` and these words; *where* is the first line of the first advice.",
    "",
]


def _inputs(folder: Path) -> list[Input]:
    binary = folder / "inlined_function"
    nvcc = find_nvcc()
    subprocess.run(
        [str(nvcc), "-O3", "-arch=native", "-lineinfo", "-o", str(binary), "inlined_function.cu"],
        cwd=PROGRAMS,
        check=True,
    )
    bare = '--kernel transposed<float> --grid "n / 32, n / 8" --block "32, 8" --size n=4096'
    bare += ' --arg "out float32[n, n]" --arg "in float32[n, n] below 256" --arg "int32 = n"'
    only = ["-k", "column_read"]
    return [
        Input("CUDA binary", ["--", str(binary)]),
        Input("PyCUDA script", [*only, "pycuda_column.py"], "pycuda"),
        # CuPy keeps no file with its source: line 5 of the string is all that the report knows.
        Input("CuPy script", [*only, "cupy_column.py"], "cupy", shows=".cu:5 "),
        Input("Triton script", [*only, "triton_column.py"], "triton"),
        Input("Numba script", [*only, "numba_column.py"], "numba"),
        Input(
            "PyTorch script", ["-k", "elementwise_kernel", "--mine", "at::native", "torch_chain.py"], "torch", shows=""
        ),
        Input("bare .cu file", ["bare.cu", *shlex.split(bare)]),
    ]


def _analysed(given: Input) -> tuple[str, bool]:
    """A row of the table, and whether line and advice are right."""
    started = time.monotonic()
    command = [sys.executable, "-m", "ncuview", "analyze", "--format", "json", *given.words]
    done = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=False)
    took = time.monotonic() - started
    shown = shlex.join(Path(word).name if word.startswith("/") else word for word in given.words)
    if done.returncode:
        # The rest of a traceback names folders of the machine.
        errors = re.findall(r"\w+Error: [^\n]{1,120}", done.stderr)
        return f"| {given.kind} | `{shown}` | exit {done.returncode}: {errors[-1:]} | | | {took:.1f} |", False
    launches = [launch for launch in json.loads(done.stdout)["launches"] if launch["findings"]]
    if not launches:
        return f"| {given.kind} | `{shown}` | no advice | | | {took:.1f} |", False
    finding: dict[str, Any] = max(launches, key=_saves)["findings"][0]
    where = _place(finding)
    right = finding["optimization"] in WORDS and given.shows in where
    predicted = finding["predicted_speedup"]
    gain = f"{predicted['best']:.2f} ({predicted['low']:.2f} to {predicted['high']:.2f})"
    return f"| {given.kind} | `{shown}` | {finding['optimization']} | {gain} | {where} | {took:.1f} |", right


def _saves(launch: dict[str, Any]) -> float:
    """The time that a launch's first advice would save, in ns."""
    return float(launch["duration_ns"] * (1 - 1 / launch["findings"][0]["predicted_speedup"]["best"]))


def _place(finding: dict[str, Any]) -> str:
    if finding["where"]:
        line = finding["where"][0]
        calls = "".join(f", called by {Path(call['file']).name}:{call['line']}" for call in line["called_from"][:1])
        return f"{Path(line['file']).name}:{line['line']} `{line['code']}`{calls}"
    if finding["instructions"]:
        instruction = finding["instructions"][0]
        return f"instruction {instruction['address']:#x} `{instruction['sass']}` (no source lines)"
    return ""


if __name__ == "__main__":
    typer.run(main)
