"""Plain-text page of one ``Rule`` (``rule_page``) for ``ncuview explain``: what it measures, why, and how to fix it.

It shows code before and after, what the prediction assumes, numbers with their sources, limits and documents.
"""

from __future__ import annotations

import textwrap

from ncuview.engine.regions import region
from ncuview.engine.rule_file import Rule
from ncuview.render.text import safe_page

_INDENT = "  "


def rule_page(rule: Rule, width: int) -> str:
    """What is measured, why it matters, the change on real code, the thresholds with their sources, the documents."""
    text = rule.text
    marks = ", a draft" if text.status == "draft" else ""
    marks += ", about older GPUs" if text.overtaken else ""
    parts = [f"{text.code} {text.name}: {text.optimization}{marks}", _wrapped(text.summary + ".", width)]
    parts += [_section("What is measured", text.docs.what, width), _section("Why it matters", text.docs.why, width)]
    for fix in text.fix:
        parts.append(_heading(fix.title))
        if not fix.before or not fix.after:
            continue
        for label, reference in (("Before", fix.before), ("After", fix.after)):
            parts.append(
                f"{_INDENT}{label}: {reference}\n\n" + textwrap.indent(region(reference, rule.path), _INDENT * 3)
            )
    parts.append(_section("What the prediction assumes", text.docs.assumes + ".", width))
    for title, parameters in (("Threshold", text.thresholds), ("Parameter of the prediction", text.prediction)):
        for name, number in parameters.items():
            parts.append(_section(f"{title} {name}: {number.value:g}, {number.kind}", number.source, width))
    parts.append(_section("Limits", text.docs.limits, width))
    parts.append(_heading("Taught in"))
    parts += [_wrapped(f"{cite.document}, {cite.section}: {cite.claim}", width, _INDENT) for cite in text.cite]
    return safe_page("\n\n".join(parts))


def _heading(title: str) -> str:
    return f"{title}\n{'-' * len(title)}"


def _section(title: str, body: str, width: int) -> str:
    return f"{_heading(title)}\n{_wrapped(body, width)}"


def _wrapped(body: str, width: int, indent: str = "") -> str:
    flowing = " ".join(body.split())
    return textwrap.fill(flowing, width, initial_indent=indent, subsequent_indent=indent * 2 if indent else "")
