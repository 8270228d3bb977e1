"""Terminal page of a ``Diagnosis`` (``diagnosis_page``): per launch the next step, evidence, source, change and check.

All other outcomes follow, one line each; ``launch_section`` prints one launch on the page of a ranking.

Other terminal pages use ``page_console``, ``page_text``, ``print_head``, ``row`` and ``plain_table``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from ncuview.base.figures import duration
from ncuview.comparison.compare import launch_words
from ncuview.records.diagnosis import Broken, Diagnosis, Finding, LaunchDiagnosis, NotApplicable, SourceLine
from ncuview.render.text import safe_copy, safe_text, without_ci_commands
from ncuview.render.words import (
    advice_headline,
    advice_reason,
    also_words,
    bottleneck_words,
    changed_lines,
    check_words,
    coverage_sentence,
    excerpts,
    failure_sentence,
    gain_bounds,
    host_words,
    idle_words,
    passed_words,
    place_words,
    provenance,
    rejected_line,
    shown_file,
    skipped_words,
    step_words,
    verdict_headline,
    verdict_reason,
)

_LABEL = 8
_ALSO = 3
_PAGES = 3


def diagnosis_page(diagnosis: Diagnosis, *, width: int, color: bool) -> str:
    """The provenance, a table when there are several launches, then the launches with the largest savings."""
    console = page_console(width, color=color)
    print_head(console, diagnosis)
    if len(diagnosis.launches) > 1:
        console.print()
        console.print(_overview(diagnosis))
    for launch in _largest_savings(diagnosis):
        console.print()
        launch_section(console, launch)
    hidden = len(diagnosis.launches) - _PAGES
    if hidden > 0:
        console.print()
        console.print(
            f"{hidden} more launches: --kernel-name NAME shows one kernel, --format json all of them.", style="dim"
        )
    return page_text(console)


def print_head(console: Console, diagnosis: Diagnosis, label: str = "") -> None:
    """Print the provenance of the launches, in bold what is missing, and what was not judged."""
    console.print(f"{label}{provenance(diagnosis.reports, diagnosis.launches, diagnosis.remark)}", style="dim")
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


def _largest_savings(diagnosis: Diagnosis) -> list[LaunchDiagnosis]:
    """The launches whose advice saves the most time, in the order of the reports."""

    def saved(launch: LaunchDiagnosis) -> float:
        best = launch.findings[0].predicted_speedup.best if launch.findings else 1.0
        return launch.whole_ns * (1 - 1 / best)

    chosen = sorted(diagnosis.launches, key=saved, reverse=True)[:_PAGES]
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
    rows = (
        (launch.kernel, duration(launch.duration_ns), bottleneck_words(launch), step_words(launch))
        for launch in diagnosis.launches
    )
    return plain_table(columns, rows)


def launch_section(console: Console, launch: LaunchDiagnosis) -> None:
    """Print one launch with its next step, or the reason why there is none."""
    launch = safe_copy(launch)
    where = launch_words(launch.grid, launch.block)
    heading = Text(safe_text(launch.kernel), style="bold")
    heading.append(f"  {where}  {duration(launch.duration_ns)}{_useful(launch)}", style="not bold")
    console.print(heading)
    if launch.host:
        console.print(Text(host_words(launch.host)))
    console.print()
    if launch.findings:
        _next_step(console, launch, launch.findings[0])
    else:
        _no_step(console, launch)
    console.print()
    row(console, "Units", Text(_units(launch)))
    _rest(console, launch)


def _useful(launch: LaunchDiagnosis) -> str:
    """The rate of useful work, where the kernel file defines it."""
    flops, bandwidth = launch.metrics.get("useful_flops"), launch.metrics.get("effective_bandwidth")
    if flops:
        return f"  {flops.value / 1e9:,.0f} GFLOP/s useful"
    return f"  {bandwidth.value / 1e9:,.0f} GB/s useful" if bandwidth and not launch.host else ""


def _next_step(console: Console, launch: LaunchDiagnosis, finding: Finding) -> None:
    headline = Text(advice_headline(finding), style="bold green")
    headline.append(f"  ({gain_bounds(launch, finding)})", style="not bold")
    row(console, "Next", headline)
    console.print()
    row(console, "Why", Text(advice_reason(launch, finding)))
    _where(console, finding)
    _change(console, finding)
    row(console, "Check", Text(check_words(finding)))
    row(console, "Assumes", Text(finding.assumes))
    cite = finding.cite[0]
    row(console, "Taught", Text(f"{cite.document}, {cite.section}", style="italic"))


def _change(console: Console, finding: Finding) -> None:
    """The edit of the user's source; else the change on kernels of the catalogue, and why there is no edit."""
    if finding.edit and finding.edit.diff:
        row(console, "Change", Text(f"{safe_text(finding.edit.title)}:"))
        for line in finding.edit.diff.splitlines():
            _indented(console, Text(safe_text(line), style=_DIFF_STYLES.get(line[:1], "")))
        if finding.edit.assumes:
            _indented(console, Text(f"(holds if {safe_text(finding.edit.assumes)})", style="dim"))
        return
    if not finding.fix.before:
        row(console, "Change", Text(safe_text(finding.fix.title)))
        return
    row(console, "Change", Text(f"{finding.fix.before_from}, to {finding.fix.after_from.rpartition('/')[2]}:"))
    for code in _changed_lines(finding.fix.before, finding.fix.after):
        _indented(console, code)
    if finding.edit:
        _indented(console, Text(f"(not written for your code: {safe_text(finding.edit.reason)})", style="dim"))


