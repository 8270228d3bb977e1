"""Trials of kernel files over the emulated GPU: what is kept is right, and faster by the emulated clock."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ncuview.catalogue.kernels import find_kernel
from ncuview.records.trial import Attempt
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import KernelFileBench
from ncuview.trial.search import Found, search
from ncuview.trial.verify import Answer
from tests.emulation import needs_gpp
from tests.emulation.device import run_job
from tests.trial.emulated import build, reload_of, tools

pytestmark = needs_gpp


def bench_of(name: str, folder: Path, faster: str) -> tuple[KernelFileBench, str]:
    """A bench of a kernel at a small size; versions whose source holds ``faster`` take half the time."""
    small = build(find_kernel(name)).kernel

    def clock(source: str, number: int) -> float:
        return (500.0 if faster in Path(source).read_text() else 1000.0) * (1 + 0.001 * (number % 3))

    def process(job: Mapping[str, Any]) -> Answer:
        lines, gpu = run_job(job, clock)
        return Answer(lines, gpu.failure)

    return KernelFileBench(small, reload_of(small), folder, tools(process)), small.path.read_text()


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
