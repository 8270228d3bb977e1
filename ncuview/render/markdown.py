"""Markdown page (``markdown``) of a ``Diagnosis``, ``Ladder`` or ``Comparison``, with a ``Gate``, of bounded length.

It is for pull-request comments and CI job summaries: failed checks, next steps, then all kernels or pairs.

The sites refuse longer pages, so that each page has a ``Budget`` of bytes. What does not fit is left out from the end
of its section, and the page gives the number of parts that are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from ncuview.base.figures import duration, factor
from ncuview.comparison.compare import Comparison, Pair, launch_words
from ncuview.engine.priority import Priorities, Priority, priorities
from ncuview.gate.formatting import quantity
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, SourceLine
from ncuview.records.gate import Check, Gate
from ncuview.records.ladder import Ladder
from ncuview.records.program import ProgramDiagnosis, ProgramFinding
from ncuview.render.change_words import change_sentence
from ncuview.render.comparison import faster_words, only_lines, prediction_words, sides, total_sentence
from ncuview.render.gate_words import gate_sentence, unpassed_checks
from ncuview.render.inert_markdown import clipped, code, fenced, html_code, prose, table_head, table_row
from ncuview.render.priorities import bound_sentence
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
from ncuview.render.shown_change import shown_change
from ncuview.render.words import (
    advice_headline,
    advice_reason,
    awaited_words,
    bottleneck_words,
    check_words,
    coverage_sentence,
    failure_sentence,
    gain_bounds,
    provenance,
    shown_file,
    step_words,
    subject_words,
)

_NAME = 160
_SENTENCE = 600
_CHANGED_LINES = 60
_NOTICE = 400
"""Bytes that are reserved for the notice of what was left out."""


@dataclass(frozen=True)
class Budget:
    """The maximal length of a page."""

    bytes: int
    steps: int
    """The number of kernels whose next step is shown in full."""


COMMENT = Budget(bytes=65_000, steps=10)
"""GitHub accepts 65,536 bytes in a comment."""
SUMMARY = Budget(bytes=900_000, steps=200)
"""GitHub drops a summary above 1 MiB completely."""


@dataclass(frozen=True)
class _Section:
    """A heading and the parts below it; parts at the end can be left out."""

    opening: str
    parts: Sequence[str]
    """The most important first."""
    what: str
    """The name of the parts in the notice of what was left out: ``failed checks``."""
    share: float
    """The share of the remaining bytes for this section."""
    missing: int = 0
    """The number of parts that were left out already."""


def markdown(answer: Diagnosis | Ladder | Comparison, gate: Gate | None, budget: Budget) -> str:
    """A page in GitHub's Markdown within its budget.

    Args:
        answer: A diagnosis; a ladder, shown as the launches of its steps; or a comparison.
        gate: The result of a budget file and a baseline.
        budget: The maximal length.
    """
    if isinstance(answer, Comparison):
        return _page(_compared_head(answer), [_gate_section(gate), _pairs_section(answer)], budget)
    if isinstance(answer, Ladder):
        answer = answer.diagnosis
    ranked = priorities(answer)
    sections = [
        _gate_section(gate),
        _program_section(answer.program),
        _steps_section(ranked, budget),
        _kernels_section(ranked),
    ]
    return _page(_head(answer, ranked, gate), sections, budget)


def _page(head: str, sections: Iterable[_Section | None], budget: Budget) -> str:
    page = head
    for section in sections:
        if section is not None:
            page += _fitted(section, budget.bytes - len(page.encode()))
    return page


def _fitted(section: _Section, left: int) -> str:
    """The section with as many of its parts as fit, and a notice of how many are missing."""
    text = f"\n{section.opening}"
    left_bytes = int(left * section.share) - len(text.encode()) - _NOTICE
    shown = 0
    for part in section.parts:
        left_bytes -= len(part.encode())
        if left_bytes < 0:
            break
        text += part
        shown += 1
    if missing := len(section.parts) - shown + section.missing:
        text += f"\n*{missing:,} more {section.what} are not shown: this page has reached its maximal length.*\n"
    return text


def _head(diagnosis: Diagnosis, ranked: Priorities, gate: Gate | None) -> str:
    parts = [f"## ncuview{f' {gate_sentence(gate)}' if gate else f': {_answer(ranked)}'}", *_missing(diagnosis)]
    if gate and gate.notes:
        parts.append(f"Note: {prose(clipped(gate.notes, _SENTENCE))}.")
    if ranked.groups:
        parts.append(prose(bound_sentence(ranked)))
    parts += _sources(diagnosis)
    return "\n\n".join(parts) + "\n"


def _answer(ranked: Priorities) -> str:
    """How many kernels have advice, and how many were not judged; no claim about kernels that were not examined."""
    if not ranked.groups:
        return "no answer"
    advised = sum(group.advice is not None for group in ranked.groups)
    blind = sum(group.example.verdict == "not-judged" for group in ranked.groups)
    faster = f"{advised:,} of {len(ranked.groups):,} kernels can be made faster"
    if not blind:
        return faster
    return f"{faster}, {blind:,} not judged" if advised else f"{blind:,} of {len(ranked.groups):,} kernels not judged"


def _missing(diagnosis: Diagnosis) -> list[str]:
    """Which launches are missing; it stands before every total."""
    missing = failure_sentence(diagnosis.failure)
    return [f"**{prose(clipped(missing, _SENTENCE))}**"] if missing else []


def _sources(diagnosis: Diagnosis, source: str = "") -> list[str]:
    """Which launches were not judged, and ``source``, else the provenance of the launches."""
    known = source or provenance(diagnosis.reports, diagnosis.launches, diagnosis.remark)
    covered = coverage_sentence(diagnosis.launches)
    return [
        *([f"**{prose(clipped(covered, _SENTENCE))}**"] if covered else []),
        *([prose(clipped(known, _SENTENCE))] if diagnosis.launches or not diagnosis.failure else []),
    ]


def _gate_section(gate: Gate | None) -> _Section | None:
    weighed = unpassed_checks(gate) if gate else []
    if not weighed:
        return None
    columns = ("result", "kernel", "check", "measured", "where")
    opening = "### Checks that did not pass\n\n" + table_head(columns, "lllrl")
    return _Section(opening, [_check_row(check) for check in weighed], "checks that did not pass", share=0.6)


def _check_row(check: Check) -> str:
    result = f"**{check.level}**" if check.result == "failed" else check.result
    measured = "" if check.measured is None or not isfinite(check.measured) else quantity(check.measured, check.unit)
    shown = f"{code(check.subject, _NAME)}: {prose(clipped(check.message, _SENTENCE))}"
    origin = prose(clipped(check.origin, _NAME))
    cells = (result, _configured(check), f"{shown} ({origin})", prose(measured), _place(check.where))
    return table_row(cells)


def _program_section(program: ProgramDiagnosis | None) -> _Section | None:
    if program is None:
        return None
    opening = f"### Calls of the program\n\n{prose(program_sentence(program))}.\n\n"
    changes = [_program_change(number, finding) for number, finding in enumerate(program.findings, start=1)]
    calls = [f"- {prose(call_time_words(each))}\n" for each in program.calls if each.share >= LARGE_CALL]
    processes = [f"- {prose(process_words(each))}\n" for each in program.processes]
    uneven = [f"- {prose(clipped(uneven_words(program, line), _SENTENCE))}\n" for line in uneven_lines(program)]
    if processes:
        processes.insert(0, "\nIn these processes:\n\n")
    if uneven:
        uneven.insert(0, "\nUneven among processes:\n\n")
    return _Section(opening, [*changes, *calls, *processes, *uneven], "calls", share=0.5)


def _program_change(number: int, finding: ProgramFinding) -> str:
    where = calls_words(finding.calls)
    said = f"**{prose(change_headline(finding))}** ({prose(change_bounds(finding))}). {prose(finding.message)}"
    return f"**{number}.** {said}, at {prose(clipped(where, _SENTENCE))}: {code(finding.link, _NAME)}\n\n"


def _steps_section(ranked: Priorities, budget: Budget) -> _Section | None:
    advised = [group for group in ranked.groups if group.advice]
    if not advised:
        return None
    shown = advised[: budget.steps]
    steps = [_step(number, group) for number, group in enumerate(shown, start=1)]
    return _Section("### Next steps\n\n", steps, "next steps", share=0.7, missing=len(advised) - len(shown))


def _step(number: int, group: Priority) -> str:
    """One kernel's next step; all but the first are folded."""
    launch, finding = group.example, group.example.findings[0]
    saved = f", saves {duration(group.saved.best)}" if group.saved.best > 0 else ""
    headline = prose(clipped(f"{advice_headline(finding)}{saved}", _SENTENCE))
    opened = "<details open>" if number == 1 else "<details>"
    lines = [f"{opened}<summary>{number}. {html_code(group.kernel, _NAME)}: {headline}</summary>", ""]
    lines += [f"{_configured(group)}: {prose(gain_bounds(launch, finding))}.", ""]
    lines += [f"- **Why:** {prose(clipped(advice_reason(launch, finding), _SENTENCE))}"]
    if finding.where:
        lines.append(f"- **Where:** {_place(finding.where)}")
    elif subject := subject_words(launch, finding):
        lines.append(f"- **Where:** {prose(subject)}")
    if awaited := awaited_words(finding):
        lines.append(f"- **Waits for:** {prose(clipped(awaited, _SENTENCE))}")
    lines.append(f"- **Check:** {prose(clipped(check_words(finding), _SENTENCE))}")
    lines.append(f"- **Assumes:** {prose(clipped(finding.assumes, _SENTENCE))}.")
    lines += [f"- **Taught in:** {prose(clipped(f'{c.document}, {c.section}', _SENTENCE))}" for c in finding.cite[:1]]
    lines += ["", *_source(finding), *_change(launch, finding), "</details>", "", ""]
    return "\n".join(lines)


