"""Open or read a regular file, such as a report, and turn every failure into ``ReportUnreadable`` with a hint.

``regular_file`` gives the opened file, ``read_regular_file`` its bytes; pipes, folders, large files are refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from ncuview.base.errors import ReportUnreadable
from ncuview.base.files import NoRegularFile, TooLarge, open_regular
from ncuview.base.suggestion import did_you_mean_file

LARGEST = 4 << 30
"""The most bytes of a report."""
NAME_A_REPORT = "Name one of the .ncu-rep or .ncu-repz files that ncu --export writes."


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
            hint=did_you_mean_file(path, "ncu adds .ncu-rep to its --export name, and writes none without a launch."),
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
    except ValueError as error:  # a NUL in the name
        raise ReportUnreadable(f"{str(path)!r} cannot be read: {error}", hint=NAME_A_REPORT) from error
