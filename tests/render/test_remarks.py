"""Remarks: their order, their places, and that each appears once."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.remarks import remarks, rule_id
from tests.render.gate_sample import failed_warning, gate
from tests.render.sample import diagnosis, launch_with_advice


def test_errors_come_first_then_warnings_then_advice_by_what_it_saves() -> None:
    quick = replace(launch_with_advice(), demangled="quick(int)", duration_ns=10.0, index=9)
    found = remarks(Diagnosis((quick, *diagnosis().launches), ()), gate())
    assert [remark.severity for remark in found] == [*["error"] * 3, *["warning"] * 2, *["note"] * 4]
    saved = [remark.saved_ns for remark in found if remark.predicted]
    assert saved == sorted(saved, reverse=True)


def test_what_a_check_blames_is_not_said_again_as_advice() -> None:
    rules = [remark.rule for remark in remarks(diagnosis(), Gate((failed_warning(),), "error"))]
    assert rules == ["SMEM001", "PAR001"]


def test_an_unknown_duration_saves_nothing() -> None:
    unknown = replace(launch_with_advice(), duration_ns=nan)
    assert {remark.saved_ns for remark in remarks(Diagnosis((unknown,), ()), None)} == {0.0}
    assert "saves" not in remarks(Diagnosis((unknown,), ()), None)[0].message


@pytest.mark.parametrize(
    ("subject", "identity"),
    [
        ("SMEM001 shared-bank-conflict", "SMEM001"),
        ("SMEM001", "SMEM001"),
        ("duration_ns", "budget/duration_ns"),
        ("SMEM0012", "budget/SMEM0012"),
        ("", "budget/"),
    ],
)
def test_rules_are_distinguished_from_metrics(subject: str, identity: str) -> None:
    assert rule_id(subject) == identity