def _source(finding: Finding) -> Iterator[str]:
    """The worst line with the lines around it."""
    around = finding.where[0].around if finding.where else ()
    if around:
        width = len(str(around[-1].line))
        hot = finding.where[0].line
        numbered = (f"{'>' if each.line == hot else ' '} {each.line:{width}} {each.text}" for each in around)
        yield fenced("\n".join(clipped(line, _NAME) for line in numbered))
        yield ""


def _change(launch: LaunchDiagnosis, finding: Finding) -> Iterator[str]:
    change = shown_change(launch.kernel, finding)
    yield f"- **{change.label}:** {prose(clipped(change.heading, _SENTENCE))}"
    if change.remark:
        yield f"  ({prose(clipped(change.remark, _SENTENCE))})"
    yield ""
    if change.lines:
        yield fenced("\n".join(clipped(line, _NAME) for line in change.lines[:_CHANGED_LINES]), "diff")
        yield ""


def _kernels_section(ranked: Priorities) -> _Section | None:
    if not ranked.groups:
        return None
    columns = ("kernel", "runs", "time", "share", "bottleneck", "next step", "gain", "saves")
    opening = "### All kernels\n\n" + table_head(columns, "lrrrllrr")
    return _Section(opening, [_kernel_row(group) for group in ranked.groups], "kernels", share=1.0)


