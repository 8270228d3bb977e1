"""Read a JSON file that ``ncuview analyze --format json`` wrote, of schema version 1 or 2, into a ``Diagnosis``.

``read_document`` takes a path and returns None for any other file; ``diagnosis_of`` takes the parsed JSON object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ncuview.base.errors import ReportDamaged
from ncuview.base.report_files import read_regular_file
from ncuview.records.diagnosis import (
    Broken,
    Diagnosis,
    Finding,
    LaunchDiagnosis,
    NotApplicable,
    Outcome,
    Passed,
    Skipped,
)
from ncuview.records.profile import Configuration, Failure, ReportInfo
from ncuview.records.program import Estimate, ProgramDiagnosis

_SCHEMAS = ("ncuview.diagnosis/1", "ncuview.diagnosis/2")
_RENAMED = {"wall": "bottleneck", "walls": "units", "wall_after": "bottleneck_after"}
"""Keys of version 1 -> those of version 2."""

_AGAIN = "Write it again: ncuview analyze REPORT --format json."
_NO_FIX = {"title": "", "before": "", "before_from": "", "after": "", "after_from": ""}
_REJECTED = {
    **dict.fromkeys(("optimization", "bottleneck_after", "check", "assumes", "open_condition"), ""),
    **dict.fromkeys(("evidence", "where", "cite"), ()),
    "fix": _NO_FIX,
}
"""Values for what the document omits from a finding that is not advice."""

_LAUNCH, _REPORTS = TypeAdapter(LaunchDiagnosis), TypeAdapter(tuple[ReportInfo, ...])
_PROGRAM = TypeAdapter(ProgramDiagnosis)
_FAILURE: TypeAdapter[Failure | None] = TypeAdapter(Failure | None)
_KINDS: dict[str, TypeAdapter[Outcome]] = {
    "finding": TypeAdapter(Finding),
    "passed": TypeAdapter(Passed),
    "not_applicable": TypeAdapter(NotApplicable),
    "skipped": TypeAdapter(Skipped),
    "broken": TypeAdapter(Broken),
}


def read_document(file: Path) -> Diagnosis | None:
    """The diagnosis in a JSON file; None where the file has other content.

    What the document omits is empty: edits of the source, and of a rejected finding all but its message and its
    prediction.

    Raises:
        ReportUnreadable: The file cannot be opened.
        ReportDamaged: It is a diagnosis with a part missing or wrong.
    """
    data = read_regular_file(file)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        if any(schema.encode() in data[:200] for schema in _SCHEMAS):
            raise ReportDamaged(f"{file} is damaged: {error}", hint=_AGAIN) from error
        return None
    if not isinstance(content, dict) or content.get("schema") not in _SCHEMAS:
        return None
    try:
        return diagnosis_of(content)
    except (LookupError, TypeError, AttributeError, ValidationError) as error:
        raise ReportDamaged(f"{file} is damaged: {_words(error)}", hint=_AGAIN) from error


def diagnosis_of(content: dict[str, Any]) -> Diagnosis:
    """The diagnosis in a parsed document of the schema ``ncuview.diagnosis/1`` or ``/2``.

    Raises:
        LookupError, TypeError, AttributeError, ValidationError: A part is missing or of the wrong type.
    """
    return Diagnosis(
        launches=tuple(_launch(launch) for launch in content["launches"]),
        reports=_REPORTS.validate_python(content["reports"]),
        remark=str(content["remark"]),
        launched=_launched(content["priorities"]["groups"]),
        failure=_FAILURE.validate_python(content.get("error")),
        program=_program(content.get("program"), len(content["launches"])),
    )


def _launch(document: dict[str, Any]) -> LaunchDiagnosis:
    launch = _with_new_names(document)
    return _LAUNCH.validate_python(
        {
            **launch,
            "origin": launch["source"],
            "owner_kind": launch.get("owner_kind", "vendor" if launch.get("owner") else "yours"),
            "duration_ns": _number(launch["duration_ns"]),
            "attained": _number(launch["attained"]),
            "metrics": {name: {**metric, "source": metric["from"]} for name, metric in launch["metrics"].items()},
            "outcomes": tuple(_outcomes(launch["outcomes"], launch["findings"])),
            "sequence": _sequence(launch.get("sequence")),
            "call": launch.get("call") or None,
        }
    )


def _program(document: dict[str, Any] | None, launches: int) -> ProgramDiagnosis | None:
    if document is None:
        return None
    findings = (
        {
            **finding,
            "code": finding["rule"],
            "gain": tuple(finding["predicted_speedup"][bound] for bound in Estimate._fields),
            "saved_ns": tuple(finding["saved_ns"][bound] for bound in Estimate._fields),
        }
        for finding in document["findings"]
    )
    return _PROGRAM.validate_python({**document, "launches": launches, "findings": tuple(findings)})


def _sequence(document: dict[str, Any] | None) -> dict[str, Any] | None:
    if document is None:
        return None
    steps = ({**step, "rule": {"code": step["rule"], "name": step["name"]}} for step in document["steps"])
    return {**document, "steps": tuple(steps)}


def _outcomes(outcomes: list[dict[str, Any]], advice: list[dict[str, Any]]) -> Iterator[Outcome]:
    """The outcomes of a launch; the details of those that are advice are in ``advice``, in the same order."""
    advised = [outcome["outcome"] == "finding" and not outcome["rejected"] for outcome in outcomes]
    if sum(advised) != len(advice):
        raise LookupError("outcomes and findings do not agree")
    details = iter(advice)
    for outcome, is_advice in zip(outcomes, advised, strict=True):
        more = _with_new_names(next(details)) if is_advice else _REJECTED if outcome["outcome"] == "finding" else {}
        rule = {"code": outcome["rule"], "name": outcome["name"]}
        yield _KINDS[outcome["outcome"]].validate_python({**more, **outcome, "rule": rule})


def _with_new_names(part: dict[str, Any]) -> dict[str, Any]:
    """A launch or a finding of either version with the keys of version 2."""
    return {_RENAMED.get(key, key): value for key, value in part.items()}


def _number(value: float | None) -> float:
    return nan if value is None else value


def _launched(groups: list[dict[str, Any]]) -> dict[Configuration, int]:
    """The number of launches of each configuration of which only some launches were profiled."""
    return {
        (str(group["demangled"]), tuple(group["grid"]), tuple(group["block"])): int(group["launches"])
        for group in groups
        if group["launches"] != group["profiled"]
    }


def _words(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"{place}: {first['msg']}" if place else first["msg"]
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return str(error)
