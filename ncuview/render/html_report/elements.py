"""Build HTML and SVG elements as ElementTree trees from untrusted text (``element``), and serialise them (``markup``).

``section``, ``table``, ``filters`` and others are elements of every page; ``fill`` adds parts; ``safe`` cleans a text.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
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


def table(head: Iterable[Part], rows: Iterable[Part], *, css: str = "", **attributes: str) -> ET.Element:
    """A table with one row of headings."""
    headings = element("thead", element("tr", *head))
    return element("table", headings, element("tbody", *rows), css=css, **attributes)


def heading(name: Part, *, css: str = "", **attributes: str) -> ET.Element:
    """The heading of a column."""
    return element("th", name, css=css, scope="col", **attributes)


def number(words: str, value: float | None, css: str = "number") -> ET.Element:
    """A cell that is sorted by its value, not by its words; last where the value is unknown."""
    known = value if value is not None and isfinite(value) else None
    return element("td", words, css=css, data_value=repr(float(known)) if known is not None else "")


def scrolled(content: ET.Element, label: str) -> ET.Element:
    """A part that scrolls by itself where it is too wide, also with the keyboard."""
    return element("div", content, css="scrolled", tabindex="0", role="group", aria_label=label)


def filters(of: str, label: str, placeholder: str, choices: Iterable[ET.Element], **search: str) -> ET.Element:
    """The form that filters the table with the id ``of``: a search field and choices; ``label`` names the form."""
    field = element("input", type="search", **search, placeholder=placeholder, autocomplete="off")
    return element(
        "form",
        element("label", "Search", field, css="search"),
        *choices,
        element("button", "Clear", type="reset"),
        element("p", "Kernels shown: ", element("output", aria_live="polite")),
        css="filters",
        data_filters=of,
        role="search",
        aria_label=label,
    )


def choice(name: str, label: str, values: Iterable[tuple[str, str]]) -> ET.Element:
    """A choice of one value, or any; ``values`` have a word to show after each value."""
    options = [element("option", words, value=value) for value, words in values]
    return element("label", label, element("select", element("option", "any", value=""), *options, name=name))


def markup(tree: ET.Element) -> str:
    """The tree as HTML without a line that is a command to a CI job that prints it."""
    return without_ci_commands(ET.tostring(tree, encoding="unicode", method="html"))
