"""Where the kernels and rules that ncuview ships are, installed or in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


@cache
def shipped(name: str) -> Path:
    """The folder ``kernels`` or ``rules``: inside the installed package, else beside it in a checkout."""
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
