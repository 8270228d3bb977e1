"""Expand the files and folders that a user names into the paths of report files, in a fixed order.

A folder stands for all .ncu-rep and .ncu-repz files below it; ``is_csv_export`` recognises CSV exports by their name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ncuview.base.errors import ReportEmpty, ReportUnreadable, UsageError

REPORT_ENDINGS = (".ncu-rep", ".ncu-repz")
"""What a folder is searched for. Exports in CSV are read where they are named: most .csv files are none."""


CSV_ENDING = ".csv"


def is_csv_export(path: Path) -> bool:
    """Whether a file is to be read as a CSV export, by its name."""
    return path.suffix.lower() == CSV_ENDING


def report_files(targets: Iterable[str | Path]) -> tuple[Path, ...]:
    """The files that are meant, in the order in which they are named, and below a folder in the order of their names.

    Numbers in names count as numbers, so that rank 10 comes after rank 2. Hidden files are left out: a report that is
    being written may bear such a name. What is no folder is taken as it is, and refused when it is read.

    Raises:
        UsageError: A name is empty.
        ReportEmpty: There is no report below a folder.
        ReportUnreadable: A folder may not be looked into.
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
            f"there is no report below {target}",
            hint="Name the .csv files that are exports of Nsight Compute: a folder is searched for reports only."
            if exports
            else "ncu --export writes .ncu-rep files; name the folder they are in.",
        )
    return sorted(found, key=_in_order)


def _refuse(error: OSError) -> None:
    raise ReportUnreadable(
        f"{error.filename} cannot be looked into: {error.strerror}", hint="Name the reports themselves."
    ) from error


def _in_order(file: Path) -> tuple[list[list[tuple[int, str]]], str]:
    """By the parts of the path, digits by their value; the path itself tells apart what only leading zeros do."""
    parts = [
        [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in re.split(r"(\d+)", part)]
        for part in file.parts
    ]
    return parts, str(file)
