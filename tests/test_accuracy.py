"""The accuracy set does not get worse: what docs/accuracy.md says of the programs, from their recorded reports."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks.accuracy.score import ADVICE, OURS, SETS, VENDOR, Case, programs

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "benchmarks" / "accuracy" / "h200"


ODD, EVEN, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH = SETS
FLOORS = {
    ODD: (36, 38),
    EVEN: (36, 38),
    SECOND: (85, 89),
    THIRD: (32, 34),
    FOURTH: (32, 34),
    FIFTH: (25, 25),
    SIXTH: (18, 18),
    SEVENTH: (19, 20),
}
"""Set -> launches whose first advice is right, and among the first three."""
FALSE_ADVICE = {"k40e", "k45c", "k55c", "k56h", "k64c", "k67f", "k68e", "k71f", "k73e", "k80b", "k96e"}
"""Launches that their authors call finished and that get advice all the same; docs/accuracy.md says why."""


@cache
def cases(name: str) -> list[Case]:
    return programs(REPORTS, SETS[name])


@pytest.mark.parametrize("name", SETS)
def test_first_advice_is_right_as_often_as_the_document_says(name: str) -> None:
    pairs = [case for case in cases(name) if case.right]
    first, among_three = FLOORS[name]
    assert sum(OURS.hit(case, 1) for case in pairs) >= first
    assert sum(OURS.hit(case, 3) for case in pairs) >= among_three
    asked = [case for case in pairs if case.vendor is not None]
    assert not asked or sum(VENDOR.hit(case, 1) for case in asked) < sum(OURS.hit(case, 1) for case in asked)


def test_finished_kernels_are_left_alone() -> None:
    told = {case.kernel: OURS.advised(case) for name in SETS for case in cases(name) if case.near_peak}
    assert len(told) >= 136
    assert {kernel for kernel, advice in told.items() if advice} == FALSE_ADVICE


def test_the_set_is_as_large_and_as_mixed_as_it_claims() -> None:
    every = [case for name in SETS for case in cases(name)]
    assert len(every) == 683
    assert len({case.family for case in every}) == 100
    assert all(case.gain >= ADVICE for case in every if case.right)
    assert all(case.gain == 1.0 for case in every if not case.right)
