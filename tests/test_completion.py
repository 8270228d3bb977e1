"""Shell completion, asked for as a shell asks: by variables, of a child process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.catalogue.kernels import all_kernels, families
from ncuview.cli.completion import function_of, rule_names, targets
from ncuview.engine.rule_file import load_rules
from tests.command_line import RECORDED


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
        ("ncuview analyze load_strided[stride=1", ["load_strided[stride=16]"]),
        ("ncuview check diverge", ["divergence", "divergentOnWarpBorder", "divergentWithinWarp"]),
        ("ncuview kernels tra", ["transfers", "transpose"]),
        ("ncuview calibrate --repeat 6 dramR", ["dramRead"]),
        ("ncuview analyze x --ignore shared-b", ["shared-bank-conflict"]),
        ("ncuview analyze x --format j", ["json", "junit"]),
        ("ncuview report x --format h", ["html"]),
        ("ncuview analyze x --replay-mode app", ["app-range", "application"]),
        ("ncuview metrics samples_wai", ["samples_wait"]),
        ("ncuview metrics waits_for", ["waits_for_loads"]),
        ("ncuview analyze x --help-n", ["--help-ncu"]),
        ("ncuview check --select SMEM001", ["SMEM001"]),
        ("ncuview analyze mine.ncu", []),
        ("ncuview metrics gld_eff", ["gld_efficiency"]),
    ],
)
def test_a_word_is_completed(line: str, words: list[str]) -> None:
    answer = completed(line)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert sorted(answer.stdout.split()) == words


def test_the_kernels_of_a_report_complete_its_filter() -> None:
    answer = completed(f"ncuview analyze {RECORDED} -k transposeN")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.split() == ["transposeNaive", "transposeNoBankConflicts"]


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z14transposeNaivePfS_", "transposeNaive"),
        ("_ZN4blas5saxpyIfEEvPT_", "saxpy"),
        ("_Z5saxpyIfEvPT_", "saxpy"),
        ("_ZN12_GLOBAL__N_15scaleEPf", "scale"),
        ("plain", "plain"),
    ],
)
def test_the_name_of_a_kernel_is_the_one_that_the_filter_takes(mangled: str, name: str) -> None:
    assert function_of(mangled) == name


def test_an_empty_word_names_all() -> None:
    kernels, ladders = {kernel.function for kernel in all_kernels()}, set(families())
    assert set(completed("ncuview analyze ").stdout.split()) == kernels | ladders


def test_files_that_begin_like_a_kernel_are_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("divide.ncu-rep", "divide.cu", "divide.txt"):
        (tmp_path / name).touch()
    (tmp_path / "divided").mkdir()
    monkeypatch.chdir(tmp_path)
    assert {"divide.ncu-rep", "divide.cu", "divided/", "divergence"} <= set(targets("div"))
    assert "divide.txt" not in set(targets("div"))
    assert not list(targets("divide.")), "the shell completes files itself"


def test_zsh_and_fish_are_answered_too() -> None:
    """Their scripts pass the line in other variables."""
    line = "ncuview ladder transp"
    zsh = run(_NCUVIEW_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=line)
    fish = run(_NCUVIEW_COMPLETE="complete_fish", _TYPER_COMPLETE_ARGS=line, _TYPER_COMPLETE_FISH_ACTION="get-args")
    for answer in (zsh, fish):
        assert (answer.returncode, answer.stderr) == (0, "")
        assert "transpose" in answer.stdout


def test_rules_are_named_by_their_files() -> None:
    names = {word for rule in load_rules() for word in (rule.text.code, rule.text.name)}
    assert set(rule_names("")) == names


@pytest.mark.parametrize(
    "line",
    [
        "ncuview exp",
        "ncuview explain S",
        "ncuview ladder t",
        "ncuview analyze t",
        "ncuview check --select S",
        "ncuview metrics g",
        "ncuview analyze --format j",
    ],
)
def test_completion_loads_no_data_frames_and_no_reader(line: str) -> None:
    imported = completed(line, python=("-X", "importtime")).stderr
    assert "typer" in imported
    assert not [
        name for name in ("pandas", "ncu_report", "ncuview.reader.reader", "ncuview.render.html") if name in imported
    ]


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
