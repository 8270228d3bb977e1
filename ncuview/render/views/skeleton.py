"""The view ``skeleton``: a line for each group of equal launches, and for the changes and calls of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ncuview.engine.priority import Priorities, Priority
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, Saved
from ncuview.records.documents.view import (
    Alternative,
    Alternatives,
    Calls,
    Changes,
    Group,
    Groups,
    ShortAdvice,
    ShortCall,
    ShortChange,
    Skeleton,
    Times,
    ViewDocument,
)
from ncuview.records.program import CallTime, ProgramFinding
from ncuview.render.priorities import ambiguous_names
from ncuview.render.program_words import call_words, calls_words
from ncuview.render.views.pages import Listing, Request, clipped, rounded, rounded_gain
from ncuview.render.views.places import place_of, title_of
from ncuview.render.words import gpu_words

_FIRST = 3
_CALLS = 3
"""Calls of a change that are named."""


def skeleton(
    document: ViewDocument, ranked: Priorities, request: Request
) -> tuple[ViewDocument, Sequence[Listing[Any]]]:
    """The document with its part, and what fills its lists."""
    part = Skeleton(
        gpus=clipped(gpu_words(request.diagnosis.launches), 100),
        reports=len(request.diagnosis.reports),
        times=_times(ranked),
        changes=Changes(0, 0, None, ()),
        calls=Calls(0, 0, None, ()),
        groups=Groups(0, 0, None, ()),
        alternatives=Alternatives(0, 0, None, ()),
    )
    ambiguous = ambiguous_names(ranked)
    program = request.diagnosis.program

    def made(each: Priority) -> Group:
        return _group(each, request.key_of(each.example), by_types=each.kernel in ambiguous)

    def alternative(of: tuple[LaunchDiagnosis, Finding]) -> Alternative:
        return _alternative(*of, request.finding_key(*of))

    others = [(group.example, each) for group in ranked.groups for each in group.example.findings[1:]]
    listings = (
        Listing("changes", request.changes, _change, Changes, _put("changes"), _FIRST),
        Listing("calls", program.calls if program else (), _call_of(request), Calls, _put("calls"), _FIRST),
        Listing("groups", ranked.groups, made, Groups, _put("groups"), _FIRST),
        Listing("alternatives", others, alternative, Alternatives, _put("alternatives"), 0),
    )
    return replace(document, skeleton=part), listings


def _put(name: str) -> Callable[[ViewDocument, Any], ViewDocument]:
    def put(found: ViewDocument, page: Any) -> ViewDocument:
        return replace(found, skeleton=replace(found.skeleton, **{name: page}))  # type: ignore[type-var]

    return put


def _times(ranked: Priorities) -> Times:
    saved = ranked.saved
    return Times(
        total_ns=rounded(ranked.total_ns),
        left_ns=rounded(ranked.left_ns),
        saved_ns=Saved(rounded(saved.low), rounded(saved.best), rounded(saved.high)),
        speedup=rounded_gain(ranked.speedup),
    )


def _group(group: Priority, key: str, *, by_types: bool) -> Group:
    example = group.example
    return Group(
        key=key,
        kernel=clipped(group.demangled if by_types else group.kernel, 160),
        grid=group.grid,
        block=group.block,
        launches=group.launches,
        time_ns=rounded(group.time_ns),
        share=rounded(group.share),
        verdict=example.verdict,
        bottleneck=clipped(example.bottleneck, 40),
        owner=clipped(example.owner, 60),
        advice=_advice(group, group.advice) if group.advice else None,
    )


def _advice(group: Priority, advice: Finding) -> ShortAdvice:
    return ShortAdvice(
        rule=clipped(advice.rule.code, 24),
        optimization=clipped(advice.optimization, 40),
        change=clipped(title_of(advice), 120),
        where=clipped(place_of(group.example, advice), 160),
        speedup=rounded_gain(group.predicted_speedup),
        saved_ns=rounded(group.saved.best),
        check=clipped(advice.check, 240),
    )


def _alternative(launch: LaunchDiagnosis, finding: Finding, key: str) -> Alternative:
    return Alternative(
        key=key,
        optimization=clipped(finding.optimization, 40),
        change=clipped(title_of(finding), 120),
        where=clipped(place_of(launch, finding), 160),
        speedup=rounded_gain(finding.predicted_speedup),
        check=clipped(finding.check, 240),
    )


def _change(keyed: tuple[str, ProgramFinding]) -> ShortChange:
    key, finding = keyed
    return ShortChange(
        key=key,
        rule=clipped(finding.code, 24),
        optimization=clipped(finding.change, 40),
        change=clipped(finding.advice, 200),
        where=clipped(calls_words(finding.calls[:_CALLS]), 200),
        speedup=rounded_gain(finding.gain),
        saved_ns=rounded(finding.saved_ns.best),
    )


def _call_of(request: Request) -> Callable[[CallTime], ShortCall]:
    """What makes the line of a call, with the key of the longest launch that it leads to."""

    def made(each: CallTime) -> ShortCall:
        own = (
            launch
            for launch in request.diagnosis.launches
            if launch.call and (launch.call.file, launch.call.line) == (each.call.file, each.call.line)
        )
        longest = max(own, key=lambda launch: rounded(launch.whole_ns), default=None)
        return ShortCall(
            key=request.key_of(longest) if longest else None,
            call=clipped(call_words(each.call), 160),
            launches=each.launches,
            time_ns=rounded(each.time_ns),
            share=rounded(each.share),
        )

    return made
