"""Trials of kernel files over the emulated GPU: what is kept is right, and faster by the emulated clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import ToolError
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel
from ncuview.catalogue.machine_code import KernelCode
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.trial import Attempt
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import KernelFileBench, Tools
from ncuview.trial.search import Found, search
from ncuview.trial.verify import Answer
from tests.emulation import needs_gpp
from tests.emulation.device import run_job
from tests.trial.emulated import Source, build, sanitizer

pytestmark = needs_gpp


def bench_of(name: str, folder: Path, faster: str) -> tuple[KernelFileBench, str]:
    """A bench of a kernel at a small size; versions whose source holds ``faster`` take half the time."""
    small = build(find_kernel(name)).kernel

    def reload(path: Path) -> Kernel:
        kernel = load_kernels(path)[0]
        return replace(kernel, text=kernel.text.model_copy(update={"sizes": small.text.sizes}))

    def compiled(kernel: Kernel, _: Path) -> Compiled:
        return Source(kernel.path, kernel)

    def code_of(_: Compiled, __: Kernel) -> KernelCode:
        raise ToolError("an emulated kernel has no machine code")

    def clock(source: str, number: int) -> float:
        return (500.0 if faster in Path(source).read_text() else 1000.0) * (1 + 0.001 * (number % 3))

    def process(job: Mapping[str, Any]) -> Answer:
        lines, gpu = run_job(job, clock)
        return Answer(lines, gpu.failure)

    def judge(_: Kernel) -> LaunchDiagnosis | None:
        return None  # without counters every change that applies is tried

    tools = Tools(compiled, code_of, judge, process, sanitizer)
    return KernelFileBench(small, reload, folder, tools), small.path.read_text()


def tried(name: str, folder: Path, faster: str) -> tuple[Found[Build], list[Attempt]]:
    bench, source = bench_of(name, folder, faster)
    found = Found(source, bench.build(source))
    search(bench, found, lambda: False, lambda _: None)
    return found, found.attempts


def test_a_naive_transpose_gets_a_tile(tmp_path: Path) -> None:
    found, attempts = tried("transposeNaive", tmp_path, faster="__shared__")
    (kept,) = [each for each in attempts if each.decision == "kept"]
    assert "shared" in kept.title
    assert kept.measured is not None
    assert kept.measured.best == pytest.approx(2.0, rel=0.01)
    assert "__shared__" in found.source
    assert any("cases" in check for check in kept.checks)
    assert any("racecheck" in check for check in kept.checks)


def test_nothing_is_kept_where_nothing_is_faster(tmp_path: Path) -> None:
    found, attempts = tried("transposeNaive", tmp_path, faster="there is no such text")
    assert found.kept == 0
    assert {each.decision for each in attempts} <= {"no gain", "not written", "not built"}
    assert all(each.reason for each in attempts)
