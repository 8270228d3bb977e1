"""HTML table of the report's ``KernelRow``s (``kernels_section``): next step, gain, time and bottleneck, with filters.

Each row opens its details. ``where_words`` gives file and line of a launch's first advice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration, factor
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.html_report.details import kernel_details
from ncuview.render.html_report.elements import Part, choice, dim, element, filters, heading, number, section
from ncuview.render.html_report.rows import DETAILED, LISTED, KernelRow
from ncuview.render.words import attained_words, bottleneck_words, is_finished, shown_file, step_words

VERDICTS = {
    "advice": "advice",
    "near-peak": "near its peak",
    "not-judged": "not judged",
    "not-yours": "not yours",
    "unclear": "unclear",
}

_EVERYTHING = "The same command with --output FILE.json writes everything, with FILE.csv a row for each launch."

_COLUMNS = (
    ("kernel", "rising", ""),
    ("next step", "rising", ""),
    ("gain", "falling", "number"),
    ("saves", "falling", "number less"),
    ("time", "falling", "number less"),
    ("share", "falling", "number less"),
    ("bottleneck", "rising", "less"),
)
"""Name, first sort order, and CSS classes of the cells; narrow windows hide columns of class ``less``."""


_WITHOUT_ADVICE = {
    "not-judged": "Not judged: most rules could not judge it",
    "unclear": "Unclear",
}


def kernels_section(rows: Sequence[KernelRow]) -> ET.Element:
    """The filters, and one part of the table per kernel, for the first ``LISTED`` kernels."""
    listed = rows[:LISTED]
    head = element(
        "tr",
        *(heading(name, css=css, data_sort=order) for name, order, css in _COLUMNS),
    )
    head[3].set("aria-sort", "descending")
    table = element(
        "table",
        element("caption", "Kernels, by the time that their first advice saves", css="hidden"),
        element("thead", head),
        *map(_row, listed),
        id="kernels-table",
        css="kernels",
        data_sortable="parts",
    )
    nothing = element("p", "No kernel matches.", id="kernels-table-none", hidden="")
    return section("kernels", "Kernels", *_limits(rows), _filters(listed), table, nothing, *_further(rows))


def _limits(rows: Sequence[KernelRow]) -> Iterator[Part]:
    """The number of kernels with details, where it is less than all."""
    if len(rows) > DETAILED:
        yield dim(
            f"The first {DETAILED:,} of {len(rows):,} kernels, by the time that their advice saves and then by their"
            f" own, open in full. {_EVERYTHING}"
        )


def _further(rows: Sequence[KernelRow]) -> Iterator[Part]:
    if rows[LISTED:]:
        yield element("p", f"and {len(rows) - LISTED:,} more kernels that are not on this page. {_EVERYTHING}")


def _filters(rows: Sequence[KernelRow]) -> ET.Element:
    advice = sorted({row.group.advice.optimization for row in rows if row.group.advice})
    bottlenecks = sorted({row.shown.bottleneck_name for row in rows})
    gate = sorted({result for row in rows if (result := _gate(row))})
    choices = [
        choice("verdict", "Verdict", VERDICTS.items()),
        choice("advice", "Advice", zip(advice, advice, strict=True)),
        choice("bottleneck", "Bottleneck", zip(bottlenecks, bottlenecks, strict=True)),
    ]
    choices += [choice("gate", "Gate", zip(gate, gate, strict=True))] if gate else []
    return filters("kernels-table", "Kernels", "Name, advice, file ...", choices, id="search")


def _row(row: KernelRow) -> ET.Element:
    launch, group, opened = row.shown, row.group, f"{row.id}-details"
    name = element("button", row.name, type="button", css="expand", aria_expanded="false", aria_controls=opened)
    runs = f", {group.launches:,} launches" if group.launches > 1 else ""
    line = element(
        "tr",
        element("th", name, dim(row.configuration + runs, "small"), scope="row"),
        element("td", *_step(row)),
        number(
            factor(group.predicted_speedup.best) if group.advice else "",
            group.predicted_speedup.best if group.advice else None,
            "number gain",
        ),
        number(duration(group.saved.best) if group.advice else "", group.saved.best, "number less"),
        number(duration(group.time_ns) if group.time_ns else "unknown", group.time_ns, "number less"),
        number(f"{group.share:.1%}", group.share, "number less"),
        element("td", bottleneck_words(launch), css="less"),
    )
    details = element("tr", element("td", kernel_details(row), colspan=str(len(_COLUMNS))), css="opens", id=opened)
    return element(
        "tbody",
        line,
        details,
        id=row.id,
        data_verdict="advice" if group.advice else launch.verdict,
        data_advice=group.advice.optimization if group.advice else "",
        data_bottleneck=launch.bottleneck_name,
        data_gate=_gate(row),
        data_words=" ".join(dict.fromkeys(_words(row))),
    )


def _step(row: KernelRow) -> Iterable[Part]:
    """The next step and its place; else the reason why there is none."""
    advice = row.group.advice
    if advice:
        yield element("span", advice.fix.title, css="step")
        yield dim("  ".join(filter(None, [advice.optimization, where_words(row.shown)])), "small")
    else:
        yield dim(_without_advice(row.shown), "span")
    if _gate(row) == "failed":
        yield element("small", "fails the gate", css="bad")


def _without_advice(launch: LaunchDiagnosis) -> str:
    if launch.verdict == "near-peak":
        return f"{attained_words(launch)}{': stop here' * is_finished(launch)}"
    if launch.verdict == "not-yours":
        return f"N{step_words(launch, with_time=False)[1:]}"
    return _WITHOUT_ADVICE.get(launch.verdict, "No advice")


def where_words(launch: LaunchDiagnosis) -> str:
    """``coalesced.cu:63``: the worst line of the first advice, or the line that calls it; empty where none is known."""
    where = launch.findings[0].where if launch.findings else ()
    if not where:
        return ""
    place = next((call for call in where[0].called_from if call.code), where[0])
    return f"{shown_file(place.file).rpartition('/')[2]}:{place.line}"


def _gate(row: KernelRow) -> str:
    """The worst of the gate's results for a kernel; empty without checks."""
    results = {check.result for check in row.checks}
    return next((each for each in ("failed", "inconclusive", "not judged", "passed") if each in results), "")


def _words(row: KernelRow) -> Iterable[str]:
    """Further texts that the search finds a kernel by; the row's own texts are searched too."""
    yield row.group.demangled
    for finding in row.shown.findings:
        yield finding.rule.code
        yield finding.rule.name
        yield finding.message
        yield from (shown_file(line.file) for line in finding.where)
