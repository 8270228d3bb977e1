"""The view ``finding``: why, where, how to change it and how to check it, for one finding of a launch or a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from ncuview.engine.priority import Priorities
from ncuview.records.diagnosis import Awaited, CodeLine, Evidence, Finding, HotInstruction, LaunchDiagnosis, SourceLine
from ncuview.records.documents.view import (
    Change,
    Evidences,
    FindingPart,
    Keys,
    Line,
    Lines,
    Place,
    Places,
    ShortEvidence,
    Sources,
    Texts,
    ViewDocument,
    Waits,
)
from ncuview.records.program import Call, ProgramFinding
from ncuview.render.program_words import call_words
from ncuview.render.shown_change import ShownChange, shown_change
from ncuview.render.views.pages import Listing, Request, clipped, rounded, rounded_gain
from ncuview.render.views.places import title_of
from ncuview.render.words import advice_reason, place_words, shown_file, subject_words

_CODE = 200
_PLACES, _LINES, _CODE_LINES, _EVIDENCE, _WAITS, _KEYS, _SOURCES = 2, 8, 5, 4, 1, 3, 1
_NO_LINES = Texts(0, 0, None, ())


def finding_view(
    document: ViewDocument, ranked: Priorities, request: Request
) -> tuple[ViewDocument, Sequence[Listing[Any]]]:
    """The document with its part, and what fills its lists.

    Raises:
        UsageError: No finding has this key.
    """
    found = request.finding(ranked)
    if isinstance(found, ProgramFinding):
        part, lists = _of_program(found, request)
    else:
        part, lists = _of_launch(*found, request)
    listings = (
        Listing("places", lists.get("places", ()), _place, Places, _put("places"), _PLACES),
        Listing("lines", lists.get("lines", ()), _text, Texts, _put_lines, _LINES),
        Listing("code", lists.get("code", ()), _line, Lines, _put("code"), _CODE_LINES),
        Listing("evidence", lists.get("evidence", ()), _evidence, Evidences, _put("evidence"), _EVIDENCE),
        Listing("waits_for", lists.get("waits_for", ()), _place, Waits, _put("waits_for"), _WAITS),
        Listing("launches", lists.get("launches", ()), str, Keys, _put("launches"), _KEYS),
        Listing("sources", lists.get("sources", ()), _text, Sources, _put("sources"), _SOURCES),
    )
    return replace(document, finding=part), listings


def _text(text: str) -> str:
    return clipped(text, _CODE)


def _put(name: str) -> Callable[[ViewDocument, Any], ViewDocument]:
    def put(found: ViewDocument, page: Any) -> ViewDocument:
        return replace(found, finding=replace(found.finding, **{name: page}))  # type: ignore[type-var]

    return put


def _put_lines(found: ViewDocument, page: Any) -> ViewDocument:
    assert found.finding is not None  # noqa: S101  (made by finding_view)
    return _put("change")(found, replace(found.finding.change, lines=page))


def _of_launch(
    launch: LaunchDiagnosis, finding: Finding, request: Request
) -> tuple[FindingPart, dict[str, Sequence[Any]]]:
    change = shown_change(launch.kernel, finding)
    part = FindingPart(
        key=request.finding_key(launch, finding),
        launch=request.key_of(launch),
        kernel=clipped(launch.kernel, 160),
        rule=clipped(finding.rule.code, 24),
        name=clipped(finding.rule.name, 60),
        optimization=clipped(finding.optimization, 40),
        title=clipped(title_of(finding), 120),
        why=clipped(advice_reason(launch, finding), 400),
        rejected=clipped(finding.rejected, 120),
        speedup=rounded_gain(finding.predicted_speedup),
        time_ns=rounded(launch.whole_ns),
        grade=finding.grade,
        draft=finding.draft,
        open_condition=clipped(finding.open_condition, 160),
        assumes=clipped(finding.assumes, 240),
        check=clipped(finding.check, 240),
        subject=clipped(subject_words(launch, finding), 80),
        change=_change(change),
        **_EMPTY,
    )
    code = finding.where[0].around if finding.where else ()
    sources = [f"{each.document}, {each.section}" for each in finding.cite]
    lists = {
        "places": (*finding.where, *finding.instructions),
        "lines": change.lines,
        "code": code,
        "evidence": finding.evidence,
        "waits_for": finding.waits_for,
        "sources": sources,
    }
    return part, lists


_EMPTY: dict[str, Any] = {
    "places": Places(0, 0, None, ()),
    "code": Lines(0, 0, None, ()),
    "evidence": Evidences(0, 0, None, ()),
    "waits_for": Waits(0, 0, None, ()),
    "launches": Keys(0, 0, None, ()),
    "sources": Sources(0, 0, None, ()),
}


def _change(change: ShownChange) -> Change:
    return Change(
        kind="patch" if change.is_patch else "example" if change.lines else "words",
        heading=clipped(change.heading, 300),
        remark=clipped(change.remark, 160),
        lines=_NO_LINES,
    )


def _of_program(finding: ProgramFinding, request: Request) -> tuple[FindingPart, dict[str, Sequence[Any]]]:
    program = request.diagnosis.program
    part = FindingPart(
        key=request.change_key(finding),
        launch=None,
        kernel="",
        rule=clipped(finding.code, 24),
        name=clipped(finding.name, 60),
        optimization=clipped(finding.change, 40),
        title=clipped(finding.advice, 240),
        why=clipped(finding.message, 400),
        rejected="",
        speedup=rounded_gain(finding.gain),
        time_ns=rounded(program.time_ns) if program else 0,
        grade=None,
        draft=False,
        open_condition="",
        assumes="",
        check="",
        subject="",
        change=Change("words", clipped(finding.advice, 300), "", _NO_LINES),
        **_EMPTY,
    )
    keys = [request.keys[at] for at in finding.launches if at < len(request.keys)]
    return part, {"places": finding.calls, "launches": keys, "sources": [finding.link]}


def _place(each: SourceLine | HotInstruction | Awaited | Call) -> Place:
    match each:
        case SourceLine():
            place = place_words(each).partition("  ")[0]
            calls = ", ".join(f"{shown_file(call.file)}:{call.line}" for call in each.called_from)
            remark = "; ".join(
                filter(None, [f"inlined at {calls}" if calls else "inlined" * each.inlined, each.remark])
            )
            return Place(clipped(place, 160), clipped(each.code, _CODE), rounded(each.share), clipped(remark, 160))
        case HotInstruction():
            return Place(f"instruction {each.address:#06x}", clipped(each.sass, _CODE), rounded(each.share), "")
        case Awaited():
            place = f"{shown_file(each.file)}:{each.line}" if each.line else f"instruction {each.address:#06x}"
            return Place(
                clipped(place, 160),
                clipped(each.code or each.sass, _CODE),
                rounded(each.share),
                clipped(f"{each.opcode}, {each.reason}", 80),
            )
    return Place(clipped(call_words(each), 200), "", None, "")


def _line(each: CodeLine) -> Line:
    return Line(each.line, clipped(each.text, _CODE))


def _evidence(each: Evidence) -> ShortEvidence:
    value = rounded(each.value) if isfinite(each.value) else None
    return ShortEvidence(clipped(each.name, 60), value, clipped(each.unit, 60), clipped(", ".join(each.metrics), 200))
