"""Output formats of installed packages: entry points of ``ncuview.formats``, functions from a ``Diagnosis`` to text.

``further_formats`` lists their names, ``check_format`` loads one, and ``further_text`` applies it to a diagnosis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncuview.base.errors import UsageError
from ncuview.base.system import installed, used

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from ncuview.records.diagnosis import Diagnosis

GROUP = "ncuview.formats"


def further_formats() -> tuple[str, ...]:
    """The names of formats that packages add; a name of a built-in format has no effect."""
    return tuple(entry.name for entry in installed(GROUP))


def check_format(name: str) -> None:
    """Load a format before any work is done.

    Raises:
        PluginError: It cannot be loaded, or is not a function.
    """
    used(_entry(name), _function)


def further_text(diagnosis: Diagnosis, name: str) -> str:
    """A diagnosis in a format of an installed package.

    Raises:
        PluginError: The format cannot be loaded, fails, or returns no text.
        UsageError: There is no such format.
    """
    text: str = used(_entry(name), lambda function: _text(_function(function)(diagnosis)))
    return text


def _entry(name: str) -> EntryPoint:
    for entry in installed(GROUP):
        if entry.name == name:
            return entry
    raise UsageError(f"no output format {name!r}", hint="`pip install` the package that has it.")


def _function(given: object) -> Callable[[Diagnosis], object]:
    if not callable(given):
        raise TypeError(f"{given!r} is no function")
    return given


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"gives {type(given).__name__}, no text")
    return given
