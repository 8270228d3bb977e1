"""Expand the files and folders that a user names into the paths of report files, in a fixed order.

``report_files``: a folder gives all .ncu-rep and .ncu-repz files below it. ``is_csv_export`` tests a file's name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ncuview.base.errors import ReportEmpty, ReportUnreadable, UsageError

REPORT_ENDINGS = (".ncu-rep", ".ncu-repz")
"""The endings that a folder is searched for. CSV exports must be named: most .csv files are no exports."""


CSV_ENDING = ".csv"


def is_csv_export(path: Path) -> bool:
    """Whether a file is a CSV export, by its name."""
    return path.suffix.lower() == CSV_ENDING


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
    if not target.is_dir():
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
