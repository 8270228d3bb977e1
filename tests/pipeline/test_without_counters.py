"""What is said without counters: put together from parts of which each may be missing, and on compiled kernels."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.base.errors import (
    CompilerNotFound,
    KernelFileError,
    NcuRefused,
    NcuviewError,
    ProgramFailed,
    ReportDamaged,
    ReportEmpty,
    ToolError,
    UnknownKernel,
    UsageError,
    WrongResult,
)
from ncuview.catalogue import compiler, live, machine_code
from ncuview.catalogue.live import EventTimes
from ncuview.catalogue.user_kernel import LaunchOptions
from ncuview.pipeline import without_counters as module
from ncuview.pipeline.without_counters import kernel_without_counters, program_without_counters, source_without_counters
from ncuview.profiling import machine
from ncuview.profiling.machine import find_nvcc
from ncuview.reader import source as module_of_sources

NVCC = find_nvcc()
PERM = NcuRefused("counters are closed", hint="Open them.", id="NCU-PERM")
NO_GPU = ToolError("no GPU here", hint="Go where one is.", id="GpuNotFound")
TIMES = EventTimes("NVIDIA Fake", "9.0", 132, (2e6, 1e6, 4e6))
SOURCE = """
__global__ void halve(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < n; r++)
        y[i] = x[i] * 0.5 + r;
}
"""
WORDS = LaunchOptions(
    kernel="halve",
    grid="n / 128",
    block="128",
    args=("in float32[n]", "out float32[n]", "int32 = 100"),
    sizes=("n=4096",),
    nvcc_args="-arch=sm_90",
)


def _has_tools() -> bool:
    try:
        machine_code._tools()
    except ToolError:
        return False
    return NVCC is not None


pytestmark = pytest.mark.skipif(not _has_tools(), reason="nvcc or cuobjdump is not installed")


@pytest.fixture(autouse=True)
def hopper(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU, so that kernels are compiled for what the catalogue was recorded on."""
    monkeypatch.setattr(machine, "compute_capability", lambda: "")
    answers(monkeypatch, NO_GPU)


def answers(monkeypatch: pytest.MonkeyPatch, with_: EventTimes | NcuviewError) -> None:
    """What the launch that is timed gives."""

    def timed(*_: object) -> EventTimes:
        if isinstance(with_, NcuviewError):
            raise with_
        return with_

    monkeypatch.setattr(live, "event_times", timed)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "halve.cu"
    file.write_text(SOURCE, encoding="utf-8")
    return file


def test_a_catalogue_kernel_has_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, TIMES)
    report = kernel_without_counters("transposeCoalesced", PERM)
    assert (report.subject, report.times, report.missing, report.remark) == ("transposeCoalesced", TIMES, (), "")
    assert report.refusal
    assert (report.refusal.id, report.refusal.hint, report.exit_code) == ("NCU-PERM", "Open them.", 5)
    (kernel,) = report.kernels
    assert (kernel.registers, kernel.shared, kernel.barriers, kernel.spilled) == (28, 4096, 1, (0, 0))
    assert kernel.occupancy
    assert (kernel.threads, kernel.occupancy.blocks, kernel.occupancy.share) == (256, 8, 1.0)
    assert report.launch
    assert (report.launch.grid, report.launch.block) == ((256, 256, 1), (32, 8, 1))
    assert report.launch.waves == pytest.approx(65536 / (8 * 132))
    assert report.launch.useful_rate == pytest.approx(2 * 4 * 8192**2 / 2e6)
    assert report.launch.rate_unit == "GB/s"
    assert report.ladder
    assert "transposeCoalesced" in {step.kernel for step in report.ladder.steps}


def test_of_a_kernel_that_computes_the_rate_is_that_of_its_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, TIMES)
    report = kernel_without_counters("doubleLiteral")
    assert report.launch
    assert report.launch.rate_unit == "GFLOP/s"
    first = report.kernels[0].subjects[0]
    assert (first.rule.name, first.rule.code) == ("double-in-float-code", "INST004")
    assert (first.optimization, first.in_loop) == ("lower_precision", True)
    assert first.where[0].code == "x = x * 0.999 + 0.001;"


def test_a_file_of_the_user_is_reported_with_its_lines(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, TIMES)
    report = source_without_counters(source, WORDS)
    (kernel,) = report.kernels
    conversions = next(each for each in kernel.subjects if each.rule.name == "double-in-float-code")
    assert conversions.in_loop
    assert {(place.line, place.code) for place in conversions.where} == {(5, "y[i] = x[i] * 0.5 + r;")}
    assert report.launch
    assert (report.launch.sizes, report.launch.useful_rate, report.ladder) == ({"n": 4096}, None, None)
    assert report.remark == "the results of halve are not checked, since it has no oracle"
    assert (report.refusal, report.exit_code) == (None, 0)


