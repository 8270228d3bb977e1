"""Where things are: what ncuview ships, installed or in a checkout, and the user's own table."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_USERS_TABLE = Path("ncuview", "attainable.toml")


@cache
def shipped(name: str) -> Path:
    """The folder ``kernels`` or ``rules``: inside the installed package, else beside it in a checkout."""
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def users_table() -> Path | None:
    """The table that ``ncuview calibrate`` keeps for this user; None for a user without a home folder."""
    named = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if named.is_absolute():  # the XDG specification: a relative one is ignored
        return named / _USERS_TABLE
    try:
        return Path.home() / ".config" / _USERS_TABLE
    except RuntimeError:
        return None