_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def _where(console: Console, finding: Finding) -> None:
    """The lines with the waste, and the code around them."""
    for excerpt in excerpts(finding.where):
        for line in excerpt:
            row(console, "Where", Text(place_words(line), style="cyan"))
        for call in dict.fromkeys(call for line in excerpt for call in line.called_from if call.code):
            _indented(console, Text(f"called by {shown_file(call.file)}:{call.line}  {call.code}"))
        _indented(console, _code(excerpt))
        for remark in dict.fromkeys(line.remark for line in excerpt if line.remark):
            _indented(console, Text(f"({remark})", style="dim"))
    for instruction in finding.instructions:
        place = f"instruction {instruction.address:#06x}  {instruction.share:.0%} of it"
        row(console, "Where", Text(place, style="cyan"))
        _indented(console, Text(instruction.sass))
    if finding.lines_wanted:
        _indented(console, Text(f"({finding.lines_wanted})", style="dim"))


def _code(excerpt: list[SourceLine]) -> Table:
    """The lines around the hot ones with their numbers; the hot lines are marked."""
    hot = {line.line for line in excerpt}
    texts = {each.line: each.text for line in excerpt for each in line.around}
    indent = min((len(text) - len(text.lstrip()) for text in texts.values() if text.strip()), default=0)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for number in sorted(texts):
        marked = number in hot
        code = Text(texts[number][indent:], no_wrap=not marked, overflow="fold" if marked else "ellipsis")
        table.add_row(f"> {number}" if marked else str(number), code, style="" if marked else "dim")
    return table


def _indented(console: Console, content: Text | Table) -> None:
    console.print(Padding(content, (0, 0, 0, _LABEL + 4)))


def _changed_lines(before: str, after: str) -> Iterator[Text]:
    """The lines that differ, as a short diff."""
    for line in changed_lines(before, after):
        yield Text(line, style=_DIFF_STYLES[line[0]])


def _no_step(console: Console, launch: LaunchDiagnosis) -> None:
    style = "bold green" if launch.verdict == "near-peak" else "bold yellow"
    row(console, "Verdict", Text(verdict_headline(launch), style=style))
    row(console, "Why", Text(verdict_reason(launch)))


def _units(launch: LaunchDiagnosis) -> str:
    busy = sorted(launch.units.items(), key=lambda item: -item[1])
    return "  ".join(f"{name} {share:.0%}" for name, share in busy if share >= 0.05) or idle_words(launch)


def _rest(console: Console, launch: LaunchDiagnosis) -> None:
    """Print all other outcomes, one line each."""
    for finding in launch.findings[1 : _ALSO + 1]:
        row(console, "Also", Text(also_words(finding)))
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding) and outcome.rejected:
            row(console, "Rejected", Text(rejected_line(outcome)), style="dim")
        elif isinstance(outcome, Broken):
            row(console, "Broken", Text(f"{outcome.rule.code}: {safe_text(outcome.message)}"), style="red")
    for note in launch.textbook:
        row(console, "Textbook", Text(note))
    if skipped := skipped_words(launch):
        row(console, "Skipped", Text(skipped), style="yellow")
    absent = [o.rule.name for o in launch.outcomes if isinstance(o, NotApplicable)]
    if passed := passed_words(launch):
        row(console, "Passed", Text(passed), style="dim")
    if absent:
        row(console, "No case", Text(", ".join(absent)), style="dim")
    if launch.findings:
        row(console, "More", Text(f"ncuview explain {launch.findings[0].rule.code}"), style="dim")


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
