"""``-v`` and ``-q`` on every command: ``with_verbosity`` adds them, and sets ``cli.printing.detail``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from ncuview.base.errors import UsageError
from ncuview.cli.printing import set_detail

_OPTIONS = {
    "verbose": typer.Option("--verbose", "-v", help="Print more: what every rule found, and the checks that passed."),
    "quiet": typer.Option("--quiet", "-q", help="Print less: a line for each kernel, no progress, no notes."),
}


def with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """The command with ``--verbose`` and ``--quiet``; together they are refused."""
    own = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, shown])
        for name, shown in _OPTIONS.items()
    ]

    @wraps(command)
    def run(*args: Any, verbose: bool, quiet: bool, **values: Any) -> None:
        if verbose and quiet:
            raise UsageError("--verbose and --quiet ask for opposites", hint="Give one of them.")
        set_detail("verbose" if verbose else "quiet" if quiet else "normal")
        command(*args, **values)

    run.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (*own.parameters.values(), *added)}
    return run
