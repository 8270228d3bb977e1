"""Write a report's SHA-256 checksum to ``REPORT.sha256``, and verify it while the report is read.

``seal`` writes it; ``Sealed`` reads a report once, and its ``check`` raises ``ReportDamaged`` where the bytes differ.
The format of reports itself has no checksum, so that changed values go unseen. The file has the form of ``sha256sum``'s
output, so that ``sha256sum --check`` reads it too.
"""

from __future__ import annotations

import hashlib
import os
import re
from io import BufferedReader
from pathlib import Path

from ncuview.base.errors import ReportDamaged
from ncuview.base.files import replace_file
from ncuview.base.regular_file import read_regular_file, regular_file

_ENDING = ".sha256"
_LINE = re.compile(rb"\\?([0-9a-fA-F]{64})[ \t]+\*?[^\n]+\n?")
_LONGEST = 8192
_ESCAPES = {ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r"}


def seal(report: Path) -> Path:
    """Write the checksum of a report beside it, and return the file's path.

    Raises:
        ReportUnreadable: The report cannot be read.
        OSError: The checksum cannot be written.
    """
    with regular_file(report) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    name = report.name.translate(_ESCAPES)
    escaped = "" if name == report.name else "\\"
    replace_file(sidecar(report), os.fsencode(f"{escaped}{digest}  {name}\n"))
    return sidecar(report)


def sidecar(report: Path) -> Path:
    """The path of a report's checksum, which need not exist."""
    return report.with_name(report.name + _ENDING)


class Sealed:
    """A report that is read once from start to end, while its checksum is computed if it has one to compare with."""

    def __init__(self, file: BufferedReader, report: Path) -> None:
        """Raises ``ReportUnreadable`` or ``ReportDamaged`` if the checksum's file cannot be read or holds none."""
        self._file, self._report = file, report
        self._left = os.fstat(file.fileno()).st_size
        self._expected = _expected(report)
        self._digest = hashlib.sha256()

    @property
    def left(self) -> int:
        """Bytes that were not read yet; bytes that are appended later do not count."""
        return self._left

    def read(self, size: int) -> bytes:
        """The next bytes; empty at the end."""
        data = self._file.read(min(size, self._left))
        self._left = self._left - len(data) if data else 0
        if self._expected:
            self._digest.update(data)
        return data

    def check(self) -> None:
        """Read the rest, and compare the checksum, if the report has one.

        Raises:
            ReportDamaged: They differ.
        """
        while self._expected and self.read(1 << 20):
            pass
        if self._expected and self._expected != self._digest.hexdigest():
            raise ReportDamaged(
                f"{self._report} was changed after it was written: its checksum in {sidecar(self._report)} differs",
                hint="Copy report and checksum again, or profile again. If you changed it, remove the checksum.",
                id="NCU-CORRUPT",
            )


def _expected(report: Path) -> str | None:
    place = sidecar(report)
    try:
        place.lstat()
    except OSError:
        return None
    found = _LINE.fullmatch(read_regular_file(place, _LONGEST))
    if not found:
        raise ReportDamaged(
            f"{place} is no checksum", hint=f"Remove it, or make it again: sha256sum {report.name}.", id="NCU-CORRUPT"
        )
    return found[1].decode("ascii").lower()
