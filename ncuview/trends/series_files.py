"""List the reports and JSON documents in the given folders and files -> ``SeriesFile``, each with its point and rank.

``series_files`` derives the point (commit, date, build) and the rank from the path; ``number_aware_key`` sorts names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import ReportEmpty
from ncuview.base.files import is_folder
from ncuview.base.report_files import REPORT_ENDINGS, rank_of, report_files

DOCUMENT_ENDING = ".json"
_SEPARATORS = "._-"


@dataclass(frozen=True)
class SeriesFile:
    """A file, and its place in a series."""

    file: Path
    point: str
    """The commit, date or build that was profiled, from the folder's or the file's name."""
    rank: str
    """``rank 3`` or ``gpu 3`` where the name contains it, for several processes or GPUs at once; else empty."""

    @property
    def is_document(self) -> bool:
        """Whether its name has the ending of a document that ``ncuview analyze --format json`` printed."""
        return self.file.suffix == DOCUMENT_ENDING


def series_files(targets: Sequence[Path]) -> tuple[SeriesFile, ...]:
    """The reports and JSON files of a series.

    A file in a sub-folder belongs to the point of the sub-folder's name, any other file to the point of its own name.
    Where several folders are given, each is such a sub-folder. A part of the name such as ``rank3``, ``rank_3`` or
    ``gpu3`` is the rank and is removed from the point's name. Where a report and a JSON file differ in their ending
    only, the report is used: the other was made from it.

    Args:
        targets: Files, or folders, which stand for all reports and JSON files below them.

    Raises:
        ReportEmpty: There is neither a report nor a JSON file below a folder.
        ReportUnreadable: A folder cannot be listed.
    """
    found = [
        _series_file(file, target, several=len(targets) > 1)
        for target in targets
        for file in (_below(target) if is_folder(target) else [target])
    ]
    reported = {_without_ending(each.file) for each in found if not each.is_document}
    return tuple(each for each in found if not (each.is_document and _without_ending(each.file) in reported))


def number_aware_key(name: str) -> list[tuple[int, str]]:
    """A sort key that compares digits as numbers: rank 10 comes after rank 2."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _below(folder: Path) -> list[Path]:
    try:
        reports = report_files([folder])
    except ReportEmpty:
        reports = ()
    documents = [file for file in folder.rglob(f"*{DOCUMENT_ENDING}") if not file.name.startswith(".")]
    if not reports and not documents:
        raise ReportEmpty(
            f"there is no report below {folder}",
            hint="Name a folder of .ncu-rep or .ncu-repz files, or of documents of `ncuview analyze --format json`.",
        )
    return [*reports, *sorted(documents)]


def _series_file(file: Path, target: Path, *, several: bool) -> SeriesFile:
    inside = file.relative_to(target) if is_folder(target) else Path(file.name)
    root = target.resolve().name if is_folder(target) else ""
    folders = [*([root] if several and root else []), *inside.parts[:-1]]
    rank, named = _take_rank([*folders, _without_ending(inside).name])
    *above, own = named
    point = "/".join(filter(None, above)) or own or root or rank
    return SeriesFile(file, point, rank)


def _take_rank(parts: Iterable[str]) -> tuple[str, list[str]]:
    """The rank from the last part that contains one, and the parts without it."""
    names = list(parts)
    for at in reversed(range(len(names))):
        if found := rank_of(names[at]):
            rest = _joined(names[at][: found.start], names[at][found.end :])
            return found.words, [*names[:at], rest, *names[at + 1 :]]
    return "", names


def _joined(before: str, after: str) -> str:
    return "-".join(_stripped((before, after)))


def _stripped(parts: Iterable[str]) -> Iterator[str]:
    yield from filter(None, (part.strip(_SEPARATORS) for part in parts))


def _without_ending(file: Path) -> Path:
    for ending in (*REPORT_ENDINGS, DOCUMENT_ENDING):
        if file.name.endswith(ending):
            return file.with_name(file.name.removesuffix(ending) or file.name)
    return file
