"""GitLab code quality report from a ``Diagnosis`` and a ``Gate`` (``code_quality``): failed checks and advice as JSON.

GitLab shows the entries at the changed lines of a merge request.
"""

from __future__ import annotations

from pathlib import Path, PureWindowsPath
from typing import Any

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.remarks import Remark, Severity, place_in, remarks, repository_path
from ncuview.render.text import json_text, safe_text

_SEVERITIES: dict[Severity, str] = {"error": "critical", "warning": "major", "note": "info"}
_NO_FILE = "ncuview"


def code_quality(diagnosis: Diagnosis, gate: Gate | None, source_root: Path) -> str:
    """A JSON array with one entry for each remark.

    GitLab requires a file: where no line below ``source_root`` is known, the place is line 1 of the report.
    """
    report = _report(diagnosis, source_root)
    entries = [_entry(remark, source_root, report) for remark in remarks(diagnosis, gate)]
    return json_text(entries)


def _entry(remark: Remark, source_root: Path, report: str) -> dict[str, Any]:
    path, line = place_in(remark, source_root) or (report, 1)
    return {
        "description": safe_text(remark.message),
        "check_name": safe_text(remark.rule),
        "fingerprint": remark.fingerprint,
        "severity": _SEVERITIES[remark.severity],
        "location": {"path": path, "lines": {"begin": line}},
    }


def _report(diagnosis: Diagnosis, source_root: Path) -> str:
    """The first report's path; its bare name where it is outside ``source_root``."""
    if not diagnosis.reports:
        return _NO_FILE
    path = diagnosis.reports[0].path
    name = PureWindowsPath(path).name  # splits at both kinds of slashes
    sound = name != ".." and safe_text(name) == name
    return repository_path(path, source_root) or (name if sound else "") or _NO_FILE
