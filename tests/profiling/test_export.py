"""Reports of a program under a played ncu: found, exported under their names with checksums, never overwritten."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import (
    NothingProfiled,
    ProgramFailed,
    ReportDamaged,
    ReportUnreadable,
    UsageError,
)
from ncuview.base.report_files import seal
from ncuview.profiling import export
from ncuview.profiling import job as profiling
from ncuview.profiling.job import Profiled
from ncuview.profiling.program import run_program
from ncuview.reader.precheck import launches_in, precheck
from tests.profiling.played import (
    BEGUN,
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
from tests.reader.builder import report as made_report


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


def test_a_report_that_exists_is_neither_overwritten_nor_taken_for_the_new_one(here: Machine, profile: Profile) -> None:
    (here.root / "mine.ncu-rep").write_bytes(b"of another run")
    with pytest.raises(UsageError, match="exists already"):
        profile(export=here.root / "mine.ncu-rep", say=[["stdout", CONNECTED + NOTHING]])
    assert not (here.root / "words").exists()


def test_a_damaged_report_is_read_but_never_exported(here: Machine, partly: Callable[..., Profiled]) -> None:
    cut = made_report(2)[:-40]
    made = partly(export=here.root / "mine", say=[["stdout", CONNECTED + BEGUN + DONE]], report=True, data=cut)
    assert made.reports == (here.root / "work/mine.ncu-rep",)
    assert isinstance(made.failure, ReportDamaged)
    assert not (here.root / "mine.ncu-rep").exists()
