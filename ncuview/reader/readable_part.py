"""Check a report file and keep what can be read -> ``Approved``: ``Snapshot`` for the children, header, and damage.

``approve`` takes a path; of a damaged or cut file it keeps the intact part, with empty launches for damaged ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import ReportDamaged
from ncuview.reader.framing import Framing, ReportHeader, framing, intact_part
from ncuview.reader.outliners import Outliners
from ncuview.reader.packing import CutShort
from ncuview.reader.precheck import CORRUPT, PROFILE_AGAIN, header_with_launches, report_pieces, snapshot_of
from ncuview.reader.snapshot import Snapshot


@dataclass(frozen=True)
class Approved:
    """A report that can be read, at least in part."""

    snapshot: Snapshot
    """A complete report: launches that are damaged have empty ones in their place."""
    header: ReportHeader
    announced: int | None
    """How many launches the file announces; None when that is unknown."""
    damage: tuple[str, ...]
    """What is wrong with the file, in the order of the file; empty for an undamaged one."""

    @property
    def is_damaged(self) -> bool:
        """Whether something is wrong with the file or a launch of it."""
        return bool(self.damage) or any(launch.damage for launch in self.header.launches)


def approve(path: Path, outliners: Outliners | None = None) -> Approved:
    """Load a report's bytes, check them, and keep those that may be read. The caller closes the snapshot.

    Args:
        path: The report.
        outliners: Processes that parse its launches where it is large.

    Raises:
        ReportUnreadable: It cannot be opened, is no report of a known format, or does not fit into memory.
        ReportDamaged: No launch of it is intact, or it was changed after its checksum was made.
        ReportEmpty: It is a complete report without a launch.
    """
    file = _File(path)
    taken = snapshot_of(file.pieces(), path)
    try:
        found = framing(taken.data, outliners.outlines_of(taken)) if outliners else framing(taken.data)
        damage = file.damage + found.damage
        if not damage:
            header_with_launches(found, path)
        _refuse_without_whole_launch(found, damage, path)
        announced = None if file.damage else found.announced
        intact = snapshot_of(intact_part(taken.data, found), path) if found.damage else taken
    except BaseException:
        taken.close()
        raise
    if intact is not taken:
        taken.close()
    intact.forget(intact.size)  # only children look at it from now on
    return Approved(intact, found.header, announced, damage)


def _refuse_without_whole_launch(found: Framing, damage: tuple[str, ...], path: Path) -> None:
    of_launches = [launch.damage for launch in found.header.launches]
    if all(of_launches):
        raise ReportDamaged(f"{path}: {[*damage, *of_launches][0]}", hint=PROFILE_AGAIN, id=CORRUPT)


class _File:
    """A file as far as it can be unpacked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.damage: tuple[str, ...] = ()

    def pieces(self) -> Iterator[bytes]:
        given = False
        try:
            for piece in report_pieces(self._path):
                given = True
                yield piece
        except CutShort as error:
            if not given:
                raise
            self.damage = (error.why,)
