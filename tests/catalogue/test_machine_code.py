"""Registers, memory and instructions from compiled files: as recorded, and from a cuobjdump that fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ncuview.base.errors import ReportEmpty, ToolError
from ncuview.catalogue import machine_code
from ncuview.catalogue.compiler import compile_kernel
from ncuview.catalogue.kernels import find_kernel, launch_of, recorded_report
from ncuview.catalogue.machine_code import KernelCode, code_of_cubin, code_of_program
from ncuview.engine.static_subjects import spilled_bytes
from ncuview.metrics.instruction_table import executed_by_launch
from ncuview.profiling.machine import find_nvcc
from ncuview.reader.line_table import LineTable, Row
from tests.profiles import profile_of

NVCC = find_nvcc()
SM_90 = "sm_90"
LEAST_REGISTERS = 16
"""What ncu reports where a kernel needs fewer."""
SOURCE = """
namespace a { template <class T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; } }
template __global__ void a::scale<float>(float *, float);
__global__ void rotate(int *x) {
    __shared__ int tile[250];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    asm volatile("bar.sync 3, 64;");
    x[threadIdx.x] = tile[threadIdx.x ^ 1];
}
int main() { return 0; }
"""


def _has_tools() -> bool:
    try:
        machine_code._tools()
    except ToolError:
        return False
    return True


real = pytest.mark.skipif(NVCC is None or not _has_tools(), reason="nvcc or cuobjdump is not installed")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with machine code for two architectures and PTX."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "two.cu").write_text(SOURCE, encoding="utf-8")
    targets = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]
    subprocess.run([str(NVCC), *targets, "-lineinfo", "-o", "two", "two.cu"], cwd=folder, check=True)
    return folder / "two"


@real
@pytest.mark.parametrize("name", ["transposeCoalesced", "registerSpill", "sharedMemoryHog", "reduce_v3", "mmul_tensor"])
def test_a_catalogue_kernels_code_is_what_ncu_recorded(name: str, tmp_path: Path) -> None:
    assert NVCC
    launch = launch_of(find_kernel(name))
    compiled = compile_kernel(NVCC, launch.kernel, tmp_path, SM_90)
    (found,) = (k for k in code_of_cubin(compiled.cubin) if k.symbol == compiled.symbol(launch.template))
    profile = profile_of(recorded_report(launch.kernel.text.family), kernel=launch.kernel.function)
    blocks = list(zip(profile.launches["block_x"], profile.launches["block_y"], strict=True))
    at = blocks.index(launch.block[:2])
    recorded, rows = profile.metrics.loc[at], executed_by_launch(profile)[at]
    assert max(LEAST_REGISTERS, found.registers) == recorded["launch__registers_per_thread"]
    assert found.shared == recorded["launch__shared_mem_per_block_static"]
    assert found.barriers == recorded["launch__barrier_count"]
    assert found.capability == "9.0"
    length = len(rows) - 1  # the jump to itself that ends the code is written with its label
    assert found.code.texts[:length] == tuple(" ".join(text.split()) for text in rows.code.texts[:length])
    assert found.code.addresses[:length] == rows.code.addresses[:length]
    own = {
        at: place
        for at, place in enumerate(zip(rows.files, rows.lines.tolist(), strict=True))
        if place[0].endswith(".cu")
    }
    assert len(own) > length / 3
    assert {at: found.places[at] for at in own if at < length} == {at: own[at] for at in own if at < length}
    assert {Path(file).name for file, _ in found.places[:length]} == {launch.kernel.path.name}


@real
def test_spilled_bytes_are_those_that_ptxas_says(tmp_path: Path) -> None:
    assert NVCC
    compiled = compile_kernel(NVCC, find_kernel("registerSpill"), tmp_path, SM_90)
    ptxas = NVCC.parent / "ptxas"
    said = subprocess.run(
        [ptxas, "-arch=sm_90", "-v", "-o", os.devnull, compiled.cubin.with_suffix(".ptx")],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    (found,) = code_of_cubin(compiled.cubin)
    spilled = spilled_bytes(found.code)
    assert spilled
    assert f"{found.stack} bytes stack frame, {spilled[0]} bytes spill stores, {spilled[1]} bytes spill loads" in said


@real
@pytest.mark.parametrize(("gpu", "chosen"), [("9.0", "9.0"), ("8.0", "8.0"), ("8.6", "8.0"), ("", "9.0")])
def test_of_a_program_the_code_counts_that_the_gpu_would_run(
    program: Path, tmp_path: Path, gpu: str, chosen: str
) -> None:
    found = {kernel.symbol: kernel for kernel in code_of_program(str(program), tmp_path, gpu)}
    assert found.keys() == {"_Z6rotatePi", "_ZN1a5scaleIfEEvPT_S1_"}
    rotate = found["_Z6rotatePi"]
    assert (rotate.capability, rotate.shared, rotate.barriers, rotate.stack) == (chosen, 1000, 4, 0)
    assert {Path(file).name for file, _ in rotate.places} == {"two.cu"}
    if shutil.which("c++filt") or shutil.which("cu++filt"):
        assert found["_ZN1a5scaleIfEEvPT_S1_"].name == "void a::scale<float>(float*, float)"


@real
def test_a_program_for_another_gpu_is_refused_with_what_it_is_for(program: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportEmpty, match=r"compute capability 12\.0, only for sm_80, sm_90") as refused:
        code_of_program(str(program), tmp_path, "12.0")
    assert refused.value.hint == "Compile it with -arch=sm_120."


@real
@pytest.mark.parametrize("name", ["/bin/sh", __file__.replace(".py", ".missing")])
def test_a_program_without_machine_code_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ReportEmpty, match=r"holds no machine code of a GPU|the program .* is missing"):
        code_of_program(name, tmp_path)


@pytest.mark.parametrize("name", ["train.py", "python", "python3", "/usr/bin/python3.11", "pypy3"])
def test_a_python_program_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ReportEmpty, match="a Python program cannot be analysed"):
        code_of_program(name, tmp_path)


USAGE = """
Resource usage:
 Common:
  GLOBAL:0
 Function _Z4slowf:
  REG:0 STACK:0 SHARED:0 LOCAL:0 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function k:
  REG:20 STACK:8 SHARED:{shared} LOCAL:0 CONSTANT[0]:528 TEXTURE:0 SURFACE:0 SAMPLER:0
 Function unseen:
  REG:20 STACK:8 SHARED:0 LOCAL:0 CONSTANT[0]:528 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
