"""Open a report file and check it in Python: path -> bytes, ``Snapshot``, ``ReportHeader``, launch count or error.

It decompresses .ncu-repz, and checks checksum, magic number, format version and framing (``precheck``: all of them).
NVIDIA's reader accepts damaged files or crashes on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportUnreadable
from ncuview.base.report_files import NAME_A_REPORT, Sealed, regular_file
from ncuview.reader import packing, wire
from ncuview.reader.framing import Framing, ReportHeader, framing
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.wire import Data, WireError

PROFILE_AGAIN = "Copy the file again, or profile again: ncu writes the report when the profiled program has ended."
_UPGRADE = "pip install --upgrade ncu-report ncuview"
_PROFILE_NEWER = "Profile again with Nsight Compute 2020.3 or newer."
_PLAIN = ".ncu-rep"
_PIECE = 1 << 20
CORRUPT, OTHER_VERSION = "NCU-CORRUPT", "NCU-VERSION"


def precheck(path: Path) -> ReportHeader:
    """Check that a file is a complete report with at least one launch.

    The format has no checksum, so changed values go unseen unless ``seal`` made one; broken framing, cuts and appended
    bytes do not. A file that was cut between two blocks is a complete report with fewer launches.

    Raises:
        ReportUnreadable: It cannot be opened, is no report of a known format, or does not fit into memory.
        ReportDamaged: It is a report with a part missing or wrong, or was changed after its checksum was made.
        ReportEmpty: It is a complete report without a launch.
    """
    with closing(snapshot_of(report_pieces(path), path)) as taken:
        return checked_header(taken.data, path)


def launches_in(report: Path) -> int:
    """How many launches a complete report holds; raises as ``precheck`` does."""
    return precheck(report).results


def read_report(path: Path) -> bytes:
    """The bytes of a report file, unpacked; only its start and its checksum were checked.

    Raises:
        ReportUnreadable: It cannot be opened, or is no report of a known format.
        ReportDamaged: Its first bytes are a report's and the next are not, it cannot be unpacked, or it was changed.
    """
    return b"".join(report_pieces(path))


def report_pieces(path: Path) -> Iterator[bytes]:
    """The bytes of a report file in pieces of about a MiB; errors are raised after the last piece at the latest.

    Raises:
        CutShort: The pieces given are all that can be unpacked of it.
        ReportUnreadable, ReportDamaged: As for ``read_report``; the pieces given must not be used.
    """
    with regular_file(path) as file:
        sealed = Sealed(file, path)
        first = sealed.read(_PIECE)
        cut = None
        try:
            yield from _after_its_start(_unpacked_pieces(first, sealed, path), path)
        except packing.CutShort as error:
            cut = error
        sealed.check()
        if cut:
            raise cut


def snapshot_of(pieces: Iterator[bytes], path: Path) -> Snapshot:
    """Keep a report's bytes; the caller closes the snapshot. ``path`` is the name in messages.

    Raises:
        ReportUnreadable: They do not fit into memory.
    """
    try:
        return Snapshot.of(pieces)
    except OSError as error:
        raise ReportUnreadable(
            f"{path} does not fit into memory: {error.strerror}",
            hint="Profile fewer launches, for example with --launch-count.",
        ) from error


def checked_header(data: Data, path: Path) -> ReportHeader:
    """Check the framing of a report's bytes; ``path`` is the name in messages.

    Raises:
        ReportDamaged: A part is missing or wrong.
        ReportEmpty: There is no launch.
    """
    found = framing(data)
    if found.damage:
        raise ReportDamaged(f"{path}: {found.damage[0]}", hint=PROFILE_AGAIN, id=CORRUPT)
    return header_with_launches(found, path)


def header_with_launches(found: Framing, path: Path) -> ReportHeader:
    """The header of a report that holds at least one launch.

    Raises:
        ReportEmpty: There is no launch.
    """
    if not found.header.results:
        raise ReportEmpty(
            f"{path} holds no kernel launch",
            hint="ncu recorded nothing: check its kernel filter, and that the program launches a kernel.",
        )
    return found.header


def damaged(path: Path, data: bytes, error: WireError) -> ReportDamaged:
    """The error that names the byte at which a report breaks the format."""
    message = f"{path} is damaged at byte {error.offset:,} of {len(data):,}: {error}"
    return ReportDamaged(message, hint=PROFILE_AGAIN, id=CORRUPT)


def _unpacked_pieces(first: bytes, rest: Sealed, path: Path) -> Iterator[bytes]:
    """The report's bytes; the name must match the compression, since NVIDIA's tools go by the name."""
    is_packed = first.startswith(packing.MAGIC)
    if is_packed and path.suffix != packing.ENDING:
        raise ReportUnreadable(f"{path} is a compressed report", hint=f"Rename it to end in {packing.ENDING}.")
    if first and not is_packed and path.suffix == packing.ENDING:
        raise ReportUnreadable(
            f"{path} is not compressed, although its name says so", hint=f"Rename it to end in {_PLAIN}."
        )
    if is_packed:
        yield from packing.unpacked(first, rest, path)
    else:
        while first:
            yield first
            first = rest.read(_PIECE)


def _after_its_start(pieces: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """The pieces, after a check that the first starts a report of the known format version."""
    first = next(pieces, b"")
    if not first:
        raise ReportUnreadable(f"{path} is empty", hint=PROFILE_AGAIN)
    if not first.startswith(wire.MAGIC):
        hint = f"{NAME_A_REPORT} The name of a CSV export must end in .csv."
        raise ReportUnreadable(f"{path} is not an Nsight Compute report", hint=hint)
    try:
        version = wire.format_version(first)
    except WireError as error:
        raise damaged(path, first, error) from error
    if version != wire.FORMAT_VERSION:
        age, hint = ("a newer", _UPGRADE) if version > wire.FORMAT_VERSION else ("an older", _PROFILE_NEWER)
        message = f"{path} is in {age} report format ({version}; known is {wire.FORMAT_VERSION})"
        raise ReportUnreadable(message, hint=hint, id=OTHER_VERSION)
    yield first
    yield from pieces
