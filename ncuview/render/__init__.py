"""Format results as text: ``render`` turns a diagnosis, ladder or comparison into the terminal's page or JSON.

The modules hold one page or format each, ``outputs`` knows them all by name. Nothing is decided here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.ladder import Ladder

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison

Format = Literal["terminal", "json"]

MANY = 50
"""More launches than this are grouped by kernel, and the most worthwhile ones shown in full ..."""
FEW = 3
"""... which are this many ..."""
LISTED = 30
"""... below a table of this many."""


def render(
    answer: Diagnosis | Ladder | Comparison,
    to: Format = "terminal",
    *,
    width: int = 100,
    color: bool = False,
    top: int | None = None,
) -> str:
    """A diagnosis, ladder or comparison as text.

    Args:
        answer: What to show.
        to: ``terminal`` for people, ``json`` for programs.
        width: Columns of the terminal.
        color: Whether the terminal shows colours.
        top: Of a diagnosis, how many kernels are listed by the time that their advice saves, and shown in full below; 0
            lists a page of them and shows none in full; None decides by their number.
    """
    if to == "json":
        from ncuview.render.document import as_json  # each format is imported when it is asked for

        return as_json(answer)
    if isinstance(answer, Ladder):
        from ncuview.render.ladder import ladder_page

        return ladder_page(answer, width=width, color=color)
    if not isinstance(answer, Diagnosis):
        from ncuview.render.comparison import comparison_page

        return comparison_page(answer, width=width, color=color)
    if top is None and len(answer.launches) <= MANY:
        from ncuview.render.terminal import diagnosis_page

        return diagnosis_page(answer, width=width, color=color)
    from ncuview.engine.priority import priorities
    from ncuview.render.priorities import priorities_page

    return priorities_page(
        answer,
        priorities(answer),
        listed=top or LISTED,
        full=FEW if top is None else top,
        width=width,
        color=color,
    )
