"""Show what a new driver or ncu release changes for ncuview.

Where the old and the new ncu are, with a CUDA program for the passes:

    python -m tools.new_release save old ./saxpy
    python -m tools.new_release save new ./saxpy
    python -m tools.new_release compare old new

``save`` writes one text file per command of ``OUTPUTS``, and ``passes.txt``, what ncu prints as it collects the plan.
What ncu prints in runs that fail is put by hand into ``failures/``, each file named after the id that ncuview gives:
``NCU-PERM.txt``, ``NCU-PERM.2.txt``.
``compare`` needs no ncu. A file that both folders must hold and one does not is an error, except ``passes.txt``.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ncuview.engine.shipped_plan import shipped_plan
from ncuview.profiling.ncu_failures import first_match, remarks
from ncuview.profiling.ncu_output import ProgressReader
from ncuview.profiling.options import OPTIONS, Form

OUTPUTS = {
    "version.txt": ["--version"],
    "metrics.txt": ["--query-metrics"],
    "sections.txt": ["--list-sections"],
    "help.txt": ["--help"],
}
app = typer.Typer(help="What a new driver or ncu release changes for ncuview.", add_completion=False)


@app.command(context_settings={"ignore_unknown_options": True})
def save(folder: Path, program: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM ARGS...")] = None) -> None:
    """Write what ncu prints into a folder; with a program, also the passes that the plan takes on it."""
    commands = dict(OUTPUTS)
    if program:
        commands["passes.txt"] = ["--metrics", ",".join(shipped_plan()), *program]
    folder.mkdir(parents=True, exist_ok=True)
    for name, arguments in commands.items():
        done = subprocess.run(["ncu", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
        (folder / name).write_bytes(done.stdout)


def changes(old: Path, new: Path) -> Iterator[str]:
    """One line for each change from one folder of outputs to another."""
    versions = [_version(folder) for folder in (old, new)]
    if versions[0] != versions[1]:
        yield f"ncu: {versions[0]} -> {versions[1]}"
    planned = {metric.partition(".")[0] for metric in shipped_plan()}
    flags = {option.flag for option in OPTIONS if option.form is not Form.FURTHER}
    for what, name, pattern, wanted in (
        ("metric of the plan", "metrics.txt", r"^(\w+)", planned),
        ("section", "sections.txt", r"^(\w+)", None),
        ("option", "help.txt", r"--([a-z][a-z-]*)", flags),
    ):
        before, after = (set(re.findall(pattern, _read(folder / name), re.MULTILINE)) for folder in (old, new))
        yield from (f"{what} gone: {each}" for each in _sorted(before - after, wanted))
        yield from (f"{what} new: {each}" for each in _sorted(after - before, wanted))
    passes = [_passes(folder / "passes.txt") for folder in (old, new)]
    for kernel in sorted(passes[0].keys() & passes[1].keys()):
        if passes[0][kernel] != passes[1][kernel]:
            yield f"passes of {kernel}: {passes[0][kernel]} -> {passes[1][kernel]}"
    for file in sorted((new / "failures").glob("*.txt")):
        expected, found = file.name.partition(".")[0], first_match(["cause", "symptom"], remarks(_read(file)))
        if found is None or found[0].id != expected:
            yield f"text of failure {expected} unknown: {file.name} is {found[0].id if found else 'no failure'}"


def _sorted(names: set[str], wanted: set[str] | None) -> list[str]:
    return sorted(names if wanted is None else names & wanted)


def _read(file: Path) -> str:
    return file.read_text("utf-8", errors="replace")


def _version(folder: Path) -> str:
    found = re.search(r"Version (\S+)", _read(folder / "version.txt"))
    return found[1] if found else "unknown"


def _passes(file: Path) -> dict[str, int]:
    """The most passes of each kernel; empty where none were saved."""
    events = ProgressReader(clock=lambda: 0.0).feed(file.read_bytes()) if file.exists() else []
    counts: dict[str, int] = {}
    for event in events:
        counts[event.kernel] = max(event.passes or 0, counts.get(event.kernel, 0))
    return counts


@app.command()
def compare(old: Path, new: Path) -> None:
    """Print what changed from one folder of outputs to another."""
    print("\n".join(changes(old, new)) or "no change")


if __name__ == "__main__":
    app()
