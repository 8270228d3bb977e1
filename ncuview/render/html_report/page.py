"""Assemble a self-contained HTML page (``page``) from elements: one text with style, script, JSON data and navigation.

The report and the history use it; ``shipped`` reads a style or script of this package.

The content security policy allows only the style and the script with the given hashes, so that untrusted text that
became markup could do nothing. ``page.js`` provides these functions on every page, by attributes alone:

- ``<table data-sortable="parts">``: each ``th`` with ``data-sort`` sorts, first ``rising`` or ``falling``. It sorts the
  ``tbody`` elements by their first row; with ``rows``, the rows of the only ``tbody``. The key is the ``data-value`` of
  a cell, or else its text.
- ``<form data-filters="ID">``: its search fields and choices filter the table with that id. A choice named
  ``bottleneck`` keeps the entries with its value in ``data-bottleneck``. Its ``output`` shows how many are left.
- ``<button aria-expanded aria-controls="ID">``: opens and closes the element with that id; so does a link to an id
  inside it.
- ``<svg data-points>``: its links are one stop of the tab key, and arrow keys move between them. The label of the link
  with the focus, or under the mouse, is shown in the element of class ``readout`` beside the chart.
- ``<details data-print>``: is open on paper.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree as ET

from ncuview.render.html_report.elements import element, markup, safe
from ncuview.render.text import safe_text


def page(
    title: str, body: Sequence[ET.Element], data: Mapping[str, Any] | None = None, *, style: str = "", script: str = ""
) -> str:
    """A page without external resources: no network, no other file.

    Args:
        title: The title, which is also the heading.
        body: Its parts in order; the navigation lists those that ``elements.section`` made.
        data: The JSON data that the script reads from the element ``data``; its texts are made safe here.
        style: CSS in addition to that of every page.
        script: JavaScript in addition to that of every page. It starts when the page is loaded, and must set text only
            by ``textContent``.
    """
    style, script = shipped("page.css") + style, shipped("page.js") + script
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",  # the empty icon, so that browsers request no icon from a server
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    name = escape(safe_text(title))
    parts = "\n".join(markup(part) for part in body)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<title>{name}</title>\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n"
        '<a class="skip" href="#main">Skip to the content</a>\n'
        f"{markup(_top(body))}\n"
        f'<main id="main" tabindex="-1">\n<h1>{name}</h1>\n{parts}\n</main>\n'
        f'<script type="application/json" id="data">{_json(data or {})}</script>\n'
        "</body>\n</html>\n"
    )


@cache
def shipped(name: str) -> str:
    """The text of a style or script in this package."""
    return files("ncuview.render.html_report").joinpath(name).read_text(encoding="utf-8")


def _top(body: Sequence[ET.Element]) -> ET.Element:
    """The bar with links to the parts of the page, and the choice of colours, which needs the script."""
    links = []
    for part in body:
        heading = part.find("h2")
        if part.tag == "section" and heading is not None:
            link = element("a", href=f"#{part.get('id')}")
            link.text = heading.text
            links.append(element("li", link))
    themes = [element("option", name, value=name.lower()) for name in ("System", "Light", "Dark")]
    theme = element("label", "Colours ", element("select", *themes, id="theme"), css="theme")
    return element("header", element("nav", element("ul", *links), aria_label="Parts of this page"), theme, css="top")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _json(data: Mapping[str, Any]) -> str:
    """JSON that cannot end the element around it."""
    text = json.dumps(_safe(data), separators=(",", ":"), allow_nan=False, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _safe(data: Any) -> Any:
    match data:
        case str():
            return safe(data)
        case Mapping():
            return {safe(name): _safe(value) for name, value in data.items()}
        case list() | tuple():
            return [_safe(value) for value in data]
        case _:
            return data
