"""Paths of the shipped ``kernels`` and ``rules`` folders, and of the user's two files that ``calibrate`` writes.

``shipped`` looks in the installed package, else in the checkout; ``users_table`` and ``users_spreads`` may be None.
The user's files are in the XDG configuration folder.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_USERS_TABLE = Path("ncuview", "attainable.toml")
_USERS_SPREADS = Path("ncuview", "spread.json")


@cache
def shipped(name: str) -> Path:
    """The folder ``kernels`` or ``rules``: inside the installed package, else beside it in a checkout."""
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def users_table() -> Path | None:
    """The table that ``ncuview calibrate`` writes for this user; None for a user without a home folder."""
    return _of_user(_USERS_TABLE)


def users_spreads() -> Path | None:
    """The file that ``ncuview calibrate --repeat`` writes for this user; None for a user without a home folder."""
    return _of_user(_USERS_SPREADS)


def _of_user(file: Path) -> Path | None:
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if named.is_absolute():  # the XDG specification: a relative one is ignored
        return named / file
    try:
        return Path.home() / ".config" / file
    except RuntimeError:
        return None
