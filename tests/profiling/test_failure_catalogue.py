"""The failure catalogue, replayed: every failure in two wordings, through a complete run and through its classifier."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncuview.base.errors import NcuRefused, NothingProfiled, ProgramFailed
from ncuview.profiling import job as profiling
from ncuview.profiling import runner
from ncuview.profiling.job import Job, Profiled, profile
from ncuview.profiling.ncu import NcuRun, classify
from ncuview.profiling.ncu_failures import catalogue, failure
from ncuview.profiling.ncu_output import Progress
from ncuview.profiling.options import ClockControl, NcuOptions
from ncuview.reader.precheck import launches_in
from tests.profiling.failure_cases import CATALOGUE, LAUNCH, LIST, PERMISSION, SAID, Case
from tests.profiling.played import BACKING_UP, BEGUN, CLOCKS, CONNECTED, DONE, NOTHING, returned
from tests.profiling.test_ncu import FakeNcu
from tests.together import together


@pytest.fixture
def fake(tmp_path: Path) -> FakeNcu:
    return FakeNcu(tmp_path)


@dataclass
class Played:
    """A profiling by the played ncu."""

    fake: FakeNcu
    options: NcuOptions = field(default_factory=lambda: NcuOptions(clock_control=ClockControl.BASE))
    no_progress_s: float = 600.0
    waited: list[float] = field(default_factory=list)

    def run(self, case: Case) -> Profiled:
        scenario: dict[str, Any] = {"report": True} if case.report else {}
        if case.survives_less:
            content = str(self.fake.folder / "scenario.report")
            scenario["then"] = {"say": [["stdout", LAUNCH]], "report": True, "content": content}
        variables = self.fake.scenario(
            say=[["stderr", case.stderr], ["stdout", case.stdout]],
            returncode=case.returncode,
            data=case.data,
            launches=case.launches,
            sleep_s=600 if case.hangs else 0,
            **scenario,
        )
        job = Job(
            self.fake.executable,
            ["/bin/true"],
            ["sm__cycles_active.avg"],
            self.fake.folder,
            launches_in,
            self.options,
            variables,
            timeout_s=120.0,
            no_progress_s=self.no_progress_s,
        )
        work = self.fake.folder / "work"
        work.mkdir()
        return profile(job, work, sleep=self.waited.append)


@pytest.mark.parametrize("case", {case.id: case for case in CATALOGUE}.values(), ids=lambda case: case.id)
def test_every_failure_is_named(fake: FakeNcu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one wording; tests/nightly has them all."""
    check_failure(fake, case, monkeypatch)


def check_failure(fake: FakeNcu, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_REQUESTS", ((signal.SIGINT, 10.0),))
    played = Played(fake, no_progress_s=1.0 if case.hangs else 600.0)
    if case.disk_full:
        free = iter([1 << 30, 4096])
        monkeypatch.setattr(profiling, "free_bytes", lambda _: next(free))
        monkeypatch.setattr(profiling, "check_room", lambda _: next(free))
    made = played.run(case)
    if case.error is None:
        assert made.failure is None
        assert case.id in {note.id for note in made.notes}
        assert made.reports
        return
    assert made.failure is not None
    assert (made.failure.id, isinstance(made.failure, case.error)) == (case.id, True), str(made.failure)
    assert made.failure.hint
    assert "{" not in str(made.failure)
    assert played.waited == ([5.0, 15.0, 45.0] if case.id == "NCU-BUSY" else [])


def test_at_least_thirty_failures_are_replayed_in_two_wordings_each() -> None:
    replayed = [case.id for case in CATALOGUE]
    every = {each.id for each in catalogue()}
    assert set(replayed) == every
    assert len(every) >= 31
    assert min(replayed.count(id_) for id_ in every) >= 2


def identified(case: Case, report: Path, change: Callable[[str], str] = str, stdout: bool = True) -> str:
    report.unlink(missing_ok=True)
    if case.report:
        report.touch()
    launches = case.stdout.count('Profiling "copy"')
    said = change(case.stdout), change(case.stderr)
    unfinished = Progress("copy", 0, None, 0.0) if BEGUN + "\n" in case.stdout else None
    error = classify(NcuRun(case.returncode, *(said if stdout else said[::-1]), launches, (), unfinished), report)
    assert error is not None
    return error.id


@together("case", SAID, name=lambda case: case.id)
def test_which_stream_ncu_complains_on_does_not_matter(tmp_path: Path, case: Case) -> None:
    assert identified(case, tmp_path / "r.ncu-rep", stdout=False) == case.id


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: re.sub(r"(?m)^(==\w+==)", "\x1b[1;31m\\1\x1b[0m", text),
        lambda text: re.sub(r"(?m)^(?===)", "\x1b]0;title\x07\x1b[2K\r", text),
        lambda text: re.sub(r"(?m)^(?===(?:ERROR|WARNING))", "10%\r20%\r", text),
    ],
    ids=["CRLF", "colours", "title", "progress bar"],
)
@together("case", SAID, name=lambda case: case.id)
def test_terminals_and_line_ends_do_not_matter(tmp_path: Path, case: Case, change: Callable[[str], str]) -> None:
    assert identified(case, tmp_path / "r.ncu-rep", change) == case.id


