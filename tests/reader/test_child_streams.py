"""What a child process writes arrives in order and in full, by selectors and by threads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import IO, cast

import pytest

from ncuview.reader.child_streams import Streams, _Selected, _Threaded

PROGRAM = """
import os, sys
os.write(1, b"a" * 3_000_000)
os.write(2, b"said")
sys.stdin.read()
"""


@contextmanager
def child(kind: Callable[[Sequence[IO[bytes]]], Streams]) -> Iterator[tuple[subprocess.Popen[bytes], Streams]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        streams = [cast("IO[bytes]", started.stdout), cast("IO[bytes]", started.stderr)]
        with closing(kind(streams)) as read:
            yield started, read
            started.kill()


@pytest.mark.parametrize("kind", [_Selected, _Threaded])
def test_all_that_is_written_arrives_and_a_wait_has_an_end(kind: Callable[[Sequence[IO[bytes]]], Streams]) -> None:
    held = bytearray(), bytearray()
    with child(kind) as (started, streams):
        while len(held[0]) < 3_000_000 or not held[1]:
            for number, piece in streams.next(20):
                held[number].extend(piece)
        assert not streams.next(0.05)
        assert streams.open == 2
        cast("IO[bytes]", started.stdin).close()
        while streams.open:
            assert all(not piece for _, piece in streams.next(20))
    assert [*map(bytes, held)] == [b"a" * 3_000_000, b"said"]
