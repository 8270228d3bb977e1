"""The accuracy set does not get worse: what docs/accuracy.md says of the programs, from their recorded reports."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from benchmarks.accuracy.score import ADVICE, OURS, VENDOR, Case, programs

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "benchmarks" / "accuracy" / "h200"


@cache
def cases(parity: int) -> list[Case]:
    return programs(REPORTS, parity)


@pytest.mark.parametrize(("parity", "first", "among_three"), [(1, 34, 36), (0, 35, 37)], ids=["odd", "even"])
def test_first_advice_is_right_as_often_as_the_document_says(parity: int, first: int, among_three: int) -> None:
    pairs = [case for case in cases(parity) if case.right]
    assert sum(OURS.hit(case, 1) for case in pairs) >= first
    assert sum(OURS.hit(case, 3) for case in pairs) >= among_three
    assert sum(VENDOR.hit(case, 1) for case in pairs) < first


@pytest.mark.parametrize("parity", [1, 0], ids=["odd", "even"])
def test_finished_kernels_are_left_alone(parity: int) -> None:
    told = {case.kernel: OURS.advised(case) for case in cases(parity) if case.near_peak}
    assert len(told) >= 20
    assert [kernel for kernel, advice in told.items() if advice] == []


def test_the_set_is_as_large_and_as_mixed_as_it_claims() -> None:
    every = [*cases(1), *cases(0)]
    assert len(every) == 165
    assert len({case.family for case in every}) == 30
    assert all(case.gain >= ADVICE for case in every if case.right)
    assert all(case.gain == 1.0 for case in every if not case.right)
