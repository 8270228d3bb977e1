"""HTML details of a ``KernelRow`` in the report (``kernel_details``): next step, evidence, source, change, units.

``kernel_section`` is the part of a page that shows one row only.

They also hold the gate's checks, the row's other launches, all other outcomes, and a table of textbook metrics.

``check_css`` serves other sections too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration
from ncuview.base.paths import shown_path
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, SourceLine
from ncuview.records.gate import Check
from ncuview.render.html_report.elements import Part, dim, element, heading, hidden, scrolled, section, table
from ncuview.render.html_report.rows import KernelRow
from ncuview.render.html_report.units import units_table
from ncuview.render.shown_change import ShownChange, shown_change
from ncuview.render.words import (
    advice_headline,
    advice_reason,
    also_words,
    awaited_words,
    bottleneck_words,
    check_words,
    coverage_sentence,
    device_words,
    effects_words,
    excerpts,
    gain_bounds,
    host_words,
    passed_words,
    place_words,
    rejected_words,
    sequence_words,
    shown_file,
    skipped_words,
    step_words,
    subject_words,
    verdict_headline,
    verdict_reason,
)

_LAUNCHES = 50
"""Further launches of one row are counted, not listed."""

Labelled = tuple[str, Sequence[Part]]


def kernel_section(row: KernelRow, unmeasured: Iterable[ET.Element] = ()) -> ET.Element:
    """The details of a page's only row, open from the start: the next step first, the identity of the launch last.

    ``unmeasured`` names launches that are missing from its time.
    """
    group = row.group
    facts = [row.configuration, f"{group.launches:,} launches" if group.launches > 1 else ""]
    facts += [duration(group.time_ns) if group.time_ns else "duration unknown", bottleneck_words(row.shown)]
    parts: list[Part] = [dim(", ".join(filter(None, facts)))]
    if len(row.launches) > 1 and (covered := coverage_sentence(row.launches)):
        parts.append(element("p", element("strong", covered)))
    details = element("div", *_evidence(row), *_identity(row), *unmeasured, css="details")
    parts.append(element("div", details, id=f"{row.id}-details", css="opens open alone"))
    title = "Next step" if row.shown.findings else "Verdict"
    return section("kernel", title, element("div", *parts, id=row.id))


def kernel_details(row: KernelRow) -> ET.Element:
    """The details of a row, for its example launch."""
    if not row.detailed:
        return element("div", *_identity(row), dim("The rest is not on this page."), css="details")
    return element("div", *_identity(row), *_shares(row), *_evidence(row), css="details")


def _evidence(row: KernelRow) -> Iterator[Part]:
    launch = row.shown
    shown = [*_checks(row.checks), *(_advice(launch, launch.findings[0]) if launch.findings else _verdict(launch))]
    yield element("div", _list(shown), element("div", units_table(launch), *_launches(row), css="aside"), css="columns")
    yield from _rest(launch)
    yield from _deferred(launch)


def _identity(row: KernelRow) -> Iterator[Part]:
    """The parts of the kernel's identity that the row itself does not show."""
    group, launch = row.group, row.shown
    if group.demangled != row.name:
        yield element("p", element("code", group.demangled))
    where = f"{device_words(launch.device)}; {shown_path(launch.report)}, launch {launch.index}"
    if len(row.launches) > 1:
        where += f", an example of the {len(row.launches):,} that were profiled"
    if group.launches > group.profiled:
        where += f" of {group.launches:,}"
    yield dim(where)
    if launch.host:
        yield dim(f"{host_words(launch.host)}.")


def _shares(row: KernelRow) -> Iterator[Part]:
    """The row's part of the time of all rows."""
    group = row.group
    saved = f", of which the first advice saves {duration(group.saved.best)}" if group.advice else ""
    if group.time_ns:
        yield dim(f"{duration(group.time_ns)} in all, {group.share:.1%} of the time of all kernels{saved}")


def _list(entries: Sequence[Labelled]) -> ET.Element:
    made = element("dl")
    for label, parts in entries:
        made.append(element("dt", label))
        made.append(element("dd", *parts))
    return made


def _checks(checks: Sequence[Check]) -> Iterator[Labelled]:
    open_checks = [check for check in checks if check.result in {"failed", "inconclusive"}]
    if open_checks:
        yield (
            "Gate",
            [
                element("p", element("strong", f"{check.result}: "), check.message, css=check_css(check))
                for check in open_checks
            ],
        )


def check_css(check: Check) -> str:
    """The colour class of a check: a failed error, a failed or inconclusive warning, or none."""
    if check.result == "failed":
        return "bad" if check.level == "error" else "warn"
    return "warn" if check.result == "inconclusive" else ""


def _advice(launch: LaunchDiagnosis, finding: Finding) -> Iterator[Labelled]:
    bounds = dim(f" ({gain_bounds(launch, finding)})", "span")
    yield "Next", [element("strong", advice_headline(finding), css="gain"), bounds]
    yield "Why", [advice_reason(launch, finding)]
    places = list(_places(finding))
    if places or (subject := subject_words(launch, finding)):
        yield "Where", places or [subject]
    if awaited := awaited_words(finding):
        yield "Waits for", [awaited]
    change = shown_change(launch.kernel, finding)
    yield change.label, list(_change(change))
    yield "Check", [check_words(finding)]
    yield "Assumes", [finding.assumes]
    yield "Taught", [element("em", f"{cite.document}, {cite.section}") for cite in finding.cite[:1]]


