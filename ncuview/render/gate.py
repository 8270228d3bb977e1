"""Terminal page of a ``Gate`` (``gate_page``): a line per check that did not pass, closing ones first, and verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ncuview.comparison.compare import extent_words
from ncuview.gate.verdict import closes_at, nothing_checked
from ncuview.records.gate import Check, CheckResult, Gate
from ncuview.render.gate_words import gate_sentence, is_closed, unpassed_checks
from ncuview.render.terminal import page_console, page_text
from ncuview.render.text import safe_copy
from ncuview.render.words import Detail, kernel_words, shown_file

if TYPE_CHECKING:
    from rich.console import Console

_LABELS: dict[CheckResult, str] = {
    "failed": "FAIL",
    "not judged": "UNKNOWN",
    "inconclusive": "UNSURE",
    "passed": "ok",
}
_STYLES: dict[CheckResult, str] = {
    "failed": "bold red",
    "not judged": "bold yellow",
    "inconclusive": "bold yellow",
    "passed": "dim",
}
_LABEL = 8


def gate_page(gate: Gate, *, width: int = 100, color: bool = False, detail: Detail = "verbose") -> str:
    """The checks, failures first, then the verdict with its reason.

    ``normal`` leaves out passed checks. ``quiet`` has a line for each other check, without reasons, places and notes.
    """
    console = page_console(width, color=color)
    shown = safe_copy(gate)
    quiet = detail == "quiet"
    if notes := shown.remark if quiet else shown.notes:
        console.print(Text(f"{notes}."), style="yellow", soft_wrap=quiet)
        console.print("", end="" if quiet else "\n")
    listed = unpassed_checks(shown)
    listed += (check for check in shown.checks if detail == "verbose" and check.result == "passed")
    for check in listed:
        warned = not closes_at(gate.fail_on, check.level)
        if quiet:
            _short_line(console, check, warned=warned)
        else:
            _line(console, check, warned=warned)
    if listed and not quiet:
        console.print()
    opened = "bold yellow" if nothing_checked(gate) else "bold green"
    console.print(Text(gate_sentence(gate), style="bold red" if is_closed(gate) else opened), soft_wrap=quiet)
    return page_text(console)


def _line(console: Console, check: Check, *, warned: bool) -> None:
    """One check: its kernel, condition and result."""
    label, style = _label(check, warned=warned)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(width=_LABEL, no_wrap=True)
    table.add_column(overflow="fold")
    passed = check.result == "passed"
    name = _name(check)
    text = Text(f"{name}  " if name else "", style="dim" if passed else "bold")
    condition = "" if passed else f" {check.condition}"
    text.append(f"{check.subject}{condition}: {check.message}", style="dim" if passed else "not bold")
    if not passed:
        for line in check.where[:1]:
            text.append(f"\n{shown_file(line.file)}:{line.line}  {line.code}", style="cyan not bold")
        text.append(f"  ({check.origin})", style="dim not bold")
    table.add_row(Text(label, style=style), text)
    console.print(Padding(table, (0, 0, 0, 2)))


def _short_line(console: Console, check: Check, *, warned: bool) -> None:
    """One check on one line: its kernel, condition and value, without the reasons after it."""
    label, style = _label(check, warned=warned)
    text = Text(f"{label:{_LABEL}}", style=style)
    words = " ".join(f"{_name(check)}  {check.subject} {check.condition}: {check.message.partition('; ')[0]}".split())
    text.append(words, style="not bold default")
    console.print(text, soft_wrap=True)


def _label(check: Check, *, warned: bool) -> tuple[str, str]:
    """The word at the beginning of a check's line, and its style."""
    if warned and check.result != "passed":
        return "warn", "yellow"
    return _LABELS[check.result], _STYLES[check.result]


def _name(check: Check) -> str:
    """The kernel without its parameters, and grid and block where the check has a launch; empty for all kernels."""
    if check.kernel == "*":
        return ""
    name = kernel_words(check.kernel)
    if not any(check.grid):
        return name
    return f"{name} [{extent_words(check.grid)}, {extent_words(check.block)}]"
