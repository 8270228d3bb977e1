"""Keep the diagnoses of reports and recorded profiles for the next run: ``kept`` gives the ``Entry`` of a request.

``Entry.read`` returns the earlier diagnosis where all that it depends on is as it was: reports by their content, rules,
tables of GPUs, ncuview, libraries, options, and the sources on this machine. The entry's name is a hash of what is
known before a report is read (``inputs_of``); the sources that the report names are stored in it and compared.
``Entry.write`` keeps a diagnosis, unless it is incomplete, has a warning, or is of a run on this machine's GPU.
``name_of``, ``source_states`` and ``are_unchanged`` are for who keeps a diagnosis elsewhere.

Reading an entry loads neither pandas nor NumPy nor rules.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ncuview
from ncuview.base.errors import NcuviewError
from ncuview.base.files import open_regular, repository_of
from ncuview.base.log import LOG
from ncuview.base.paths import shipped, users_cache, users_table
from ncuview.base.private_files import PrivateFolder
from ncuview.base.report_files import are_reports, report_files, sidecar
from ncuview.base.source_files import files_below
from ncuview.base.system import left_out
from ncuview.base.version import VERSION
from ncuview.engine.rule_packs import pack_folders
from ncuview.reader.source import LARGEST as LARGEST_SOURCE
from ncuview.reader.source import sources_named
from ncuview.records.exact import from_json, to_json

if TYPE_CHECKING:
    from ncuview.engine.rule_file import Rule
    from ncuview.pipeline.examine import Examined
    from ncuview.records.diagnosis import Diagnosis

MOST = 500 << 20
"""Bytes of all answers together."""
LARGEST = 64 << 20
"""Bytes of one answer; one of 1,000 launches takes 20 MB."""
LARGEST_REPORTS = 1 << 30
"""Bytes of the reports of an answer that is kept: hashing more would delay the first answer."""
_LIBRARIES = ("google-re2", "ncu-report", "numpy", "pandas", "tree-sitter", "tree-sitter-cuda")
"""What decides about an answer beside ncuview."""
_PIECE = 1 << 20
_CLOCKS_DIFFER_NS = 2_000_000_000
"""How far the time of a file that is written now may lie in the past: some file systems count in two seconds."""
_CHANGED = 1
"""The place of a source's time in its state."""


SourceStates = Sequence[tuple[str, list[Any] | None]]
"""Files, each with where it is, when it was changed and a hash of its content; None where it cannot be read."""


@dataclass(frozen=True)
class Request:
    """The targets and options that a diagnosis depends on, as the user gave them."""

    targets: tuple[str, ...]
    live: bool | None = None
    kernel_name: str = ""
    source_folders: tuple[Path, ...] = ()
    rules: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    mine: tuple[str, ...] = ()


class Entry:
    """The place of one diagnosis."""

    def __init__(self, request: Request, folder: Path, name: str) -> None:
        self._request, self._name, self._started = request, name, time.time_ns() - _CLOCKS_DIFFER_NS
        self._folder = PrivateFolder(folder, MOST, LARGEST)

    def read(self) -> Diagnosis | None:
        """The diagnosis of an earlier run; None where there is none, or a source has changed."""
        content = self._folder.read(self._name)
        if content is None:
            return None
        sources, _, answer = content.partition(b"\n")
        try:
            if not are_unchanged(json.loads(sources)):
                return None
            found = from_json(answer)
        except (ValueError, TypeError):
            return None
        LOG.info("the diagnosis of an earlier run is used; --no-cache judges again")
        return found

    def write(self, examined: Examined, rules: Sequence[Rule] | None) -> None:
        """Keep a diagnosis, unless it is incomplete, or something that it depends on has changed since the start."""
        if examined.diagnosis.failure or left_out():
            return
        states = source_states(examined, rules)
        changed = any(state and state[_CHANGED] >= self._started for _, state in states)
        if not changed and name_of(self._request) == self._name:
            with suppress(TypeError):  # a value that no record declares
                text = f"{json.dumps(states)}\n{to_json(examined.diagnosis)}"
                self._folder.write(self._name, text.encode())


def kept(request: Request) -> Entry | None:
    """The entry of a request; None where nothing is kept."""
    folder, name = users_cache(), name_of(request)
    return Entry(request, folder, name) if folder and name else None


def name_of(request: Request) -> str:
    """A hash of what a diagnosis depends on; empty where it is made here and now, or cannot be made."""
    inputs = inputs_of(request)
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest() if inputs else ""


