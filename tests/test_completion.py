"""Shell completion, asked for as a shell asks: by variables, of a child process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.catalogue.kernels import all_kernels
from ncuview.cli.completion import rule_names
from ncuview.engine.rule_file import load_rules


def run(*words: str, python: tuple[str, ...] = (), **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, "-m", "ncuview", *words]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def completed(line: str, *, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """What bash gets for a line whose last word is not finished."""
    at = str(len(line.split(" ")) - 1)
    return run(python=python, _NCUVIEW_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=at)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ncuview exp", ["explain"]),
        ("ncuview --log-level in", ["info"]),
        ("ncuview --version ru", ["rules"]),
        ("ncuview ladder tra", ["transfers", "transpose"]),
        ("ncuview explain shared-b", ["shared-bank-conflict"]),
        ("ncuview rules --fo", ["--format"]),
        ("ncuview analyze transposeNaiv", ["transposeNaive"]),
        ("ncuview check --select SMEM001", ["SMEM001"]),
        ("ncuview analyze mine.ncu", []),
        ("ncuview metrics gld_eff", ["gld_efficiency"]),
    ],
)
def test_a_word_is_completed(line: str, words: list[str]) -> None:
    answer = completed(line)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.split() == words


def test_an_empty_word_names_all() -> None:
    assert set(completed("ncuview analyze ").stdout.split()) == {kernel.name for kernel in all_kernels()}


def test_rules_are_named_by_their_files() -> None:
    names = {word for rule in load_rules() for word in (rule.text.code, rule.text.name)}
    assert set(rule_names("")) == names


@pytest.mark.parametrize("line", ["ncuview exp", "ncuview explain S", "ncuview ladder t", "ncuview analyze t"])
def test_completion_loads_no_data_frames_and_no_reader(line: str) -> None:
    imported = completed(line, python=("-X", "importtime")).stderr
    assert "typer" in imported
    assert not [name for name in ("pandas", "ncu_report", "ncuview.reader", "ncuview.render.html") if name in imported]


def named(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """The options with the shell as their value, where typer does not look which one runs."""
    return run(*words, python=(), HOME=str(home), _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")


def test_completion_is_installed_and_shown(tmp_path: Path) -> None:
    ended = named("--install-completion", "bash", home=tmp_path)
    assert ended.returncode == 0, ended.stderr
    script = (tmp_path / ".bash_completions" / "ncuview.sh").read_text()
    assert "_NCUVIEW_COMPLETE=complete_bash" in script
    assert named("--show-completion", "bash", home=tmp_path).stdout.strip() == script.strip()


def test_a_shell_that_is_not_known_is_a_usage_error() -> None:
    assert run(_NCUVIEW_COMPLETE="complete_tcsh").returncode == 2
