"""Run each diagnostic program (ncu, nvidia-smi ...) once with a time limit, and share its output between checks.

A ``Commands`` object is called with a command line, from any thread, and returns an ``Answer`` (status, output).
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from threading import Lock

from ncuview.base.figures import duration
from ncuview.base.log import log_command
from ncuview.base.system import IS_WINDOWS
from ncuview.doctor.verdict import NotKnown

LIMIT_S = 7.0
"""The limit of each program. nvidia-smi needs about a second for each GPU that it has to wake."""
_WAIT_FOR_KILLED_S = 1.0

# Without this, ncu copies its rules into the home folder and runs every Python file in it.
_NCU_STAYS_OUT_OF_HOME = {"NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT": "1"}


@dataclass(frozen=True)
class Answer:
    """How a program ended, and its output."""

    status: int
    """Its exit status, or minus the number of a signal."""
    stdout: str
    stderr: str

    @property
    def last_words(self) -> str:
        """The last line that is not blank, of stderr before stdout."""
        lines = [line.strip() for text in (self.stdout, self.stderr) for line in text.splitlines() if line.strip()]
        return lines[-1] if lines else ""


class Commands:
    """Runs each command line once; further calls with it wait for the same answer. Thread-safe."""

    def __init__(self, environment: Mapping[str, str], limit_s: float = LIMIT_S) -> None:
        self._environment = {**environment, **_NCU_STAYS_OUT_OF_HOME}
        self._limit_s = limit_s
        self._answers: dict[tuple[str, ...], Future[Answer]] = {}
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        self._lock = Lock()

    def __call__(self, *argv: str) -> Answer:
        """Run a program, or return its answer if it has run before.

        Raises:
            OSError: It cannot be started.
            NotKnown: It did not end in time.
        """
        with self._lock:
            answer = self._answers.get(argv)
            is_first = answer is None
            if answer is None:
                answer = self._answers[argv] = Future()
        if is_first:
            try:
                answer.set_result(self._run(argv))
            except (OSError, NotKnown) as error:
                answer.set_exception(error)
        return answer.result()

    def stop(self) -> None:
        """Kill programs that still run, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                _kill(process)

    def _run(self, argv: tuple[str, ...]) -> Answer:
        process = self._start(argv)
        try:
            stdout, stderr = process.communicate(timeout=self._limit_s)
        except subprocess.TimeoutExpired as error:
            _kill(process)
            _leave(process)
            raise NotKnown(f"{PurePath(argv[0]).name} did not end within {duration(1e9 * self._limit_s)}") from error
        finally:
            with self._lock:
                self._running.discard(process)
        return Answer(process.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace"))

    def _start(self, argv: tuple[str, ...]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise NotKnown("there was no time left")
            log_command(argv)
            process = subprocess.Popen(
                argv,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
            self._running.add(process)
            return process


def _kill(process: subprocess.Popen[bytes]) -> None:
    if IS_WINDOWS:
        process.kill()
        return
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _leave(process: subprocess.Popen[bytes]) -> None:
    """Wait for a killed process, but not for one that hangs in the driver, which cannot be killed."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_WAIT_FOR_KILLED_S)
    for stream in filter(None, (process.stdout, process.stderr)):
        stream.close()
