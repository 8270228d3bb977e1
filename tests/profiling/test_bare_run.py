"""A program runs once more without ncu: its time, and the times between its kernels, from a played CUPTI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.profiling.bare_run import run_bare
from ncuview.profiling.options import NcuOptions
from ncuview.records.program import BareRun, KernelTrace

US = 1_000
Kernel = tuple[float, float, int]
"""Start and end in us, and the number of its name."""
FAKE = Path(__file__).with_name("fake_cupti.c")
compiler = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(compiler is None, reason="needs a C compiler")


class Played:
    """A program that uses a package with kernels, on a machine with a played CUPTI."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        self.kernels = folder / "kernels"
        self.copies: list[Kernel] = []
        """Start and end in us, and the direction: 1 to the device, 2 to the host."""
        monkeypatch.setenv("CUDA_HOME", str(folder / "cuda"))
        monkeypatch.setenv("LD_LIBRARY_PATH", str(folder / "cuda/lib64"))
        monkeypatch.setenv("PYTHONPATH", str(folder / "packages"))
        monkeypatch.setenv("FAKE_CUPTI", str(self.kernels))

    def run(
        self,
        kernels: Iterable[Kernel],
        program: str = "import cupy",
        options: NcuOptions | None = None,
        timeout_s: float = 60.0,
        command: Sequence[str] = (sys.executable, "-c"),
        **variables: str,
    ) -> BareRun | None:
        lines = [f"{int(start * US)} {int(end * US)} {name} 64" for start, end, name in kernels]
        lines += [f"{int(start * US)} {int(end * US)} {direction} 0" for start, end, direction in self.copies]
        self.kernels.write_text("\n".join(lines))
        return run_bare([*command, program], options or NcuOptions(), variables, self.folder, timeout_s)

    def trace(self, kernels: Iterable[Kernel], program: str = "import cupy", **more: str) -> KernelTrace | None:
        made = self.run(kernels, program, None, 60.0, **more)
        assert made is not None
        assert made.wall_s > 0
        return made.trace


@pytest.fixture(scope="session")
def cupti(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert compiler
    library = tmp_path_factory.mktemp("cupti") / "libcupti.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", library, FAKE], check=True)
    return library


