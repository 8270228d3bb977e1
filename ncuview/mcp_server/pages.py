"""``filled``: a document with as many entries of its lists as fit; ``viewed``: a view with safe texts that fits.

Clients show texts to people and models, so that every text is made safe, as on a terminal; patches keep their tabs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ncuview.base.errors import UsageError
from ncuview.records.documents.view import Page
from ncuview.records.schema import plain
from ncuview.render.text import json_line, safe_text

_PATCHES = frozenset({"diff", "patch"})
"""Keys of patches, which do not apply where a tab is a space."""


@dataclass(frozen=True)
class Listing:
    """A list of a document."""

    kind: Callable[..., Page]
    """Its class."""
    name: str
    """What its cursors begin with: the answer and the list that they belong to."""
    entries: Sequence[Any]
    """All entries, texts or records."""

    def part(self, start: int, shown: int) -> Page:
        """Some of its entries."""
        after, total = start + shown, len(self.entries)
        cursor = f"{self.name}/{after}" if after < total else None
        return self.kind(total=total, shown=shown, cursor=cursor, items=tuple(self.entries[start:after]))


def filled(document: Callable[..., Any], listings: Sequence[Listing], cursor: str, max_bytes: int) -> dict[str, Any]:
    """The JSON values of a document; as JSON in one line they have at most ``max_bytes``.

    Without a cursor the lists are filled in their order. A cursor continues one of them, and the others stay empty.

    Args:
        document: Makes the document with a given part of each list.
        listings: The lists.
        cursor: What an earlier answer holds; empty for the first entries.
        max_bytes: The most bytes.

    Raises:
        UsageError: The cursor is none of these lists.
    """
    asked, start = _continued(listings, cursor)
    parts = [each.part(0, 0) for each in listings]

    def made() -> dict[str, Any]:
        content: dict[str, Any] = _safe(plain(document(*parts)))
        return content

    found = made()
    for at in asked:
        shown, step, grows = 0, 1, True
        left = len(listings[at].entries) - start
        while step and shown < left:
            tried = min(shown + step, left)
            parts[at] = listings[at].part(start, tried)
            longer = made()
            if _size(longer) <= max_bytes:
                shown, found = tried, longer
            else:
                grows = False
            step = step * 2 if grows else step // 2
        parts[at] = listings[at].part(start, shown)
    return found


def _continued(listings: Sequence[Listing], cursor: str) -> tuple[Sequence[int], int]:
    """Which lists get entries, and how many of their entries come before."""
    if not cursor:
        return range(len(listings)), 0
    name, _, number = cursor.rpartition("/")
    at = next((at for at, each in enumerate(listings) if each.name == name), None)
    if at is None or not (number.isascii() and number.isdecimal()) or int(number[:9]) >= len(listings[at].entries):
        raise UsageError(
            f"{cursor!r} is no cursor of this answer",
            hint="Give one that an answer to the same request holds, unchanged, or begin without a cursor.",
        )
    return [at], int(number[:9])


def viewed(view: Callable[[int], dict[str, Any]], max_bytes: int) -> dict[str, Any]:
    """A view of at most ``max_bytes``, which is made for a number of bytes, with safe texts.

    A character that is made visible takes at most 7 bytes as JSON in ASCII, where it takes 6 or more.
    """
    found: dict[str, Any] = _safe(view(max_bytes))
    if _size(found) > max_bytes:
        found = _safe(view(max_bytes * 6 // 7))
    return found


def _size(document: dict[str, Any]) -> int:
    return len(json_line(document).encode())


def _safe(value: Any, tab: str = " ") -> Any:
    """JSON values with safe texts."""
    if isinstance(value, str):
        return tab.join(map(safe_text, value.split("\t")))
    if isinstance(value, list):
        return [_safe(part, tab) for part in value]
    if isinstance(value, dict):
        return {key: _safe(part, "\t" if key in _PATCHES else tab) for key, part in value.items()}
    return value
