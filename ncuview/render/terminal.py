"""Terminal page of a ``Diagnosis`` (``diagnosis_page``): per launch the next step, evidence, source, change and check.

At 100 columns a launch with advice takes at most 30 lines, a finished one 10; ``verbose`` adds what every rule found.
``quiet_page`` has a line per launch; ``launch_section`` and ``program_section`` print one launch, and the calls of a
program, on the page of a ranking.

Other terminal pages use ``page_console``, ``page_text``, ``print_head``, ``print_gaps``, ``row`` and ``plain_table``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from ncuview.base.figures import duration
from ncuview.comparison.compare import extent_words, launch_words
from ncuview.records.diagnosis import (
    Broken,
    Diagnosis,
    Finding,
    LaunchDiagnosis,
    NotApplicable,
    Passed,
    Skipped,
    SourceLine,
)
from ncuview.render.program_words import (
    LARGE_CALL,
    call_time_words,
    call_words,
    calls_words,
    change_bounds,
    change_headline,
    process_words,
    program_sentence,
    uneven_lines,
    uneven_words,
)
from ncuview.render.shown_change import shown_change
from ncuview.render.text import safe_copy, safe_text, without_ci_commands
from ncuview.render.words import (
    FEW_RULES,
    advice_headline,
    advice_reason,
    also_words,
    alternative,
    awaited_words,
    bottleneck_words,
    check_words,
    coverage_sentence,
    effects_words,
    excerpts,
    failure_sentence,
    gain_bounds,
    host_words,
    idle_words,
    is_finished,
    place_words,
    provenance,
    rejected_line,
    sequence_words,
    shown_file,
    skipped_words,
    step_words,
    subject_words,
    unit_words,
    verdict_headline,
    verdict_reason,
)

if TYPE_CHECKING:
    from ncuview.records.program import ProgramDiagnosis
    from ncuview.render.words import Detail

_LABEL = 8
_ALSO = 2
_PAGES = 3
_CALLS = 5
_PROCESSES = 8
_CODE_LINES = 5
"""Lines of source around the worst line of a page without ``verbose``, less one where it names what is waited for."""
CHANGED_LINES = 6
"""Changes with more lines are described by the recipe of their rule."""


def diagnosis_page(diagnosis: Diagnosis, *, width: int, color: bool, detail: Detail = "normal") -> str:
    """The provenance, the calls of a program, a table of several launches, then those with the largest savings."""
    console = page_console(width, color=color)
    print_head(console, diagnosis)
    if diagnosis.program:
        program_section(console, diagnosis.program)
    if len(diagnosis.launches) > 1:
        console.print()
        console.print(_overview(diagnosis))
    for launch in _largest_savings(diagnosis):
        console.print()
        launch_section(console, launch, detail)
    hidden = len(diagnosis.launches) - _PAGES
    if hidden > 0:
        console.print()
        console.print(
            f"{hidden} more launches: --kernel-name NAME shows one kernel, --format json all of them.", style="dim"
        )
    return page_text(console)


def quiet_page(diagnosis: Diagnosis, *, width: int, color: bool) -> str:
    """What is missing or was not judged, and a line per change of the program and per launch with its next step."""
    console = page_console(width, color=color)
    print_gaps(console, diagnosis)
    for change in diagnosis.program.findings if diagnosis.program else ():
        line = f"{call_words(change.calls[0])}  {change_headline(change)}"
        console.print(Text(safe_text(line)), soft_wrap=True)
    names = Counter(launch.kernel for launch in diagnosis.launches)
    for launch in map(safe_copy, diagnosis.launches):
        said = advice_headline(launch.findings[0]) if launch.findings else verdict_headline(launch)
        line = f"{_distinct_name(launch, names)}  {duration(launch.duration_ns)}  {said}"
        console.print(Text(line), soft_wrap=True)
    return page_text(console)


def print_head(console: Console, diagnosis: Diagnosis) -> None:
    """Print the provenance of the launches, and their gaps."""
    console.print(provenance(diagnosis.reports, diagnosis.launches, diagnosis.remark), style="dim")
    print_gaps(console, diagnosis)


def print_gaps(console: Console, diagnosis: Diagnosis) -> None:
    """Print in bold what is missing, and what was not judged."""
    if missing := failure_sentence(diagnosis.failure):
        console.print(Text(missing), style="bold yellow")
    if unjudged := coverage_sentence(diagnosis.launches):
        console.print(Text(safe_text(unjudged)), style="yellow")


def page_console(width: int, *, color: bool) -> Console:
    """A console that writes into memory. Markup and highlighting are off, because names from reports are data."""
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        no_color=not color,
        color_system="standard" if color else None,
        height=100,  # without it, Rich assumes 80 columns on an unknown terminal
        force_jupyter=False,  # in a notebook, Rich would display the page instead of writing it here
        markup=False,
        highlight=False,
        emoji=False,
    )


def page_text(console: Console) -> str:
    """The printed text, without trailing spaces, and without commands to a CI job."""
    assert isinstance(console.file, StringIO)  # noqa: S101  (made by page_console)
    return without_ci_commands("\n".join(line.rstrip() for line in console.file.getvalue().splitlines()) + "\n")


def program_section(console: Console, program: ProgramDiagnosis) -> None:
    """Print what the program's lines cost, and the change of the program that saves most."""
    console.print()
    console.print(Text(program_sentence(program), style="bold"))
    console.print()
    for finding in program.findings[:1]:
        headline = Text(safe_text(change_headline(finding)), style="bold green")
        headline.append(f"  ({change_bounds(finding)})", style="not bold")
        row(console, "Next", headline)
        row(console, "Why", Text(safe_text(f"{finding.message[:1].upper()}{finding.message[1:]}.")))
        row(console, "Where", Text(safe_text(calls_words(finding.calls[:_CALLS]))))
        row(console, "Docs", Text(safe_text(finding.link)))
        row(console, "More", Text(safe_text(f"ncuview explain {finding.code}")))
    for finding in program.findings[1:_PAGES]:
        row(console, "Then", Text(safe_text(f"{change_headline(finding)}, at {call_words(finding.calls[0])}")))
    if not program.findings:
        row(console, "Next", Text("no change of a call is known that saves a tenth of the kernel time"))
    for place, each in enumerate(each for each in program.calls[:_CALLS] if each.share >= LARGE_CALL):
        row(console, "" if place else "Calls", Text(safe_text(call_time_words(each))))
    for place, process in enumerate(program.processes[:_PROCESSES]):
        row(console, "" if place else "Ran in", Text(safe_text(process_words(process))))
    if (more := len(program.processes) - _PROCESSES) > 0:
        row(console, "", Text(f"and {more:,} more processes"))
    for place, line in enumerate(uneven_lines(program)[:_PAGES]):
        row(console, "" if place else "Uneven", Text(safe_text(uneven_words(program, line))))


