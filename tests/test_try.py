"""``ncuview try`` on the command line: what it prints without a GPU, and what it refuses."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from ncuview.trial.scratch import state_of
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


def test_a_dry_run_begins_with_what_can_be_written_and_says_once_what_cannot() -> None:
    lines = re.findall(r"^(?:edit|ablation) .*", ncuview("try", "transposeNaive", "--dry-run").out, re.MULTILINE)
    assert lines[0] == "edit (GMEM002): Transpose odata through a tile in shared memory"
    assert len(lines) == len(set(lines))


def test_of_a_file_all_changes_that_apply_are_shown(tmp_path: Path) -> None:
    (tmp_path / "saxpy.cu").write_text(SAXPY)
    ended = ncuview("try", "saxpy.cu", *LAUNCH, *ARGS, "--dry-run", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert len(re.findall(r"^edit: ", ended.out, re.MULTILINE)) >= 4
    assert "ablation (if asked by GMEM004): " in ended.out
    assert "Not known of saxpy in saxpy.cu without a run:" in ended.out
    assert "not written" in ended.out


PROGRAM = """\
__global__ void turn(float *out, const float *in, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[x * n + y + j] = in[(y + j) * n + x];
}

int main()
{
    float *a, *b;
    cudaMalloc(&a, 1 << 22);
    cudaMalloc(&b, 1 << 22);
    turn<<<dim3(32, 32), dim3(32, 8)>>>(b, a, 1024);
    return cudaDeviceSynchronize();
}
"""
PATCH = re.compile(r"^--- a/.*?(?=^(?:edit|ablation)[ :]|^Not known |\Z)", re.MULTILINE | re.DOTALL)


def program_tree(folder: Path, **files: str) -> Path:
    tree = folder / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "Makefile").write_text("app:\n\ttouch built\n")
    for name, text in {"turn": PROGRAM, **files}.items():
        (tree / "src" / f"{name}.cu").write_text(text)
    return tree


def test_the_changes_of_a_program_are_shown_from_its_source_alone(tmp_path: Path) -> None:
    tree = program_tree(tmp_path)
    before = state_of(tree)
    ended = ncuview("try", "--dry-run", "--build", "make", "--", "./app", "--steps", "3", cwd=tree)
    assert (ended.code, ended.err) == (0, "")
    assert state_of(tree) == before
    for said in (
        "edit: Transpose out through a tile in shared memory",
        "edit (if asked by GMEM008): Mark in with const and __restrict__",
        "ablation (if asked by GMEM001 or GMEM002 or GMEM005 or GMEM013 or OLD001): Coalesce the accesses to out",
        "edit: atomic privatization: not written, turn has no atomics",
        "Not known of turn in src/turn.cu without a run:",
    ):
        assert said in ended.out
    patches = PATCH.findall(ended.out)
    assert len(patches) >= 5
    assert len(set(patches)) == len(patches)
    for number, patch in enumerate(patches):
        copy = tmp_path / str(number)
        shutil.copytree(tree, copy)
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, cwd=copy, input=patch, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr + patch


def test_the_kernel_of_a_dry_run_is_named(tmp_path: Path) -> None:
    tree = program_tree(tmp_path, other=SAXPY)
    unnamed = ncuview("try", "--dry-run", "--", "./app", cwd=tree)
    assert (unnamed.code, unnamed.out) == (2, "")
    assert "2 kernels are defined" in unnamed.err
    assert "Name one by --kernel. There are saxpy, turn." in unnamed.err
    named = ncuview("try", "--dry-run", "--kernel", "own::saxpy<float>", "--", "./app", cwd=tree)
    assert "Not known of saxpy in src/other.cu without a run:" in named.out
    lost = ncuview("try", "--dry-run", "--kernel", "lost", "--", "./app", cwd=tree)
    assert lost.code == 2
    assert "defines the kernel lost" in lost.err
    (tmp_path / "empty").mkdir()
    assert "defines a kernel" in ncuview("try", "--dry-run", "--", "./app", cwd=tmp_path / "empty").err


def test_a_dry_run_of_a_python_program_changes_its_string(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        f"import cupy as cp\nraise SystemExit('nothing runs')\nk = cp.RawKernel(r'''{SAXPY}''', 'saxpy')\n"
    )
    ended = ncuview("try", "app.py", "--dry-run", "--kernel", "saxpy", "--", "--steps", "3", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert "edit (if asked by INST004)" not in ended.out
    assert "(if asked by GMEM004): Access y and x from the sector before" in ended.out
    assert "--- a/app.py" in ended.out
    assert [path.name for path in tmp_path.iterdir()] == ["app.py"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name either one target or a program"),
        (["transposeNaive", "--", "./app"], "name either one target or a program"),
        (["transposeNaive", "--build", "make"], "--build, --check and --tree are for programs"),
        (["transposeNaive", "--tree", "."], "--build, --check and --tree are for programs"),
        (["lost.py"], "there is no Python file lost.py"),
        (["--tree", "lost", "--", "./app"], "there is no folder lost"),
        (["lost.py", "--dry-run"], "there is no Python file lost.py"),
        (["transposeNaive", "--budget", "soon"], "--budget 'soon' is no time"),
        (["transposeNaive", "--budget", "0s"], "--budget '0s' is no time"),
        (["transposeNaive", "--grid", "1"], "are for .cu files"),
        (["transposeNaive", "--format", "html"], "no output format 'html'"),
        (["transposeNaive", "-o", "page.pdf"], "an output file ends in one of"),
        (["--dry-run", "--tree", "lost", "--", "./app"], "there is no folder lost"),
        (["--grid", "1", "--", "./app"], "are for .cu files"),
        (["transposeNaive", "--dry-run", "--format", "json"], "--dry-run prints patches"),
        (["--dry-run", "-o", "a.patch", "--", "./app"], "--dry-run prints patches"),
        (["transposeNive"], "no kernel or report 'transposeNive'"),
    ],
)
def test_what_does_not_fit_together_is_refused(words: list[str], says: str) -> None:
    ended = ncuview("try", *words)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err
