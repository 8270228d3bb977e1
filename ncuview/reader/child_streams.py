"""``streams_of``: what a child process writes to its standard streams, piece by piece, with a limit on each wait.

POSIX systems wait for pipes; Windows does not, so there a thread reads each.
"""

from __future__ import annotations

import os
import selectors
from collections.abc import Sequence
from contextlib import closing
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Protocol

from ncuview.base.system import IS_WINDOWS

_CHUNK = 1 << 20
_LAST_S = 1.0


class Streams(Protocol):
    """Streams of which at least one is open, as long as ``open`` is true."""

    open: int

    def next(self, most_s: float) -> Sequence[tuple[int, bytes]]:
        """The pieces that are there by then, each with the number of its stream; none where that takes longer."""

    def close(self) -> None:
        """Stop reading; the streams stay open."""


def streams_of(*streams: IO[bytes]) -> closing[Streams]:
    """The streams of one child, numbered in this order; the child is ended before they are closed."""
    return closing(_Threaded(streams) if IS_WINDOWS else _Selected(streams))


class _Selected:
    def __init__(self, streams: Sequence[IO[bytes]]) -> None:
        self.open = len(streams)
        self._selector = selectors.DefaultSelector()
        for number, stream in enumerate(streams):
            self._selector.register(stream, selectors.EVENT_READ, number)

    def next(self, most_s: float) -> Sequence[tuple[int, bytes]]:
        pieces = []
        for key, _ in self._selector.select(most_s):
            piece = os.read(key.fd, _CHUNK)
            if not piece:
                self._selector.unregister(key.fileobj)
                self.open -= 1
            pieces.append((key.data, piece))
        return pieces

    def close(self) -> None:
        self._selector.close()


class _Threaded:
    def __init__(self, streams: Sequence[IO[bytes]]) -> None:
        self.open = len(streams)
        self._pieces: SimpleQueue[tuple[int, bytes]] = SimpleQueue()
        self._threads = [Thread(target=self._read, args=each, daemon=True) for each in enumerate(streams)]
        for thread in self._threads:
            thread.start()

    def _read(self, number: int, stream: IO[bytes]) -> None:
        piece = b"begin"
        while piece:
            piece = os.read(stream.fileno(), _CHUNK)
            self._pieces.put((number, piece))

    def next(self, most_s: float) -> Sequence[tuple[int, bytes]]:
        try:
            number, piece = self._pieces.get(timeout=most_s)
        except Empty:
            return ()
        self.open -= not piece
        return ((number, piece),)

    def close(self) -> None:
        for thread in self._threads:
            thread.join(_LAST_S)  # it ends with the child
