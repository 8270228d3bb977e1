"""An option that takes one value is refused where it is given twice: the first value would be lost without a word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from ncuview.base.errors import UsageError
from ncuview.cli.app import app
from ncuview.cli.repeated_options import refuse_repeated
from tests.command_line import DIVERGENCE, assert_failed
from tests.command_line import ncuview as run


def options() -> Iterator[Any]:
    """Each command with each of its options that takes a value."""

    def below(command: Any) -> Iterator[Any]:
        for each in command.params:
            if each.param_type_name == "option" and not each.is_flag:
                yield pytest.param(command, each, id=f"{command.name} {each.opts[0]}")
        for each in getattr(command, "commands", {}).values():
            yield from below(each)

    yield from below(typer.main.get_command(app))


@pytest.mark.parametrize(("command", "option"), list(options()))
def test_only_an_option_that_keeps_all_its_values_may_be_repeated(command: Any, option: Any) -> None:
    name = option.opts[0]
    context = typer.Context(command, info_name="command")
    words = [name, "1", name, "2"]
    if option.multiple:
        refuse_repeated(command, context, words)
    else:
        with pytest.raises(UsageError, match="is given 2 times"):
            refuse_repeated(command, context, words)


def test_the_second_grid_of_a_launch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("__global__ void k(float *a) { a[threadIdx.x] = 1; }\n", encoding="utf-8")
    launch = ("--grid", "1", "--grid=2", "--block", "32", "--arg", "out float32[64]")
    assert_failed(run("analyze", tmp_path / "k.cu", *launch), 2, "--grid is given 2 times", "give it once")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--log-level", "info", "--log-level", "debug", "kernels"), "--log-level"),
        (("analyze", DIVERGENCE, "-k", "a", "--kernel-name", "b"), "--kernel-name/-k"),
        (("analyze", "copy", "--live", "--recorded"), "--live/--recorded"),
    ],
)
def test_so_are_two_names_of_one_option(words: tuple[str, ...], name: str) -> None:
    assert_failed(run(*words), 2, f"{name} is given 2 times")


def test_a_switch_and_words_of_a_program_may_be_repeated() -> None:
    assert run("analyze", "--dry-run", "--dry-run", "--", "/bin/true", "--grid", "1", "--grid", "2").code == 0
