"""Build HTML and SVG elements as ElementTree trees from untrusted text, and serialise them escaped (``markup``)."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from ncuview.render.text import safe_text, without_orders

Part = ET.Element | str
"""What an element holds."""


def element(tag: str, *parts: Part, css: str = "", **attributes: str | float) -> ET.Element:
    """An element and what it holds.

    Args:
        tag: Its name.
        parts: Elements and texts, in order.
        css: Its classes.
        attributes: The others; ``_`` stands for ``-``, and one at the end is dropped: ``for_``, ``data_value``.
    """
    made = ET.Element(tag, {"class": css} if css else {})
    for name, value in attributes.items():
        made.set(name.rstrip("_").replace("_", "-"), safe_text(value) if isinstance(value, str) else f"{value:.6g}")
    return fill(made, parts)


def fill(made: ET.Element, parts: Iterable[Part]) -> ET.Element:
    """Put more into an element."""
    for part in parts:
        if isinstance(part, ET.Element):
            made.append(part)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + safe(part)
        else:
            made.text = (made.text or "") + safe(part)
    return made


def safe(text: str) -> str:
    """Safe text that keeps its line breaks, and tabs as spaces: names and source code alike."""
    return "\n".join(safe_text(line.expandtabs(4)) for line in text.split("\n"))


def section(name: str, title: str, *parts: Part) -> ET.Element:
    """A part of the page that its navigation lists; ``name`` is its id."""
    heading = element("h2", title, id=f"{name}-title")
    return element("section", heading, *parts, id=name, aria_labelledby=f"{name}-title")


def dim(text: str, tag: str = "p") -> ET.Element:
    """Words of lesser weight."""
    return element(tag, text, css="dim")


def hidden(text: str) -> ET.Element:
    """Words for those who do not see the page."""
    return element("span", text, css="hidden")


def markup(tree: ET.Element) -> str:
    """The tree as HTML, no line of which is an order to a CI job that prints it."""
    return without_orders(ET.tostring(tree, encoding="unicode", method="html"))
