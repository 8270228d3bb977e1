"""A Python program that is profiled in several runs: what each collects, and what is said of every launch."""

from __future__ import annotations

import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ncuview.api import load_rules
from ncuview.base.errors import GpuNotFound, NcuviewError, ProgramFailed, ToolError
from ncuview.base.paths import shipped
from ncuview.engine.rank import diagnose
from ncuview.pipeline import program_runs
from ncuview.profiling.job import Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import CallStacks, FilterMode, NcuOptions
from ncuview.profiling.passes import TIME_ALONE, program_metrics
from ncuview.reader.precheck import read_report
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import CallStack, Failure, Frame, Profile
from ncuview.records.program import BareRun, KernelTrace
from tests import command_line
from tests.pipeline.test_sampled import picked, repeated
from tests.profiles import recorded_profile
from tests.profiling.played import AS_NCU, arrange

PROGRAM = [0, 1, 0, 1, 0]
"""Launches of the recorded family ``reduction``, by position."""
WITH_CALLS = NcuOptions(call_stack=CallStacks.PYTHON)
SLOW_START = BareRun(60.0, KernelTrace(5, 1, 2, 0, 0, 0, 0, 0))
FAST_START = BareRun(0.1, KernelTrace(5, 1, 2, 0, 0, 0, 0, 0, pytorch=True))


