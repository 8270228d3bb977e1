"""Plain-text and Markdown pages of quantities: what rules can read, with unit, inputs, and ncu's metrics underneath."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ncuview.metrics.registry import Quantity

_INDENT = "    "


def quantity_list(quantities: Iterable[Quantity], names: Mapping[str, str], width: int) -> str:
    """Name, unit and meaning of each quantity; then the short names of ncu's metrics."""
    lines = [_wrapped(f"{each.name}{_unit(each)}: {each.summary}", width) for each in _sorted(quantities)]
    lines += ["", "Metrics of Nsight Compute under the short names that rules use:"]
    lines += [_wrapped(f"{short}: {metric}", width) for short, metric in sorted(names.items())]
    return "\n".join(lines) + "\n"


def quantity_page(quantity: Quantity, width: int) -> str:
    """Everything about one quantity; names are never broken, so that they can be copied."""
    return "\n".join(_page_lines(quantity, width)) + "\n"


def quantity_reference(quantities: Iterable[Quantity], names: Mapping[str, str]) -> str:
    """The reference page in Markdown: a table of the quantities, and one of the metrics' short names."""
    lines = [
        "# Quantities",
        "",
        "What the expressions of rules may read. `ncuview metrics NAME` shows one of them.",
        "",
    ]
    lines += ["| quantity | unit | meaning | made of |", "| --- | --- | --- | --- |"]
    for each in _sorted(quantities):
        made_of = ", ".join(f"`{name}`" for name in each.inputs or each.metrics)
        lines.append(f"| `{each.name}` | {each.unit} | {each.summary} | {made_of} |")
    lines += ["", "## Short names of Nsight Compute's metrics", "", "| name | metric |", "| --- | --- |"]
    lines += [f"| `{short}` | `{metric}` |" for short, metric in sorted(names.items())]
    return "\n".join(lines) + "\n"


def _sorted(quantities: Iterable[Quantity]) -> list[Quantity]:
    return sorted(quantities, key=lambda each: each.name)


def _unit(quantity: Quantity) -> str:
    return f" ({quantity.unit})" if quantity.unit else ""


def _page_lines(quantity: Quantity, width: int) -> Iterator[str]:
    yield f"{quantity.name}, a quantity that rules read"
    yield _wrapped(f"{quantity.summary}.", width, hanging="")
    if quantity.unit:
        yield f"\nUnit: {quantity.unit}"
    if quantity.inputs:
        yield "\nComputed from:"
        yield from (_INDENT + name for name in quantity.inputs)
    if quantity.metrics:
        yield "\nMetrics of Nsight Compute underneath:"
        yield from (_INDENT + name for name in quantity.metrics)
    if quantity.needs_code:
        yield "\nIt needs the kernel's machine code, which CSV exports do not hold."


def _wrapped(text: str, width: int, hanging: str = _INDENT) -> str:
    return textwrap.fill(text, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False)
