"""Check wrong edits as a trial does on this GPU: none may be kept.

    python3 -m validation.trial.wrong OUT [--deadline SECONDS] [--jobs N]
    python3 -m validation.trial.wrong OUT --compile-only

``OUT/wrong.tsv`` gets a line for each edit of ``mistakes.wrong_edits``: its kernel, class and origin, the verdict, the
check that decided, what the kernel's reference says of its result (the oracle, which knows nothing of the original
kernel), and whether a check with one input and one size alone would keep it. Edits that the table has are left out, so
that the command can be repeated until all are there. Needs a GPU, nvcc, PyCUDA and compute-sanitizer; with
``--compile-only`` nvcc alone, for sm_90, and the table is ``OUT/compiled.tsv``.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ncuview.base.errors import NcuviewError
from ncuview.catalogue.compiler import Compiled, compile_kernel
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import launch_of
from ncuview.catalogue.live import event_times
from ncuview.catalogue.reference import ORACLES
from ncuview.pipeline.trials import tools_for_files
from ncuview.profiling.machine import find_nvcc
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import KernelFileBench, Tools
from ncuview.trial.search import NotBuilt
from ncuview.trial.stages import Stages
from ncuview.trial.verify import Answer, Process
from tests.trial.seeds import kernel_of
from validation.trial.mistakes import WrongEdit, original_of, wrong_edits
from validation.trial.tables import append, rows_of

COLUMNS = ("name", "kernel", "class", "origin", "verdict", "check", "oracle", "one input and size", "seconds", "reason")
ARCHITECTURE = "sm_90"
KEPT, NOT_KEPT, NO_RESULT = "kept", "not kept", "no result"


@dataclass(frozen=True)
class Checked:
    """What became of a wrong edit.

    Attributes:
        verdict: That of ``verify``, or ``not built``.
        check: The check that decided.
        one: Whether a check of one input at one size would keep it: ``kept``, ``not kept`` or ``no result``.
        reason: What the check, or the compiler, found.
        build: The wrong version; None where it was not built.
    """

    verdict: str
    check: str
    one: str
    reason: str
    build: Build | None = None


class Watched:
    """A process that keeps its first answer, which is of the kernel's own size."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._first: tuple[Mapping[str, Any], Answer] | None = None

    def __call__(self, job: Mapping[str, Any]) -> Answer:
        """Do a job."""
        answer = self._process(job)
        self._first = self._first or (job, answer)
        return answer

    @property
    def one(self) -> str:
        """Whether the first launch on the first input has the original's outputs, and nothing else is looked at."""
        if self._first is None:
            return NO_RESULT
        job, answer = self._first
        _, variant = job["cases"][0]["launches"]
        lines = (line for line in answer.lines if line.get("key") == variant and "begins" not in line)
        line = next((line for line in lines if (line["case"], line["run"]) == (0, 0)), None)
        if line is None:
            return NO_RESULT
        return NOT_KEPT if line["error"] or any(each["elements"] for each in line["differences"]) else KEPT


def reload_of(kernel: Kernel) -> Callable[[Path], Kernel]:
    """Reads the kernel of a version's file."""
    return lambda path: next(each for each in load_kernels(path) if each.name == kernel.name)


def checked(wrong: WrongEdit, kernel: Kernel, reload: Callable[[Path], Kernel], folder: Path, tools: Tools) -> Checked:
    """Check a wrong edit of a kernel as a trial does.

    Args:
        wrong: The edit.
        kernel: The kernel, at the sizes to check at first.
        reload: Reads the kernel of a version's file, at the same sizes.
        folder: A private folder for versions.
        tools: What the bench needs.
    """
    process = Watched(tools.process)
    bench = KernelFileBench(kernel, reload, folder, replace(tools, process=process))
    before = bench.build(original_of(wrong))
    try:
        after = bench.build(wrong.edit.edited)
    except NotBuilt as refused:
        return Checked("not built", "", NO_RESULT, str(refused))
    found = bench.check(before, after, wrong.edit)
    return Checked(found.verdict, found.check, process.one, found.reason, after)