def _largest_savings(diagnosis: Diagnosis) -> list[LaunchDiagnosis]:
    """The launches whose advice saves the most time, in the order of the reports.

    The calls of a program say what there is to change about kernels of others.
    """

    def saved(launch: LaunchDiagnosis) -> float:
        best = launch.findings[0].predicted_speedup.best if launch.findings else 1.0
        return launch.whole_ns * (1 - 1 / best)

    own = [launch for launch in diagnosis.launches if not (diagnosis.program and launch.verdict == "not-yours")]
    chosen = sorted(own, key=saved, reverse=True)[:_PAGES]
    return [launch for launch in diagnosis.launches if launch in chosen]


def _overview(diagnosis: Diagnosis) -> Table:
    columns = [
        Column(
            name,
            justify="right" if name == "time" else "left",
            overflow="fold",
            min_width=max(map(len, name.split())),  # no word of a heading is broken
        )
        for name in ("kernel", "time", "bottleneck", "next step")
    ]
    names = Counter(launch.kernel for launch in diagnosis.launches)
    rows = (
        (_distinct_name(launch, names), duration(launch.duration_ns), bottleneck_words(launch), step_words(launch))
        for launch in diagnosis.launches
    )
    return plain_table(columns, rows)


def _distinct_name(launch: LaunchDiagnosis, names: Counter[str]) -> str:
    """The kernel's name, with the grid where other launches have the same name."""
    return f"{launch.kernel} ({extent_words(launch.grid)})" if names[launch.kernel] > 1 else launch.kernel


def launch_section(console: Console, launch: LaunchDiagnosis, detail: Detail = "normal") -> None:
    """Print one launch with its next step, or the reason why there is none."""
    launch = safe_copy(launch)
    where = launch_words(launch.grid, launch.block)
    heading = Text(safe_text(launch.kernel), style="bold")
    heading.append(f"  {where}  {duration(launch.duration_ns)}{_useful(launch)}", style="not bold")
    console.print(heading)
    if launch.host:
        console.print(Text(host_words(launch.host)))
    every = detail == "verbose" or len(launch.outcomes) <= FEW_RULES
    if launch.findings:
        console.print()
        _next_step(console, launch, launch.findings[0], every=every)
    else:
        _no_step(console, launch)
    row(console, "Units", Text(_units(launch, None if every else console.width - _LABEL - 3)))
    _other_advice(console, launch, every=every)
    if every:
        _every_outcome(console, launch)
    else:
        row(console, "Rules", Text(_counts(launch)), style="dim")


