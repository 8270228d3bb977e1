"""Start child processes that parse a large report's launches in parallel: ``Snapshot`` -> ``LaunchOutline`` by offset.

``Outliners.outlines_of`` gives each child (``outline_child``) one part; launches that cannot be parsed are missing.
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
"""Seconds that a part may take, ten times as long as parsing takes."""
_MB = 1e6
_Place = tuple[int, int, bool]
"""The bytes of a launch, and whether it is a kernel's."""


class Outliners:
    """``count`` child processes that start before they are needed, and parse the first report only."""

    def __init__(self, count: int) -> None:
        self._children: list[Child] = []
        self._have_served = False
        with suppress(OSError, ReportUnreadable):  # without them this process parses the report
            for _ in range(count):
                self._children.append(Child.start("ncuview.reader.outline_child", environment_of(["ncuview"])))

    def close(self) -> None:
        """Kill them."""
        for child in self._children:
            child.end()

    def outlines_of(self, report: Snapshot) -> Mapping[int, LaunchOutline]:
        """The outlines of a report's launches, by the byte at which each begins; those that could be parsed.

        Each of the processes takes one part and ends, so that there are none for a second report.
        """
        if self._have_served or not self._children:
            return {}
        self._have_served = True
        asked = list(zip(self._children, _parts(_places(report), len(self._children)), strict=False))
        for child, part in asked:
            cpu_s = ceil(_LEAST_S + _S_PER_MB * (part[-1][1] - part[0][0]) / _MB)
            with suppress(OSError):
                child.send_task(json.dumps({"launches": part, "cpu_s": cpu_s}).encode(), [report])
        found: dict[int, LaunchOutline] = {}
        for child, part in asked:
            answer = child.answer(_LEAST_S + _S_PER_MB * (part[-1][1] - part[0][0]) / _MB)
            with suppress(ValueError, TypeError):
                found |= {start: LaunchOutline(*values) for start, *values in json.loads(answer)}
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
    """The places in ``count`` parts or fewer, none of them empty."""
    size = ceil(len(places) / count) or 1
    return [places[start : start + size] for start in range(0, len(places), size)]
