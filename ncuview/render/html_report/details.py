"""HTML details of one kernel's row in the report: next step, evidence, source, change, use of units, other findings.

Also the gate's failed and inconclusive checks, the row's other launches, and a table of textbook metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, Passed, SourceLine
from ncuview.records.gate import Check
from ncuview.render.html_report.elements import Part, dim, element, hidden
from ncuview.render.html_report.rows import KernelRow
from ncuview.render.html_report.walls import walls_table
from ncuview.render.words import (
    advice_reason,
    also_words,
    changed_lines,
    check_words,
    device_words,
    excerpts,
    host_words,
    place_words,
    promise_bounds,
    promise_headline,
    rejected_words,
    shown_file,
    skipped_words,
    step_words,
    verdict_headline,
    verdict_reason,
    wall_words,
)

_LAUNCHES = 50
"""More launches of one row are counted, not listed."""

Labelled = tuple[str, Sequence[Part]]


def kernel_details(row: KernelRow) -> ET.Element:
    """The part for one row, of the launch that stands for it."""
    if not row.detailed:
        return element("div", *_identity(row), dim("The rest is not on this page."), css="details")
    launch = row.shown
    said = [*_checks(row.checks), *(_advice(launch, launch.findings[0]) if launch.findings else _verdict(launch))]
    made = element("div", _list(said), element("div", walls_table(launch), *_launches(row), css="aside"), css="columns")
    folded = [*_rest(launch), *_deferred(launch)]
    return element("div", *_identity(row), made, *folded, css="details")


def _identity(row: KernelRow) -> Iterator[Part]:
    """What the row itself leaves out."""
    group, launch = row.group, row.shown
    if group.demangled != row.name:
        yield element("p", element("code", group.demangled))
    where = f"{device_words(launch.device)}; {launch.report}, launch {launch.index}"
    if len(row.launches) > 1:
        where += f", which stands for the {len(row.launches):,} that were profiled"
    if group.launches > group.profiled:
        where += f" of {group.launches:,}"
    yield dim(where)
    saved = f", of which the first advice saves {duration(group.saved.best)}" if group.advice else ""
    if group.time_ns:
        yield dim(f"{duration(group.time_ns)} in all, {group.share:.1%} of the time of all kernels{saved}")
    if launch.host:
        yield dim(f"{host_words(launch.host)}.")


def _list(said: Sequence[Labelled]) -> ET.Element:
    made = element("dl")
    for label, parts in said:
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
    """The colour of a check: of a failure that counts as an error, of a warning, of the others."""
    if check.result == "failed":
        return "bad" if check.level == "error" else "warn"
    return "warn" if check.result == "inconclusive" else ""


def _advice(launch: LaunchDiagnosis, finding: Finding) -> Iterator[Labelled]:
    bounds = dim(f" ({promise_bounds(launch, finding)})", "span")
    yield "Next", [element("strong", promise_headline(finding), css="gain"), bounds]
    yield "Why", [advice_reason(launch, finding)]
    places = list(_places(finding))
    if places:
        yield "Where", places
    yield "Change", list(_change(finding))
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
    names = ("share of the waste", "line", "code")
    head = element("tr", *(element("th", hidden(name), scope="col") for name in names))
    return scrolled(
        element("table", element("thead", head), element("tbody", *rows), css="code"),
        f"Source of {shown_file(excerpt[0].file)} around line {excerpt[0].line}",
    )


def heat(share: float) -> int:
    """A share as one of the ten steps of the scale of colours; 0 is none."""
    return min(10, max(1, round(10 * share))) if share > 0 else 0


def scrolled(content: ET.Element, label: str) -> ET.Element:
    """A part that scrolls by itself where it is too wide, also by the keyboard."""
    return element("div", content, css="scrolled", tabindex="0", role="group", aria_label=label)


def _change(finding: Finding) -> Iterator[Part]:
    """The change of the user's own source; else how it looks on kernels of the catalogue."""
    if finding.edit and finding.edit.diff:
        yield f"{finding.edit.title}:"
        yield _diff(finding.edit.diff.splitlines())
        if finding.edit.assumes:
            yield dim(f"(holds if {finding.edit.assumes})")
        return
    if not finding.fix.before:
        yield finding.fix.title
        return
    yield f"{finding.fix.before_from}, to {finding.fix.after_from.rpartition('/')[2]}:"
    yield _diff(changed_lines(finding.fix.before, finding.fix.after))
    if finding.edit:
        yield dim(f"(not written for your code: {finding.edit.reason})")


_DIFF_TAGS = {"+": "ins", "-": "del"}


def _diff(lines: Iterator[str] | Sequence[str]) -> ET.Element:
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
            element("td", wall_words(launch)),
            element("td", step_words(launch)),
        )
        for launch in row.launches[:_LAUNCHES]
    ]
    head = element("tr", *(element("th", name, scope="col") for name in ("launch", "time", "wall", "next step")))
    rest = len(row.launches) - len(body)
    yield element(
        "details",
        element("summary", f"{len(row.launches):,} launches"),
        element("table", element("thead", head), element("tbody", *body)),
        *([dim(f"and {rest:,} more")] if rest else []),
    )


def _rest(launch: LaunchDiagnosis) -> Iterator[Part]:
    """Other advice, what was rejected and why, and the rules that had nothing to say."""
    said: list[Labelled] = [("Also", [element("p", also_words(finding))]) for finding in launch.findings[1:]]
    rejected = [each for each in launch.outcomes if isinstance(each, Finding) and each.rejected]
    said += [("Not", [element("p", f"{rejected_words(each)}. {each.message}.")]) for each in rejected]
    said += [("Textbook", [note]) for note in launch.textbook]
    said += [("Broken", [f"{each.rule.code}: {each.message}"]) for each in launch.outcomes if isinstance(each, Broken)]
    said += [("Skipped", [words])] if (words := skipped_words(launch)) else []
    for label, kind in (("Passed", Passed), ("No case", NotApplicable)):
        names = ", ".join(each.rule.name for each in launch.outcomes if isinstance(each, kind))
        said += [(label, [names])] if names else []
    if said:
        yield element("details", element("summary", "Other advice, and what was rejected"), _list(said))


def _deferred(launch: LaunchDiagnosis) -> Iterator[Part]:
    """What the script fills from the page's data when it is opened."""
    yield element("div", css="lines")
    if any(isfinite(metric.value) for metric in launch.metrics.values()):
        summary = element("summary", f"Textbook metrics ({len(launch.metrics)})")
        yield element(
            "details",
            summary,
            element("p", "This table needs JavaScript; ncuview analyze --format json has the same numbers."),
            css="metrics",
        )
