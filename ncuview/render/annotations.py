"""Remarks at the changed lines of a merge request: ``workflow_commands`` for GitHub, ``code_quality`` for GitLab.

Both take a ``Diagnosis`` and a ``Gate``, whose failed checks and advice are the remarks. GitHub reads lines
``::error file=...`` and shows at most ten of a level, GitLab a JSON report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.gate_words import gate_sentence
from ncuview.render.remarks import Remark, Severity, remarks
from ncuview.render.repository import Repository
from ncuview.render.text import json_text, safe_text

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
_SHOWN = 10
"""GitHub shows this many annotations of each level from one step and silently drops the others."""
_SEVERITIES: dict[Severity, str] = {"error": "critical", "warning": "major", "note": "info"}


def workflow_commands(diagnosis: Diagnosis, gate: Gate | None, source_root: Path) -> str:
    """A line for each remark, at most ten of a level; the tenth gives the number of further ones."""
    found, repository = remarks(diagnosis, gate), Repository(source_root)
    lines = [gate_sentence(gate)] if gate else []
    for severity, command in _COMMANDS.items():
        of_level = [remark for remark in found if remark.severity == severity]
        shown = of_level if len(of_level) <= _SHOWN else of_level[: _SHOWN - 1]
        lines += (_command(command, remark, repository) for remark in shown)
        if left := len(of_level) - len(shown):
            lines.append(
                f"::{command} title=ncuview::{left:,} more of this level are not shown; other outputs have them"
            )
    return "".join(f"{line}\n" for line in lines)


def _command(command: str, remark: Remark, repository: Repository) -> str:
    place = repository.place(remark.where)
    properties = {"file": place[0], "line": str(place[1])} if place else {}
    properties["title"] = remark.title
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(remark.message)}"


def _data(text: str) -> str:
    return safe_text(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def code_quality(diagnosis: Diagnosis, gate: Gate | None, source_root: Path) -> str:
    """A JSON array with one entry for each remark.

    GitLab requires a file: where no line below ``source_root`` is known, the place is line 1 of the report.
    """
    repository = Repository(source_root)
    report = repository.report(diagnosis)
    entries = [_entry(remark, repository, report) for remark in remarks(diagnosis, gate)]
    return json_text(entries)


def _entry(remark: Remark, repository: Repository, report: str) -> dict[str, Any]:
    path, line = repository.place(remark.where) or (report, 1)
    return {
        "description": safe_text(remark.message),
        "check_name": safe_text(remark.rule),
        "fingerprint": remark.fingerprint,
        "severity": _SEVERITIES[remark.severity],
        "location": {"path": path, "lines": {"begin": line}},
    }
