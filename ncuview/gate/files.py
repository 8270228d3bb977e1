"""Read text files of bounded size, and JSON files into pydantic models; write JSON text atomically.

``read_text``, ``read_json`` and ``write_json`` take a path and raise the caller's error class with its hint.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ncuview.base.errors import NcuviewError
from ncuview.base.files import exists, is_file, is_folder, replace_file, text_of

MOST_BYTES = 64 * 2**20
MOST_VALUES = 1_000_000
"""Limit for a JSON file: each wrong value needs up to 3 KB for its message until the first message is chosen."""

_Form = TypeVar("_Form", bound=BaseModel)


def read_text(path: Path, error: type[NcuviewError], hint: str, most: int = MOST_BYTES) -> str | None:
    """The text of a file; None where there is no such file.

    Raises:
        NcuviewError: Of the given type: the file cannot be read, is not a regular file, or is larger than ``most``
            bytes.
    """
    try:
        return text_of(path, most)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as problem:
        if isinstance(problem, PermissionError) and not os.access(path.parent, os.X_OK):
            return None  # in another user's home, which has none of our files
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise error(f"{path} cannot be read: {reason}", hint=hint) from problem


def read_json(path: Path, form: type[_Form], error: type[NcuviewError], hint: str) -> _Form | None:
    """A JSON file as a model of type ``form``; None where there is no such file.

    Raises:
        NcuviewError: Of the given type: the file cannot be used; the message names the wrong key.
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
    """Whether a JSON file has too many values; each value but the first follows a comma."""
    return text.count(",") >= MOST_VALUES


def write_json(path: Path, text: str, error: type[NcuviewError]) -> None:
    """Replace a file atomically: the new file is on disk before it takes the name.

    Raises:
        NcuviewError: Of the given type: the file cannot be written, or would be too large to read again. An existing
            file is unchanged then.
    """
    data = text.encode()
    if len(data) > MOST_BYTES or _holds_too_much(text):
        raise error(f"{path} is not written: it would be too large to be read again", hint="Keep fewer kernels in it.")
    target = path.resolve()  # replace the target of a link, not the link
    if exists(target) and not is_file(target) and not is_folder(target):
        raise error(
            f"{path} is no regular file", hint="Name a regular file: a device or pipe would be replaced by one."
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, data)
    except OSError as problem:
        raise error(f"{path} cannot be written: {problem.strerror}", hint="Name a file in another folder.") from problem
