"""Read TOML files and texts of users and strangers into dicts, within limits of size, key depth and nesting.

``toml_of`` reads a file, ``parse_toml`` a text; ``text_of`` and ``beginning_of`` read a limited size of a file.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from ncuview.base.files import open_regular

LARGEST = 1 << 18
"""Bytes of a file; the largest of ours has 8,000."""
DEEPEST = 32
"""Parts of a dotted key. Python's parser takes a minute over one with 30,000 of them, which are 64 kB."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{DEEPEST}}}")


def toml_of(path: Path) -> dict[str, Any]:
    """What a file holds.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, too large, no UTF-8, or no TOML that ``parse_toml`` takes.
    """
    return parse_toml(text_of(path))


def text_of(path: Path, most: int = LARGEST) -> str:
    """The text of a file of ``most`` bytes.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file, larger, or no UTF-8.
    """
    data = beginning_of(path, most + 1)
    if len(data) > most:
        raise ValueError(f"is larger than {most:,} bytes")
    return data.decode("utf-8")


def beginning_of(path: Path, most: int) -> bytes:
    """The first bytes of a file, all where it has no more.

    Raises:
        OSError: It cannot be read.
        ValueError: It is no regular file.
    """
    with open_regular(path) as file:
        return file.read(most)


def parse_toml(text: str) -> dict[str, Any]:
    """What a text says.

    Raises:
        ValueError: It is no TOML, or nested or dotted deeper than anything sensible.
    """
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key has more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("is nested too deep") from error
