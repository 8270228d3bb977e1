"""Find changes that pay only one after another, and the gain of each step: ``Sequences(analysis, load).of_launch``.

Two cases are sequences. A change takes load off the bottleneck, and another one, which gains nothing today, is worth
doing at the next bottleneck. Or a change lowers the traffic of a launch with too few threads: each warp then still
waits for its loads one after the other, and most of the predicted gain needs more threads as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ncuview.records.diagnosis import WORTH_DOING_NEAR_PEAK, Finding, Outcome, Step, StepSequence
from ncuview.speedup.effects import EFFECTS, LATENCY_HIDDEN, TIME_LEFT, by_unit
from ncuview.speedup.model import Load, after_change, predict, waits_of_present_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.metrics.analysis import Analysis

    Column = NDArray[np.float64]

_TRAFFIC = frozenset({"l2_sectors", "dram_bytes"})


class Sequences:
    """The sequences of the launches under analysis."""

    def __init__(self, analysis: Analysis, load: Load) -> None:
        self._load = load
        self._cycles = analysis.value("sm_cycles")
        self._waits = waits_of_present_threads(analysis)
        self._waves = analysis.value("waves_per_sm")
        self._timed_by_host = np.isfinite(analysis.value("host_end_to_end_time"))

    def of_launch(self, launch: int, outcomes: Sequence[Outcome]) -> StepSequence | None:
        """The sequence that begins with, or ends in, the first advice of a launch; None where it is one step."""
        findings = [each for each in outcomes if isinstance(each, Finding)]
        if self._timed_by_host[launch] or not findings or findings[0].rejected:
            return None
        first, *others = findings
        return self._with_more_threads(launch, first, others) or self._opened_by(launch, first, others)

    def _with_more_threads(self, launch: int, first: Finding, others: Sequence[Finding]) -> StepSequence | None:
        """More threads, then less traffic: where the waits of today's threads allow less than the prediction."""
        lowers_traffic = any(effect.name in _TRAFFIC and effect.value < 1 for effect in first.effects)
        alone = 1 / float(self._waits[launch])
        gain = first.predicted_speedup
        fills_gpu = self._waves[launch] >= 1
        if fills_gpu or not lowers_traffic or not alone * WORTH_DOING_NEAR_PEAK < gain.best:
            return None
        for finding in others:
            if _adds_threads(finding):
                more_threads = min(max(finding.predicted_speedup.best, 1.0), gain.best)
                return StepSequence((_step(finding, more_threads), _step(first, gain.best / more_threads)), alone)
        return None

    def _opened_by(self, launch: int, first: Finding, others: Sequence[Finding]) -> StepSequence | None:
        """The change that gains most once the first is made, of those that are not worth doing before."""
        gain = first.predicted_speedup.best
        change = _Change.of(first, float(self._cycles[launch]))
        load = after_change(self._load.of_launch(launch), change.effects, change.added, gain)
        advised = {each.optimization for each in (first, *others) if not each.rejected}
        best: tuple[float, Finding] | None = None
        for finding in others:
            opened = _Change.of(finding, float(self._cycles[launch]) / gain)
            if finding.optimization in advised or finding.same_cause_as or finding.draft or change.shares_unit(opened):
                continue
            then = opened.gain(load)
            if then >= WORTH_DOING_NEAR_PEAK and then > (best[0] if best else 0.0):
                best = then, finding
        if best is None:
            return None
        return StepSequence((_step(first, gain), _step(best[1], best[0])), best[1].predicted_speedup.best)


@dataclass(frozen=True)
class _Change:
    """What a finding's change does to one launch, in the form of ``predict``."""

    effects: dict[str, Column]
    added: dict[str, Column]
    latency_hidden: Column
    time_left: Column

    @classmethod
    def of(cls, finding: Finding, cycles: float) -> _Change:
        """The change of a finding on a launch of so many cycles."""
        plain = {each.name: np.array([each.value]) for each in finding.effects if not each.added}
        return cls(
            effects={name: value for name, value in plain.items() if name in EFFECTS},
            added={each.name: np.array([each.value / cycles]) for each in finding.effects if each.added},
            latency_hidden=np.clip(plain.get(LATENCY_HIDDEN, np.zeros(1)), 0.0, 1.0),
            time_left=plain.get(TIME_LEFT, np.zeros(1)),
        )

    def gain(self, load: Load) -> float:
        """The predicted speedup of a launch with this load."""
        gains, _ = predict(load, self.effects, self.added, self.latency_hidden, self.time_left)
        return float(gains[1, 0])

    def shares_unit(self, other: _Change) -> bool:
        """Whether both lower the demand on a unit, so that the one may take away what the other counts on."""
        return not self._relieved.isdisjoint(other._relieved)

    @property
    def _relieved(self) -> frozenset[str]:
        return frozenset(unit for unit, share in by_unit(self.effects).items() if share[0] < 1)


def _adds_threads(finding: Finding) -> bool:
    """Whether a finding wants more threads, and nothing else."""
    only_waits = {each.name for each in finding.effects} == {LATENCY_HIDDEN}
    return only_waits and finding.optimization == "launch_configuration"


def _step(finding: Finding, gain: float) -> Step:
    return Step(finding.rule, finding.optimization, finding.fix.title, gain)
