"""Compute the exit code of a gate from its checks, and choose among the exit codes of several failures.

``on_missing`` fails or ignores checks that were not judged; ``open_by_result`` closes a gate without any result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.records.profile import NOWHERE

Missing = Literal["fail", "skip"]

_SERIOUS: dict[Level, int] = {"off": 0, "warn": 1, "error": 2}
_CODES: dict[CheckResult, int] = {"passed": 0, "failed": 1, "inconclusive": 4, "not judged": 3}
_PRECEDENCE = (2, 5, 6, 3, 4, 1, 0)
"""A run that is not complete must never read as a mere regression."""


def exit_code(gate: Gate) -> int:
    """0: open; 1: a check failed; 3: one could not be judged for want of data; 4: one is inconclusive."""
    return first_of(_CODES[check.result] for check in gate.checks if counts(gate.fail_on, check.level))


def on_missing(gate: Gate, missing: Missing) -> Gate:
    """The gate where a number that is missing is a failure, or is passed over, instead of a reason for 3.

    What was not judged since there is no such launch, or since launches are missing, is never passed over; nor are
    all numbers.
    """
    return open_by_result(replace(gate, checks=tuple(_taken_as(missing, check) for check in gate.checks)))


def nothing_checked(gate: Gate) -> bool:
    """Whether no check came to a result."""
    return all(check.result == "not judged" for check in gate.checks)


def open_by_result(gate: Gate) -> Gate:
    """The gate; where none of its checks came to a result and none is an error, with one more that says so and is one.

    Otherwise warnings about kernels that are missing, or numbers that are passed over, would open it.
    """
    if not gate.checks or not nothing_checked(gate) or any(check.level == "error" for check in gate.checks):
        return gate
    message = "no check came to a result, so that nothing was checked"
    return replace(gate, checks=(*gate.checks, check_of_no_launch("checks", "judged", "not judged", message, "gate")))


def check_of_no_launch(subject: str, condition: str, result: CheckResult, message: str, origin: str) -> Check:
    """A check of the gate as a whole, which always counts."""
    return Check(
        kernel="*",
        grid=NOWHERE,
        block=NOWHERE,
        subject=subject,
        condition=condition,
        result=result,
        level="error",
        measured=None,
        limit=None,
        unit="",
        message=message,
        origin=origin,
    )


def _taken_as(missing: Missing, check: Check) -> Check:
    if check.result != "not judged":
        return check
    if missing == "fail":
        return replace(check, result="failed")
    return check if check.grid == NOWHERE else replace(check, level="off")


def counts(fail_on: Level, level: Level) -> bool:
    """Whether what is wrong at a level closes a gate."""
    return fail_on != "off" and level != "off" and _SERIOUS[level] >= _SERIOUS[fail_on]


def first_of(codes: Iterable[int]) -> int:
    """The exit code that comes before the others; 0 of none."""
    return min(codes, key=_PRECEDENCE.index, default=0)
