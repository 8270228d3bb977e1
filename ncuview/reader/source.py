"""Find the source text of files that a ``Profile`` names: the text that ncu imported, else that of a local file.

``Sources`` gives a profile's texts and lines; ``with_local_sources`` adds local files; ``local_file`` finds one file.
``moved_sources`` finds the files beside the reports and in repositories.
A report's maker chooses the names of its files. So only regular files of moderate size with an ending of source code
are opened, and only those that are long enough to hold the lines.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from ntpath import basename
from pathlib import Path
from posixpath import normpath

from ncuview.base.errors import UsageError
from ncuview.base.files import open_regular
from ncuview.base.source_files import ENDINGS, files_below
from ncuview.records.profile import Profile, ReportInfo

LARGEST = 4 << 20
NOT_HERE = "its source is not in the report nor on this machine: profile with --import-source yes, or --source-folders"

_LINE_BREAK = re.compile(r"\r\n|\n|\r")


def lines_of(text: str) -> list[str]:
    """The lines as a compiler counts them, which a form feed does not end."""
    return _LINE_BREAK.split(text)


class Sources:
    """The source texts of a profile, by the file names of its instructions; indexed, since every finding needs one."""

    def __init__(self, profile: Profile) -> None:
        self._sources = profile.sources
        self._held: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        """Report and last part of a path -> the files whose text the report holds."""
        self._named: defaultdict[str, set[str]] = defaultdict(set)
        """Last part of a path -> the files that instructions name, their paths in one form."""
        self._split: dict[tuple[str, str], list[str]] = {}
        for report, name in profile.sources:
            self._held[report, basename(name)].append(name)
        for name in map(str, profile.instructions["file"].unique()):
            self._named[basename(name)].add(normpath(name))

    def text(self, report: str, file: str) -> str:
        """The text of a file that instructions name; empty when the profile does not hold it.

        ncu stores a file under its shortest path, and instructions have the compiler's. Where only the last parts
        agree, as in a report without folders, the text is taken if no other file has that name.
        """
        if text := self._sources.get((report, file)) or self._sources.get((report, normpath(file))):
            return text
        last = basename(file)
        same_name = self._held.get((report, last), [])
        return self._sources[report, same_name[0]] if len(same_name) == len(self._named.get(last, ())) == 1 else ""

    def lines(self, report: str, file: str) -> list[str]:
        """The lines of a file, split once; none when the profile does not hold it."""
        if (report, file) not in self._split:
            text = self.text(report, file)
            self._split[report, file] = lines_of(text) if text else []
        return self._split[report, file]


def with_local_sources(profile: Profile, folders: Iterable[Path] = ()) -> Profile:
    """The profile with the texts of local files added, where its reports do not hold them.

    Args:
        profile: Whose instructions name files, by absolute paths or by paths that begin in the current folder.
        folders: Where to look for further files, at any depth; the one whose path agrees with the named one in most of
            its last parts is taken, and none where several agree equally.

    Raises:
        UsageError: One of ``folders`` is no folder, or they hold more files than can be searched.
    """
    known, held = files_below(folders), Sources(profile)
    sources, remarks = dict(profile.sources), dict(profile.source_remarks)
    for report in profile.reports:
        for file, named in _lines_named(profile, report.path).items():
            if held.text(report.path, file):
                continue
            found = _found(file, known)
            text, remark = _read(found, report, max(named)) if found else ("", NOT_HERE)
            remarks[report.path, file] = remark
            if text:
                sources[report.path, file] = text
    return replace(profile, sources=sources, source_remarks=remarks)


def sources_named(profile: Profile) -> set[str]:
    """The files that a profile names and that are opened where they exist."""
    names = map(str, profile.instructions["file"].unique())
    return {name for name in names if "\0" not in name and Path(name).suffix.lower() in ENDINGS}


def local_file(
    file: str, folders: Iterable[Path] = (), moved: Mapping[str, Path] | None = None
) -> tuple[Path, str] | None:
    """The local file that a profile names, with its exact text, for a patch; None if it is missing.

    Bytes that are not UTF-8 are decoded with ``surrogateescape``.

    Args:
        file: Its name in the profile.
        folders: Folders that the user named; a file in them comes first.
        moved: Other files by their names in the profile, as ``moved_sources`` finds them; before the name itself.
    """
    path = _closest(file, files_below(folders)) or (moved or {}).get(file) or _at_its_path(file)
    opened = _opened(path) if path else None
    return (path, opened[0].decode("utf-8", "surrogateescape")) if path and opened else None


@dataclass(frozen=True)
class MovedSources:
    """Files that a profile names, where they are on this machine.

    Attributes:
        files: Name in the profile -> the file.
        refused: Name in the profile -> why files of this name were not taken.
        searched: The repositories that were searched; one with too many files is left out.
    """

    files: Mapping[str, Path]
    refused: Mapping[str, str]
    searched: Sequence[Path]


def moved_sources(profile: Profile, repositories: Iterable[Path]) -> MovedSources:
    """Files of the names in a profile that are in repositories or beside its reports, with the lines that it compiled.

    A report without source text shows no lines to compare: then a file beside it is taken by its name. Of several files
    the one whose path agrees most is taken, and none where several agree equally. Copies in installed packages of
    ncuview do not count.
    """
    places: dict[Path, dict[str, list[Path]]] = {}
    for repository in repositories:
        try:
            places[repository] = files_below([repository])
        except UsageError:  # too many files
            continue
    held = Sources(profile)
    compiled: defaultdict[str, dict[str, list[int]]] = defaultdict(dict)
    for report in profile.reports:
        for name, numbers in _lines_named(profile, report.path).items():
            compiled[name][report.path] = numbers
    files: dict[str, Path] = {}
    refused: dict[str, str] = {}
    for name, lines in compiled.items():
        beside = [Path(report).absolute().with_name(basename(name)) for report in lines]
        for place in (*(known.get(basename(name), []) for known in places.values()), beside):
            candidates = [each for each in dict.fromkeys(place) if "_shipped" not in each.parts]
            opened = {each: content[0] for each in candidates if (content := _opened(each))}
            problems = {
                each: _other_lines(each, data, name, lines, held, by_name=place is beside)
                for each, data in opened.items()
            }
            fitting = [each for each, problem in problems.items() if not problem]
            if chosen := _closest(name, {basename(name): fitting}):
                files[name] = chosen
                break
            several = f"{len(fitting)} files named {basename(name)} have its lines" if fitting else ""
            if problem := several or next(filter(None, problems.values()), ""):
                refused.setdefault(name, problem)
    return MovedSources(files, refused, tuple(places))


def _other_lines(
    path: Path, data: bytes, name: str, compiled: Mapping[str, list[int]], held: Sources, *, by_name: bool
) -> str:
    """Why a file is not the one that reports were compiled from; empty where it has all of their lines."""
    now = lines_of(data.decode("utf-8", "replace"))
    for report, numbers in compiled.items():
        was = held.lines(report, name)
        if not was and not by_name:
            return f"{path} cannot be compared, since the report holds no source"
        for at in sorted(numbers):
            if at > len(now) or (was and (at > len(was) or was[at - 1] != now[at - 1])):
                return f"{path} is not the file that was compiled: line {at} differs"
    return ""


def _lines_named(profile: Profile, report: str) -> dict[str, list[int]]:
    """File -> the lines of it that instructions of the report's launches are from."""
    launches = profile.launches.index[profile.launches["report"] == report]
    rows = profile.instructions[["launch", "file", "line"]]
    of_report = rows[rows["launch"].isin(launches) & (rows["line"] > 0) & (rows["file"] != "")]
    return {str(file): lines.unique().tolist() for file, lines in of_report.groupby("file")["line"]}


