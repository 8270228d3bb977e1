"""Options of bounded views: ``--view``, ``--key``, ``--cursor`` and ``--max-bytes``, with ``--format brief`` or json.

``chosen_view`` returns what writes the view of a diagnosis, or None where these options ask for none.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from ncuview.base.errors import UsageError
from ncuview.cli.inputs import option
from ncuview.cli.outputs import BRIEF

if TYPE_CHECKING:
    from ncuview.records.diagnosis import Diagnosis


class View(StrEnum):
    """A part of a diagnosis."""

    SKELETON = "skeleton"
    LAUNCH = "launch"
    FINDING = "finding"


ViewOption = Annotated[
    View | None, option("skeleton: a line for each kernel; launch: one launch; finding: one finding in full.", "--view")
]
KeyOption = Annotated[str, option("Which launch or finding, as a view names it.", "--key", value="KEY")]
CursorOption = Annotated[str, option("What comes after the entries of a view's list.", "--cursor", value="CURSOR")]
MaxBytesOption = Annotated[
    int | None, option("The most bytes of a view, up to 32768. Default: 6000.", "--max-bytes", value="N")
]


def chosen_view(
    to: str, view: View | None, key: str, cursor: str, max_bytes: int | None
) -> Callable[[Diagnosis], str] | None:
    """What writes the view that the options ask for; None where they ask for none.

    Of a diagnosis without launches it writes the skeleton, which says what is missing.

    Raises:
        UsageError: The printed format has no views, or the limit is out of its range.
    """
    given = {"--view": view, "--key": key, "--cursor": cursor, "--max-bytes": max_bytes}
    named = next((name for name, value in given.items() if value not in {None, ""}), None)
    if to != BRIEF and named is None:
        return None
    if to not in {BRIEF, "json"}:
        raise UsageError(f"{named} is for --format brief and --format json", hint="Name one of them.")
    from ncuview.render import views

    limit = views.MOST_BYTES if max_bytes is None else max_bytes
    views.check_limit(limit)

    def written(diagnosis: Diagnosis) -> str:
        asked: dict[str, Any] = {}
        if diagnosis.launches:
            asked = {"name": view.value if view else None, "key": key, "cursor": cursor}
        if to == BRIEF:
            return views.brief(diagnosis, **asked, max_bytes=limit)
        return views.view_json(views.view(diagnosis, **asked, max_bytes=limit))

    return written
