"""With which code a gate ends."""

from __future__ import annotations

import pytest

from ncuview.gate.verdict import exit_code, first_of
from ncuview.model import Check, CheckResult, Gate, Level


def gate(*results: tuple[CheckResult, Level], fail_on: Level = "error") -> Gate:
    checks = (
        Check("k()", (1, 1, 1), (1, 1, 1), "m", "at most 1", result, level, None, None, "", "", "b")
        for result, level in results
    )
    return Gate(tuple(checks), fail_on)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], 0),
        ([("passed", "error")], 0),
        ([("passed", "error"), ("failed", "error")], 1),
        ([("failed", "warn")], 0),
        ([("failed", "error"), ("inconclusive", "error")], 4),
        ([("failed", "error"), ("inconclusive", "warn")], 1),
        ([("inconclusive", "error"), ("not judged", "error"), ("failed", "error")], 3),
    ],
)
def test_the_gravest_result_counts(results: list[tuple[CheckResult, Level]], code: int) -> None:
    assert exit_code(gate(*results)) == code


def test_warnings_close_it_where_that_is_asked_for() -> None:
    failed: tuple[CheckResult, Level] = ("failed", "warn")
    assert [exit_code(gate(failed, fail_on=level)) for level in ("warn", "error", "off")] == [1, 0, 0]
    assert exit_code(gate(("failed", "off"), fail_on="warn")) == 0


def test_the_order_of_exit_codes() -> None:
    assert [first_of(codes) for codes in ([1, 4], [4, 3], [3, 6], [6, 5], [5, 2], [0, 1], [])] == [4, 3, 6, 5, 2, 1, 0]
