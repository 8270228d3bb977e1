"""What must hold of every diagnosis, whatever the launch: broken invariants as sentences.

Each is computed here from the rules' effects and the launch's counters, apart from the model and the ranking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ncuview.api import load_rules
from ncuview.engine.evaluate import judge
from ncuview.engine.rule_file import Rule
from ncuview.metrics.analysis import Analysis
from ncuview.records.diagnosis import CAUSES_OF_LINES, Broken, Diagnosis, Finding, LaunchDiagnosis
from ncuview.records.profile import Profile
from ncuview.speedup.effects import ADDED, by_unit
from ncuview.speedup.model import load_of

Column = NDArray[np.float64]

MORE_FOR_A_THREAD = frozenset({"thread_coarsening", "register_tiling", "vectorized_access"})
"""Optimizations that give a thread several results, so that fewer threads do the work."""
OF_ONE_RESULT = {
    "GMEM006": "keeps in registers what the same thread loads again",
    "GMEM008": "keeps in registers what the same thread loads again",
    "GMEM011": "keeps in registers what the same thread loads again",
    "GMEM013": "joins accesses of one thread to adjacent addresses",
    "LMEM002": "moves an array of the same thread",
}
"""Rules with such an optimization whose change stays within the work of one thread, and why."""
_BUSY = 0.9
_WORTH = 1.10
_ROUNDING = 1.0005


def broken(profile: Profile, diagnosis: Diagnosis) -> list[str]:
    """A sentence for each invariant that a launch of a diagnosis breaks."""
    analysis = Analysis(profile)
    changes = {rule.text.code: _Change(rule, analysis) for rule in load_rules() if rule.text.scope == "kernel"}
    load = load_of(analysis)
    found = []
    for at, launch in enumerate(diagnosis.launches):
        use = {unit: float(column[at]) for unit, column in load.use.items() if np.isfinite(column[at])}
        close = {unit: share / float(load.attainable["best"][unit][at]) for unit, share in use.items()}
        for finding in _findings(launch):
            if change := changes.get(finding.rule.code):
                problems = [*_time(finding, change, at, use, close), *_independence(finding, analysis, at)]
                found += [f"{launch.kernel}: {finding.rule.code} {problem}" for problem in problems]
        found += [f"{launch.kernel}: {problem}" for problem in (*_causes(launch), *_broken_rules(launch))]
    return found


class _Change:
    """What a rule's change does to the units, for all launches, without the model."""

    def __init__(self, rule: Rule, analysis: Analysis) -> None:
        values = judge(rule, analysis).values
        launches = (len(analysis.devices),)
        effects = {name: np.broadcast_to(each.evaluate(values), launches) for name, each in rule.effects.items()}
        self.shares: Mapping[str, Column] = by_unit(effects)
        self.time_left = np.broadcast_to(rule.time_left.evaluate(values), launches)
        self._added = {name: each.evaluate(values) / values["sm_cycles"] for name, each in rule.added.items()}

    def remaining(self, at: int, use: Mapping[str, float]) -> dict[str, float]:
        """What each unit has to do after the change, as a share of its peak over the present time."""
        left = {
            unit: share * float(self.shares[unit][at]) if unit in self.shares else share for unit, share in use.items()
        }
        for name, work in self._added.items():
            for unit, rate in ADDED[name].items():
                left[unit] = left.get(unit, 0.0) + float(work[at]) / rate
        return left


def _findings(launch: LaunchDiagnosis) -> Sequence[Finding]:
    return [each for each in launch.outcomes if isinstance(each, Finding)]


def _time(
    finding: Finding, change: _Change, at: int, use: Mapping[str, float], close: Mapping[str, float]
) -> Iterator[str]:
    gain, remaining = finding.predicted_speedup, change.remaining(at, use)
    least = max(*remaining.values(), float(change.time_left[at]))
    if gain.best * least > _ROUNDING:
        yield f"predicts {gain.best:.2f}x, although what remains takes {least:.3f} of the time at full peak"
    untouched = max(share for unit, share in use.items() if unit not in change.shares)
    if gain.high * untouched > _ROUNDING:
        yield f"predicts up to {gain.high:.2f}x, although units that it leaves as they are take {untouched:.3f}"
    busiest = max(close, key=lambda unit: close[unit])
    relieved = remaining[busiest] < use[busiest]
    if not finding.rejected and close[busiest] >= _BUSY and gain.best >= _WORTH and not relieved:
        yield f"predicts {gain.best:.2f}x and leaves {busiest} at {close[busiest]:.0%} of what it attains"


def _independence(finding: Finding, analysis: Analysis, at: int) -> Iterator[str]:
    """Advice that needs independent work shows it in the grid or in a loop, or has a condition."""
    if finding.rejected or finding.open_condition:
        return
    fills_twice = analysis.value("gpu_fill")[at] >= 2
    loop = analysis.value("independent_share")[at] >= 0.5
    if finding.rule.code == "GRID001" and not loop:
        yield "wants a larger grid and shows no loop that could be split"
    if (
        finding.optimization in MORE_FOR_A_THREAD
        and finding.rule.code not in OF_ONE_RESULT
        and not (fills_twice or loop)
    ):
        yield f"wants more work for each thread of a grid that fills {analysis.value('gpu_fill')[at]:.2f} of the GPU"


def _broken_rules(launch: LaunchDiagnosis) -> Iterator[str]:
    """No rule breaks on a launch that was recorded."""
    for outcome in launch.outcomes:
        if isinstance(outcome, Broken):
            yield f"{outcome.rule.code} breaks: {outcome.message}"


def _causes(launch: LaunchDiagnosis) -> Iterator[str]:
    """No two pieces of advice are about one cause on the same lines."""
    for one, other in combinations(launch.findings, 2):
        lines, others = ({(each.file, each.line) for each in finding.where} for finding in (one, other))
        together = one.cause not in CAUSES_OF_LINES or not lines or not others or lines & others
        if one.cause and one.cause == other.cause and together:
            yield f"{one.rule.code} and {other.rule.code} are both advice about {one.cause}"
