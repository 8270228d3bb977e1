"""Yield the modules of a report file: the cubins that the profiled kernels are part of.

They are untrusted bytes. A file that is unreadable, or no report, has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ncuview.base.errors import ReportError
from ncuview.reader import wire
from ncuview.reader.precheck import report_pieces
from ncuview.reader.snapshot import Snapshot

_ELF = 4
"""The field of a report's source item that holds a module."""


def modules(report: Path) -> Iterator[bytes]:
    """The bytes of each module of a report, in the order of its launches."""
    try:
        with closing(Snapshot.of(report_pieces(report))) as snapshot:
            data = snapshot.data
            for block in wire.blocks(data):
                for item, _ in zip(wire.items(data, block), range(block.sources), strict=False):
                    yield from (data[slice(*module)] for module in wire.contents(data, item, _ELF))
                snapshot.forget(block.payload.end)
    except (ReportError, wire.WireError, OSError):
        return
