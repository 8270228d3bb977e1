"""Run a program, hear what it says as it says it, and leave nothing of it behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

# A profiler that is asked to stop ends its program and frees the clocks; killed, it leaves both as they are.
_REQUESTS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 10.0))
_WAIT_FOR_KILLED_S = 5.0
_POLL_S = 0.1

_Listener = Callable[[bytes], object]


def supervise(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    stdout: _Listener,
    stderr: _Listener,
) -> int | None:
    """Run a program to its end.

    When the time is over, or an exception comes (Ctrl-C, or one of a listener), the program and all processes of its
    group are asked to end, asked again, and killed.

    Args:
        argv: The program and its arguments; no shell sees them.
        cwd: The folder that it runs in.
        environment: All its variables.
        timeout_s: How long it may take.
        stdout: Called with each piece of its standard output, unbuffered.
        stderr: The same for its standard error.

    Returns:
        Its exit status (minus the number of a signal), or None when the time was over.
    """
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    listeners = {stream: hear for stream, hear in ((process.stdout, stdout), (process.stderr, stderr)) if stream}
    with ExitStack() as streams:
        for stream in listeners:
            streams.enter_context(stream)
        try:
            ended = _listen(process, listeners, timeout_s)
        except BaseException:
            _stop(process, listeners)
            raise
        if not ended:
            _stop(process, listeners)
            return None
    return process.returncode


def _listen(process: subprocess.Popen[bytes], listeners: Mapping[IO[bytes], _Listener], seconds: float) -> bool:
    """Pass on what is said until the process has ended (True) or the time is over (False)."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for stream, listener in listeners.items():
            selector.register(stream, selectors.EVENT_READ, listener)
        while (left := deadline - time.monotonic()) > 0:
            ready = selector.select(min(left, _POLL_S))
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                if chunk:
                    key.data(chunk)
                else:
                    selector.unregister(key.fileobj)
            # Not at the end of the streams: a daemon that the program left running may hold them open for ever.
            if not ready and process.poll() is not None:
                return True
    return False


def _stop(process: subprocess.Popen[bytes], streams: Mapping[IO[bytes], object]) -> None:
    # What it says now must still be read, or it waits for room in the pipe instead of cleaning up.
    unheard: dict[IO[bytes], _Listener] = dict.fromkeys(streams, len)
    try:
        for request, grace_s in _REQUESTS:
            _signal_group(process, request)
            deadline = time.monotonic() + grace_s
            while time.monotonic() < deadline:
                _listen(process, unheard, _POLL_S)
                if not _signal_group(process, 0):
                    return
    finally:
        _signal_group(process, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # a process that hangs in the driver cannot even be killed
            process.wait(_WAIT_FOR_KILLED_S)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> bool:
    """Signal the process and all that it started; False when none of them is left."""
    process.poll()
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
