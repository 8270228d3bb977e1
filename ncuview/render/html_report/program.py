"""``program_section``: the changes, calls and processes of a program as a section of the HTML report."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration
from ncuview.records.program import ProgramDiagnosis, ProgramFinding
from ncuview.render.html_report.elements import Part, dim, element, heading, number, scrolled, section, table
from ncuview.render.program_words import (
    PROCESS_COLUMNS,
    call_words,
    calls_words,
    change_bounds,
    change_headline,
    process_name,
    program_sentence,
    uneven_lines,
    uneven_words,
)

_LISTED = 20


def program_section(program: ProgramDiagnosis) -> ET.Element:
    """What to change at which call, then the lines that take most of the kernel time."""
    parts: list[Part] = [element("p", f"{program_sentence(program)}.")]
    if program.findings:
        parts.append(element("ol", *map(_change, program.findings), css="steps"))
    else:
        parts.append(element("p", "No change of a call is known that saves a tenth of the kernel time."))
    rows = [
        element(
            "tr",
            element("td", call_words(each.call)),
            number(f"{each.launches:,}", each.launches),
            number(duration(each.time_ns), each.time_ns),
            number(f"{each.share:.0%}", each.share),
        )
        for each in program.calls[:_LISTED]
    ]
    calls = table(map(heading, ("call", "launches", "time", "share")), rows)
    parts.append(scrolled(calls, "Calls of the program by kernel time"))
    if rest := len(program.calls) - len(rows):
        parts.append(dim(f"and {rest:,} more lines"))
    if program.processes:
        parts += _processes(program)
    return section("program", "The program's calls", *parts)


def _processes(program: ProgramDiagnosis) -> Iterator[Part]:
    """A table of the processes, then the lines whose time differs most among them."""
    rows = [
        element(
            "tr",
            element("td", process_name(each)),
            number(f"{each.launches:,}", each.launches),
            number(duration(each.time_ns), each.time_ns),
            number(f"{each.share:.0%}", each.share),
        )
        for each in program.processes
    ]
    yield scrolled(table(map(heading, PROCESS_COLUMNS), rows), "Processes of the program")
    if uneven := uneven_lines(program)[:_LISTED]:
        yield element("p", "Uneven among processes:")
        yield element("ul", *(element("li", uneven_words(program, line)) for line in uneven))


def _change(finding: ProgramFinding) -> ET.Element:
    return element("li", *_parts(finding))


def _parts(finding: ProgramFinding) -> Iterator[Part]:
    yield element("p", element("strong", change_headline(finding)), f" ({change_bounds(finding)})")
    yield element("p", f"{finding.message[:1].upper()}{finding.message[1:]}.")
    yield dim(calls_words(finding.calls))
    yield dim(finding.link)
