from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UsageError
from ncuview.profiling import runner
from ncuview.profiling.ncu import NcuRun, classify, ncu_command, run_ncu
from ncuview.profiling.ncu_output import Progress, ProgressReader
from ncuview.profiling.options import ClockControl, NcuOptions
from ncuview.profiling.reaper import descendants
from ncuview.profiling.runner import Watch
from tests.profiling.played import AS_NCU, BEGUN, CLOCKS, CONNECTED, DONE, arrange

PATIENCE_S = 60.0


class FakeNcu:
    """ncu's command line, played by ``fake_ncu.py`` from a scenario."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = folder / "out.ncu-rep"
        self.pids_file = folder / "pids"
        self.executable = folder / "ncu"
        self.executable.write_text(f"#!/bin/sh\n{AS_NCU}\n")
        self.executable.chmod(0o755)

    def argv(self, **options: Any) -> list[str]:
        return ncu_command(
            self.executable, ["sm__cycles_active.avg"], self.report, [sys.executable, "app.py"], **options
        )

    def scenario(self, **scenario: Any) -> dict[str, str]:
        return arrange(self.folder / "scenario.json", **scenario)

    def run(
        self, *, progress: Callable[[Progress], object] | None = None, timeout_s: float = PATIENCE_S, **scenario: Any
    ) -> NcuRun:
        environment = self.scenario(**scenario)
        return run_ncu(self.argv(), cwd=self.folder, timeout_s=timeout_s, progress=progress, environment=environment)

    def pids(self) -> list[int]:
        """Of ncu and of the process that it started, once both run."""
        wait_until(self.pids_file.exists)
        return [int(pid) for pid in self.pids_file.read_text().split()]


@pytest.fixture
def fake(tmp_path: Path) -> FakeNcu:
    return FakeNcu(tmp_path)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_REQUESTS", ((signal.SIGINT, 0.5), (signal.SIGTERM, 0.5)))


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until_dead(pids: list[int]) -> None:
    wait_until(lambda: not any(alive(pid) for pid in pids))


# The command line


def test_the_command_line(tmp_path: Path) -> None:
    argv = ncu_command(
        Path("/opt/ncu"),
        ["sm__cycles_active.avg", "dram__bytes.sum"],
        tmp_path / "out.ncu-rep",
        [sys.executable, "-m", "ncuview.catalogue.launcher", "--set", "full"],
    )
    assert argv == [
        "/opt/ncu",
        "--config-file=off",
        "--apply-rules=no",
        "--target-processes=all",
        "--cache-control=all",
        "--clock-control=none",
        "--import-source=yes",
        "--metrics=sm__cycles_active.avg,dram__bytes.sum",
        f"--export={tmp_path}/out.ncu-rep",
        sys.executable,
        "-m",
        "ncuview.catalogue.launcher",
        "--set",
        "full",
    ]


def test_options_that_a_caller_chooses(fake: FakeNcu) -> None:
    argv = fake.argv(options=NcuOptions(clock_control=ClockControl.BASE, kernel_name="-k"))
    assert "--clock-control=base" in argv
    assert "--kernel-name=-k" in argv


def test_percent_signs_in_the_report_s_folder_are_not_expanded_and_those_in_its_name_are() -> None:
    argv = ncu_command(Path("/opt/ncu"), ["m"], Path("/tmp/100%h/rank%p.ncu-rep"), [sys.executable])
    assert "--export=/tmp/100%%h/rank%p.ncu-rep" in argv


@given(st.lists(st.text()))
def test_the_program_s_arguments_come_last_and_unchanged(arguments: list[str]) -> None:
    argv = ncu_command(Path("/opt/ncu"), ["m"], Path("/tmp/out.ncu-rep"), [sys.executable, *arguments])
    program = argv.index(sys.executable)
    assert argv[program + 1 :] == arguments
    assert all(word.startswith("--") for word in argv[1:program])


def test_a_program_whose_name_is_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "--import"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ncu_command(Path("/opt/ncu"), ["m"], Path("/tmp/out.ncu-rep"), ["--import", "x"])[-2:] == [str(program), "x"]


def test_a_program_in_the_working_folder_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "app").write_text("#!/bin/sh\n")
    (tmp_path / "app").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert ncu_command(Path("/opt/ncu"), ["m"], Path("/tmp/out.ncu-rep"), ["./app"])[-1] == str(tmp_path / "app")


def test_a_program_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no program") as error:
        ncu_command(Path("/opt/ncu"), ["m"], tmp_path / "out.ncu-rep", [str(tmp_path / "app")])
    assert error.value.hint


# A good run


def test_a_good_run(fake: FakeNcu) -> None:
    seen: list[Progress] = []
    run = fake.run(
        say=[
            ["stdout", CLOCKS + CONNECTED + BEGUN],
            ["stderr", "the program says something\n"],
            ["stdout", DONE + '==PROF== Profiling "mtran" - 1: 0%....50%....100% - 1 pass\n'],
        ],
        report=True,
        progress=seen.append,
    )
    assert (run.returncode, run.launches, run.passes) == (0, 2, (8, 1))
    assert run.stderr == "the program says something\n"
    assert CONNECTED in run.log
    assert [(p.kernel, p.index, p.passes) for p in seen] == [
        ("copy", 0, None),
        ("copy", 0, 8),
        ("mtran", 1, None),
        ("mtran", 1, 1),
    ]
    assert 0 <= seen[0].elapsed_s <= seen[-1].elapsed_s
    assert classify(run, fake.report) is None


def test_the_fake_refuses_what_it_does_not_know(fake: FakeNcu) -> None:
    argv = fake.argv()
    for wrong in (["-f"], ["--force-overwrite"], ["--apply-rules=yes"], ["--apply-rules=no"], ["--set=full"]):
        run = run_ncu([argv[0], *wrong, *argv[1:]], cwd=fake.folder, timeout_s=PATIENCE_S, environment=fake.scenario())
        assert run.returncode == 99, wrong


# Progress

LOG = (
    CLOCKS
    + CONNECTED
    + '==PROF== Profiling "dramRead" - 0: 0%....50%....100% - 38 passes\n'
    + '==PROF== Profiling "l2Scatter(unsigned int *, int)" - 1: 0%....50%....100% - 1 pass\n'
    + '==PROF== Profiling "transpose_serial" - 2: 0%\n'
    + "==WARNING== Launching the workload is taking more time than expected. If this continues to hang, terminate the "
    "profile and re-try by profiling the range of all related launches using '--replay-mode range'.\n"
    + "....50%....100% - 38 passes\n"
    + "downloaded 100% - 3 passengers\n"
    + 'no newline==PROF== Profiling "operator""_x<café>" - 3 (4/60): 0%....50%program output\n....100% - 36 passes\n'
    + '==PROF== Profiling "never finished" - 4: 0%\n'
    + '==PROF== Profiling "transpose_parallel_per_elemen..." - 5: 0%....50%....100% - 2 passes\n'
    + '==PROF== Profiling "void fill<(int)4>(int, T2)": 0%....50%....100% - 1 pass\n'  # of each configuration
).encode()
LAUNCHES = [
    ("dramRead", 0, 38),
    ("l2Scatter(unsigned int *, int)", 1, 1),
    ("transpose_serial", 2, 38),
    ('operator""_x<café>', 3, 36),
    ("never finished", 4, None),
    ("transpose_parallel_per_elemen...", 5, 2),
    ("void fill<(int)4>(int, T2)", 6, 1),
]


def progress_of(chunks: list[bytes]) -> list[Progress]:
    reader = ProgressReader(clock=lambda: 0.0)
    return [progress for chunk in chunks for progress in reader.feed(chunk)]


def expected_progress() -> list[Progress]:
    begun_and_finished = [
        [Progress(kernel, index, None, 0.0), Progress(kernel, index, passes, 0.0)] for kernel, index, passes in LAUNCHES
    ]
    return [progress for pair in begun_and_finished for progress in (pair if pair[1].passes else pair[:1])]


@given(st.lists(st.integers(0, len(LOG)), max_size=40).map(sorted))
def test_progress_is_the_same_however_the_bytes_arrive(cuts: list[int]) -> None:
    bounds = [0, *cuts, len(LOG)]
    assert progress_of([LOG[a:b] for a, b in pairwise(bounds)]) == expected_progress()


def test_progress_byte_by_byte() -> None:
    assert progress_of([LOG[at : at + 1] for at in range(len(LOG))]) == expected_progress()


def test_progress_after_a_long_line() -> None:
    assert progress_of([b"x" * 100_000] * 50 + [LOG]) == expected_progress()


# No process and no file is left after any end


def test_an_exception_of_the_listener_ends_all(fake: FakeNcu) -> None:
    def interrupt(_: Progress) -> None:
        fake.pids()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fake.run(say=[["stdout", CONNECTED + BEGUN]], child=str(fake.pids_file), sleep_s=600, progress=interrupt)
    wait_until_dead(fake.pids())


def test_ctrl_c_ends_all(fake: FakeNcu) -> None:
    ncuview = ncuview_under(fake)
    pids = fake.pids()
    ncuview.send_signal(signal.SIGINT)
    _, said = ncuview.communicate(timeout=PATIENCE_S)
    assert b"KeyboardInterrupt" in said
    assert not any(alive(pid) for pid in pids)


class LeapingClock:
    """A clock on which hours go by at once when something has happened."""

    def __init__(self, happened: Callable[[], bool]) -> None:
        self._happened = happened

    def __call__(self) -> float:
        return 86_400.0 if self._happened() else 0.0


@pytest.fixture
def time_leaps_after(fake: FakeNcu, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[Progress]]:
    """Let hours go by once this many pieces of progress were seen, in the list that is returned."""

    def arrange_clock(pieces: int) -> list[Progress]:
        seen: list[Progress] = []
        clock = LeapingClock(lambda: len(seen) == pieces and fake.pids_file.exists())
        monkeypatch.setattr("ncuview.profiling.ncu.Watch", partial(Watch, clock=clock))
        return seen

    return arrange_clock


LINGERS: dict[str, Any] = {"sleep_s": 600}


@pytest.mark.usefixtures("impatient")
def test_a_deaf_program_is_killed_in_the_end(fake: FakeNcu, time_leaps_after: Callable[[int], list[Progress]]) -> None:
    seen = time_leaps_after(1)
    run = fake.run(
        say=[["stdout", CONNECTED + BEGUN]], child=str(fake.pids_file), deaf=True, progress=seen.append, **LINGERS
    )
    assert (run.stopped, run.returncode, run.unfinished) == ("time", -signal.SIGKILL, seen[0])
    assert not any(alive(pid) for pid in fake.pids())


def test_the_time_is_over_between_two_launches(
    fake: FakeNcu, time_leaps_after: Callable[[int], list[Progress]]
) -> None:
    seen = time_leaps_after(2)
    run = fake.run(
        say=[["stdout", CONNECTED + BEGUN + DONE]], child=str(fake.pids_file), progress=seen.append, **LINGERS
    )
    assert (run.stopped, run.passes, run.unfinished) == ("time", (8,), None)
    assert not any(alive(pid) for pid in fake.pids())


def test_a_run_without_progress_is_stopped(fake: FakeNcu, time_leaps_after: Callable[[int], list[Progress]]) -> None:
    seen = time_leaps_after(2)
    run = fake.run(
        say=[["stdout", CONNECTED + BEGUN + DONE]],
        child=str(fake.pids_file),
        progress=seen.append,
        timeout_s=math.inf,
        **LINGERS,
    )
    assert run.stopped == "silence"
    assert not any(alive(pid) for pid in fake.pids())


def test_what_the_program_says_on_stderr_is_progress(fake: FakeNcu, monkeypatch: pytest.MonkeyPatch) -> None:
    moves: list[str] = []

    class Watched(Watch):
        def progressed(self) -> None:
            moves.append("progressed")

    class DeafToStdout(ProgressReader):
        def feed(self, _: bytes) -> list[Progress]:
            return []

    monkeypatch.setattr("ncuview.profiling.ncu.Watch", Watched)
    monkeypatch.setattr("ncuview.profiling.ncu.ProgressReader", DeafToStdout)
    fake.run(say=[["stdout", "epoch 1\n"]])
    assert not moves
    fake.run(say=[["stderr", "epoch 1\n"]])
    assert moves


def test_what_ncu_says_when_it_is_stopped_is_heard(
    fake: FakeNcu, time_leaps_after: Callable[[int], list[Progress]]
) -> None:
    seen = time_leaps_after(2)
    run = fake.run(
        say=[["stdout", CONNECTED + BEGUN + DONE]],
        child=str(fake.pids_file),
        progress=seen.append,
        report=True,
        saves=True,
        **LINGERS,
    )
    assert run.stopped == "time"
    assert f"==PROF== Report: {fake.report}" in run.stdout


@pytest.mark.usefixtures("impatient")
def test_processes_that_left_the_group_are_ended_too(
    fake: FakeNcu, time_leaps_after: Callable[[int], list[Progress]]
) -> None:
    seen = time_leaps_after(1)
    for deaf in (False, True):
        fake.pids_file.unlink(missing_ok=True)
        seen.clear()
        fake.run(
            say=[["stdout", CONNECTED + BEGUN]],
            child=str(fake.pids_file),
            leaves=True,
            deaf=deaf,
            progress=seen.append,
            **LINGERS,
        )
        assert not any(alive(pid) for pid in fake.pids())


@pytest.mark.parametrize("returncode", [0, 1, 139])
def test_what_a_crashed_ncu_leaves_is_ended(fake: FakeNcu, returncode: int) -> None:
    """The command ncu is a shell script: a crash is its exit status, and the program that it profiled runs on."""
    run = fake.run(
        say=[["stdout", CONNECTED + BEGUN]],
        child=str(fake.pids_file),
        sleep_s=0,
        returncode=returncode,
        timeout_s=PATIENCE_S,
    )
    _, child = fake.pids()
    assert run.returncode == returncode
    try:
        assert alive(child) == (returncode < 128)
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("kills", [False, True])
def test_an_ncu_that_is_killed_leaves_nothing(fake: FakeNcu, kills: bool, tmp_path: Path) -> None:
    """Somebody else kills ncu: its program is ended, and clocks that it had locked are freed."""
    options = NcuOptions(clock_control=ClockControl.BASE if kills else ClockControl.NONE)
    trackers = tmp_path / "tmp"
    trackers.mkdir()
    (trackers / "NVIDIA-treetracker-of-others").touch()
    words = tmp_path / "words"
    scenario = fake.scenario(
        say=[["stdout", CONNECTED + BEGUN]], child=str(fake.pids_file), words=str(words), tracker=True, dies=True
    )
    run = run_ncu(
        fake.argv(options=options),
        cwd=fake.folder,
        environment={**scenario, "TMPDIR": str(trackers)},
        timeout_s=PATIENCE_S,
    )
    assert run.returncode == -signal.SIGKILL
    assert not any(alive(pid) for pid in fake.pids())
    assert [file.name for file in trackers.iterdir()] == ["NVIDIA-treetracker-of-others"]
    calls = [json.loads(line) for line in words.read_text().splitlines()]
    assert calls[1:] == ([["--clock-control=reset"]] if kills else [])


@pytest.mark.parametrize("deaf", [False, True])
def test_when_ncuview_is_killed_nothing_is_left(fake: FakeNcu, deaf: bool) -> None:
    ncuview = ncuview_under(fake, deaf=deaf, graces="((signal.SIGINT, 0.5), (signal.SIGTERM, 0.5))")
    pids = fake.pids()
    private = fake.folder / "private"
    assert private.is_dir()
    guards = [pid for pid in descendants(ncuview.pid) if pid not in pids]
    assert guards
    ncuview.kill()
    ncuview.communicate(timeout=PATIENCE_S)
    wait_until_dead([*pids, *guards])
    assert not private.exists()


def test_output_is_still_read_when_ncuview_has_ended(fake: FakeNcu) -> None:
    """A program that cannot write any more would be ended by SIGPIPE before it has cleaned up."""
    saved = fake.folder / "saved"
    ncuview = ncuview_under(fake, floods_when_asked=str(saved))
    pids = fake.pids()
    ncuview.kill()
    ncuview.communicate(timeout=PATIENCE_S)
    wait_until_dead(pids)
    assert saved.exists()


def test_when_the_guard_is_killed_ncu_is_asked_to_end(fake: FakeNcu) -> None:
    ncuview = ncuview_under(fake)
    ncu, child = fake.pids()
    (guard,) = [pid for pid in descendants(ncuview.pid) if pid not in {ncu, child}]
    os.kill(guard, signal.SIGKILL)
    wait_until_dead([guard, ncu])
    os.kill(child, signal.SIGKILL)  # ncu ends its program itself; what it plays does not
    ncuview.communicate(timeout=PATIENCE_S)


def ncuview_under(fake: FakeNcu, *, graces: str = "runner._REQUESTS", **scenario: Any) -> subprocess.Popen[bytes]:
    """A process of its own that runs the played ncu until it is ended."""
    environment = fake.scenario(say=[["stdout", CONNECTED + BEGUN]], child=str(fake.pids_file), **LINGERS, **scenario)
    code = (
        "import json, signal, sys; from pathlib import Path; from ncuview.profiling import runner;"
        "from ncuview.profiling.ncu import run_ncu;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # a shell's background job ignores it
        f"runner._REQUESTS = {graces};"
        "private = Path(sys.argv[2]) / 'private'; private.mkdir();"
        "run_ncu(json.loads(sys.argv[1]), cwd=Path(sys.argv[2]), remove=[private])"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(fake.argv()), str(fake.folder)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
    )


def test_a_second_ctrl_c_does_not_wait(fake: FakeNcu, monkeypatch: pytest.MonkeyPatch) -> None:
    listen = runner._listen

    def interrupted(*args: Any) -> Any:
        listen(args[0], args[1], lambda: "time")
        fake.pids()
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "_listen", interrupted)
    monkeypatch.setattr(runner, "_REQUESTS", ((signal.SIGINT, 3600.0),))
    with pytest.raises(KeyboardInterrupt):
        fake.run(child=str(fake.pids_file), deaf=True, **LINGERS)
    assert not any(alive(pid) for pid in fake.pids())


def test_a_second_request_does_not_wait_for_the_first(fake: FakeNcu) -> None:
    ncuview = ncuview_under(fake, deaf=True, graces="((signal.SIGINT, 3600.0),)")
    pids = fake.pids()
    guards = [pid for pid in descendants(ncuview.pid) if pid not in pids]

    def interrupted() -> bool:
        ncuview.send_signal(signal.SIGINT)
        return ncuview.poll() is not None

    wait_until(interrupted)
    ncuview.communicate(timeout=PATIENCE_S)
    wait_until_dead([*pids, *guards])


def test_a_daemon_that_holds_the_streams_open_is_not_waited_for(fake: FakeNcu) -> None:
    run = fake.run(say=[["stdout", CONNECTED + BEGUN + DONE]], child=str(fake.pids_file), report=True)
    ncu, daemon = fake.pids()
    try:
        assert run.passes == (8,)
        assert alive(daemon)
        assert not alive(ncu)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_a_flood_of_output_does_not_fill_the_memory(fake: FakeNcu) -> None:
    tracemalloc.start()
    try:
        run = fake.run(
            say=[
                ["stdout", "the beginning\n" + CONNECTED + BEGUN],
                ["stdout", "\n==ERROR== OutOfMemory\n"],
                ["stdout", "x" * 5_000_000 + "\nthe end\n"],
            ],
            flood_bytes=50_000_000,
            returncode=9,
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert len(run.log) < 2_000_000
    assert run.stdout.startswith("the beginning\n")
    assert run.stdout.endswith("\nthe end\n")
    assert classify(run, fake.report).id == "NCU-OOM"  # type: ignore[union-attr]


def test_launches_that_begin_again_in_each_run_of_the_program_are_counted_once() -> None:
    said = b"".join(
        b'==PROF== Profiling "%b" - %d: Application replay pass %d\n' % (kernel, index, number)
        for number in (1, 2, 3)
        for index, kernel in enumerate((b"fill", b"scale"))
    )
    again, once = (ProgressReader(clock=lambda: 0.0, reruns=reruns) for reruns in (True, False))
    again.feed(said)
    once.feed(said)
    assert (again.begun, once.begun) == (2, 6)
