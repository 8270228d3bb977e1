"""Read untrusted TOML files and texts into dicts, within limits of size, key depth and nesting.

``toml_of`` reads a file, ``parse_toml`` a text; ``text_of`` and ``beginning_of`` read a limited size of a file.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from ncuview.base.files import open_regular

LARGEST = 1 << 18
"""The most bytes of a file; the largest that ships has 8,000."""
DEEPEST = 32
"""The most parts of a dotted key. Python's parser takes a minute for one of 64 kB with 30,000 parts."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEEPEST}}}")


def toml_of(path: Path) -> dict[str, Any]:
    """Parse a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, too large, not UTF-8, or no TOML that ``parse_toml`` accepts.
    """
    return parse_toml(text_of(path))


def text_of(path: Path, most: int = LARGEST) -> str:
    """The text of a file of at most ``most`` bytes.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, larger, or not UTF-8.
    """
    data = beginning_of(path, most + 1)
    if len(data) > most:
        raise ValueError(f"is larger than {most:,} bytes")
    return data.decode("utf-8")


def beginning_of(path: Path, most: int) -> bytes:
    """The first bytes of a file, at most ``most``.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file.
    """
    with open_regular(path) as file:
        return file.read(most)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a text.

    Raises:
        ValueError: It is no TOML, or exceeds the limits of nesting and of dotted keys.
    """
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key has more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
