"""Compute one rule's outcome for each launch of a profile; findings get evidence, source lines, fix and predicted gain.

``outcomes_of`` evaluates the rule; a launch without a finding gets passed, not applicable, skipped or broken.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ncuview.engine.evaluate import BROKEN, FINDING, NOT_APPLICABLE, PASSED, SKIPPED, Judgement, alias_values, judge
from ncuview.engine.locate import where_of
from ncuview.engine.missing import missing_metrics, why_missing, why_unknown
from ncuview.engine.regions import region
from ncuview.engine.rule_file import DERIVED_PREFIX, Rule
from ncuview.metrics.quantities import DERIVED
from ncuview.records.diagnosis import (
    SKIPPED_BECAUSE,
    Broken,
    Citation,
    Evidence,
    Finding,
    Fix,
    Gain,
    NotApplicable,
    Outcome,
    Passed,
    RuleId,
    Skipped,
)
from ncuview.records.profile import Profile
from ncuview.speedup.end_to_end import of_host, with_copies
from ncuview.speedup.model import Load, Speedup, predict

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


def outcomes_of(rule: Rule, profile: Profile, load: Load) -> list[Outcome]:
    """What one rule says of each launch, in the order of the launches."""
    judgement = judge(rule, alias_values(rule, profile), profile.launches["device"].tolist())
    speedup = _speedup(judgement, load, profile) if FINDING in judgement.outcomes else None
    same = _Same(rule)
    return [_outcome(judgement, launch, profile, load, speedup, same) for launch in range(len(profile.launches))]


class _Same:
    """What a rule says of every launch in the same words: made once, since there may be a hundred thousand of them."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.identity = RuleId(rule.text.code, rule.text.name)
        self.not_applicable = NotApplicable(self.identity, rule.not_applicable.text)

    @cached_property
    def cite(self) -> tuple[Citation, ...]:
        """Where the change is taught."""
        return tuple(Citation(cite.document, cite.section, cite.claim) for cite in self._rule.text.cite)

    @cached_property
    def fix(self) -> Fix:
        """The change, shown on two real kernels."""
        fix, beside = self._rule.text.fix[0], self._rule.path
        return Fix(fix.title, region(fix.before, beside), fix.before, region(fix.after, beside), fix.after)


def _speedup(judgement: Judgement, load: Load, profile: Profile) -> Speedup:
    rule, values, launches = judgement.rule, judgement.values, len(judgement.outcomes)
    if rule.whole:
        return of_host(np.broadcast_to(rule.whole.evaluate(values), (launches,)))
    of_kernel = predict(
        load,
        scale={unit: expression.evaluate(values) for unit, expression in rule.scale.items()},
        adds={unit: expression.evaluate(values) for unit, expression in rule.adds.items()},
        latency=np.broadcast_to(np.clip(rule.latency.evaluate(values), 0.0, 1.0), (launches,)),
        least=np.broadcast_to(rule.time.evaluate(values), (launches,)),
        waits=np.broadcast_to(rule.waits.evaluate(values), (launches,)),
    )
    return with_copies(of_kernel, profile)


def _outcome(
    judgement: Judgement, launch: int, profile: Profile, load: Load, speedup: Speedup | None, same: _Same
) -> Outcome:
    word = judgement.outcomes[launch]
    if word == NOT_APPLICABLE:
        return same.not_applicable
    rule, identity = judgement.rule, same.identity
    values = {name: column[launch] for name, column in judgement.numbers.items()}
    if word == PASSED:
        return Passed(identity, rule.passed.fill(values))
    if word == BROKEN:
        return Broken(identity, f"{rule.path}: {judgement.broken_by[launch]} is not a number on this launch")
    if word == SKIPPED or speedup is None:
        missing = missing_metrics(rule, profile, launch)
        why = why_missing(missing, profile, launch) if missing else why_unknown(rule, values, profile, launch)
        return Skipped(identity, f"{SKIPPED_BECAUSE}{why}", missing)
    if missing := load.missing(launch):
        why = why_missing(missing, profile, launch)
        return Skipped(identity, f"its gain cannot be predicted: {why}", missing)
    gain = Gain(*(float(bound[launch]) for bound in (speedup.low, speedup.best, speedup.high)))
    if not np.isfinite((gain.low, gain.best, gain.high)).all():
        return Broken(identity, f"{rule.path}: gain is not a number on this launch")
    return _finding(rule, launch, values, profile, gain, speedup.wall_after[launch], same)


def _finding(
    rule: Rule, launch: int, values: dict[str, float], profile: Profile, gain: Gain, wall_after: str, same: _Same
) -> Finding:
    where = where_of(rule, launch, profile)
    return Finding(
        rule=same.identity,
        optimization=rule.text.optimization,
        message=rule.finding.fill(values),
        predicted_speedup=gain,
        bottleneck_after=wall_after,
        check=rule.check.fill(values),
        assumes=rule.text.gain.assumes,
        evidence=_evidence(rule, values, profile),
        where=where.lines,
        cite=same.cite,
        fix=same.fix,
        instructions=where.instructions,
        lines_wanted=where.lines_wanted,
    )


def _evidence(rule: Rule, values: dict[str, float], profile: Profile) -> tuple[Evidence, ...]:
    """The rule's computed values, then the metrics under them."""
    units = rule.text.evidence.units
    sources = {alias: _source_metrics(names, profile) for alias, names in rule.text.metrics.items()}
    computed = []
    for name, expression in rule.let.items():
        sources[name] = tuple(
            dict.fromkeys(metric for used in sorted(expression.names) for metric in sources.get(used, ()))
        )
        computed.append(Evidence(name, values[name], units.get(name, ""), sources[name]))
    plain = [
        Evidence(alias, values[alias], units.get(alias) or _unit(names, profile), sources[alias])
        for alias, names in rule.text.metrics.items()
    ]
    return (*computed, *plain)


def _source_metrics(names: list[str], profile: Profile) -> tuple[str, ...]:
    for name in names:
        if name.startswith(DERIVED_PREFIX):
            return DERIVED[name.removeprefix(DERIVED_PREFIX)].metrics
        if name in profile.metrics.columns:
            return (name,)
    return ()


def _unit(names: list[str], profile: Profile) -> str:
    for name in names:
        if name.startswith(DERIVED_PREFIX):
            return DERIVED[name.removeprefix(DERIVED_PREFIX)].unit
        if name in profile.units:
            return profile.units[name]
    return ""
