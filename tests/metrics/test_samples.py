"""Stall samples of either kind are read, and a diagnosis says which they were."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import STALL_REASONS
from tests.builders import COPY, STALL, Instruction, Launch, make_profile

ISSUING = {"selected", "not_selected"}


def samples(suffix: str, **counts: float) -> dict[str, float | None]:
    """Samples of one kind, 10 for each reason that ``counts`` does not give."""
    reasons = [reason for reason in STALL_REASONS if not suffix or reason not in ISSUING]
    return {STALL.format(reason) + suffix: counts.get(reason, 10.0) for reason in reasons}


NONE: dict[str, float | None] = dict.fromkeys((STALL.format(reason) for reason in STALL_REASONS), None)
"""As if samples of all cycles had not been collected."""
NOT_ISSUED = samples("_not_issued", barrier=200.0)
"""What a report of ncu 2025.4 has; constructed, for no ncu here is that new."""


def of(metrics: dict[str, float | None]) -> Analysis:
    return Analysis(make_profile(Launch(metrics=metrics)))


def test_shares_are_of_the_only_kind_that_there_is() -> None:
    analysis = of(NONE | NOT_ISSUED)
    assert analysis.not_issued == {0}
    assert analysis.value("stall_barrier")[0] == pytest.approx(200 / (200 + 10 * 16))
    assert analysis.value("stall_selected")[0] == 0.0


def test_samples_of_all_cycles_come_first() -> None:
    analysis = of(samples("", barrier=30.0) | NOT_ISSUED)
    assert analysis.not_issued == frozenset()
    assert analysis.value("stall_barrier")[0] == pytest.approx(30 / (30 + 10 * 18))


def test_both_kinds_are_not_mixed_in_a_launch() -> None:
    some: dict[str, float | None] = {STALL.format("barrier"): 30.0}
    assert np.isnan(of(NONE | NOT_ISSUED | some).value("stall_barrier")[0])


def test_instructions_have_them_too_and_rules_read_them() -> None:
    reason = STALL.format("long_scoreboard")
    sampled = Instruction("FADD R9, R4, R4", 3, metrics={f"{reason}_not_issued": 700.0})
    launch = Launch(metrics=NONE | samples("_not_issued"), instructions=(*COPY[:4], sampled, *COPY[4:]))
    analysis = Analysis(make_profile(launch))
    assert analysis.profile.instructions[reason].sum() == 700.0
    waits = diagnose(make_profile(launch), shipped_rules()).launches[0].waits_for
    assert [(each.reason, each.opcode) for each in waits] == [("long_scoreboard", "LDG")]


def test_a_diagnosis_says_which_they_were() -> None:
    said = "are of the samples without an issued instruction (_not_issued): the report has no others"
    only, both = Launch(metrics=NONE | NOT_ISSUED), Launch(metrics=NOT_ISSUED)
    assert f"stall shares {said}" in diagnose(make_profile(only), shipped_rules()).remark
    assert f"stall shares of 1 of 2 launches {said}" in diagnose(make_profile(only, both), shipped_rules()).remark
    assert "stall shares" not in diagnose(make_profile(both), shipped_rules()).remark
