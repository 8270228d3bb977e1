"""Bounded views of a ``Diagnosis`` for programs and agents: a skeleton, one launch, or one finding.

A ``Diagnosis`` enters with a key or a cursor and a limit in bytes; a JSON document (``view``), its text (``view_json``)
or the same as plain text (``brief``) leaves. No answer is larger than its limit, whatever texts a report holds: entries
are added while the encoded answer fits. It knows no other format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ncuview.base.answer_size import LARGEST, MOST_BYTES, SMALLEST
from ncuview.base.errors import UsageError
from ncuview.engine.priority import Priorities, priorities
from ncuview.records.documents.view import ViewDocument, ViewName
from ncuview.records.schema import plain
from ncuview.render.text import json_line
from ncuview.render.views.brief import brief_text
from ncuview.render.views.finding import finding_view
from ncuview.render.views.gaps import gaps_of, incomplete, not_judged, reasons_of
from ncuview.render.views.launch import launch_view
from ncuview.render.views.pages import Listing, Request, clipped, filled, requested
from ncuview.render.views.skeleton import skeleton

if TYPE_CHECKING:
    from ncuview.records.diagnosis import Diagnosis

__all__ = ["LARGEST", "MOST_BYTES", "SMALLEST", "brief", "view", "view_json"]

_PARTS: Mapping[
    ViewName, Callable[[ViewDocument, Priorities, Request], tuple[ViewDocument, Sequence[Listing[Any]]]]
] = {
    "skeleton": skeleton,
    "launch": launch_view,
    "finding": finding_view,
}


def view(
    diagnosis: Diagnosis,
    name: ViewName | None = None,
    *,
    key: str = "",
    cursor: str = "",
    max_bytes: int = MOST_BYTES,
) -> dict[str, Any]:
    """A view as a JSON document; ``json.dumps`` of it with default options has at most ``max_bytes``.

    Args:
        diagnosis: The diagnosis to look at.
        name: Which view; None for that of the cursor or key; without either the skeleton.
        key: Of ``launch`` and ``finding``: which one, as other views name it; empty for the one that saves most.
        cursor: Of a list in an earlier answer about the same diagnosis: what comes after it.
        max_bytes: The most bytes of UTF-8, 5,000 to 32,768.

    Raises:
        UsageError: There is no such view, key or cursor, the cursor is of another document, or the limit is too large
            or too small.
    """
    document: dict[str, Any] = plain(_built(diagnosis, name, key, cursor, max_bytes, view_json))
    return document


def brief(
    diagnosis: Diagnosis,
    name: ViewName | None = None,
    *,
    key: str = "",
    cursor: str = "",
    max_bytes: int = MOST_BYTES,
) -> str:
    """The same as plain text of at most ``max_bytes``; see ``view``."""
    return brief_text(plain(_built(diagnosis, name, key, cursor, max_bytes, brief_text)))


def view_json(document: dict[str, Any]) -> str:
    """A view as one line of JSON in ASCII, which contains no command to a CI job."""
    return json_line(document)


def check_limit(max_bytes: int) -> None:
    """Refuse a limit that is out of its range.

    Raises:
        UsageError: It is too large or too small.
    """
    if max_bytes > LARGEST:
        hint = "Every list of an answer has a cursor, which continues it."
        raise UsageError(f"--max-bytes {max_bytes} is above {LARGEST}, the largest answer", hint=hint)
    if max_bytes < SMALLEST:
        raise UsageError(f"--max-bytes {max_bytes} is below {SMALLEST}, the smallest answer")


def _built(
    diagnosis: Diagnosis,
    name: str | None,
    key: str,
    cursor: str,
    max_bytes: int,
    text_of: Callable[[dict[str, Any]], str],
) -> ViewDocument:
    """A view that is as full as its limit allows when it is written by ``text_of``."""
    check_limit(max_bytes)
    request = requested(diagnosis, name, key, cursor)
    ranked = priorities(diagnosis)
    gaps = gaps_of(diagnosis, ranked)
    document = ViewDocument(
        schema="ncuview.view/1",
        view=request.view,
        document=request.document,
        remark=clipped(diagnosis.remark, 200),
        error=incomplete(diagnosis),
        not_judged=not_judged(diagnosis, gaps),
    )
    document, listings = _PARTS[request.view](document, ranked, request)

    def fits(found: ViewDocument) -> bool:
        return len(text_of(plain(found)).encode()) <= max_bytes

    return filled(document, listings, reasons_of(gaps), request, fits)
