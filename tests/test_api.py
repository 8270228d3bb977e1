"""Functions of the package that combine others: ``check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import ncuview
from ncuview.base.errors import BaselineMissing, BudgetError, UsageError
from ncuview.base.paths import shipped
from ncuview.gate.verdict import exit_code
from ncuview.records.profile import CallStack, Frame
from tests.programs.test_of_profile import profile as profile_of_lines

RECORDED = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"
BUDGET = '[[budget]]\nkernel = "*"\nmetric = "gst_transactions_per_request"\nmax = {most}\n'


@pytest.mark.parametrize(("most", "code"), [(1000, 0), (0.5, 1)])
def test_check_says_what_the_command_says(tmp_path: Path, most: float, code: int) -> None:
    budget = tmp_path / "budgets.toml"
    budget.write_text(BUDGET.format(most=most))
    gate = ncuview.check(RECORDED, budget=budget)
    assert isinstance(gate, ncuview.Gate)
    assert exit_code(gate) == code


def test_check_needs_something_to_check_by(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to check against"):
        ncuview.check(RECORDED)
    with pytest.raises(BudgetError, match="there is no budget file"):
        ncuview.check(RECORDED, budget=tmp_path / "gone.toml")
    with pytest.raises(BaselineMissing):
        ncuview.check(RECORDED, baseline=tmp_path / "gone.json")


PACKAGE = "/opt/python/lib/python3.12/site-packages/own_models/block.py"


def test_diagnose_takes_the_patterns_of_what_is_yours() -> None:
    stacks = {0: CallStack((Frame("forward", PACKAGE, 31), Frame("step", "/home/alice/train.py", 12)), ())}
    found = replace(profile_of_lines((None,)), call_stacks=stacks)
    lines = [ncuview.diagnose(found, mine=mine).launches[0].call for mine in (None, ["own_models/"])]
    assert [call.line for call in lines if call] == [12, 31]


def test_analyze_and_check_take_them_too(tmp_path: Path) -> None:
    budget = tmp_path / "budgets.toml"
    budget.write_text(BUDGET.format(most=1000))
    for mine, why in ((["("], "mine= \\( is no pattern"), ([""], "mine= names no pattern"), ("k", "is a list")):
        with pytest.raises(UsageError, match=why):
            ncuview.analyze(RECORDED, mine=mine)
        with pytest.raises(UsageError, match=why):
            ncuview.check(RECORDED, budget=budget, mine=mine)
        with pytest.raises(UsageError, match=why):
            ncuview.diagnose(ncuview.read(RECORDED, instructions=False), mine=mine)
