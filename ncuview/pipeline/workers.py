"""``Workers``: processes of this machine that call functions with arguments, so that the caller stays small.

Each is a Python that takes pickled calls from its standard input and gives pickled results. It ends with its caller,
however that ends. A process that dies fails its own call only (``WorkerDied``), and the next call gets a new one.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import IO, Any, Self, TypeVar

_LENGTH = 8
_OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""Python looks for garbage every 700: in decoded machine code, which stays, that takes a fifth of the judging."""
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class WorkerDied(Exception):
    """The process that made a call ended before it had a result, as where memory runs out."""


class Workers:
    """Processes that are started as they are needed, at most ``count`` at once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        self._all: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    @property
    def processes(self) -> tuple[int, ...]:
        """The numbers of the processes that were started."""
        return tuple(process.pid for process in self._all)

    def results(
        self, function: Callable[[Argument], Result], arguments: Iterable[Argument]
    ) -> Iterator[tuple[Argument, Result | WorkerDied]]:
        """Each argument with its result, in the order in which they are done.

        Raises:
            Exception: What a function raised.
        """
        with ThreadPoolExecutor(self.count) as threads:
            waiting = {threads.submit(self._call, function, each): each for each in arguments}
            try:
                for done in as_completed(waiting):
                    yield waiting[done], done.result()
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                self.close()  # the threads wait for the processes
                raise

    def close(self) -> None:
        """End all processes."""
        self._closed = True
        for process in tuple(self._all):
            process.kill()
            with suppress(OSError):
                process.stdin and process.stdin.close()
            process.stdout and process.stdout.close()
            process.wait()
        self._all.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, function: Callable[[Any], Any], argument: Any) -> Any:
        try:
            process = self._idle.get_nowait()
        except queue.Empty:
            process = self._started()
        assert process.stdin  # noqa: S101  (Popen has made pipes)
        assert process.stdout  # noqa: S101
        try:
            _send(process.stdin, (function, argument))
            result, error = _receive(process.stdout)
        except (OSError, EOFError, ValueError):
            process.kill()
            return WorkerDied(_ended(process.wait()))
        self._idle.put(process)
        if error is not None:
            raise error
        return result

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._all.add(process)
        if self._closed:
            process.kill()
        return process


def _ended(code: int) -> str:
    return f"the process that read it was ended by signal {-code}" if code < 0 else "the process that read it ended"


def _send(stream: IO[bytes], value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(len(data).to_bytes(_LENGTH, "big") + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    length = stream.read(_LENGTH)
    if len(length) < _LENGTH:
        raise EOFError
    size = int.from_bytes(length, "big")
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)  # noqa: S301  (from a process of ours)


def _serve() -> None:
    """Call what comes from standard input, until it ends; then end at once, in the middle of a call too."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, which ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    calls: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def listen() -> None:
        with suppress(Exception):
            while True:
                calls.put(_receive(sys.stdin.buffer))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        function, argument = calls.get()
        try:
            _send(answers, (function(argument), None))
        except Exception as error:  # noqa: BLE001  (the caller raises it)
            _send(answers, (None, error))


if __name__ == "__main__":
    _serve()