SASS = """
\tcode for {architecture}
\t.target\t{architecture}

\t\tFunction : k
\t.headerflags\t@"EF_CUDA"
        /*0000*/                   {first} ;        /* 0x00000a00ff017b82 */
                                                    /* 0x000fe20000000800 */
        /*0010*/               @P0 EXIT ;           /* 0x000000000000794d */
\t\t..........
"""


class Fake:
    """A cuobjdump (and nvdisasm) on a PATH of its own, which says what a test wants."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.write("cuobjdump", "exit 9")
        self.write("nvdisasm", "exit 9")
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(machine_code, "find_nvcc", lambda: None)
        monkeypatch.setattr(machine_code, "_of_packages", list)

    def write(self, name: str, script: str) -> None:
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def says(self, architecture: str = SM_90, shared: int = 1024, first: str = "LDC R1, c[0x0][0x28]") -> KernelCode:
        """The one kernel of a cubin that this fake describes."""
        (self.folder / "usage").write_text(USAGE.format(shared=shared), encoding="utf-8")
        (self.folder / "sass").write_text(SASS.format(architecture=architecture, first=first), encoding="utf-8")
        keep = 'while IFS= read -r line; do printf "%s\\n" "$line"; done'
        self.write(
            "cuobjdump",
            f'[ "$1" = -res-usage ] && {{ {keep} < "{self.folder}/usage"; exit; }}\n'
            f'[ "$1 $2 $3" = "-sass -fun k,unseen" ] && {{ {keep} < "{self.folder}/sass"; exit; }}\nexit 8',
        )
        (found,) = code_of_cubin(self.folder / "made.cubin")
        return found


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "made.cubin").write_bytes(b"no cubin, so that it has no lines")
    return Fake(folder, monkeypatch)


def test_a_function_that_kernels_call_is_no_kernel_and_one_without_code_is_left_out(fake: Fake) -> None:
    found = fake.says()
    assert (found.symbol, found.name, found.registers, found.stack) == ("k", "k", 20, 8)
    assert found.code.texts == ("LDC R1, c[0x0][0x28]", "@P0 EXIT")
    assert found.code.addresses == (0, 16)
    assert found.places == (("", 0), ("", 0))


@pytest.mark.parametrize(
    ("architecture", "shared", "own", "capability"),
    [
        ("sm_90", 1024, 0, "9.0"),
        ("sm_90a", 5120, 4096, "9.0"),
        ("sm_90", 0, 0, "9.0"),
        ("sm_120", 5120, 4096, "12.0"),
        ("sm_86", 5120, 5120, "8.6"),
    ],
)
def test_what_the_driver_reserves_is_no_shared_memory_of_the_kernel(
    fake: Fake, architecture: str, shared: int, own: int, capability: str
) -> None:
    found = fake.says(architecture, shared)
    assert (found.shared, found.capability) == (own, capability)


@pytest.mark.parametrize(
    ("text", "barriers"),
    [
        ("BAR.SYNC.DEFER_BLOCKING 0x0", 1),
        ("@!P0 BAR.ARV 0x5, 0x40", 6),
        ("BAR.SYNC.DEFER_BLOCKING R3, 0x40", 16),
        ("NOP", 0),
    ],
)
def test_barriers_are_counted_up_to_the_highest(fake: Fake, text: str, barriers: int) -> None:
    assert fake.says(first=text).barriers == barriers


def test_reused_operands_are_written_as_ncu_writes_them(fake: Fake) -> None:
    found = fake.says(first="IMAD.WIDE   R2, R3.reuse, 0x4, R8.reuse")
    assert found.code.texts[0] == "IMAD.WIDE R2, R3, 0x4, R8"


def test_only_wanted_kernels_are_disassembled(fake: Fake) -> None:
    fake.says()
    script = (fake.folder / "cuobjdump").read_text(encoding="utf-8")
    fake.write("cuobjdump", script.replace("-fun k,unseen", "-fun k").removeprefix("#!/bin/sh\n"))
    (found,) = code_of_cubin(fake.folder / "made.cubin", "k".__eq__)
    assert (found.symbol, found.registers) == ("k", 20)
    assert code_of_cubin(fake.folder / "made.cubin", "other".__eq__) == ()


def test_a_file_without_kernels_has_none(fake: Fake) -> None:
    fake.write("cuobjdump", "echo")
    assert code_of_cubin(fake.folder / "made.cubin") == ()


def test_its_own_words_say_why_cuobjdump_failed(fake: Fake) -> None:
    fake.write("cuobjdump", 'echo "cuobjdump fatal   : not a cubin" >&2\nexit 255')
    with pytest.raises(ToolError, match="cuobjdump failed: cuobjdump fatal   : not a cubin") as failed:
        code_of_cubin(fake.folder / "made.cubin")
    assert failed.value.id == "CuobjdumpFailed"


def test_a_cuobjdump_that_dies_without_a_word_is_named_by_its_exit_code(fake: Fake) -> None:
    with pytest.raises(ToolError, match="cuobjdump failed: exit code 9"):
        code_of_cubin(fake.folder / "made.cubin")


def test_a_cuobjdump_that_hangs_is_ended(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.write("cuobjdump", "while :; do :; done")
    monkeypatch.setattr(machine_code, "TIMEOUT_S", 0.2)
    with pytest.raises(ToolError, match="took more than"):
        code_of_cubin(fake.folder / "made.cubin")


@pytest.mark.parametrize("missing", ["cuobjdump", "nvdisasm"])
def test_what_is_missing_is_named_with_what_installs_it(fake: Fake, missing: str) -> None:
    (fake.folder / missing).unlink()
    with pytest.raises(ToolError, match=f"{missing} is missing") as failed:
        code_of_cubin(fake.folder / "made.cubin")
    assert "pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm" in failed.value.hint
    assert failed.value.exit_code == 5


def test_a_program_whose_modules_hold_no_kernel_is_refused(fake: Fake, tmp_path: Path) -> None:
    fake.write("app", "exit 1")
    fake.write(
        "cuobjdump",
        '[ "$1" = -lelf ] && { echo "ELF file    1: app.1.sm_90.cubin"; exit; }\n'
        '[ "$1 $2" = "-xelf .sm_90.cubin" ] && { : > app.1.sm_90.cubin; exit; }\n'
        '[ "$1" = -res-usage ] && { echo; exit; }\nexit 8',
    )
    with pytest.raises(ReportEmpty, match="app holds no kernel for sm_90"):
        code_of_program("app", tmp_path, "9.0")


def test_an_instruction_before_all_lines_has_none_and_an_inlined_one_that_of_its_call() -> None:
    table = LineTable("k", [Row(16, "k.cu", 3, 0), Row(32, "k.cu", 5, 0), Row(32, "lib.h", 70, 2)])
    assert machine_code._places(table, [0, 16, 32]) == (("", 0), ("k.cu", 3), ("k.cu", 5))


@pytest.mark.parametrize(
    ("names", "demangled"),
    [("void f<int>(int*)\nvoid g()", {"_Zf": "void f<int>(int*)", "_Zg": "void g()"}), ("only one", {})],
)
def test_names_are_those_of_the_demangler_if_it_gives_all(fake: Fake, names: str, demangled: dict[str, str]) -> None:
    fake.write("c++filt", f'printf "%s\\n" "{names}"')
    assert machine_code._demangled(["_Zf", "_Zg"]) == demangled


def test_a_demangler_that_hangs_leaves_the_symbols(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.write("c++filt", "while :; do :; done")
    monkeypatch.setattr(machine_code, "TIMEOUT_S", 0.2)
    assert machine_code._demangled(["_Zf"]) == {}


def test_a_demangler_that_cannot_be_started_leaves_the_symbols(fake: Fake) -> None:
    file = fake.folder / "c++filt"
    file.write_bytes(b"\x7fELF of another machine")
    file.chmod(0o755)
    assert machine_code._demangled(["_Zf"]) == {}


def test_a_demangler_that_says_what_is_no_text_is_read_all_the_same(fake: Fake) -> None:
    fake.write("c++filt", "printf 'f\\374r\\n'")
    assert machine_code._demangled(["_Zf"]) == {"_Zf": "f\N{REPLACEMENT CHARACTER}r"}


def test_a_demangler_gets_only_the_symbols(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/of the user")
    monkeypatch.setenv("TOKEN", "secret")
    fake.write("c++filt", 'echo "$PATH $LD_LIBRARY_PATH $TOKEN"')
    assert machine_code._demangled(["_Zf"]) == {"_Zf": f"{fake.folder}  "}
