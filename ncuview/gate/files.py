"""Files that a gate keeps: read when they are there, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from ncuview.errors import NcuviewError
from ncuview.files import replace_file


def read_text(path: Path, error: type[NcuviewError], hint: str) -> str | None:
    """What a file holds; None where there is none.

    Raises:
        NcuviewError: It is there and cannot be read; of the type that is given.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as problem:
        if isinstance(problem, PermissionError) and not os.access(path.parent, os.X_OK):
            return None  # another user's home: nothing of ours is there
        raise error(f"{path} cannot be read: {problem}", hint=hint) from problem


def write_whole(path: Path, text: str, error: type[NcuviewError]) -> None:
    """Put a file in another's place at once: a new file beside it, on disk before it takes the name.

    Raises:
        NcuviewError: It cannot be written; of the type that is given. What was there before is untouched.
    """
    target = path.resolve()  # a link stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, text.encode())
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}", hint="Name a file in another folder.") from problem
