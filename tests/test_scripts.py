"""The scripts beside the package parse their command lines with typer or argparse, and refuse wrong ones with 2."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.together import together

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("validation", "tools", "benchmarks", "fuzz", "tests/snapshot")
SCRIPTS = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts): path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "__main__" in path.read_text(encoding="utf-8")
}
PARSING = [name for name, path in SCRIPTS.items() if {"typer", "argparse"} & set(path.read_text("utf-8").split())]


def reads_words(path: Path) -> bool:
    """Whether it reads ``sys.argv``, which typer and argparse do for it."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return any(
        isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.argv" and isinstance(node.ctx, ast.Load)
        for node in nodes
    )


def refused(name: str, *words: str) -> object:
    """The exit code for these words, in this process."""
    with patch("sys.argv", [name, *words]), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPTS[name]), run_name="__main__")
    return ended.value.code


@together("script", SCRIPTS)
def test_no_script_reads_the_command_line_itself(script: str) -> None:
    assert not reads_words(SCRIPTS[script])


@together("script", PARSING)
def test_an_unknown_option_is_refused(script: str) -> None:
    assert refused(script, "--no-such-option") == 2


@pytest.mark.parametrize(
    "words",
    [
        "validation.rule_numbers shwo VALUES.pickle",
        "validation.rule_numbers show",
        "validation.score no-such-set",
        "validation.measure OUT p999",
        "validation.variants OUT no-such-variant",
        "validation.coverage",
        "tools.new_release compar old new",
        "tools.json_versions wirte FILE",
        "tests.snapshot.__main__ write catalog FILE",
    ],
)
def test_what_does_not_exist_is_refused(words: str) -> None:
    assert refused(*words.split()) == 2