def _useful(launch: LaunchDiagnosis) -> str:
    """The rate of useful work, where the kernel file defines it."""
    flops, bandwidth = launch.metrics.get("useful_flops"), launch.metrics.get("effective_bandwidth")
    if flops:
        return f"  {flops.value / 1e9:,.0f} GFLOP/s useful"
    return f"  {bandwidth.value / 1e9:,.0f} GB/s useful" if bandwidth and not launch.host else ""


def _next_step(console: Console, launch: LaunchDiagnosis, finding: Finding, *, every: bool) -> None:
    headline = Text(advice_headline(finding), style="bold green")
    headline.append(f"  ({gain_bounds(launch, finding)})", style="not bold")
    row(console, "Next", headline)
    console.print()
    row(console, "Why", Text(advice_reason(launch, finding)))
    _where(console, launch, finding, every=every)
    if awaited := awaited_words(finding):
        row(console, "Waits", Text(f"for {awaited}", no_wrap=True, overflow="ellipsis"))
    _change(console, launch.kernel, finding, every=every)
    row(console, "Check", Text(check_words(finding)))
    row(console, "Assumes", Text(finding.assumes))
    if every:
        row(console, "Holds", Text(safe_text("; ".join(finding.conditions))))
        row(console, "Effects", Text(effects_words(finding)))
    cite = finding.cite[0]
    row(console, "Taught", Text(f"{cite.document}, {cite.section}", style="italic"))
    row(console, "More", Text(f"ncuview explain {finding.rule.code}", style="dim"))


def _change(console: Console, kernel: str, finding: Finding, *, every: bool) -> None:
    """The edit of the user's source; else the change on kernels of the catalogue where it is short, else in words."""
    change = shown_change(kernel, finding, None if every else CHANGED_LINES)
    row(console, change.label, Text(safe_text(change.heading)))
    if change.is_patch:
        _edited_lines(console, change.lines, every=every)
    else:
        for code in change.lines:
            _indented(console, Text(code, style=_DIFF_STYLES[code[0]]))
    if change.remark and (change.is_patch or every):
        _indented(console, Text(f"({safe_text(change.remark)})", style="dim"))


def _edited_lines(console: Console, lines: Sequence[str], *, every: bool) -> None:
    """A diff of the user's source; without ``every`` only the lines that change, the first few."""
    shown = lines if every else [line for line in lines[2:] if line[:1] in {"+", "-"}]
    for line in shown[: None if every else CHANGED_LINES]:
        _indented(console, Text(safe_text(line), style=_DIFF_STYLES.get(line[:1], "")))
    if not every and len(shown) > CHANGED_LINES:
        _indented(console, Text(f"and {len(shown) - CHANGED_LINES} more lines: --diff prints all", style="dim"))


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _where(console: Console, launch: LaunchDiagnosis, finding: Finding, *, every: bool) -> None:
    """The lines with the waste, and the code around them; without ``every`` those of the worst place."""
    if subject := subject_words(launch, finding):
        row(console, "Where", Text(subject, style="cyan"))
    places = excerpts(finding.where)
    for excerpt in places if every else places[:1]:
        for line in excerpt if every else excerpt[:1]:
            others = "" if every or len(finding.where) == 1 else f"; {len(finding.where) - 1} more with -v"
            row(console, "Where", Text(f"{place_words(line)}{others}", style="cyan"))
        for call in dict.fromkeys(call for line in excerpt for call in line.called_from if call.code):
            _indented(console, Text(f"called by {shown_file(call.file)}:{call.line}  {call.code}"))
        _indented(console, _code(excerpt, None if every else _CODE_LINES - bool(finding.waits_for)))
        for remark in dict.fromkeys(line.remark for line in excerpt if line.remark):
            _indented(console, Text(f"({remark})", style="dim"))
    for instruction in finding.instructions if every else finding.instructions[:1]:
        place = f"instruction {instruction.address:#06x}  {instruction.share:.0%} of it"
        row(console, "Where", Text(place, style="cyan"))
        _indented(console, Text(instruction.sass))
    if finding.lines_wanted:
        _indented(console, Text(f"({finding.lines_wanted})", style="dim"))


