"""JSON, the contract that other tools build on: schema ``ncuview.diagnosis/1``, described by diagnosis.schema.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from typing import Any

from ncuview.model import (
    Broken,
    Diagnosis,
    Finding,
    Ladder,
    LaunchDiagnosis,
    NotApplicable,
    Outcome,
    Passed,
    ReportInfo,
    Rung,
    Skipped,
)

DIAGNOSIS_SCHEMA = "ncuview.diagnosis/1"
LADDER_SCHEMA = "ncuview.ladder/1"

_OUTCOME_WORDS: dict[type, str] = {
    Finding: "finding",
    Passed: "passed",
    NotApplicable: "not_applicable",
    Skipped: "skipped",
    Broken: "broken",
}


def as_json(answer: Diagnosis | Ladder) -> str:
    """One JSON document, without NaN or infinity."""
    content = _ladder(answer) if isinstance(answer, Ladder) else _diagnosis(answer)
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "schema": DIAGNOSIS_SCHEMA,
        "remark": diagnosis.remark,
        "reports": [_report(report) for report in diagnosis.reports],
        "launches": [_launch(launch) for launch in diagnosis.launches],
    }


def _report(report: ReportInfo) -> dict[str, Any]:
    created = report.created.isoformat() if report.created else None
    return {"path": report.path, "ncu_version": report.ncu_version, "created": created}


def _launch(launch: LaunchDiagnosis) -> dict[str, Any]:
    return {
        "report": launch.report,
        "index": launch.index,
        "kernel": launch.kernel,
        "demangled": launch.demangled,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "duration_ns": _known(launch.duration_ns),
        "device": asdict(launch.device),
        "source": launch.origin,
        "wall": launch.wall,
        "walls": dict(launch.walls),
        "attained": _known(launch.attained),
        "verdict": launch.verdict,
        "host": asdict(launch.host) if launch.host else None,
        "textbook": list(launch.textbook),
        "metrics": {
            name: {"value": metric.value, "unit": metric.unit, "from": metric.source}
            for name, metric in sorted(launch.metrics.items())
        },
        "findings": [_finding(rank, finding) for rank, finding in enumerate(launch.findings, start=1)],
        "outcomes": [_outcome(outcome) for outcome in launch.outcomes],
    }


def _known(value: float) -> float | None:
    """None for what was not measured: JSON has no NaN."""
    return value if isfinite(value) else None


def _finding(rank: int, finding: Finding) -> dict[str, Any]:
    return {
        "rank": rank,
        "rule": finding.rule.code,
        "name": finding.rule.name,
        "optimization": finding.optimization,
        "message": finding.message,
        "predicted_speedup": asdict(finding.predicted_speedup),
        "wall_after": finding.wall_after,
        "assumes": finding.assumes,
        "check": finding.check,
        "evidence": [asdict(evidence) for evidence in finding.evidence],
        "where": [asdict(line) for line in finding.where],
        "cite": [asdict(cite) for cite in finding.cite],
        "fix": asdict(finding.fix),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "rule": outcome.rule.code,
        "name": outcome.rule.name,
        "outcome": _OUTCOME_WORDS[type(outcome)],
        "message": outcome.message,
    }
    if isinstance(outcome, Finding):
        entry["predicted_speedup"] = asdict(outcome.predicted_speedup)
        entry["rejected"] = outcome.rejected
    if isinstance(outcome, Skipped):
        entry["missing"] = list(outcome.missing)
    return entry


def _ladder(ladder: Ladder) -> dict[str, Any]:
    return {
        "schema": LADDER_SCHEMA,
        "family": ladder.family,
        "remark": ladder.remark,
        "reports": [_report(report) for report in ladder.reports],
        "rungs": [_rung(rung) for rung in ladder.rungs],
    }


def _rung(rung: Rung) -> dict[str, Any]:
    return {
        "kernel": rung.kernel,
        "rung": rung.rung,
        "useful_rate": _known(rung.useful_rate),
        "rate_unit": rung.rate_unit,
        "reported": rung.reported or None,
        "better": rung.better or None,
        "better_sizes": dict(rung.better_sizes),
        "measured_speedup": rung.measured_speedup,
        "steps": [asdict(step) for step in rung.steps],
        "launch": _launch(rung.diagnosis),
    }
