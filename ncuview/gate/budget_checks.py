"""Compare a ``Diagnosis`` with a ``Budget`` -> one ``Check`` per entry and matching kernel, grid and block.

``budget_checks`` checks limits on metrics and times, forbidden findings, and the predicted gain of the first advice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isclose, isfinite
from statistics import median

from ncuview.base.suggestion import did_you_mean
from ncuview.comparison.launch_groups import LaunchGroup, configuration_of, group_launches
from ncuview.comparison.repeats import noise_of, repeats_of
from ncuview.gate.budget import Budget, Entry
from ncuview.gate.formatting import quantity, times
from ncuview.gate.metric_values import MetricValue, MetricValues, finding_lines
from ncuview.gate.spread import Spreads
from ncuview.metrics.names import NAMES
from ncuview.metrics.repeatability import DURATION, NEAR_TOLERANCE, TIME_SPREAD, MetricClass
from ncuview.metrics.textbook import definitions, metric_names
from ncuview.records.diagnosis import Broken, Diagnosis, Finding, LaunchDiagnosis, Outcome, Skipped
from ncuview.records.gate import Check, CheckResult, Level
from ncuview.records.profile import NOWHERE, Configuration

_POINT = 1.0
"""Percentages near 0 spread by more than their size; differences below one percentage point are noise."""
_COLLECT = '--metrics "$(ncuview rules --metrics)" collects all metrics that rules need'


@dataclass(frozen=True)
class _Judged:
    """The result of one launch group."""

    result: CheckResult
    measured: float | None
    message: str
    example: LaunchDiagnosis
    metrics: frozenset[str] = frozenset()
    unit: str = ""


_WORST: tuple[CheckResult, ...] = ("failed", "not judged", "inconclusive", "passed")


def budget_checks(
    budget: Budget,
    diagnosis: Diagnosis,
    values: MetricValues,
    spreads: Spreads,
    left_out: Collection[int] = (),
    choosing: Sequence[str] = (),
) -> Iterator[Check]:
    """All checks of a budget, ordered by launch, then by entry.

    ``left_out`` holds the numbers of entries about kernels that the user left out; they need no launch. ``choosing``
    names further options that left out launches.
    """
    used = set(left_out)
    for launches in _by_configuration(diagnosis.launches).values():
        for number, entry in enumerate(budget.entries, start=1):
            about = [launch for launch in launches if entry.is_about(launch)]
            if about:
                used.add(number)
            if about and entry.level != "off":
                check = _check(entry, budget.origin(number), about, values, spreads)
                yield replace(check, limit_line=budget.line(number))
    for number, entry in enumerate(budget.entries, start=1):
        if number not in used and entry.level != "off":
            unmatched = _unmatched(entry, budget.origin(number), diagnosis, choosing)
            yield replace(unmatched, limit_line=budget.line(number))


def _by_configuration(launches: Iterable[LaunchDiagnosis]) -> dict[Configuration, list[LaunchDiagnosis]]:
    found: dict[Configuration, list[LaunchDiagnosis]] = {}
    for launch in launches:
        found.setdefault(configuration_of(launch), []).append(launch)
    return found


def _unmatched(entry: Entry, origin: str, diagnosis: Diagnosis, choosing: Sequence[str]) -> Check:
    """An entry that matches no launch; it is not judged, so that a renamed kernel does not pass."""
    level: Level = entry.level if entry.required else "warn"
    names = list(dict.fromkeys(launch.kernel for launch in diagnosis.launches))
    there = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    where = "" if entry.grid is None and entry.block is None else " with this grid and block"
    if choosing:
        there += f" among those that {', '.join(choosing)} chose"
    remedy = ": correct the budget's kernel, or set required = false" if entry.required else ""
    return Check(
        kernel=entry.kernel,
        grid=NOWHERE,
        block=NOWHERE,
        subject=_subject(entry),
        condition=_condition(entry, ""),
        result="not judged",
        level=level,
        measured=None,
        limit=_limit(entry),
        unit="",
        message=f"no launch is called {entry.kernel}{where}; there are {there or 'none'}{remedy}",
        origin=origin,
    )


def _check(
    entry: Entry, origin: str, launches: Sequence[LaunchDiagnosis], values: MetricValues, spreads: Spreads
) -> Check:
    """The worst result over the launch groups of a configuration."""
    groups = [group for found in group_launches(launches).values() for group in found]
    if entry.finding is not None:
        judged = [_finding(entry.finding, group, advised=entry.advised) for group in groups]
    elif entry.predicted:
        judged = [_predicted(inf if entry.max is None else entry.max, group) for group in groups]
    else:
        judged = [_metric(entry, group, values, spreads) for group in groups]
    worst = min(judged, key=lambda each: (_WORST.index(each.result), -abs(each.measured or 0.0)))
    launch = worst.example
    where = finding_lines(launch, worst.metrics) if worst.result == "failed" else ()
    if worst.result == "failed" and (found := _blamed(entry, launch)):
        where = found.where
    return Check(
        kernel=launch.demangled or launch.kernel,
        grid=launch.grid,
        block=launch.block,
        subject=_subject(entry, launch),
        condition=_condition(entry, worst.unit),
        result=worst.result,
        level=entry.level,
        measured=worst.measured,
        limit=_limit(entry),
        unit=worst.unit,
        message=worst.message,
        origin=origin,
        where=where,
    )


def _subject(entry: Entry, launch: LaunchDiagnosis | None = None) -> str:
    if entry.finding is None:
        return entry.metric or "predicted"
    outcome = _outcome(entry.finding, launch) if launch else None
    return f"{outcome.rule.code} {outcome.rule.name}" if outcome else entry.finding


def _condition(entry: Entry, unit: str) -> str:
    if entry.finding is not None:
        return "must not be advised" if entry.advised else "must not be found"
    if entry.predicted:
        return f"at most {entry.max:g}x"
    limits = (("at least", entry.min), ("at most", entry.max), ("equal to", entry.equal))
    return ", ".join(f"{word} {quantity(limit, unit)}" for word, limit in limits if limit is not None)


def _limit(entry: Entry) -> float | None:
    return next((limit for limit in (entry.equal, entry.max, entry.min) if limit is not None), None)


def _blamed(entry: Entry, launch: LaunchDiagnosis) -> Finding | None:
    """The finding that an entry is about."""
    if entry.predicted:
        return launch.findings[0] if launch.findings else None
    outcome = _outcome(entry.finding, launch) if entry.finding is not None else None
    return outcome if isinstance(outcome, Finding) else None


def _outcome(rule: str, launch: LaunchDiagnosis) -> Outcome | None:
    return next((o for o in launch.outcomes if rule.lower() in {o.rule.code.lower(), o.rule.name.lower()}), None)


def _finding(rule: str, group: LaunchGroup, *, advised: bool) -> _Judged:
    """Whether the rule fires; with ``advised``, whether it is advice."""
    outcomes = [(_outcome(rule, launch), launch) for launch in group.launches]
    found = [(outcome, launch) for outcome, launch in outcomes if isinstance(outcome, Finding)]
    fired = [(outcome, launch) for outcome, launch in found if not (advised and outcome.rejected)]
    unknown = [
        (outcome, launch) for outcome, launch in outcomes if outcome is None or isinstance(outcome, Skipped | Broken)
    ]
    if fired:
        outcome, launch = fired[0]
        result: CheckResult = "failed" if len(fired) + len(unknown) == len(outcomes) else "inconclusive"
        some = f" in {len(fired)} of {times(len(outcomes), 'launch')}" if len(fired) < len(outcomes) else ""
        aside = f"; no advice: {outcome.rejected}" if outcome.rejected else ""
        return _Judged(result, None, f"it was found{some}: {outcome.message}{aside}", launch)
    if unknown:
        skipped, launch = unknown[0]
        why = skipped.message if skipped else "the rule was left out"
        message = why if why.startswith("it cannot be judged") else f"it could not be judged: {why}"
        return _Judged("not judged", None, message, launch)
    if found:
        return _Judged("passed", None, f"it was found and is no advice: {found[0][0].rejected}", found[0][1])
    return _Judged("passed", None, outcomes[0][0].message if outcomes[0][0] else "", group.middle)


def _predicted(limit: float, group: LaunchGroup) -> _Judged:
    """The median gain of the first advice. It may be larger where rules could not judge the launches."""
    gains = [_gain(launch) for launch in group.launches]
    if not all(map(isfinite, gains)):
        return _Judged("not judged", None, "the predicted gain is not a number", group.middle)
    middle = median(gains)
    example = min(group.launches, key=lambda launch: abs(_gain(launch) - middle))
    first = example.findings[0] if example.findings else None
    advice = f" by {first.optimization} ({first.rule.code})" if first else ""
    spread = f", {min(gains):.2f}x to {max(gains):.2f}x in {times(len(gains), 'launch')}" if len(gains) > 1 else ""
    message = f"{middle:.2f}x is predicted{advice}{spread}"
    if min(gains) > limit:
        return _Judged("failed", middle, f"{message}, more than {limit:g}x", example, unit="x")
    if max(gains) > limit:
        return _Judged("inconclusive", middle, f"{message}: on both sides of {limit:g}x", example, unit="x")
    outcomes = (outcome for launch in group.launches for outcome in launch.outcomes)
    unjudged = dict.fromkeys(outcome.rule.code for outcome in outcomes if isinstance(outcome, Skipped | Broken))
    if unjudged:
        return _Judged(
            "not judged",
            middle,
            f"{message}, but {', '.join(unjudged)} could not be judged: {_COLLECT}",
            example,
            unit="x",
        )
    if example.selected:
        message = f"{message} by the selected rules, but others may predict more: leave out --select and --ignore"
        return _Judged("not judged", middle, message, example, unit="x")
    return _Judged("passed", middle, message, example, unit="x")


def _gain(launch: LaunchDiagnosis) -> float:
    return launch.findings[0].predicted_speedup.best if launch.findings else 1.0


def _collect(metric: str, collected: Iterable[str]) -> str:
    """How to profile so that a metric has a value; for an unknown one of ncu's, those that it may stand for."""
    names: Iterable[str] = [metric]
    known = {*NAMES.values(), *collected}
    near = "" if metric == DURATION or metric in definitions() or metric in known else did_you_mean(metric, known)
    if near:
        return f"it was not collected. {near} If ncu has a metric of this name, profile with --metrics {metric}"
    if metric == DURATION:
        names = ["gpu__time_duration.sum"]
    elif metric in definitions():
        names = sorted(metric_names(definitions()[metric].expressions[0]))
    return f"it was not collected; profile with --metrics {','.join(names)}"


