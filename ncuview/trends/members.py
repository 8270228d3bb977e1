"""List the reports and JSON documents in folders, or named, each with point (commit, date, build) and rank by its path.

``in_order`` is a sort key for names with numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import ReportEmpty
from ncuview.base.report_files import REPORT_ENDINGS, report_files

DOCUMENT_ENDING = ".json"
_RANK = re.compile(r"(?:^|(?<=[._-]))(?P<kind>rank|gpu)[._-]?(?P<number>\d+)(?=$|[._-])", re.IGNORECASE)
_SEPARATORS = "._-"


@dataclass(frozen=True)
class Member:
    """A file, and its place in a series."""

    file: Path
    point: str
    """The commit, date or build that it was profiled at, as its folder or its name says."""
    rank: str
    """``rank 3`` or ``gpu 3`` where its name says that several processes or GPUs ran at once; else empty."""

    @property
    def is_document(self) -> bool:
        """Whether it is, by its name, what ``ncuview analyze --format json`` printed."""
        return self.file.suffix == DOCUMENT_ENDING


def members(targets: Sequence[Path]) -> tuple[Member, ...]:
    """The reports and JSON files that are meant.

    A file in a sub-folder belongs to the point that the sub-folder names, any other to the point of its own name. Where
    several folders are named, each is such a sub-folder. A part of the name such as ``rank3``, ``rank_3`` or ``gpu3``
    tells which rank it is, and is no part of the point's name. Where a report and a JSON file differ in their ending
    only, the report is taken: the other was made from it.

    Args:
        targets: Folders, which stand for all reports and JSON files below them, or files.

    Raises:
        ReportEmpty: There is neither a report nor a JSON file below a folder.
        ReportUnreadable: A folder may not be looked into.
    """
    found = [
        _member(file, target, several=len(targets) > 1)
        for target in targets
        for file in (_below(target) if target.is_dir() else [target])
    ]
    reported = {_without_ending(each.file) for each in found if not each.is_document}
    return tuple(each for each in found if not (each.is_document and _without_ending(each.file) in reported))


def in_order(name: str) -> list[tuple[int, str]]:
    """A key to sort names by that counts digits as numbers: rank 10 comes after rank 2."""
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
            hint="Name a folder of .ncu-rep or .ncu-repz files, or of what `ncuview analyze --format json` printed.",
        )
    return [*reports, *sorted(documents)]


def _member(file: Path, target: Path, *, several: bool) -> Member:
    inside = file.relative_to(target) if target.is_dir() else Path(file.name)
    root = target.resolve().name if target.is_dir() else ""
    folders = [*([root] if several and root else []), *inside.parts[:-1]]
    rank, named = _take_rank([*folders, _without_ending(inside).name])
    *above, own = named
    point = "/".join(filter(None, above)) or own or root or rank
    return Member(file, point, rank)


def _take_rank(parts: Iterable[str]) -> tuple[str, list[str]]:
    """The rank that the last part to name one names, and the parts without it."""
    kept = list(parts)
    for at in reversed(range(len(kept))):
        if found := _RANK.search(kept[at]):
            rest = _joined(kept[at][: found.start()], kept[at][found.end() :])
            return f"{found['kind'].lower()} {int(found['number'])}", [*kept[:at], rest, *kept[at + 1 :]]
    return "", kept


def _joined(before: str, after: str) -> str:
    return "-".join(_stripped((before, after)))


def _stripped(parts: Iterable[str]) -> Iterator[str]:
    yield from filter(None, (part.strip(_SEPARATORS) for part in parts))


def _without_ending(file: Path) -> Path:
    for ending in (*REPORT_ENDINGS, DOCUMENT_ENDING):
        if file.name.endswith(ending):
            return file.with_name(file.name.removesuffix(ending) or file.name)
    return file