OF_A_PROGRAM = [
    "ERR_NVGPUCTRPERM - The user does not have permission",
    "unrecognised option '--bogus'",
    "app: unrecognized option '--fast'",
    "ERROR: Failed to create temporary file.",
    "ResourceUnavailable",
    "LaunchFailed",
    "Unhandled C++ exception: bad allocation",
    "File out.txt already exists",
    "Unable to write to file out.txt",
    "'/x' does not exist or is not an executable.",
    "No space left on device",
    "Failed to lock GPU clock frequencies",
    "application returned an error code (11)",
]


@pytest.mark.parametrize("case", [case for case in SAID if "==PROF==" in case.stdout], ids=lambda case: case.id)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_what_the_program_says_in_between_does_not_matter(tmp_path: Path, case: Case, data: st.DataObject) -> None:
    lines = case.stdout.splitlines(keepends=True)
    words = st.one_of(
        st.sampled_from(OF_A_PROGRAM), st.text(st.characters(exclude_characters="=", exclude_categories=["Cs"]))
    )
    for _ in range(3):
        lines.insert(data.draw(st.integers(0, len(lines))), data.draw(words) + "\n")
    mixed = replace(case, stdout="".join(lines))
    # Without the warning before it, an exception of C++ is the program's.
    if BACKING_UP not in case.stdout or case.id == "NCU-OOM":
        assert identified(mixed, tmp_path / "r.ncu-rep") == case.id


@pytest.mark.parametrize("said", OF_A_PROGRAM)
@pytest.mark.parametrize("code", [2, 9])
def test_what_the_program_says_is_not_taken_for_ncu_s_words(tmp_path: Path, said: str, code: int) -> None:
    run = NcuRun(code, CONNECTED + returned(code), said + "\n", 0, ())
    error = classify(run, tmp_path / "r.ncu-rep")
    assert error is not None
    assert error.id == ("NCU-APP" if code == 2 else "NCU-CRASH")


@pytest.mark.parametrize("said", OF_A_PROGRAM)
def test_a_killed_ncu_did_not_say_what_the_program_said(tmp_path: Path, said: str) -> None:
    error = classify(NcuRun(-9, said + "\n", "", 0, ()), tmp_path / "r.ncu-rep")
    assert error is not None
    assert error.id == "NCU-PART"


@pytest.mark.parametrize(
    "harmless",
    [
        CLOCKS,
        "==WARNING== Could not determine user home directory for section deployment.\n",
        "==WARNING== Unable to access the following 1 metrics: ctc__rx_bytes_data_user.sum.\n",
        BACKING_UP,
        "==WARNING== Found outstanding GPU clock reset, trying to revert...\n",
        "==WARNING== Launching the workload is taking more time than expected.\n",
        "==ERROR== Failed to import the following source files: /x.cu\n",
        "the program says: ERR_NVGPUCTRPERM, Failed to save memory for replay\n",
    ],
)
def test_remarks_of_a_good_run(fake: FakeNcu, harmless: str) -> None:
    run = fake.run(say=[["stdout", LAUNCH + harmless]], report=True)
    assert classify(run, fake.report) is None


# Who is to blame


@together("case", [case for case in SAID if case.error is NcuRefused], name=lambda case: case.id)
def test_a_program_that_ncu_killed_is_not_blamed(tmp_path: Path, case: Case) -> None:
    error = failure(identified(case, tmp_path / "r.ncu-rep"))
    assert error.error != "ProgramFailed"


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 42, 130, 143, 254, 255])
def test_a_program_s_own_exit_code_is_the_program_s(tmp_path: Path, code: int) -> None:
    error = classify(NcuRun(code, LAUNCH + returned(code), "no such matrix\n", 1, (8,)), tmp_path / "r.ncu-rep")
    assert isinstance(error, ProgramFailed)
    assert str(error) == f"The program ended with exit code {code}:\n    no such matrix"


