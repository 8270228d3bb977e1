"""Parse a report's framing in Python: bytes -> version, date, processes, a header per launch, where the format breaks.

``framing`` runs before native code sees the file; ``intact_part`` writes what a damaged report has as a readable one.
In that report, empty launches replace those in broken blocks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import NamedTuple

from ncuview.reader import wire
from ncuview.reader.launch_outline import (
    LEAST_BYTES_OF_FIELD,
    LaunchOutline,
    check_density,
    launch_outline,
    system_number,
    too_many_fields,
)
from ncuview.reader.wire import Block, Data, Outline, Span, WireError

_CREATED = 2
_VERSIONS = 8
_NAME, _VALUE = 1, 2
_WRITER = b"Nsight Compute Target"
_PAYLOAD_SIZE = 5
# The process of a block: its number, and the path of its program.
_PROCESS, _PROCESS_NUMBER, _PROGRAM = 6, 1, 3
_LONGEST_PROGRAM = 4096
_MOST_PROCESSES = 10_000

_MODULE_ITSELF = 1
"""The field of a source item that holds its module."""

_MOST_FIELDS = 500_000
_MOST_LAUNCHES = 250_000
_MOST_BROKEN_BLOCKS, _MOST_OF_BROKEN = 100, 100
"""Broken blocks, and launches of each; where there are more, the rest of the report is discarded."""
_LEAST_ITEM = 4
_PIECE = 1 << 20
_NONE: Mapping[int, LaunchOutline] = MappingProxyType({})


class LaunchHeader(NamedTuple):
    """One launch, as far as the framing describes it."""

    size: int
    """Bytes that it takes in the report."""
    mangled: str
    """The kernel's mangled name; empty when the report does not give it."""
    code: int
    """The same number for launches that run the same kernel of the same module; -1 when that is unknown."""
    metrics: int | None = None
    """How many metrics it has; None where the framing does not give it, as for ranges."""
    damage: str = ""
    """Why it cannot be read; empty when it may be."""
    process: int = 0
    """The number of the process that launched it; 0 where it is unknown."""


@dataclass(frozen=True)
class ReportHeader:
    """A report's version, date and launches."""

    ncu_version: str
    """The Nsight Compute that wrote it, such as ``2025.3.1``; empty when the report does not name it."""
    created: datetime | None
    """When it was written (UTC); None when the report does not give it."""
    results: int
    """How many launches it holds; if fewer are read, the reader failed."""
    launches: tuple[LaunchHeader, ...] = field(default=(), compare=False, repr=False)
    """One for each launch, in the order of the file."""
    processes: Mapping[int, str] = field(default_factory=dict, compare=False)
    """The processes that the report names -> the file name of their program, without folders."""


@dataclass(frozen=True)
class Framing:
    """A report's framing up to where it breaks, if it does.

    A block whose payload alone is broken does not end it, unless it holds machine code: its launches stay, with their
    ``damage``.
    """

    header: ReportHeader
    """Of the intact part."""
    end: int
    """Bytes of that part."""
    broken: tuple[Block, ...]
    """Blocks of it whose payload is broken."""
    damage: tuple[str, ...]
    """Where the format is broken, in the order of the file, such as ``block 3 is damaged at byte 1,234 of 5,678: the
    payload ends too early``; empty for an undamaged report."""

    @property
    def announced(self) -> int | None:
        """How many launches the report announces; None when that is unknown, as in one that is cut."""
        return self.header.results if len(self.damage) == len(self.broken) else None


def framing(data: Data, outlines: Mapping[int, LaunchOutline] = _NONE) -> Framing:
    """Parse a report's framing. The format has no checksum, so that changed values go unseen.

    Args:
        data: The report.
        outlines: Outlines of launches that are parsed already, by the byte at which each begins.
    """
    session, launches = _Session(data), _Launches(data, outlines)
    broken: list[Block] = []
    damage: list[str] = []
    end = number = 0

    def note(error: WireError) -> str:
        damage.append(f"block {number} is damaged at byte {error.offset:,} of {len(data):,}: {error}")
        return damage[-1]

    try:
        for block in wire.blocks(data):
            processes = session.add(block)
            known = len(launches)
            try:
                launches.add(block, processes)
            except WireError as error:
                launches.forget(known)
                if not _may_go_on_after(block) or len(broken) == _MOST_BROKEN_BLOCKS:
                    raise
                launches.add_broken(block.results, note(error))
                broken.append(block)
            end = block.payload.end
            number += 1
    except WireError as error:
        note(error)
    found = launches.headers(session.processes)
    header = ReportHeader(session.ncu_version, _utc(session.created), len(found), found, session.processes)
    return Framing(header, end, tuple(broken), tuple(damage))


