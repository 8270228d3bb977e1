"""Protocol with a child process that reads reports: its ``Task``, the hand-over, and its progress lines.

On Linux the child's stdin is a socket, which gives it descriptors: it has no right to open the files. Elsewhere it
is a pipe, which gives it the text of the task and the names of the reports.

``hand_over`` sends, ``handed_over`` receives. The child's progress lines on stderr are made and parsed here.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Self

from ncuview.base.system import IS_LINUX

WITHOUT_CODE = "without-code"
"""The argument for a child that need not be ready to read machine code."""

MOST_REPORTS = 16
"""The most reports of a task. A child takes 0.7 s to start, with NVIDIA's disassembler: 0.05 s for each of them, half
as long as reading a small one. Where it fails, at most so many are read again."""
_MARK = "ncuview: "
_READING = _MARK + "reading"
_LAUNCH = re.compile(rb"^ncuview: launch (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """Consecutive launches of each of some reports, and the limits for reading all of them."""

    kernel: str
    """Only launches of this kernel, or ``regex:`` and a pattern; empty for all."""
    reports: Sequence[tuple[int, Sequence[tuple[str, int, int | None]]]]
    """For each report its first launch, 0-based, and for each launch the kernel's mangled name, the number of its code
    and how many metrics it has, as in ``framing.LaunchHeader``."""
    with_code: bool
    """Whether sources and machine code are read too."""
    memory: int
    """Bytes of address space."""
    cpu_s: int
    """Seconds of processor time."""

    def to_json(self) -> bytes:
        """The task as text."""
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def from_json(cls, text: bytes) -> Self:
        """The task from its text."""
        return cls(**json.loads(text))


def hand_over(to: socket.socket, task: int, reports: Sequence[int]) -> None:
    """Send a child the descriptors of its task's text and of the reports.

    Raises:
        OSError: The child has ended.
    """
    socket.send_fds(to, [b"t"], [task, *reports])


def handed_over(by: socket.socket) -> tuple[bytes, list[str]] | None:
    """Wait for the task's text and the paths of the uncompressed reports; None where the parent closes the socket."""
    _, given, _, _ = socket.recv_fds(by, 1, 1 + MOST_REPORTS)
    if not given:
        return None
    task, *reports = given
    with os.fdopen(task, "rb") as file:
        return file.read(), [f"/proc/self/fd/{report}" for report in reports]


def by_name(task: bytes, reports: Sequence[str]) -> bytes:
    """What a child finds in the pipe that its stdin is: its task's text, and the names of the reports."""
    return json.dumps([task.decode("ascii"), reports]).encode("ascii")


def from_stdin() -> tuple[bytes, list[str]] | None:
    """What this process, a child, is given: the task's text and the reports' paths; None where there will be none."""
    if IS_LINUX:
        with socket.socket(fileno=sys.stdin.fileno()) as parent:
            return handed_over(parent)
    given = sys.stdin.buffer.read()
    if not given:
        return None
    task, reports = json.loads(given)
    return task.encode("ascii"), reports


def reading() -> str:
    """The line for: the child is confined and begins to read."""
    return _READING + "\n"


def at_launch(index: int) -> str:
    """The line that names the launch that is read now."""
    return f"{_MARK}launch {index}\n"


def has_begun(said: bytes | bytearray) -> bool:
    """Whether the child has begun to read."""
    return reading().encode() in said


def last_launch(said: bytes) -> int | None:
    """The launch that the child read last; None before the first."""
    found = _LAUNCH.findall(said)
    return int(found[-1]) if found else None


def last_words(said: bytes) -> str:
    """The last line of the child's stderr that is no progress line; empty when there is none."""
    lines = [line for line in said.splitlines() if line.strip() and not line.startswith(_MARK.encode())]
    return lines[-1].decode("utf-8", "backslashreplace").strip() if lines else ""
