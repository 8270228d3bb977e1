"""Plain-text pages of textbook metrics: ``metric_page`` of one ``TextbookDefinition``, ``metric_list`` of several.

They show name, unit and definition; the page of one metric also its expressions over Nsight Compute's metrics.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncuview.metrics.textbook import TextbookDefinition

_INDENT = "    "


def metric_page(definition: TextbookDefinition, width: int = 100) -> str:
    """The page of one metric, wrapped to ``width``; metric names are never broken, so that they can be copied."""
    return "\n".join(_page_lines(definition, width)) + "\n"


def metric_list(definitions: Iterable[TextbookDefinition], width: int = 100) -> str:
    """Name, unit and definition of each metric."""
    return "".join(
        _wrapped(f"{each.name} ({_unit_or_absence(each)}): {each.definition}", width, hanging=_INDENT) + "\n"
        for each in definitions
    )


def _page_lines(definition: TextbookDefinition, width: int) -> Iterator[str]:
    own = definition.status == "ncuview"
    yield f"{definition.name} ({'ncuview' if own else f'nvprof {definition.kind}'})"
    if not definition.expressions:
        yield "No equivalent in Nsight Compute."
    yield _wrapped(definition.definition, width)
    yield ""
    yield f"Unit: {definition.unit}"
    for number, expression in enumerate(definition.expressions):
        yield "or, where that was not collected:" if number else "\nComputed from:"
        yield _wrapped(expression, width, _INDENT, _INDENT)
    documented = definition.documented_expression or "n/a"
    if definition.expressions and not own and documented not in definition.expressions:
        yield "\nNVIDIA's table of equivalents gives:"
        yield _wrapped(documented, width, _INDENT, _INDENT)
    if definition.notes:
        yield ""
        yield _wrapped(definition.notes, width)


def _unit_or_absence(definition: TextbookDefinition) -> str:
    return definition.unit if definition.expressions else f"{definition.unit}, no equivalent"


def _wrapped(text: str, width: int, first: str = "", hanging: str = "") -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
