"""HTML section of a ``Gate`` in the report (``checks_section``): verdict, a table of checks that did not pass, others.

Checks that passed are folded. ``Ids`` maps kernels to the ids of their rows on the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from ncuview.comparison.compare import launch_words
from ncuview.records.gate import Check, Gate
from ncuview.records.profile import Extent
from ncuview.render.gate_words import gate_sentence, unpassed_checks
from ncuview.render.html_report.details import check_css
from ncuview.render.html_report.elements import Part, dim, element, heading, scrolled, section, table
from ncuview.render.html_report.rows import LISTED

Ids = Mapping[tuple[str, Extent, Extent], str]
"""Demangled name, grid and block -> the id of a row of the page."""


def checks_section(gate: Gate, ids: Ids) -> ET.Element:
    """The sentence, the remark, and the checks."""
    sentence = gate_sentence(gate)
    parts: list[Part] = [element("p", f"{sentence[:1].upper()}{sentence[1:]}.")]
    parts += [element("p", gate.notes)] if gate.notes else []
    open_checks = unpassed_checks(gate)
    passed = [check for check in gate.checks if check.result == "passed"]
    parts += [_table(open_checks, ids)] if open_checks else []
    if passed:
        count = f"{len(passed):,} check{'s' if len(passed) != 1 else ''} passed"
        parts.append(element("details", element("summary", count), _table(passed, ids), data_print=""))
    return section("gate", "Gate", *parts)


def _table(checks: Sequence[Check], ids: Ids) -> ET.Element:
    """The first checks; a browser needs seconds to show tens of thousands."""
    names = ("result", "level", "kernel", "what", "judgement", "from")
    head = [heading(name, data_sort="rising") for name in names]
    rows = [
        element(
            "tr",
            element("td", element("strong", check.result, css=check_css(check))),
            element("td", check.level),
            element("td", _kernel(check, ids)),
            element("td", check.subject, dim(check.condition, "small")),
            element("td", check.message),
            element("td", dim(check.origin, "small")),
        )
        for check in checks[:LISTED]
    ]
    shown = scrolled(table(head, rows, css="wide", data_sortable="rows"), "Checks of the gate")
    if len(checks) <= LISTED:
        return shown
    left_out = f"and {len(checks) - LISTED:,} more. The same command with --output FILE.json writes all."
    return element("div", shown, element("p", left_out, css="warn"))


def _kernel(check: Check, ids: Ids) -> ET.Element:
    row = ids.get((check.kernel, check.grid, check.block))
    name = element("a", check.kernel, href=f"#{row}") if row else element("span", check.kernel)
    where = launch_words(check.grid, check.block)
    return element("div", name, *([dim(where, "small")] if where else []))