@dataclass
class Runs:
    """ncu, played: the launches of ``PROGRAM`` with the metrics that are asked for."""

    monkeypatch: pytest.MonkeyPatch
    bare: BareRun | None = None
    missing: ToolError | None = None
    seen: list[tuple[tuple[str, ...], NcuOptions]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    change: Callable[[int, Profile], Profile] = lambda _, profile: profile
    hooked: bool = False
    waits: bool = True
    """Whether the program waits at the gate; otherwise it launches a kernel while the run of times still runs."""
    held: bool = True
    """Whether a run may wait at a gate."""
    went_on: Event = field(default_factory=Event)

    def diagnosis(self, **options: Any) -> Diagnosis:
        self.monkeypatch.setattr(program_runs, "profile_program", self._profiled)
        self.monkeypatch.setattr(program_runs, "run_bare", lambda *_: self.bare)
        self.monkeypatch.setattr(program_runs, "missing_for_ncu", lambda: self.missing)
        return program_runs.examine_in_runs(
            ["python3", "app.py"], load_rules(), NcuOptions(**options), say=self.said.append
        ).diagnosis

    def _profiled(
        self, words: Sequence[str], metrics: Sequence[str], options: NcuOptions, **limits: Any
    ) -> tuple[Profile, Profiled]:
        assert words == ["python3", "app.py"]
        compiled_in = limits.pop("variables")
        assert Path(compiled_in["JAX_COMPILATION_CACHE_DIR"]).is_dir()
        ended = limits.pop("ended")
        if held := compiled_in.get("NCUVIEW_HOOK_GATE"):
            assert self.held
            progress = limits.pop("progress")
            if not self.waits:
                try:
                    progress(Progress("k", 0, None, 1.0))
                finally:
                    self.went_on.set()
            if opened(Path(held)) == "leave":
                raise ProgramFailed("it left")
        else:
            assert limits.pop("progress") is None
        only_times = tuple(metrics) == TIME_ALONE
        assert self.waits or not only_times or self.went_on.wait(20)
        assert limits == {
            "timeout_s": math.inf,
            "no_progress_s": None,
            "instructions": not only_times,
        }
        self.seen.append((tuple(metrics), options))
        launches = PROGRAM
        if options.kernel_id:
            launches = picked(PROGRAM, options.kernel_id)
        elif options.filter_mode is FilterMode.PER_LAUNCH_CONFIG:
            assert options.launch_count == 1
            launches = list(dict.fromkeys(PROGRAM))
        found = self.change(len(self.seen), repeated(launches))
        attributes = tuple(name for name in found.metrics if str(name).startswith(("launch__", "device__")))
        collected = [name for name in found.metrics if name in metrics or name in attributes]
        stacks = {
            launch: CallStack((Frame("step", "/home/alice/app.py", 10 + launch),)) for launch in range(len(launches))
        }
        made = Profiled((Path("r"),), options, NcuRun(0, "", "", 1, ()), hooked=self.hooked)
        if not found.failure:
            ended()
        return replace(found, metrics=found.metrics[collected], call_stacks=stacks if options.call_stack else {}), made


def opened(gate: Path) -> str:
    """What a gate says, once it is open."""
    ends = time.monotonic() + 20
    while not gate.exists():
        assert time.monotonic() < ends, "the gate stays closed"
        time.sleep(0.005)
    return gate.read_text(encoding="utf-8")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


def test_time_and_calls_come_first_then_counters_of_each_configuration_then_own_kernels(runs: Runs) -> None:
    runs.bare = FAST_START
    runs.diagnosis()
    times, counters, everything = runs.seen
    assert times[0] == TIME_ALONE
    assert times[1] == replace(WITH_CALLS, import_source=False)
    assert counters[0] == tuple(program_metrics())
    assert (counters[1].filter_mode, counters[1].call_stack) == (FilterMode.PER_LAUNCH_CONFIG, CallStacks.NONE)
    assert len(everything[0]) > len(counters[0])
    assert everything[1].kernel_id
    assert [re.sub(r": .*", "", line) for line in runs.said] == [
        "without ncu, 5 launches",
        "next",
        "time and calls of 5 launches",
        "counters of 2 configurations",
        "all metrics of 2 launches",
    ]


def failing(*numbers: int) -> Callable[[int, Profile], Profile]:
    """The runs with these numbers fail after their launches."""
    failure = Failure("ProgramFailed", "it stopped", "", 5)
    return lambda number, profile: replace(profile, failure=failure) if number in numbers else profile


def test_where_the_run_of_times_fails_that_of_counters_leaves_and_it_is_made_again(runs: Runs) -> None:
    runs.bare, runs.change = FAST_START, failing(1)
    assert not runs.diagnosis().failure
    assert [metrics for metrics, _ in runs.seen[:3]] == [TIME_ALONE, TIME_ALONE, tuple(program_metrics())]


def test_a_program_that_fails_alone_as_well_has_failed(runs: Runs) -> None:
    runs.bare, runs.change = FAST_START, failing(1, 2)
    assert runs.diagnosis().failure
    assert [metrics for metrics, _ in runs.seen] == [TIME_ALONE, TIME_ALONE]


@pytest.mark.parametrize("size", ["WORLD_SIZE", "SLURM_NTASKS"])
def test_the_runs_of_a_rank_are_made_one_after_the_other(runs: Runs, size: str) -> None:
    runs.monkeypatch.setenv(size, "2")
    runs.bare, runs.held = FAST_START, False
    runs.diagnosis()
    assert [len(metrics) for metrics, _ in runs.seen[:2]] == [1, len(program_metrics())]


def test_the_runs_of_a_program_without_pytorch_are_made_one_after_the_other(runs: Runs) -> None:
    runs.bare, runs.held = BareRun(0.1, KernelTrace(5, 1, 2, 0, 0, 0, 0, 0)), False
    runs.diagnosis()
    assert [len(metrics) for metrics, _ in runs.seen[:2]] == [1, len(program_metrics())]


def test_counters_are_of_a_run_of_their_own_where_the_program_does_not_wait(runs: Runs) -> None:
    runs.bare, runs.waits = FAST_START, False
    found = runs.diagnosis()
    assert [len(metrics) for metrics, _ in runs.seen[:2]] == [1, len(program_metrics())]
    assert "counters are of one launch of each of 2 configurations" in found.remark


def test_every_launch_has_its_own_place_and_call_and_the_verdict_of_its_configuration(runs: Runs) -> None:
    found = runs.diagnosis()
    complete = diagnose(repeated(PROGRAM), load_rules())
    assert [launch.kernel for launch in found.launches] == [launch.kernel for launch in complete.launches]
    assert [launch.index for launch in found.launches] == [launch.index for launch in complete.launches]
    assert [launch.call and launch.call.line for launch in found.launches] == [10, 11, 12, 13, 14]
    assert [launch.verdict for launch in found.launches] == [launch.verdict for launch in complete.launches]
    assert [[each.rule for each in launch.findings[:1]] for launch in found.launches] == [
        [each.rule for each in launch.findings[:1]] for launch in complete.launches
    ]
    assert found.program is not None
    assert found.program.launches == 5


def test_few_launches_have_counters_at_once_where_the_program_starts_slowly(runs: Runs) -> None:
    runs.bare = SLOW_START
    runs.diagnosis()
    assert runs.said[1] == "next: 5 launches under ncu, about 60 s"
    assert next(metrics for metrics, _ in runs.seen) == tuple(program_metrics())
    assert len(runs.seen) == 2


def test_many_launches_have_counters_of_their_configuration_however_slowly_the_program_starts(runs: Runs) -> None:
    runs.bare = BareRun(600.0, KernelTrace(program_runs.FEW + 1, 1, 2, 0, 0, 0, 0, 0))
    runs.diagnosis()
    assert runs.seen[0][0] == TIME_ALONE


def test_programs_without_own_kernels_take_two_runs(runs: Runs) -> None:
    library = "void at::native::vectorized_elementwise_kernel<4, at::native::Add>(int)"

    def of_pytorch(_: int, profile: Profile) -> Profile:
        launches = profile.launches.assign(demangled=library)
        return replace(profile, launches=launches, instructions=profile.instructions.iloc[:0])

    runs.change = of_pytorch
    found = runs.diagnosis()
    assert len(runs.seen) == 2
    assert "counters are of one launch of each of 2 configurations" in found.remark
    assert {launch.verdict for launch in found.launches} == {"not-yours"}
    assert all(launch.units for launch in found.launches), "they have counters"


@pytest.mark.parametrize(
    ("hooked", "names", "missing"),
    [(True, (), True), (True, ("aten::mul, seq = 1, op_id = 4",), False), (False, (), False)],
)
def test_ranges_that_pytorch_did_not_write_are_missing(
    runs: Runs, hooked: bool, names: tuple[str, ...], missing: bool
) -> None:
    runs.hooked = hooked
    library = "void at::native::vectorized_elementwise_kernel<4, at::native::Add>(int)"
    runs.change = lambda _, profile: replace(
        profile,
        launches=profile.launches.assign(demangled=library),
        instructions=profile.instructions.iloc[:0],
        nvtx_ranges={0: names} if names else {},
    )
    assert ("PyTorch's ranges are missing" in runs.diagnosis().remark) == missing


@pytest.mark.parametrize(
    ("bare", "options", "says"),
    [
        (None, {}, "the time between kernels is missing: the run without ncu was not traced"),
        (BareRun(9.0, None), {}, "the time between kernels is missing: the run without ncu was not traced"),
        (
            BareRun(9.0, KernelTrace(2_841, 1, 2, 0, 0, 0, 0, 0)),
            {},
            "the time between kernels is missing: without ncu 2,841 kernels ran",
        ),
        (FAST_START, {}, ""),
        (None, {"no_bare_run": True}, ""),
    ],
)
def test_a_missing_time_between_kernels_is_said(
    runs: Runs, bare: BareRun | None, options: dict[str, Any], says: str
) -> None:
    runs.bare = bare
    remark = runs.diagnosis(**options).remark
    assert says in remark
    assert ("the time between kernels is missing" in remark) == bool(says)


def test_own_kernels_of_little_time_are_named(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_runs, "LEAST_SAVING", 2.0)
    found = runs.diagnosis()
    assert len(runs.seen) == 2
    assert "5 launches of your own kernels take too little time for a run with all metrics" in found.remark


def test_counters_that_fail_are_named_and_the_program_is_judged_without(runs: Runs) -> None:
    def failing(number: int, profile: Profile) -> Profile:
        if number == 2:
            raise ProgramFailed("exit code 139")
        return profile

    runs.change = failing
    found = runs.diagnosis()
    assert "counters are missing: exit code 139" in found.remark
    assert found.program is not None
    assert len(found.launches) == 5


def test_the_last_run_that_fails_is_named_in_one_line(runs: Runs) -> None:
    def failing(number: int, profile: Profile) -> Profile:
        if number == 3:
            raise ProgramFailed("exit code 139:\n    Segmentation fault")
        return profile

    runs.change = failing
    assert "judged from one pass of counters: exit code 139" in runs.diagnosis().remark
    assert "Segmentation" not in runs.diagnosis().remark


def test_another_sequence_in_the_last_run_is_named(runs: Runs) -> None:
    def other(number: int, profile: Profile) -> Profile:
        return replace(profile, launches=profile.launches.assign(grid_x=3)) if number == 3 else profile

    runs.change = other
    found = runs.diagnosis()
    assert "launched something else" in found.remark
    assert len(found.launches) == 5


def test_a_program_that_fails_is_diagnosed_as_far_as_it_came(runs: Runs) -> None:
    failure = Failure("NCU-CRASH", "the program crashed", "", 3)
    runs.change = lambda _, profile: replace(profile, failure=failure)
    found = runs.diagnosis()
    assert len(runs.seen) == 1
    assert found.failure == failure
    assert len(found.launches) == 5


def test_what_a_configuration_lacks_is_missing(runs: Runs) -> None:
    times = repeated(PROGRAM)
    times = replace(times, metrics=times.metrics[["gpu__time_duration.sum", "launch__shared_mem_per_block"]])
    seen = program_runs.with_counters_of(times, repeated([1]))
    read = seen.profile.metrics["dram__bytes_read.sum"]
    expected = recorded_profile("reduction").metrics["dram__bytes_read.sum"].iloc[1]
    assert [None if math.isnan(value) else value for value in read] == [None, expected, None, expected, None]
    assert Counter(owner.kind for owner in seen.owners) == {"yours": 5}


def test_a_trace_counts_the_time_between_kernels(runs: Runs) -> None:
    runs.bare = BareRun(0.1, KernelTrace(5, 1, 10_000_000_000, 10, 4, 9_000_000_000, 9_000_000_000, 0))
    found = runs.diagnosis()
    assert found.program is not None
    assert "host_transfer" in {finding.change for finding in found.program.findings}
    assert "the GPU waits for the host" not in found.remark


def test_waits_that_no_rule_explains_are_named(runs: Runs) -> None:
    runs.bare = BareRun(0.1, KernelTrace(5, 1_000_000, 10_000_000, 10, 4, 9_000_000, 2_000_000, 0))
    remark = "no rule is about 7 ms in which the GPU waits for the host, but not for copies"
    assert remark in runs.diagnosis().remark


def test_an_error_of_the_first_run_ends_it(runs: Runs) -> None:
    def failing(_: int, __: Profile) -> Profile:
        raise ProgramFailed("no GPU")

    runs.change = failing
    with pytest.raises(NcuviewError, match="no GPU"):
        runs.diagnosis()


def test_without_a_gpu_the_program_is_not_run_at_all(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.missing = GpuNotFound("no NVIDIA GPU here", hint="Install one.")
    started: list[object] = []
    monkeypatch.setattr(program_runs, "run_bare", started.append)
    with pytest.raises(GpuNotFound, match="no NVIDIA GPU here") as refused:
        runs.diagnosis()
    assert "--dry-run" in refused.value.hint
    assert (started, runs.seen, runs.said) == ([], [], [])


def finished(launches: int) -> list[list[str]]:
    return [["stdout", f'==PROF== Profiling "k" - {at}: 0%....50%....100% - 1 pass\n'] for at in range(launches)]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder of programs: nvidia-smi, and an ncu that is played."""
    folder = tmp_path / "path"
    folder.mkdir()
    command_line.install(folder, "nvidia-smi", "ncu")
    (folder / "ncu").write_text(f"#!/bin/sh\n{AS_NCU}\n")
    return folder


def test_a_python_file_is_run_without_ncu_and_then_under_it(tmp_path: Path, machine: Path) -> None:
    (tmp_path / "app.py").write_text("import pathlib\npathlib.Path('ran').open('a').write('x')\n")
    report = shipped("kernels") / "reduction" / "h200.ncu-repz"
    launches = len(recorded_profile("reduction").launches)
    scenario = arrange(
        tmp_path / "scenario.json",
        data=read_report(report),
        say=finished(launches),
        report=True,
        words=str(tmp_path / "words"),
    )
    ended = command_line.ncuview("analyze", "app.py", path=machine, cwd=tmp_path, **scenario)
    assert (ended.code, (tmp_path / "ran").read_text()) == (0, "x"), ended.err
    runs = [json.loads(line) for line in (tmp_path / "words").read_text().splitlines()]
    assert ["--filter-mode=per-launch-config" in words for words in runs] == [False, True, False]
    assert ["--metrics=gpu__time_duration.sum" in words for words in runs] == [True, False, False]
    said = [line for line in ended.err.splitlines() if not line.startswith("ncu: ")]
    assert [re.sub(r": .*", "", line) for line in said] == [
        "without ncu",
        f"time and calls of {launches} launches",
        f"counters of {launches} configurations",
        f"all metrics of {launches} launches",
    ]
    assert "launched something else in another run" in " ".join(ended.out.split()), "the played ncu shows all again"


@pytest.mark.parametrize("words", [("--look", "full"), ("-k", "reduce"), ("--export", "mine.ncu-rep")])
def test_one_run_has_all_metrics_where_it_is_asked_for(tmp_path: Path, machine: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "app.py").write_text("raise SystemExit('it runs under ncu only')\n")
    report = shipped("kernels") / "reduction" / "h200.ncu-repz"
    scenario = arrange(
        tmp_path / "scenario.json",
        data=read_report(report),
        say=finished(len(recorded_profile("reduction").launches)),
        report=True,
        words=str(tmp_path / "words"),
    )
    ended = command_line.ncuview("analyze", *words, "app.py", path=machine, cwd=tmp_path, **scenario)
    assert ended.code == 0, ended.err
    assert len((tmp_path / "words").read_text().splitlines()) == 1
    assert "without ncu" not in ended.err
