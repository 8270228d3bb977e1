"""Compare the gain that the advice taken from a launch predicted with the measured speedup -> ``PredictionCheck``.

The advice taken is that whose evidence is gone or smaller after the change. Where the evidence of all advice is still
there, the change was another one, and nothing is compared. ``check_prediction`` takes the ``LaunchDiagnosis`` before
and after; ``spread`` is the run-to-run spread of a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from ncuview.comparison.counters import gain
from ncuview.records.diagnosis import Finding, Gain, LaunchDiagnosis, NotApplicable, Outcome, Passed, RuleId

PredictionVerdict = Literal["kept", "more than promised", "not kept"]
"""Words of the JSON document: within, above and below the predicted range."""
WasteState = Literal["gone", "smaller", "unknown"]

_SPREAD, _SHORT_SPREAD = 0.05, 0.10
"""The share by which times differ between two profiles of the same code. Of 200 launches of the catalogue that were
recorded twice on an H200, three hours apart, half differ by less than 0.3 %, 95 % by less than 3 %, and the worst by
5.1 %; launches of 3 us, which are mostly launch overhead, differ by up to 10 %."""
_SHORT_NS = 10_000.0


@dataclass(frozen=True)
class PredictionCheck:
    """The predicted and the measured speedup of the advice that was taken, and whether its waste is gone."""

    rule: RuleId
    optimization: str
    predicted: Gain
    measured: float
    verdict: PredictionVerdict
    evidence: WasteState
    """Whether the rule still finds the waste. ``smaller``: the rule now predicts less than the square root of its first
    prediction; ``unknown``: the rule could not judge the second launch."""
    now: str
    """The rule's message about the second launch; empty where the rule was not evaluated."""


def spread(duration_ns: float) -> float:
    """The share by which the time of a launch differs between profiles of the same code."""
    return _SPREAD if duration_ns >= _SHORT_NS else _SHORT_SPREAD


def check_prediction(before: LaunchDiagnosis, after: LaunchDiagnosis, measured: float) -> PredictionCheck | None:
    """Compare the prediction of the advice that was taken with the measured speedup.

    None where there was no advice, or where all evidence is still there, so that the change was another one.
    """
    outcomes = {outcome.rule: outcome for outcome in after.outcomes}
    states = [(advice, _state(advice, outcomes.get(advice.rule))) for advice in before.findings]
    # The first advice may have been taken where its rule could not judge the second launch, unless another one was.
    likely = [each for state in ("gone", "smaller") for each in states if each[1] == state] + states[:1]
    advice, evidence = likely[0] if likely else (None, None)
    if not advice or not evidence:
        return None
    predicted = advice.predicted_speedup
    verdict: PredictionVerdict = "kept"
    if measured < predicted.low:
        verdict = "not kept"
    elif measured > predicted.high:
        verdict = "more than promised"
    outcome = outcomes.get(advice.rule)
    return PredictionCheck(
        rule=advice.rule,
        optimization=advice.optimization,
        predicted=predicted,
        measured=measured,
        verdict=verdict,
        evidence=evidence,
        now=outcome.message if outcome else "",
    )


def _state(advice: Finding, outcome: Outcome | None) -> WasteState | None:
    """The state of the evidence after the change; None where it is still there."""
    if isinstance(outcome, Finding):
        return "smaller" if gain(outcome) < sqrt(gain(advice)) else None
    return "gone" if isinstance(outcome, Passed | NotApplicable) else "unknown"
