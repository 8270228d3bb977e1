"""An answer as HTML for a notebook cell: no script, nothing from outside, light and dark as the reader has it."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from math import isfinite
from typing import Any
from xml.etree import ElementTree as ET

from ncuview.model import (
    Broken,
    Diagnosis,
    Finding,
    Ladder,
    LaunchDiagnosis,
    Passed,
    Profile,
    Rung,
    SourceLine,
)
from ncuview.render.ladder import rate
from ncuview.render.text import safe_copy, safe_text
from ncuview.render.words import (
    LADDER_MEANING,
    advice_reason,
    also_words,
    changed_lines,
    check_words,
    duration,
    factor,
    promise_bounds,
    promise_headline,
    provenance,
    rejected_words,
    shown_file,
    skipped_words,
    step_words,
    textbook_notes,
    verdict_headline,
    verdict_reason,
    wall_words,
)

_LAUNCHES = 20
"""More than these are left to the DataFrames; a cell that is saved keeps all of it."""
_WALLS_FROM = 0.05
"""Units that are used less are not worth a bar."""

# Notebooks have one page for all cells, so that every rule is below our own class. Text and background are given
# together: some notebooks are dark where the system is light.
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

_Part = ET.Element | str


def answer_html(answer: Profile | Diagnosis | Ladder | LaunchDiagnosis) -> str:
    """What a notebook shows of any answer."""
    match answer:
        case Profile():
            return profile_html(answer)
        case Ladder():
            return ladder_html(answer)
        case Diagnosis():
            return diagnosis_html(answer)
        case LaunchDiagnosis():
            return launch_html(answer)


def profile_html(profile: Profile) -> str:
    """A profile as one HTML element: its longest launches, and what to do with it."""
    longest = profile.launches.nlargest(_LAUNCHES, "duration_ns").sort_index()
    rows = [
        (str(at), row["demangled"], *_extents(row), duration(row["duration_ns"]), row["device"])
        for at, row in zip(longest.index, longest.to_dict("records"), strict=True)
    ]
    table = _table(("", "kernel", "grid", "block", "time", "GPU"), rows)
    shown = "" if len(rows) == len(profile.launches) else f" The {len(rows)} longest are shown."
    return _page(_dim(f"{profile}.{shown}"), table, _dim("ncuview.diagnose(profile) says what to do next."))


def _extents(launch: dict[Hashable, Any]) -> Iterator[str]:
    for name in ("grid", "block"):
        yield _extent([launch[f"{name}_{axis}"] for axis in "xyz"])


def _extent(extent: Sequence[int]) -> str:
    return "x".join(str(n) for n in extent if n > 1) or "1"


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """A diagnosis as one HTML element: each launch as a line that opens; the one whose advice saves most is open.

    With more than 20 launches, those whose advice saves the most time are shown, in the order of the reports.
    """
    by_saving = sorted(range(len(diagnosis.launches)), key=lambda at: -_saved(diagnosis.launches[at]))
    shown = sorted(by_saving[:_LAUNCHES])
    parts: list[_Part] = [_dim(provenance(diagnosis.reports, diagnosis.launches, diagnosis.remark))]
    for at in shown:
        launch = diagnosis.launches[at]
        fold = _element("details", "", _element("summary", "", *_line(launch)), *_launch(launch))
        if at == by_saving[0]:
            fold.set("open", "open")
        parts.append(fold)
    hidden = len(diagnosis.launches) - len(shown)
    if hidden:
        parts.append(_dim(f"{hidden} more launches: ncuview.findings_frame and ncuview.walls_frame have all of them."))
    return _page(*parts)


def launch_html(launch: LaunchDiagnosis) -> str:
    """One launch as one HTML element: the next step, its evidence and how to check it; then the rest."""
    return _page(_element("p", "", *_line(launch)), *_launch(launch))


def ladder_html(ladder: Ladder) -> str:
    """A ladder as one HTML element: a table from naive to best, with what was promised beside what was got."""
    launches = tuple(rung.diagnosis for rung in ladder.rungs)
    columns = ("#", "kernel", "time", "rate", "wall", "first advice", "promised", "low to high", "got", "by")
    numbers = {rung.kernel: rung.rung for rung in ladder.rungs}
    table = _table(columns, [_rung_cells(rung, numbers) for rung in ladder.rungs])
    notes = textbook_notes(ladder)
    folded = [_folded("What the documents do next, and why it is not first here", *_paragraphs(notes))] if notes else []
    return _page(_dim(provenance(ladder.reports, launches, ladder.remark)), table, *folded, _dim(LADDER_MEANING))


def _rung_cells(rung: Rung, numbers: dict[str, int]) -> tuple[str, ...]:
    launch = rung.diagnosis
    advice = launch.findings[0] if launch.findings else None
    gain = advice.predicted_speedup if advice else None
    return (
        str(rung.rung),
        rung.kernel,
        duration(launch.whole_ns),
        rate(rung),
        wall_words(launch),
        advice.optimization if advice else launch.verdict,
        factor(gain.best) if gain else "",
        f"{factor(gain.low)} to {factor(gain.high)}" if gain else "",
        factor(rung.measured_speedup) if rung.measured_speedup else "",
        f"#{numbers[rung.better]}" if rung.better else "",
    )


def _saved(launch: LaunchDiagnosis) -> float:
    best = launch.findings[0].predicted_speedup.best if launch.findings else 1.0
    return launch.whole_ns * (1 - 1 / best) if isfinite(launch.whole_ns) else 0.0


def _line(launch: LaunchDiagnosis) -> Iterator[_Part]:
    grid, block = _extent(launch.grid), _extent(launch.block)
    yield _element("b", "", launch.kernel)
    yield _element("span", "dim", f"  grid {grid}, block {block}, {duration(launch.duration_ns)}: ")
    yield _element("span", "", f"{wall_words(launch)}, ")
    yield _element("b", "good" if launch.verdict != "unclear" else "was", step_words(launch))


def _launch(launch: LaunchDiagnosis) -> list[_Part]:
    launch = safe_copy(launch)
    rows = list(_next_step(launch, launch.findings[0])) if launch.findings else list(_no_step(launch))
    rows.append(("Walls", [_walls(launch)]))
    rest = [_row(label, words) for label, words in _rest(launch)]
    folded = [_folded("Everything else that was judged", _element("table", "", *rest))] if rest else []
    return [_element("table", "", *(_row(label, parts) for label, parts in rows)), *folded]


def _next_step(launch: LaunchDiagnosis, finding: Finding) -> Iterator[tuple[str, Sequence[_Part]]]:
    fix = finding.fix
    yield "Next", [_element("b", "good", promise_headline(finding)), f"  ({promise_bounds(launch, finding)})"]
    yield "Why", [advice_reason(launch, finding)]
    places = [part for line in finding.where for part in _place(line)]
    places += [_code(f"{each.address:#06x}  {each.share:.0%} of it  {each.sass}") for each in finding.instructions]
    places += [_dim(finding.lines_wanted)] if finding.lines_wanted else []
    if places:
        yield "Where", places
    heading = f"{fix.before_from}, to {fix.after_from.rpartition('/')[2]}:"
    yield "Change", [heading, _element("pre", "", *_changed_lines(fix.before, fix.after))]
    yield "Check", [check_words(finding)]
    yield "Assumes", [finding.assumes]
    yield "Taught", [f"{cite.document}, {cite.section}" for cite in finding.cite[:1]]


def _no_step(launch: LaunchDiagnosis) -> Iterator[tuple[str, Sequence[_Part]]]:
    style = "good" if launch.verdict == "near-peak" else "was"
    yield "Verdict", [_element("b", style, verdict_headline(launch))]
    yield "Why", [verdict_reason(launch)]


def _place(line: SourceLine) -> Iterator[_Part]:
    inlined = ", inlined" if line.inlined else ""
    yield _element("p", "", f"{shown_file(line.file)}:{line.line}  {line.share:.0%} of it{inlined}")
    for call in line.called_from:
        yield _element("p", "dim", f"called at {shown_file(call.file)}:{call.line}  {call.code}")
    if line.around:
        indent = min((len(at.text) - len(at.text.lstrip()) for at in line.around if at.text.strip()), default=0)
        code = [f"{at.line:5} {at.text[indent:]}\n" for at in line.around]
        hot = [at.line == line.line for at in line.around]
        yield _element(
            "pre", "", *(_element("b" if is_hot else "span", "", c) for c, is_hot in zip(code, hot, strict=True))
        )
    elif line.code:
        yield _code(line.code)
    if line.remark:
        yield _dim(f"({line.remark})")


def _changed_lines(before: str, after: str) -> Iterator[ET.Element]:
    for line in changed_lines(before, after):
        yield _element("del" if line[0] == "-" else "ins", "", f"{line}\n")


def _walls(launch: LaunchDiagnosis) -> _Part:
    busy = sorted((item for item in launch.walls.items() if item[1] >= _WALLS_FROM), key=lambda item: -item[1])
    if not busy:
        return "no unit above 5 %"
    return _element("table", "", *(_row(unit, [_bar(share), f"{share:.0%} of its peak"]) for unit, share in busy))


def _bar(share: float) -> ET.Element:
    use = _element("span", "use")
    use.set("style", f"width:{min(share, 1.0):.0%}")
    return _element("span", "track", use)


def _rest(launch: LaunchDiagnosis) -> Iterator[tuple[str, Sequence[_Part]]]:
    for finding in launch.findings[1:]:
        yield "Also", [also_words(finding)]
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding) and outcome.rejected:
            yield "Not", [rejected_words(outcome)]
        elif isinstance(outcome, Broken):
            yield "Broken", [f"{outcome.rule.code}: {outcome.message}"]
    for note in launch.textbook:
        yield "Textbook", [note]
    if skipped := skipped_words(launch):
        yield "Skipped", [skipped]
    if passed := ", ".join(outcome.rule.name for outcome in launch.outcomes if isinstance(outcome, Passed)):
        yield "Passed", [passed]


def _page(*parts: _Part) -> str:
    style = _element("style", "")
    style.text = _STYLE.replace("\n", "")
    return ET.tostring(_element("div", "ncuview", style, *parts), encoding="unicode", method="html")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> ET.Element:
    right = {"#", "time", "rate", "promised", "low to high", "got", "by"}
    css = ["number" if name in right else "" for name in columns]
    head = _element("tr", "", *(_element("th", style, name) for name, style in zip(columns, css, strict=True)))
    body = [
        _element("tr", "", *(_element("td", style, cell) for cell, style in zip(row, css, strict=True))) for row in rows
    ]
    return _element("table", "", _element("thead", "", head), _element("tbody", "", *body))


def _row(label: str, parts: Sequence[_Part]) -> ET.Element:
    return _element("tr", "", _element("th", "", label), _element("td", "", *parts))


def _folded(title: str, *parts: _Part) -> ET.Element:
    return _element("details", "", _element("summary", "dim", title), *parts)


def _paragraphs(texts: Sequence[str]) -> list[ET.Element]:
    return [_element("p", "", text) for text in texts]


def _dim(text: str) -> ET.Element:
    return _element("p", "dim", text)


def _code(text: str) -> ET.Element:
    return _element("pre", "", text)


def _element(tag: str, css: str, *parts: _Part) -> ET.Element:
    """An element and what it holds; text is made safe here and escaped when the tree is written."""
    made = ET.Element(tag, {"class": css} if css else {})
    for part in parts:
        if isinstance(part, ET.Element):
            made.append(part)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + _safe(part)
        else:
            made.text = (made.text or "") + _safe(part)
    return made


def _safe(text: str) -> str:
    return "\n".join(safe_text(line) for line in text.split("\n"))
