"""``Roots``: the folders that a client may name files in, and the place of a name below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ncuview.base.errors import OutsideRoots, UsageError
from ncuview.base.files import exists, is_below, is_file, is_folder
from ncuview.base.report_files import named_path, report_files

_HINT = "Name a file below the folders that the server was started with (ncuview mcp --root DIR)."


@dataclass(frozen=True)
class Roots:
    """Folders without links in their paths; a relative name is looked up in each, in this order.

    The first one is the current folder of the process that uses them.
    """

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, named: Iterable[Path]) -> Self:
        """The roots that the user names.

        Raises:
            UsageError: One is no folder.
        """
        folders = tuple(dict.fromkeys(named))
        for each in folders:
            if not is_folder(each):
                raise UsageError(f"--root {each} is no folder")
        return cls(tuple(each.resolve() for each in folders))

    def place(self, name: str) -> Path:
        """The path that a name means, from the first root on where it is below that. The file need not exist.

        Raises:
            UsageError: The name is empty.
            OutsideRoots: It contains ``..``, or is, or is a link to, a place that is below no root.
        """
        path = named_path(name)
        if ".." in path.parts:
            raise OutsideRoots(f"{name!r} has a part '..'", hint=_HINT)
        places = [folder / path for folder in self.folders]  # an absolute path stays itself
        place = next((each for each in places if is_below(_resolved(each), self.folders) and each.exists()), places[0])
        if not is_below(_resolved(place), self.folders):
            raise OutsideRoots(f"{name!r} is outside of the folders that may be read", hint=_HINT)
        first = self.folders[0]
        return place.relative_to(first) if place.is_relative_to(first) else place

    def reports(self, names: Sequence[str]) -> tuple[Path, ...]:
        """The report files that names of files and folders mean.

        Raises:
            UsageError: As for ``place``; also where a folder holds a link that leads out of the roots.
            ReportError: A folder holds no report, or may not be searched.
        """
        files = report_files(self.place(name) for name in names)
        for file in files:
            self._check(file)
        return files

    def file(self, name: str) -> Path:
        """The path of a file that is no pipe or device; it need not exist.

        Raises:
            UsageError: As for ``place``; also where it is none.
        """
        path = self.place(name)
        if exists(path) and not is_file(path):
            raise UsageError(f"{name} is a folder, pipe or device, not a file")
        return path

    def folder(self, name: str) -> Path:
        """The path of a folder, which need not exist, in which no link leads out of the roots.

        Raises:
            UsageError: As for ``place``; also where a link in it leads out, or a pipe or device lies in it.
        """
        place = self.place(name)
        for each in place.rglob("*"):
            self._check(each)
            if not is_folder(each) and not is_file(each):
                raise UsageError(f"{str(each)!r} is a pipe or device, not a file")
        return place

    def _check(self, path: Path) -> None:
        if not is_below(_resolved(path), self.folders):
            raise OutsideRoots(f"{str(path)!r} is a link that leads out of the folders that may be read", hint=_HINT)


def _resolved(path: Path) -> Path:
    """Where a path leads.

    Raises:
        OutsideRoots: It leads nowhere: a loop of links, or a name that no file can have.
    """
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise OutsideRoots(f"{str(path)!r} leads to no file", hint=_HINT) from error
