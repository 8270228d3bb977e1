from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.collect import supervise
from ncuview.collect.ncu import NcuRun, classify, ncu_command, run_ncu
from ncuview.collect.ncu_failures import CAUSES, SYMPTOMS
from ncuview.collect.ncu_output import Progress, ProgressReader
from ncuview.collect.options import ClockControl, NcuOptions
from ncuview.errors import NcuRefused, NcuviewError, NothingProfiled, ProgramFailed, UsageError

PATIENCE_S = 60.0
CLOCKS = (
    "==WARNING== Note: Running with unmodified GPU clocks. "
    "If not controlled otherwise, profiling results may be inconsistent.\n"
)
CONNECTED = "==PROF== Connected to process 5395 (/usr/bin/python3.12)\n"
BEGUN = '==PROF== Profiling "copy" - 0: 0%'
DONE = "....50%....100% - 8 passes\n"
BROKEN_OFF = (
    "==PROF== Trying to shutdown target application\n"
    '==ERROR== Failed to profile "copy" in process 5395\n'
    "==ERROR== An error occurred while trying to profile.\n"
)
NOTHING = "==WARNING== No kernels were profiled.\n"


BACKING_UP = "==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n"


def returned(code: int) -> str:
    return f"==ERROR== The application returned an error code ({code}).\n"


