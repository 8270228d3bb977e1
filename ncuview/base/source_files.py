"""``files_below`` finds the files with source code below folders, by name: for sources, patches and annotations."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath

from ncuview.base.errors import UsageError
from ncuview.base.files import is_folder

ENDINGS = frozenset(
    {".c", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".py", ".tcc"}
)
"""The endings of files that are opened."""
MOST_FILES = 100_000
"""The number of files in all folders that are searched."""


def files_below(folders: Iterable[Path]) -> dict[str, list[Path]]:
    """The name of each file with source code -> where files of that name are."""
    found: dict[str, list[Path]] = {}
    seen = 0
    for folder in folders:
        if not is_folder(folder):
            raise UsageError(f"{folder} is no folder", hint="--source-folders takes folders that hold source code.")
        for place, inner, names in os.walk(folder):
            inner[:] = [name for name in inner if not name.startswith(".")]
            seen += len(names)
            if seen > MOST_FILES:
                raise UsageError(
                    f"{folder} holds too much to search: more than {MOST_FILES:,} files", hint="Name a folder in it."
                )
            for name in names:
                if PurePath(name).suffix.lower() in ENDINGS:
                    found.setdefault(name, []).append(Path(place, name))
    return found
