"""Trials of kernel files over the emulated GPU: what is kept is right, and faster by the emulated clock."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.patch import parameters
from ncuview.patch.launch_configuration import resized
from ncuview.patch.patch import Change
from ncuview.patch.program import Kernel as SourceKernel
from ncuview.records.trial import Attempt
from ncuview.trial.cases import Build
from ncuview.trial.kernel_files import KernelFileBench
from ncuview.trial.search import Found, search
from ncuview.trial.verify import Answer
from tests.emulation import needs_gpp
from tests.emulation.device import run_job
from tests.trial.emulated import build, reload_of, tools

pytestmark = needs_gpp


def bench_of(kernel: Kernel, folder: Path, *faster: str) -> tuple[KernelFileBench, str]:
    """A bench of a kernel at a small size; versions take half the time for each text of ``faster`` in their source."""
    small = build(kernel).kernel

    def clock(source: str, number: int) -> float:
        text = Path(source).read_text()
        return 1000.0 * 0.5 ** sum(each in text for each in faster) * (1 + 0.001 * (number % 3))

    def process(job: Mapping[str, Any]) -> Answer:
        lines, gpu = run_job(job, clock)
        return Answer(lines, gpu.failure)

    return KernelFileBench(small, reload_of(small), folder, tools(process)), small.path.read_text()


def tried(name: str, folder: Path, faster: str) -> tuple[Found[Build], list[Attempt]]:
    bench, source = bench_of(find_kernel(name), folder, faster)
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


ADDED = """\
/*--- ncuview
schema = 1
name = "added"
family = "examples"
step_number = 1
document = "none"
section = "none"
teaches = "Threads that differ by their number alone."
oracle = "none"

[sizes]
n = 65536

[launch]
grid = ["n / 256"]
block = ["256"]

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "in"
kind = "in float32[n]"

[useful]
bytes = "8 * n"

[expect]
verdict = "unclear"
---*/
__global__ void added(float *out, const float *in)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = in[i];
    for (int j = 0; j < 4; j++)
        sum = 0.5f * sum + j;
    out[i] = sum;
}
"""
FLAT = ADDED.replace(
    """    for (int j = 0; j < 4; j++)
        sum = 0.5f * sum + j;
""",
    "",
)


def added(folder: Path, source: str = ADDED) -> Kernel:
    path = folder / "source" / "examples" / "added.cu"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    (kernel,) = load_kernels(path)
    return kernel


def tuned(folder: Path, *faster: str, source: str = ADDED) -> Found[Build]:
    bench, text = bench_of(added(folder, source), folder / "versions", *faster)
    found = Found(text, bench.build(text))
    search(bench, found, lambda: False, lambda _: None)
    return found


def kept(found: Found[Build]) -> list[Attempt]:
    return [each for each in found.attempts if each.decision == "kept"]


def test_the_block_that_the_clock_prefers_is_found_verified_and_kept(tmp_path: Path) -> None:
    found = tuned(tmp_path, 'block = ["512"]', source=FLAT)
    (best,) = kept(found)
    assert best.title == "Launch blocks of 512 threads instead of 256"
    assert best.optimization == "launch_configuration"
    assert best.measured is not None
    assert best.measured.best == pytest.approx(2.0, rel=0.01)
    assert any("cases" in check for check in best.checks)
    assert best.explained == "counters could not be read"
    assert found.source == FLAT.replace("n / 256", "n / 512").replace('["256"]', '["512"]')
    others = [each for each in found.attempts if each.title.startswith("Launch blocks of") and each is not best]
    assert {each.title.split()[3] for each in others} == {"32", "64", "128", "1024"}
    assert {each.decision for each in others} == {"no gain"}
    assert all(each.reason for each in others)


def test_several_parameters_are_found_together(tmp_path: Path) -> None:
    found = tuned(tmp_path, 'block = ["128"]', "#pragma unroll 2")
    (best,) = kept(found)
    assert best.title.endswith("by 2, launch blocks of 128 threads instead of 256")
    assert best.measured is not None
    assert best.measured.best == pytest.approx(4.0, rel=0.01)
    assert any("gains more" in each.reason for each in found.attempts)


TURNED = (
    ADDED.partition("[sizes]")[0]
    + """\
