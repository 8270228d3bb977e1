"""``kept_of`` and ``planned`` make JSON values of a trial or of its changes, ``part`` gives a bounded part of them.

The server keeps those of a trial that was run, so that its patch can be read on, by a key or a cursor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ncuview.base.errors import UsageError
from ncuview.mcp_server import documents
from ncuview.mcp_server.pages import Listing, filled
from ncuview.records.documents.view import Incomplete
from ncuview.records.schema import plain
from ncuview.render.text import safe_text
from ncuview.render.trial import conditions, result_sentence
from ncuview.render.views.pages import clipped, rounded, rounded_gain

if TYPE_CHECKING:
    from ncuview.pipeline.planned import Planned, PlannedChange
    from ncuview.records.diagnosis import Gain
    from ncuview.records.trial import Attempt, Trial

_LONGEST_LINE = 1_500
"""Bytes of a line of a patch as JSON; longer ones are cut."""


def kept_of(trial: Trial) -> dict[str, Any]:
    """All of a trial that ``part`` shows parts of."""
    failure = trial.failure
    found = documents.Found(
        result=clipped(result_sentence(trial), 200),
        conditions=clipped(conditions(trial), 300),
        grid=trial.grid,
        block=trial.block,
        before_ns=rounded(trial.before_ns),
        kept=len(trial.kept),
        gain=_gain(trial.gain),
        end_to_end=_gain(trial.end_to_end),
        finished=trial.finished,
        stopped=clipped(trial.stopped, 200),
        remark=clipped(trial.remark, 500),
        error=Incomplete(failure.id, clipped(failure.message, 300), clipped(failure.hint, 200)) if failure else None,
    )
    return _all(trial.target, trial.kernel, found, [*map(_tried, trial.attempts)], trial.patch)


def planned(found: Planned, target: str) -> dict[str, Any]:
    """The same of changes that would be tried."""
    return _all(target, found.kernel, None, [*map(_planned, found.changes)], "")


def part(kept: Mapping[str, Any], *, key: str, cursor: str, max_bytes: int) -> dict[str, Any]:
    """A bounded part: the changes and the patch of what is kept, or one change.

    Args:
        kept: What ``kept_of`` or ``planned`` made.
        key: The change to open; empty for a line of each.
        cursor: What an earlier answer holds.
        max_bytes: The most bytes of the answer as JSON in one line.

    Raises:
        UsageError: There is no such change, or the cursor is none of this answer.
    """
    name = kept["document"]
    head = {each: kept[each] for each in ("schema", "document", "target", "kernel", "found")}
    changes = kept["changes"]
    if not key:

        def with_all(listed: documents.TriedChanges, patch: documents.PatchLines) -> dict[str, Any]:
            return {**head, "changes": listed, "patch": patch}

        lines = [each["change"] for each in changes]
        listings = [Listing(documents.TriedChanges, f"{name}/changes", lines), _lines(f"{name}/patch", kept["patch"])]
        return filled(with_all, listings, cursor, max_bytes)
    chosen = next((each for each in changes if each["change"]["key"] == key), None)
    if chosen is None:
        raise UsageError(f"no change has the key {key!r}", hint="Without a key the answer has the keys of all changes.")

    def opened(diff: documents.PatchLines) -> dict[str, Any]:
        return {**head, "opened": {**chosen, "diff": diff}}

    return filled(opened, [_lines(f"{key}/diff", chosen["diff"])], cursor, max_bytes)


def _lines(name: str, lines: Mapping[str, Any]) -> Listing:
    def page(**part: Any) -> documents.PatchLines:
        return documents.PatchLines(exact=lines["exact"], **part)

    return Listing(page, name, lines["items"])


def _all(
    target: str, kernel: str, found: documents.Found | None, changes: Sequence[dict[str, Any]], patch: str
) -> dict[str, Any]:
    content = plain({
        "target": clipped(target, 300),
        "kernel": clipped(kernel, 200),
        "found": found,
        "changes": changes,
        "patch": _split(patch),
    })  # fmt: skip
    name = blake2b(repr(content).encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
    for at, each in enumerate(content["changes"]):
        each["change"]["key"] = f"{name}/change-{at}"
    return {"schema": "ncuview.trial-part/1", "document": name, **content}


def _tried(attempt: Attempt) -> dict[str, Any]:
    bound = attempt.bound
    change = documents.Change(
        key="",
        kind="edit",
        title=clipped(attempt.title, 200),
        rule=clipped(attempt.rule, 24),
        decision=attempt.decision,
        reason=clipped(attempt.reason, 300),
        predicted=_gain(attempt.predicted),
        at_most=rounded(bound.gain.best) if bound and bound.bounds == "at most" else None,
        at_least=rounded(bound.gain.best) if bound and bound.bounds == "at least" else None,
        measured=_gain(attempt.measured),
    )
    return _opened(change, attempt.assumes, "; ".join(attempt.checks), attempt.diff)


def _planned(change: PlannedChange) -> dict[str, Any]:
    line = documents.Change(
        key="",
        kind=change.kind,
        title=clipped(change.title, 200),
        rule=clipped(change.rule or " or ".join(change.if_asked_by), 60),
        decision="not tried" if change.diff else "not written",
        reason=clipped(change.reason, 300),
        predicted=None,
        at_most=None,
        at_least=None,
        measured=None,
    )
    return _opened(line, "", "", change.diff)


def _opened(change: documents.Change, assumes: str, checks: str, diff: str) -> dict[str, Any]:
    return {
        "change": change,
        "assumes": clipped(assumes, 500),
        "checks": clipped(checks, 500),
        "diff": _split(diff),
    }


def _split(patch: str) -> dict[str, Any]:
    """The lines of a patch, and whether all are shown as they are."""
    lines = patch.removesuffix("\n").split("\n") if patch else []
    items = [clipped(each, _LONGEST_LINE) for each in lines]
    return {"items": items, "exact": all(_is_safe(each) for each in lines) and items == lines}


def _is_safe(line: str) -> bool:
    parts = line.split("\t")
    return [*map(safe_text, parts)] == parts


def _gain(gain: Gain | None) -> Gain | None:
    return rounded_gain(gain) if gain else None