def _may_go_on_after(broken: Block) -> bool:
    """Whether the blocks after one with a broken payload can be used.

    The broken one must hold no machine code, and its header must not announce more than the payload can hold.
    """
    return not broken.sources and 0 < broken.results <= min(_MOST_OF_BROKEN, broken.payload.size // _LEAST_ITEM)


def intact_part(data: Data, found: Framing) -> Iterator[bytes]:
    """The intact part as a report, in pieces, with empty launches in place of broken ones."""
    start = 0
    for block in found.broken:
        yield from _pieces(data, start, block.header.start - _LEAST_ITEM)
        payload = wire.encode_item(b"") * block.results
        fields = (each for each in wire.fields(data, block.header) if each.number != _PAYLOAD_SIZE)
        header = b"".join(data[each.start : each.end] for each in fields)
        yield wire.encode_item(header + wire.encode_field(_PAYLOAD_SIZE, len(payload)))
        yield payload
        start = block.payload.end
    yield from _pieces(data, start, found.end)


def _pieces(data: Data, start: int, end: int) -> Iterator[bytes]:
    return (data[place : min(place + _PIECE, end)] for place in range(start, end, _PIECE))


class _Session:
    """Version, date and processes of the run, from the headers of all blocks."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self.ncu_version = ""
        self.created = 0
        self.processes: dict[int, str] = {}

    def add(self, block: Block) -> frozenset[int]:
        """Note what the header of a block says, and return the numbers of its processes."""
        numbers: set[int] = set()
        if len(self.processes) < _MOST_PROCESSES:
            for process in wire.contents(self._data, block.header, _PROCESS):
                numbers |= self._add_process(process)
        for session in block.sessions:
            for detail in wire.fields(self._data, session):
                if detail.number == _CREATED:
                    self.created = self.created or detail.value
                elif detail.number == _VERSIONS:
                    self.ncu_version = self.ncu_version or self._writer_version(detail.content)
        return frozenset(numbers)

    def _add_process(self, process: Span) -> set[int]:
        found = wire.outline(self._data, process).last
        number = system_number(found[_PROCESS_NUMBER]) if _PROCESS_NUMBER in found else 0
        if not number:
            return set()
        path = b""
        if program := found.get(_PROGRAM):
            path = bytes(self._data[program.body : min(program.end, program.body + _LONGEST_PROGRAM)])
        self.processes.setdefault(number, re.split(rb"[/\\]", path)[-1].decode("utf-8", "replace"))
        return {number}

    def _writer_version(self, entry: Span) -> str:
        texts = {each.number: self._data[each.body : each.end] for each in wire.fields(self._data, entry)}
        if texts.get(_NAME) != _WRITER:
            return ""
        version = re.match(rb"\d+(\.\d+){0,2}", texts.get(_VALUE, b""))
        return version[0].decode("ascii") if version else ""


class _Launches:
    """The launches of a report, collected block by block, and the modules that hold their kernels."""

    def __init__(self, data: Data, outlines: Mapping[int, LaunchOutline]) -> None:
        self._data, self._outlines = data, outlines
        self._most_fields = _MOST_FIELDS + len(data) // LEAST_BYTES_OF_FIELD
        self._fields = 0
        self._modules: dict[int, Span] = {}
        self._ambiguous: set[int] = set()
        self._found: list[tuple[LaunchHeader, int]] = []
        """Each with its module, 0 where none is named. The process of a header is still the thread's number, except
        where its block names one process only."""

    def __len__(self) -> int:
        return len(self._found)

    def forget(self, count: int) -> None:
        """Remove all launches but the first ``count``."""
        del self._found[count:]

    def add(self, block: Block, processes: frozenset[int]) -> None:
        only = next(iter(processes)) if len(processes) == 1 else 0
        if len(self) + block.results > _MOST_LAUNCHES:
            raise WireError(block.header.start, f"the file announces more than {_MOST_LAUNCHES:,} launches")
        for place, item in enumerate(wire.items(self._data, block)):
            if place < block.sources:
                outline = wire.outline(self._data, item)
                check_density(item, len(outline.rows))
                self._count(item, len(outline.rows))
                self._add_module(item, outline)
            else:
                is_kernel = place < block.sources + block.kernels
                launch = self._outlines.get(item.start) or launch_outline(self._data, item, is_kernel=is_kernel)
                self._count(item, launch.fields)
                self._add_launch(item, launch, only or launch.thread)

    def _count(self, item: Span, fields: int) -> None:
        self._fields += 1 + fields
        if self._fields > self._most_fields:
            raise too_many_fields(item)

    def add_broken(self, count: int, why: str) -> None:
        self._found += [(LaunchHeader(0, "", -1, damage=why), 0)] * count

    def _add_module(self, item: Span, outline: Outline) -> None:
        module = outline.last[_MODULE_ITSELF].value if _MODULE_ITSELF in outline.last else 0
        known = self._modules.setdefault(module, item)
        if known.size != item.size or self._data[slice(*known)] != self._data[slice(*item)]:
            self._ambiguous.add(module)  # each process numbers its modules from the same start

    def _add_launch(self, item: Span, launch: LaunchOutline, process: int) -> None:
        damage = f"launch {len(self)} has {launch.damage}" if launch.damage else ""
        header = LaunchHeader(item.size, launch.mangled, -1, launch.metrics, damage, process)
        self._found.append((header, launch.module))

    def headers(self, processes: Collection[int]) -> tuple[LaunchHeader, ...]:
        """The launches, each with its code and its process.

        A report names its processes, and of each launch the thread. The first thread of a process has its number. Of
        other threads, such as that of a backward pass, the process is known where the report has one only.
        """
        only = next(iter(processes)) if len(processes) == 1 else 0
        codes: dict[tuple[int, str], int] = {}
        headers = []
        for found, module in self._found:
            is_known = found.mangled and module and module in self._modules and module not in self._ambiguous
            code = codes.setdefault((module, found.mangled), len(codes)) if is_known else -1
            process = only or (found.process if found.process in processes else 0)
            headers.append(found._replace(code=code, process=process))
        return tuple(headers)


def _utc(seconds: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, OSError, ValueError):
        return None
