"""The exit code of a gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.gate.verdict import close_without_result, exit_code, nothing_checked, on_missing
from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.records.profile import NOWHERE


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


def test_warnings_close_it_with_fail_on_warn() -> None:
    failed: tuple[CheckResult, Level] = ("failed", "warn")
    assert [exit_code(gate(failed, fail_on=level)) for level in ("warn", "error", "off")] == [1, 0, 0]
    assert exit_code(gate(("failed", "off"), fail_on="warn")) == 0


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([], 0),
        ([("not judged", "warn")], 3),
        ([("not judged", "off"), ("not judged", "warn")], 3),
        ([("not judged", "warn"), ("passed", "error")], 0),
        ([("not judged", "warn"), ("failed", "warn")], 0),
        ([("not judged", "warn"), ("inconclusive", "warn")], 0),
        ([("not judged", "error")], 3),
    ],
)
def test_a_gate_that_was_to_check_and_came_to_no_result_is_not_open(
    results: list[tuple[CheckResult, Level]], code: int
) -> None:
    assert exit_code(close_without_result(gate(*results))) == code
    assert exit_code(close_without_result(gate(*results, fail_on="off"))) == 0


def test_it_says_so_once() -> None:
    once = close_without_result(gate(("not judged", "warn"), ("not judged", "warn")))
    assert close_without_result(once) == once
    *_, said = once.checks
    assert said.message == "no check came to a result, so that nothing was checked"


@pytest.mark.parametrize(
    ("results", "codes"),
    [
        ([("not judged", "error"), ("passed", "error")], (3, 1, 0)),
        ([("not judged", "error")], (3, 1, 3)),
        ([("not judged", "warn"), ("passed", "error")], (0, 0, 0)),
        ([("not judged", "error"), ("failed", "error")], (3, 1, 1)),
        ([("not judged", "error"), ("inconclusive", "error")], (3, 4, 4)),
        ([("passed", "error")], (0, 0, 0)),
    ],
)
def test_missing_values_fail_or_are_ignored_by_on_missing(
    results: list[tuple[CheckResult, Level]], codes: tuple[int, int, int]
) -> None:
    made = gate(*results)
    assert (exit_code(made), exit_code(on_missing(made, "fail")), exit_code(on_missing(made, "skip"))) == codes


def test_a_check_without_a_launch_is_never_ignored() -> None:
    made = gate(("not judged", "error"), ("passed", "error"))
    renamed, passed = made.checks
    made = replace(made, checks=(replace(renamed, grid=NOWHERE), passed))
    assert exit_code(on_missing(made, "skip")) == 3


def test_even_where_warnings_count_what_is_missing_can_be_passed_over() -> None:
    made = gate(("not judged", "warn"), ("passed", "error"), fail_on="warn")
    assert (exit_code(made), exit_code(on_missing(made, "skip"))) == (3, 0)
    assert on_missing(made, "skip").checks[0].result == "not judged", "it is still shown"


@pytest.mark.parametrize(
    ("results", "nothing"),
    [
        ([], True),
        ([("not judged", "error")], True),
        ([("passed", "error")], False),
        ([("inconclusive", "warn")], False),
    ],
)
def test_nothing_is_checked_where_no_check_comes_to_a_result(
    results: list[tuple[CheckResult, Level]], nothing: bool
) -> None:
    assert nothing_checked(gate(*results)) is nothing