def test_a_program_that_fails_has_its_last_words_quoted(fake: FakeNcu) -> None:
    words = "".join(f"line {number}\n" for number in range(30)) + "10%\r20%\rError: no such matrix\n"
    run = fake.run(
        say=[["stderr", words], ["stdout", "stdout\n" + CONNECTED + returned(42)]], returncode=42, report=True
    )
    message = str(classify(run, fake.report))
    assert message.startswith("The program ended with exit code 42:\n    line 11\n")
    assert message.endswith("    line 29\n    Error: no such matrix")


def test_a_program_that_complains_on_its_standard_output_is_quoted_too(fake: FakeNcu) -> None:
    said = CONNECTED + BEGUN + "\n" + DONE + "CUDA error: out of memory\n" + returned(42)
    message = str(classify(NcuRun(42, said, "", 1, (8,)), fake.report))
    assert message == "The program ended with exit code 42:\n    CUDA error: out of memory"


def test_a_program_that_fails_silently(fake: FakeNcu) -> None:
    run = NcuRun(42, returned(42), "", 0, ())
    assert str(classify(run, fake.report)) == "The program ended with exit code 42"


def test_ncu_s_words_and_the_program_s_last_ones_are_quoted(fake: FakeNcu) -> None:
    run = NcuRun(9, CONNECTED + "==ERROR== OutOfMemory\n", "step 7\n", 0, ())
    message = str(classify(run, fake.report))
    assert "(ncu: ==ERROR== OutOfMemory)" in message
    assert message.endswith(". The program's last lines:\n    step 7")


def test_an_unknown_metric_is_named(fake: FakeNcu) -> None:
    run = NcuRun(9, CONNECTED + "==ERROR== Failed to find metric regex:^sm__bogus.sum$\n", "", 0, ())
    assert str(classify(run, fake.report)).startswith("ncu knows no metric sm__bogus.sum for this GPU")


def test_the_nearest_kernel_is_proposed(fake: FakeNcu) -> None:
    log = (CONNECTED + NOTHING + LIST).replace("\n", "\r\n")
    error = classify(NcuRun(0, log, "", 0, ()), fake.report, kernel_name="regex:transposeNiave")
    assert isinstance(error, NothingProfiled)
    assert error.hint == (
        "Did you mean transposeNaive? The program launches copy, transposeNaive, void foo<int>(int *)."
    )
    assert "last lines" not in str(error)
    for name in (None, "zzz"):
        error = classify(NcuRun(0, log, "", 0, ()), fake.report, kernel_name=name)
        assert error is not None
        assert error.hint == "The program launches copy, transposeNaive, void foo<int>(int *)."


def test_an_ncu_that_was_killed(fake: FakeNcu) -> None:
    error = classify(NcuRun(-9, CONNECTED + BEGUN, "", 1, ()), fake.report)
    assert isinstance(error, NothingProfiled)
    assert (str(error), error.id) == ("ncu was ended by signal 9", "NCU-PART")


# A run that was stopped


@pytest.mark.parametrize(
    ("run", "id_", "said"),
    [
        (
            NcuRun(9, LAUNCH, "", 1, (8,), None, "time", 60.4),
            "NCU-PART",
            "after 60 s, while the program ran on; launches profiled: 1",
        ),
        (NcuRun(9, LAUNCH, "", 1, (8,), None, "silence", 9.0), "NCU-HANG", "neither launched nor printed anything"),
        (
            NcuRun(9, CONNECTED + BEGUN, "", 1, (), Progress("copy", 0, None, 0.1), "time", 60.0),
            "NCU-HANG",
            'while it profiled "copy" (launch 0)',
        ),
        (NcuRun(9, CONNECTED + PERMISSION + "\n", "", 0, (), None, "time", 60.0), "NCU-PERM", "only administrators"),
        (NcuRun(9, LAUNCH + returned(9), "", 1, (8,), None, "time", 60.0), "NCU-PART", "while the program ran on"),
        (NcuRun(2, LAUNCH + returned(2), "", 1, (8,), None, "time", 60.0), "NCU-PART", "while the program ran on"),
    ],
)
def test_why_a_run_was_stopped(tmp_path: Path, run: NcuRun, id_: str, said: str) -> None:
    error = classify(run, tmp_path / "r.ncu-rep")
    assert error is not None
    assert error.id == id_
    assert said in str(error)
    assert error.hint
