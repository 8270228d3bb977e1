"""Decide from a cheap first ``Profile`` which rules and launches need a second one, and join the two diagnoses.

``second_look`` returns the choice as a ``SecondLook``; ``joined`` merges both ``Diagnosis`` objects into one.

A rule gives advice when it fires and its predicted gain is large enough. What the first profile did not measure is
assumed in the rule's favour: an unknown condition holds, an unknown demand of a unit goes away, and so does an unknown
share of the latency. The what-if model then gives the largest gain that the rule could predict. What was measured
stays as it is (a launch near its peak, a kernel without atomics, a full GPU), so no advice is lost, however few metrics
the first profile has; with more metrics, fewer launches need a second look.

Launches that can save nearly nothing of the program's time are left out too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ncuview.engine.evaluate import judge
from ncuview.metrics.analysis import Analysis
from ncuview.programs.owners import owners_of
from ncuview.records.diagnosis import (
    WORTH_DOING,
    Diagnosis,
    LaunchDiagnosis,
    Outcome,
    Passed,
    RuleId,
    Skipped,
    mostly_blind,
)
from ncuview.speedup.effects import by_unit
from ncuview.speedup.end_to_end import of_host, with_copies
from ncuview.speedup.model import BOTTLENECK_SHARE, Load, load_of, predict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ncuview.base.expression import Expression
    from ncuview.base.patterns import Pattern
    from ncuview.engine.rule_file import Rule
    from ncuview.programs.owners import Owner
    from ncuview.records.profile import Profile

    Column = NDArray[np.float64]

LEAST_SAVING = 0.0005
"""Launches that together could save less than this share of the GPU's time are not profiled again. Of the 1,171 first
advices on the recorded profiles, that loses none; 0.001 loses 1, 0.005 loses 26 and 0.01 loses 63."""


@dataclass(frozen=True)
class SecondLook:
    """What is left to profile after the first look.

    Attributes:
        rules: Those that can give advice on any of the chosen launches.
        launches: The launches to profile again, as positions in the profile, in order.
        largest: A rule's code -> the largest gain that it could predict for each launch; 0 where it cannot fire.
    """

    rules: tuple[Rule, ...]
    launches: tuple[int, ...]
    largest: Mapping[str, Column]

    def possible(self, launch: int) -> frozenset[str]:
        """The codes of the rules that can give advice on a launch."""
        return frozenset(code for code, gains in self.largest.items() if gains[launch] >= WORTH_DOING)


def second_look(
    first: Profile,
    rules: Sequence[Rule],
    weights: Sequence[float] | None = None,
    least_saving: float = LEAST_SAVING,
    mine: Sequence[Pattern] = (),
    owners: Sequence[Owner] | None = None,
) -> SecondLook:
    """Choose the launches and rules of the second look.

    Args:
        first: The profile of the first look, with whatever metrics it has.
        rules: The rules to judge by.
        weights: How many launches of the program each profiled launch represents; 1 each by default.
        least_saving: Launches that together save less than this share of the GPU's time are left out.
        mine: Kernels whose name or source file matches one of these patterns are the user's.
        owners: Whose code each launch is; None to find it in the profile.
    """
    analysis = Analysis(first)
    first = analysis.profile
    launches = len(first.launches)
    load = replace(load_of(analysis), own_waits=np.zeros(launches))  # what a change leaves is not known yet
    largest = {rule.text.code: _largest_gain(rule, analysis, load) for rule in rules}
    best = np.max([np.ones(launches), *largest.values()], axis=0)
    worth = _worth(first, best, np.ones(launches) if weights is None else np.asarray(weights, np.float64), least_saving)
    owners = owners_of(first, mine) if owners is None else owners
    changeable = np.array([owner.kind == "yours" and not owner.waits_for_peers for owner in owners], dtype=bool)
    changeable &= (first.launches["workload"] == "kernel").to_numpy(np.bool_)  # no rule is about the others
    chosen = tuple(int(launch) for launch in np.flatnonzero((best >= WORTH_DOING) & worth & changeable))
    needed = [rule for rule in rules if (largest[rule.text.code][list(chosen)] >= WORTH_DOING).any()]
    return SecondLook(tuple(needed), chosen, largest)


def joined(first: Diagnosis, second: Diagnosis | None, look: SecondLook, again: Mapping[int, int]) -> Diagnosis:
    """One diagnosis from both looks, with the launches of the first.

    Args:
        first: The diagnosis of the profile that ``look`` was decided on, by the same rules.
        second: The diagnosis of the second look by ``look.rules``; None where no launch was chosen.
        look: The choice.
        again: Position in the first look -> position in the second, for the launches that were profiled again.
    """
    launches = []
    for place, launch in enumerate(first.launches):
        settled = _settled(launch, place, look)
        if second is not None and place in again:
            settled = _completed(second.launches[again[place]], settled)
        launches.append(settled)
    reports = (*first.reports, *(second.reports if second else ()))
    return replace(first, launches=tuple(launches), reports=reports)


def _completed(second: LaunchDiagnosis, first: LaunchDiagnosis) -> LaunchDiagnosis:
    """The second look's outcomes of a launch, and the first look's for all other rules."""
    judged = {outcome.rule.code for outcome in second.outcomes}
    rest = tuple(outcome for outcome in first.outcomes if outcome.rule.code not in judged)
    verdict = "unclear" if first.selected and second.verdict == "near-peak" else second.verdict
    return replace(second, outcomes=(*second.outcomes, *rest), selected=first.selected, verdict=verdict)


def _settled(launch: LaunchDiagnosis, place: int, look: SecondLook) -> LaunchDiagnosis:
    outcomes = tuple(_ruled_out(outcome, place, look) for outcome in launch.outcomes)
    if launch.not_judged or launch.verdict not in {"unclear", "not-judged"}:
        return replace(launch, outcomes=outcomes)
    if mostly_blind(outcomes):
        return replace(launch, outcomes=outcomes, verdict="not-judged")
    all_judged = not any(isinstance(outcome, Skipped) for outcome in outcomes)
    near_peak = all_judged and not launch.selected and launch.attained >= BOTTLENECK_SHARE
    return replace(launch, outcomes=outcomes, verdict="near-peak" if near_peak else "unclear")


def _ruled_out(outcome: Outcome, place: int, look: SecondLook) -> Outcome:
    """A rule whose metrics are missing has passed where it could not have given advice with them."""
    if not isinstance(outcome, Skipped) or outcome.rule.code not in look.largest:
        return outcome
    gain = float(look.largest[outcome.rule.code][place])
    return outcome if gain >= WORTH_DOING else _passed(outcome.rule, gain)


def _passed(rule: RuleId, gain: float) -> Passed:
    if gain == 0:
        return Passed(rule, "the first look rules it out")
    return Passed(rule, f"it could gain {gain:.2f}x at most, by the first look")


def _worth(profile: Profile, best: Column, weights: Column, least_saving: float) -> NDArray[np.bool_]:
    """All launches except those that could save the least and together stay below ``least_saving`` of the time."""
    times = weights * profile.launches["duration_ns"].to_numpy(np.float64)
    # A launch of unknown duration may be the longest of all.
    saving = np.where(np.isfinite(times), times * (1 - 1 / best), np.inf)
    rising = np.argsort(saving, kind="stable")
    worth = np.ones(len(saving), dtype=bool)
    worth[rising] = np.cumsum(saving[rising]) >= least_saving * np.nansum(times)
    return worth


def _largest_gain(rule: Rule, analysis: Analysis, load: Load) -> Column:
    """A rule's largest possible gain for each launch, with unknowns in its favour; 0 where it cannot fire."""
    launches = len(analysis.profile.launches)
    values = judge(rule, analysis).values

    def known(expression: Expression, otherwise: float) -> Column:
        column = np.broadcast_to(expression.evaluate(values), (launches,))
        return np.where(np.isnan(column), otherwise, column)

    if rule.text.scope == "end-to-end":
        _, gain, _ = of_host(known(rule.time_left, 0.0))
    else:
        latency = np.clip(known(rule.latency_hidden, 1.0), 0.0, 1.0)
        cycles = analysis.value("sm_cycles")
        with np.errstate(all="ignore"):  # where nothing is known to be left, nothing bounds the prediction
            of_kernel, _ = predict(
                load,
                effects={name: np.maximum(0.0, known(each, 0.0)) for name, each in rule.effects.items()},
                added={name: np.nan_to_num(known(each, 0.0) / cycles) for name, each in rule.added.items()},
                latency_hidden=np.where(_changes_unseen_unit(rule, load), 1.0, latency),
                time_left=known(rule.time_left, 0.0),
            )
        _, gain, _ = with_copies(of_kernel, analysis)
    impossible = (known(rule.applies, 1.0) == 0) | (known(rule.fires, 1.0) == 0)
    return np.where(impossible, 0.0, np.where(np.isnan(gain), np.inf, gain))


def _changes_unseen_unit(rule: Rule, load: Load) -> NDArray[np.bool_]:
    """Where a rule lowers the demand of a unit whose use the first look did not measure.

    That unit may be the bottleneck, and what looks like latency may be its work.
    """
    changed = by_unit(rule.effects)
    unseen = np.zeros(len(load.use["launch"]), dtype=bool)
    for unit in changed:
        unseen |= np.isnan(load.use[unit] / load.attainable["best"][unit])
    return unseen
