"""Report files: find them in folders, open them as regular files, and keep a checksum beside each.

``report_files`` expands files and folders in a fixed order: a folder gives all .ncu-rep and .ncu-repz files below it.
``regular_file`` gives an opened file, ``read_regular_file`` its bytes; every failure is a ``ReportUnreadable`` with a
hint. ``seal`` writes the SHA-256 checksum to ``REPORT.sha256``, in the form of ``sha256sum``'s output; ``Sealed`` reads
a report once, and its ``check`` raises ``ReportDamaged`` where the bytes differ. The format of reports itself has no
checksum, so that changed values go unseen without it. ``rank_of`` takes a rank from a report's name.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import NamedTuple

from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportUnreadable, UsageError
from ncuview.base.files import NoRegularFile, Outside, TooLarge, exists, is_folder, open_regular, replace_file
from ncuview.base.suggestion import did_you_mean_file

REPORT_ENDINGS = (".ncu-rep", ".ncu-repz")
"""The endings that a folder is searched for. CSV exports must be named: most .csv files are no exports."""
CSV_ENDING = ".csv"
LARGEST = 4 << 30
"""The most bytes of a report."""
NAME_A_REPORT = "Name one of the .ncu-rep or .ncu-repz files that ncu --export writes."
_RANK = re.compile(r"(?:^|(?<=[._-]))(?P<kind>rank|gpu)[._-]?(?P<number>\d+)(?=$|[._-])", re.IGNORECASE)
_CHECKSUM_ENDING = ".sha256"
_CHECKSUM = re.compile(rb"\\?([0-9a-fA-F]{64})[ \t]+\*?[^\n]+\n?")
_LONGEST_CHECKSUM = 8192
_ESCAPES = {ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r"}


def is_csv_export(path: Path) -> bool:
    """Whether a file is a CSV export, by its name."""
    return path.suffix.lower() == CSV_ENDING


class RankInName(NamedTuple):
    """The part of a name such as ``rank3``, ``rank_3`` or ``gpu3``."""

    words: str
    """``rank 3`` or ``gpu 3``."""
    start: int
    """Where the part begins in the name."""
    end: int


def rank_of(name: str) -> RankInName | None:
    """The rank or GPU that the name of a report or folder contains; None where it contains none."""
    found = _RANK.search(name)
    return RankInName(f"{found['kind'].lower()} {int(found['number'])}", *found.span()) if found else None


def are_reports(targets: Iterable[str | Path]) -> bool:
    """Whether targets are files, or have a report's ending; else they name a kernel of the catalogue."""
    endings = (*REPORT_ENDINGS, CSV_ENDING)
    return all(exists(Path(target)) or str(target).endswith(endings) for target in targets)


def report_files(targets: Iterable[str | Path]) -> tuple[Path, ...]:
    """The files of these targets, in the given order, and below a folder sorted by name.

    Numbers in names count as numbers, so that rank 10 comes after rank 2. Hidden files are left out: a report that is
    being written may have such a name. A target that is no folder is passed on, and checked when it is read.

    Raises:
        UsageError: A name is empty.
        ReportEmpty: A folder holds no report.
        ReportUnreadable: A folder may not be searched.
    """
    return tuple(file for target in targets for file in _files(named_path(target)))


def named_path(name: str | Path) -> Path:
    """The path that a user names.

    Raises:
        UsageError: The name is empty, which ``Path`` takes for the current folder.
    """
    if not str(name).strip():
        raise UsageError("the name of a file or folder is empty", hint='The current folder is ".".')
    return Path(name)


def _files(target: Path) -> list[Path]:
    if not is_folder(target):
        return [target]
    found = [
        Path(folder, name)
        for folder, _, names in os.walk(target, onerror=_refuse)
        for name in names
        if name.endswith(REPORT_ENDINGS) and not name.startswith(".")
    ]
    if not found:
        exports = any(is_csv_export(Path(name)) for _, _, names in os.walk(target) for name in names)
        raise ReportEmpty(
            f"{target} holds no report",
            hint="Name the .csv files that are exports of Nsight Compute: a folder is searched for reports only."
            if exports
            else "ncu --export writes .ncu-rep files; name the folder they are in.",
        )
    return sorted(found, key=_in_order)


def _refuse(error: OSError) -> None:
    raise ReportUnreadable(
        f"{error.filename} cannot be searched: {error.strerror}", hint="Name the reports themselves."
    ) from error


def _in_order(file: Path) -> tuple[list[list[tuple[int, str]]], str]:
    """The key to sort by: the parts of the path, digits by their value; then the path, for leading zeros."""
    parts = [
        [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d+)", part)]
        for part in file.parts
    ]
    return parts, str(file)


@contextmanager
def regular_file(path: Path, largest: int = LARGEST) -> Iterator[BufferedReader]:
    """A file opened for reading. Errors of the system while it is read are converted to ``ReportUnreadable`` too.

    Raises:
        ReportUnreadable: It cannot be opened or read, is no regular file, or is larger than ``largest`` bytes.
    """
    try:
        with _opened(path, largest) as file:
            yield file
    except FileNotFoundError as error:
        raise ReportUnreadable(
            f"{path} does not exist",
            hint=did_you_mean_file(path, "ncu adds .ncu-rep to its --export name; without a launch it writes no file."),
        ) from error
    except PermissionError as error:
        raise ReportUnreadable(
            f"{path} may not be read by this user", hint="Reports written by sudo ncu belong to root: sudo chown them."
        ) from error
    except OSError as error:
        raise ReportUnreadable(f"{path} cannot be read: {error.strerror}", hint=NAME_A_REPORT) from error


def read_regular_file(path: Path, largest: int = LARGEST) -> bytes:
    """The bytes of a file of any format.

    Raises:
        ReportUnreadable: As for ``regular_file``.
    """
    with regular_file(path, largest) as file:
        return file.read(os.fstat(file.fileno()).st_size)


def _opened(path: Path, largest: int) -> BufferedReader:
    try:
        return open_regular(path, largest)
    except NoRegularFile as error:
        kind = "a folder" if error.is_folder else "a pipe or device"
        raise ReportUnreadable(f"{path} is {kind}, not a file", hint=NAME_A_REPORT) from error
    except TooLarge as error:
        raise ReportUnreadable(
            f"{path} is larger than {largest >> 20:,} MiB",
            hint="Profile fewer launches, as with --launch-count.",
        ) from error
    except Outside as error:
        raise ReportUnreadable(f"{path} {error}", hint="Its name is a link that leads out of them.") from error
    except ValueError as error:  # a NUL in the name
        raise ReportUnreadable(f"{str(path)!r} cannot be read: {error}", hint=NAME_A_REPORT) from error


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
    return report.with_name(report.name + _CHECKSUM_ENDING)


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
    found = _CHECKSUM.fullmatch(read_regular_file(place, _LONGEST_CHECKSUM))
    if not found:
        raise ReportDamaged(
            f"{place} is no checksum", hint=f"Remove it, or make it again: sha256sum {report.name}.", id="NCU-CORRUPT"
        )
    return found[1].decode("ascii").lower()
