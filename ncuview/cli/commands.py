"""Typer classes ``Command`` and ``Group``: they refuse empty words and repeated options, and print help in panels.

``help_pages`` gives the options of further pages of help.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from ncuview.cli.empty_words import refuse_empty
from ncuview.cli.help_panels import Page, panels_of
from ncuview.cli.printing import color, print_text
from ncuview.cli.repeated_options import refuse_repeated

_METAVARS: dict[Any, str] = {int: "N", float: "NUMBER", Path: "FILE"}
"""By the type of a value; others are TEXT."""
_PAGE = "ncuview.help_page"
_WIDEST_NAME = 28


class Command(TyperCommand):
    """A command with help in panels; it refuses empty words and repeated options."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        _name_values(self.params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty word and a repeated option, then parse the words as typer does."""
        refuse_empty(self, ctx, args)
        refuse_repeated(self, ctx, args)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002  (typer calls it)
        """``[OPTIONS] TARGET...``: arguments in brackets only where they are optional."""
        words = [self.options_metavar or ""]
        for each in self.params:
            if each.param_type_name == "argument":
                word = each.metavar or str(each.name).upper()
                words.append(word if each.required or word.startswith("[") else f"[{word}]")
        return words

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the panels of the page that is asked for."""
        _write_panels(self, ctx, formatter)


class Group(TyperGroup):
    """A group of commands with help in panels; it refuses empty words and repeated options of its own."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        _name_values(self.params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an empty word and a repeated option of the group, then parse the words as typer does."""
        refuse_empty(self, ctx, args)
        refuse_repeated(self, ctx, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with the complete first paragraph of its help, then the options."""
        commands = [(name, (self.commands[name].help or "").partition("\n\n")[0]) for name in self.list_commands(ctx)]
        with formatter.section(_title("Commands")):
            formatter.write_dl(commands)
        _write_panels(self, ctx, formatter)


def help_pages() -> Iterator[inspect.Parameter]:
    """``--help-ncu`` and ``--help-all``, for commands whose help has several pages."""
    meanings = {
        Page.NCU: "Show the options of ncu.",
        Page.ALL: "Show all options, with those for a kernel in a .cu file.",
    }
    for page, meaning in meanings.items():
        name = f"help_{page.value}"
        shown = typer.Option(f"--help-{page.value}", help=meaning, is_eager=True, callback=_shows(page))
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, shown])


def _shows(page: Page) -> Any:
    def show(context: typer.Context, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            context.meta[_PAGE] = page
            print_text(f"{context.get_help()}\n")
            raise typer.Exit

    return show


def _name_values(parameters: Sequence[Any]) -> None:
    """Give each value a name for people where the command gives none; typer would show Python's type."""
    for each in parameters:
        if each.metavar is None and not getattr(each, "is_flag", False) and hasattr(each, "type_descriptor"):
            each.metavar = _metavar(each)


def _metavar(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.name).upper()
    declared = parameter.type_descriptor.annotation
    of_one = next(iter(get_args(declared)), declared)
    if isinstance(of_one, type) and issubclass(of_one, StrEnum):
        return "|".join(of_one)
    return _METAVARS.get(of_one, "TEXT")


def _write_panels(command: Command | Group, context: Any, formatter: Any) -> None:
    panels = list(panels_of(command, context, context.meta.get(_PAGE, Page.FIRST)))
    # All panels have one column of names.
    widest = max(len(name) for _, rows in panels for name, _ in rows if len(name) <= _WIDEST_NAME)
    for panel, rows in panels:
        with formatter.section(_title(panel.title)):
            formatter.write_dl([(name.ljust(widest), meaning) for name, meaning in rows], col_max=widest)
            formatter.write(f"{'':>{formatter.current_indent}}Example: {panel.example}\n")


def _title(text: str) -> str:
    return typer.style(text, bold=True) if color() else text
