"""Builds of kernel files, the process that launches them, and compute-sanitizer, all over the emulated GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ncuview.base.errors import ToolError
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.machine_code import KernelCode
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import Count, Judge, Tools
from ncuview.trial.sanitizer import Printed
from ncuview.trial.verify import Answer, Process
from tests.emulation import small
from tests.emulation.device import run_job

KINDS = {"memcheck": "memory", "racecheck": "race", "synccheck": "barrier"}
FINDINGS = {
    "memory": "========= Invalid __global__ write of size 4 bytes\n=========     at k+0x80 in k.cu:3\n",
    "race": "========= Error: Race reported between Write access at k+0x80 in k.cu:3\n"
    "=========     and Read access at k+0x90 in k.cu:5 [4 hazards]\n",
    "barrier": "========= Barrier error detected. Divergent thread(s) in block.\n"
    "=========     at k+0x80 in k.cu:3\n=========     by thread (32,0,0) in block (0,0,0)\n",
}


class Source(Compiled):
    """A source that stands for its machine code."""

    def symbol(self, template: Sequence[int] = ()) -> str:
        return f"{self.kernel.function}<{', '.join(map(str, template))}>" if template else self.kernel.function


def build(kernel: Kernel) -> Build:
    """A kernel at sizes that can be emulated."""
    sizes = small(kernel, threads=1 << 11, elements=1 << 14).sizes
    made = replace(kernel, text=kernel.text.model_copy(update={"sizes": dict(sizes)}))
    return Build(made, Source(made.path, made))


def edited(original: Build, folder: Path, edits: Mapping[str, str]) -> Build:
    """A build of the kernel with each text replaced, at the original's sizes."""
    return of_source(original, folder, replaced(original.kernel, edits))


def replaced(kernel: Kernel, edits: Mapping[str, str]) -> str:
    """The kernel's source with each text replaced, which must be there once."""
    text = kernel.path.read_text(encoding="utf-8")
    for before, after in edits.items():
        assert text.count(before) == 1, f"{before!r} is {text.count(before)} times in {kernel.path.name}"
        text = text.replace(before, after)
    return text


def of_source(original: Build, folder: Path, source: str) -> Build:
    """A build of another source of the kernel, at the original's sizes."""
    path = folder / sha256(source.encode()).hexdigest()[:8] / original.kernel.text.family / original.kernel.path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    kernel = load_kernels(path)[0]
    made = replace(kernel, text=kernel.text.model_copy(update={"sizes": original.kernel.text.sizes}))
    return Build(made, Source(path, made))


def reload_of(small: Kernel) -> Callable[[Path], Kernel]:
    """Reads the kernel of a version's file, at the sizes of a kernel."""

    def reload(path: Path) -> Kernel:
        kernel = load_kernels(path)[0]
        return replace(kernel, text=kernel.text.model_copy(update={"sizes": small.text.sizes}))

    return reload


def not_counted(_: Build) -> None:
    """Counters may not be read."""


def tools(process: Process, count: Count = not_counted, judge: Judge = not_counted) -> Tools:
    """What a bench of kernel files needs: without machine code and diagnoses, so that every change is tried."""

    def compiled(kernel: Kernel, _: Path) -> Compiled:
        return Source(kernel.path, kernel)

    def code_of(_: Compiled, __: Kernel) -> KernelCode:
        raise ToolError("an emulated kernel has no machine code")

    return Tools(compiled, code_of, judge, process, sanitizer, count)


def process(job: Mapping[str, Any]) -> Answer:
    lines, gpu = run_job(job)
    return Answer(lines, gpu.failure)


def sanitizer(tool: str, job: Mapping[str, Any]) -> Printed:
    """What the tool prints of the faults of an emulated launch."""
    lines, gpu = run_job(job)
    assert not gpu.failure
    found = [FINDINGS[fault.kind] for fault in gpu.faults if fault.kind == KINDS[tool]]
    summary = (
        f"RACECHECK SUMMARY: {len(found)} hazards displayed ({len(found)} errors, 0 warnings)"
        if tool == "racecheck"
        else f"ERROR SUMMARY: {len(found)} errors"
    )
    output = f"========= COMPUTE-SANITIZER\n{''.join(found)}========= {summary}\n"
    return Printed(output, lines[-1].get("ended") is True)
