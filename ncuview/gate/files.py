"""Read text and JSON files of bounded size into pydantic models, and write such files atomically.

Budgets, baselines and spread tables use it; an unusable file raises the caller's error class with its hint.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ncuview.base.errors import NcuviewError
from ncuview.base.files import replace_file
from ncuview.base.toml_file import text_of

MOST_BYTES = 64 * 2**20
MOST_VALUES = 1_000_000
"""Of a JSON file: each may be wrong, and what is said of each takes up to 3 KB until the first is picked."""

_Form = TypeVar("_Form", bound=BaseModel)


def read_text(path: Path, error: type[NcuviewError], hint: str, most: int = MOST_BYTES) -> str | None:
    """What a file holds; None where there is none.

    Raises:
        NcuviewError: It is there and cannot be read, is no file, or is larger than ``most`` bytes; of the type that is
            given.
    """
    try:
        return text_of(path, most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        if isinstance(problem, PermissionError) and not os.access(path.parent, os.X_OK):
            return None  # another user's home: nothing of ours is there
        raise error(f"{path} cannot be read: {problem}", hint=hint) from problem


def read_json(path: Path, form: type[_Form], error: type[NcuviewError], hint: str) -> _Form | None:
    """What a JSON file holds, as a model of its form; None where there is none.

    Raises:
        NcuviewError: It is there and cannot be used; of the type that is given, with the key that is wrong.
    """
    text = read_text(path, error, hint)
    if text is None:
        return None
    if _holds_too_much(text):
        raise error(f"{path} holds more than {MOST_VALUES:,} values", hint=hint)
    try:
        return form.model_validate_json(text)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "file"
        raise error(f"{path}: {key}: {first['msg']}", hint=hint) from problem


def _holds_too_much(text: str) -> bool:
    """Whether a JSON file has too many values, of which all but the first follow a comma."""
    return text.count(",") >= MOST_VALUES


def write_json(path: Path, text: str, error: type[NcuviewError]) -> None:
    """Put a file in another's place at once: a new file beside it, on disk before it takes the name.

    Raises:
        NcuviewError: It cannot be written, or could not be read again; of the type that is given. What was there before
            is untouched.
    """
    data = text.encode()
    if len(data) > MOST_BYTES or _holds_too_much(text):
        raise error(f"{path} is not written: it would be too large to be read again", hint="Keep fewer kernels in it.")
    target = path.resolve()  # a link stays a link
    if target.exists() and not target.is_file() and not target.is_dir():
        raise error(f"{path} is no regular file", hint="Name a file: a device or pipe would be replaced by one.")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, data)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}", hint="Name a file in another folder.") from problem
