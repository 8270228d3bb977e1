"""Help is in panels, each with an example; the first page is short, and none shows Python's types."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from ncuview.cli.app import app
from ncuview.cli.help_panels import PANELS, Page, name_of, panels_of
from ncuview.profiling.options import OPTIONS
from tests.command_line import ncuview
from tests.documents import check_words
from tests.together import together

MOST = 20
"""The options on the first page."""


def commands() -> Iterator[tuple[str, Any, Any]]:
    """The words of each command, the command, and a context of it."""

    def below(command: Any, context: Any) -> Iterator[tuple[str, Any, Any]]:
        yield context.command_path.partition(" ")[2], command, context
        for name, inner in getattr(command, "commands", {}).items():
            yield from below(inner, inner.make_context(name, [], parent=context, resilient_parsing=True))

    group: Any = typer.main.get_command(app)
    yield from below(group, group.make_context("ncuview", [], resilient_parsing=True))


COMMANDS = list(commands())
OF_SEVERAL_PAGES = [each for each in COMMANDS if each[0] in {"analyze", "check"}]


@together("words, command, context", OF_SEVERAL_PAGES)
def test_the_first_page_has_few_options(words: str, command: Any, context: Any) -> None:
    rows = [name for _, panel in panels_of(command, context, Page.FIRST) for name, _ in panel if name.startswith("-")]
    assert len(rows) <= MOST, rows
    placed = [name for panel in PANELS[words] for name in panel.options if name.startswith("-")]
    assert len(placed) <= MOST, placed


@together("words, command, context", COMMANDS)
def test_each_option_is_in_one_panel_and_on_the_page_of_all(words: str, command: Any, context: Any) -> None:
    placed = [name for panel in PANELS[words] for name in panel.shown(Page.ALL)]
    assert len(set(placed)) == len(placed)
    names = [name_of(each) for each in command.get_params(context)]
    assert set(names) - set(placed) == set(), "an option is in no panel"
    assert set(placed) - set(names) == set(), "a panel names no option"
    shown = [row for _, rows in panels_of(command, context, Page.ALL) for row in rows]
    assert len(shown) == len(names)


@together("words, command, context", OF_SEVERAL_PAGES)
def test_the_page_of_ncu_has_its_options_and_no_others(words: str, command: Any, context: Any) -> None:
    shown = {name for _, rows in panels_of(command, context, Page.NCU) for name, _ in rows}
    flags = {f"--{each.flag}" for each in OPTIONS}
    assert {next(flag for flag in re.findall(r"--[\w-]+", row) if flag in flags) for row in shown} == flags
    page = ncuview(words, "--help-ncu")
    assert (page.code, page.err) == (0, "")
    assert "--replay-mode" in page.out
    assert "--select" not in page.out


@together("panel", [panel for panels in PANELS.values() for panel in panels])
def test_each_panel_has_an_example_that_parses(panel: Any) -> None:
    assert panel.example.startswith("ncuview ")
    if not panel.example.endswith("--help-ncu"):  # it would print the page
        check_words(panel.example)


@together("words", [words for words, _, _ in COMMANDS])
def test_no_page_shows_a_type_of_python(words: str) -> None:
    for page in ("--help", *(["--help-all"] if words in {"analyze", "check"} else [])):
        ended = ncuview(*words.split(), page)
        assert (ended.code, ended.err) == (0, "")
        assert not re.findall(r"(?<!\w)<(?:list|str|int|float|path|file|directory|bool)\b", ended.out, re.IGNORECASE)
        assert ended.out.count("Example: ncuview ") >= 1


@pytest.mark.parametrize("columns", ["60", "80", "140"])
def test_summaries_of_commands_are_complete(columns: str) -> None:
    page = " ".join(ncuview("--help", COLUMNS=columns).out.split())
    assert "..." not in page.replace("[ARGS]...", "")
    group: Any = COMMANDS[0][1]
    assert all(" ".join(command.help.partition("\n\n")[0].split()) in page for command in group.commands.values())


def test_an_argument_is_in_brackets_where_it_may_be_left_out() -> None:
    assert ncuview("kernels", "--help").out.startswith("Usage: ncuview kernels [OPTIONS] [FAMILY]\n")
    assert ncuview("diff", "--help").out.startswith("Usage: ncuview diff [OPTIONS] A [B]\n")
    assert ncuview("ladder", "--help").out.startswith("Usage: ncuview ladder [OPTIONS] FAMILY\n")


def test_help_loads_no_library_for_data_or_pages() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "ncuview", "analyze", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "typer" in loaded
    assert not loaded & {"pandas", "numpy", "rich", "ncu_report"}
