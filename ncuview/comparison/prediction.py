"""Compare the gain that a launch's first advice predicted with the measured speedup -> ``PredictionCheck``.

``check_prediction`` takes the ``LaunchDiagnosis`` before and after; ``spread`` is the run-to-run spread of a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Literal

from ncuview.comparison.counters import gain
from ncuview.records.diagnosis import Finding, Gain, LaunchDiagnosis, NotApplicable, Outcome, Passed, RuleId

PredictionVerdict = Literal["kept", "more than promised", "not kept"]
"""Words of the JSON document: within, above and below the predicted range."""
WasteState = Literal["gone", "smaller", "still there", "unknown"]

_SPREAD, _SHORT_SPREAD = 0.05, 0.10
"""The share by which times differ between two profiles of the same code. Of 200 launches of the catalogue that were
recorded twice on an H200, three hours apart, half differ by less than 0.3 %, 95 % by less than 3 %, and the worst by
5.1 %; launches of 3 us, which are mostly launch overhead, differ by up to 10 %."""
_SHORT_NS = 10_000.0


@dataclass(frozen=True)
class PredictionCheck:
    """The predicted and the measured speedup of the first advice, and whether the waste is still there."""

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
    """Compare the prediction of the first advice with the measured speedup; None where there was no advice."""
    if not before.findings:
        return None
    advice = before.findings[0]
    predicted = advice.predicted_speedup
    verdict: PredictionVerdict = "kept"
    if measured < predicted.low:
        verdict = "not kept"
    elif measured > predicted.high:
        verdict = "more than promised"
    outcome = next((each for each in after.outcomes if each.rule == advice.rule), None)
    return PredictionCheck(
        rule=advice.rule,
        optimization=advice.optimization,
        predicted=predicted,
        measured=measured,
        verdict=verdict,
        evidence=_state(advice, outcome),
        now=outcome.message if outcome else "",
    )


def _state(advice: Finding, outcome: Outcome | None) -> WasteState:
    if isinstance(outcome, Finding):
        return "smaller" if gain(outcome) < sqrt(gain(advice)) else "still there"
    return "gone" if isinstance(outcome, Passed | NotApplicable) else "unknown"
