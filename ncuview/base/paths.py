"""Where ncuview's files are: the shipped ``kernels`` and ``rules``, the files of the user, and the kept last error.

``shipped`` looks in the installed package, else in the checkout; ``current_repository`` is the user's; ``shown_path``
is a path without folders of this machine; ``users_table`` and ``users_spreads``, in the XDG configuration folder, and
``users_cache``, in the XDG cache folder, may be None. ``keep_error`` writes what kind of error ended the last failing
run, and ``last_error`` reads it for ``ncuview doctor --bundle``: the id, the exit code and the places in ncuview's own
code, in the XDG state folder. Neither the message nor the command line is kept: both name what is the user's.
"""

from __future__ import annotations

import json
import os
import traceback
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ncuview.base.files import open_regular, replace_file, repository_of
from ncuview.base.version import VERSION

_PACKAGE = Path(__file__).resolve().parents[1]
_LARGEST = 1 << 16
"""The most bytes of what is kept of an error."""


@cache
def shipped(name: str) -> Path:
    """The folder ``kernels`` or ``rules``: inside the installed package, else beside it in a checkout."""
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def current_repository() -> Path | None:
    """The root of the git repository that the current folder is in; None outside of one."""
    return repository_of(Path.cwd() / ".git")


def shown_path(path: str) -> str:
    """A path as outputs show it: from ``kernels`` or ``rules`` on, or from the current folder, where it is below one.

    Such an output names no folder of the machine that wrote it.
    """
    named = Path(path)
    if not named.is_absolute():
        return path
    roots = [(shipped(name), shipped(name).parent) for name in ("kernels", "rules")]
    with suppress(OSError):  # the current folder was removed
        roots.append((Path.cwd(), Path.cwd()))
    start = next((start for folder, start in roots if named != folder and named.is_relative_to(folder)), None)
    return named.relative_to(start).as_posix() if start else path


def users_table() -> Path | None:
    """The table that ``ncuview calibrate`` writes for this user; None for a user without a home folder."""
    return _of_user("attainable.toml")


def users_spreads() -> Path | None:
    """The file that ``ncuview calibrate --repeat`` writes for this user; None for a user without a home folder."""
    return _of_user("spread.json")


def users_cache() -> Path | None:
    """The folder of kept diagnoses; None for a user without a home folder, and for root by sudo."""
    return None if os.environ.get("SUDO_UID") else _of_user("diagnoses", "XDG_CACHE_HOME", ".cache")


def keep_error(error: BaseException, exit_code: int) -> None:
    """Keep what ended this run; where that cannot be written, nothing is kept."""
    file = _kept()
    if file is None or os.environ.get("SUDO_UID"):  # root leaves no files in the home of who called sudo
        return
    about = {
        "ncuview": VERSION,
        "id": getattr(error, "id", type(error).__name__),
        "exit_code": exit_code,
        "places": [
            f"{Path(frame.filename).relative_to(_PACKAGE).as_posix()}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
            if Path(frame.filename).is_relative_to(_PACKAGE)
        ],
    }
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, json.dumps(about, indent=2).encode(), mode=0o600)


def last_error() -> dict[str, Any] | None:
    """What was kept of the last failing run; None where there is none that can be read."""
    file = _kept()
    if file is None:
        return None
    try:
        with open_regular(file, _LARGEST) as opened:
            found = json.load(opened)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _of_user(name: str, variable: str = "XDG_CONFIG_HOME", default: str = ".config") -> Path | None:
    """A file of ncuview in a folder of the XDG specification, by which a relative folder is ignored."""
    named = Path(os.environ.get(variable, ""))
    try:
        return (named if named.is_absolute() else Path.home() / default) / "ncuview" / name
    except RuntimeError:  # a user without a home folder
        return None


def _kept() -> Path | None:
    return _of_user("last-error.json", "XDG_STATE_HOME", ".local/state")
