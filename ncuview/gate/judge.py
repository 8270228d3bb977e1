"""Compare a ``Diagnosis`` and its ``Profile`` with a budget and a baseline -> ``Gate``, with checks in launch order.

``judge`` makes the gate; ``not_compared`` adds an inconclusive check where the baseline is not comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ncuview.comparison.launch_groups import configuration_of
from ncuview.gate.baseline import Baseline
from ncuview.gate.baseline_checks import baseline_checks
from ncuview.gate.budget import Budget, check_rules_exist
from ncuview.gate.budget_checks import budget_checks
from ncuview.gate.chosen import ALL, Chosen, left_out_words
from ncuview.gate.metric_values import MetricValues
from ncuview.gate.spread import Spreads
from ncuview.gate.verdict import BASELINE, PROFILE, check_of_no_launch, close_without_result
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Check, Gate, Level
from ncuview.records.profile import Failure

if TYPE_CHECKING:
    from ncuview.base.errors import NotComparable
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
    chosen: Chosen = ALL,
) -> Gate:
    """Check a diagnosis against a budget and a baseline.

    Args:
        diagnosis: The diagnosis to check.
        profile: The profile of that diagnosis.
        budget: The limits, and how a baseline is compared.
        baseline: Its name and content; None where there is none.
        settings: The settings of ncu, by the path of the report.
        spreads: The user's measured spreads.
        fail_on: Failures of this level or above close the gate.
        force: Compare also with a baseline that was measured under other conditions.
        chosen: The options by which the user chose launches; nothing else of budget and baseline is checked.

    Raises:
        BudgetError: The budget names a rule that was not evaluated.
        NotComparable: The baseline was measured under other conditions, or has no kernel in common.
    """
    values = MetricValues(profile)
    outcomes = (outcome for launch in diagnosis.launches[:1] for outcome in launch.outcomes)
    check_rules_exist(budget, [(outcome.rule.code, outcome.rule.name) for outcome in outcomes])
    checks = [_incomplete(diagnosis.failure)] if diagnosis.failure else []
    entries = chosen.entries_left_out(budget, diagnosis)
    checks += budget_checks(budget, diagnosis, values, spreads, entries, chosen.further)
    remark = unrecorded = ""
    kernels = unlaunched = 0
    if baseline:
        name, saved = baseline
        was = chosen.kernels_of(saved)
        kernels = len(saved.kernels) - len(was.kernels)
        result = baseline_checks(
            was,
            name,
            diagnosis,
            values,
            settings=settings,
            limits=budget.baseline,
            spreads=spreads,
            force=force,
            complete=not chosen.further,
        )
        checks += result.checks
        remark, unrecorded, unlaunched = result.remark, result.unrecorded, result.unlaunched
    saved_kernels = len(baseline[1].kernels) if baseline else 0
    left_out = left_out_words(chosen, (kernels, saved_kernels), (len(entries), len(budget.entries)), unlaunched)
    if left_out and not checks:
        checks = [check_of_no_launch("checks", "judged", "not judged", "no check is left", "gate")]
    return close_without_result(Gate(tuple(_in_order(checks, diagnosis)), fail_on, remark, unrecorded, left_out))


def not_compared(gate: Gate, name: str, failure: NotComparable) -> Gate:
    """The gate of a budget alone, with a check that gives the reason why the baseline was not compared."""
    message = f"{failure}, so that nothing was compared. {failure.hint}".rstrip()
    check = check_of_no_launch(BASELINE, "comparable", "inconclusive", message, f"baseline {name}")
    return replace(gate, checks=(check, *gate.checks))


def _incomplete(failure: Failure) -> Check:
    """Launches that were not profiled or read cannot be judged, whatever the other checks give."""
    return check_of_no_launch(PROFILE, "complete", "not judged", f"{failure.message} [{failure.id}]", PROFILE)


def _in_order(checks: Iterable[Check], diagnosis: Diagnosis) -> list[Check]:
    """Checks in the order of the launches; those about no launch last."""
    order = {configuration_of(launch): at for at, launch in reversed(list(enumerate(diagnosis.launches)))}

    def place(check: Check) -> int:
        return order.get((check.kernel, check.grid, check.block), len(diagnosis.launches))

    return sorted(checks, key=place)
