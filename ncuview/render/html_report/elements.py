"""Build HTML and SVG elements as ElementTree trees from untrusted text (``element``), and serialise them (``markup``).

``section``, ``dim`` and ``hidden`` are elements of every page; ``fill`` adds parts; ``safe`` cleans a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from ncuview.render.text import safe_text, without_ci_commands

Part = ET.Element | str
"""A child of an element."""


def element(tag: str, *parts: Part, css: str = "", **attributes: str | float) -> ET.Element:
    """An element with its children.

    Args:
        tag: Its name.
        parts: Elements and texts, in order.
        css: Its classes.
        attributes: All other attributes; ``_`` becomes ``-``, and a trailing one is dropped: ``for_``, ``data_value``.
    """
    made = ET.Element(tag, {"class": css} if css else {})
    for name, value in attributes.items():
        made.set(name.rstrip("_").replace("_", "-"), safe_text(value) if isinstance(value, str) else f"{value:.6g}")
    return fill(made, parts)


def fill(made: ET.Element, parts: Iterable[Part]) -> ET.Element:
    """Append children to an element."""
    for part in parts:
        if isinstance(part, ET.Element):
            made.append(part)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + safe(part)
        else:
            made.text = (made.text or "") + safe(part)
    return made


def safe(text: str) -> str:
    """Safe text that keeps its line breaks, with tabs as spaces, for names and for source code."""
    return "\n".join(safe_text(line.expandtabs(4)) for line in text.split("\n"))


def section(name: str, title: str, *parts: Part) -> ET.Element:
    """A part of the page that its navigation lists; ``name`` is its id."""
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, *parts, id=name, aria_labelledby=f"{name}-title")


def dim(text: str, tag: str = "p") -> ET.Element:
    """A text in a weaker colour."""
    return element(tag, text, css="dim")


def hidden(text: str) -> ET.Element:
    """A text for screen readers only."""
    return element("span", text, css="hidden")


def markup(tree: ET.Element) -> str:
    """The tree as HTML without a line that is a command to a CI job that prints it."""
    return without_ci_commands(ET.tostring(tree, encoding="unicode", method="html"))
