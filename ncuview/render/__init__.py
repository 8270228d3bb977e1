"""Format results as text: ``render`` turns a ``Diagnosis``, ``Ladder`` or ``Comparison`` into a terminal page or JSON.

The other modules hold one page or format each; ``outputs`` has the table of all formats. Renderers decide nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ncuview.comparison.compare import Comparison
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.records.ladder import Ladder
    from ncuview.render.words import Detail

Format = Literal["terminal", "json"]

MANY = 50
"""Diagnoses of more launches than this are shown as a ranking of kernels ..."""
FEW = 3
"""... with this many kernels in full ..."""
LISTED = 30
"""... below a table of this many."""


def render(
    answer: Diagnosis | Ladder | Comparison,
    to: Format = "terminal",
    *,
    width: int = 100,
    color: bool = False,
    top: int | None = None,
    detail: Detail = "normal",
) -> str:
    """Format a diagnosis, ladder or comparison.

    Args:
        answer: The result to show.
        to: ``terminal`` for people, ``json`` for programs.
        width: Columns of the terminal.
        color: Whether the terminal shows colours.
        top: For a diagnosis, the number of kernels to rank by the time that their advice saves, and to show in full
            below; 0 ranks a page of them and shows none in full; None decides by their number.
        detail: How much the page shows.
    """
    if to == "json":
        from ncuview.render.document import as_json  # each format is imported on use

        return as_json(answer)
    from ncuview.records.diagnosis import Diagnosis  # importing ncuview loads this package, and no record
    from ncuview.records.ladder import Ladder

    if isinstance(answer, Ladder) and detail == "quiet":
        answer = answer.diagnosis
    if isinstance(answer, Ladder):
        from ncuview.render.ladder import ladder_page

        return ladder_page(answer, width=width, color=color, bounds=detail == "verbose")
    if not isinstance(answer, Diagnosis):
        from ncuview.render.comparison import comparison_page

        return comparison_page(answer, width=width, color=color, detail=detail)
    if detail == "quiet":
        if top:
            from ncuview.engine.priority import priorities

            ranked = tuple(group.example for group in priorities(answer).groups[:top])
            answer = Diagnosis(ranked, answer.reports, answer.remark, failure=answer.failure)
        from ncuview.render.terminal import quiet_page

        return quiet_page(answer, width=width, color=color)
    if top is None and len(answer.launches) <= MANY:
        from ncuview.render.terminal import diagnosis_page

        return diagnosis_page(answer, width=width, color=color, detail=detail)
    from ncuview.engine.priority import priorities
    from ncuview.render.priorities import priorities_page

    return priorities_page(
        answer,
        priorities(answer),
        listed=top or LISTED,
        full=FEW if top is None else top,
        width=width,
        color=color,
        detail=detail,
    )
