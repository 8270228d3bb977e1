"""``by_line``: launches grouped by the line of the user's program that called them -> ``LineTime``, costliest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Generic, Protocol, TypeVar

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


@dataclass(frozen=True)
class LineTime(Generic[Launch]):
    """The launches of one line; forward and backward passes of a line are apart."""

    call: Call
    """That of the longest launch."""
    time_ns: float
    """The sum of the durations."""
    launches: Sequence[Launch]
    """In the order in which they were given."""


def by_line(launches: Iterable[Launch]) -> list[LineTime[Launch]]:
    """Group launches of known duration by line; those without a call are left out."""
    lines: defaultdict[tuple[str, int, str, bool], list[Launch]] = defaultdict(list)
    call_of: dict[tuple[str, int, str, bool], tuple[float, Call]] = {}
    for launch in launches:
        if call := launch.call:
            key = (call.file, call.line, call.function or call.operator, bool(call.backward))
            lines[key].append(launch)
            if key not in call_of or launch.duration_ns > call_of[key][0]:
                call_of[key] = launch.duration_ns, call
    found = [LineTime(call_of[key][1], fsum(each.duration_ns for each in of), of) for key, of in lines.items()]
    return sorted(found, key=lambda line: -line.time_ns)
