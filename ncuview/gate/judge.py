"""Compare a diagnosis with a budget and a baseline, and return a ``Gate`` with all checks in the order of the launches.

``not_compared`` adds an inconclusive check where the baseline cannot be compared with the diagnosis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ncuview.base.errors import NotComparable
from ncuview.comparison.launch_groups import configuration_of
from ncuview.gate.allowed import budget_checks
from ncuview.gate.baseline import Baseline
from ncuview.gate.budget import Budget, check_rules_exist
from ncuview.gate.measured import Numbers
from ncuview.gate.regress import baseline_checks
from ncuview.gate.spread import Spreads
from ncuview.gate.verdict import check_of_no_launch, open_by_result
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.failure import Failure
from ncuview.records.gate import Check, Gate, Level

if TYPE_CHECKING:
    from ncuview.records.profile import Profile


def judge(
    diagnosis: Diagnosis,
    profile: Profile,
    budget: Budget,
    baseline: tuple[str, Baseline] | None = None,
    *,
    settings: Mapping[str, Settings],
    spreads: Spreads,
    fail_on: Level = "error",
    force: bool = False,
) -> Gate:
    """Hold a diagnosis against a budget and a baseline.

    Args:
        diagnosis: What is judged.
        profile: What it is a diagnosis of.
        budget: What is allowed, and how a baseline is compared.
        baseline: Its name and what it says; None where there is none.
        settings: What ncu was told, by the path of the report.
        spreads: The user's own spreads.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline that was measured under other conditions.

    Raises:
        BudgetError: The budget names a rule that was not judged by.
        NotComparable: The baseline was measured under other conditions, or has no kernel in common.
    """
    numbers = Numbers(profile)
    outcomes = (outcome for launch in diagnosis.launches[:1] for outcome in launch.outcomes)
    check_rules_exist(budget, [(outcome.rule.code, outcome.rule.name) for outcome in outcomes])
    checks = [_not_whole(diagnosis.failure)] if diagnosis.failure else []
    checks += budget_checks(budget, diagnosis, numbers, spreads)
    remark = ""
    if baseline:
        name, was = baseline
        against = baseline_checks(
            was,
            name,
            diagnosis,
            numbers,
            settings=settings,
            limits=budget.baseline,
            spreads=spreads,
            force=force,
        )
        checks += against.checks
        remark = against.remark
    return open_by_result(Gate(tuple(_in_order(checks, diagnosis)), fail_on, remark))


def not_compared(gate: Gate, name: str, failure: NotComparable) -> Gate:
    """The gate of a budget alone with a check that says why the baseline could not be compared."""
    said = check_of_no_launch("baseline", "comparable", "inconclusive", str(failure), f"baseline {name}")
    return replace(gate, checks=(said, *gate.checks))


def _not_whole(failure: Failure) -> Check:
    """What was not profiled or read cannot be judged, whatever the rest says."""
    return check_of_no_launch("profile", "whole", "not judged", f"{failure.message} [{failure.id}]", "profile")


def _in_order(checks: Iterable[Check], diagnosis: Diagnosis) -> list[Check]:
    """As the launches are, and those about none of them last."""
    order = {configuration_of(launch): at for at, launch in reversed(list(enumerate(diagnosis.launches)))}

    def place(check: Check) -> int:
        return order.get((check.kernel, check.grid, check.block), len(diagnosis.launches))

    return sorted(checks, key=place)
