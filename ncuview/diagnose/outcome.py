"""From a rule's judgement of all launches to one outcome per launch, with evidence, places and the promised gain."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ncuview.diagnose.check import BROKEN, FINDING, NOT_APPLICABLE, PASSED, SKIPPED, Judgement, alias_values, judge
from ncuview.diagnose.whatif import Load, Speedup, predict
from ncuview.diagnose.where import where_of
from ncuview.diagnose.whole import of_host, with_copies
from ncuview.model import (
    Broken,
    Citation,
    Evidence,
    Finding,
    Fix,
    Gain,
    NotApplicable,
    Outcome,
    Passed,
    Profile,
    RuleId,
    Skipped,
)
from ncuview.report.believable import refused
from ncuview.report.derive import DERIVED, OF_SOME_CHIPS, SAMPLES
from ncuview.report.executed import executed_by_launch
from ncuview.ruleset.regions import region
from ncuview.ruleset.spec import DERIVED_PREFIX, Rule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]


def outcomes_of(rule: Rule, profile: Profile, load: Load) -> list[Outcome]:
    """What one rule says of each launch, in the order of the launches."""
    judgement = judge(rule, alias_values(rule, profile))
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
    values = {name: float(column[launch]) for name, column in judgement.values.items()}
    if word == PASSED:
        return Passed(identity, rule.passed.fill(values))
    if word == BROKEN:
        return Broken(identity, f"{rule.path}: {judgement.broken_by[launch]} is not a number on this launch")
    if word == SKIPPED or speedup is None:
        missing = _missing_metrics(rule, profile, launch)
        why = _why_missing(missing, profile, launch) if missing else _why_unknown(rule, values, profile, launch)
        return Skipped(identity, f"it cannot be judged: {why}", missing)
    if missing := load.missing(launch):
        why = _why_missing(missing, profile, launch)
        return Skipped(identity, f"its gain cannot be predicted: {why}", missing)
    gain = Gain(*(float(bound[launch]) for bound in (speedup.low, speedup.best, speedup.high)))
    if not np.isfinite((gain.low, gain.best, gain.high)).all():
        return Broken(identity, f"{rule.path}: gain is not a number on this launch")
    return _finding(rule, launch, values, profile, gain, speedup.wall_after[launch], same)


def _why_missing(missing: tuple[str, ...], profile: Profile, launch: int) -> str:
    """Why there is no value of these metrics, each cause with its metrics where there are several, and what helps."""
    told, row = refused(profile, launch), profile.metrics.iloc[launch]
    # Of metrics that only serve together, some may be there.
    unknown = [name for name in missing if not np.isfinite(row.get(name, np.nan))] or missing
    wrong = [f"{name} is {told[name]:g}" for name in unknown if name in told]
    lacking: dict[str, list[str]] = {}
    for name in unknown:
        if name not in told:
            cause = "no value in the report" if name in profile.metrics.columns else "not collected"
            lacking.setdefault(cause, []).append(name)
    causes = [f"the report says that {', '.join(wrong)}, which cannot be"] if wrong else []
    if not lacking:
        return f"{causes[0]}. Profile again"
    is_only_cause = len(causes) + len(lacking) == 1
    for cause, names in sorted(lacking.items()):
        causes.append(cause if is_only_cause else f"{cause}: {', '.join(names)}")
    return f"{'; '.join(causes)}. Collect with: ncu --metrics {','.join(missing)}"


def _why_unknown(rule: Rule, values: dict[str, float], profile: Profile, launch: int) -> str:
    """Why a value is unknown although all metrics that it needs are there."""
    if launch not in executed_by_launch(profile):
        return "the report holds no machine code, as a CSV export does not: give the .ncu-rep itself"
    unknown = [alias for alias in rule.text.metrics if np.isnan(values[alias])]
    if all(_is_sampled(rule.text.metrics[alias][0]) for alias in unknown):
        return "the launch is too short to have been sampled, or not for every reason to stall"
    return f"{', '.join(unknown)} cannot be computed from the numbers in the report"


def _is_sampled(name: str) -> bool:
    return name.startswith(DERIVED_PREFIX) and set(SAMPLES) <= set(DERIVED[name.removeprefix(DERIVED_PREFIX)].metrics)


def _missing_metrics(rule: Rule, profile: Profile, launch: int) -> tuple[str, ...]:
    """The newest name of each metric of which this launch has no form at all."""
    row = profile.metrics.iloc[launch]
    present = set(row.index[np.isfinite(row)])
    wrong = refused(profile, launch)
    missing: dict[str, None] = {}
    for names in rule.text.metrics.values():
        if names[0].startswith(DERIVED_PREFIX):
            needed = DERIVED[names[0].removeprefix(DERIVED_PREFIX)].metrics
            lacking = [n for n in needed if n in wrong or (n not in present and n not in OF_SOME_CHIPS)]
            missing.update(dict.fromkeys(lacking))
        elif not present.intersection(names):
            missing[names[0]] = None
    return tuple(missing)


def _finding(
    rule: Rule, launch: int, values: dict[str, float], profile: Profile, gain: Gain, wall_after: str, same: _Same
) -> Finding:
    where = where_of(rule, launch, profile)
    return Finding(
        rule=same.identity,
        optimization=rule.text.optimization,
        message=rule.finding.fill(values),
        predicted_speedup=gain,
        wall_after=wall_after,
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
