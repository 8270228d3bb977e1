"""Programs recorded for their calls, by a played ncu and driver: what is asked of them, and what is written."""

from __future__ import annotations

import ctypes
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ncuview.base.errors import ProgramFailed
from ncuview.pipeline.program_runs import Seen
from ncuview.profiling.machine import find_nvcc
from ncuview.profiling.passes import program_metrics
from ncuview.programs.owners import owners_of
from ncuview.records.profile import CallStack, Frame, Profile
from ncuview.records.program import Call
from tests.builders import Launch, make_profile
from tests.profiling.played import AS_NCU, play, words_of
from tests.profiling.test_machine import Machine, gpu

record = pytest.importorskip("validation.calls.record", reason="needs the programs in validation/")
recorded = pytest.importorskip("validation.calls.recorded")
runs = pytest.importorskip("validation.calls.runs")
step = pytest.importorskip("validation.calls.step")
timing = pytest.importorskip("validation.calls.timing")

KERNEL = "vectorized_elementwise_kernel"
LAUNCHES = [step.MARK, KERNEL, step.MARK, KERNEL, step.MARK]
"""Of a program with two variants, which launch one kernel each."""
FINISHED = [["stdout", f'==PROF== Profiling "k" - {at}: 0%....50%....100% - 1 pass\n'] for at in range(len(LAUNCHES))]
VALUES = dict.fromkeys(program_metrics(), 12.3456)
AT_HOME = "/home/alice/ncuview/validation/calls"
STACK = CallStack(
    (
        Frame("relu_", "/usr/lib/python3/dist-packages/torch/functional.py", 900),
        Frame("forward", f"{AT_HOME}/programs/q002_refine_head.py", 30),
        Frame("before", f"{AT_HOME}/programs/q002_refine_head.py", 38),
        Frame("main", f"{AT_HOME}/step.py", 25),
        Frame("<module>", f"{AT_HOME}/step.py", 80),
    ),
    (Frame("at::_ops::relu_::call(at::Tensor&)", "/opt/torch/lib/libtorch_cpu.so", 0),),
)


def profile(kernels: Sequence[str] = LAUNCHES) -> Profile:
    made = make_profile(*(Launch(metrics=VALUES, kernel=kernel, instructions=()) for kernel in kernels))
    made.launches["demangled"] = [
        f"void at::native::{kernel}<(int)4, at::native::Functor<float>>(int)" for kernel in kernels
    ]
    return replace(made, call_stacks=dict.fromkeys(range(len(kernels)), STACK))


