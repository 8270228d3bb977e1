"""Typer command and group classes that refuse an empty argument or option value with a ``UsageError``.

A shell variable that is not set must never mean "all"; only ``--ncu-args`` and ``--nvcc-args`` may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ncuview.base.errors import UsageError

_MAY_BE_EMPTY = {"ncu_args", "nvcc_args"}
"""Further options of another program, of which there may be none."""


class Command(TyperCommand):
    """A command whose words are not empty."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty word, then parse the words as typer does."""
        _refuse_empty(self, ctx, args)
        return super().parse_args(ctx, args)


class Group(TyperGroup):
    """A group of commands whose own words are not empty."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty word of the group, then parse the words as typer does."""
        _refuse_empty(self, ctx, args)
        return super().parse_args(ctx, args)


def _refuse_empty(command: Command | Group, context: Any, words: list[str]) -> None:
    """Refuse an empty word before it has a type: a path that is made of it is the current folder. Help comes first.

    Raises:
        UsageError: A word is empty or blank.
    """
    given, _, _ = command.make_parser(context).parse_args(list(words))
    if given.get("help"):
        return
    for parameter in command.get_params(context):
        if parameter.name not in _MAY_BE_EMPTY and any(not word.strip() for word in _texts(given.get(parameter.name))):
            raise UsageError(
                f"{_name(parameter)} is empty",
                hint="So is a variable of the shell that is not set. Leave it out where nothing is meant.",
            )


def _texts(value: object) -> Iterator[str]:
    """The words of one parameter; a switch has none."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (word for word in value if isinstance(word, str))


def _name(parameter: Any) -> str:
    """``--kernel-name, -k``; of an argument the first word of what the usage calls it, as TARGET."""
    if parameter.param_type_name == "option":
        return ", ".join(parameter.opts)
    words: list[str] = re.findall(r"\w+", parameter.metavar or parameter.name.upper())
    return words[0]
