"""What Nsight Compute prints of launches: the bytes of ``ncu --page details`` of a full report with its rules.

    python -m validation.details_bytes OUT KERNEL ...       for example bytes.json k03a k17b

A KERNEL is one of a labelled program. OUT gets the bytes of the page of its first launch, by kernel; those that it has
are left out. Needs a GPU, ncu and nvcc.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from validation.labelled import PROGRAMS, sources
from validation.measure import FULL, compiled, ncu_here

ONE = ("--clock-control=none", "--launch-count=1")


def main(out: Path, kernels: Annotated[list[str], typer.Argument(metavar="KERNEL")]) -> None:
    """Profile one kernel after the other."""
    found: dict[str, int] = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    left = [kernel for kernel in kernels if kernel not in found]
    with tempfile.TemporaryDirectory() as text, ThreadPoolExecutor() as pool:
        folder = Path(text)
        programs = pool.map(partial(compiled, folder=folder), map(source_of, left))
        for kernel, program in zip(left, programs, strict=True):
            if program is not None:
                found[kernel] = len(details(kernel, program, folder / f"{kernel}.ncu-rep"))
                out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
                print(f"{kernel}: {found[kernel]:,} bytes", flush=True)


def source_of(kernel: str) -> Path:
    """The program that defines a kernel."""
    defined = re.compile(rf"\b{kernel}\s*\(")
    return next(each for each in sources().values() if defined.search(each.read_text(encoding="utf-8")))


def details(kernel: str, program: Path, report: Path) -> bytes:
    """The details page of the kernel's first launch."""
    ncu = str(ncu_here())
    profile = [ncu, *FULL, *ONE, f"--kernel-name={kernel}", f"--export={report}", str(program)]
    for command in (profile, [ncu, f"--import={report}", "--page=details"]):
        ended = subprocess.run(command, cwd=PROGRAMS, capture_output=True, check=True, timeout=300)
    return ended.stdout


if __name__ == "__main__":
    typer.run(main)
