"""``changes``: a bounded part of a ``Comparison`` as JSON values: a line for each pair, or all of one pair."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from math import isfinite
from typing import Any

from ncuview.base.errors import UsageError
from ncuview.comparison.compare import Comparison, kernel_list
from ncuview.comparison.compare import Pair as Compared
from ncuview.comparison.counters import MetricChange, RuleChange
from ncuview.comparison.prediction import PredictionCheck
from ncuview.mcp_server import documents
from ncuview.mcp_server.pages import Listing, filled
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.documents.view import Incomplete
from ncuview.records.profile import Failure
from ncuview.render.change_words import change_sentence
from ncuview.render.views.pages import clipped, rounded, rounded_gain


def changes(comparison: Comparison, *, key: str, cursor: str, max_bytes: int) -> dict[str, Any]:
    """The part of a comparison that a key and a cursor ask for.

    Args:
        comparison: What changed.
        key: The pair to open; empty for a line of each.
        cursor: What an earlier answer to the same request holds.
        max_bytes: The most bytes of the answer as JSON in one line.

    Raises:
        UsageError: There is no such pair, or the cursor is none of this answer.
    """
    lines = [_line(each, at) for at, each in enumerate(comparison.pairs)]
    checksum = blake2b(repr(lines).encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()
    document = _document(comparison, checksum)
    if not key:

        def with_pairs(pairs: documents.Pairs) -> documents.ChangesDocument:
            return replace(document, pairs=pairs)

        return filled(with_pairs, [Listing(documents.Pairs, f"{checksum}/pairs", lines)], cursor, max_bytes)
    at = next((at for at, each in enumerate(lines) if each.key == key), None)
    if at is None:
        raise UsageError(f"no pair has the key {key!r}", hint="Without a key the answer has the keys of all pairs.")

    def opened(numbers: documents.Numbers, outcomes: documents.Outcomes) -> documents.ChangesDocument:
        return replace(document, opened=documents.Opened(lines[at], numbers, outcomes))

    pair = comparison.pairs[at]
    numbers = Listing(documents.Numbers, f"{checksum}/{key}/numbers", [*map(_number, pair.metric_changes)])
    outcomes = Listing(documents.Outcomes, f"{checksum}/{key}/outcomes", [*map(_outcome, pair.rule_changes)])
    return filled(opened, [numbers, outcomes], cursor, max_bytes)


def _document(comparison: Comparison, checksum: str) -> documents.ChangesDocument:
    return documents.ChangesDocument(
        schema="ncuview.changes/1",
        document=checksum,
        error=_incomplete(comparison.failure),
        differences=tuple(clipped(each, 200) for each in comparison.differences),
        unknown=comparison.unknown,
        not_judged=(_not_judged(comparison.before), _not_judged(comparison.after)),
        only_before=_alone(comparison.only_before),
        only_after=_alone(comparison.only_after),
    )


def _incomplete(failure: Failure | None) -> Incomplete | None:
    return Incomplete(failure.id, clipped(failure.message, 300), clipped(failure.hint, 200)) if failure else None


def _not_judged(side: Diagnosis) -> int:
    return sum(each.verdict == "not-judged" for each in side.launches)


def _alone(launches: tuple[LaunchDiagnosis, ...]) -> documents.Alone:
    return documents.Alone(len(launches), clipped(kernel_list(launches), 300) if launches else "")


def _line(pair: Compared, at: int) -> documents.Pair:
    _, now = pair.longest
    return documents.Pair(
        key=f"pair-{at}",
        kernel=clipped(now.kernel, 200),
        grid=now.grid,
        block=now.block,
        launches=len(pair.before),
        before_ns=_known(pair.before_ns),
        after_ns=_known(pair.after_ns),
        speedup=_known(pair.speedup),
        unchanged=pair.is_noise,
        sentence=clipped(change_sentence(pair), 500),
        prediction=_held(pair.prediction) if pair.prediction else None,
    )


def _held(check: PredictionCheck) -> documents.Held:
    gain, measured = rounded_gain(check.predicted), rounded(check.measured)
    return documents.Held(
        clipped(check.rule.code, 24), check.optimization, gain, measured, check.verdict, check.evidence
    )


def _number(change: MetricChange) -> documents.Number:
    return documents.Number(
        metric=clipped(change.metric, 120),
        words=clipped(change.words, 120),
        before=_known(change.before),
        after=_known(change.after),
        unit=clipped(change.unit, 30),
        saves_ns=rounded(change.saves_ns),
    )


def _outcome(change: RuleChange) -> documents.Outcome:
    before, after = clipped(change.before, 300), clipped(change.after, 300)
    return documents.Outcome(clipped(change.rule.code, 24), before, after, change.fires_after)


def _known(value: float | None) -> float | None:
    """The value with four digits; None where it is unknown."""
    return rounded(value) if value is not None and isfinite(value) else None
