"""A snapshot's bytes cannot change between the check and the reading."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ncuview.reader.snapshot import Snapshot


def open_files() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def test_its_bytes_are_the_same_here_and_under_its_name() -> None:
    snapshot = Snapshot.of([b"one ", b"two"])
    assert snapshot.data[:] == snapshot.name.read_bytes() == b"one two"
    assert snapshot.size == 7
    snapshot.close()


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDWR])
def test_it_cannot_be_written_to(flags: int) -> None:
    snapshot = Snapshot.of([b"bytes"])
    opened = os.open(snapshot.name, flags)
    for change in (lambda: os.write(opened, b"x"), lambda: os.ftruncate(opened, 0), lambda: os.ftruncate(opened, 9)):
        with pytest.raises(PermissionError):
            change()
    os.close(opened)
    assert snapshot.data[:] == b"bytes"
    snapshot.close()


def resident(snapshot: Snapshot) -> int:
    """Bytes of a snapshot that count as this process's memory."""
    file = os.fstat(snapshot.descriptor).st_ino
    mapped = re.findall(rf"^\S+ \S+ \S+ \S+ {file} .*\n(?:\w+: .*\n)*?Rss: +(\d+) kB", _mappings(), re.MULTILINE)
    return 1024 * sum(map(int, mapped))


def _mappings() -> str:
    return Path("/proc/self/smaps").read_text()


def test_what_is_forgotten_is_no_memory_of_this_process_and_can_be_looked_at_again() -> None:
    pages = 64
    data = os.urandom(pages * mmap.PAGESIZE + 5)
    snapshot = Snapshot.of([data])
    assert snapshot.data[:] == data
    assert resident(snapshot) >= len(data)
    for end in (0, 5, 40 * mmap.PAGESIZE, 7, snapshot.size):
        snapshot.forget(end)
    assert resident(snapshot) <= mmap.PAGESIZE
    assert snapshot.data[:] == data
    snapshot.close()


def test_closing_gives_back_its_descriptor_once() -> None:
    before = open_files()
    snapshot = Snapshot.of([b"x"])
    snapshot.close()
    snapshot.close()
    assert snapshot.size == 0
    assert open_files() == before


def test_what_fails_while_it_is_made_leaves_nothing() -> None:
    def fail() -> Iterator[bytes]:
        yield b"x"
        raise ValueError("no more")

    before = open_files()
    with pytest.raises(ValueError, match="no more"):
        Snapshot.of(fail())
    assert open_files() == before