def _code(excerpt: list[SourceLine], most: int | None) -> Table:
    """The lines around the hot ones with their numbers, or the ``most`` nearest to the worst; hot ones are marked."""
    hot = {line.line for line in excerpt}
    texts = {each.line: each.text for line in excerpt for each in line.around}
    shown = sorted(sorted(texts, key=lambda number: abs(number - excerpt[0].line))[:most])
    indent = min((len(text) - len(text.lstrip()) for number in shown if (text := texts[number]).strip()), default=0)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for number in shown:
        marked = number in hot
        code = Text(texts[number][indent:], no_wrap=not marked, overflow="fold" if marked else "ellipsis")
        table.add_row(f"> {number}" if marked else str(number), code, style="" if marked else "dim")
    return table


def _indented(console: Console, content: Text | Table) -> None:
    console.print(Padding(content, (0, 0, 0, _LABEL + 4)))


def _no_step(console: Console, launch: LaunchDiagnosis) -> None:
    style = "bold green" if is_finished(launch) else "bold yellow"
    row(console, "Verdict", Text(verdict_headline(launch), style=style))
    row(console, "Why", Text(verdict_reason(launch)))


def _units(launch: LaunchDiagnosis, most: int | None) -> str:
    """The use of the busy units, the busiest first; of ``most`` characters where it is not None."""
    busy = sorted(launch.units.items(), key=lambda item: -item[1])
    words = "  ".join(
        f"{unit_words(launch, unit)[0]} {share:.0%}" for unit, share in busy if share >= 0.05
    ) or idle_words(launch)
    return words if most is None or len(words) <= most else words[: most + 1].rpartition("  ")[0]


def _other_advice(console: Console, launch: LaunchDiagnosis, *, every: bool) -> None:
    """The sequence, other advice, rules that broke, the documents' own next steps, and what rules could not judge."""
    others = (*launch.findings[1:], *launch.other_cures)
    if launch.sequence:
        row(console, "Steps", Text(sequence_words(launch.sequence)))
    if every:
        for finding in others:
            row(console, "Also", Text(also_words(finding)))
    elif others and not launch.sequence:
        row(console, "Also", Text("; ".join(map(alternative, others[:_ALSO]))))
    for outcome in launch.outcomes:
        if isinstance(outcome, Broken):
            row(console, "Broken", Text(f"{outcome.rule.code}: {safe_text(outcome.message)}"), style="red")
        elif isinstance(outcome, Finding) and outcome.rejected and every:
            row(console, "Rejected", Text(rejected_line(outcome)), style="dim")
    for note in launch.textbook if every else ():
        row(console, "Textbook", Text(note))
    if skipped := skipped_words(launch):
        row(console, "Skipped", Text(skipped), style="yellow")


def _counts(launch: LaunchDiagnosis) -> str:
    """How many rules had which outcome, and where the rest is."""
    outcomes = launch.outcomes
    counts = {
        "passed": sum(isinstance(each, Passed) for each in outcomes),
        "rejected": sum(isinstance(each, Finding) and bool(each.rejected) for each in outcomes),
        "not applicable": sum(isinstance(each, NotApplicable) for each in outcomes),
        "skipped": sum(isinstance(each, Skipped) for each in outcomes),
        f"other step{'s' * (len(launch.textbook) != 1)} of the textbooks": len(launch.textbook),
    }
    always = ("passed", "not applicable", "skipped")
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count or word in always)
    return f"{words} (-v lists them)"


def _every_outcome(console: Console, launch: LaunchDiagnosis) -> None:
    """Passed rules with what they measured, and the rules that do not apply."""
    for outcome in launch.outcomes:
        if isinstance(outcome, Passed):
            row(console, "Passed", Text(f"{outcome.rule.name}: {safe_text(outcome.message)}"), style="dim")
    if absent := ", ".join(each.rule.name for each in launch.outcomes if isinstance(each, NotApplicable)):
        row(console, "No case", Text(absent), style="dim")


def row(console: Console, label: str, content: Text, style: str = "") -> None:
    """Print a text in a column of its own, right of its label."""
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=_LABEL, no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text(label, style="dim"), content, style=style)
    console.print(Padding(table, (0, 0, 0, 2)))


def plain_table(columns: Iterable[Column], rows: Iterable[Sequence[str]]) -> Table:
    """A table without lines, whose cells are made safe."""
    table = Table(*columns, box=None, padding=(0, 2, 0, 0))
    for cells in rows:
        table.add_row(*(Text(safe_text(cell)) for cell in cells))
    return table
