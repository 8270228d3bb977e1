"""Archive of ``ncuview doctor --bundle`` for a bug report: four JSON files that name no host, user or program."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ncuview.doctor.facts import Private
from ncuview.doctor.verdict import Evidence, Examination
from ncuview.render.doctor_page import doctor_json

_NAMES_PROGRAMS = {"gpu-processes", "profilers"}
"""Checks whose evidence names programs of this and other users."""


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
