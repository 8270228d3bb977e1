"""Comparisons with a baseline where something is on one side only; the usual ones are tested with baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import nan

import pytest

from ncuview.base.errors import NothingProfiled
from ncuview.gate.baseline import baseline_of
from ncuview.gate.budget import BaselineLimits, Budget
from ncuview.gate.judge import judge
from ncuview.gate.spread import Spreads
from ncuview.metrics.repeatability import DURATION
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.gate import Check
from tests.gate.made import diagnosis, launch, profile

NO_CONFLICTS = "shared_bank_conflict_ways"


def numbered(*launches: LaunchDiagnosis) -> list[LaunchDiagnosis]:
    return [replace(each, index=index) for index, each in enumerate(launches)]


def against(
    before: list[LaunchDiagnosis],
    now: list[LaunchDiagnosis],
    limits: BaselineLimits | None = None,
    metrics: Mapping[str, float] | None = None,
) -> list[Check]:
    """The checks of a baseline of these launches, with one of ncu's numbers for each launch of now."""
    saved = baseline_of(diagnosis(*before), [], Spreads(), "1")
    columns = {name: [value] * len(now) for name, value in (metrics or {}).items()}
    budget = Budget(baseline=limits or BaselineLimits())
    gate = judge(diagnosis(*now), profile(*now, **columns), budget, ("main", saved), settings={}, spreads=Spreads())
    return list(gate.checks)


def test_without_launches_there_is_no_baseline() -> None:
    with pytest.raises(NothingProfiled, match="no launch"):
        baseline_of(diagnosis(), [], Spreads(), "1")


def test_a_baseline_without_a_time_is_compared_by_its_counters_alone() -> None:
    timed, *counted = against([launch(time_ns=nan)], [launch()])
    assert (timed.subject, timed.result) == (DURATION, "not judged")
    assert timed.message == "the baseline has no time of it"
    assert [check.result for check in counted] == ["passed"]


def test_launches_that_do_more_kinds_of_things_now_are_held_against_all_of_before_together() -> None:
    before = numbered(launch(counts={"inst_executed": 1000.0}), launch(counts={"inst_executed": 1050.0}))
    kinds = [launch(counts={"inst_executed": count}) for count in (1000.0, 1025.0, 1050.0)]
    checks = against(before, numbered(*kinds))
    assert {check.result for check in checks} == {"passed"}
    (more,) = (
        check
        for check in against(before, numbered(*kinds[:2], launch(counts={"inst_executed": 6000.0})))
        if check.result == "failed"
    )
    assert (more.subject, more.measured) == ("inst_executed", 6000.0)


def test_what_has_no_subject_any_more_is_neither_worse_nor_unknown() -> None:
    before = [launch(counts={NO_CONFLICTS: 1.0})]
    no_shared_memory = {"memory_l1_wavefronts_shared": 0.0, "memory_l1_wavefronts_shared_ideal": 0.0}
    collected = against(before, [launch()], metrics=no_shared_memory)
    assert {check.result for check in collected} == {"passed"}
    missing = [check for check in against(before, [launch()]) if check.result == "not judged"]
    assert [check.message for check in missing] == [f"{NO_CONFLICTS}: in the baseline, and without a value now"]


def test_launches_without_counters_are_compared_by_their_times() -> None:
    bare = replace(launch(), metrics={})
    assert [check.subject for check in against([bare], [bare])] == [DURATION]


def test_kernels_on_one_side_can_be_ignored() -> None:
    before, now = [launch(), launch("gone", index=1)], [launch(), launch("new", index=1)]
    assert any(check.subject == "launches" for check in against(before, now))
    assert not any(check.subject == "launches" for check in against(before, now, BaselineLimits(kernels="off")))
