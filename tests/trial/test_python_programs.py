"""Trials of Python programs with CUDA source in a string: what is kept is a patch of the .py file.

The module ``cupy`` of these programs computes what a launch of ``scale`` with this source, grid and block computes, and
writes its time.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncuview.base.errors import ProgramFailed, ReportEmpty, UsageError
from ncuview.catalogue.machine_code import KernelCode
from ncuview.pipeline import trials
from ncuview.records.trial import Trial
from ncuview.trial.programs import ProgramTools, built_copy, traced_by
from ncuview.trial.sanitizer import Printed
from ncuview.trial.traced import TracedRun
from ncuview.trial.work import Judged

SCALE = """
extern "C" __global__ void scale(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * 2.0f;
}
"""
APP = f"""import cupy as cp
N = 1 << 20
k = cp.RawKernel(r'''{SCALE}''', 'scale')
x = cp.arange(N)
y = cp.empty_like(x)
k(((N + 255) // 256,), (256,), (y, x, N))
print(y)
"""
CUPY = r"""
import os, pathlib, re

class Array:
    def __init__(self, size):
        self.size, self.written = size, 0
    def __repr__(self):
        return f"{self.written} of {self.size} elements"

def arange(size):
    return Array(size)

def empty_like(other):
    return Array(other.size)

class RawKernel:
    def __init__(self, code, name):
        if f"void {name}(" not in code:
            raise SystemExit(f"{name} is not in the source")
        if "#error" in code:
            raise SystemExit("error: the source does not compile")
        self.code, self.name = code, name
    def __call__(self, grid, block, args):
        out, given, n = args
        parts = re.search(r"part < (\d+)", self.code)
        each = int(parts[1]) if parts else 4 if "float4" in self.code else 1
        out.written = min(n, grid[0] * block[0] * each)
        if "float4" in self.code and os.path.exists("no-vectors"):
            out.written = 0
        extents = "\t".join(",".join(map(str, [*extent, 1, 1][:3])) for extent in (grid, block))
        folder = os.environ.get("NCUVIEW_KERNEL_TIMES")
        if folder:
            ns = 700 if "float4" in self.code else 1000
            text = f"{ns}\t{extents}\t{self.name}\ncomplete\n"
            pathlib.Path(folder, "1.tsv").write_text(text)
"""

ADD = """import triton
import triton.language as tl

@triton.jit
def add(n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(n, offsets, mask=offsets < n)

N = 5000
grid = lambda META: (triton.cdiv(N, META["BLOCK"]),)
add[grid](N, BLOCK=1024, num_warps=4)
"""
TRITON = """
import os, pathlib, sys, types
language = types.SimpleNamespace(constexpr=int)
sys.modules["triton.language"] = language

def cdiv(n, by):
    return -(-n // by)

class Kernel:
    def __init__(self, function):
        self.name = function.__name__
    def __getitem__(self, grid):
        def launch(n, BLOCK, num_warps):
            (blocks,) = grid({"BLOCK": BLOCK})
            print(min(n, blocks * BLOCK), "wrong" if num_warps == 16 else "")
            folder = os.environ.get("NCUVIEW_KERNEL_TIMES")
            if folder:
                text = f"{8000 // num_warps}\\t{blocks},1,1\\t{32 * num_warps},1,1\\t{self.name}\\ncomplete\\n"
                pathlib.Path(folder, "1.tsv").write_text(text)
        return launch

def jit(function):
    return Kernel(function)
"""


def judge(_: Path, __: Sequence[str], ___: str) -> Judged | None:
    return None


def sanitizer(tool: str, _: Path, __: Sequence[str], kernel: str) -> Printed:
    summary = {"racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"}
    said = summary.get(tool, "ERROR SUMMARY: 0 errors")
    return Printed(f"========= COMPUTE-SANITIZER\n========= {said}\n", ended=True)


def code_of(_: Path, program: Sequence[str], __: str) -> KernelCode:
    raise ReportEmpty(f"{program[0]} holds no machine code")


def count(_: Path, __: Sequence[str], ___: str) -> None:
    """Counters may not be read."""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    run = traced_by(tmp_path / "no-library.so")
    once: dict[Path, TracedRun] = {}

    def run_once(folder: Path, program: Sequence[str], limit_s: float) -> TracedRun:
        """A version does the same in each run, so that one is enough."""
        if folder not in once:
            once[folder] = run(folder, program, limit_s)
        return once[folder]

    tools = ProgramTools(run_once, judge, sanitizer, code_of, count, built_copy)
    monkeypatch.setattr(trials, "_require_gpu", lambda: None)
    monkeypatch.setattr(trials, "tracer", lambda folder: folder)
    monkeypatch.setattr(trials, "_tools_for_programs", lambda *_: tools)
    made = tmp_path / "tree"
    made.mkdir()
    (made / "cupy.py").write_text(CUPY)
    monkeypatch.chdir(tmp_path)
    return made


def tried(tree: Path, source: str, *, kernel: str = "") -> Trial:
    (tree / "app.py").write_bytes(source.encode())
    program = (sys.executable, str(tree / "app.py"))
    return trials.try_program(program, "", "", kernel, tree=None, budget_s=120, say=lambda _: None)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_change_is_kept_and_its_patch_applies_to_the_python_file(tree: Path, line_end: str) -> None:
    trial = tried(tree, APP.replace("\n", line_end))
    kept = [each for each in trial.attempts if each.decision == "kept"]
    assert kept
    assert trial.gain is not None
    assert trial.gain.best > 1.4
    assert (tree / "app.py").read_bytes() == APP.replace("\n", line_end).encode()
    copy = tree.parent / "copy"
    shutil.copytree(tree, copy)
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, cwd=copy, input=trial.patch.encode(), check=True)
    ran = [
        subprocess.run([sys.executable, "app.py"], cwd=each, capture_output=True, check=True).stdout
        for each in (tree, copy)
    ]
    assert ran[0] == ran[1] == b"1048576 of 1048576 elements\n"
    after = (copy / "app.py").read_bytes()
    assert after.count(b"\n") == after.count(line_end.encode())
    assert b"+ 3) // 4,), (256,)" in after


def test_a_change_with_another_result_is_refuted(tree: Path) -> None:
    (tree / "no-vectors").write_text("")
    trial = tried(tree, APP)
    wrong = [each for each in trial.attempts if "float4" in each.diff]
    assert wrong
    assert {each.decision for each in wrong} == {"refuted"}
    assert "float4" not in trial.patch


def test_what_only_a_first_run_writes_is_no_result_of_a_change(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = ProgramTools(traced_by(tree / "no-library.so"), judge, sanitizer, code_of, count, built_copy)
    monkeypatch.setattr(trials, "_tools_for_programs", lambda *_: tools)
    caches = "import pathlib\nif not pathlib.Path('cache').exists():\n    pathlib.Path('cache').write_text('once')\n"
    trial = tried(tree, caches + APP)
    faster = [each for each in trial.attempts if "float4" in each.diff]
    assert {each.decision for each in faster} == {"unproven"}
    assert all("differs from run to run" in each.reason for each in faster)


def test_without_a_block_only_what_needs_none_is_tried(tree: Path) -> None:
    trial = tried(tree, APP.replace("(256,), (y", "blocks(), (y").replace("k((", "blocks = lambda: (256,)\nk(("))
    assert not trial.patch
    assert any("is not a constant of this file" in each.reason for each in trial.attempts)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (APP.replace("r'''", "'''").replace("* 2.0f;", "* 2.0f; // \\\\"), "has escapes: write it as a raw string"),
        (APP.replace("''', 'scale'", "'''.strip(), 'scale'"), r"is changed by .strip"),
    ],
)
def test_a_string_that_is_not_the_source_is_refused_by_name(tree: Path, source: str, says: str) -> None:
    trial = tried(tree, source)
    assert {each.decision for each in trial.attempts} == {"not written"}
    assert all(says in each.reason for each in trial.attempts)
    assert not trial.patch


def test_several_kernels_in_one_string_are_told_apart(tree: Path) -> None:
    other = SCALE.replace("scale", "other")
    trial = tried(tree, APP.replace(SCALE, other + SCALE))
    assert trial.kernel == "scale"
    assert any(each.decision == "kept" for each in trial.attempts)
    assert not any(line.startswith("-") and "other" in line for line in trial.patch.splitlines())
    with pytest.raises(ProgramFailed, match="defines the kernel other of them"):
        tried(tree, APP.replace(SCALE, other + SCALE), kernel="other")


def test_a_file_that_imports_the_kernel_is_named(tree: Path) -> None:
    (tree / "other.py").write_text("import os, app\napp.k((1,), (32,), ())\n")
    assert tried(tree, APP).remark == "other.py imports app.py: a launch of scale there was not looked at"


def test_a_kernel_of_two_files_is_refused(tree: Path) -> None:
    (tree / "old.py").write_text(APP)
    with pytest.raises(UsageError, match=r"app\.py and old\.py define the kernel scale"):
        tried(tree, APP)


def test_constants_of_a_triton_launch_are_tried(tree: Path) -> None:
    (tree / "triton.py").write_text(TRITON)
    trial = tried(tree, ADD)
    decisions = {each.title.rpartition(" ")[2]: each.decision for each in trial.attempts}
    assert decisions["BLOCK=2048"] == "no gain"
    assert decisions["num_warps=8"] == "kept"
    assert decisions["num_warps=16"] == "refuted"
    assert trial.patch.splitlines()[-1] == "+add[grid](N, BLOCK=1024, num_warps=8)"
