"""Plain-text pages of ``ncuview metrics``, on textbook metrics (``metric_*``) and on the quantities that rules read.

``metric_page`` and ``quantity_page`` show one, ``metric_list`` and ``quantity_list`` several, with name, unit and
meaning; the page of one also what it is computed from. ``metric_of_instructions_page`` shows a metric of each
instruction, and ``quantity_reference`` is the reference page in Markdown.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ncuview.metrics.registry import ALL_LAUNCHES
from ncuview.metrics.textbook import metric_names

if TYPE_CHECKING:
    from ncuview.metrics.registry import Quantity
    from ncuview.metrics.textbook import TextbookDefinition

_INDENT = "    "
_OF_INSTRUCTIONS = (
    "`waste` in a rule and the functions of `@instruction_quantity` read them; conditions and values of a rule cannot. "
    "Sectors and tag requests are those of accesses to global memory, wavefronts those of shared memory. `threads` "
    "counts threads that are on, `active_threads` those that are not predicated off either. `samples_REASON` counts "
    "samples of warps that stall at the instruction for that reason; the quantity `stall_REASON` is the share of the "
    "launch's samples with it."
)


def metric_page(definition: TextbookDefinition, width: int = 100) -> str:
    """The page of one metric, wrapped to ``width``; metric names are never broken, so that they can be copied."""
    return "\n".join(_metric_lines(definition, width)) + "\n"


def metric_list(definitions: Iterable[TextbookDefinition], width: int = 100) -> str:
    """Name, unit and definition of each metric."""
    return "".join(
        _wrapped(f"{each.name} ({_unit_or_absence(each)}): {each.definition}", width) + "\n" for each in definitions
    )


def _metric_lines(definition: TextbookDefinition, width: int) -> Iterator[str]:
    own = definition.status == "ncuview"
    yield f"{definition.name} ({'ncuview' if own else f'nvprof {definition.kind}'})"
    if not definition.expressions:
        yield "No equivalent in Nsight Compute."
    yield _wrapped(definition.definition, width, hanging="")
    yield ""
    yield f"Unit: {definition.unit}"
    for number, expression in enumerate(definition.expressions):
        yield "or, where that was not collected:" if number else "\nComputed from:"
        yield _wrapped(expression, width, first=_INDENT)
    documented = definition.documented_expression or "n/a"
    if definition.expressions and not own and documented not in definition.expressions:
        yield "\nNVIDIA's table of equivalents gives:"
        yield _wrapped(documented, width, first=_INDENT)
    if definition.notes:
        yield ""
        yield _wrapped(definition.notes, width, hanging="")


def _unit_or_absence(definition: TextbookDefinition) -> str:
    return definition.unit if definition.expressions else f"{definition.unit}, no equivalent"


def quantity_list(
    quantities: Iterable[Quantity], names: Mapping[str, str], of_instructions: Mapping[str, str], width: int
) -> str:
    """Name, unit and meaning of each quantity; then the short names of ncu's metrics of launches and instructions."""
    lines = [_wrapped(f"{each.name}{_unit(each)}: {each.summary}", width) for each in _sorted(quantities)]
    lines += ["", "Metrics of Nsight Compute under the short names that rules use:"]
    lines += [_wrapped(f"{short}: {metric}", width) for short, metric in sorted(names.items())]
    lines += ["", "Metrics of each instruction:", _wrapped(_OF_INSTRUCTIONS, width, hanging="")]
    lines += [_wrapped(f"{short}: {metric}", width) for short, metric in of_instructions.items()]
    return "\n".join(lines) + "\n"


def quantity_page(quantity: Quantity, width: int) -> str:
    """The page of one quantity; names are never broken, so that they can be copied."""
    return "\n".join(_quantity_lines(quantity, width)) + "\n"


def metric_of_ncu_page(
    name: str, definitions: Iterable[TextbookDefinition], quantities: Iterable[Quantity], width: int
) -> str:
    """What is computed from a metric under Nsight Compute's name; empty where nothing is."""
    textbook = [each.name for each in definitions if any(name in metric_names(text) for text in each.expressions)]
    read = [each.name for each in quantities if name in each.metrics]
    parts = [
        _wrapped(f"{what}: {', '.join(names)}", width)
        for what, names in (("Metrics that are computed from it", textbook), ("Quantities of rules", read))
        if names
    ]
    return "\n".join([f"{name}: a metric of Nsight Compute", *parts, ""]) if parts else ""


def metric_of_instructions_page(name: str, metric: str, width: int) -> str:
    """One metric of each instruction, and which parts of a rule read it."""
    return f"{name}: {metric}, of each instruction\n\n{_wrapped(_OF_INSTRUCTIONS, width, hanging='')}\n"


def quantity_reference(
    quantities: Iterable[Quantity], names: Mapping[str, str], of_instructions: Mapping[str, str]
) -> str:
    """The reference page in Markdown: tables of the quantities, and of the metrics of launches and of instructions."""
    lines = [
        "# Quantities",
        "",
        "The values that expressions of rules read; `waste` reads the last table. `ncuview metrics NAME` shows one.",
        "",
    ]
    lines += ["| quantity | unit | meaning | made of |", "| --- | --- | --- | --- |"]
    for each in _sorted(quantities):
        made_of = ", ".join(f"`{name}`" for name in _made_of(each))
        lines.append(f"| `{each.name}` | {each.unit} | {each.summary} | {made_of} |")
    lines += ["", "## Short names of Nsight Compute's metrics", "", "| name | metric |", "| --- | --- |"]
    lines += [f"| `{short}` | `{metric}` |" for short, metric in sorted(names.items())]
    lines += ["", "## Metrics of each instruction", "", _OF_INSTRUCTIONS, "", "| name | metric |", "| --- | --- |"]
    lines += [f"| `{short}` | `{metric}` |" for short, metric in of_instructions.items()]
    return "\n".join(lines) + "\n"


def _made_of(quantity: Quantity) -> list[str]:
    """Its inputs that can be looked up: all but the launches themselves, of which its details say what is read."""
    return [name for name in quantity.inputs if name != ALL_LAUNCHES]


def _sorted(quantities: Iterable[Quantity]) -> list[Quantity]:
    return sorted(quantities, key=lambda each: each.name)


def _unit(quantity: Quantity) -> str:
    return f" ({quantity.unit})" if quantity.unit else ""


def _quantity_lines(quantity: Quantity, width: int) -> Iterator[str]:
    yield f"{quantity.name}, a quantity that rules read"
    yield _wrapped(f"{quantity.summary}.", width, hanging="")
    if quantity.unit:
        yield f"\nUnit: {quantity.unit}"
    if quantity.details:
        yield "\n" + _wrapped(quantity.details, width, hanging="")
    if made_of := _made_of(quantity):
        yield "\nComputed from:"
        yield from (_INDENT + name for name in made_of)
    if quantity.metrics:
        yield "\nMetrics of Nsight Compute underneath:"
        yield from (_INDENT + name for name in quantity.metrics)
    if quantity.needs_code:
        yield "\nIt needs the kernel's machine code, which CSV exports do not hold."


def _wrapped(text: str, width: int, *, first: str = "", hanging: str = _INDENT) -> str:
    """Text in lines of at most ``width``; names are never broken."""
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False
    )
