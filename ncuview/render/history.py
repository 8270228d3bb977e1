"""``render_history``: a ``History`` (a series of reports) as terminal page, JSON or HTML page, by format name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncuview.trends import History


def render_history(found: History, to: str = "terminal", *, width: int = 100, color: bool = False) -> str:
    """Format a history.

    Args:
        found: The history to show.
        to: ``terminal`` for people, ``json`` for programs, ``html`` for a browser.
        width: Columns of the terminal.
        color: Whether the terminal shows colours.
    """
    if to == "json":
        from ncuview.render.history_document import history_json

        return history_json(found)
    if to == "html":
        from ncuview.render.html_report.history import history_html

        return history_html(found)
    from ncuview.render.history_page import history_page

    return history_page(found, width=width, color=color)
