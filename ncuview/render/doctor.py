"""Terminal page (``doctor_page``) and JSON (``doctor_json``) of an ``Examination``: each check's result and its fix.

The page shows failures first, then warnings, unknown results and passed checks; the JSON holds every check.
``doctor_bundle`` is the archive for a bug report: four JSON files that name no host, user or program.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ncuview.base.version import VERSION
from ncuview.doctor.facts import Private
from ncuview.doctor.verdict import STATUSES, Checked, Evidence, Examination
from ncuview.records.documents import DoctorDocument, MachineCheck, Seen
from ncuview.records.schema import plain
from ncuview.render.terminal import page_console, page_text, row
from ncuview.render.text import safe_copy

if TYPE_CHECKING:
    from rich.console import Console

_STYLES: Mapping[str, str] = {"FAIL": "red", "WARN": "yellow"}
_NAMES_PROGRAMS = {"gpu-processes", "profilers"}
"""Checks whose evidence names programs of this and other users."""


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


def doctor_bundle(
    found: Examination,
    versions: Mapping[str, Any],
    environment: Mapping[str, str],
    last_error: Mapping[str, Any] | None,
    private: Private,
) -> bytes:
    """The archive; every text in it is scrubbed of the private words."""
    checks = tuple(
        replace(each, verdict=replace(each.verdict, evidence=(Evidence("evidence", "left out: it names programs"),)))
        if each.name in _NAMES_PROGRAMS
        else each
        for each in found.checks
    )
    contents = {
        "doctor.json": json.loads(doctor_json(replace(found, checks=checks))),
        "versions.json": versions,
        "environment.json": environment,
        "last-error.json": last_error,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            # A fixed date: the clock of the machine is nothing that a bug report needs.
            archive.writestr(zipfile.ZipInfo(name), json.dumps(private.scrubbed(content), indent=2) + "\n")
    return held.getvalue()


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
