"""Start child processes that parse a large report's launches in parallel: ``Snapshot`` -> ``LaunchOutline`` by offset.

Each takes one part of the first report (``outline_child``); launches that none could parse are missing from the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from math import ceil

from ncuview.base.errors import ReportUnreadable
from ncuview.reader import wire
from ncuview.reader.child import Child, environment_of
from ncuview.reader.launch_outline import LaunchOutline
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.wire import WireError

_LEAST_S, _S_PER_MB = 5, 1
"""Seconds that a part may take, ten times as long as it does."""
_MB = 1e6
_Place = tuple[int, int, bool]
"""The bytes of a launch, and whether it is a kernel's."""


class Outliners:
    """So many of them, for the first report; they start up while nobody needs them yet."""

    def __init__(self, count: int) -> None:
        self._children: list[Child] = []
        self._have_served = False
        with suppress(OSError, ReportUnreadable):  # without them a report is walked over all the same
            for _ in range(count):
                self._children.append(Child.start("ncuview.reader.outline_child", environment_of(["ncuview"])))

    def close(self) -> None:
        """End them, whatever they are at."""
        for child in self._children:
            child.end()

    def outlines_of(self, report: Snapshot) -> Mapping[int, LaunchOutline]:
        """What launches of a report say about themselves, by the byte at which each begins; those that could be read.

        Each of the processes takes one part, so that a second report gets none.
        """
        if self._have_served or not self._children:
            return {}
        self._have_served = True
        asked = list(zip(self._children, _parts(_places(report), len(self._children)), strict=False))
        for child, part in asked:
            cpu_s = ceil(_LEAST_S + _S_PER_MB * (part[-1][1] - part[0][0]) / _MB)
            with suppress(OSError):
                child.tell(json.dumps({"launches": part, "cpu_s": cpu_s}).encode(), report)
        found: dict[int, LaunchOutline] = {}
        for child, part in asked:
            answer = child.answer(_LEAST_S + _S_PER_MB * (part[-1][1] - part[0][0]) / _MB)
            with suppress(ValueError, TypeError):
                found |= {start: LaunchOutline(*told) for start, *told in json.loads(answer)}
        return found


def _places(report: Snapshot) -> list[_Place]:
    """Where the launches are, up to where the report breaks, if it does."""
    places: list[_Place] = []
    with suppress(WireError):
        for block in wire.blocks(report.data):
            for place, item in enumerate(wire.items(report.data, block)):
                if place >= block.sources:
                    places.append((*item, place < block.sources + block.kernels))
    return places


def _parts(places: list[_Place], count: int) -> list[list[_Place]]:
    """The same in so many parts or fewer, none of them empty."""
    size = ceil(len(places) / count) or 1
    return [places[start : start + size] for start in range(0, len(places), size)]
