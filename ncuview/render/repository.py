"""Map source files, budgets and reports to paths in a repository (``Repository``), for annotations and code scanning.

Names come from reports and are not trusted: no file is opened, and a path that leaves the root, also through a link, is
outside. A report may hold a path relative to the folder of the build: it is looked up below the root by its end.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PureWindowsPath

from ncuview.base.errors import UsageError
from ncuview.base.source_files import files_below
from ncuview.records.diagnosis import Diagnosis, SourceLine
from ncuview.render.text import safe_text

_NO_FILE = "ncuview"


@dataclass(frozen=True)
class Repository:
    """A folder that paths are relative to."""

    root: Path

    def path(self, file: str) -> str | None:
        """The path of a source file relative to the root, with ``/``; None where it is outside or unknown.

        A relative path of the report that does not exist below the root stands for the one file below it whose path
        ends with it; None where there is no such file, or several.
        """
        inside = self._inside(file)
        if inside is None or Path(file).is_absolute():
            return inside
        if os.path.exists(Path(self.root, inside)):  # noqa: PTH110  (Path.exists raises for names that are too long)
            return inside
        named = self._files.get(inside.rpartition("/")[2], ())
        found = [path for path in named if path.as_posix().endswith(f"/{inside}")]
        return found[0].relative_to(self.root).as_posix() if len(found) == 1 else None

    def _inside(self, file: str) -> str | None:
        """The path relative to the root, whether it exists or not; None where it leaves the root or is unsafe."""
        if not file or safe_text(file) != file or "\\" in file:
            return None
        base = os.path.realpath(self.root)
        path = os.path.realpath(Path(base, file))
        if path == base or os.path.commonpath([base, path]) != base:
            return None
        return Path(path).relative_to(base).as_posix()

    @cached_property
    def _files(self) -> Mapping[str, Sequence[Path]]:
        """The source files below the root by their name; empty where there are too many to search."""
        try:
            return files_below([self.root])
        except UsageError:
            return {}

    def place(self, where: Sequence[SourceLine]) -> tuple[str, int] | None:
        """Path and line of the first line below the root; None where no line is below it."""
        for line in where:
            path = self.path(line.file)
            if path and line.line > 0:
                return path, line.line
        return None

    def report(self, diagnosis: Diagnosis) -> str:
        """The first report's path, for what has no line; its bare name where it is outside the root.

        Unlike paths of sources, a relative path of a report is relative to the current folder.
        """
        if not diagnosis.reports:
            return _NO_FILE
        path = diagnosis.reports[0].path
        name = PureWindowsPath(path).name  # splits at both kinds of slashes
        sound = name != ".." and safe_text(name) == name
        return self._inside(path and str(Path(path).absolute())) or (name if sound else "") or _NO_FILE