class FakeNcu:
    """ncu's command line, played by ``fake_ncu.py`` from a scenario."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.report = folder / "out.ncu-rep"
        self.pids_file = folder / "pids"
        self.executable = folder / "ncu"
        script = Path(__file__).with_name("fake_ncu.py")
        self.executable.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{script}' \"$@\"\n")
        self.executable.chmod(0o755)

    def argv(self, **options: Any) -> list[str]:
        return ncu_command(
            self.executable, ["sm__cycles_active.avg"], self.report, [sys.executable, "app.py"], **options
        )

    def scenario(self, **scenario: Any) -> dict[str, str]:
        (self.folder / "scenario.json").write_text(json.dumps(scenario))
        return {"FAKE_NCU": str(self.folder / "scenario.json")}

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
    monkeypatch.setattr(supervise, "_REQUESTS", ((signal.SIGINT, 0.5), (signal.SIGTERM, 0.5)))


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
        [sys.executable, "-m", "ncuview.collect.host", "--set", "full"],
    )
    assert argv == [
        "/opt/ncu",
        "--config-file=off",
        "--target-processes=all",
        "--apply-rules=no",
        "--import-source=yes",
        "--clock-control=none",
        "--cache-control=all",
        "--metrics=sm__cycles_active.avg,dram__bytes.sum",
        f"--export={tmp_path}/out.ncu-rep",
        sys.executable,
        "-m",
        "ncuview.collect.host",
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
).encode()
LAUNCHES = [
    ("dramRead", 0, 38),
    ("l2Scatter(unsigned int *, int)", 1, 1),
    ("transpose_serial", 2, 38),
    ('operator""_x<café>', 3, 36),
    ("never finished", 4, None),
    ("transpose_parallel_per_elemen...", 5, 2),
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


# The failure catalogue


@dataclass(frozen=True)
class Case:
    id: str
    error: type[NcuviewError]
    returncode: int
    stdout: str = ""
    stderr: str = ""
    report: bool = False


def refused(id_: str, *texts: str) -> list[Case]:
    """ncu says it before, or while, it profiles the first launch, and ends the program."""
    return [
        Case(id_, NcuRefused, 9, CLOCKS + CONNECTED + BEGUN + "\n" + text + "\n" + BROKEN_OFF + returned(9) + NOTHING)
        for text in texts
    ]


CATALOGUE = [
    *refused(
        "NCU-PERM",
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters "
        "on the target device 0. For instructions see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        "==ERROR== Failed to initialize the profiler: InsufficientPermissions",
        "==ERROR== InsufficientVGpuPermissions",
        "==ERROR== InsufficientConfidentialComputingPermissions",
    ),
    # The program ran on after the error, to a good end.
    Case(
        "NCU-PERM",
        NcuRefused,
        0,
        CONNECTED + "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n" + NOTHING,
    ),
    Case(
        "NCU-PERM",
        NcuRefused,
        0,
        CONNECTED + "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
        report=True,
    ),
    *refused(
        "NCU-BUSY",
        "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) "
        "is concurrently collecting profiling data.",
        "==ERROR== ResourceUnavailable",
    ),
    *refused(
        "NCU-LOCK",
        "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write "
        "permissions on this file.",
        "==ERROR== InterprocessLockFailed",
    ),
    Case(
        "NCU-TMP",
        NcuRefused,
        255,
        stderr="ERROR: Failed to create temporary file. "
        "Specify the TMPDIR environment variable or use --export option.\n",
    ),
    Case(
        "NCU-STUB",
        NcuRefused,
        1,
        "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so.1 on path?).\n"
        + returned(1)
        + NOTHING,
    ),
    *refused(
        "NCU-DRIVER",
        "==ERROR== Cuda driver is not compatible with Nsight Compute.",
        "==WARNING== Failed to load Nsight Compute CUDA modules.",
        "==ERROR== Insufficient driver version to profile on device 0.",
        "==ERROR== InsufficientDriverVersion",
    ),
    *refused(
        "NCU-LIB",
        "==ERROR== Failed to initialize the profiler: LibraryNotLoaded",
        "==ERROR== LibraryInvalidVersion",
        "==ERROR== Incompatible PerfWorks library (failed to load libnvperf_host.so)",
    ),
    *refused("NCU-MIX", "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown Error on device 0."),
    *refused("NCU-GPU", "==ERROR== UnsupportedGpu", "==ERROR== ERR_NVCMPGPU", "==ERROR== UnsupportedSliConfiguration"),
    *refused(
        "NCU-MIG-CLK",
        "==ERROR== Cannot lock GPU clock frequencies on MIG! Try locking the clocks externally (e.g. using 'nvidia-smi "
        "--lock-gpu-clocks=tdp,tdp') or profile without fixed frequencies (see '--clock-control').",
    ),
    Case(
        "NCU-MIG-MET",
        NothingProfiled,
        0,
        CONNECTED
        + "==WARNING== Unable to access the following 2 metrics: a.sum, b.sum. If profiling on a MIG instance, "
        "it is not possible to collect metrics from GPU units that are shared\n",
    ),
    *refused("NCU-CLK", "==ERROR== Failed to lock GPU clock frequencies! Try again.", "==ERROR== LockingClocksFailed"),
    Case(
        "NCU-LAUNCH",
        ProgramFailed,
        9,
        CONNECTED + BEGUN + "==ERROR== LaunchFailed\n" + BROKEN_OFF + returned(9),
        report=True,
    ),
    Case("NCU-NOKERN", NothingProfiled, 0, CONNECTED + NOTHING),
    Case(
        "NCU-NOKERN",
        NothingProfiled,
        0,
        NOTHING + "Profiling kernels launched by child processes requires the --target-processes all option.\n",
    ),
    Case("NCU-NOKERN", NothingProfiled, 0, "the program said this\n"),
    Case("NCU-APP", ProgramFailed, 42, CONNECTED + BEGUN + DONE + returned(42), report=True),
    Case("NCU-APP", ProgramFailed, 1, returned(1) + NOTHING),
    Case("NCU-CRASH", ProgramFailed, 11, CONNECTED + returned(11) + NOTHING),
    Case("NCU-CRASH", ProgramFailed, 6, CONNECTED + BEGUN + DONE + returned(6), report=True),
    Case("NCU-CRASH", ProgramFailed, 139, CONNECTED + returned(139)),
    Case("NCU-CRASH", ProgramFailed, 9, CONNECTED + returned(9) + NOTHING),
    Case(
        "NCU-CRASH",
        ProgramFailed,
        1,
        CONNECTED + "==ERROR== Connection error detected communicating with target application.\n",
    ),
    *refused(
        "NCU-INJ", "==ERROR== Another tool/injection might be loaded since CUDA_INJECTION64_PATH is set to /x.so."
    ),
    *[
        Case("NCU-OOM", NothingProfiled, 9, CONNECTED + BEGUN + "\n" + text + "\n" + BROKEN_OFF + returned(9))
        for text in (
            BACKING_UP + "Unhandled C++ exception: bad allocation",
            "==ERROR== Failed to save memory for replay",
            "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Failed to save memory for replay",
            "==ERROR== Insufficient free memory for profiling on the device.",
            "==ERROR== Insufficient memory and disk space to save context state!",
            "==ERROR== OutOfMemory",
        )
    ],
    *[
        Case("NCU-REPLAY", NothingProfiled, 9, CONNECTED + text + "\n" + BROKEN_OFF)
        for text in (
            "==ERROR== ApplicationReplayMismatch",
            "==ERROR== Application replay requires that the execution of the application is deterministic.",
            "==ERROR== ReplayLoopExitEarly",
        )
    ],
    *[
        Case(
            "NCU-EXISTS",
            UsageError,
            code,
            "==ERROR== File f8.ncu-rep already exists. Use '-f' for overwriting the file.\n",
        )
        for code in (255, 1)
    ],
    Case(
        "NCU-WRITE",
        UsageError,
        255,
        "==ERROR== Unable to write to file X.ncu-rep. Please verify this file is not locked, and writable.\n",
    ),
    Case(
        "NCU-WRITE",
        UsageError,
        1,
        CONNECTED + BEGUN + DONE + "==ERROR== Failed to save the report to file /x/X.ncu-rep\n",
    ),
    Case("NCU-FULL", NothingProfiled, 0, CONNECTED + BEGUN + DONE),
    *[
        Case("NCU-USAGE", UsageError, code, stderr=text)
        for code in (255, 1)
        for text in (
            "unrecognised option '--bogus'\n",
            "option '--apply-rules' cannot be specified more than once\n",
            "==ERROR== Invalid regex provided to --kernel option. (\n",
            "==ERROR== x did not match any section\n",
            "'/x' does not exist or is not an executable.\n",
        )
    ],
    Case("NCU-SET", UsageError, 0, CONNECTED + "==WARNING== No metrics to collect found in sections.\n"),
    Case(
        "NCU-METRIC",
        NothingProfiled,
        9,
        CONNECTED
        + BEGUN
        + "\n==ERROR== Failed to find metric regex:^sm__bogus.sum(\\.|$)\n"
        + BROKEN_OFF
        + returned(9),
    ),
    Case("NCU-PART", NothingProfiled, 9, CONNECTED + BEGUN + "\n" + BROKEN_OFF + returned(9)),
    Case("NCU-PART", NothingProfiled, 9, CONNECTED + "==PROF== Received signal\n"),
    Case(
        "NCU-UNKNOWN", NcuRefused, 9, CONNECTED + BEGUN + "\n==ERROR== FluxCapacitorFailed\n" + BROKEN_OFF + returned(9)
    ),
    Case("NCU-UNKNOWN", NcuRefused, 127, stderr="ncu: cannot find its own libraries\n"),
]


@pytest.mark.parametrize("case", CATALOGUE, ids=lambda case: case.id)
def test_the_failure_catalogue(fake: FakeNcu, case: Case) -> None:
    run = fake.run(
        say=[["stderr", case.stderr], ["stdout", case.stdout]], returncode=case.returncode, report=case.report
    )
    assert run.returncode == case.returncode, run.log
    error = classify(run, fake.report)
    assert type(error) is case.error
    assert str(error).endswith(f"[{case.id}]")
    assert error.hint
    assert "{" not in str(error)


@pytest.mark.parametrize("case", CATALOGUE, ids=lambda case: case.id)
def test_which_stream_ncu_complains_on_does_not_matter(fake: FakeNcu, case: Case) -> None:
    if case.report:
        fake.report.touch()
    error = classify(
        NcuRun(case.returncode, case.stderr, case.stdout, case.stdout.count('Profiling "'), ()), fake.report
    )
    assert str(error).endswith(f"[{case.id}]")


def test_every_row_of_the_table_is_replayed() -> None:
    assert {failure.id for failure in (*CAUSES, *SYMPTOMS)} <= {case.id for case in CATALOGUE}


@pytest.mark.parametrize(
    "harmless",
    [
        CLOCKS,
        "==WARNING== Could not determine user home directory for section deployment.\n",
        "==WARNING== Unable to access the following 1 metrics: ctc__rx_bytes_data_user.sum.\n",
        BACKING_UP,
        "==WARNING== Found outstanding GPU clock reset, trying to revert...\n",
        "==ERROR== Failed to import the following source files: /x.cu\n",
        "the program says: ERR_NVGPUCTRPERM, Failed to save memory for replay\n",
    ],
)
def test_remarks_of_a_good_run(fake: FakeNcu, harmless: str) -> None:
    run = fake.run(say=[["stdout", CONNECTED + BEGUN + DONE + harmless]], report=True)
    assert classify(run, fake.report) is None


def test_what_the_program_says_is_not_taken_for_ncu_s_words(fake: FakeNcu) -> None:
    said = "unrecognised option '--bogus'\nERROR: Failed to create temporary file.\nERR_NVGPUCTRPERM\n"
    run = fake.run(say=[["stdout", CONNECTED + returned(2)], ["stderr", said]], returncode=2)
    assert "[NCU-APP]" in str(classify(run, fake.report))


def test_a_program_that_fails_has_its_last_words_quoted(fake: FakeNcu) -> None:
    words = "".join(f"line {number}\n" for number in range(30)) + "Error: no such matrix\n"
    run = fake.run(
        say=[["stderr", words], ["stdout", "stdout\n" + CONNECTED + returned(42)]], returncode=42, report=True
    )
    message = str(classify(run, fake.report))
    assert message.startswith("The program ended with exit code 42:\n    line 11\n")
    assert message.endswith("    line 29\n    Error: no such matrix\n [NCU-APP]")


def test_a_program_that_complains_on_its_standard_output_is_quoted_too(fake: FakeNcu) -> None:
    said = CONNECTED + BEGUN + "\n" + DONE + "CUDA error: out of memory\n" + returned(42)
    message = str(classify(NcuRun(42, said, "", 1, (8,)), fake.report))
    assert message == "The program ended with exit code 42:\n    CUDA error: out of memory\n [NCU-APP]"


def test_a_program_that_fails_silently(fake: FakeNcu) -> None:
    run = NcuRun(42, returned(42), "", 0, ())
    assert str(classify(run, fake.report)) == "The program ended with exit code 42 [NCU-APP]"


def test_ncu_s_words_are_quoted(fake: FakeNcu) -> None:
    run = NcuRun(9, CONNECTED + "==ERROR== OutOfMemory\n", "", 0, ())
    assert "(ncu: ==ERROR== OutOfMemory)" in str(classify(run, fake.report))


def test_an_unknown_metric_is_named(fake: FakeNcu) -> None:
    run = NcuRun(9, CONNECTED + "==ERROR== Failed to find metric regex:^sm__bogus.sum$\n", "", 0, ())
    assert str(classify(run, fake.report)).startswith("ncu knows no metric sm__bogus.sum for this GPU")


def test_the_nearest_kernel_is_proposed(fake: FakeNcu) -> None:
    log = CONNECTED + NOTHING + "Available Kernels:\n1. copy\n2. transposeNaive\n3. void foo<int>(int *)\n"
    error = classify(NcuRun(0, log, "", 0, ()), fake.report, kernel_name="regex:transposeNiave")
    assert isinstance(error, NothingProfiled)
    assert error.hint == (
        "Did you mean transposeNaive? The program launches copy, transposeNaive, void foo<int>(int *)."
    )
    for name in (None, "zzz"):
        error = classify(NcuRun(0, log, "", 0, ()), fake.report, kernel_name=name)
        assert error is not None
        assert error.hint == "The program launches copy, transposeNaive, void foo<int>(int *)."


def test_an_ncu_that_was_killed(fake: FakeNcu) -> None:
    error = classify(NcuRun(-9, CONNECTED + BEGUN, "", 1, ()), fake.report)
    assert isinstance(error, NothingProfiled)
    assert str(error) == "ncu was ended by signal 9 [NCU-PART]"


# Whatever happens, nothing is left behind


def test_an_exception_of_the_listener_ends_all(fake: FakeNcu) -> None:
    def interrupt(_: Progress) -> None:
        fake.pids()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fake.run(say=[["stdout", CONNECTED + BEGUN]], child=str(fake.pids_file), sleep_s=600, progress=interrupt)
    wait_until_dead(fake.pids())


def test_ctrl_c_ends_all(fake: FakeNcu) -> None:
    environment = fake.scenario(say=[["stdout", CONNECTED + BEGUN]], child=str(fake.pids_file), sleep_s=600)
    code = (
        "import json, signal, sys; from pathlib import Path; from ncuview.collect.ncu import run_ncu;"
        "signal.signal(signal.SIGINT, signal.default_int_handler);"  # a shell's background job ignores it
        "run_ncu(json.loads(sys.argv[1]), cwd=Path(sys.argv[2]), timeout_s=600)"
    )
    ncuview = subprocess.Popen(
        [sys.executable, "-c", code, json.dumps(fake.argv()), str(fake.folder)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        stderr=subprocess.PIPE,
    )
    pids = fake.pids()
    ncuview.send_signal(signal.SIGINT)
    _, said = ncuview.communicate(timeout=PATIENCE_S)
    assert b"KeyboardInterrupt" in said
    wait_until_dead(pids)


class LeapingClock:
    """Stands in for the module ``time``: hours go by at once when something has happened."""

    def __init__(self, happened: Callable[[], bool]) -> None:
        self._happened = happened

    def monotonic(self) -> float:
        return time.monotonic() + (86_400 if self._happened() else 0)


@pytest.fixture
def time_is_over_after(fake: FakeNcu, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[Progress]]:
    """Let the time be over once this many pieces of progress were seen, in the list that is returned."""

    def arrange(pieces: int) -> list[Progress]:
        seen: list[Progress] = []
        clock = LeapingClock(lambda: len(seen) == pieces and fake.pids_file.exists())
        monkeypatch.setattr(supervise, "time", clock)
        return seen

    return arrange


@pytest.mark.usefixtures("impatient")
def test_a_deaf_program_is_killed_in_the_end(
    fake: FakeNcu, time_is_over_after: Callable[[int], list[Progress]]
) -> None:
    seen = time_is_over_after(1)
    with pytest.raises(NothingProfiled, match=r'while it profiled "copy" \(launch 0\) \[NCU-HANG\]') as error:
        fake.run(
            say=[["stdout", CONNECTED + BEGUN]],
            child=str(fake.pids_file),
            deaf=True,
            sleep_s=600,
            progress=seen.append,
        )
    assert error.value.hint
    wait_until_dead(fake.pids())


def test_the_time_is_over_between_two_launches(
    fake: FakeNcu, time_is_over_after: Callable[[int], list[Progress]]
) -> None:
    seen = time_is_over_after(2)
    with pytest.raises(NothingProfiled, match=r"launches profiled: 1 \[NCU-PART\]") as error:
        fake.run(
            say=[["stdout", CONNECTED + BEGUN + DONE]], child=str(fake.pids_file), sleep_s=600, progress=seen.append
        )
    assert error.value.hint
    wait_until_dead(fake.pids())


def test_a_second_ctrl_c_does_not_wait(fake: FakeNcu, monkeypatch: pytest.MonkeyPatch) -> None:
    listen = supervise._listen

    def interrupted(*args: Any) -> bool:
        listen(*args)
        fake.pids()
        raise KeyboardInterrupt

    monkeypatch.setattr(supervise, "_listen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fake.run(child=str(fake.pids_file), deaf=True, sleep_s=600, timeout_s=0.1)
    wait_until_dead(fake.pids())


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
    assert "[NCU-OOM]" in str(classify(run, fake.report))
