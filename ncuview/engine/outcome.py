"""Compute one ``Rule``'s outcome for each launch of an ``Analysis``, with lines, fix and predicted gain of findings.

``outcomes_of`` returns a ``Finding``, ``Passed``, ``NotApplicable``, ``Skipped`` or ``Broken`` for each launch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ncuview.engine.causes import Causes
from ncuview.engine.evaluate import BROKEN, FINDING, NOT_APPLICABLE, PASSED, SKIPPED, Judgement, judge, judge_values
from ncuview.engine.independent_work import open_condition
from ncuview.engine.locate import Places
from ncuview.engine.missing import missing_metrics, no_code, why_missing, why_unknown
from ncuview.engine.regions import region
from ncuview.engine.rule_file import Rule
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.counted import FromCounters
from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import metrics_of, unit_of
from ncuview.metrics.quantities.stalls import OF_SOME_CHIPS
from ncuview.metrics.units import OF_MOST_BOTTLENECKS, UNITS
from ncuview.records.diagnosis import (
    ONLY_CODE_SHOWS,
    SKIPPED_BECAUSE,
    About,
    Broken,
    Citation,
    Effect,
    Evidence,
    Finding,
    Fix,
    Gain,
    Grade,
    NotApplicable,
    Outcome,
    Passed,
    RuleId,
    Skipped,
)
from ncuview.speedup.attainable import figure_columns
from ncuview.speedup.effects import ADDED, EFFECTS, LATENCY_HIDDEN, TIME_LEFT
from ncuview.speedup.end_to_end import TRANSFER, of_host, with_copies
from ncuview.speedup.model import UNEXPLAINED, UNEXPLAINED_WITHOUT_CODE, Load, predict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ncuview.base.expression import Expression
    from ncuview.speedup.model import Gains

    Column = NDArray[np.float64]


def outcomes_of(
    rule: Rule,
    analysis: Analysis,
    load: Load,
    places: Places,
    causes: Causes,
    from_counters: frozenset[int] = frozenset(),
) -> list[Outcome]:
    """The outcomes of one rule, in the order of the launches.

    Args:
        rule: The rule.
        analysis: The launches.
        load: How they use the units.
        places: Their lines.
        causes: What their stalled warps wait for.
        from_counters: The launches that a rule which reads machine code judges without it.
    """
    if not rule.reads_code or not from_counters:
        return _OfRule(rule, analysis, load, places, causes).outcomes()
    weaker = rule.from_counters
    likely = _FromCounters(weaker, analysis, load, places, causes).outcomes() if weaker else None
    all_without = len(from_counters) == len(analysis.devices)
    certain = [] if all_without else _OfRule(rule, analysis, load, places, causes).outcomes()
    return [
        certain[launch]
        if launch not in from_counters
        else likely[launch]
        if likely
        else _unseen(rule, analysis, launch)
        for launch in range(len(analysis.devices))
    ]


def _unseen(rule: Rule, analysis: Analysis, launch: int) -> Skipped:
    """The outcome of a rule that cannot judge a launch without machine code."""
    shows = rule.text.without_code.cannot if rule.text.without_code else None
    why = SKIPPED_BECAUSE + no_code(str(analysis.profile.launches.at[launch, "report"]))
    message = f"{ONLY_CODE_SHOWS}{shows}" if shows else why
    return Skipped(RuleId(rule.text.code, rule.text.name), message, ())


def kernel_gains(judgement: Judgement, load: Load, unexplained: float = UNEXPLAINED) -> tuple[Gains, list[str]]:
    """What a rule predicts for the kernel of each launch, and the bottleneck after its change; see ``predict``."""
    rule, values = judgement.rule, judgement.values
    return predict(
        load,
        effects={name: expression.evaluate(values) for name, expression in rule.effects.items()},
        added={name: expression.evaluate(values) / values["sm_cycles"] for name, expression in rule.added.items()},
        latency_hidden=np.clip(rule.latency_hidden.evaluate(values), 0.0, 1.0),
        time_left=rule.time_left.evaluate(values),
        unexplained=unexplained,
    )


class _OfRule:
    """One rule and all launches; texts that are the same for every launch are made once."""

    _grade: Grade = "certain"
    _unexplained = UNEXPLAINED

    def __init__(self, rule: Rule, analysis: Analysis, load: Load, places: Places, causes: Causes) -> None:
        self._rule = rule
        self._analysis = analysis
        self._load = load
        self._places = places
        self._causes = causes
        self._identity = RuleId(rule.text.code, rule.text.name)
        self._not_applicable = NotApplicable(self._identity, rule.not_applicable.text)
        self._without: dict[frozenset[str], Skipped] = {}
        """The outcome of launches that lack metrics, by those that they have."""

    def outcomes(self) -> list[Outcome]:
        """The outcome of each launch."""
        judgement = self._judged
        predicted = self._predicted(judgement) if FINDING in judgement.outcomes else None
        return [self._outcome(judgement, launch, predicted) for launch in range(len(judgement.outcomes))]

    @cached_property
    def _judged(self) -> Judgement:
        return judge(self._rule, self._analysis)

    @cached_property
    def _cite(self) -> tuple[Citation, ...]:
        return tuple(Citation(cite.document, cite.section, cite.claim) for cite in self._rule.text.cite)

    @cached_property
    def _fix(self) -> Fix:
        fix, rule_file = self._rule.text.fix[0], self._rule.path
        made = Fix(fix.title, patch=fix.patch, by_hand=fix.by_hand, recipe=fix.recipe)
        if not fix.before or not fix.after:
            return made
        before, after = region(fix.before, rule_file), region(fix.after, rule_file)
        return replace(made, before=before, before_from=fix.before, after=after, after_from=fix.after)

    @cached_property
    def _about(self) -> About:
        if self._rule.text.where:
            return "lines"
        return "copies" if self._rule.text.scope == "end-to-end" else "launch"

    def _predicted(self, judgement: Judgement) -> tuple[Gains, list[str]]:
        if self._rule.text.scope == "end-to-end":
            launches = len(judgement.outcomes)
            time_left = np.broadcast_to(self._rule.time_left.evaluate(judgement.values), (launches,))
            return of_host(time_left), [TRANSFER] * launches
        gains, bottlenecks_after = kernel_gains(judgement, self._load, self._unexplained)
        return with_copies(gains, self._analysis), bottlenecks_after

    def _skipped(self, values: Mapping[str, float], launch: int) -> Skipped:
        known = self._analysis.known_metrics[launch]
        if (same := self._without.get(known)) and not self._analysis.refused(launch):
            return same
        missing = missing_metrics(self._rule, self._analysis, launch)
        if not missing:
            why = why_unknown(self._rule, values, self._analysis, launch)
            return Skipped(self._identity, f"{SKIPPED_BECAUSE}{why}", ())
        skipped = Skipped(self._identity, f"{SKIPPED_BECAUSE}{why_missing(missing, self._analysis, launch)}", missing)
        return skipped if self._analysis.refused(launch) else self._without.setdefault(known, skipped)

    def _unpredictable(self, launch: int) -> tuple[str, ...]:
        """The metrics without which no gain can be predicted."""
        return self._load.missing(launch)

    def _outcome(self, judgement: Judgement, launch: int, predicted: tuple[Gains, list[str]] | None) -> Outcome:
        word = judgement.outcomes[launch]
        if word == NOT_APPLICABLE:
            return self._not_applicable
        rule, analysis = self._rule, self._analysis
        values = {name: column[launch] for name, column in judgement.numbers.items()}
        if word == PASSED:
            return self._passed(values, judgement.unmet(launch))
        if word == BROKEN:
            return Broken(
                self._identity, f"{rule.path}: {judgement.without_number(launch)} is not a number on this launch"
            )
        if word == SKIPPED or predicted is None:
            return self._skipped(values, launch)
        if missing := self._unpredictable(launch):
            why = why_missing(missing, analysis, launch)
            return Skipped(self._identity, f"its gain cannot be predicted: {why}", missing)
        gains, bottlenecks_after = predicted
        if not np.isfinite(gains[:, launch]).all():
            return Broken(self._identity, f"{rule.path}: gain is not a number on this launch")
        return self._finding(launch, values, Gain(*gains[:, launch].tolist()), bottlenecks_after[launch])

    def _passed(self, values: dict[str, float], unmet: tuple[str, ...]) -> Passed:
        """What was measured, and the conditions that do not hold."""
        message = self._rule.passed.fill(values)
        if unmet:
            message += f" (not met: {'; '.join(map(self._rule.with_numbers, unmet))})"
        return Passed(self._identity, message, unmet)

    def _finding(self, launch: int, values: dict[str, float], gain: Gain, bottleneck_after: str) -> Finding:
        rule, where = self._rule, self._places.of(self._rule, launch)  # no places without machine code
        return Finding(
            rule=self._identity,
            optimization=rule.text.optimization,
            message=rule.finding.fill(values),
            predicted_speedup=gain,
            bottleneck_after=bottleneck_after,
            check=rule.check.fill(values),
            assumes=rule.text.docs.assumes,
            open_condition=open_condition(rule.text.independent_work, self._analysis, launch),
            evidence=self._evidence(values),
            where=where.lines,
            cite=self._cite,
            fix=self._fix,
            instructions=where.instructions,
            lines_wanted=where.lines_wanted,
            about=self._about,
            conditions=tuple(self._with_values(condition, values) for condition in rule.when),
            effects=tuple(self._effects(launch)),
            grade=self._grade,
            draft=rule.text.status == "draft",
            cause=rule.text.cause,
            waits_for=self._causes.of_rule(rule, launch),
        )

    def _metrics_of(self, name: str) -> tuple[str, ...]:
        return metrics_of(name)

    def _with_values(self, condition: str, values: dict[str, float]) -> str:
        """``ways >= 1.1 (ways 16.5)``."""
        names = sorted(self._rule.when[condition].names & (self._rule.let.keys() | {*self._rule.inputs}))
        found = ", ".join(f"{name} {values[name]:.4g}" for name in names if name in values)
        shown = self._rule.with_numbers(condition)
        return f"{shown} ({found})" if found else shown

    def _effects(self, launch: int) -> Iterator[Effect]:
        return (Effect(name, amounts[launch], units, added=added) for name, amounts, units, added in self._changes)

    @cached_property
    def _changes(self) -> list[tuple[str, list[float], tuple[str, ...], bool]]:
        """Each effect with its amount on each launch, the bottlenecks of its units, and whether it is added work."""
        rule, found = self._rule, list[tuple[str, list[float], tuple[str, ...], bool]]()
        further = {LATENCY_HIDDEN: rule.latency_hidden, TIME_LEFT: rule.time_left}
        for name, expression in {**rule.effects, **further}.items():
            if name in rule.text.effects:
                units = tuple(UNITS[unit].bottleneck if unit in UNITS else unit for unit in EFFECTS.get(name, ()))
                found.append((name, self._amounts(expression), tuple(dict.fromkeys(units)), False))
        return found + [(name, self._amounts(each), tuple(ADDED[name]), True) for name, each in rule.added.items()]

    def _amounts(self, expression: Expression) -> list[float]:
        """What an expression gives for each launch."""
        values = np.broadcast_to(expression.evaluate(self._judged.values), (len(self._judged.outcomes),))
        return [float(each) for each in values]

    def _evidence(self, values: dict[str, float]) -> tuple[Evidence, ...]:
        """The rule's computed values, then the quantities and metrics under them."""
        computed = [Evidence(name, values[name], *described) for name, described in self._computed.items()]
        plain = [Evidence(name, values[name], *described) for name, described in self._plain.items()]
        return (*computed, *plain)

    @cached_property
    def _plain(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Each input of the rule with its unit and the metrics that it is computed from."""
        units, of_report = self._rule.text.evidence.units, self._analysis.profile.units
        return {
            name: (units.get(name) or unit_of(name) or of_report.get(NAMES.get(name, ""), ""), self._metrics_of(name))
            for name in self._rule.inputs
        }

    @cached_property
    def _computed(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Each computed value of the rule with its unit and the metrics that it is computed from."""
        units = self._rule.text.evidence.units
        found: dict[str, tuple[str, tuple[str, ...]]] = {}
        for name, expression in self._rule.let.items():
            used = [(found.get(each) or self._plain.get(each, ("", ())))[1] for each in sorted(expression.names)]
            found[name] = (units.get(name, ""), tuple(dict.fromkeys(metric for metrics in used for metric in metrics)))
        return found


class _FromCounters(_OfRule):
    """One rule as it judges launches without machine code: by counters, and by what the rule assumes."""

    _grade = "likely"
    _unexplained = UNEXPLAINED_WITHOUT_CODE

    @cached_property
    def _counted(self) -> FromCounters:
        return FromCounters(self._analysis, self._rule.assumed)

    @cached_property
    def _judged(self) -> Judgement:
        inputs = {name: self._counted.value(name) for name in self._rule.inputs}
        return judge_values(self._rule, inputs, figure_columns(self._analysis))

    def _metrics_of(self, name: str) -> tuple[str, ...]:
        return self._counted.metrics_of(name)

    def _skipped(self, values: Mapping[str, float], launch: int) -> Skipped:
        known = self._analysis.known_metrics[launch]
        unknown = [name for name in self._rule.inputs if np.isnan(values[name])]
        needed = dict.fromkeys(metric for name in unknown for metric in self._metrics_of(name))
        missing = tuple(metric for metric in needed if metric not in known and metric not in OF_SOME_CHIPS)
        if missing:
            return Skipped(self._identity, f"{SKIPPED_BECAUSE}{why_missing(missing, self._analysis, launch)}", missing)
        return Skipped(
            self._identity, f"{SKIPPED_BECAUSE}{why_unknown(self._rule, values, self._analysis, launch)}", ()
        )

    def _unpredictable(self, launch: int) -> tuple[str, ...]:
        """Units that the report does not count are left out of the model, except those that bound most launches."""
        return tuple(metric for metric in super()._unpredictable(launch) if metric in OF_MOST_BOTTLENECKS)
