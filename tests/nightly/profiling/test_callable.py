"""A function is sent to a new Python and called there, once, under the profiler."""

# ruff: noqa: N802, N815  (the played driver bears the driver's own names)

from __future__ import annotations

import importlib.util
import json
import operator
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from ncuview.base.errors import UsageError
from ncuview.profiling import callable as sending
from ncuview.profiling.callable import program_of
from ncuview.profiling.options import CallStacks, NcuOptions

ROOT = Path(__file__).resolve().parents[3]
OWN, PRIMARY = 0x10, 0x20
PLAYED = """
import ctypes, json, runpy, sys
from tests.nightly.profiling.test_callable import Driver
trouble, sys.argv = json.loads(sys.argv[1]), sys.argv[2:]
ctypes.CDLL = {"libcuda.so.1": Driver(**trouble)}.__getitem__
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs the child as ncu would run it, with a played driver, whose calls stand in what is printed."""

PREPARED = ["cuInit", "cuCtxGetCurrent", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"]
ENDED = ["cuCtxSynchronize", "cuProfilerStop"]

needs_cloudpickle = pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None, reason="needs cloudpickle, the extra ncuview[notebook]"
)


class Driver:
    """A CUDA driver that prints what it is asked, and refuses what it does not know or what comes too early."""

    def __init__(self, context: int | None = None, failing: str = "") -> None:
        self.context = context
        self.failing = failing
        self.ready = False

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cu"):
            raise AttributeError(name)
        method = getattr(self, f"_{name}")  # an unknown function is an AttributeError, as with ctypes

        def called(*arguments: Any) -> int:
            sys.stdout.write(f"{name}\n")
            sys.stdout.flush()
            self.ready |= name == "cuInit"
            assert self.ready
            if name == self.failing:
                return 700
            method(*arguments)
            return 0

        return called

    def _cuInit(self, flags: int) -> None:
        assert flags == 0

    def _cuCtxGetCurrent(self, context: Any) -> None:
        context._obj.value = self.context

    def _cuDeviceGet(self, device: Any, ordinal: int) -> None:
        assert ordinal == 0
        device._obj.value = 0

    def _cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> None:
        assert device.value == 0
        context._obj.value = PRIMARY

    def _cuCtxSetCurrent(self, context: Any) -> None:
        self.context = context.value

    def _cuProfilerStart(self) -> None:
        assert self.context in {OWN, PRIMARY}

    _cuProfilerStop = _cuCtxSynchronize = _cuProfilerStart


def say(what: str = "called") -> None:
    """Print something."""
    sys.stdout.write(f"{what}\n")


def fail() -> None:
    """Fail as a user's function would."""
    raise ValueError("no such matrix")


def run(words: Sequence[str], cwd: Path = ROOT, **trouble: Any) -> subprocess.CompletedProcess[str]:
    """Run the command of a function without ncu and with a played driver."""
    python, safe, *rest = words
    assert (python, safe) == (sys.executable, "-P")
    argv = [python, "-c", PLAYED, json.dumps(trouble), *rest]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=cwd)


def run_function(function: Callable[[], object], folder: Path, **trouble: Any) -> subprocess.CompletedProcess[str]:
    words, _ = program_of(function, NcuOptions(), folder)
    return run(words, **trouble)


def without_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "find_spec", {"cloudpickle": None}.__getitem__)


