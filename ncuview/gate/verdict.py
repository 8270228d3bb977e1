"""Compute the exit code of a ``Gate`` from its checks (``exit_code``), and choose among several (``most_serious``).

``on_missing`` and ``close_without_result`` return a changed gate; ``closes_at`` compares two levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.records.profile import NOWHERE

Missing = Literal["fail", "skip"]

PROFILE, BASELINE = "profile", "baseline"
"""The subjects of checks without a launch: is the profile complete, and can the baseline be compared?"""

_SERIOUS: dict[Level, int] = {"off": 0, "warn": 1, "error": 2}
_CODES: dict[CheckResult, int] = {"passed": 0, "failed": 1, "inconclusive": 4, "not judged": 3}
_PRECEDENCE = (2, 5, 6, 3, 4, 1, 0)
"""The codes in order of precedence: an incomplete run must not read as a mere regression."""


def exit_code(gate: Gate) -> int:
    """0: open; 1: a check failed; 3: a check was not judged because data is missing; 4: a check is inconclusive."""
    return most_serious(_CODES[check.result] for check in gate.checks if closes_at(gate.fail_on, check.level))


def on_missing(gate: Gate, missing: Missing) -> Gate:
    """The gate with missing values treated as failures, or ignored, instead of leading to exit code 3.

    A check without a launch is never ignored; nor is a gate without any result.
    """
    return close_without_result(replace(gate, checks=tuple(_taken_as(missing, check) for check in gate.checks)))


def nothing_checked(gate: Gate) -> bool:
    """Whether no check has a result."""
    return all(check.result == "not judged" for check in gate.checks)


def close_without_result(gate: Gate) -> Gate:
    """The gate; where no check has a result and none is an error, with one more check, which is an error.

    Otherwise warnings about missing kernels, or ignored values, would open it.
    """
    if not gate.checks or not nothing_checked(gate) or any(check.level == "error" for check in gate.checks):
        return gate
    message = "no check came to a result, so that nothing was checked"
    return replace(gate, checks=(*gate.checks, check_of_no_launch("checks", "judged", "not judged", message, "gate")))


def check_of_no_launch(subject: str, condition: str, result: CheckResult, message: str, origin: str) -> Check:
    """A check of the complete gate, which always counts."""
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


def closes_at(fail_on: Level, level: Level) -> bool:
    """Whether a failed check of a level closes a gate."""
    return fail_on != "off" and level != "off" and _SERIOUS[level] >= _SERIOUS[fail_on]


def most_serious(codes: Iterable[int]) -> int:
    """The exit code of the highest precedence; 0 where there are no codes."""
    return min(codes, key=_PRECEDENCE.index, default=0)
