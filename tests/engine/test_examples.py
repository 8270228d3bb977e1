"""The cases of a rule file are its tests: a wrong expectation is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ncuview.base.errors import RuleFileError
from ncuview.base.paths import shipped
from ncuview.engine.examples import run_cases
from ncuview.engine.rule_file import Rule, RuleFile, load_rule

RULE = load_rule(shipped("rules") / "shared_memory" / "shared-bank-conflict.toml")


def with_first_case(**changes: Any) -> Rule:
    content = RULE.text.model_dump(by_alias=True)
    content["case"][0].update(changes)
    return replace(RULE, text=RuleFile.model_validate(content))


def test_a_right_expectation_holds() -> None:
    assert run_cases(RULE) == len(RULE.text.case)


@pytest.mark.parametrize("expect", ["passed", "not_applicable"])
def test_a_wrong_outcome_is_refused_with_the_one_that_came(expect: str) -> None:
    with pytest.raises(RuleFileError, match=f"'a column of a 32x32 tile' gives finding, not {expect}"):
        run_cases(with_first_case(expect=expect))


def test_a_wrong_value_is_refused_with_the_one_that_came() -> None:
    with pytest.raises(RuleFileError, match=r"ways is 16\.5, not 20"):
        run_cases(with_first_case(values={"ways": 20.0}))


def test_a_value_that_the_rule_does_not_compute_is_refused() -> None:
    with pytest.raises(RuleFileError, match="no value 'wings'"):
        run_cases(with_first_case(values={"wings": 2.0}))


def test_a_value_may_be_given_to_three_digits() -> None:
    assert run_cases(with_first_case(values={"of_l1": 0.862}))


def test_a_fix_that_shows_nothing_is_refused() -> None:
    content = RULE.text.model_dump(by_alias=True)
    content["fix"][0]["after"] = "kernels/transpose/transposeNoBankConflicts.cu#nothing"
    with pytest.raises(RuleFileError, match="no region 'nothing'"):
        run_cases(replace(RULE, text=RuleFile.model_validate(content)))