def _verdict(launch: LaunchDiagnosis) -> Iterator[Labelled]:
    yield "Verdict", [element("strong", verdict_headline(launch))]
    yield "Why", [verdict_reason(launch)]


def _places(finding: Finding) -> Iterator[Part]:
    for excerpt in excerpts(finding.where):
        for line in excerpt:
            yield element("p", place_words(line), css="place")
        for call in dict.fromkeys(call for line in excerpt for call in line.called_from if call.code):
            yield element("p", f"called by {shown_file(call.file)}:{call.line} ", element("code", call.code), css="dim")
        if any(line.around for line in excerpt):
            yield _code(excerpt)
        for remark in dict.fromkeys(line.remark for line in excerpt if line.remark):
            yield dim(f"({remark})")
    for hot in finding.instructions:
        yield element("p", f"instruction {hot.address:#06x}  {hot.share:.0%} of it ", element("code", hot.sass))
    if finding.lines_wanted:
        yield dim(f"({finding.lines_wanted})")


def _code(excerpt: Sequence[SourceLine]) -> ET.Element:
    """The lines around the hot ones, each with its share of the waste where it has one."""
    share = {line.line: line.share for line in excerpt}
    texts = {each.line: each.text for line in excerpt for each in line.around}
    indent = min((len(text) - len(text.lstrip()) for text in texts.values() if text.strip()), default=0)
    rows = [
        element(
            "tr",
            element("td", f"{share[at]:.0%}" if at in share else "", css=f"heat h{heat(share.get(at, 0.0))}"),
            element("td", str(at), css="number dim"),
            element("td", element("code", texts[at][indent:])),
        )
        for at in sorted(texts)
    ]
    head = [heading(hidden(name)) for name in ("share of the waste", "line", "code")]
    label = f"Source of {shown_file(excerpt[0].file)} around line {excerpt[0].line}"
    return scrolled(table(head, rows, css="code"), label)


def heat(share: float) -> int:
    """The step of the colour scale for a share, 1 to 10; 0 for a share of 0."""
    return min(10, max(1, round(10 * share))) if share > 0 else 0


def _change(change: ShownChange) -> Iterator[Part]:
    yield change.heading
    if change.lines:
        yield _diff(change.lines)
    if change.remark:
        yield dim(f"({change.remark})")


_DIFF_TAGS = {"+": "ins", "-": "del"}


def _diff(lines: Sequence[str]) -> ET.Element:
    parts = [element(_DIFF_TAGS.get(line[:1], "span"), f"{line}\n") for line in lines]
    return scrolled(element("pre", *parts), "The change as a diff")


def _launches(row: KernelRow) -> Iterator[Part]:
    """The launches of the row, where there are several."""
    if len(row.launches) < 2:
        return
    body = [
        element(
            "tr",
            element("td", str(launch.index), css="number"),
            element("td", duration(launch.whole_ns), css="number"),
            element("td", bottleneck_words(launch)),
            element("td", step_words(launch)),
        )
        for launch in row.launches[:_LAUNCHES]
    ]
    head = map(heading, ("launch", "time", "bottleneck", "next step"))
    rest = len(row.launches) - len(body)
    yield element(
        "details",
        element("summary", f"{len(row.launches):,} launches"),
        table(head, body),
        *([dim(f"and {rest:,} more")] if rest else []),
    )


def _rest(launch: LaunchDiagnosis) -> Iterator[Part]:
    """Other advice, rejected findings with their reasons, and the rules without a finding."""
    entries: list[Labelled] = [("Steps", [sequence_words(launch.sequence)])] if launch.sequence else []
    entries += [
        ("Also", [element("p", also_words(finding))]) for finding in (*launch.findings[1:], *launch.other_cures)
    ]
    for finding in launch.findings[:1]:
        entries += [("Holds", ["; ".join(finding.conditions)])] if finding.conditions else []
        entries += [("Effects", [effects_words(finding)])] if finding.effects else []
    rejected = [each for each in launch.outcomes if isinstance(each, Finding) and each.rejected]
    entries += [("Rejected", [element("p", f"{rejected_words(each)}. {each.message}.")]) for each in rejected]
    entries += [("Textbook", [note]) for note in launch.textbook]
    broken = [each for each in launch.outcomes if isinstance(each, Broken)]
    entries += [("Broken", [f"{each.rule.code}: {each.message}"]) for each in broken]
    entries += [("Skipped", [words])] if (words := skipped_words(launch)) else []
    entries += [("Passed", [passed])] if (passed := passed_words(launch)) else []
    absent = ", ".join(each.rule.name for each in launch.outcomes if isinstance(each, NotApplicable))
    entries += [("No case", [absent])] if absent else []
    if entries:
        yield element("details", element("summary", "Other advice, and what was rejected"), _list(entries))


def _deferred(launch: LaunchDiagnosis) -> Iterator[Part]:
    """Parts that the script fills from the page's data when they are opened."""
    yield element("div", css="lines")
    if any(isfinite(metric.value) for metric in launch.metrics.values()):
        summary = element("summary", f"Textbook metrics ({len(launch.metrics)})")
        yield element(
            "details",
            summary,
            element("p", "This table needs JavaScript; ncuview analyze --format json has the same numbers."),
            css="metrics",
        )
