"""Check where a report can be written, and move ncu's finished report atomically to the name that the user gave.

``report_to_write`` checks the name; ``move_into_place`` syncs the report to disk, seals it and overwrites nothing.
``private_folder`` holds it until then, and ``check_room`` refuses a full disk.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ncuview.base.files import is_folder
from ncuview.base.report_files import REPORT_ENDINGS, seal, sidecar
from ncuview.profiling.ncu_failures import failure
from ncuview.profiling.privileges import invoking_user

ROOM_FOR_A_REPORT = 1 << 20
"""Bytes of the smallest reports with source and machine code; with fewer free, ncu is not started."""


def report_to_write(named: Path) -> Path:
    """The named file, with the ending that ncu would add, after a check that it can be written.

    Raises:
        UsageError: It or its checksum exists, or its folder is missing or may not be written to.
        NothingProfiled: The disk is full.
    """
    report = named_report(named.absolute())
    for taken in (report, sidecar(report)):
        if os.path.lexists(taken):  # ncu would follow a dangling link
            raise failure("NCU-EXISTS").as_error(f"{taken} exists already")
    if not is_folder(report.parent):
        raise failure("NCU-WRITE").as_error(f"{report} cannot be written: there is no folder {report.parent}")
    check_room(report.parent)
    return report


def named_report(named: Path) -> Path:
    """The named file with the ending that ncu would add."""
    return named if named.suffix == REPORT_ENDINGS[0] else named.with_name(named.name + REPORT_ENDINGS[0])


def check_room(folder: Path) -> None:
    """Refuse a folder whose disk has no room for any report.

    Raises:
        NothingProfiled: The disk is full.
    """
    if (free := free_bytes(folder)) < ROOM_FOR_A_REPORT:
        raise failure("NCU-FULL").as_error(f"There is no room for a report in {folder}: {free:,} bytes are free")


def free_bytes(folder: Path) -> int:
    """Bytes that this user may still write to the disk of a folder; where that is unknown, a very large number."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else sys.maxsize


@contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """A private temporary folder in the folder of a file to be written; it is removed afterwards.

    Raises:
        UsageError: It cannot be created.
    """
    try:
        made = Path(tempfile.mkdtemp(prefix=".ncuview-", dir=beside.parent))
    except OSError as error:
        raise failure("NCU-WRITE").as_error(f"{beside} cannot be written: {error.strerror}") from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def move_into_place(report: Path, folder: Path) -> Path:
    """Move a report into a folder: synced to disk, sealed, and only if neither its name nor its checksum's is taken.

    Raises:
        UsageError: Something has one of these names by now, or the report cannot be written.
        ReportUnreadable: It cannot be read any more.
    """
    target, user = folder / report.name, invoking_user()
    try:
        _write_to_disk(report)
        sealed = seal(report)
        if user:
            user.hand_over([report, sealed])
        # The seal first: a report without one would be read unchecked.
        _name(sealed, sidecar(target))
        try:
            _name(report, target)
        except BaseException:
            sidecar(target).unlink()
            raise
    except FileExistsError as error:
        taken = target if os.path.lexists(target) else sidecar(target)
        raise failure("NCU-EXISTS").as_error(f"{taken} exists already") from error
    except OSError as error:
        raise failure("NCU-WRITE").as_error(f"{target} cannot be written: {error.strerror}") from error
    _write_to_disk(folder)
    return target


def _name(report: Path, target: Path) -> None:
    """Rename a file, unless something has the new name.

    Raises:
        FileExistsError: Something has it.
    """
    try:
        os.link(report, target)
    except FileExistsError:
        raise
    except OSError as error:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError from error
        report.rename(target)
    else:
        report.unlink()


def _write_to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems cannot sync folders
            os.fsync(opened)
    finally:
        os.close(opened)
