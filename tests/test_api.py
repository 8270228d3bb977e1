"""Functions of the package that combine others: ``check``."""

from __future__ import annotations

from pathlib import Path

import pytest

import ncuview
from ncuview.base.errors import BaselineMissing, BudgetError, UsageError
from ncuview.base.paths import shipped
from ncuview.gate.verdict import exit_code

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
