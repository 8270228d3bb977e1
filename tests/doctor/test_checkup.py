"""All checks together: in time, without an exception, and with a summary."""

from __future__ import annotations

import os
import pwd
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from ncuview.doctor import CHECKS, Check, examine, examine_this_machine, verdict, verdict_of
from ncuview.doctor.commands import Commands
from ncuview.doctor.machine import Machine, this_machine
from ncuview.doctor.verdict import Checked, Evidence, Examination, NotKnown, Status, Verdict, fail, ok
from tests.doctor.made import machine as made


class Broken(Mapping[str, str]):
    """Variables that cannot be read."""

    def __getitem__(self, key: str) -> str:
        raise RuntimeError("broken")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("broken")

    def __len__(self) -> int:
        raise RuntimeError("broken")


class BrokenMachine(Machine):
    """A machine on which everything raises an unexpected error."""

    def at(self, path: object) -> NoReturn:
        raise RuntimeError("broken")


def broken() -> NoReturn:
    raise RuntimeError("broken")


def on_a_broken_machine() -> Examination:
    everything = BrokenMachine(
        root=Path("/none"),
        environment=Broken(),
        uid=1000,
        groups=frozenset(),
        pid=1,
        folder="",
        homes=(),
        run=lambda *_: broken(),
        find_ncu=broken,
        find_disassembler=lambda _: broken(),
    )
    return examine(everything)


def test_there_are_23_checks_with_names_of_their_own() -> None:
    assert len(CHECKS) == len({check.name for check in CHECKS}) == len({check.title for check in CHECKS}) == 23


