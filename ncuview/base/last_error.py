"""Keep what kind of error ended the last failing run, for ``ncuview doctor --bundle``: ``keep`` and ``last_error``.

Kept are the id, the exit code and the places in ncuview's own code, in the user's state folder. Neither the message nor
the command line is kept: both name what is the user's.
"""

from __future__ import annotations

import json
import os
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from ncuview.base.files import open_regular, replace_file
from ncuview.base.version import VERSION

_PACKAGE = Path(__file__).resolve().parents[1]
_LARGEST = 1 << 16


def keep(error: BaseException, exit_code: int) -> None:
    """Keep what ended this run; where that cannot be written, nothing is kept."""
    file = _file()
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
    file = _file()
    if file is None:
        return None
    try:
        with open_regular(file, _LARGEST) as opened:
            found = json.load(opened)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _file() -> Path | None:
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    with suppress(RuntimeError):  # a user without a home folder
        folder = named if named.is_absolute() else Path.home() / ".local" / "state"
        return folder / "ncuview" / "last-error.json"
    return None
