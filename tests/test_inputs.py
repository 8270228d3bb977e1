"""``Inputs``: which rules are evaluated, and the types of ncu's options."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import get_args

import pytest

from ncuview.api import load_rules
from ncuview.base.errors import UsageError
from ncuview.base.paths import shipped
from ncuview.cli.analyze import analyze
from ncuview.cli.inputs import Inputs
from ncuview.pipeline import profiled
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


@pytest.mark.parametrize(
    ("mine", "verdict"), [(None, "not-yours"), (["^void cub"], "advice"), (["x", "cuda_fp16"], "advice")]
)
def test_a_pattern_makes_kernels_the_users(
    mine: list[str] | None, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = shipped("kernels") / "transpose" / "h200.ncu-repz"
    found = profiled.read_with_sources([report], "transposeCoalesced")
    theirs = replace(
        found,
        launches=found.launches.assign(demangled="void cub::Transpose<int>(T1)"),
        instructions=found.instructions.assign(file="/usr/local/cuda/include/cuda_fp16.hpp"),
        call_sites={},
    )
    monkeypatch.setattr(profiled, "read_with_sources", lambda *_args, **_kwargs: theirs)
    inputs = Inputs(program=None, targets=[str(report)], mine=mine)
    inputs.refuse_conflicting_options()
    (launch,) = inputs.examine(None, lambda _: None).diagnosis.launches
    assert launch.verdict == verdict


@pytest.mark.parametrize(("pattern", "said"), [("(", "--mine \\( is no pattern"), ("", "--mine names no pattern")])
def test_what_is_no_pattern_is_refused_before_anything_is_read(pattern: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Inputs(program=None, targets=["missing.ncu-rep"], mine=["mine", pattern]).refuse_conflicting_options()


def test_an_option_of_ncu_may_be_absent_where_its_default_is_none() -> None:
    parameters = inspect.signature(analyze).parameters
    for option in OPTIONS:
        annotation, default = parameters[option.name].annotation, parameters[option.name].default.default
        assert (NoneType in get_args(annotation)) == (default is None), option.name
