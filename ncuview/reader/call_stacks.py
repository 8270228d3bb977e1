"""Add to a ``Profile`` the calls on the host that led to each launch, where ncu ran with ``--call-stack``.

``with_call_stacks`` reads them from the report files, since NVIDIA's reader does not give them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from ncuview.base.errors import ReportError
from ncuview.reader import wire
from ncuview.reader.precheck import report_pieces
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.wire import BYTES, Data, Span
from ncuview.records.profile import CallStack, Frame, Profile

NATIVE, PYTHON = 28, 32
"""The fields of a launch's message that hold its stacks."""
# A stack holds its frames; a frame its library (of native functions only), source file, function and line.
_FRAME, _LIBRARY, _FILE, _FUNCTION, _LINE = 1, 1, 3, 4, 5

_MOST_FRAMES = 512
"""Frames of a stack that are kept, from the innermost on; recursion makes longer ones."""
_LONGEST_NAME = 4096
_LOOKED_AT = 16
"""ncu records the stacks of all launches or of none: where the first ones have none, the others are not parsed."""
_DISTINCT = 1 << 14


def with_call_stacks(profile: Profile) -> Profile:
    """The profile with the call stacks of its launches.

    The report files are read once more; a launch of a file that no longer exists, or is damaged before it, has none.
    """
    found: dict[int, CallStack] = {}
    for report in profile.reports:
        places = profile.launches.loc[profile.launches["report"] == report.path, "index"]
        stacks = dict(_stacks(Path(report.path)))
        launches = zip(places.index.tolist(), places.tolist(), strict=True)
        found |= {launch: stacks[place] for launch, place in launches if place in stacks}
    return replace(profile, call_stacks=found)


def _stacks(report: Path) -> Iterator[tuple[int, CallStack]]:
    """The stacks of a report's launches, by their places; equal frames are one object."""
    shared = lru_cache(_DISTINCT)(lambda frames: frames)
    try:
        with closing(Snapshot.of(report_pieces(report))) as snapshot:
            data = snapshot.data
            if not any(_has_stack(data, item) for item in islice(_launches(snapshot), _LOOKED_AT)):
                return
            for index, item in enumerate(_launches(snapshot)):
                stack = CallStack(shared(_frames(data, item, PYTHON)), shared(_frames(data, item, NATIVE)))
                if stack != CallStack():
                    yield index, stack
    except (ReportError, wire.WireError, OSError):
        return


def _launches(snapshot: Snapshot) -> Iterator[Span]:
    for block in wire.blocks(snapshot.data):
        yield from islice(wire.items(snapshot.data, block), block.sources, None)


def _has_stack(data: Data, launch: Span) -> bool:
    return any(field.number in {NATIVE, PYTHON} for field in wire.fields(data, launch))


def _frames(data: Data, launch: Span, kind: int) -> tuple[Frame, ...]:
    return tuple(_frame(data, frame) for frame in islice(wire.contents(data, launch, kind, _FRAME), _MOST_FRAMES))


def _frame(data: Data, message: Span) -> Frame:
    texts, line = {_LIBRARY: "", _FILE: "", _FUNCTION: ""}, 0
    for field in wire.fields(data, message):
        if field.number in texts and field.wire_type == BYTES:
            end = min(field.end, field.body + _LONGEST_NAME)
            texts[field.number] = bytes(data[field.body : end]).decode("utf-8", "replace")
        elif field.number == _LINE:
            line = field.value
    return Frame(texts[_FUNCTION], texts[_LIBRARY] or texts[_FILE], line)
