"""``by_line``: launches grouped by the line of the user's program that called them -> ``LineTime``, costliest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Generic, Protocol, TypeVar

from ncuview.records.profile import Frame
from ncuview.records.program import Call


class Called(Protocol):
    """A launch with its call and its duration."""

    @property
    def call(self) -> Call | None:
        """The call; None where it is unknown."""

    @property
    def duration_ns(self) -> float:
        """A finite number."""


Launch = TypeVar("Launch", bound=Called)
_Key = tuple[Frame, bool]


@dataclass(frozen=True)
class LineTime(Generic[Launch]):
    """The launches of one line; forward and backward passes of a line are apart.

    Launches of a backward pass count for the line that called their forward operator, where it is known.
    """

    call: Call
    """That of the longest launch."""
    times_ns: tuple[float, ...]
    """The sum of the durations in each part."""
    launches: Sequence[Launch]
    """In the order in which they were given."""

    @property
    def time_ns(self) -> float:
        """The sum of all durations."""
        return fsum(self.times_ns)


def by_line(launches: Iterable[tuple[int, Launch]], parts: int) -> list[LineTime[Launch]]:
    """Group launches of known duration by line; those without a call are left out.

    Args:
        launches: Each with the part that it belongs to, such as a process or a report, from 0.
        parts: How many parts there are.
    """
    lines: defaultdict[_Key, list[tuple[int, Launch, Call]]] = defaultdict(list)
    for part, launch in launches:
        if call := launch.call:
            at = call.forward or Frame(call.function or call.operator, call.file, call.line)
            lines[at, bool(call.backward)].append((part, launch, call))
    return sorted((_line(found, parts) for found in lines.values()), key=lambda line: -line.time_ns)


def _line(found: Sequence[tuple[int, Launch, Call]], parts: int) -> LineTime[Launch]:
    _, _, call = max(found, key=lambda each: each[1].duration_ns)
    times = (fsum(launch.duration_ns for at, launch, _ in found if at == part) for part in range(parts))
    return LineTime(call, tuple(times), [launch for _, launch, _ in found])
