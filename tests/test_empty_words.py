"""An empty argument, as of a shell variable that is not set, is refused and never means "all"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import typer

import ncuview
from ncuview import api
from ncuview.base.errors import UsageError
from ncuview.cli.app import app
from ncuview.pipeline import calibration
from ncuview.pipeline.history import history
from tests.command_line import DIVERGENCE, assert_failed
from tests.command_line import ncuview as run

MAY_BE_EMPTY = {"--ncu-args", "--nvcc-args"}
"""Further options of another program, of which there may be none."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder below which there is a report, which an empty target would find."""
    (tmp_path / "found.ncu-repz").symlink_to(DIVERGENCE)
    monkeypatch.chdir(tmp_path)


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each command with its words."""

    def below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        yield words, command
        for name, each in getattr(command, "commands", {}).items():
            yield from below((*words, name), each)

    yield from below((), typer.main.get_command(app))


def values() -> Iterator[tuple[tuple[str, ...], str]]:
    """Each command with each option of its own that takes a value."""
    for words, command in commands():
        for each in command.params:
            if each.param_type_name == "option" and not each.is_flag and each.opts[0] not in MAY_BE_EMPTY:
                yield words, each.opts[0]


def ended(*args: str) -> tuple[int, str]:
    """The command line in this process: its exit code, and what is said."""
    from ncuview.cli import app as program

    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["ncuview", *args])
        patch.setattr(program, "install_signal_handlers", lambda: None)
        patch.setattr(program, "print_error", lambda message, *_: said.append(message))
        patch.setattr(program, "print_message", said.append)
        with pytest.raises(SystemExit) as left:
            program.main()
    return cast("int", left.value.code), "\n".join(said)


@pytest.mark.parametrize(
    ("words", "name"), list(values()), ids=lambda value: value if isinstance(value, str) else " ".join(value)
)
def test_an_option_that_is_given_takes_a_value(words: tuple[str, ...], name: str) -> None:
    code, said = ended(*words, name, "")
    assert code == 2
    assert name in said.removesuffix(" is empty").split(", ")


@pytest.mark.parametrize(
    ("args", "name"),
    [
        (["check", "", "--budget", "budget.toml"], "TARGET"),
        (["analyze", ""], "TARGET"),
        (["analyze", "  "], "TARGET"),
        (["analyze", "found.ncu-repz", ""], "TARGET"),
        (["analyze", "--output=", "found.ncu-repz"], "--output"),
        (["analyze", "-k", "  ", "found.ncu-repz"], "-k"),
        (["analyze", "found.ncu-repz", "-o", "a.json", "-o", ""], "--output"),
        (["diff", "", "found.ncu-repz"], "A"),
        (["diff", "found.ncu-repz", ""], "B"),
        (["report", ""], "DIR"),
        (["scrub", "", "copy.ncu-rep"], "IN"),
        (["scrub", "found.ncu-repz", ""], "OUT"),
        (["calibrate", "--repeat", "6", ""], "KERNEL"),
        (["calibrate", "--from", ""], "--from"),
        (["ladder", ""], "FAMILY"),
        (["explain", ""], "RULE"),
        (["metrics", ""], "NAME"),
        (["rules", "check", ""], "DIR"),
        (["rules", "--rules", ""], "--rules"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_so_does_an_argument(args: list[str], name: str) -> None:
    code, said = ended(*args)
    assert code == 2
    assert name in said.removesuffix(" is empty").split(", ")


def test_the_user_reads_which_word_is_empty_and_why_it_may_be() -> None:
    assert_failed(run("analyze", "found.ncu-repz", "-k", ""), 2, "--kernel-name, -k is empty", "variable")


@pytest.mark.parametrize("program", [("",), ("  ", "--size", "3")], ids=["empty", "blank"])
def test_a_program_has_a_name(program: tuple[str, ...]) -> None:
    assert_failed(run("analyze", "--", *program), 2, "there is nothing to analyze")
    assert_failed(run("analyze", "--no-counters", "--", *program), 2, "there is nothing to analyze")
    assert_failed(run("calibrate", "--repeat", "6", "--", *program), 2, "there is no command to profile")


def test_words_of_a_program_may_be_empty() -> None:
    assert run("analyze", "--dry-run", "--", "/bin/true", "").code == 0


def test_no_further_options_are_none() -> None:
    assert run("analyze", "--dry-run", "--ncu-args", "", "--", "/bin/true").code == 0


def test_help_and_no_word_at_all_stay_what_they_are() -> None:
    assert run("analyze", "", "--help").code == 0
    assert_failed(run("analyze"), 2, "there is nothing to analyze")
    assert run("metrics").code == 0


def test_a_pattern_of_nothing_does_not_match_everything() -> None:
    assert_failed(run("analyze", "found.ncu-repz", "-k", "regex:"), 2, "regex: names no pattern")
    assert_failed(run("analyze", "--dry-run", "-k", "regex:", "--", "/bin/true"), 2, "regex: names no pattern")


@pytest.mark.parametrize("nothing", ["", "  "], ids=["empty", "blank"])
@pytest.mark.parametrize(
    "call",
    [
        ncuview.read,
        ncuview.analyze,
        lambda nothing: ncuview.read("found.ncu-repz", nothing),
        lambda nothing: api.compare(nothing, "found.ncu-repz"),
        calibration.calibrate,
        history,
        ncuview.run,
        lambda nothing: ncuview.run([nothing]),
        lambda nothing: ncuview.run(["/bin/true"], export=nothing),
    ],
    ids=["read", "analyze", "read two", "compare", "calibrate", "history", "run", "run words", "export"],
)
def test_the_library_does_not_take_it_for_the_current_folder(call: Callable[[str], object], nothing: str) -> None:
    with pytest.raises(UsageError):
        call(nothing)
