"""Build the command that ncu runs for a target: a command line as it is, or a new Python that calls a pickled function.

``program_of`` takes the target, ncu's options and a folder, and returns the command with its options (``call.py``).
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shlex import split
from typing import Any

from ncuview.base.errors import UsageError
from ncuview.profiling.options import CallStacks, NcuOptions
from ncuview.profiling.privileges import invoking_user
from ncuview.profiling.program import python_script

Target = str | Sequence[str] | Callable[[], object]

_CHILD = Path(__file__).with_name("call.py")


def program_of(target: Target, options: NcuOptions, folder: Path) -> tuple[list[str], NcuOptions]:
    """The command that runs a target, and ncu's options for it.

    Args:
        target: A command as one string, as typed in a shell, or as its words; a first word that ends in ``.py`` is run
            by this Python. Or a function without parameters (``functools.partial`` binds arguments).
        options: ncu's options. Call stacks are recorded unless they name others; for a function, only its own launches
            are profiled in any case.
        folder: An existing folder for the function's pickle; it must stay until the program has ended.

    Raises:
        UsageError: The command is empty, cannot be split into words or names a missing Python file, or the function
            cannot be pickled.
    """
    if options.call_stack is None:
        options = replace(options, call_stack=CallStacks.ALL)
    if callable(target):
        return _python_that_calls(target, folder), replace(options, profile_from_start=False)
    return _words(target), options


def _words(command: str | Sequence[str]) -> list[str]:
    try:
        words = split(command) if isinstance(command, str) else [str(word) for word in command]
    except ValueError as error:
        raise UsageError(f"{command!r} is no command: {error}", hint="Quote it as in a shell.") from error
    if not words or not words[0].strip():
        raise UsageError("there is no command to profile", hint='Give one: profile(["./my_program", "--size", "100"]).')
    return python_script(Path(words[0]), words[1:]) if words[0].endswith(".py") else words


def _python_that_calls(function: Callable[[], object], folder: Path) -> list[str]:
    """Write the function to a file, and return the command that runs it with this Python and its module search path."""
    sent = folder / "sent" / "call.pickle"
    sent.parent.mkdir()
    search = [str(Path(place).absolute()) for place in sys.path]
    sent.write_bytes(pickle.dumps(search) + _pickled(function))
    if user := invoking_user():
        folder.chmod(0o711)  # the user's function must be readable; the folder of reports stays root's
        user.hand_over([sent, sent.parent])
    # -P: the folder of call.py holds modules that would hide others of the same name.
    return [sys.executable, "-P", str(_CHILD), str(sent)]


def _pickled(function: Callable[[], object]) -> bytes:
    """The function pickled by its name where it can be imported, else by its code, which needs cloudpickle.

    Raises:
        UsageError: It cannot be pickled.
    """
    name = getattr(function, "__qualname__", repr(function))
    try:
        if find_spec("cloudpickle"):
            return bytes(import_module("cloudpickle").dumps(function))
        _refuse_main(function, name)
        return pickle.dumps(function)
    except UsageError:
        raise
    except Exception as error:  # each type raises its own error when it cannot be pickled
        raise UsageError(
            f"{name} cannot be sent to the Python that ncu profiles: {error}",
            hint=_HINT if find_spec("cloudpickle") is None else "Create the objects that it uses inside the function.",
        ) from error


_HINT = "pip install 'ncuview[notebook]', or put the function into a module that can be imported."


def _refuse_main(function: Any, name: str) -> None:
    """Refuse a function of a script or a notebook: without cloudpickle the child would import it from its own main."""
    parts = [function]
    while parts:
        part = parts.pop()
        if isinstance(part, partial):
            parts += [part.func, *part.args, *part.keywords.values()]
        elif getattr(part, "__module__", None) == "__main__" or type(part).__module__ == "__main__":
            raise UsageError(f"{name} is defined in the program itself, which another Python cannot import", hint=_HINT)
