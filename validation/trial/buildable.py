"""Compile every edit that makers write for the targets without a finding, for sm_90 and without a GPU.

    python3 -m validation.trial.buildable OUT [--jobs N] [--deadline SECONDS] [TARGET ...]

``OUT`` gets a line for each version of each target, the original among them: the maker, the seconds that nvcc took,
and its first error; empty where it compiles. Versions that OUT has are left out. The command of a labelled program is
that of run.py, with all of its host code; a catalogue kernel is compiled as for its profile. At the end stands the
number of edits, and what a trial of all targets spends on compilation.
"""

from __future__ import annotations

import math
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import NcuviewError
from ncuview.catalogue.compiler import compile_kernel
from ncuview.catalogue.kernel_file import load_kernels
from ncuview.catalogue.kernels import launch_of
from ncuview.profiling.machine import find_nvcc
from validation.labelled import HERE
from validation.trial.choose import edits_of, source_of
from validation.trial.run import listed_targets
from validation.trial.tables import append, rows_of

ARCHITECTURE = "sm_90"
ORIGINAL = "original"
COLUMNS = ("target", "maker", "seconds", "error")


def main(
    out: Path,
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET")] = None,
    *,
    jobs: Annotated[int, typer.Option(metavar="N", help="Compilers at once.")] = 2,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="No compiler begins later.")] = math.inf,
) -> None:
    """Compile what the table does not have, and sum it up."""
    end, known = time.monotonic() + deadline, {(row["target"], row["maker"]) for row in rows_of(out)}
    versions = [version for target in targets or listed_targets() for version in versions_of(target)]

    def add(version: tuple[str, str, str]) -> None:
        if version[:2] in known or time.monotonic() >= end:
            return
        started = time.monotonic()
        error = compiled(version[0], version[2])
        row = (*version[:2], f"{time.monotonic() - started:.1f}", error)
        append(out, COLUMNS, [row])
        if error:
            print("  ".join(row), flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(add, versions))
    print(summary(rows_of(out), len(versions)))


def versions_of(target: str) -> list[tuple[str, str, str]]:
    """The versions of a target: its name, the maker's, and the source."""
    path, kernel = source_of(target)
    source = path.read_bytes().decode("utf-8", "surrogateescape")
    made = edits_of(path, kernel)
    return [(target, ORIGINAL, source), *((target, maker, edit.edited) for maker, edit in made.items())]


def compiled(target: str, source: str) -> str:
    """The compiler's first error; empty where a version compiles."""
    path, kernel = source_of(target)
    nvcc = find_nvcc()
    assert nvcc is not None, "nvcc is missing"
    with tempfile.TemporaryDirectory() as text:
        file = Path(text) / path.parent.name / path.name
        file.parent.mkdir()
        file.write_bytes(source.encode("utf-8", "surrogateescape"))
        if "/" not in target:
            version = next(each for each in load_kernels(file) if each.name == kernel)
            try:
                compile_kernel(nvcc, version, Path(text), ARCHITECTURE).symbol(launch_of(version).template)
            except NcuviewError as refused:
                return str(refused)
            return ""
        shutil.copy(HERE / "harness.h", text)
        command = [
            str(nvcc),
            "-O3",
            "-std=c++17",
            f"-arch={ARCHITECTURE}",
            "-lineinfo",
            "-c",
            "-o",
            "code.o",
            str(file),
        ]
        done = subprocess.run(command, cwd=text, capture_output=True, text=True, check=False)
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        return (errors or [done.stderr[-200:]])[0] if done.returncode else ""


def summary(rows: Sequence[Mapping[str, str]], versions: int) -> str:
    """The numbers of edits, failures and seconds, in words."""
    edits = [row for row in rows if row["maker"] != ORIGINAL]
    failed = [row for row in rows if row["error"]]
    seconds = [float(row["seconds"]) for row in rows]
    median, longest = statistics.median(seconds), max(seconds)
    targets = {row["target"] for row in rows}
    return "\n".join(
        [
            f"{len(edits)} edits of {len(targets)} targets; {len(rows)} of {versions} versions were compiled",
            f"{len(failed)} do not compile"
            + "".join(f"\n  {row['target']} {row['maker']}: {row['error']}" for row in failed),
            f"nvcc: {sum(seconds):.0f} s in all, median {median:.1f} s, at most {longest:.1f} s",
        ]
    )


if __name__ == "__main__":
    typer.run(main)