def _metric(entry: Entry, group: LaunchGroup, values: MetricValues, spreads: Spreads) -> _Judged:
    name = entry.metric or ""
    found = [(values.of(launch, name), launch) for launch in group.launches]
    missing = [launch for each, launch in found if each.value is None and each.has_subject]
    known = [(each, each.value, launch) for each, launch in found if each.value is not None]
    if missing:
        why = next(
            (each.why for each, _ in found if each.why and each.value is None),
            _collect(name, values.profile.metrics.columns),
        )
        message = f"no value of {name} in {len(missing)} of {times(len(found), 'launch')}: {why}"
        return _Judged("not judged", None, message, missing[0])
    if not known:
        return _Judged("passed", None, f"there is nothing to measure: {name} has no subject here", group.middle)
    kind = max(each.kind for each, _, _ in known)
    first = known[0][0]
    if kind is MetricClass.NOISY:
        message = f"{name} comes from {', '.join(sorted(first.metrics))} here, which differ too much from run to run"
        return _Judged("not judged", first.value, message, group.middle, unit=first.unit)
    if kind is MetricClass.TIME:
        return _spreading(entry, group, [value for _, value, _ in known], first, spreads)
    return _counted(entry, known)


def _counted(entry: Entry, known: Sequence[tuple[MetricValue, float, LaunchDiagnosis]]) -> _Judged:
    """Counters that repeat: every launch must keep the limit; near-exact counters have a tolerance of 2 %."""
    kind = max(each.kind for each, _, _ in known)
    tolerance = NEAR_TOLERANCE if kind is MetricClass.NEAR else 0.0
    each, value, launch = max(known, key=lambda one: _excess(entry, one[1], tolerance))
    shown = quantity(value, each.unit)
    if _excess(entry, value, tolerance) > 0:
        return _Judged("failed", value, f"it is {shown}", launch, each.metrics, each.unit)
    near = f", to within {tolerance:.0%}" if tolerance and _excess(entry, value, 0.0) > 0 else ""
    return _Judged("passed", value, f"it is {shown}{near}", launch, each.metrics, each.unit)


