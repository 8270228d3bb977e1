"""From a Diagnosis to text. Nothing is decided here."""

from __future__ import annotations

from typing import Literal

from ncuview.model import Diagnosis, Ladder

Format = Literal["terminal", "json"]


def render(answer: Diagnosis | Ladder, to: Format = "terminal", *, width: int = 100, color: bool = False) -> str:
    """A diagnosis or ladder as text.

    Args:
        answer: What to show.
        to: ``terminal`` for people, ``json`` for programs.
        width: Columns of the terminal.
        color: Whether the terminal shows colours.
    """
    if to == "json":
        from ncuview.render.document import as_json  # each format is imported when it is asked for

        return as_json(answer)
    if isinstance(answer, Ladder):
        from ncuview.render.ladder import ladder_page

        return ladder_page(answer, width=width, color=color)
    from ncuview.render.terminal import diagnosis_page

    return diagnosis_page(answer, width=width, color=color)
