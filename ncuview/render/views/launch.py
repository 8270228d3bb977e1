"""The view ``launch``: what limits one launch, what to change first, and which rules could not look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from ncuview.engine.priority import Priorities
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, Skipped
from ncuview.records.documents.view import (
    BlindRule,
    BlindRules,
    EqualLaunch,
    EqualLaunches,
    Findings,
    FirstAdvice,
    LaunchPart,
    ShortFinding,
    UnitUse,
    UnitUses,
    ViewDocument,
)
from ncuview.render.program_words import call_words
from ncuview.render.views.pages import Listing, Request, clipped, rounded, rounded_gain
from ncuview.render.views.places import place_of, title_of
from ncuview.render.words import (
    bottleneck_sentence,
    device_words,
    sequence_words,
    shown_file,
    verdict_headline,
    verdict_reason,
)

_FINDINGS, _BLIND, _UNITS, _EQUAL = 4, 2, 4, 2


def launch_view(
    document: ViewDocument, ranked: Priorities, request: Request
) -> tuple[ViewDocument, Sequence[Listing[Any]]]:
    """The document with its part, and what fills its lists.

    Raises:
        UsageError: No launch has this key.
    """
    launch = request.launch(ranked)
    part = _part(launch, request)
    equal = _equal(launch, request.diagnosis.launches)

    def finding_line(each: Finding) -> ShortFinding:
        return ShortFinding(
            key=request.finding_key(launch, each),
            optimization=clipped(each.optimization, 40),
            where=clipped(place_of(launch, each), 120),
            speedup=rounded_gain(each.predicted_speedup),
            rejected=clipped(each.rejected, 120),
        )

    def equal_line(each: LaunchDiagnosis) -> EqualLaunch:
        return EqualLaunch(request.key_of(each), rounded(each.whole_ns))

    listings = (
        Listing("findings", findings_of(launch), finding_line, Findings, _put("findings"), _FINDINGS),
        Listing("blind_rules", _blind(launch), _blind_rule, BlindRules, _put("blind_rules"), _BLIND),
        Listing("units", _units(launch), _unit, UnitUses, _put("units"), _UNITS),
        Listing("equal", equal, equal_line, EqualLaunches, _put("equal"), _EQUAL),
    )
    return replace(document, launch=part), listings


def findings_of(launch: LaunchDiagnosis) -> tuple[Finding, ...]:
    """All findings of a launch, the advice first."""
    rejected = (each for each in launch.outcomes if isinstance(each, Finding) and each.rejected)
    return (*launch.findings, *rejected)


def _put(name: str) -> Callable[[ViewDocument, Any], ViewDocument]:
    def put(found: ViewDocument, page: Any) -> ViewDocument:
        return replace(found, launch=replace(found.launch, **{name: page}))  # type: ignore[type-var]

    return put


def _part(launch: LaunchDiagnosis, request: Request) -> LaunchPart:
    first = launch.findings[0] if launch.findings else None
    reason = f"{bottleneck_sentence(launch)}." if first else f"{verdict_headline(launch)} {verdict_reason(launch)}"
    return LaunchPart(
        key=request.key_of(launch),
        report=clipped(shown_file(launch.report), 120),
        index=launch.index,
        kernel=clipped(launch.demangled, 200),
        grid=launch.grid,
        block=launch.block,
        gpu=clipped(device_words(launch.device), 60),
        call=clipped(call_words(launch.call), 120) if launch.call else "",
        owner=clipped(launch.owner, 60),
        owner_kind=launch.owner_kind,
        time_ns=rounded(launch.whole_ns),
        share=None if launch.time_share is None else rounded(launch.time_share),
        verdict=launch.verdict,
        reason=clipped(reason, 280),
        bottleneck=clipped(launch.bottleneck, 40),
        attained=rounded(launch.attained) if isfinite(launch.attained) else None,
        advice=_first_advice(launch, first, request) if first else None,
        sequence=clipped(sequence_words(launch.sequence), 120) if launch.sequence else "",
        findings=Findings(0, 0, None, ()),
        blind_rules=BlindRules(0, 0, None, ()),
        units=UnitUses(0, 0, None, ()),
        equal=EqualLaunches(0, 0, None, ()),
    )


def _first_advice(launch: LaunchDiagnosis, finding: Finding, request: Request) -> FirstAdvice:
    return FirstAdvice(
        key=request.finding_key(launch, finding),
        rule=clipped(finding.rule.code, 24),
        optimization=clipped(finding.optimization, 40),
        change=clipped(title_of(finding), 120),
        where=clipped(place_of(launch, finding), 120),
        code=clipped(finding.where[0].code, 160) if finding.where else "",
        why=clipped(finding.message, 240),
        speedup=rounded_gain(finding.predicted_speedup),
        grade=finding.grade,
        draft=finding.draft,
        open_condition=clipped(finding.open_condition, 160),
        assumes=clipped(finding.assumes, 200),
        check=clipped(finding.check, 240),
        bottleneck_after=clipped(finding.bottleneck_after, 40),
    )


def _blind(launch: LaunchDiagnosis) -> tuple[Skipped | Broken, ...]:
    broken = tuple(each for each in launch.outcomes if isinstance(each, Broken))
    return (*broken, *(each for each in launch.outcomes if isinstance(each, Skipped)))


def _blind_rule(outcome: Skipped | Broken) -> BlindRule:
    return BlindRule(
        rule=clipped(outcome.rule.code, 24),
        outcome="broken" if isinstance(outcome, Broken) else "skipped",
        why=clipped(outcome.message, 200),
    )


def _units(launch: LaunchDiagnosis) -> tuple[tuple[str, float], ...]:
    known = ((unit, share) for unit, share in launch.units.items() if isfinite(share))
    return tuple(sorted(known, key=lambda item: -item[1]))


def _unit(use: tuple[str, float]) -> UnitUse:
    return UnitUse(clipped(use[0], 40), rounded(use[1]))


def _equal(launch: LaunchDiagnosis, launches: Sequence[LaunchDiagnosis]) -> tuple[LaunchDiagnosis, ...]:
    def what(each: LaunchDiagnosis) -> tuple[object, ...]:
        return (each.demangled, each.kernel, each.grid, each.block, each.device)

    return tuple(each for each in launches if each is not launch and what(each) == what(launch))
