"""Entry points that installed packages add to ncuview: found by group, loaded, and named in every complaint.

What a package adds may be broken in any way that Python knows; it becomes a ``PluginError`` that names entry point and
package. ``leave_out`` says so once through ``logging``, where ncuview goes on without it.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from ncuview.base.errors import PluginError
from ncuview.base.log import LOG

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, sorted by name; a name that two packages use stands for the first on the path."""
    return _installed(group, tuple(sys.path))


@cache
def _installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    from importlib.metadata import entry_points

    assert path is not None  # noqa: S101  (only a key: what is installed depends on it)
    found = {entry.name: entry for entry in reversed(tuple(entry_points(group=group)))}
    return tuple(found[name] for name in sorted(found))


def used(entry: EntryPoint, use: Callable[[Any], Any]) -> Any:
    """What ``use`` makes of the object that an entry point names.

    Raises:
        PluginError: Either fails.
    """
    try:
        return use(entry.load())
    except (Exception, SystemExit) as error:  # it is not our code
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        raise PluginError(
            f"entry point {entry.name!r} in {entry.group}, of {_package(entry)}, cannot be used: {said}",
            hint=f"Repair or uninstall {_package(entry)}; ncuview works without it.",
        ) from error


@cache
def leave_out(message: str, hint: str) -> None:
    """Say, once, what is left out and why; the command line shows it on standard error."""
    LOG.warning("%s. %s", message, hint)


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"
