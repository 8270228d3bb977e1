"""``Inputs``: which rules are evaluated, and the types of ncu's options."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import NoneType
from typing import get_args

import pytest

from ncuview.api import load_rules
from ncuview.cli.analyze import analyze
from ncuview.cli.inputs import Inputs
from ncuview.profiling.options import OPTIONS


def test_without_options_about_rules_none_is_loaded_before_ncu_runs() -> None:
    assert Inputs(program=None).chosen_rules() is None


@pytest.mark.parametrize(
    ("inputs", "kept"),
    [(Inputs(program=None, select=["SMEM"]), True), (Inputs(program=None, ignore=["SMEM"]), False)],
)
def test_select_keeps_and_ignore_leaves_out(inputs: Inputs, kept: bool) -> None:
    chosen = inputs.chosen_rules()
    assert chosen is not None
    codes = {rule.text.code for rule in load_rules()}
    assert {rule.text.code for rule in chosen} == {code for code in codes if code.startswith("SMEM") == kept}


def test_a_folder_of_rules_adds_to_the_shipped_ones(tmp_path: Path) -> None:
    shipped = next(rule for rule in load_rules() if rule.text.code == "GRID001")
    text = shipped.path.read_text(encoding="utf-8").replace('"GRID001"', '"GRID901"').replace('"small-grid"', '"mine"')
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "GRID901-mine.toml").write_text(text, encoding="utf-8")
    chosen = Inputs(program=None, rules=[tmp_path]).chosen_rules()
    assert chosen is not None
    assert {rule.text.code for rule in chosen} == {rule.text.code for rule in load_rules()} | {"GRID901"}


def test_an_option_of_ncu_may_be_absent_where_its_default_is_none() -> None:
    parameters = inspect.signature(analyze).parameters
    for option in OPTIONS:
        annotation, default = parameters[option.name].annotation, parameters[option.name].default.default
        assert (NoneType in get_args(annotation)) == (default is None), option.name