@pytest.fixture
def played(cupti: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    (tmp_path / "cuda/lib64").mkdir(parents=True)
    (tmp_path / "packages/cupy").mkdir(parents=True)
    (tmp_path / "packages/cupy/__init__.py").write_text("")
    for name in ("libcupti.so", "libcuda.so.1"):
        (tmp_path / "cuda/lib64" / name).symlink_to(cupti)
    return Played(tmp_path, monkeypatch)


def evenly(count: int, every: float, takes: float, start: float = 100.0) -> list[Kernel]:
    return [(start + every * number, start + every * number + takes, 1) for number in range(count)]


def test_the_time_between_launches_is_the_median(played: Played) -> None:
    kernels = evenly(100, every=10, takes=3)
    assert played.trace([*kernels, (1097, 1100, 1)]) == KernelTrace(101, 303 * US, 1000 * US, 7 * US, 0, 0, 0, 0)


@pytest.mark.parametrize("package", ["cupy", "torch"])
def test_the_trace_says_whether_pytorch_was_imported(played: Played, package: str) -> None:
    (played.folder / "packages/torch").mkdir()
    (played.folder / "packages/torch/__init__.py").write_text("")
    trace = played.trace([(1, 2, 1)], f"import {package}")
    assert trace is not None
    assert trace.pytorch is (package == "torch")


def test_kernels_at_the_same_time_are_busy_once(played: Played) -> None:
    kernels = [(10.0, 20.0, 1), (12.0, 18.0, 2), (15.0, 30.0, 3), (34.0, 36.0, 1)]
    trace = played.trace(kernels)
    assert trace is not None
    assert (trace.launches, trace.busy_ns, trace.span_ns) == (4, 22 * US, 26 * US)
    assert trace.launch_gap_ns == 0


def test_waits_count_where_they_repeat_between_the_same_kernels(played: Played) -> None:
    """A step of two kernels, of which the second step waits for a compiler, and each for a copy at its end."""
    steps: list[Kernel] = []
    at = 100.0
    for step in range(5):
        compiles = 900_000.0 if step == 1 else 0.0
        steps += [(at, at + 50, 1), (at + 60 + compiles, at + 100 + compiles, 2)]
        at += 2100 + compiles
    trace = played.trace(steps)
    assert trace is not None
    assert (trace.waits, trace.waits_ns, trace.once_ns) == (4, 4 * 2000 * US, 900_010 * US)
    assert trace.launch_gap_ns == 10 * US


@pytest.mark.parametrize(("every", "direction", "copied"), [(1, 1, 4), (1, 2, 4), (2, 2, 4), (4, 2, 0), (1, 8, 0)])
def test_waits_for_copies_are_those_that_mostly_have_one(
    played: Played, every: int, direction: int, copied: int
) -> None:
    """Five kernels with a wait of 2 ms between each, of which some have a copy between host and device."""
    starts = [100.0 + 2100 * number for number in range(5)]
    played.copies = [(start + 300, start + 400, direction) for start in starts[:4:every]]
    trace = played.trace([(start, start + 100, 1) for start in starts])
    assert trace is not None
    assert (trace.waits_ns, trace.copied_ns) == (4 * 2000 * US, copied * 2000 * US)


def test_a_longer_wait_among_equal_ones_counts_as_they_do(played: Played) -> None:
    starts = [1_000.0, 3_000.0, 5_000.0, 907_000.0, 909_000.0]
    trace = played.trace([(start, start + 1000, 1) for start in starts])
    assert trace is not None
    assert (trace.waits_ns, trace.once_ns) == (4 * 1000 * US, 900_000 * US)


RANGES = "import cupy, ctypes; cupti = ctypes.CDLL({library!r}); profiler = cupti.fake_profiler;"
RANGES += "profiler.argtypes = [ctypes.c_int, ctypes.c_uint64]; {calls}"


@pytest.mark.parametrize(
    ("calls", "launches"),
    [
        ("profiler(1, 300_000); profiler(0, 500_000)", 20),
        ("profiler(1, 300_000); profiler(0, 400_000); profiler(1, 900_000); profiler(0, 950_000)", 15),
        ("profiler(0, 200_000); profiler(1, 1_000_000)", 10),
        ("", 0),
    ],
)
def test_only_ranges_of_the_profiler_count_where_ncu_waits_for_them(played: Played, calls: str, launches: int) -> None:
    program = RANGES.format(library=str(played.folder / "cuda/lib64/libcupti.so"), calls=calls)
    kernels = evenly(100, every=10, takes=3)
    made = played.run(kernels, program, NcuOptions(profile_from_start=False))
    assert made
    assert (made.trace.launches if made.trace else 0) == launches
    everything = played.trace(kernels, program)
    assert everything
    assert everything.launches == 100


def test_kernels_without_times_are_left_out(played: Played) -> None:
    trace = played.trace([(0, 0, 1), (20, 0, 1), *evenly(3, every=10, takes=3)])
    assert trace
    assert trace.launches == 3


@pytest.mark.parametrize("function", ["cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiActivityFlushAll"])
def test_where_cupti_refuses_only_the_time_is_known(played: Played, function: str) -> None:
    assert played.trace(evenly(3, every=10, takes=3), FAKE_CUPTI_REFUSES=function) is None


def test_more_kernels_than_are_kept_are_no_trace(played: Played) -> None:
    assert played.trace(evenly(24, every=10, takes=3), FAKE_CUPTI_EACH="1")
    assert played.trace(evenly(25, every=10, takes=3), FAKE_CUPTI_EACH="1") is None


def test_a_program_that_uses_no_package_with_kernels_has_no_trace(played: Played) -> None:
    assert played.trace([(1, 2, 1)], "import json") is None


def test_two_processes_with_kernels_are_no_sequence(played: Played) -> None:
    child = f"import cupy, subprocess; subprocess.run([{sys.executable!r}, '-c', 'import cupy'], check=True)"
    assert played.trace([(1, 2, 1)], child) is None
    assert played.trace([(1, 2, 1)], child.replace("import cupy, ", "import ", 1))
    assert played.trace([(1, 2, 1)], "import cupy, os; os.fork() or os._exit(0); os.wait()")


def test_a_program_that_fails_or_takes_too_long_has_no_bare_run(played: Played) -> None:
    assert played.run([(1, 2, 1)], "import cupy, sys; sys.exit(3)") is None
    assert played.run([(1, 2, 1)], "import time; time.sleep(60)", timeout_s=0.5) is None


def test_what_is_no_whole_python_program_is_not_run(played: Played) -> None:
    touch = "open('ran', 'w')"
    for options in (NcuOptions(no_bare_run=True), NcuOptions(kernel_name="mul"), NcuOptions(launch_count=3)):
        assert played.run([(1, 2, 1)], touch, options) is None
    assert played.run([(1, 2, 1)], "touch ran", command=["/bin/sh", "-c"]) is None
    assert not (played.folder / "ran").exists()
    assert played.run([(1, 2, 1)], touch)
    assert (played.folder / "ran").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"launches": 1}', "x" * 5000, '{"cut": false, "launches": "1"}'])
def test_a_damaged_file_is_no_trace(played: Played, text: str) -> None:
    program = f"import os; open(os.environ['NCUVIEW_HOOK_TRACE'] + '/1.json', 'w').write({text!r})"
    assert played.trace([], program) is None


def test_a_negative_number_is_no_trace(played: Played) -> None:
    trace = played.trace([(1, 2, 1)])
    assert trace is not None
    numbers = {**vars(replace(trace, busy_ns=-1)), "cut": False}
    program = f"import os, json; json.dump({numbers}, open(os.environ['NCUVIEW_HOOK_TRACE'] + '/1.json', 'w'))"
    assert played.trace([], program) is None


def test_the_output_of_the_program_is_dropped(played: Played, capfd: pytest.CaptureFixture[str]) -> None:
    assert played.run([], "import sys; print('x' * 10**6); sys.stderr.write('y')")
    assert capfd.readouterr() == ("", "")
    assert "NCUVIEW_HOOK_TRACE" not in os.environ
