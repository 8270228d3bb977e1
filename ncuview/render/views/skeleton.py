"""The view ``skeleton``: a line for each group of equal launches, the one whose advice saves most first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ncuview.engine.priority import Priorities, Priority
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, Saved
from ncuview.records.documents.view import Group, Groups, Skeleton, Times, ViewDocument
from ncuview.render.priorities import ambiguous_names
from ncuview.render.views.pages import Listing, Request, clipped, rounded, rounded_gain
from ncuview.render.words import gpu_words, shown_file, subject_words

_FIRST = 3


def skeleton(document: ViewDocument, ranked: Priorities, request: Request) -> tuple[ViewDocument, Listing[Priority]]:
    """The document with its part and an empty list, and what fills the list."""
    ambiguous = ambiguous_names(ranked)
    part = Skeleton(
        gpus=clipped(gpu_words(request.diagnosis.launches), 100),
        reports=len(request.diagnosis.reports),
        times=_times(ranked),
        groups=Groups(0, 0, None, ()),
    )

    def made(each: Priority) -> Group:
        return _group(each, request.key_of(each.example), by_types=each.kernel in ambiguous)

    def put(found: ViewDocument, page: Any) -> ViewDocument:
        return replace(found, skeleton=replace(part, groups=page))

    return replace(document, skeleton=part), Listing("groups", ranked.groups, made, Groups, put, _FIRST)


def _times(ranked: Priorities) -> Times:
    saved = ranked.saved
    return Times(
        total_ns=rounded(ranked.total_ns),
        left_ns=rounded(ranked.left_ns),
        saved_ns=Saved(rounded(saved.low), rounded(saved.best), rounded(saved.high)),
        speedup=rounded_gain(ranked.speedup),
    )


def _group(group: Priority, key: str, *, by_types: bool) -> Group:
    advice, example = group.advice, group.example
    return Group(
        key=key,
        kernel=clipped(group.demangled if by_types else group.kernel, 200),
        grid=group.grid,
        block=group.block,
        launches=group.launches,
        time_ns=rounded(group.time_ns),
        share=rounded(group.share),
        verdict=example.verdict,
        bottleneck=clipped(example.bottleneck, 40),
        owner=clipped(example.owner, 60),
        rule=clipped(advice.rule.code, 24) if advice else None,
        optimization=advice.optimization if advice else None,
        where=clipped(place_of(example, advice), 160) if advice else "",
        speedup=rounded_gain(group.predicted_speedup) if advice else None,
        saved_ns=rounded(group.saved.best),
        check=clipped(advice.check, 240) if advice else "",
    )


def place_of(launch: LaunchDiagnosis, finding: Finding) -> str:
    """``transpose.cu:63``; what else the finding is about, or its first instruction, where no line is known."""
    if finding.where:
        return f"{shown_file(finding.where[0].file)}:{finding.where[0].line}"
    if subject := subject_words(launch, finding):
        return subject
    return f"instruction {finding.instructions[0].address:#06x}" if finding.instructions else ""
