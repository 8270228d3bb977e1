"""Run a profiler below the guard process ``reaper.py``, pass on its output as it comes, and stop it when overdue.

``supervise`` takes the command line and listeners, and returns ``Ended``: exit status, and why it was stopped.
``Watch`` tracks a run's time: ``overdue`` once it exceeds its limit or shows no progress for too long.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from ncuview.base.log import LOG, log_command

# A profiler that is asked to stop ends its program and frees the clocks; killed, it leaves both as they are.
_REQUESTS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 8.0))
_WAIT_FOR_GUARD_S = 10.0
"""In addition to the times of the requests: for killed processes, and for the command that frees the clocks."""
_POLL_S = 0.1
_LARGEST_PIPE = 1 << 20
_GUARD = Path(__file__).with_name("reaper.py")

_Listener = Callable[[bytes], object]

NO_PROGRESS_S = 1800.0
"""The default for how long a run may show no progress: fifteen times the limit of a launch of the catalogue
(``live.SECONDS_PER_LAUNCH``), and less than the hour after which pipelines often end a job without output."""

Overdue = Literal["", "time", "silence"]
"""Not overdue, over the total time, or without progress for too long."""


class Watch:
    """The time of one run, from the construction of this object."""

    def __init__(self, timeout_s: float, no_progress_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._moved = self._started
        self._timeout_s = timeout_s
        self._no_progress_s = no_progress_s

    def progressed(self) -> None:
        """Note progress."""
        self._moved = self._clock()

    @property
    def elapsed_s(self) -> float:
        """Since the run began."""
        return self._clock() - self._started

    @property
    def overdue(self) -> Overdue:
        """Whether the run must be stopped, and why."""
        now = self._clock()
        if now - self._started >= self._timeout_s:
            return "time"
        return "silence" if now - self._moved >= self._no_progress_s else ""


@dataclass(frozen=True)
class Ended:
    """How a run ended."""

    returncode: int
    """Its exit status, or minus the number of the signal that ended it."""
    stopped: Overdue
    """Why it was stopped; empty where it ended by itself."""


def supervise(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    overdue: Callable[[], Overdue],
    stdout: _Listener,
    stderr: _Listener,
    frees_clocks: Sequence[str] = (),
    remove: Sequence[Path] = (),
    meanwhile: Callable[[], object] = lambda: None,
) -> Ended:
    """Run a profiler to its end, below a guard that outlives this process.

    When the run is overdue, or an exception is raised (Ctrl-C, or by a listener), or this process is killed, the
    profiler and all processes that it started are signalled to end, signalled again, and killed. After an end without
    error, processes that the profiled program left running go on.

    Args:
        argv: The profiler's absolute path and its arguments; no shell sees them.
        cwd: The folder that it runs in.
        environment: All its variables.
        overdue: Polled for whether and why the run has taken too long.
        stdout: Called with each piece of its standard output, unbuffered.
        stderr: The same for its standard error.
        frees_clocks: The command that undoes the changes that the profiler leaves when it is killed.
        remove: Folders to remove if this process is killed.
        meanwhile: Called once the profiler has been started.
    """
    log_command(argv)
    with _started(argv, cwd, environment, frees_clocks, remove) as (guard, output, errors):
        listeners: dict[IO[bytes], _Listener] = {output: stdout, errors: stderr}
        try:
            meanwhile()
            if not (stopped := _listen(guard, listeners, overdue)):
                _hear_the_rest(listeners)
        except BaseException:
            # Its output must still be read: with a full pipe it would block instead of cleaning up.
            _stop(guard, dict.fromkeys(listeners, len))
            raise
        if stopped:
            _stop(guard, listeners)
    LOG.info("%s ended with %d%s", argv[0], guard.returncode, f", stopped: {stopped}" if stopped else "")
    return Ended(guard.returncode, stopped)


@contextmanager
def _started(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], frees_clocks: Sequence[str], remove: Sequence[Path]
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    """The guard, and the profiler's two output streams."""
    (output, says), (errors, complains) = os.pipe(), os.pipe()
    settings = {
        "graces": [[int(request), grace_s] for request, grace_s in _REQUESTS],
        # The guard keeps them open as well: without a reader the profiler would die before it has cleaned up.
        "heard": [output, errors],
        "frees_clocks": list(frees_clocks),
        "remove": [str(folder) for folder in remove],
    }
    with open(output, "rb", buffering=0) as heard, open(errors, "rb", buffering=0) as heard_errors:  # noqa: PTH123
        try:
            guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), json.dumps(settings), *argv],
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=says,
                stderr=complains,
                bufsize=0,
                pass_fds=(output, errors),
                start_new_session=True,
            )
        finally:
            os.close(says)
            os.close(complains)
        try:
            yield guard, heard, heard_errors
        finally:
            if guard.stdin:
                guard.stdin.close()


def _listen(
    guard: subprocess.Popen[bytes], listeners: Mapping[IO[bytes], _Listener], overdue: Callable[[], Overdue]
) -> Overdue:
    """Pass on output until the guard has ended (returns an empty text) or the run is overdue (returns why)."""
    with selectors.DefaultSelector() as selector:
        for stream, listener in listeners.items():
            selector.register(stream, selectors.EVENT_READ, listener)
        while not (late := overdue()):
            ready = selector.select(_POLL_S)
            for key, _ in ready:
                if chunk := os.read(key.fd, 1 << 16):
                    key.data(chunk)
                else:
                    selector.unregister(key.fileobj)
            # The end of the streams is not awaited: a daemon that the program started may hold them open for ever.
            if guard.poll() is not None:
                return ""
    return late


def _hear_the_rest(listeners: Mapping[IO[bytes], _Listener]) -> None:
    """Pass on output from before the end that is not yet read; a daemon may go on writing for ever."""
    for stream, listener in listeners.items():
        os.set_blocking(stream.fileno(), False)
        with suppress(BlockingIOError):
            if rest := os.read(stream.fileno(), _LARGEST_PIPE):
                listener(rest)


def _stop(guard: subprocess.Popen[bytes], listeners: Mapping[IO[bytes], _Listener]) -> None:
    """Let the guard end the run; a second interruption kills it at once."""
    patience_s = sum(grace_s for _, grace_s in _REQUESTS) + _WAIT_FOR_GUARD_S
    deadline = time.monotonic() + patience_s
    _send(guard, b"stop")
    try:
        if not _listen(guard, listeners, lambda: "time" if time.monotonic() > deadline else ""):
            _hear_the_rest(listeners)
    except BaseException:
        _send(guard, b"kill")
        raise
    finally:
        with suppress(subprocess.TimeoutExpired):
            guard.wait(_WAIT_FOR_GUARD_S)
        if guard.poll() is None:
            guard.kill()
            guard.wait()


def _send(guard: subprocess.Popen[bytes], what: bytes) -> None:
    with suppress(BrokenPipeError):
        if guard.stdin:
            guard.stdin.write(what)
