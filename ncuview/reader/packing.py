"""Compress a report to the .ncu-repz form (zstd), and decompress it piece by piece with a limit on its expansion.

``packed`` compresses bytes, ``unpacked`` yields bytes; it raises ``CutShort`` after the last piece of a damaged file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from ncuview.base.errors import ReportDamaged, ReportUnreadable
from ncuview.base.report_files import LARGEST, NAME_A_REPORT

if TYPE_CHECKING:
    from ncuview.base.report_files import Sealed

MAGIC = b"\x28\xb5\x2f\xfd"
ENDING = ".ncu-repz"
_MOST_EXPANSION = 200
"""Reports shrink 10 to 40 times; a file that expands more than this is refused."""
_PIECE = 1 << 20


class CutShort(ReportDamaged):
    """A compressed report of which only the pieces already given can be unpacked.

    Attributes:
        why: What is wrong with the rest.
    """

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is damaged: {why}", hint="Copy the file again, or profile again.", id="NCU-CORRUPT")
        self.why = why


def packed(report: bytes) -> bytes:
    """A report's bytes in the compressed form."""
    from zstandard import ZstdCompressor

    return ZstdCompressor(level=19).compress(report)


def unpacked(first: bytes, rest: Sealed, path: Path) -> Iterator[bytes]:
    """A compressed report's bytes; ``path`` is what messages call it, ``first`` its first bytes.

    Raises:
        ReportUnreadable: There are more bytes than a report can have.
        CutShort: What follows the pieces that were given is damaged or missing.
    """
    from zstandard import ZstdDecompressor, ZstdError, frame_content_size

    most = min(LARGEST, _MOST_EXPANSION * (len(first) + rest.left))
    count = 0
    try:
        announced = frame_content_size(first)
        file = cast("IO[bytes]", _Joined(first, rest))
        reader = ZstdDecompressor().stream_reader(file, read_across_frames=True)
        while piece := reader.read(_PIECE):
            count += len(piece)
            if count > most:
                raise ReportUnreadable(
                    f"{path} unpacks to more than {most:,} bytes, which no report does", hint=NAME_A_REPORT
                )
            yield piece
    except ZstdError as error:
        raise CutShort(path, f"it cannot be unpacked after byte {count:,} ({error})") from error
    if count < announced:
        raise CutShort(path, f"only {count:,} of {announced:,} unpacked bytes are present")


class _Joined:
    """The complete file, for a reader that needs its first bytes too."""

    def __init__(self, first: bytes, rest: Sealed) -> None:
        self._first, self._rest = first, rest

    def read(self, size: int) -> bytes:
        given, self._first = self._first[:size], self._first[size:]
        return given or self._rest.read(size)
