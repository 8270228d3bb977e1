"""Ends that are not the program's to choose: signals, closed streams, a full disk, and our own bugs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import DIVERGENCE, MAIN, PATIENCE_S, environment, ncuview


def printed_into(stdout: int, word: str) -> tuple[int, bytes]:
    """The exit code and the standard error of a command that prints into this."""
    done = subprocess.run(
        [sys.executable, "-m", "ncuview", word],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment({}),
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_reader_that_has_gone_ends_the_run_silently() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    assert printed_into(writing, "rules") == (128 + signal.SIGPIPE, b"")
    os.close(writing)


@pytest.mark.parametrize("word", ["rules", "--help"])
def test_a_full_disk_is_no_bug_of_ours(word: str) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = printed_into(full.fileno(), word)
    assert ended == (2, b"ncuview: standard output cannot be written: No space left on device\n")


@pytest.mark.checkout  # in the folder of an installed ncuview is NVIDIA's reader, which the child then finds first
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
def test_a_signal_ends_the_run_and_the_child_that_reads_the_report(tmp_path: Path, sent: signal.Signals) -> None:
    ready = tmp_path / "ready"
    # In place of NVIDIA's reader, something that never ends.
    (tmp_path / "ncu_report.py").write_text(
        "import os, time\n"
        f"with open({str(ready) + '.part'!r}, 'w') as file:\n    file.write(str(os.getpid()))\n"
        f"os.rename(file.name, {str(ready)!r})\n"
        "time.sleep(600)\n"
    )
    # A shell starts background jobs, and so perhaps these tests, deaf to SIGINT.
    hearing = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler); {MAIN}"
    with subprocess.Popen(
        [sys.executable, "-c", hearing, "analyze", DIVERGENCE],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"PYTHONPATH": str(tmp_path)}),
    ) as running:
        try:
            wait_for(ready.exists)
            child = int(ready.read_text())
            running.send_signal(sent)
            out, err = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    said = {signal.SIGINT: b"ncuview: interrupted\n", signal.SIGTERM: b"ncuview: terminated\n"}[sent]
    assert (running.returncode, out, err) == (128 + sent, b"", said)
    wait_for(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_signal_in_a_callback_whose_exceptions_python_drops_ends_the_run_all_the_same(sent: str) -> None:
    code = (
        "import signal, time, weakref, ncuview.api\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def load_rules(*_):\n"
        "    thing = type('Thing', (), {})()\n"
        f"    seen = weakref.ref(thing, lambda _: signal.raise_signal(signal.{sent}))\n"
        "    del thing\n"
        "    time.sleep(60)\n"
        "ncuview.api.load_rules = load_rules"
    )
    ended = ncuview("rules", before=code)
    said = {"SIGINT": "interrupted", "SIGTERM": "terminated"}[sent]
    assert (ended.code, ended.out, ended.err) == (128 + signal.Signals[sent], "", f"ncuview: {said}\n")


def test_other_exceptions_that_python_drops_are_shown() -> None:
    code = (
        "import weakref, ncuview.api\n"
        "def load_rules(*_):\n"
        "    thing = type('Thing', (), {})()\n"
        "    seen = weakref.ref(thing, lambda _: 1 / 0)\n"
        "    del thing\n"
        "    return ()\n"
        "ncuview.api.load_rules = load_rules"
    )
    ended = ncuview("rules", before=code)
    assert ended.code == 0
    assert "ZeroDivisionError" in ended.err


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_full_disk_elsewhere_is_not_blamed_on_standard_output() -> None:
    broken = "import ncuview.api\ndef load_rules(*_): raise OSError(28, 'No space left on device')\n"
    ended = ncuview("rules", before=f"{broken}ncuview.api.load_rules = load_rules")
    assert ended.code == 70
    assert "standard output" not in ended.err


def test_a_bug_of_ours_leaves_with_70_and_asks_for_a_report() -> None:
    broken = "import ncuview.api\ndef load_rules(*_): raise ZeroDivisionError('boom \\x1b[2J')\n"
    ended = ncuview("rules", before=f"{broken}ncuview.api.load_rules = load_rules")
    assert (ended.code, ended.out) == (70, "")
    assert "Traceback" in ended.err
    assert "\x1b" not in ended.err
    assert "\nZeroDivisionError: boom \\x1b[2J\n" in ended.err
    *_, what, hint = ended.err.splitlines()
    assert what.startswith("ncuview: internal error: ZeroDivisionError: ")
    assert "boom \\x1b[2J" in what
    assert "please report it" in hint
