"""What a diagnosis does not hold or did not judge, counted by reason: a part of every view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ncuview.base.paths import shown_path
from ncuview.engine.priority import Priorities
from ncuview.records.diagnosis import SKIPPED_BECAUSE, Broken, Diagnosis, Skipped, main_cause
from ncuview.records.documents.view import Gap, GapKind, Gaps, Incomplete, NotJudged, ViewDocument
from ncuview.render.views.pages import Listing, clipped

_FIRST = 4
"""How many reasons every answer holds, as far as they fit."""
_WHY = 200
_BESIDE_LAUNCHES, _ALONE = (300, 200), (500, 800)
"""Bytes of a failure's message and hint."""


def gaps_of(diagnosis: Diagnosis, ranked: Priorities) -> tuple[Gap, ...]:
    """The reasons why something was not judged, in the order of their kinds, then the commonest first."""
    return tuple(Gap(kind, count, clipped(why, _WHY)) for kind, count, why in _reasons(diagnosis, ranked))


def _reasons(diagnosis: Diagnosis, ranked: Priorities) -> Iterator[tuple[GapKind, int, str]]:
    if diagnosis.failure:
        yield "missing", 0, diagnosis.failure.message
    for report in diagnosis.reports:
        if report.damage:
            yield "damaged", 1, f"{shown_path(report.path)}: {report.damage}"
    unexamined = Counter(main_cause(launch) for launch in diagnosis.launches if launch.unexamined)
    yield from (("not-judged", count, why) for why, count in unexamined.most_common())
    owners = Counter(launch.owner for launch in diagnosis.launches if launch.owner_kind != "yours")
    yield from (("not-yours", count, owner) for owner, count in owners.most_common())
    outcomes = [outcome for launch in diagnosis.launches for outcome in launch.outcomes]
    broken = Counter((each.rule.code, each.message) for each in outcomes if isinstance(each, Broken))
    yield from (("broken", count, f"{code}: {why}") for (code, why), count in broken.most_common())
    skipped = Counter(
        "metrics are missing" if each.missing else each.message.removeprefix(SKIPPED_BECAUSE)
        for each in outcomes
        if isinstance(each, Skipped)
    )
    yield from (("skipped", count, why) for why, count in skipped.most_common())
    if selected := sum(launch.selected for launch in diagnosis.launches):
        yield "selected", selected, "only selected rules were evaluated"
    if ranked.untimed:
        yield "untimed", ranked.untimed, "their durations were not collected"
    if ranked.unprofiled:
        yield "unprofiled", ranked.unprofiled, "no launch of their configuration was profiled"


def not_judged(diagnosis: Diagnosis, gaps: tuple[Gap, ...]) -> NotJudged:
    """The counts of what was not judged, without a reason yet."""
    of_kind: Counter[str] = Counter()
    for gap in gaps:
        of_kind[gap.kind] += gap.count
    return NotJudged(
        complete=diagnosis.failure is None and not of_kind["damaged"],
        launches=len(diagnosis.launches),
        not_judged=of_kind["not-judged"],
        not_yours=of_kind["not-yours"],
        skipped=of_kind["skipped"],
        broken=of_kind["broken"],
        selected=of_kind["selected"],
        damaged=of_kind["damaged"],
        untimed=of_kind["untimed"],
        unprofiled=of_kind["unprofiled"],
        reasons=Gaps(0, 0, None, ()),
    )


def reasons_of(gaps: tuple[Gap, ...]) -> Listing[Gap]:
    """The list of reasons."""

    def put(document: ViewDocument, page: Any) -> ViewDocument:
        return replace(document, not_judged=replace(document.not_judged, reasons=page))

    return Listing("reasons", gaps, lambda gap: gap, Gaps, put, _FIRST)


def incomplete(diagnosis: Diagnosis) -> Incomplete | None:
    """Why launches are missing."""
    if diagnosis.failure is None:
        return None
    failure = diagnosis.failure
    message, hint = _BESIDE_LAUNCHES if diagnosis.launches else _ALONE
    return Incomplete(clipped(failure.id, 60), clipped(failure.message, message), clipped(failure.hint, hint))
