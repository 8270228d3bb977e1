"""Compare the speedup that a launch's first advice predicted with the one measured when it was profiled again.

``promise_kept`` also says whether the rule still finds the waste; ``spread`` is the time's usual run-to-run variation.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from ncuview.comparison.counters import gain
from ncuview.records.diagnosis import Finding, Gain, LaunchDiagnosis, NotApplicable, Outcome, Passed, RuleId

Kept = Literal["kept", "more than promised", "not kept"]
State = Literal["gone", "smaller", "still there", "unknown"]

_SPREAD, _SHORT_SPREAD = 0.05, 0.10
"""By this share times differ between two profiles of the same code. Of 200 launches of the catalogue that were recorded
twice on an H200, three hours apart, half differ by less than 0.3 %, 95 % by less than 3 %, and the worst by 5.1 %;
those of 3 us, which are mostly the launch itself, by 10 %."""
_SHORT_NS = 10_000.0


@dataclass(frozen=True)
class PromiseKept:
    """What was promised of the first advice, what was got, and whether the waste is still there."""

    rule: RuleId
    optimization: str
    promised: Gain
    got: float
    verdict: Kept
    evidence: State
    """Whether the rule still finds the waste; ``smaller`` where it promises less than the square root of what it
    did, ``unknown`` where the rule could not judge the launch afterwards."""
    now: str
    """What the rule says afterwards; empty where it was not asked."""


def spread(duration_ns: float) -> float:
    """The share by which the time of a launch differs from profile to profile."""
    return _SPREAD if duration_ns >= _SHORT_NS else _SHORT_SPREAD


def promise_kept(before: LaunchDiagnosis, after: LaunchDiagnosis, got: float) -> PromiseKept | None:
    """Set the promise of the first advice beside the speedup that was got; None where there was no advice."""
    if not before.findings:
        return None
    advice = before.findings[0]
    promised = advice.predicted_speedup
    verdict: Kept = "kept"
    if got < promised.low:
        verdict = "not kept"
    elif got > promised.high:
        verdict = "more than promised"
    outcome = next((each for each in after.outcomes if each.rule == advice.rule), None)
    return PromiseKept(
        rule=advice.rule,
        optimization=advice.optimization,
        promised=promised,
        got=got,
        verdict=verdict,
        evidence=_state(advice, outcome),
        now=outcome.message if outcome else "",
    )


def _state(advice: Finding, outcome: Outcome | None) -> State:
    if isinstance(outcome, Finding):
        return "smaller" if gain(outcome) < sqrt(gain(advice)) else "still there"
    return "gone" if isinstance(outcome, Passed | NotApplicable) else "unknown"
