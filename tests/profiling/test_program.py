"""Any program under a played ncu: its reports are found, its failures explained, its output kept apart from ours."""

from __future__ import annotations

import errno
import json
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
    ReportUnreadable,
    UsageError,
)
from ncuview.base.report_files import seal
from ncuview.profiling import export, machine
from ncuview.profiling import job as profiling
from ncuview.profiling.job import Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import ClockControl, NcuOptions
from ncuview.profiling.program import python_script, run_program
from ncuview.profiling.stall_watchdog import NO_PROGRESS_S
from ncuview.reader.precheck import launches_in, precheck
from tests.profiling.played import AS_NCU, BEGUN, BROKEN_OFF, CONNECTED, DONE, NOTHING, arrange, returned
from tests.profiling.test_machine import Machine, gpu
from tests.reader.builder import report as made_report

METRICS = ["sm__cycles_active.avg"]
PROGRAM = [sys.executable, "--its-own", "-k", "flags"]
SECOND = '==PROF== Profiling "void scale<float>(float *)" - 1: 0%....50%....100% - 1 pass\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a GPU and a played ncu, in whose folder ncuview runs."""
    here = Machine(tmp_path, monkeypatch)
    here.answer_nvidia_smi(gpu())
    here.install("path/ncu", AS_NCU)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path)
    return here


Profile = Callable[..., tuple[Path, ...]]