def test_arguments_that_do_not_fit_are_refused_before_a_launch(source: Path) -> None:
    with pytest.raises(KernelFileError, match="halve takes 3 arguments"):
        source_without_counters(source, replace(WORDS, args=WORDS.args[:2]))


def test_what_cannot_be_timed_is_named_and_the_rest_is_reported(source: Path) -> None:
    report = source_without_counters(source, WORDS, PERM)
    assert report.times is None
    assert [(part.what, part.failure.message) for part in report.missing] == [("times", "no GPU here")]
    assert report.kernels
    assert report.launch
    assert (report.launch.waves, report.exit_code) == (None, 5)


def test_what_cannot_be_disassembled_is_named_and_the_rest_is_reported(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, TIMES)
    monkeypatch.setattr(machine_code, "find_nvcc", lambda: None)
    monkeypatch.setattr(machine_code, "_of_packages", list)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(machine, "find_nvcc", lambda: NVCC)
    monkeypatch.setattr(live, "compile_all", fake_compile(source))
    report = source_without_counters(source, WORDS)
    assert [(part.what, part.failure.id) for part in report.missing] == [("machine code", "CuobjdumpNotFound")]
    assert (report.kernels, report.times, report.exit_code) == ((), TIMES, 0)


def fake_compile(source: Path) -> object:
    """Compiled by hand, where PATH holds no host compiler."""

    def compile_all(nvcc: Path, kernels: list[object], folder: Path, architecture: str) -> dict[str, compiler.Compiled]:
        (kernel,) = kernels
        pointer, number = compiler.Parameter(8, "i"), compiler.Parameter(4, "i")
        cubin = source.with_suffix(".cubin")
        return {"halve": compiler.Compiled(cubin, kernel, "_Z5halve", (pointer, pointer, number))}  # type: ignore[arg-type]

    return compile_all


@pytest.mark.parametrize(("capability", "architecture"), [("", "sm_90"), ("8.0", "native")])
def test_without_a_gpu_code_is_compiled_for_what_the_idioms_are_known_of(
    source: Path, monkeypatch: pytest.MonkeyPatch, capability: str, architecture: str
) -> None:
    asked: list[str] = []

    def compile_all(nvcc: Path, kernels: list[object], folder: Path, architecture: str) -> dict[str, object]:
        asked.append(architecture)
        raise ToolError("that is all")

    monkeypatch.setattr(machine, "find_nvcc", lambda: Path("nvcc"))
    monkeypatch.setattr(machine, "compute_capability", lambda: capability)
    monkeypatch.setattr(live, "compile_all", compile_all)
    with pytest.raises(ToolError, match="that is all"):
        source_without_counters(source, WORDS)
    assert asked == [architecture]