@pytest.fixture(params=["cloudpickle", "pickle"])
def _either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With cloudpickle and without it."""
    if request.param == "pickle":
        without_cloudpickle(monkeypatch)
    else:
        pytest.importorskip("cloudpickle", reason="needs cloudpickle, the extra ncuview[notebook]")


@pytest.mark.usefixtures("_either_way")
def test_a_function_is_called_once_between_start_and_stop(tmp_path: Path) -> None:
    done = run_function(say, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [*PREPARED, "cuProfilerStart", "called", *ENDED]


@pytest.mark.usefixtures("_either_way")
def test_arguments_travel_with_a_partial(tmp_path: Path) -> None:
    done = run_function(partial(say, what="with_words"), tmp_path)
    assert "with_words" in done.stdout.split()


def test_a_context_that_the_functions_module_made_stays_current(tmp_path: Path) -> None:
    done = run_function(say, tmp_path, context=OWN)
    assert done.stdout.split() == [*PREPARED[:2], "cuProfilerStart", "called", *ENDED]


def test_a_function_that_fails_is_a_program_that_fails_with_its_words_last(tmp_path: Path) -> None:
    done = run_function(fail, tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ValueError: no such matrix"
    assert "cuProfilerStop" not in done.stdout


@pytest.mark.parametrize("name", [*PREPARED, "cuProfilerStart", *ENDED])
def test_a_driver_that_refuses_is_named(name: str, tmp_path: Path) -> None:
    done = run_function(say, tmp_path, failing=name)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"DriverFailed: {name} failed with CUDA error 700")
    assert ("called" in done.stdout.split()) == (name in ENDED)


@needs_cloudpickle
def test_a_lambda_and_what_it_holds_travel(tmp_path: Path) -> None:
    held = ["held", "by", "it"]
    done = run_function(lambda: say("\n".join(held)), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "held\nby\nit" in "\n".join(done.stdout.split())


SCRIPT = """
import json, sys
from functools import partial
from pathlib import Path
from ncuview.profiling.callable import program_of
from ncuview.profiling.options import NcuOptions
from ncuview.base.errors import UsageError
if sys.argv[1] == "pickle":
    import ncuview.profiling.callable as sending
    sending.find_spec = {"cloudpickle": None}.__getitem__
import neighbour
def step():
    print("of the script", neighbour.WORD, flush=True)
try:
    print(json.dumps(program_of(eval(sys.argv[2]), NcuOptions(), Path.cwd())[0]))
except UsageError as error:
    print(error, error.hint)
"""


def run_script(folder: Path, way: str, function: str) -> str:
    """What a script of the user's prints that sends one of its own functions, as a cell of a notebook does."""
    (folder / "script").mkdir()
    (folder / "script" / "main.py").write_text(SCRIPT)
    (folder / "script" / "neighbour.py").write_text("WORD = 'and what lies next to it'\n")
    argv = [sys.executable, "../script/main.py", way, function]
    (folder / "work").mkdir()
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=folder / "work")
    return done.stdout


@needs_cloudpickle
def test_a_function_of_a_script_finds_the_modules_of_the_scripts_folder(tmp_path: Path) -> None:
    done = run(json.loads(run_script(tmp_path, "cloudpickle", "step")))
    assert done.returncode == 0, done.stderr
    assert "of the script and what lies next to it" in done.stdout


@pytest.mark.parametrize("function", ["step", "partial(step)", "partial(print, step)"])
def test_a_function_of_a_script_is_refused_without_cloudpickle(function: str, tmp_path: Path) -> None:
    said = run_script(tmp_path, "pickle", function)
    assert "another Python cannot import" in said
    assert "ncuview[notebook]" in said


@pytest.mark.usefixtures("_either_way")
def test_what_cannot_be_sent_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be sent to the Python") as refusal:
        program_of(partial(say, Lock()), NcuOptions(), tmp_path)  # type: ignore[arg-type]
    assert refusal.value.hint


def test_a_lambda_is_refused_without_cloudpickle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_cloudpickle(monkeypatch)
    with pytest.raises(UsageError, match="<lambda> cannot be sent") as refusal:
        program_of(lambda: None, NcuOptions(), tmp_path)
    assert "ncuview[notebook]" in refusal.value.hint


def test_only_what_a_function_launches_is_profiled(tmp_path: Path) -> None:
    _, options = program_of(operator.index, NcuOptions(kernel_name="saxpy"), tmp_path)  # type: ignore[arg-type]
    assert options == NcuOptions(kernel_name="saxpy", profile_from_start=False, call_stack=CallStacks.ALL)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["./a b", "-n", "3"], ["./a b", "-n", "3"]),
        ((Path("program"), 3), ["program", "3"]),
        ("./program -n '3 4'", ["./program", "-n", "3 4"]),
    ],
)
def test_a_command_is_run_as_it_is(command: Any, words: list[str], tmp_path: Path) -> None:
    options = NcuOptions(launch_count=2, call_stack=CallStacks.NONE)
    assert program_of(command, options, tmp_path) == (words, options)
    assert not list(tmp_path.iterdir())


def test_a_python_file_is_run_by_this_python(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.touch()
    words, _ = program_of([str(script), "--n", "3"], NcuOptions(), tmp_path)
    assert words == [sys.executable, str(script), "--n", "3"]


@pytest.mark.parametrize("command", ["", "  ", [], "'open", "no/such/file.py"])
def test_what_is_no_command_is_refused(command: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        program_of(command, NcuOptions(), tmp_path)
    assert refusal.value.hint