[sizes]
n = 8192

[launch]
grid = ["n / 32", "n / 8"]
block = ["32", "8"]

[[args]]
name = "out"
kind = "out float32[n, n]"

[[args]]
name = "in"
kind = "in float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "8 * n * n"

[expect]
verdict = "unclear"
---*/
__global__ void added(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
"""
)


def test_a_tile_gets_the_rows_that_the_clock_prefers(tmp_path: Path) -> None:
    found = tuned(tmp_path, "__shared__", "tile[16][32 + 1]", source=TURNED)
    first, best = kept(found)
    assert first.title == "Transpose out through a tile in shared memory"
    assert best.title == "Transpose out through a tile in shared memory, for the rows of 2 blocks"
    assert best.optimization == "shared_memory_tiling"
    assert best.measured is not None
    assert best.measured.best == pytest.approx(2.0, rel=0.01)
    assert any("cases" in check for check in best.checks)
    assert "__shared__ float tile[16][32 + 1];" in found.source
    columns, rows, _ = launch_of(added(tmp_path, TURNED)).grid
    assert launch_of(added(tmp_path, found.source)).grid == (columns, rows // 2, 1)
    (other,) = [each for each in found.attempts if each.title == best.title.replace("of 2", "of 4")]
    assert other.decision == "no gain"


def test_two_trials_give_the_same_answer(tmp_path: Path) -> None:
    one, other = (tuned(tmp_path / name, 'block = ["512"]', source=FLAT) for name in ("one", "other"))
    assert (one.source, one.attempts) == (other.source, other.attempts)


def test_a_value_that_computes_something_else_is_refuted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgets_the_grid(kernel: SourceKernel, threads: int) -> Change:
        made = resized(kernel, threads)
        return replace(made, replacements=made.replacements[:1]) if threads in {64, 512} else made

    monkeypatch.setattr(parameters, "resized", forgets_the_grid)
    found = tuned(tmp_path, 'block = ["512"]', 'block = ["64"]', source=FLAT)
    wrong = [each for each in found.attempts if " 512 " in each.title or " 64 " in each.title]
    assert [each.decision for each in wrong] == ["refuted", "refuted"]
    assert kept(found) == []
    assert found.source == FLAT


def test_interrupted_among_the_values_the_best_is_left(tmp_path: Path) -> None:
    bench, text = bench_of(added(tmp_path, FLAT), tmp_path / "versions", 'block = ["64"]')
    found = Found(text, bench.build(text))

    def interrupt(said: str) -> None:
        if "1024" in said:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(bench, found, lambda: False, interrupt)
    (best,) = kept(found)
    assert (best.title, found.kept) == ("Launch blocks of 64 threads instead of 256", 1)
    assert 'block = ["64"]' in found.source


def test_when_time_is_up_among_the_values_the_best_is_left(tmp_path: Path) -> None:
    bench, text = bench_of(added(tmp_path, FLAT), tmp_path / "versions", 'block = ["64"]')
    found = Found(text, bench.build(text))
    search(bench, found, lambda: found.kept > 0, lambda _: None)
    assert found.stopped == "the time is up"
    assert [each.title for each in kept(found)] == ["Launch blocks of 64 threads instead of 256"]


def test_without_kernel_tuner_its_absence_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kernel_tuner.interface", None)
    found = tuned(tmp_path, 'block = ["512"]', source=FLAT)
    assert kept(found) == []
    (said,) = [each for each in found.attempts if "Kernel Tuner" in each.reason]
    assert said.decision == "not tried"
    assert "pip install 'ncuview[try]'" in said.reason
