"""Map source files, budgets and reports to paths in a repository (``Repository``), for annotations and code scanning.

Names come from reports and are not trusted: no file is opened, and a path that leaves the root, also through a link, is
outside.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from ncuview.records.diagnosis import Diagnosis, SourceLine
from ncuview.render.text import safe_text

_NO_FILE = "ncuview"


@dataclass(frozen=True)
class Repository:
    """A folder that paths are relative to."""

    root: Path

    def path(self, file: str) -> str | None:
        """The path of a file relative to the root, with ``/``; None where it is outside or has unsafe characters."""
        if not file or safe_text(file) != file or "\\" in file:
            return None
        base = os.path.realpath(self.root)
        path = os.path.realpath(Path(base, file))
        if path == base or os.path.commonpath([base, path]) != base:
            return None
        return Path(path).relative_to(base).as_posix()

    def place(self, where: Sequence[SourceLine]) -> tuple[str, int] | None:
        """Path and line of the first line below the root; None where no line is below it."""
        for line in where:
            path = self.path(line.file)
            if path and line.line > 0:
                return path, line.line
        return None

    def report(self, diagnosis: Diagnosis) -> str:
        """The first report's path, for what has no line; its bare name where it is outside the root."""
        if not diagnosis.reports:
            return _NO_FILE
        path = diagnosis.reports[0].path
        name = PureWindowsPath(path).name  # splits at both kinds of slashes
        sound = name != ".." and safe_text(name) == name
        return self.path(path) or (name if sound else "") or _NO_FILE
