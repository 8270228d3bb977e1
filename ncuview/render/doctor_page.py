"""Terminal page (``doctor_page``) and JSON (``doctor_json``) of an ``Examination``: each check's result and its fix.

The page shows failures first, then warnings, unknown results and passed checks; the JSON holds every check.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from rich.text import Text

from ncuview.base.version import VERSION
from ncuview.doctor.verdict import STATUSES, Checked, Examination
from ncuview.records.documents import DoctorDocument, MachineCheck, Seen
from ncuview.records.schema import plain
from ncuview.render.terminal import page_console, page_text, row
from ncuview.render.text import safe_copy

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Mapping[str, str] = {"FAIL": "red", "WARN": "yellow"}


def doctor_page(examination: Examination, *, width: int, color: bool) -> str:
    """A summary; each problem with evidence and fix, failures first; then unknown results and passed checks."""
    examination = safe_copy(examination)
    console = page_console(width, color=color)
    console.print(Text(examination.summary, style="bold"))
    for status in ("FAIL", "WARN"):
        for checked in examination.with_status(status):
            console.print()
            _problem(console, checked)
    _unknown(console, examination.with_status("UNKNOWN"))
    fine = examination.with_status("OK")
    if fine:
        console.print()
        row(console, "OK", Text("; ".join(each.verdict.message for each in fine)))
    console.print()
    counts = ", ".join(f"{len(examination.with_status(each))} {each}" for each in STATUSES)
    console.print(Text(f"{counts}; --format json has what every check saw.", style="dim"))
    return page_text(console)


def doctor_json(examination: Examination) -> str:
    """The results and evidence of all checks as JSON."""
    document = DoctorDocument(
        schema="ncuview.doctor/1",
        ncuview=VERSION,
        summary=examination.summary,
        failed=examination.failed,
        counts={status: len(examination.with_status(status)) for status in STATUSES},
        checks=tuple(_entry(each) for each in examination.checks),
        live=tuple(_entry(each) for each in examination.live),
    )
    return json.dumps(plain(document), indent=2, allow_nan=False) + "\n"


def _problem(console: Console, checked: Checked) -> None:
    verdict = checked.verdict
    heading = Text(f"{checked.title}: {verdict.message}", style=_STYLES[verdict.status])
    row(console, verdict.status, heading.append(f" [{', '.join(checked.ids)}]" if checked.ids else "", style="dim"))
    for seen in verdict.evidence:
        row(console, "Seen", Text(f"{seen.where}: {seen.what}"))
    row(console, "Fix", Text(verdict.fix))


def _unknown(console: Console, checks: tuple[Checked, ...]) -> None:
    """One line for all checks with the same reason, often a problem that is shown above."""

    def reason(checked: Checked) -> str:
        return checked.verdict.message

    order = list(dict.fromkeys(map(reason, checks)))
    for message, same in groupby(sorted(checks, key=lambda each: order.index(reason(each))), reason):
        found = list(same)
        console.print()
        row(console, "UNKNOWN", Text(f"{', '.join(each.title for each in found)}: {message}"))
        for fix in dict.fromkeys(each.verdict.fix for each in found if each.verdict.fix):
            row(console, "Fix", Text(fix))


def _entry(checked: Checked) -> MachineCheck:
    verdict = checked.verdict
    return MachineCheck(
        name=checked.name,
        title=checked.title,
        status=verdict.status,
        message=verdict.message,
        evidence=tuple(Seen(seen.where, seen.what) for seen in verdict.evidence),
        fix=verdict.fix,
        ids=checked.ids,
    )
