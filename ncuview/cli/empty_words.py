"""``refuse_empty`` refuses an empty argument or option value with a ``UsageError``.

An unset shell variable must never select everything; only ``--ncu-args`` and ``--nvcc-args`` may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ncuview.base.errors import UsageError

_MAY_BE_EMPTY = {"ncu_args", "nvcc_args"}
"""Optional further options of another program."""
_HELP = ("help", "help_ncu", "help_all")


def refuse_empty(command: Any, context: Any, words: list[str]) -> None:
    """Refuse an empty word before conversion: an empty path becomes the current folder. ``--help`` has priority.

    Raises:
        UsageError: A word is empty or blank.
    """
    if context.resilient_parsing:  # a shell asks for completions
        return
    given, _, _ = command.make_parser(context).parse_args(list(words))
    if any(given.get(name) for name in _HELP):
        return
    for parameter in command.get_params(context):
        if parameter.name not in _MAY_BE_EMPTY and any(not word.strip() for word in _texts(given.get(parameter.name))):
            raise UsageError(
                f"{_name(parameter)} is empty",
                hint="A shell variable may be unset. Leave the option or argument out to use its default.",
            )


def _texts(value: object) -> Iterator[str]:
    """The words of one parameter; a switch has no words."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        yield from (word for word in value if isinstance(word, str))


def _name(parameter: Any) -> str:
    """``--kernel-name, -k``; for an argument the first word of its usage, such as TARGET."""
    if parameter.param_type_name == "option":
        return ", ".join(parameter.opts)
    words: list[str] = re.findall(r"\w+", parameter.metavar or parameter.name.upper())
    return words[0]