def test_every_check_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "doctor.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2:4] for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert [(name.strip(" `"), title.strip()) for name, title in rows] == [(each.name, each.title) for each in CHECKS]
    for check in CHECKS:
        assert all(each in text for each in check.ids), check.name


def test_a_check_that_fails_by_itself_is_unknown() -> None:
    for checked in on_a_broken_machine().checks:
        assert checked.verdict.status == "UNKNOWN", checked.name
        assert "broken" in checked.verdict.message


def test_checks_keep_their_order() -> None:
    assert [each.name for each in on_a_broken_machine().checks] == [check.name for check in CHECKS]


def test_a_check_that_is_late_is_unknown_and_the_others_are_not(tmp_path: Path) -> None:
    release = threading.Event()

    def slow(_: Machine) -> Verdict:
        release.wait()
        return ok("late")

    checks = [Check("slow", "Slow", (), slow), Check("fast", "Fast", (), lambda _: ok("fine"))]
    try:
        found = examine(made(tmp_path), checks, limit_s=0.2)
    finally:
        release.set()
    assert [each.verdict.status for each in found.checks] == ["UNKNOWN", "OK"]
    assert found.checks[0].verdict.message == "it was not done within 200 ms"


def test_home_folders_are_named_nowhere(tmp_path: Path) -> None:
    home = "/home/ada/x"
    check = Check("x", "X", (), lambda _: fail(home, Evidence(home, home), fix=home))
    assert "ada" not in repr(verdict_of(check, made(tmp_path)))


def test_this_machine_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_TOKEN", "CANARY")
    found = examine_this_machine()
    assert len(found.checks) == 23
    assert {each.verdict.status for each in found.checks if each.name == "ncu-report"} <= {"OK", "WARN"}
    assert "CANARY" not in repr(found)
    assert not [each for each in found.checks if "itself failed" in each.verdict.message]
    for each in found.checks:
        troubled = each.verdict.status in {"WARN", "FAIL"}
        assert bool(each.verdict.fix and each.verdict.evidence) >= troubled, each.name


def test_programs_are_ended_even_when_something_goes_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []
    monkeypatch.setattr("ncuview.doctor.examine", lambda *_: broken())
    monkeypatch.setattr(Commands, "stop", lambda _: stopped.append(True))
    with pytest.raises(RuntimeError, match="broken"):
        examine_this_machine()
    assert stopped == [True]


def test_a_user_without_a_name_and_a_removed_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> NoReturn:
        raise FileNotFoundError

    def unknown_user(_: int) -> NoReturn:
        raise KeyError

    monkeypatch.setattr(Path, "cwd", gone)
    monkeypatch.setattr(pwd, "getpwuid", unknown_user)
    monkeypatch.delenv("HOME", raising=False)
    found = this_machine(Commands({}))
    assert (found.folder, found.homes, found.uid) == ("", (), os.geteuid())


def checked(name: str, status: Status, message: str) -> Checked:
    return Checked(name, name, (), Verdict(status, message))


NOTHING = "Nothing was found that prevents profiling; --live tries it."
READER, NCU = checked("ncu-report", "OK", "reads"), checked("ncu", "OK", "ncu 2025.3.1")


@pytest.mark.parametrize(
    ("checks", "live", "summary"),
    [
        (
            [READER, NCU],
            [],
            f"Reports can be read. {NOTHING}",
        ),
        ([READER, NCU], ["OK", "OK"], "Reports can be read. Programs can be profiled: it was tried."),
        (
            [READER, NCU],
            ["OK", "FAIL"],
            "Reports can be read. Programs cannot be profiled: tried 1.",
        ),
        (
            [READER, NCU],
            ["OK", "UNKNOWN"],
            "Reports can be read. A tiny kernel was profiled; programs may still fail: tried 1.",
        ),
        (
            [READER, checked("ncu", "FAIL", "ncu is missing"), checked("folders", "FAIL", "no room")],
            [],
            "Reports can be read. Programs cannot be profiled: ncu is missing; no room.",
        ),
        (
            [READER, *(checked(str(number), "FAIL", f"trouble {number}") for number in range(5))],
            [],
            "Reports can be read. Programs cannot be profiled: trouble 0; trouble 1; trouble 2; and 2 more.",
        ),
        (
            [READER, checked("ncu", "UNKNOWN", "it hung"), checked("gpu", "UNKNOWN", "it hung")],
            [],
            "Reports can be read. Whether programs can be profiled is not known: it hung; --live tries it.",
        ),
        (
            [checked("ncu-report", "FAIL", "it crashes"), NCU],
            [],
            "Reports cannot be read: it crashes. Programs cannot be profiled: it crashes.",
        ),
        (
            [checked("ncu-report", "UNKNOWN", "late"), NCU],
            [],
            f"Whether reports can be read is not known. {NOTHING}",
        ),
        (
            [NCU],
            [],
            f"Whether reports can be read is not known. {NOTHING}",
        ),
    ],
)
def test_summary(checks: list[Checked], live: list[Status], summary: str) -> None:
    tried = tuple(checked("live", status, f"tried {at}") for at, status in enumerate(live))
    found = Examination(tuple(checks), tried)
    assert found.summary == summary
    assert found.failed == any(each.verdict.status == "FAIL" for each in (*checks, *tried))


CLOSED, LOCKED = checked("counter-permission", "FAIL", "closed"), checked("lock-file", "FAIL", "another user's")
INJECTED, CRASHES = checked("injections", "FAIL", "another tool"), checked("ncu-report", "FAIL", "it crashes")
READ = "Reports can be read. "
DENIED = "counter-permission, lock-file, injections"
ALTHOUGH_CLOSED = "A tiny kernel was profiled, although these checks failed: counter-permission"


@pytest.mark.parametrize(
    ("checks", "live", "summary", "failed"),
    [
        (
            [READER, CLOSED, LOCKED, INJECTED],
            ["OK", "OK"],
            f"{READ}Programs can be profiled: it was tried, although these checks failed: {DENIED}.",
            False,
        ),
        (
            [CRASHES, NCU],
            ["OK", "OK"],
            f"{READ}Programs can be profiled: it was tried, although these checks failed: ncu-report.",
            False,
        ),
        (
            [checked("ncu-report", "UNKNOWN", "late"), checked("gpu", "UNKNOWN", "late")],
            ["OK", "OK"],
            f"{READ}Programs can be profiled: it was tried.",
            False,
        ),
        (
            [READER, CLOSED],
            ["OK", "UNKNOWN"],
            f"{READ}{ALTHOUGH_CLOSED}; programs may still fail: tried 1.",
            False,
        ),
        ([READER, CLOSED], ["OK", "FAIL"], f"{READ}Programs cannot be profiled: tried 1.", True),
        ([READER, CLOSED], ["FAIL", "FAIL"], f"{READ}Programs cannot be profiled: closed; tried 0; tried 1.", True),
        ([READER, CLOSED], ["UNKNOWN", "UNKNOWN"], f"{READ}Programs cannot be profiled: closed.", True),
        (
            [CRASHES],
            ["UNKNOWN", "UNKNOWN"],
            "Reports cannot be read: it crashes. Programs cannot be profiled: it crashes.",
            True,
        ),
        *(
            (
                [READER, CLOSED, checked(name, "FAIL", "not enough")],
                ["OK", "OK"],
                f"{READ}{ALTHOUGH_CLOSED}; programs may still fail: not enough.",
                True,
            )
            for name in ("ncu", "gpu", "folders")
        ),
    ],
)
def test_what_was_profiled_has_the_last_word(
    checks: list[Checked], live: list[Status], summary: str, failed: bool
) -> None:
    tried = tuple(checked("live", status, f"tried {at}") for at, status in enumerate(live))
    found = Examination(tuple(checks), tried)
    assert found.summary == summary
    assert found.failed == failed


def test_what_is_beyond_a_tiny_kernel_is_a_check() -> None:
    assert set(verdict._BEYOND_LIVE) <= {check.name for check in CHECKS}


def test_what_is_not_known_is_an_error_of_the_machine() -> None:
    assert NotKnown("x").exit_code == 5
