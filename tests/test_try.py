"""``ncuview try`` on the command line: what it prints without a GPU, and what it refuses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from tests.command_line import ncuview

SAXPY = """\
__global__ void saxpy(float *y, const float *x, float a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
LAUNCH = ("--grid", "n / 256", "--block", "256", "--size", "n=65536")
ARGS = ("--arg", "out float32[n]", "--arg", "in float32[n]", "--arg", "float32 = 2", "--arg", "int32 = n")


def test_without_a_gpu_the_changes_are_shown_and_none_is_tried() -> None:
    ended = ncuview("try", "transposeNaive", "--dry-run")
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"^edit \(GMEM\d+\): .*tile in shared memory$", ended.out, re.MULTILINE)
    assert re.search(r"^ablation \(GMEM\d+\): ", ended.out, re.MULTILINE)
    assert "+    __syncthreads();" in ended.out
    refused = ncuview("try", "transposeNaive")
    assert (refused.code, refused.out) == (5, "")
    assert "no NVIDIA GPU here" in refused.err


@pytest.mark.parametrize("words", [("app.py", "--", "--steps", "3"), ("--tree", ".", "--", "python3", "app.py")])
def test_a_python_program_needs_a_gpu(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "app.py").write_text("raise SystemExit('nothing runs')")
    ended = ncuview("try", *words, cwd=tmp_path)
    assert (ended.code, ended.out) == (5, "")
    assert "no NVIDIA GPU here" in ended.err


def test_each_patch_of_a_dry_run_applies(tmp_path: Path) -> None:
    out = ncuview("try", "transposeNaive", "--dry-run").out
    patches = re.findall(r"^--- a/.*?(?=^(?:edit|ablation) |\Z)", out, re.MULTILINE | re.DOTALL)
    assert len(patches) >= 3
    for number, patch in enumerate(patches):
        folder = tmp_path / str(number)
        (folder / "transpose").mkdir(parents=True)
        name = "transpose/transposeNaive.cu"
        (folder / name).write_bytes((shipped("kernels") / name).read_bytes())
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, cwd=folder, input=patch, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr + patch


def test_of_a_file_all_changes_that_apply_are_shown(tmp_path: Path) -> None:
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    ended = ncuview("try", "saxpy.cu", *LAUNCH, *ARGS, "--dry-run", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert len(re.findall(r"^edit: ", ended.out, re.MULTILINE)) >= 4
    assert "not written" in ended.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name either one target or a program"),
        (["transposeNaive", "--", "./app"], "name either one target or a program"),
        (["transposeNaive", "--build", "make"], "--build, --check and --tree are for programs"),
        (["transposeNaive", "--tree", "."], "--build, --check and --tree are for programs"),
        (["lost.py"], "there is no Python file lost.py"),
        (["--tree", "lost", "--", "./app"], "there is no folder lost"),
        (["app.py", "--dry-run"], "--dry-run is for kernels"),
        (["transposeNaive", "--budget", "soon"], "--budget 'soon' is no time"),
        (["transposeNaive", "--budget", "0s"], "--budget '0s' is no time"),
        (["transposeNaive", "--grid", "1"], "are for .cu files"),
        (["transposeNaive", "--format", "html"], "no output format 'html'"),
        (["transposeNaive", "-o", "page.pdf"], "an output file ends in one of"),
        (["--dry-run", "--", "./app"], "--dry-run is for kernels"),
        (["--grid", "1", "--", "./app"], "are for .cu files"),
        (["transposeNive"], "no kernel or report 'transposeNive'"),
    ],
)
def test_what_does_not_fit_together_is_refused(words: list[str], says: str) -> None:
    ended = ncuview("try", *words)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
