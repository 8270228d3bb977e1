"""Check where a report can be written, and move ncu's finished report atomically to the name that the user gave.

``keep`` syncs the file to disk, adds its checksum and overwrites nothing; ``private_folder`` holds it until then.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ncuview.base.report_files import REPORT_ENDINGS
from ncuview.base.seal import seal, sidecar
from ncuview.profiling.ncu_failures import failure
from ncuview.profiling.privileges import invoking_user

ROOM_FOR_A_REPORT = 1 << 20
"""Bytes that the smallest reports with source and machine code take; with fewer, ncu need not be started."""


def report_to_write(named: Path) -> Path:
    """The file that is named, with the ending that ncu would add, once it is known that it can be written.

    Raises:
        UsageError: It or its checksum exists, or its folder is missing or may not be written to.
        NothingProfiled: The disk is full.
    """
    report = named.absolute()
    if report.suffix != REPORT_ENDINGS[0]:
        report = report.with_name(report.name + REPORT_ENDINGS[0])
    for taken in (report, sidecar(report)):
        if os.path.lexists(taken):  # a link that leads nowhere would be followed
            raise failure("NCU-EXISTS").as_error(f"{taken} exists already")
    if not report.parent.is_dir():
        raise failure("NCU-WRITE").as_error(f"{report} cannot be written: there is no folder {report.parent}")
    check_room(report.parent)
    return report


def check_room(folder: Path) -> None:
    """Refuse a folder whose disk has no room for any report.

    Raises:
        NothingProfiled: It has none.
    """
    if (free := free_bytes(folder)) < ROOM_FOR_A_REPORT:
        raise failure("NCU-FULL").as_error(f"There is no room for a report in {folder}: {free:,} bytes are free")


def free_bytes(folder: Path) -> int:
    """Bytes that this user may still write to the disk of a folder; where it does not say, any number."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize if disk.f_blocks else sys.maxsize


@contextmanager
def private_folder(beside: Path) -> Iterator[Path]:
    """A folder of this user alone beside a file to be written, which is gone afterwards.

    Raises:
        UsageError: It cannot be made.
    """
    try:
        made = Path(tempfile.mkdtemp(prefix=".ncuview-", dir=beside.parent))
    except OSError as error:
        raise failure("NCU-WRITE").as_error(f"{beside} cannot be written: {error.strerror}") from error
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def keep(report: Path, folder: Path) -> Path:
    """Give a report its place: on the disk, sealed, and only if nothing has its name or its checksum's.

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
        # The seal first: a report without one is believed as it is.
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
    except OSError as error:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError from error
        report.rename(target)
    else:
        report.unlink()


def _write_to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems do not do that for folders
            os.fsync(opened)
    finally:
        os.close(opened)
