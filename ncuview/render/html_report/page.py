"""Assemble a self-contained HTML page from elements: one file with style, script, JSON data and navigation.

``page`` returns it as text, for the report and the history; ``shipped`` reads a style or script of this package.

The content security policy lets only the style and the script run that their hashes name, so that text which found its
way into the page as markup could do nothing. ``page.js`` gives every page, by attributes alone:

- ``<table data-sortable="parts">``: each ``th`` with ``data-sort`` sorts, first ``rising`` or ``falling``. Sorted are
  each ``tbody`` by its first row, or with ``rows`` the rows of the only one; by ``data-value`` of their cells, else by
  their text.
- ``<form data-filters="ID">``: its search fields and choices narrow the table with that id. A choice named ``wall``
  keeps what has that value in ``data-wall``. Its ``output`` says how many are left.
- ``<button aria-expanded aria-controls="ID">``: opens and closes what it controls; so does a link to an id within it.
- ``<svg data-points>``: its links are one stop of the tab key, and arrow keys go from one to the next. The label of the
  one that has the focus, or that the mouse is on, stands in the element of class ``readout`` beside the chart.
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
    """A page that needs nothing else: no network, no other file.

    Args:
        title: What the page is about, in its heading too.
        body: Its parts in order; the navigation lists those that ``elements.section`` made.
        data: What the script reads as JSON from the element ``data``; its texts are made safe here.
        style: CSS in addition to that of every page.
        script: JavaScript in addition to that of every page. It starts when all of the page is there, and
            must set text by ``textContent`` only.
    """
    style, script = shipped("page.css") + style, shipped("page.js") + script
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "img-src data:",  # the empty icon, so that browsers ask no server for one
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
    """The text of a style or script that lies in this package."""
    return files("ncuview.render.html_report").joinpath(name).read_text(encoding="utf-8")


def _top(body: Sequence[ET.Element]) -> ET.Element:
    """The bar with the parts of the page, and the choice of colours, which works with a script only."""
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
    """JSON that cannot end the element that it stands in."""
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