def _found(file: str, known: dict[str, list[Path]]) -> Path | None:
    """The file that is meant: in a folder that the user named, else where its own path says."""
    return _closest(file, known) or _at_its_path(file)


def _closest(file: str, known: Mapping[str, Sequence[Path]]) -> Path | None:
    """The file of this name whose path agrees in most last parts; None where no file, or several, agree most."""
    candidates = known.get(basename(file), [])
    best = max((_shared_end(file, each) for each in candidates), default=0)
    closest = {each.resolve() for each in candidates if _shared_end(file, each) == best}
    return closest.pop() if len(closest) == 1 else None


def _at_its_path(file: str) -> Path | None:
    return Path(file) if "\0" not in file and Path(file).suffix.lower() in ENDINGS else None


def _shared_end(file: str, path: Path) -> int:
    """How many last parts of two paths are the same."""
    pairs = zip(reversed(re.split(r"[/\\]", normpath(file))), reversed(path.parts), strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), len(path.parts))


def _read(path: Path, report: ReportInfo, longest: int) -> tuple[str, str]:
    """A file's text, empty when it cannot be the one that was compiled, and a remark for the user."""
    opened = _opened(path)
    if opened is None:
        return "", NOT_HERE
    data, changed = opened
    text = data.decode("utf-8", "replace")
    if "\0" in text or len(lines_of(text)) < longest:
        return "", f"{path.name} on this machine is not the file that was compiled: it has no line {longest}"
    return text, _age(path, datetime.fromtimestamp(changed, UTC), report)


def _opened(path: Path) -> tuple[bytes, float] | None:
    """The content of a regular file with source code and when it was changed; None if it is anything else."""
    try:
        resolved = path.resolve(strict=True)
        if resolved.suffix.lower() not in ENDINGS:
            return None
        with open_regular(resolved, LARGEST, follow=False) as file:
            return file.read(LARGEST), os.fstat(file.fileno()).st_mtime
    except (OSError, ValueError, RuntimeError):  # a path that is too long, a loop of links
        return None


def _age(path: Path, changed: datetime, report: ReportInfo) -> str:
    if report.created is None:
        return f"shown as {path.name} is now: the report does not say when it was made"
    if changed > report.created:
        return f"{path.name} has changed since the report was made: its lines may have moved"
    return ""
