"""Parse ncu's output while it runs into progress events per launch, and keep a log of it in bounded memory.

``ProgressReader.feed`` turns bytes of standard output into ``Progress`` events; ``Transcript`` is the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

_LONGEST_PROGRESS_LINE = 8192  # the longest kernel names seen have 1,400 characters
_PROGRESS = re.compile(
    rb'==PROF== Profiling "(?P<kernel>[^\n]{1,4096}?)"(?: - (?P<index>\d+)(?: \(\d+/\d+\))?)?:'
    rb"|100% - (?P<passes>\d+) pass"
    rb"|\.{4}50%"
)

_BEGINNING = 1 << 17
_ENDING = 1 << 18
_REMARKS = 1 << 17
_LONGEST_LOG = 2 * (_BEGINNING + _REMARKS + _ENDING)
_LEFT_OUT = b"[...]\n"
_REMARK = re.compile(rb"==(?:ERROR|WARNING)==[^\n]*\n")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
"""Colours and other commands to a terminal."""


def plain_lines(log: str) -> list[str]:
    """The lines of a log, without terminal commands; only a line feed ends one, as names may hold other separators."""
    return [line.rstrip("\r") for line in _ESCAPE.sub("", log).split("\n")]


@dataclass(frozen=True)
class Progress:
    """ncu begins a launch (``passes`` is None) or has finished it."""

    kernel: str
    """The name as ncu abbreviates it."""
    index: int
    """The launch's place in the run, from 0."""
    passes: int | None
    """How often ncu ran the launch to collect all metrics."""
    elapsed_s: float
    """Since ncu was started."""


class ProgressReader:
    """Finds the launches in ncu's standard output, however the bytes arrive.

    A launch's line grows while ncu works on it, and a warning or the program's own output can break it in two, so what
    counts is the order in which beginnings and ends appear, not lines.
    """

    def __init__(self, clock: Callable[[], float], *, reruns: bool = False) -> None:
        """``reruns``: the program is run again for each pass, so that the same launches begin again."""
        self._clock = clock
        self._reruns = reruns
        self._known: set[tuple[str, int]] = set()
        self._unread = b""
        self.begun = 0
        self.passes: list[int] = []
        """The number of passes of each finished launch."""
        self.unfinished: Progress | None = None
        """The launch that ncu is profiling."""
        self.signs = 0
        """How often there was progress: a launch was begun, half done or finished, or the program wrote something
        between launches. What it writes during a launch may come from a thread that waits for that launch."""

    def feed(self, chunk: bytes) -> list[Progress]:
        """The events in the next bytes of standard output."""
        text, read, news = self._unread + chunk, 0, []
        self.heard()
        for event in _PROGRESS.finditer(text):
            read = event.end()
            self.signs += 1
            if event["kernel"] is not None:
                name = event["kernel"].decode(errors="replace")
                # With a launch of each configuration ncu numbers none.
                index = self.begun if event["index"] is None else int(event["index"])
                self.unfinished = Progress(name, index, None, self._clock())
                self.begun += not self._reruns or (name, index) not in self._known
                self._known |= {(name, index)} if self._reruns else set()
                news.append(self.unfinished)
            elif event["passes"] is not None and self.unfinished is not None:
                news.append(replace(self.unfinished, passes=int(event["passes"]), elapsed_s=self._clock()))
                self.passes.append(int(event["passes"]))
                self.unfinished = None
        self._unread = text[read:][-_LONGEST_PROGRESS_LINE:]
        return news

    def heard(self) -> None:
        """Note that the program wrote something, on either stream."""
        if self.unfinished is None:
            self.signs += 1


class Transcript:
    """The output of one stream, in bounded memory: its beginning, its end, and ncu's errors and warnings in between."""

    def __init__(self) -> None:
        self._said = bytearray()

    def add(self, chunk: bytes) -> None:
        """Append output."""
        self._said += chunk
        if len(self._said) > _LONGEST_LOG:
            self._shorten()

    def text(self) -> str:
        """The stored output."""
        return self._said.decode(errors="replace")

    def _shorten(self) -> None:
        beginning = self._said.rfind(b"\n", 0, _BEGINNING) + 1 or _BEGINNING
        ending = self._said.find(b"\n", len(self._said) - _ENDING) + 1 or len(self._said) - _ENDING
        remarks = b"".join(_REMARK.findall(self._said, beginning, ending))[:_REMARKS]
        self._said[beginning:ending] = _LEFT_OUT + remarks
