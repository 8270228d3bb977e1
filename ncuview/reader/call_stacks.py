"""Add to a ``Profile`` the calls and NVTX ranges on the host in which each launch was made, where ncu recorded them.

``with_call_stacks`` reads them from the report files, since NVIDIA's reader does not give the calls, and both stand in
the same message. ncu records calls with ``--call-stack``, and ranges with ``--nvtx``.
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

THREAD, NVTX = 1, 21
"""Of the message of a launch: the number of its thread, and the ranges of all threads."""
# The state of NVTX holds its threads; a thread its number and domains; a domain its number and, outermost first, the
# ranges; a range its name. PyTorch and most programs use the default domain, number 0.
_THREADS, _THREAD_ID, _DOMAINS, _DOMAIN_ID, _RANGES, _NAME = 2, 1, 2, 1, 3, 1

_MOST_FRAMES = 512
"""Frames of a stack that are kept, from the innermost on; recursion makes longer ones."""
_LONGEST_NAME = 4096
_LOOKED_AT = 16
"""ncu records the state of all launches or of none: where the first ones have none, the others are not parsed."""
_DISTINCT = 1 << 14


def with_call_stacks(profile: Profile) -> Profile:
    """The profile with the call stacks and the NVTX ranges of its launches.

    The report files are read once more; a launch of a file that no longer exists, or is damaged before it, has none.
    """
    found: dict[int, CallStack] = {}
    ranges: dict[int, tuple[str, ...]] = {}
    for report in profile.reports:
        places = profile.launches.loc[profile.launches["report"] == report.path, "index"]
        hosts = {place: host for place, *host in _hosts(Path(report.path))}
        for launch, place in zip(places.index.tolist(), places.tolist(), strict=True):
            stack, names = hosts.get(place, (CallStack(), ()))
            found |= {launch: stack} if stack != CallStack() else {}
            ranges |= {launch: names} if names else {}
    return replace(profile, call_stacks=found, nvtx_ranges=ranges)


def _hosts(report: Path) -> Iterator[tuple[int, CallStack, tuple[str, ...]]]:
    """Place, stack and ranges of a report's launches; equal frames and ranges are one object."""
    shared = lru_cache(_DISTINCT)(lambda frames: frames)
    try:
        with closing(Snapshot.of(report_pieces(report))) as snapshot:
            data = snapshot.data
            if not any(_has_host(data, item) for item in islice(_launches(snapshot), _LOOKED_AT)):
                return
            for index, item in enumerate(_launches(snapshot)):
                stack = CallStack(shared(_frames(data, item, PYTHON)), shared(_frames(data, item, NATIVE)))
                yield index, stack, shared(_range_names(data, item))
    except (ReportError, wire.WireError, OSError):
        return


def _launches(snapshot: Snapshot) -> Iterator[Span]:
    for block in wire.blocks(snapshot.data):
        yield from islice(wire.items(snapshot.data, block), block.sources, None)


def _has_host(data: Data, launch: Span) -> bool:
    return any(field.number in {NATIVE, PYTHON, NVTX} for field in wire.fields(data, launch))


def _frames(data: Data, launch: Span, kind: int) -> tuple[Frame, ...]:
    return tuple(_frame(data, frame) for frame in islice(wire.contents(data, launch, kind, _FRAME), _MOST_FRAMES))


def _range_names(data: Data, launch: Span) -> tuple[str, ...]:
    """The ranges of the default domain that the launching thread was in, the outermost first."""
    thread = _number(data, launch, THREAD)
    of_threads = wire.contents(data, launch, NVTX, _THREADS)
    domains = (
        domain
        for each in of_threads
        if _number(data, each, _THREAD_ID) == thread
        for domain in wire.contents(data, each, _DOMAINS)
        if _number(data, domain, _DOMAIN_ID) == 0
    )
    names = (name for domain in domains for name in wire.contents(data, domain, _RANGES, _NAME))
    return tuple(_text(data, name) for name in islice(names, _MOST_FRAMES))


def _number(data: Data, message: Span, number: int) -> int:
    return next((field.value for field in wire.fields(data, message) if field.number == number), 0)


def _text(data: Data, text: Span) -> str:
    return bytes(data[text.start : min(text.end, text.start + _LONGEST_NAME)]).decode("utf-8", "replace")


def _frame(data: Data, message: Span) -> Frame:
    texts, line = {_LIBRARY: "", _FILE: "", _FUNCTION: ""}, 0
    for field in wire.fields(data, message):
        if field.number in texts and field.wire_type == BYTES:
            texts[field.number] = _text(data, field.content)
        elif field.number == _LINE:
            line = field.value
    source = texts[_FILE] if texts[_LIBRARY] and line else ""
    return Frame(texts[_FUNCTION], texts[_LIBRARY] or texts[_FILE], line, source)