def played(reports: Sequence[Path], *, instructions: bool = True) -> Profile:
    """What is read of both reports: times of all launches, or counters of one of each."""
    [report] = reports
    assert (report.name, instructions) in {("0.ncu-rep", False), ("1.ncu-rep", True)}
    if instructions:
        return profile([step.MARK, KERNEL])
    times = profile()
    attributes = [name for name in times.metrics if str(name).startswith("launch__")]
    return replace(times, metrics=times.metrics[["gpu__time_duration.sum", *attributes]])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a GPU and a played ncu."""
    here = Machine(tmp_path, monkeypatch)
    here.answer_nvidia_smi(gpu())
    here.install("path/ncu", AS_NCU)
    monkeypatch.setattr(record, "read_with_sources", played)
    return here


def written(out: Path) -> list[str]:
    return sorted(file.name for file in out.iterdir())


def test_the_labelled_variants_are_run_in_two_runs_and_written(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    play(here, monkeypatch, say=FINISHED, report=True)
    out = here.root / "out"
    record.main(out, ["q002"])
    assert written(out) == ["calls.json.xz", "q002.after.json", "q002.before.json"]
    times, counters = words = words_of(here)
    assert [each[-2:] for each in words] == [["before", "after"]] * 2
    asked = {"--profile-from-start=no", "--clock-control=none"}
    assert asked | {"--call-stack", "--call-stack-type=python", "--metrics=gpu__time_duration.sum"} <= set(times)
    one = {"--filter-mode=per-launch-config", "--launch-count=1", "--kernel-name-base=demangled"}
    assert asked | one | {f"--metrics={','.join(program_metrics())}"} <= set(counters)
    record.main(out, ["q002"])
    assert words_of(here) == words, "what is written is not run again"


def test_what_is_written_reads_back_without_folders(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    play(here, monkeypatch, say=FINISHED, report=True)
    out = here.root / "out"
    record.main(out, ["q002"])
    found = recorded.read(out)
    assert list(found) == [("q002", "after"), ("q002", "before")]
    (launch,) = found["q002", "before"].launches
    callers = (Frame("before", "q002_refine_head.py", 38),)
    assert launch.call == Call("q002_refine_head.py", 30, "forward", "relu_", callers=callers)
    assert (launch.owner_kind, launch.owner, launch.kernel) == ("framework", "PyTorch", KERNEL)
    columns = (launch.duration_ns, launch.bytes_read, launch.bytes_written, launch.fma_pct, launch.tensor_pct)
    assert columns == (12.3456, 12.3456, 12.3456, 12.35, 12.35), "the metrics are all that the rules read"
    assert found["q002", "before"].passes == 1


def test_nan_is_kept(tmp_path: Path) -> None:
    without = Launch().with_metrics({name: None for name in program_metrics() if "time" not in name})
    made = make_profile(without)
    (launch,) = record.program_launches(Seen(made, owners_of(made)))
    recorded.write(recorded.Recorded("q002", "before", "H200", 1, 1.0, 1.0, (launch,)), tmp_path)
    recorded.pack(tmp_path)
    (back,) = recorded.read(tmp_path)["q002", "before"].launches
    assert back.duration_ns == launch.duration_ns > 0
    assert math.isnan(back.bytes_read)
    assert math.isnan(back.fma_pct)


@pytest.mark.parametrize(
    "wrong",
    [
        {"returncode": 1, "say": [["stdout", "Traceback: no GPU\n"]]},
        {"say": [*FINISHED, ["stdout", FINISHED[0][1].replace("- 0:", "- 5:")]], "report": True},
    ],
    ids=["the program fails", "launches are missing"],
)
def test_a_failed_variant_is_said_and_left_out(
    here: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: dict[str, Any]
) -> None:
    play(here, monkeypatch, **wrong)
    record.main(here.root / "out", ["q002"])
    assert capsys.readouterr().out.count("FAILED") == 1
    assert written(here.root / "out") == ["calls.json.xz"]


def test_nothing_starts_that_the_deadline_would_cut(
    here: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play(here, monkeypatch, say=FINISHED, report=True)
    record.main(here.root / "out", ["q002"], deadline=record.LEFT_TO_READ_S)
    assert "1 programs are left, the first is q002" in capsys.readouterr().out
    assert written(here.root / "out") == ["calls.json.xz"]


NVCC = f"""exec '{sys.executable}' -I -S - "$@" <<'END'
import os, sys
if any("fails.cu" in word for word in sys.argv):
    sys.exit("fails.cu(3): error: expected a ;")
with open(os.environ["NVCC_SAID"], "a") as said:
    said.write(" ".join(sys.argv[1:]) + chr(10))
made = sys.argv[sys.argv.index("-o") + 1]
with open(made, "w") as program:
    program.write(os.environ["NVCC_MAKES"])
os.chmod(made, 0o755)
END"""
"""A line of shell that plays nvcc: what it compiles is a script."""
TRACE = f"9000\t1,1,1\t1,1,1\t_Z4fillPf\n100\t1,1,1\t1,1,1\t{step.MARK}\n"
STEP = "1500000\t8,1,1\t64,1,1\t_Z4gatePf\n500000\t8,1,1\t64,1,1\t_Z4gatePf\n"
REST = f"100\t1,1,1\t1,1,1\t{step.MARK}\n9000\t1,1,1\t1,1,1\t_Z4gatePf\ncomplete\n"
MADE = f"""#!{sys.executable} -IS
import os, sys
assert sys.argv[1:] == ["--time", "before"], sys.argv
assert os.environ["CUDA_INJECTION64_PATH"].endswith("kernel_times.so")
with open(os.path.join(os.environ["NCUVIEW_KERNEL_TIMES"], "1.tsv"), "w") as file:
    file.write({TRACE + STEP + REST!r})
