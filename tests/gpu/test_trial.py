"""Variants of kernels on a GPU: wrong edits are refuted, right ones verified, and known gains measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.at_once import Together
from ncuview.base.system import usable_processors
from ncuview.catalogue.bench import Bench
from ncuview.catalogue.compiler import compile_kernel
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel
from ncuview.pipeline.trials import tools_for_files
from ncuview.profiling.machine import find_nvcc
from ncuview.trial.cases import Build, job_of
from ncuview.trial.lanes import missing_lanes
from ncuview.trial.sanitizer import OPTIONS, Printed
from ncuview.trial.stages import Stages
from ncuview.trial.timing import Timing, judged
from ncuview.trial.verify import Answer, Verification, verify
from tests.trial.emulated import replaced
from tests.trial.seeds import SEEDS, Seed, kernel_of

pytestmark = pytest.mark.gpu

SECONDS = 120
PADDED = {"tile[TILE_DIM][TILE_DIM];": "tile[TILE_DIM][TILE_DIM + 1];"}


def compiled(kernel: Kernel, folder: Path) -> Build:
    nvcc = find_nvcc()
    assert nvcc is not None
    folder.mkdir(parents=True, exist_ok=True)
    return Build(kernel, compile_kernel(nvcc, kernel, folder))


def edited(kernel: Kernel, folder: Path, edits: Mapping[str, str]) -> Build:
    path = folder / kernel.text.family / kernel.path.name
    path.parent.mkdir(parents=True)
    path.write_text(replaced(kernel, edits), encoding="utf-8")
    return compiled(load_kernels(path)[0], folder / "compiled")


def versions(seed: Seed, edits: Mapping[str, str], folder: Path) -> tuple[Build, Build]:
    kernel = kernel_of(seed.kernel)
    return compiled(kernel, folder / "original"), edited(kernel, folder / "edited", edits)


def verified(seed: Seed, edits: Mapping[str, str], folder: Path) -> Verification:
    original, variant = versions(seed, edits, folder)
    jobs = folder / "jobs"
    jobs.mkdir()
    bench = Bench(jobs, folder, SECONDS)

    def process(job: Mapping[str, Any]) -> Answer:
        done = bench.run(job)
        return Answer(done.lines, done.failure)

    def sanitizer(tool: str, job: Mapping[str, Any]) -> Printed:
        done = bench.sanitize(tool, OPTIONS, job)
        return Printed(done.output, bool(done.lines) and done.lines[-1].get("ended") is True)

    return verify(
        original,
        variant,
        process,
        sanitizer,
        reordered=seed.reordered,
        at_once=Together(usable_processors(), bench.end),
    )


def named(seed: Seed) -> str:
    return seed.kind.replace(" ", "-")


@pytest.mark.parametrize("seed", SEEDS, ids=named)
def test_a_wrong_edit_is_refuted(seed: Seed, tmp_path: Path) -> None:
    found = verified(seed, seed.wrong, tmp_path)
    if found.verdict == "verified":  # what CUDA leaves undefined may be right on this GPU
        assert missing_in(versions(seed, seed.wrong, tmp_path / "counted"), tmp_path / "counters"), found
    else:
        assert found.verdict == "refuted", found


def missing_in(both: tuple[Build, Build], folder: Path) -> str:
    """The lanes that the shuffles of the second version miss, by counters."""
    folder.mkdir()
    judge = tools_for_files(folder, [], Stages()).judge
    before, after = (judge(version) for version in both)
    assert before is not None
    assert after is not None
    return missing_lanes(before.counted, after.counted)


@pytest.mark.parametrize("seed", SEEDS, ids=named)
def test_the_right_edit_is_verified(seed: Seed, tmp_path: Path) -> None:
    found = verified(seed, seed.right, tmp_path)
    assert found.verdict == "verified", found


def timed(edits: Mapping[str, str], folder: Path) -> Timing:
    kernel = find_kernel("transposeCoalesced")
    original, variant = compiled(kernel, folder / "original"), edited(kernel, folder / "edited", edits)
    jobs = folder / "jobs"
    jobs.mkdir()
    job = job_of(
        {"original": original, "variant": variant},
        kernel.text.sizes,
        mode="time",
        patterns=("random",),
        budget_s=20,
    )
    done = Bench(jobs, folder, SECONDS).run(job)
    assert not done.failure
    times = done.lines[-1]["times_ns"]
    return judged(times["original"], times["variant"])


def test_padding_gains_and_a_comment_does_not(tmp_path: Path) -> None:
    assert timed(PADDED, tmp_path / "padded").outcome == "faster"
    unchanged = timed({"__syncthreads();": "__syncthreads(); // as before"}, tmp_path / "same")
    assert unchanged.outcome in {"same", "unclear"}, unchanged
