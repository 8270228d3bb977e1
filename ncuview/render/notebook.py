"""HTML for a notebook cell of a ``Profile``, ``Diagnosis``, ``LaunchDiagnosis`` or ``Ladder``: ``answer_html``.

It is one element in light and dark colours without scripts; a ``*_html`` function for each type returns it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import isfinite
from typing import Any
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration
from ncuview.comparison.compare import extent_words, launch_words
from ncuview.records.diagnosis import Broken, Diagnosis, Finding, LaunchDiagnosis, SourceLine
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Profile
from ncuview.records.program import ProgramDiagnosis
from ncuview.render.html_report.elements import Part, dim, element, markup, table
from ncuview.render.ladder import HTML_COLUMNS, HTML_NUMBERS, step_cells
from ncuview.render.program_words import (
    LARGE_CALL,
    call_time_words,
    calls_words,
    change_bounds,
    change_headline,
    process_words,
    program_sentence,
    uneven_lines,
    uneven_words,
)
from ncuview.render.shown_change import ShownChange, shown_change
from ncuview.render.text import safe_copy
from ncuview.render.words import (
    advice_headline,
    advice_reason,
    also_words,
    awaited_words,
    bottleneck_words,
    check_words,
    failure_sentence,
    gain_bounds,
    idle_words,
    is_finished,
    ladder_meaning,
    notes_title,
    passed_words,
    provenance,
    rejected_line,
    sequence_words,
    shown_file,
    skipped_words,
    step_words,
    subject_words,
    textbook_notes,
    unit_words,
    verdict_headline,
    verdict_reason,
)

_LAUNCHES = 20
"""A cell shows at most this many launches, because a saved notebook keeps its HTML; DataFrames have all of them."""
_UNITS_FROM = 0.05
"""Units with less use have no bar."""

# A notebook has one page for all cells, so that every rule is limited to a class of ours. Text and background colours
# are set together, because some notebooks are dark where the system is light.
_STYLE = """
.ncuview{color-scheme:light;--ink:#1c2126;--dim:#59636e;--page:#fff;--line:#d5dae0;--bar:#0072b2;
--good:#116329;--was:#a40e26;color:var(--ink);background:var(--page);font:14px/1.45 system-ui,sans-serif;
padding:.6em .8em;max-width:62em;overflow-x:auto}
@media (prefers-color-scheme:dark){.ncuview{color-scheme:dark;--ink:#e6edf3;--dim:#9da7b1;--page:#14181d;--line:#3a424b;
--bar:#56b4e9;--good:#56d364;--was:#ff9492}}
.ncuview p{margin:.25em 0}
.ncuview summary{cursor:pointer}
.ncuview table{border-collapse:collapse;margin:.4em 0;color:inherit;background:none;font-size:inherit}
.ncuview tr,.ncuview tr:hover{background:none}
.ncuview th,.ncuview td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;border:0}
.ncuview th{font-weight:normal;color:var(--dim)}
.ncuview thead th{border-bottom:1px solid var(--line)}
.ncuview .number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.ncuview pre{margin:.2em 0;padding:0;white-space:pre-wrap;color:inherit;background:none;
font:12.5px/1.4 ui-monospace,monospace}
.ncuview .dim{color:var(--dim)}
.ncuview .good,.ncuview ins{color:var(--good)}
.ncuview .was,.ncuview del{color:var(--was)}
.ncuview ins,.ncuview del{text-decoration:none}
.ncuview .track{display:inline-block;width:9em;height:.7em;border:1px solid var(--line);margin-right:.5em}
.ncuview .use{display:block;height:100%;background:var(--bar)}
"""


def answer_html(answer: Profile | Diagnosis | Ladder | LaunchDiagnosis) -> str:
    """The HTML of any answer."""
    match answer:
        case Profile():
            return profile_html(answer)
        case Ladder():
            return ladder_html(answer)
        case Diagnosis():
            return diagnosis_html(answer)
    return launch_html(answer)


def profile_html(profile: Profile) -> str:
    """A profile as one HTML element: its longest launches, and how to diagnose it."""
    longest = profile.launches.nlargest(_LAUNCHES, "duration_ns").sort_index()
    rows = [
        (str(at), row["demangled"], *_extents(row), duration(row["duration_ns"]), row["device"])
        for at, row in zip(longest.index, longest.to_dict("records"), strict=True)
    ]
    table = _table(("", "kernel", "grid", "block", "time", "GPU"), rows)
    shown = "" if len(rows) == len(profile.launches) else f" The {len(rows)} longest are shown."
    return _page(dim(f"{profile}.{shown}"), table, dim("ncuview.diagnose(profile) finds what to do next."))


def _extents(launch: dict[Hashable, Any]) -> Iterator[str]:
    for name in ("grid", "block"):
        x, y, z = (launch[f"{name}_{axis}"] for axis in "xyz")
        yield extent_words((x, y, z))


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """A diagnosis as one HTML element: each launch as a line that opens; the launch with the largest saving is open.

    With more than 20 launches, those whose advice saves the most time are shown, in the order of the reports.
    """
    by_saving = sorted(range(len(diagnosis.launches)), key=lambda at: -_saved(diagnosis.launches[at]))
    shown = sorted(by_saving[:_LAUNCHES])
    parts: list[Part] = [dim(provenance(diagnosis.reports, diagnosis.launches, diagnosis.remark))]
    if missing := failure_sentence(diagnosis.failure):
        parts.append(element("p", missing, css="was"))
    if diagnosis.program:
        parts += _program(diagnosis.program)
    for at in shown:
        launch = diagnosis.launches[at]
        fold = element("details", element("summary", *_line(launch)), *_launch(launch))
        if at == by_saving[0]:
            fold.set("open", "open")
        parts.append(fold)
    hidden = len(diagnosis.launches) - len(shown)
    if hidden:
        parts.append(dim(f"{hidden} more launches: ncuview.findings_frame and ncuview.units_frame have all of them."))
    return _page(*parts)


def _program(program: ProgramDiagnosis) -> Iterator[Part]:
    """The changes of a program, then the lines that take most of its kernel time."""
    yield element("p", f"{program_sentence(program)}.")
    for finding in program.findings:
        where = calls_words(finding.calls)
        headline = element("b", change_headline(finding))
        yield element("p", headline, f" ({change_bounds(finding)}), at {where}: ", finding.link)
    calls = [call_time_words(each) for each in program.calls if each.share >= LARGE_CALL]
    yield _folded("Calls of the program", *_paragraphs(calls))
    if program.processes:
        uneven = (uneven_words(program, line) for line in uneven_lines(program))
        yield _folded("Processes", *_paragraphs([*map(process_words, program.processes), *uneven]))


def launch_html(launch: LaunchDiagnosis) -> str:
    """One launch as one HTML element: the next step, its evidence and its check; then the rest."""
    return _page(element("p", *_line(launch)), *_launch(launch))


def ladder_html(ladder: Ladder) -> str:
    """A ladder as one HTML element: a table from naive to best, with predicted and measured gains."""
    launches = tuple(step.diagnosis for step in ladder.steps)
    numbers = {step.kernel: step.number for step in ladder.steps}
    cells = [step_cells(step, numbers) for step in ladder.steps]
    table = _table(HTML_COLUMNS, [[each[name] for name in HTML_COLUMNS] for each in cells])
    notes = textbook_notes(ladder)
    folded = [_folded(notes_title(ladder), *_paragraphs(notes))] if notes else []
    return _page(dim(provenance(ladder.reports, launches, ladder.remark)), table, *folded, dim(ladder_meaning(ladder)))


def _saved(launch: LaunchDiagnosis) -> float:
    best = launch.findings[0].predicted_speedup.best if launch.findings else 1.0
    return launch.whole_ns * (1 - 1 / best) if isfinite(launch.whole_ns) else 0.0


def _line(launch: LaunchDiagnosis) -> Iterator[Part]:
    where = launch_words(launch.grid, launch.block)
    yield element("b", launch.kernel)
    yield element("span", f"  {where}, {duration(launch.duration_ns)}: ", css="dim")
    yield element("span", f"{bottleneck_words(launch)}, ")
    yield element("b", step_words(launch), css="good" if launch.findings or is_finished(launch) else "was")


def _launch(launch: LaunchDiagnosis) -> list[Part]:
    launch = safe_copy(launch)
    rows = list(_next_step(launch, launch.findings[0])) if launch.findings else list(_no_step(launch))
    rows.append(("Units", [_units(launch)]))
    rest = [_row(label, words) for label, words in _rest(launch)]
    folded = [_folded("All other outcomes", element("table", *rest))] if rest else []
    return [element("table", *(_row(label, parts) for label, parts in rows)), *folded]


def _next_step(launch: LaunchDiagnosis, finding: Finding) -> Iterator[tuple[str, Sequence[Part]]]:
    change = shown_change(launch.kernel, finding)
    yield "Next", [element("b", advice_headline(finding), css="good"), f"  ({gain_bounds(launch, finding)})"]
    yield "Why", [advice_reason(launch, finding)]
    places = [part for line in finding.where for part in _place(line)]
    places += [_code(f"{each.address:#06x}  {each.share:.0%} of it  {each.sass}") for each in finding.instructions]
    places += [dim(finding.lines_wanted)] if finding.lines_wanted else []
    if places or (subject := subject_words(launch, finding)):
        yield "Where", places or [subject]
    if awaited := awaited_words(finding):
        yield "Waits for", [awaited]
    yield change.label, list(_change(change))
    yield "Check", [check_words(finding)]
    yield "Assumes", [finding.assumes]
    yield "Taught", [f"{cite.document}, {cite.section}" for cite in finding.cite[:1]]


def _no_step(launch: LaunchDiagnosis) -> Iterator[tuple[str, Sequence[Part]]]:
    style = "good" if is_finished(launch) else "was"
    yield "Verdict", [element("b", verdict_headline(launch), css=style)]
    yield "Why", [verdict_reason(launch)]


def _place(line: SourceLine) -> Iterator[Part]:
    inlined = ", inlined" if line.inlined else ""
    yield element("p", f"{shown_file(line.file)}:{line.line}  {line.share:.0%} of it{inlined}")
    for call in line.called_from:
        yield element("p", f"called at {shown_file(call.file)}:{call.line}  {call.code}", css="dim")
    if line.around:
        indent = min((len(at.text) - len(at.text.lstrip()) for at in line.around if at.text.strip()), default=0)
        code = [f"{at.line:5} {at.text[indent:]}\n" for at in line.around]
        hot = [at.line == line.line for at in line.around]
        yield element("pre", *(element("b" if is_hot else "span", c) for c, is_hot in zip(code, hot, strict=True)))
    elif line.code:
        yield _code(line.code)
    if line.remark:
        yield dim(f"({line.remark})")


def _change(change: ShownChange) -> Iterator[Part]:
    yield change.heading
    if change.lines:
        tags = {"+": "ins", "-": "del"}
        yield element("pre", *(element(tags.get(line[:1], "span"), f"{line}\n") for line in change.lines))
    if change.remark:
        yield dim(f"({change.remark})")


def _units(launch: LaunchDiagnosis) -> Part:
    busy = sorted((item for item in launch.units.items() if item[1] >= _UNITS_FROM), key=lambda item: -item[1])
    if not busy:
        return idle_words(launch)
    return element(
        "table", *(_row(unit_words(launch, unit)[0], [_bar(share), f"{share:.0%} of its peak"]) for unit, share in busy)
    )


def _bar(share: float) -> ET.Element:
    use = element("span", css="use")
    use.set("style", f"width:{min(share, 1.0):.0%}")
    return element("span", use, css="track")


def _rest(launch: LaunchDiagnosis) -> Iterator[tuple[str, Sequence[Part]]]:
    if launch.sequence:
        yield "Steps", [sequence_words(launch.sequence)]
    for finding in (*launch.findings[1:], *launch.other_cures):
        yield "Also", [also_words(finding)]
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding) and outcome.rejected:
            yield "Rejected", [rejected_line(outcome)]
        elif isinstance(outcome, Broken):
            yield "Broken", [f"{outcome.rule.code}: {outcome.message}"]
    for note in launch.textbook:
        yield "Textbook", [note]
    if skipped := skipped_words(launch):
        yield "Skipped", [skipped]
    if passed := passed_words(launch):
        yield "Passed", [passed]


def _page(*parts: Part) -> str:
    style = element("style")
    style.text = _STYLE.replace("\n", "")
    return markup(element("div", style, *parts, css="ncuview"))


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> ET.Element:
    css = ["number" if name in HTML_NUMBERS else "" for name in columns]
    head = [element("th", name, css=style) for name, style in zip(columns, css, strict=True)]
    body = [
        element("tr", *(element("td", cell, css=style) for cell, style in zip(row, css, strict=True))) for row in rows
    ]
    return table(head, body)


def _row(label: str, parts: Sequence[Part]) -> ET.Element:
    return element("tr", element("th", label), element("td", *parts))


def _folded(title: str, *parts: Part) -> ET.Element:
    return element("details", element("summary", title, css="dim"), *parts)


def _paragraphs(texts: Sequence[str]) -> list[ET.Element]:
    return [element("p", text) for text in texts]


def _code(text: str) -> ET.Element:
    return element("pre", text)