def _excess(entry: Entry, value: float, tolerance: float) -> float:
    """By how much a value exceeds its limit; positive where it does."""
    if entry.equal is not None:
        if isclose(value, entry.equal, rel_tol=max(tolerance, 1e-9)):
            return 0.0
        return abs(value - entry.equal)
    over = value - entry.max - abs(entry.max) * max(tolerance, 1e-9) if entry.max is not None else -inf
    under = entry.min - value - abs(entry.min) * max(tolerance, 1e-9) if entry.min is not None else -inf
    return max(over, under)


def _spreading(
    entry: Entry, group: LaunchGroup, values: Sequence[float], shown: MetricValue, spreads: Spreads
) -> _Judged:
    """Times and metrics that depend on time: the median must differ from the limit by more than its noise."""
    launch = group.middle
    spread = spreads.time(launch.device.name, launch.demangled or launch.kernel)
    repeats = repeats_of(values)
    if entry.metric == DURATION:
        noise = noise_of(repeats, spread)
    else:
        share = TIME_SPREAD if spread is None else spread
        noise = 3 * max(share * abs(repeats.median_ns), repeats.deviation_ns) / repeats.count**0.5
        noise = max(noise, _POINT) if shown.unit == "%" else noise
    middle = repeats.median_ns
    shown_median = f"it is {quantity(middle, shown.unit)}, the median of {times(repeats.count, 'launch')}"
    sides = [middle - entry.max] if entry.max is not None else []
    sides += [entry.min - middle] if entry.min is not None else []
    sides += [abs(middle - entry.equal)] if entry.equal is not None else []
    over = max(sides)
    if over > noise:
        return _Judged("failed", middle, shown_median, launch, shown.metrics, shown.unit)
    if over > -noise:
        message = (
            f"{shown_median}, with a noise of {quantity(noise, shown.unit)}: too near {_condition(entry, shown.unit)}"
            " to decide; more launches reduce the noise"
        )
        return _Judged("inconclusive", middle, message, launch, shown.metrics, shown.unit)
    return _Judged("passed", middle, shown_median, launch, shown.metrics, shown.unit)
