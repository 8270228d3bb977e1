"""Programs recorded for their calls, by a played ncu and driver: what is asked of them, and what is written."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ncuview.pipeline.program_runs import Seen
from ncuview.profiling.passes import program_metrics
from ncuview.programs.owners import owners_of
from ncuview.records.profile import CallStack, Frame, Profile
from ncuview.records.program import Call
from tests.builders import Launch, make_profile
from tests.profiling.played import AS_NCU, play, words_of
from tests.profiling.test_machine import Machine, gpu

record = pytest.importorskip("validation.calls.record", reason="needs the programs in validation/")
recorded = pytest.importorskip("validation.calls.recorded")
step = pytest.importorskip("validation.calls.step")

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