def source_states(examined: Examined, rules: Sequence[Rule] | None) -> SourceStates:
    """The sources that a diagnosis depends on too, which only its profile and rules name, and what they are now."""
    files = sorted({*sources_named(examined.profile), *_regions(rules)})
    return [(file, _state(file)) for file in files]


def are_unchanged(sources: SourceStates) -> bool:
    """Whether all sources still are what they were."""
    return all(_state(path) == state for path, state in sources)


def inputs_of(request: Request) -> dict[str, Any] | None:
    """What a diagnosis depends on, by name, as JSON values; None where it is made here and now, or cannot be made."""
    try:
        if are_reports(request.targets):
            if request.live is not None:
                return None
            target: Any = _of_reports(request.targets)
        else:
            target = _of_recorded(request.live)
        if target is None:
            return None
        packs, table = pack_folders(), users_table()
        return {
            "options": [*map(str, astuple(request))],
            "target": target,
            "version": VERSION,
            "python": sys.version,
            "libraries": [[name, _version(name)] for name in _LIBRARIES],
            "code": _stamps(Path(ncuview.__file__).parent),
            "kernels": _stamps(shipped("kernels")),
            "rules": _contents(shipped("rules").glob("**/*.toml")),
            "further rules": [_contents(folder.glob("*/*.toml")) for folder in request.rules],
            "packs": [[name, _contents(folder.glob("*/*.toml"))] for name, folder in packs],
            "user's table": _contents([table] if table and table.is_file() else []),
            "source folders": _searched(request.source_folders),
        }
    except (NcuviewError, OSError, ValueError):  # the command reports it, where it matters
        return None


def _of_reports(targets: Iterable[str]) -> list[Any] | None:
    files = report_files(targets)
    if sum(file.stat().st_size for file in files) > LARGEST_REPORTS:
        return None
    checksums = (place for place in map(sidecar, files) if os.path.lexists(place))
    return _contents([*files, *checksums])


def _of_recorded(live: bool | None) -> str | None:
    """Why the recorded profile is used; None where a kernel is profiled here."""
    from ncuview.profiling.machine import surely_missing_for_live

    if live is False:
        return "recorded"
    missing = None if live else surely_missing_for_live()
    return str(missing) if missing else None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _contents(files: Iterable[Path]) -> list[list[str]]:
    """Name and hash of each file.

    Raises:
        OSError: One cannot be read.
        ValueError: One is no regular file.
    """
    return [[str(file), _digest(file)] for file in sorted(files)]


def _digest(file: Path, largest: int | None = None) -> str:
    digest = hashlib.sha256()
    with open_regular(file, largest) as opened:
        while piece := opened.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _stamps(folder: Path) -> list[tuple[str, int, int]]:
    """Name, size and time of each file below a folder that ships; installing ncuview and editing a file change them."""
    return sorted((name, status.st_size, status.st_mtime_ns) for name, status in _below(str(folder)))


def _below(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.is_dir():
                yield entry.path, entry.stat()
            elif entry.name != "__pycache__":
                yield from _below(entry.path)


def _searched(folders: Sequence[Path]) -> list[Any]:
    """Name, size, time and place of the sources below the folders that the user names."""
    root = cache(lambda folder: _root(folder.resolve() / "any"))
    found = ((path, path.stat()) for paths in files_below(folders).values() for path in paths)
    return sorted([str(path), status.st_size, status.st_mtime_ns, root(path.parent)] for path, status in found)


def _regions(rules: Sequence[Rule] | None) -> Iterator[str]:
    """The files whose regions the rules of users and packages show."""
    if rules is None:
        from ncuview.engine.rule_file import load_rules

        rules = load_rules()
    for rule in rules:
        if not rule.path.is_relative_to(shipped("rules")):
            shown = (each for fix in rule.text.fix for each in (fix.before, fix.after) if each)
            own = (each.partition("#")[0] for each in shown if not each.startswith("kernels/"))
            yield from (str(rule.path.parent / file) for file in own)


def _state(file: str) -> list[Any] | None:
    """Where a file is, when it was changed, and its content; None where it is not there or cannot be read."""
    try:
        path = Path(file).resolve(strict=True)
        return [str(path), path.stat().st_mtime_ns, _digest(path, LARGEST_SOURCE), _root(path)]
    except (OSError, ValueError, RuntimeError):
        return None


def _root(file: Path) -> str:
    """What a patch of a file is relative to."""
    return str(repository_of(file) or Path.cwd())