print("2.5000")
"""


@pytest.fixture
def compiles(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a played nvcc, and the words that it was started with."""
    here.install("toolkit/bin/nvcc", NVCC)
    monkeypatch.setenv("PATH", f"{here.root / 'toolkit' / 'bin'}{os.pathsep}{os.environ['PATH']}")
    said = here.root / "nvcc-said"
    monkeypatch.setenv("NVCC_SAID", str(said))
    monkeypatch.setenv("NVCC_MAKES", MADE)
    monkeypatch.setattr(runs, "find_spec", lambda name: {"nvidia": None}[name])
    return said


def test_a_cuda_source_is_compiled_and_its_native_calls_recorded(
    here: Machine, compiles: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(here, monkeypatch, say=FINISHED, report=True)
    out = here.root / "out"
    record.main(out, ["q227"])
    assert written(out) == ["calls.json.xz", "q227.one_product_for_all.json", "q227.product_for_each_user.json"]
    times, counters = words_of(here)
    assert {"--call-stack", "--call-stack-type=native"} <= set(times)
    assert not [word for word in counters if "call-stack" in word]
    program, *variants = times[-3:]
    assert (Path(program).name, variants) == ("q227_user_adapters", ["product_for_each_user", "one_product_for_all"])
    [compiled] = compiles.read_text().splitlines()
    assert compiled.endswith(f"-lineinfo -g -o {program} {record.sources()['q227']} -lcublas -lcufft")


def test_a_source_that_does_not_compile_is_said(
    here: Machine, compiles: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "sources", lambda: {"q227": here.root / "fails.cu"})
    monkeypatch.setattr(record, "labels_of", lambda _: {"before": {}})
    record.main(here.root / "out", ["q227"])
    assert "q227: FAILED fails.cu does not compile:\nfails.cu(3): error: expected a ;" in capsys.readouterr().out
    assert not compiles.exists()


def test_a_compiled_step_is_timed_between_its_marks(compiles: Path, tmp_path: Path) -> None:
    program = runs.program_of(tmp_path / "train.cu", tmp_path)
    assert program.took("before") == runs.Took(2.5, 2.0, 2)
    assert compiles.read_text().count("kernel_times.cpp") == 1


@pytest.mark.parametrize(
    ("trace", "said"),
    [
        (TRACE + STEP + REST.removesuffix("complete\n"), "kernels are missing"),
        (TRACE + STEP + "complete\n", "1 marks"),
        (None, "it ended with 1"),
    ],
)
def test_a_trace_without_the_step_is_no_time(
    compiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trace: str | None, said: str
) -> None:
    made = MADE.replace(repr(TRACE + STEP + REST), repr(trace)) if trace else "#!/bin/sh\nexit 1\n"
    monkeypatch.setenv("NVCC_MAKES", made)
    program = runs.program_of(tmp_path / "train.cu", tmp_path)
    with pytest.raises(ProgramFailed, match=said):
        program.took("before")
    assert compiles.exists()


def test_times_of_both_languages_are_written(
    compiles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs.PythonProgram, "took", lambda _, variant: runs.Took(4.0, float(len(variant)), 7))
    monkeypatch.setattr(timing, "sources", lambda: {"q1": tmp_path / "q1_a.py", "q2": tmp_path / "q2_b.cu"})
    monkeypatch.setattr(timing, "labels_of", lambda source: ["before", "after"] if source.suffix == ".cu" else ["x"])
    monkeypatch.setattr(timing, "times", lambda: {"q0_z": {"x": {"wall_ms": 1.0}}})
    timing.main(tmp_path / "times.json", ["q1", "q2"])
    assert json.loads((tmp_path / "times.json").read_text()) == {
        "q0_z": {"x": {"wall_ms": 1.0}},
        "q1_a": {"x": {"wall_ms": 4.0, "kernel_ms": 1.0, "kernels": 7}},
        "q2_b": {"before": {"wall_ms": 2.5, "kernel_ms": 2.0, "kernels": 2}},
    }
    assert "q2_b after: FAILED: it ended with 1" in capsys.readouterr().out
    assert compiles.exists()


def test_libraries_of_the_toolkit_come_before_those_of_packages(
    compiles: Path, here: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "nvidia" / "cu13"
    for name in ("include/cublas_v2.h", "include/cufft.h", "lib/libcublas.so.13", "lib/libcufft.so.12"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).touch()
    nvidia = SimpleNamespace(submodule_search_locations=[str(package.parent)])
    monkeypatch.setattr(runs, "find_spec", lambda name: {"nvidia": nvidia}[name])
    include = here.root / "toolkit" / "include"
    include.mkdir()
    (include / "cufft.h").touch()
    runs.program_of(tmp_path / "train.cu", tmp_path)
    folder = f"-I{package}/include -L{package}/lib -l:libcublas.so.13 -Xlinker -rpath={package}/lib"
    assert compiles.read_text().endswith(f"train.cu {folder} -lcufft\n")


HOST = """
#include "step.cuh"

struct State {
    float *result = nullptr;
    size_t count = 0;
};

void before(State &) {}

int main(int argc, char **argv)
{
    const float nan = NAN;
    printf("%g %g %g", difference_of({1, 2}, {1, 4}), difference_of({1, nan}, {1, 4}), difference_of({3}, {3}));
    State state;
    return run_steps<State>(argc, argv, state, {{"before", before}}, 0.0);
}
"""


def test_cuda_steps_are_those_of_python(tmp_path: Path) -> None:
    """What of step.cuh needs no GPU: its numbers, the comparison of results, and the names of variants."""
    header = Path(step.__file__).with_suffix(".cuh")
    assert re.findall(r"constexpr int (\w+) = (\d+);", header.read_text()) == [
        ("WARM_UP", str(step.WARM_UP)),
        ("TIMED", str(step.TIMED)),
    ]
    assert f'extern "C" __global__ void {step.MARK}() {{}}' in header.read_text()
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    (tmp_path / "host.cu").write_text(HOST)
    words = ["-std=c++17", f"-I{header.parent}", "-o", str(tmp_path / "host"), str(tmp_path / "host.cu")]
    subprocess.run([nvcc, *words], check=True, capture_output=True)
    ended = subprocess.run([tmp_path / "host", "after"], check=False, capture_output=True, text=True)
    assert ended.stdout.lower().replace("-nan", "nan") == "0.5 nan 0"
    assert (ended.returncode, ended.stderr) == (2, "there is no variant after\n")


PROGRAM = """
import json
def setup():
    return []
def step(state):
    state.append("step")
    return state
VARIANTS = {"before": step}
"""


class Driver:
    """A CUDA driver that notes what is called, and the steps that the program had made by then."""

    def __init__(self, **statuses: int) -> None:
        self.said: list[str] = []
        self.statuses = statuses

    def __getattr__(self, function: str) -> Any:
        assert function.startswith("cu")

        def called(*_: object) -> int:
            self.said.append(function)
            return self.statuses.get(function, 0)

        return called


def test_the_profiler_is_on_for_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: {"libcuda.so.1": driver}[name])
    blocked: list[int] = []
    jax = SimpleNamespace(block_until_ready=lambda result: blocked.append(len(result)))
    monkeypatch.setitem(step.sys.modules, "jax", jax)
    program = tmp_path / "made_up_program.py"
    program.write_text(PROGRAM)
    step.main(program, ["before"])
    monkeypatch.delitem(step.sys.modules, "made_up_program")
    assert blocked == [1, 2, 3, 4], "JAX is waited for after each step"
    first = ["cuInit", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"]
    warm_up = ["cuCtxSynchronize"] * step.WARM_UP
    mark = ["cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel", "cuCtxSynchronize"]
    assert driver.said == [*first, *warm_up, "cuProfilerStart", *mark, "cuCtxSynchronize", *mark, "cuProfilerStop"]


def test_a_timed_step_is_traced_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: {"libcuda.so.1": driver}[name])
    program = tmp_path / "timed_program.py"
    program.write_text(PROGRAM)
    step.main(program, ["before"], timed=True)
    monkeypatch.delitem(step.sys.modules, "timed_program")
    assert float(capsys.readouterr().out) > 0
    assert driver.said[-3:] == ["cuProfilerStart", "cuCtxSynchronize", "cuProfilerStop"]
    assert driver.said.count("cuCtxSynchronize") == step.WARM_UP + step.TIMED + 1


def test_an_error_of_the_driver_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: Driver(cuCtxSynchronize=700))
    program = tmp_path / "another_program.py"
    program.write_text(PROGRAM)
    with pytest.raises(OSError, match="cuCtxSynchronize returned 700"):
        step.main(program, ["before"])
    monkeypatch.delitem(step.sys.modules, "another_program")