def test_without_any_part_the_first_reason_is_raised(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_code(_: Path, wanted: object) -> tuple[machine_code.KernelCode, ...]:
        raise ToolError("no cuobjdump here", id="CuobjdumpNotFound")

    monkeypatch.setattr(machine_code, "code_of_cubin", no_code)
    with pytest.raises(ToolError, match="no cuobjdump here"):
        source_without_counters(source, WORDS)
    report = source_without_counters(source, WORDS, PERM)
    assert [part.what for part in report.missing] == ["machine code", "times"]
    assert report.exit_code == 5


@pytest.mark.parametrize("failure", [WrongResult("computes 3 wrong elements"), ProgramFailed("an illegal access")])
def test_a_kernel_that_fails_exits_with_6_where_ncu_was_not_started(
    source: Path, monkeypatch: pytest.MonkeyPatch, failure: NcuviewError
) -> None:
    answers(monkeypatch, failure)
    assert source_without_counters(source, WORDS).exit_code == 6
    assert source_without_counters(source, WORDS, PERM).exit_code == 5


def test_without_a_compiler_there_is_nothing(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "find_nvcc", lambda: None)
    with pytest.raises(CompilerNotFound):
        source_without_counters(source, WORDS)


def test_a_missing_launch_is_refused(source: Path) -> None:
    with pytest.raises(UsageError, match="does not define how its kernel is launched"):
        source_without_counters(source, LaunchOptions())


def test_a_kernel_that_is_not_in_the_catalogue_is_refused() -> None:
    with pytest.raises(UnknownKernel):
        kernel_without_counters("transposeColaesced")


def test_a_recorded_profile_that_cannot_be_read_takes_nothing_else_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise ReportDamaged("the recorded profile is damaged")

    monkeypatch.setattr("ncuview.pipeline.ladders.ladder", damaged)
    report = kernel_without_counters("copyRow", PERM)
    assert report.ladder is None
    assert [part.what for part in report.missing] == ["times", "recorded ladder"]
    assert report.kernels


@pytest.fixture
def program(source: Path) -> str:
    source.write_text(SOURCE + "int main() { return 0; }\n", encoding="utf-8")
    subprocess.run([str(NVCC), "-arch=sm_90", "-o", "halve", source.name], cwd=source.parent, check=True)
    return str(source.with_suffix(""))


def test_a_program_is_looked_into_and_not_run(program: str) -> None:
    report = program_without_counters([program, "--size", "10"], PERM)
    (kernel,) = report.kernels
    assert kernel.symbol == "_Z5halvePKfPfi"
    assert kernel.occupancy
    assert (kernel.threads, kernel.occupancy.share) == (64, 1.0)
    assert "double-in-float-code" in {subject.rule.name for subject in kernel.subjects}
    assert all(subject.where == () for subject in kernel.subjects)
    assert (report.times, report.launch, report.ladder, report.missing) == (None, None, None, ())
    assert "nsys profile" in report.remark
    assert report.exit_code == 5


def test_of_a_program_with_very_many_kernels_it_is_said_that_some_are_missing(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_code, "KERNELS_AT_MOST", 1)
    assert "The first 1 kernels of each" in program_without_counters([program]).remark


def test_of_a_python_program_only_the_remedy_is_left() -> None:
    report = program_without_counters(["python3", "train.py"], PERM)
    assert report.kernels == ()
    assert [part.what for part in report.missing] == ["machine code"]
    assert "a Python program cannot be analysed" in report.missing[0].failure.message
    with pytest.raises(ReportEmpty):
        program_without_counters(["python3", "train.py"])


@pytest.mark.parametrize("capability", ["9.0", "12.0", ""])
def test_the_machine_code_is_that_for_the_gpu_of_the_machine(
    monkeypatch: pytest.MonkeyPatch, program: str, capability: str
) -> None:
    asked = []

    def code_of_program(name: str, folder: Path, for_: str) -> tuple[machine_code.KernelCode, ...]:
        asked.append((name, for_))
        return ()

    monkeypatch.setattr(machine, "compute_capability", lambda: capability)
    monkeypatch.setattr(machine_code, "code_of_program", code_of_program)
    program_without_counters([program])
    assert asked == [(program, capability)]


def test_a_line_that_the_source_does_not_have_has_no_text(source: Path) -> None:
    line = module._line_reader(source.parent)
    assert line(source.name, 3) == line(str(source), 3) == "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    assert line(source.name, 300) == ""
    assert line("gone.cu", 3) == ""


def test_lines_are_counted_as_the_compiler_counts_them(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_bytes(b"// one \x0c still one\r\n  // caf\xe9 \xc2\x85 two\n")
    assert module._line_reader(tmp_path)("a.cu", 2) == "// caf\N{REPLACEMENT CHARACTER} \x85 two"


@pytest.mark.parametrize(
    "named", ["/etc/passwd", "/dev/zero", "secret.txt", "pipe.cu", "link.cu", "folder.cu", "a\0.cu", ""]
)
def test_what_is_no_source_file_is_not_opened(tmp_path: Path, named: str) -> None:
    """The names come from the line table of a program that may be a stranger's."""
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "folder.cu").mkdir()
    (tmp_path / "link.cu").symlink_to("/etc/passwd")
    (tmp_path / "secret.txt").write_text("secret\n")
    assert module._line_reader(tmp_path)(named, 1) == ""


def test_a_file_is_read_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []
    local_file = module_of_sources.local_file

    def opening(file: str) -> tuple[Path, str] | None:
        opened.append(file)
        return local_file(file)

    monkeypatch.setattr(module_of_sources, "local_file", opening)
    line = module._line_reader(source.parent)
    assert [line(source.name, at)[:4] for at in (3, 4, 5)] == ["int ", "for ", "y[i]"]
    assert opened == [str(source)]


def test_the_folder_is_not_searched(tmp_path: Path) -> None:
    """It may be a home folder, or the root of a file system."""
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a.cu").write_text("__global__ void a() {}\n")
    assert module._line_reader(tmp_path)("a.cu", 1) == ""


def test_a_program_whose_line_table_names_a_pipe_is_reported(program: str, source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    for name in ("pipe.cu", "/etc/passwd"):
        source.write_text(f'#line 1 "{name}"\n{text}', encoding="utf-8")
        words = [str(NVCC), "-arch=sm_90", "-lineinfo", "-o", "halve", source.name]
        subprocess.run(words, cwd=source.parent, check=True)
        pipe = source.with_name("pipe.cu")
        if not pipe.exists():
            os.mkfifo(pipe)
        (kernel,) = program_without_counters([program]).kernels
        places = [place for subject in kernel.subjects for place in subject.where]
        assert {(place.file.rpartition("/")[2], place.code) for place in places} == {(name.rpartition("/")[2], "")}
