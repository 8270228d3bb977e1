"""What ncuview runs on: the operating system (``IS_LINUX``, ``usable_processors``, ``user_id``), installed plugins.

Reports are read everywhere. Profiling, and the sandbox of the process that reads reports, need Linux.
Plugins are entry points that installed packages add to ncuview: ``installed`` finds them by group; ``used`` loads one,
and converts any error to a ``PluginError`` that names entry point and package; ``leave_out`` logs, once, the text about
one that ncuview goes on without.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from ncuview.base.errors import PluginError
from ncuview.base.log import LOG

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
ADMINISTRATOR = 0
"""The number of the user who may do everything."""


def usable_processors() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def user_id() -> int | None:
    """The number of this process's user; None on Windows, where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def host_name() -> str:
    """The name of this machine."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, sorted by name; of two with one name, the first on the path."""
    return _installed(group, tuple(sys.path))


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    assert path is not None  # noqa: S101  (only a key of the cache: the result depends on it)
    found = {entry.name: entry for entry in reversed(tuple(entry_points(group=group)))}
    return tuple(found[name] for name in sorted(found))


def used(entry: EntryPoint, use: Callable[[Any], Any]) -> Any:
    """Load the object of an entry point, and return the result of ``use`` for it.

    Raises:
        PluginError: Loading or ``use`` fails.
    """
    try:
        return use(entry.load())
    except (Exception, SystemExit) as error:  # code of another package may raise anything
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise PluginError(
            f"entry point {entry.name!r} in {entry.group}, of {_package(entry)}, cannot be used: {said}",
            hint=f"Repair or uninstall {_package(entry)}; ncuview works without it.",
        ) from error


@cache
def leave_out(message: str, hint: str) -> None:
    """Log, once, what is left out and why; the command line shows it on standard error."""
    LOG.warning("%s. %s", message, hint)


def left_out() -> bool:
    """Whether anything was left out in this process."""
    return leave_out.cache_info().currsize > 0


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
