"""Escape untrusted text for Markdown, so that no markup, link, mention, reference or HTML in it takes effect.

``prose``, ``code``, ``html_code`` and ``fenced`` escape a text for a sentence, inline code, HTML code and a block.

``clipped`` shortens a text; ``table_head`` and ``table_row`` make tables. GitHub and GitLab search the rendered text
for mentions, references and addresses, where escapes are gone; an empty comment splits those. They do not search code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ncuview.render.text import safe_lines, safe_text, without_ci_commands

NOTHING = "<!-- -->"
_MARKUP = re.compile(r"[\\`*\[\]<>|~&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_REFERENCE = re.compile(
    r"[@#!$%&~^](?=[\w\"])"  # @name, #123 and GitLab's references
    r"|:(?=[\w/])"  # addresses, :emoji:
    r"|www(?=\.)|GH(?=-\d)"
    r"|[0-9a-f]{6}(?=[0-9a-f]+(?![0-9a-z]))",  # commits, of 7 digits at least
    re.IGNORECASE,
)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_ENDS_CODE = re.compile(r"[`|\\]")
_TICKS = re.compile(r"`+")
CUT = "…"


def prose(text: str) -> str:
    """Text inside a line of Markdown, not at its beginning, or inside HTML in it."""
    safe = safe_text(text)
    parts, at = [], 0
    for found in _REFERENCE.finditer(safe):
        parts += [_without_markup(safe[at : found.end()]), NOTHING]
        at = found.end()
    return "".join([*parts, _without_markup(safe[at:])])


def code(text: str, longest: int) -> str:
    """A name or a line of code inside a line of Markdown, also in a table; clipped to ``longest``."""
    safe = clipped(safe_text(text), longest)
    if safe != safe.strip() or not safe or _ENDS_CODE.search(safe):
        return html_code(text, longest)
    return f"`{safe}`"


def html_code(text: str, longest: int) -> str:
    """The same inside HTML, where Markdown has no effect."""
    return f"<code>{_PUNCTUATION.sub(_reference, clipped(safe_text(text), longest)) or '&#32;'}</code>"


def fenced(text: str, language: str = "") -> str:
    """Lines of code as a block, with a fence that no line ends."""
    lines = without_ci_commands(safe_lines(text))
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"


def clipped(text: str, longest: int) -> str:
    """The text, cut to ``longest`` characters with a mark."""
    return text if len(text) <= longest else text[: longest - 1] + CUT


def table_head(columns: Sequence[str], sides: str) -> str:
    """The two first lines of a table; of ``sides``, one letter per column, ``r`` is for numbers."""
    rule = ["---:" if side == "r" else "---" for side in sides]
    return table_row(columns) + table_row(rule)


def table_row(cells: Sequence[str]) -> str:
    """A line of a table, of escaped texts."""
    return f"| {' | '.join(cells)} |\n"


def _without_markup(text: str) -> str:
    return _MARKUP.sub(_reference, text)


def _reference(found: re.Match[str]) -> str:
    return f"&#{ord(found.group())};"