def _kernel_row(group: Priority) -> str:
    advice = group.advice
    cells = (
        _configured(group),
        f"{group.launches:,}",
        duration(group.time_ns),
        f"{group.share:.0%}",
        prose(clipped(bottleneck_words(group.example), _NAME)),
        prose(clipped(advice.optimization if advice else step_words(group.example, with_time=False), _NAME)),
        factor(group.predicted_speedup.best) if advice else "",
        duration(group.saved.best) if advice else "",
    )
    return table_row(cells)


def _compared_head(comparison: Comparison) -> str:
    parts = [f"## ncuview: {prose(clipped(total_sentence(comparison), _SENTENCE).removesuffix(chr(46)))}"]
    parts += [part for line, side in sides(comparison) for part in (*_missing(side), *_sources(side, line))]
    if comparison.differences:
        parts.append(f"Compared by force: {prose(clipped('; '.join(comparison.differences), _SENTENCE))}.")
    parts += [prose(clipped(line, _SENTENCE)) for line in only_lines(comparison)]
    return "\n\n".join(parts) + "\n"


def _pairs_section(comparison: Comparison) -> _Section:
    columns = ("kernel", "before", "after", "change", "what changed", "prediction")
    title = "Changes" if comparison.two_kernels else "Kernels in both"
    opening = f"### {title}\n\n" + table_head(columns, "lrrrll")
    return _Section(opening, [_pair_row(pair) for pair in comparison.pairs], "kernels", share=1.0)


def _pair_row(pair: Pair) -> str:
    now = pair.longest[1]
    change = "none" if pair.is_noise else faster_words(pair.speedup) if isfinite(pair.speedup) else "unknown"
    prediction = prediction_words(pair)
    cells = (
        _configured(now),
        duration(pair.before_ns),
        duration(pair.after_ns),
        change,
        prose(clipped(change_sentence(pair), _SENTENCE)),
        prose(clipped(prediction, _SENTENCE)),
    )
    return table_row(cells)


def _configured(launched: Check | Priority | LaunchDiagnosis) -> str:
    """Kernel, grid and block."""
    return f"{code(launched.kernel, _NAME)} {launch_words(launched.grid, launched.block)}".rstrip()


def _place(where: Sequence[SourceLine]) -> str:
    return code(f"{shown_file(where[0].file)}:{where[0].line}", _NAME) if where else ""