def reference_of(build: Build, folder: Path) -> str:
    """What a kernel's reference says of its result on this GPU: ``right``, ``WRONG: why``, or ``none``."""
    if build.kernel.text.oracle not in ORACLES:
        return "none"
    try:
        event_times(launch_of(build.kernel), {build.kernel.function: build.compiled}, folder)
    except NcuviewError as wrong:
        return f"WRONG: {wrong}"
    return "right"


def main(
    out: Path,
    *,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="No edit begins later.")] = math.inf,
    jobs: Annotated[int, typer.Option(metavar="N", help="Edits at once.")] = 2,
    compile_only: Annotated[bool, typer.Option("--compile-only", help=f"Compile for {ARCHITECTURE}.")] = False,
) -> None:
    """Check every wrong edit that the table does not have, and sum it up."""
    out.mkdir(parents=True, exist_ok=True)
    table, end = out / ("compiled.tsv" if compile_only else "wrong.tsv"), time.monotonic() + deadline
    known = {row["name"] for row in rows_of(table)}
    left = [wrong for wrong in wrong_edits() if wrong.name not in known]
    row_of = compiled if compile_only else _row

    def add(wrong: WrongEdit) -> None:
        if time.monotonic() >= end:
            return
        row = row_of(wrong)
        append(table, COLUMNS, [row])
        print("  ".join(row), flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(add, left))
    rows = rows_of(table)
    print(summary(rows))
    print(f"{len(wrong_edits()) - len(rows)} edits are left")


def summary(found: Sequence[Mapping[str, str]]) -> str:
    """How many wrong edits were kept, and what kept or refuted them, in words."""
    kept = [each["name"] for each in found if each["verdict"] == "verified"]
    one = sum(each["one input and size"] == KEPT for each in found)
    wrong = sum(each["oracle"].startswith("WRONG") for each in found)
    kernels, classes = ({each[name] for each in found} for name in ("kernel", "class"))
    lines = [
        f"{len(found)} wrong edits of {len(kernels)} kernels, {len(classes)} classes",
        f"kept: {len(kept)}; by a check with one input and one size alone: {one}",
        f"the reference finds {wrong} of their results wrong",
        *(f"KEPT {name}" for name in kept),
    ]
    decided = Counter(f"{each['verdict']} {each['check']}".strip() for each in found)
    return "\n".join([*lines, *(f"{number:5} {what}" for what, number in decided.most_common())])


def _row(wrong: WrongEdit) -> tuple[str, ...]:
    kernel, started = kernel_of(wrong.kernel), time.monotonic()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        found = checked(wrong, kernel, reload_of(kernel), folder / "versions", tools_for_files(folder, [], Stages()))
        (folder / "oracle").mkdir()
        oracle = reference_of(found.build, folder / "oracle") if found.build else ""
    seconds = f"{time.monotonic() - started:.0f}"
    named = (wrong.name, wrong.kernel, wrong.kind, wrong.origin)
    return (*named, found.verdict, found.check, oracle, found.one, seconds, found.reason)


def compiled(wrong: WrongEdit) -> tuple[str, ...]:
    """The row of an edit that is compiled, and not checked."""
    kernel, started, nvcc = kernel_of(wrong.kernel), time.monotonic(), find_nvcc()
    assert nvcc is not None, "nvcc is missing"

    def for_hopper(version: Kernel, into: Path) -> Compiled:
        made = compile_kernel(nvcc, version, into, ARCHITECTURE)
        made.symbol(launch_of(version).template)
        return made

    with tempfile.TemporaryDirectory() as text:
        tools = replace(tools_for_files(Path(text), [], Stages()), compile=for_hopper)
        bench, said = KernelFileBench(kernel, reload_of(kernel), Path(text) / "versions", tools), ""
        try:
            bench.build(wrong.edit.edited)
        except NotBuilt as refused:
            said = str(refused)
    seconds = f"{time.monotonic() - started:.1f}"
    verdict = "not built" if said else "compiles"
    return (wrong.name, wrong.kernel, wrong.kind, wrong.origin, verdict, "", "", "", seconds, said)


if __name__ == "__main__":
    typer.run(main)
