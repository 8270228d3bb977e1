"""``usage_error`` gives the text and exit code of a typer error, with the known names nearest to a wrong one."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ncuview.base.suggestion import did_you_mean

_CHOICE = re.compile(r"(?:Value error, )?'(?P<word>.*)' is not one of (?P<known>.*)\.")
_NUMBER = re.compile(r"Input should be a valid (?P<kind>integer|number), .*")
_COMMAND = re.compile(r"No such command '(?P<word>.*)'\.$")


def usage_error(error: Exception) -> tuple[str, int] | None:
    """The text and exit code of a typer error; None for any other."""
    show, code = getattr(error, "show", None), getattr(error, "exit_code", None)
    if not callable(show) or not isinstance(code, int):
        return None
    hint = _hint(error)
    shown = io.StringIO()
    show(shown)
    text = shown.getvalue().rstrip().replace(": Value error, ", ": ")
    text = _NUMBER.sub(lambda found: _no_number(error, found["kind"]), text)
    return f"{text}\n  {hint}" if hint else text, code


def _no_number(error: Exception, kind: str) -> str:
    """What replaces the sentence about a value that is no number, which does not repeat the value."""
    problems: list[dict[str, Any]] = getattr(error.__cause__ or error.__context__, "errors", list)()
    value = problems[0].get("input", "") if problems else ""
    return f"{str(value)!r} is no {kind.replace('integer', 'whole number')}"


def _hint(error: Exception) -> str:
    """What a wrong option, value or command may stand for."""
    message, context = str(getattr(error, "message", "")), getattr(error, "ctx", None)
    if context and (option := getattr(error, "option_name", "")):
        error.possibilities = None  # type: ignore[attr-defined]  # typer would name only some, in brackets
        parameters = context.command.get_params(context)
        if others := [f"`ncuview {name}`" for name in _commands_with(option, context.find_root())]:
            return f"{option} is an option of {', '.join(others)}."
        return did_you_mean(option, [name for each in parameters for name in (*each.opts, *each.secondary_opts)])
    if wrong := _CHOICE.search(message):
        return did_you_mean(wrong["word"], re.findall("'([^']*)'", wrong["known"]))
    if context and not context.parent and (wrong := _COMMAND.search(message)) and _is_target(wrong["word"]):
        return f"`ncuview analyze {wrong['word']}` diagnoses it."
    return ""


def _commands_with(option: str, root: Any) -> Iterator[str]:
    """The names of all commands that have an option."""
    found = [("", root.command)]
    for name, command in found:
        found += ((f"{name} {inner}".strip(), each) for inner, each in getattr(command, "commands", {}).items())
        if name and option in {word for each in command.params for word in (*each.opts, *each.secondary_opts)}:
            yield name


def _is_target(word: str) -> bool:
    """Whether a word is a file's name, or a kernel or family of the catalogue."""
    from ncuview.cli.completion import targets

    return bool(Path(word).suffix) or word in targets(word)