@pytest.fixture
def profile(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Profile this Python with ``--its-own -k flags`` in a scenario of the played ncu."""

    def run(options: NcuOptions | None = None, *, export: Path | None = None, **scenario: Any) -> tuple[Path, ...]:
        play(here, monkeypatch, **scenario)
        return run_program(
            PROGRAM, METRICS, here.root / "work", options, export=export, launches_in=launches_in
        ).complete_reports()

    return run


@pytest.fixture
def partly(here: Machine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Profiled]:
    """The same, for who takes some of the launches."""

    def run(options: NcuOptions | None = None, *, export: Path | None = None, **scenario: Any) -> Profiled:
        play(here, monkeypatch, **scenario)
        return run_program(PROGRAM, METRICS, here.root / "work", options, export=export, launches_in=launches_in)

    return run


def play(here: Machine, monkeypatch: pytest.MonkeyPatch, **scenario: Any) -> None:
    variables = arrange(here.root / "scenario.json", words=str(here.root / "words"), **scenario)
    monkeypatch.setenv("FAKE_NCU", variables["FAKE_NCU"])


def words_of(here: Machine) -> list[list[str]]:
    return [json.loads(line) for line in (here.root / "words").read_text().splitlines()]


def test_a_program_leaves_its_report_in_the_private_folder(here: Machine, profile: Profile) -> None:
    assert profile(say=[["stdout", CONNECTED + BEGUN + DONE]], report=True) == (here.root / "work/profile.ncu-rep",)


def test_the_program_s_own_flags_stay_its_own(here: Machine, profile: Profile) -> None:
    profile(NcuOptions(kernel_name="regex:mat", launch_count=3), say=[["stdout", BEGUN + DONE]], report=True)
    (words,) = words_of(here)
    program = words.index(sys.executable)
    assert words[program + 1 :] == ["--its-own", "-k", "flags"]
    assert {"--kernel-name=regex:mat", "--launch-count=3", "--metrics=sm__cycles_active.avg"} <= set(words[:program])


def test_the_reports_of_several_ranks_are_all_found_in_the_order_of_their_numbers(
    here: Machine, profile: Profile
) -> None:
    export = here.root / "work" / "rank%q{RANK}.ncu-rep"
    found = profile(export=export, say=[["stdout", BEGUN + DONE]], ranks=["0", "10", "9"])
    assert [path.name for path in found] == ["rank0.ncu-rep", "rank9.ncu-rep", "rank10.ncu-rep"]


def test_an_exported_report_is_found_under_the_name_that_ncu_gave_it(here: Machine, profile: Profile) -> None:
    (here.root / "other-12.ncu-rep").write_bytes(b"of another run")
    (found,) = profile(export=Path("mine-%p.ncu-rep"), say=[["stdout", BEGUN + DONE]], report=True)
    assert found.parent == here.root
    assert found.name.startswith("mine-")
    assert found.stem.removeprefix("mine-").isdecimal()


def test_an_exported_report_is_found_though_its_name_was_not_said(here: Machine, profile: Profile) -> None:
    found = profile(export=here.root / "mine", say=[["stdout", BEGUN + DONE]], ranks=[""])
    assert found == (here.root / "mine.ncu-rep",)


def test_an_exported_report_is_sealed_and_nothing_else_is_left(here: Machine, profile: Profile) -> None:
    out = here.root / "out"
    out.mkdir()
    profile(export=out / "mine", say=[["stdout", BEGUN + DONE]], report=True)
    assert sorted(file.name for file in out.iterdir()) == ["mine.ncu-rep", "mine.ncu-rep.sha256"]
    done = subprocess.run(
        ["/usr/bin/sha256sum", "--check", "mine.ncu-rep.sha256"], cwd=out, capture_output=True, check=False
    )
    assert done.returncode == 0, done
    assert not list((here.root / "work").iterdir())


def test_ncu_writes_into_a_private_folder(here: Machine, profile: Profile) -> None:
    profile(export=here.root / "mine", say=[["stdout", BEGUN + DONE]], report=True, notes_mode=str(here.root / "mode"))
    assert (here.root / "mode").read_text() == "700"
    (words,) = words_of(here)
    (target,) = [Path(word.partition("=")[2]) for word in words if word.startswith("--export=")]
    assert (target.parent.parent, target.name) == (here.root, "mine.ncu-rep")


@pytest.fixture(params=[True, False], ids=["links", "no links"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has links, and one that has none."""

    def no_links(*_: object) -> None:
        raise PermissionError

    if not request.param:
        monkeypatch.setattr(os, "link", no_links)


def sealed(report: Path, launches: int) -> dict[Path, bytes]:
    """Write a report and its checksum; what both hold."""
    report.write_bytes(made_report(launches))
    return {path: path.read_bytes() for path in (report, seal(report))}


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("taken", [(".ncu-rep", ".ncu-rep.sha256"), (".ncu-rep",), (".ncu-rep.sha256",)])
def test_what_appears_meanwhile_is_not_overwritten(
    here: Machine, partly: Callable[..., Profiled], taken: tuple[str, ...]
) -> None:
    out = here.root / "out"
    out.mkdir()
    before = {path.name: data for path, data in sealed(here.root / "mine.ncu-rep", launches=3).items()}
    before = {name: data for name, data in before.items() if name.removeprefix("mine") in taken}
    makes = {str(here.root / name): str(out / name) for name in before}
    made = partly(export=out / "mine", say=[["stdout", CONNECTED + BEGUN + DONE]], report=True, makes=makes)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    assert made.reports == (here.root / "work/mine.ncu-rep",)
    assert precheck(made.reports[0]).results == 1
    assert isinstance(made.failure, UsageError)
    assert (made.failure.id, made.failure.exit_code) == ("NCU-EXISTS", 2)
    assert str(made.failure) == f"{out}/mine{taken[0]} exists already; what was profiled is shown and not kept"
    with pytest.raises(UsageError, match="exists already"):
        made.complete_reports()


@pytest.mark.usefixtures("file_system")
def test_a_report_that_was_there_is_as_good_as_before(tmp_path: Path) -> None:
    for folder in ("out", "private"):
        (tmp_path / folder).mkdir()
    before = sealed(tmp_path / "out" / "r-0.ncu-rep", launches=2)
    new = tmp_path / "private" / "r-0.ncu-rep"
    new.write_bytes(made_report(1))
    with pytest.raises(UsageError, match="exists already"):
        export.move_into_place(new, tmp_path / "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert precheck(tmp_path / "out" / "r-0.ncu-rep").results == 2
    assert new.read_bytes() == made_report(1)


def test_a_report_that_is_interrupted_when_it_gets_its_name_leaves_no_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def interrupted(source: Path, target: Path) -> None:
        if target.suffix == ".ncu-rep":
            raise KeyboardInterrupt
        link(source, target)

    monkeypatch.setattr(os, "link", interrupted)
    for folder in ("out", "private"):
        (tmp_path / folder).mkdir()
    new = tmp_path / "private" / "mine.ncu-rep"
    new.write_bytes(made_report(1))
    with pytest.raises(KeyboardInterrupt):
        export.move_into_place(new, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


def test_of_several_ranks_reports_with_free_names_are_exported(here: Machine, partly: Callable[..., Profiled]) -> None:
    out = here.root / "out"
    out.mkdir()
    before = sealed(out / "r-1.ncu-rep", launches=3)
    scenario: dict[str, Any] = {"say": [["stdout", BEGUN + DONE]], "ranks": ["0", "1", "2"]}
    made = partly(export=out / "r-%q{RANK}", **scenario)
    assert made.reports == (out / "r-0.ncu-rep", here.root / "work/r-1.ncu-rep", out / "r-2.ncu-rep")
    assert [precheck(report).results for report in made.reports] == [1, 1, 1]
    assert made.failure is not None
    assert made.failure.id == "NCU-EXISTS"
    assert str(made.failure).startswith(f"{out}/r-1.ncu-rep exists already; ")
    assert "\n" not in str(made.failure)
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(out.iterdir())) == 6
    again = partly(export=out / "r-%q{RANK}", **scenario)
    assert [report.parent.name for report in again.reports] == ["work"] * 3
    assert str(again.failure).count("exists already; what was profiled is shown and not kept") == 3


def test_a_program_that_fails_is_the_first_reason_where_its_report_is_not_exported_either(
    here: Machine, partly: Callable[..., Profiled]
) -> None:
    taken = here.root / "mine.ncu-rep"
    (here.root / "other").touch()
    made = partly(
        export=taken,
        say=[["stdout", CONNECTED + BEGUN + DONE + SECOND + returned(3)]],
        returncode=3,
        report=True,
        makes={str(here.root / "other"): str(taken)},
    )
    assert made.reports == (here.root / "work/mine.ncu-rep",)
    assert isinstance(made.failure, ProgramFailed)
    assert (made.failure.id, made.failure.exit_code) == ("NCU-APP", 6)
    assert "Launches that are shown: 2." in str(made.failure)
    assert f"\n{taken} exists already; " in str(made.failure)


def test_a_checksum_that_would_be_in_the_way_is_seen_before_anything_is_started(
    here: Machine, profile: Profile
) -> None:
    (here.root / "mine.ncu-rep.sha256").touch()
    with pytest.raises(UsageError, match=r"mine\.ncu-rep\.sha256 exists already"):
        profile(export=here.root / "mine")
    assert not (here.root / "words").exists()


def test_every_report_is_parsed_once(here: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(report: Path) -> int:
        parsed.append(report.name)
        return launches_in(report)

    play(here, monkeypatch, say=[["stdout", BEGUN + DONE]], ranks=["0", "1"])
    run_program(PROGRAM, METRICS, here.root / "work", export=here.root / "r%q{RANK}", launches_in=counted)
    assert sorted(parsed) == ["r0.ncu-rep", "r1.ncu-rep"]


@pytest.mark.parametrize("name", ["none/mine", "file/mine"])
def test_a_report_in_a_missing_folder_is_refused_with_its_full_path(here: Machine, profile: Profile, name: str) -> None:
    (here.root / "file").touch()
    with pytest.raises(UsageError, match=f"{here.root}/{name}.ncu-rep cannot be written") as refusal:
        profile(export=here.root / name)
    assert (refusal.value.id, refusal.value.exit_code) == ("NCU-WRITE", 2)
    assert not (here.root / "words").exists()


def test_a_folder_that_may_not_be_written_to(here: Machine, profile: Profile) -> None:
    with pytest.raises(UsageError, match="cannot be written") as refusal:
        profile(export=Path("/proc/mine"))
    assert refusal.value.id == "NCU-WRITE"


def test_a_full_disk_is_named_with_its_free_bytes(
    here: Machine, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "free_bytes", lambda _: 4096)
    with pytest.raises(NothingProfiled, match="4,096 bytes are free") as failure:
        profile()
    assert (failure.value.id, failure.value.exit_code) == ("NCU-FULL", 3)
    assert not (here.root / "words").exists()


@pytest.mark.usefixtures("file_system")
def test_a_report_gets_its_name_on_every_file_system(here: Machine, profile: Profile) -> None:
    out = here.root / "out"
    out.mkdir()
    found = profile(export=out / "mine", say=[["stdout", BEGUN + DONE]], report=True)
    assert found == (out / "mine.ncu-rep",)
    assert sorted(file.name for file in out.iterdir()) == ["mine.ncu-rep", "mine.ncu-rep.sha256"]


def full(*_: object) -> Path:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_report_that_cannot_be_sealed_is_shown_and_not_exported(
    here: Machine, partly: Callable[..., Profiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "seal", full)
    (here.root / "out").mkdir()
    made = partly(export=here.root / "out" / "mine", say=[["stdout", BEGUN + DONE]], report=True)
    assert made.reports == (here.root / "work/mine.ncu-rep",)
    assert made.failure is not None
    assert (made.failure.id, made.failure.exit_code) == ("NCU-WRITE", 2)
    assert "mine.ncu-rep cannot be written: No space left on device" in str(made.failure)
    assert not list((here.root / "out").iterdir())


def test_a_report_for_which_no_disk_has_room_is_not_shown(
    here: Machine, partly: Callable[..., Profiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "seal", full)
    monkeypatch.setattr(profiling, "copyfile", full)
    with pytest.raises(UsageError, match="No space left on device") as failure:
        partly(export=here.root / "mine", say=[["stdout", BEGUN + DONE]], report=True)
    assert failure.value.id == "NCU-WRITE"
    assert "shown" not in str(failure.value)


def test_a_report_that_cannot_be_read_any_more_is_not_exported(
    here: Machine, partly: Callable[..., Profiled], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(report: Path) -> Path:
        raise ReportUnreadable(f"{report} cannot be read: Input/output error")

    monkeypatch.setattr(export, "seal", unreadable)
    made = partly(export=here.root / "mine", say=[["stdout", BEGUN + DONE]], report=True)
    assert made.failure is not None
    assert made.failure.id == "ReportUnreadable"
    assert made.reports == (here.root / "work/mine.ncu-rep",)


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


def test_a_damaged_report_is_read_but_never_exported(here: Machine, partly: Callable[..., Profiled]) -> None:
    cut = made_report(2)[:-40]
    made = partly(export=here.root / "mine", say=[["stdout", CONNECTED + BEGUN + DONE]], report=True, data=cut)
    assert made.reports == (here.root / "work/mine.ncu-rep",)
    assert isinstance(made.failure, ReportDamaged)
    assert not (here.root / "mine.ncu-rep").exists()


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


def test_frameworks_reserve_little_memory_unless_the_user_has_set_the_variables(
    here: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, str]] = []

    def run(_: object, **options: Any) -> NcuRun:
        given.append(dict(options["environment"]))
        return NcuRun(0, "", "", 0, ())

    monkeypatch.setattr(profiling, "run_ncu", run)
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    job = profiling.Job(here.root / "ncu", PROGRAM, METRICS, here.root, launches_in)
    job.run(here.root / "a.ncu-rep")
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "true")
    job.run(here.root / "a.ncu-rep")
    assert given[0]["XLA_PYTHON_CLIENT_PREALLOCATE"] == "false"
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


def test_a_report_that_exists_is_neither_overwritten_nor_taken_for_the_new_one(here: Machine, profile: Profile) -> None:
    (here.root / "mine.ncu-rep").write_bytes(b"of another run")
    with pytest.raises(UsageError, match="exists already"):
        profile(export=here.root / "mine.ncu-rep", say=[["stdout", CONNECTED + NOTHING]])
    assert not (here.root / "words").exists()


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
