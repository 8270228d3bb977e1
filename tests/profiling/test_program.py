"""Any program under a played ncu: its reports are found, its failures explained, its output kept apart from ours."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncuview.base.errors import (
    GpuNotFound,
    NcuNotFound,
    NothingProfiled,
    ProgramFailed,
    ReportDamaged,
    UsageError,
)
from ncuview.profiling import job as profiling
from ncuview.profiling import machine
from ncuview.profiling.job import Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import ClockControl, NcuOptions
from ncuview.profiling.program import python_script, run_program
from ncuview.profiling.runner import NO_PROGRESS_S
from ncuview.reader.precheck import launches_in
from tests.profiling.played import (
    BEGUN,
    BROKEN_OFF,
    CONNECTED,
    DONE,
    METRICS,
    NOTHING,
    PROGRAM,
    SECOND,
    Profile,
    play,
    returned,
    words_of,
)
from tests.profiling.test_machine import Machine


def test_a_program_leaves_its_report_in_the_private_folder(here: Machine, profile: Profile) -> None:
    assert profile(say=[["stdout", CONNECTED + BEGUN + DONE]], report=True) == (here.root / "work/profile.ncu-rep",)


def test_the_program_s_own_flags_stay_its_own(here: Machine, profile: Profile) -> None:
    profile(NcuOptions(kernel_name="regex:mat", launch_count=3), say=[["stdout", BEGUN + DONE]], report=True)
    (words,) = words_of(here)
    program = words.index(sys.executable)
    assert words[program + 1 :] == ["--its-own", "-k", "flags"]
    assert {"--kernel-name=regex:mat", "--launch-count=3", "--metrics=sm__cycles_active.avg"} <= set(words[:program])


@pytest.mark.parametrize(("given", "taken"), [(None, NO_PROGRESS_S), (5.0, 5.0), (math.inf, math.inf)])
def test_the_usual_patience_is_taken_where_none_is_given(
    here: Machine, monkeypatch: pytest.MonkeyPatch, given: float | None, taken: float
) -> None:
    jobs: list[profiling.Job] = []

    def profiled(job: profiling.Job, *_: object) -> Profiled:
        jobs.append(job)
        return Profiled((), job.options, NcuRun(0, "", "", 0, ()))

    monkeypatch.setattr("ncuview.profiling.program.profile", profiled)
    run_program(PROGRAM, METRICS, here.root / "work", no_progress_s=given, launches_in=launches_in)
    assert [job.no_progress_s for job in jobs] == [taken]


# Some launches are better than none


def test_a_program_that_fails_after_some_launches_leaves_them(
    here: Machine, partly: Callable[..., Profiled], profile: Profile
) -> None:
    scenario: dict[str, Any] = {
        "say": [["stdout", CONNECTED + BEGUN + DONE + SECOND + returned(3)]],
        "returncode": 3,
        "report": True,
    }
    made = partly(export=here.root / "mine", **scenario)
    assert made.reports == (here.root / "mine.ncu-rep",)
    assert made.failure is not None
    assert (made.failure.id, made.failure.exit_code) == ("NCU-APP", 6)
    assert str(made.failure).endswith("\nLaunches that are shown: 2.")
    with pytest.raises(ProgramFailed):
        made.complete_reports()


def test_an_interrupted_launch_leaves_the_others(partly: Callable[..., Profiled]) -> None:
    said = CONNECTED + BEGUN + DONE + BEGUN + "\n" + BROKEN_OFF + returned(9)
    made = partly(say=[["stdout", said]], returncode=9, report=True)
    assert made.reports
    assert made.failure is not None
    assert (made.failure.id, made.failure.exit_code) == ("NCU-PART", 3)
    assert "Launches that are shown: 1, of 2 that were begun." in str(made.failure)


def test_launches_that_ncu_began_and_lost_are_missed(partly: Callable[..., Profiled]) -> None:
    made = partly(say=[["stdout", CONNECTED + BEGUN + DONE + SECOND]], report=True, launches=1)
    assert made.failure is not None
    assert (made.failure.id, made.failure.exit_code) == ("NCU-PART", 3)


def test_a_launch_that_faulted_is_not_shown(partly: Callable[..., Profiled]) -> None:
    said = CONNECTED + BEGUN + "==ERROR== LaunchFailed\n" + returned(9)
    with pytest.raises(ProgramFailed) as failure:
        partly(say=[["stdout", said]], returncode=9, report=True)
    assert failure.value.id == "NCU-LAUNCH"


def test_of_several_ranks_the_complete_reports_are_taken(here: Machine, partly: Callable[..., Profiled]) -> None:
    made = partly(
        export=here.root / "rank%q{RANK}",
        say=[["stdout", BEGUN + DONE + SECOND]],
        ranks=["0", "1", "2"],
        cuts="1",
        launches=1,
    )
    assert [report.name for report in made.reports] == ["rank0.ncu-rep", "rank2.ncu-rep"]
    assert isinstance(made.failure, ReportDamaged)


# Trying again


BUSY = "==ERROR== Profiling failed because a driver resource was unavailable.\n"
MIG = "==ERROR== Cannot lock GPU clock frequencies on MIG!\n"


def failing(text: str) -> dict[str, Any]:
    return {"say": [["stdout", CONNECTED + BEGUN + "\n" + text + BROKEN_OFF + returned(9)]], "returncode": 9}


def test_counters_that_become_free_are_waited_for(
    here: Machine, partly: Callable[..., Profiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(profiling.profile, "__kwdefaults__", {"sleep": waited.append})
    good = {"say": [["stdout", CONNECTED + BEGUN + DONE]], "report": True}
    content = {"content": str(here.root / "scenario.report")}
    made = partly(**failing(BUSY), then={**failing(BUSY), "report": True, **content, "then": {**good, **content}})
    assert waited == [5.0, 15.0]
    assert made.failure is None
    assert [note.id for note in made.notes] == ["NCU-BUSY"]


DYING = {"say": [["stdout", CONNECTED + BEGUN + "\n" + returned(139)]], "returncode": 139}
WHOLE_PLAN = ["gpu__time_duration.sum", "lts__t_sectors.sum", "smsp__sass_inst_executed_op_global_ld.sum"]


def collected(here: Machine) -> list[list[str]]:
    """The metrics of each run of ncu."""
    named = (next(word for word in words if word.startswith("--metrics=")) for words in words_of(here))
    return [sorted(word.removeprefix("--metrics=").split(",")) for word in named]


def surviving(here: Machine) -> dict[str, Any]:
    content, words = str(here.root / "scenario.report"), str(here.root / "words")
    return {"say": [["stdout", CONNECTED + BEGUN + DONE]], "report": True, "content": content, "words": words}


def after_deaths(here: Machine, monkeypatch: pytest.MonkeyPatch, *runs: dict[str, Any]) -> Profiled:
    """Profile a program with ``WHOLE_PLAN``, of which each run plays the next scenario."""
    scenario: dict[str, Any] = {}
    for run in reversed(runs):
        scenario = {**run, "words": str(here.root / "words"), **({"then": scenario} if scenario else {})}
    del scenario["words"]
    play(here, monkeypatch, **scenario)
    return run_program(PROGRAM, WHOLE_PLAN, here.root / "work", NcuOptions(), launches_in=launches_in)


def test_a_program_that_the_plan_kills_is_profiled_with_the_largest_plan_that_it_survives(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    alive = surviving(here)
    made = after_deaths(here, monkeypatch, DYING, alive, alive)
    assert collected(here) == [sorted(WHOLE_PLAN), ["gpu__time_duration.sum"], sorted(WHOLE_PLAN[:2])]
    assert made.failure is None
    assert len(made.reports) == 1
    assert [note.what for note in made.notes] == [
        "The program died under the complete plan and was profiled again without counters of instrumented code"
    ]


def test_where_every_larger_plan_kills_it_the_times_are_left(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    made = after_deaths(here, monkeypatch, DYING, surviving(here), DYING)
    assert collected(here)[1:] == [["gpu__time_duration.sum"], sorted(WHOLE_PLAN[:2])]
    assert (made.failure, len(made.reports)) == (None, 1)
    assert "everything but the time" in made.notes[0].what


def test_a_program_that_dies_of_the_cheapest_plan_as_well_is_run_twice_and_has_crashed(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProgramFailed) as crash:
        after_deaths(here, monkeypatch, DYING, DYING)
    assert crash.value.id == "NCU-CRASH"
    assert len(words_of(here)) == 2


def test_a_program_that_ends_with_an_error_is_not_run_again(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {"say": [["stdout", CONNECTED + BEGUN + "\n" + returned(1)]], "returncode": 1}
    with pytest.raises(ProgramFailed):
        after_deaths(here, monkeypatch, ended, surviving(here))
    assert len(words_of(here)) == 1


def test_the_report_of_a_smaller_plan_gets_the_exports_name(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = surviving(here)
    play(here, monkeypatch, **DYING, then={**alive, "then": alive})
    made = run_program(
        PROGRAM, WHOLE_PLAN, here.root / "work", NcuOptions(), export=here.root / "mine", launches_in=launches_in
    )
    assert made.reports == (here.root / "mine.ncu-rep",)


def test_frameworks_reserve_little_memory_and_start_no_compilers_unless_the_user_has_set_the_variables(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, str]] = []

    def run(_: object, **options: Any) -> NcuRun:
        given.append(dict(options["environment"]))
        return NcuRun(0, "", "", 0, ())

    monkeypatch.setattr(profiling, "run_ncu", run)
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    monkeypatch.delenv("TORCHINDUCTOR_COMPILE_THREADS", raising=False)
    job = profiling.Job(here.root / "ncu", PROGRAM, METRICS, here.root, launches_in)
    job.run(here.root / "a.ncu-rep")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    job.run(here.root / "a.ncu-rep")
    assert given[0]["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
    assert given[0]["TORCHINDUCTOR_COMPILE_THREADS"] == "1"
    assert "XLA_PYTHON_CLIENT_PREALLOCATE" not in given[1]


def test_clocks_that_cannot_be_locked_are_left_alone_and_that_is_said(
    here: Machine, partly: Callable[..., Profiled]
) -> None:
    good = {"say": [["stdout", CONNECTED + BEGUN + DONE]], "report": True, "words": str(here.root / "words")}
    asked = NcuOptions(clock_control=ClockControl.BASE)
    made = partly(asked, **failing(MIG), then={**good, "content": str(here.root / "scenario.report")})
    assert made.failure is None
    assert [note.id for note in made.notes] == ["NCU-MIG-CLK"]
    assert made.options.clock_control is ClockControl.NONE
    assert [["--clock-control=none" in words, "--clock-control=base" in words] for words in words_of(here)] == [
        [False, True],
        [True, False],
    ]


def test_what_the_program_prints_stays_off_ncuview_s_streams(
    here: Machine, profile: Profile, capfd: pytest.CaptureFixture[str]
) -> None:
    profile(say=[["stdout", CONNECTED + BEGUN + DONE + "42 results\n"], ["stderr", "a warning\n"]], report=True)
    assert capfd.readouterr() == ("", "")


def test_a_program_that_fails_is_quoted(profile: Profile) -> None:
    with pytest.raises(ProgramFailed, match="no such matrix") as failure:
        profile(say=[["stderr", "no such matrix\n"], ["stdout", CONNECTED + returned(3)]], returncode=3, report=True)
    assert failure.value.exit_code == 6
    assert "exit code 3" in str(failure.value)


KILLED = "==PROF== Trying to shutdown target application\n" + returned(15)


def test_a_program_that_ncu_ended_as_asked_has_not_failed(profile: Profile) -> None:
    options = NcuOptions(launch_count=1, kill=True)
    scenario = {"say": [["stdout", CONNECTED + BEGUN + DONE + KILLED]], "returncode": 15, "report": True}
    assert profile(options, **scenario)


@pytest.mark.parametrize("options", [NcuOptions(launch_count=1), NcuOptions(launch_count=2, kill=True)])
def test_a_program_that_ended_before_it_was_asked_to_has_failed(options: NcuOptions, profile: Profile) -> None:
    with pytest.raises(ProgramFailed):
        profile(options, say=[["stdout", CONNECTED + BEGUN + DONE + KILLED]], returncode=15, report=True)


def test_kernels_that_ncu_lists_are_named(here: Machine, profile: Profile) -> None:
    log = CONNECTED + NOTHING + "Available Kernels:\n1. copy\n2. transposeNaive\n"
    with pytest.raises(NothingProfiled) as failure:
        profile(NcuOptions(kernel_name="transposeNiave"), say=[["stdout", log]])
    assert failure.value.exit_code == 3
    assert failure.value.hint == "Did you mean transposeNaive? The program launches copy, transposeNaive."
    assert len(words_of(here)) == 1


def test_kernels_that_ncu_does_not_list_are_found_by_a_second_run(here: Machine, profile: Profile) -> None:
    again = {
        "say": [["stdout", CONNECTED + BEGUN + DONE + SECOND + BEGUN + DONE]],
        "words": str(here.root / "words"),
        "report": True,
    }
    with pytest.raises(NothingProfiled) as failure:
        profile(NcuOptions(nvtx_include=("step",), launch_skip=3), say=[["stdout", CONNECTED + NOTHING]], then=again)
    assert failure.value.exit_code == 3
    assert str(failure.value).startswith("--launch-skip, --nvtx-include left out every launch")
    assert failure.value.hint == "The program launches copy, void scale<float>(float *)."
    first, second = words_of(here)
    assert "--nvtx-include=step" in first
    assert not [word for word in second if word.startswith(("--nvtx", "--launch-skip"))]
    assert {"--metrics=gpu__time_duration.sum", "--launch-count=20", "--kill=yes"} <= set(second)
    assert first[first.index(sys.executable) :] == second[second.index(sys.executable) :]


def test_a_program_without_kernels_is_distinguished_from_a_wrong_filter(profile: Profile) -> None:
    with pytest.raises(NothingProfiled, match="launches no kernel that ncu sees"):
        profile(NcuOptions(launch_skip=3), say=[["stdout", CONNECTED + NOTHING]])


def test_a_program_without_kernels_is_not_run_twice_when_nothing_was_chosen(here: Machine, profile: Profile) -> None:
    with pytest.raises(NothingProfiled, match="saw no kernel"):
        profile(say=[["stdout", CONNECTED + NOTHING]])
    assert len(words_of(here)) == 1


def test_without_ncu_or_gpu_the_program_is_not_started(
    here: Machine, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here.root / "path/ncu").unlink()
    with pytest.raises(NcuNotFound) as missing:
        profile()
    assert missing.value.exit_code == 5
    (here.root / "path/nvidia-smi").unlink()
    with pytest.raises(GpuNotFound) as missing_gpu:
        profile()
    assert missing_gpu.value.exit_code == 5
    assert not (here.root / "words").exists()


def test_neither_nvcc_nor_pycuda_is_needed(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.find_nvcc() is None
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    assert profile(say=[["stdout", BEGUN + DONE]], report=True)


def test_progress_is_reported(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    play(here, monkeypatch, say=[["stdout", BEGUN + DONE]], report=True)
    seen: list[Progress] = []
    run_program([sys.executable], METRICS, here.root / "work", progress=seen.append, launches_in=launches_in)
    assert [(news.kernel, news.passes) for news in seen] == [("copy", None), ("copy", 8)]


# Python files


def test_a_python_file_is_run_by_this_python_as_python_runs_files(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("said = 'from neighbour'\n")
    script = tmp_path / "train.py"
    script.write_text("import sys\nfrom neighbour import said\nprint(said, sys.argv[1:], sys.prefix)\n")
    done = subprocess.run(
        python_script(script, ["-k", "--epochs=1"]), capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout == f"from neighbour ['-k', '--epochs=1'] {sys.prefix}\n"


def test_a_python_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no Python file"):
        python_script(tmp_path / "train.py")


# ncu gets the options that the user gave

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
OPTIONS = st.sampled_from(
    [
        "--export=/etc/x",
        "-o",
        "--import",
        "-f",
        "--injection-path-64=/evil.so",
        "--mode=attach",
        "--",
        "-",
        "",
        "-k",
        "%p",
    ]
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(program=st.lists(st.one_of(OPTIONS, TEXTS), max_size=6))
def test_ncu_sees_exactly_the_program_s_words(here: Machine, program: list[str]) -> None:
    (here.root / "words").unlink(missing_ok=True)
    for left in (here.root / "work").iterdir():
        left.unlink()
    with pytest.MonkeyPatch.context() as environment:
        play(here, environment, say=[["stdout", BEGUN + DONE]], report=True)
        run_program([sys.executable, *program], METRICS, here.root / "work", launches_in=launches_in).complete_reports()
    (words,) = words_of(here)
    at = words.index(sys.executable)
    assert words[at + 1 :] == program
    assert [word.partition("=")[0] for word in words[:at]] == [
        "--config-file",
        "--apply-rules",
        "--target-processes",
        "--cache-control",
        "--clock-control",
        "--import-source",
        "--metrics",
        "--export",
    ]
