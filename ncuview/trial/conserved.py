"""The last check of a change, by counters: ``conserved`` takes what verified it -> the same, or why it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ncuview.base.errors import NcuviewError
from ncuview.trial.lanes import missing_lanes
from ncuview.trial.verify import Verification
from ncuview.trial.work import Counted, Counters, uncounted

V = TypeVar("V")


def conserved(
    verified: Verification,
    counters: Counters[V],
    before: V,
    after: V,
    wrong_of: Callable[[Counted, Counted], str],
    passed: str,
) -> Verification:
    """The same, unless counters say that a version leaves out work, or do not say it; without counters the same.

    Args:
        verified: What all other checks say.
        counters: Counts versions.
        before: The version before the change.
        after: The changed one.
        wrong_of: What is wrong with the second's work, as a clause; empty where nothing is.
        passed: This check in words.
    """
    try:
        both = counters.count_both(before, after)
    except NcuviewError as failed:
        return replace(verified, verdict="unproven", check="work", reason=f"its work was not counted: {failed}")
    if both is None:
        return verified
    if unknown := uncounted(*both):
        return replace(
            verified, verdict="unproven", check="work", reason=f"its work was not counted: {unknown} is missing"
        )
    if wrong := wrong_of(*both):
        return replace(verified, verdict="refuted", check="work", reason=wrong)
    if missing := missing_lanes(*both):
        return replace(verified, verdict="unproven", check="lanes", reason=missing)
    return replace(verified, passed=(*verified.passed, passed))
