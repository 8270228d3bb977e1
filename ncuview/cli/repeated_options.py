"""``refuse_repeated`` refuses an option that takes one value and is given twice, of which typer keeps the last."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ncuview.base.errors import UsageError


def refuse_repeated(command: Any, context: Any, words: list[str]) -> None:
    """Refuse a second value of an option with one value, and both names of a switch such as ``--live/--recorded``.

    Raises:
        UsageError: An option is repeated.
    """
    if context.resilient_parsing:  # a shell asks for completions
        return
    _, _, given = command.make_parser(context).parse_args(list(words))
    for each, times in Counter(given).items():
        if times > 1 and _takes_one_value(each):
            name = "/".join((*each.opts, *each.secondary_opts))
            raise UsageError(f"{name} is given {times} times", hint="It takes one value: give it once.")


def _takes_one_value(parameter: Any) -> bool:
    if parameter.param_type_name != "option" or parameter.multiple:
        return False
    return bool(parameter.secondary_opts) or not parameter.is_flag
