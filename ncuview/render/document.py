"""JSON document of a diagnosis, ladder or comparison, with a gate's checks where there is one (``as_json``).

A diagnosis has the schema ``ncuview.diagnosis/1``, described by diagnosis.schema.json; a comparison of two
``ncuview.comparison/1``, described by comparison.schema.json; a ladder ``ncuview.ladder/1``. Other tools build on them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import isfinite
from typing import Any

from ncuview.comparison.compare import Comparison, Pair
from ncuview.engine.priority import Priorities, Priority, priorities
from ncuview.gate.verdict import nothing_checked
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
from ncuview.records.failure import Failure
from ncuview.records.gate import Check, Gate
from ncuview.records.ladder import Ladder, Rung
from ncuview.records.profile import ReportInfo
from ncuview.render.gate_words import closes, is_closed
from ncuview.render.sentence import moved_sentence
from ncuview.render.text import json_text
from ncuview.render.words import coverage_sentence

DIAGNOSIS_SCHEMA = "ncuview.diagnosis/1"
LADDER_SCHEMA = "ncuview.ladder/1"
COMPARISON_SCHEMA = "ncuview.comparison/1"

_OUTCOME_WORDS: dict[type, str] = {
    Finding: "finding",
    Passed: "passed",
    NotApplicable: "not_applicable",
    Skipped: "skipped",
    Broken: "broken",
}


def as_json(answer: Diagnosis | Ladder | Comparison, gate: Gate | None = None) -> str:
    """One JSON document, without NaN or infinity.

    Args:
        answer: What to write.
        gate: What a budget and a baseline say of it; only then the document has a part ``gate``.
    """
    return "".join(json_parts(answer, gate))


def json_parts(answer: Diagnosis | Ladder | Comparison, gate: Gate | None = None) -> Iterator[str]:
    """The same in parts, of which each launch of a diagnosis is one: with 10,000 of them, all is 440 MB."""
    if isinstance(answer, Ladder):
        content = _ladder(answer)
    elif isinstance(answer, Comparison):
        content = _comparison(answer)
    else:
        content = _diagnosis(answer)
    if gate:
        content["gate"] = _gate(gate)
    before = "{"
    for name, value in content.items():
        yield f"{before}\n  {_indented(name, 1)}: "
        if isinstance(value, Iterator):
            yield from _listed(value)
        else:
            yield _indented(value, 1)
        before = ","
    yield "\n}\n"


def _listed(entries: Iterator[Any]) -> Iterator[str]:
    before = "["
    for entry in entries:
        yield f"{before}\n    {_indented(entry, 2)}"
        before = ","
    yield "[]" if before == "[" else "\n  ]"


def _indented(value: Any, depth: int) -> str:
    """A value as it stands so deep in a document; texts have no line breaks of their own, which JSON escapes."""
    return json_text(value).rstrip("\n").replace("\n", "\n" + "  " * depth)


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "schema": DIAGNOSIS_SCHEMA,
        "remark": diagnosis.remark,
        "error": _failure(diagnosis.failure),
        "reports": [_report(report) for report in diagnosis.reports],
        "judged": _judged(diagnosis),
        "priorities": _priorities(priorities(diagnosis)),
        "launches": map(_launch, diagnosis.launches),
    }


def _judged(diagnosis: Diagnosis) -> dict[str, Any]:
    """How many launches the rules could look at, before anything is said of them."""
    return {
        "launches": len(diagnosis.launches),
        "not_judged": sum(launch.unexamined for launch in diagnosis.launches),
        "not_yours": sum(launch.verdict == "not-yours" for launch in diagnosis.launches),
        "why": coverage_sentence(diagnosis.launches),
    }


def _failure(failure: Failure | None) -> dict[str, Any] | None:
    return asdict(failure) if failure else None


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "closed": is_closed(gate),
        "nothing_checked": nothing_checked(gate),
        "fail_on": gate.fail_on,
        "remark": gate.remark,
        "checks": [_check(check, gate) for check in gate.checks],
    }


def _check(check: Check, gate: Gate) -> dict[str, Any]:
    return {
        "kernel": check.kernel,
        "grid": list(check.grid),
        "block": list(check.block),
        "subject": check.subject,
        "condition": check.condition,
        "result": check.result,
        "level": check.level,
        "closes": closes(check, gate),
        "measured": None if check.measured is None else _known(check.measured),
        "limit": None if check.limit is None else _known(check.limit),
        "unit": check.unit,
        "message": check.message,
        "origin": check.origin,
        "where": [asdict(line) for line in check.where],
    }


def _priorities(ranked: Priorities) -> dict[str, Any]:
    return {
        "total_ns": ranked.total_ns,
        "left_ns": ranked.left_ns,
        "saved_ns": asdict(ranked.saved),
        "speedup": asdict(ranked.speedup),
        "untimed": ranked.untimed,
        "unprofiled": ranked.unprofiled,
        "groups": [_priority(rank, group) for rank, group in enumerate(ranked.groups, start=1)],
    }


def _priority(rank: int, group: Priority) -> dict[str, Any]:
    return {
        "rank": rank,
        "kernel": group.kernel,
        "demangled": group.demangled,
        "grid": list(group.grid),
        "block": list(group.block),
        "device": asdict(group.device),
        "launches": group.launches,
        "profiled": group.profiled,
        "time_ns": group.time_ns,
        "share": group.share,
        "shortest_ns": _known(group.shortest_ns),
        "longest_ns": _known(group.longest_ns),
        "optimization": group.advice.optimization if group.advice else None,
        "rule": group.advice.rule.code if group.advice else None,
        "agreed": group.agreed,
        "predicted_speedup": asdict(group.promise),
        "saved_ns": asdict(group.saved),
        "example": {"report": group.example.report, "index": group.example.index},
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "schema": COMPARISON_SCHEMA,
        "error": _failure(comparison.failure),
        "before": [_report(report) for report in comparison.before.reports],
        "after": [_report(report) for report in comparison.after.reports],
        "differences": list(comparison.differences),
        "unknown": list(comparison.unknown),
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "only_before": [_side(launch) for launch in comparison.only_before],
        "only_after": [_side(launch) for launch in comparison.only_after],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "sentence": moved_sentence(pair),
        "changed": list(pair.changed),
        "before_ns": _known(pair.before_ns),
        "after_ns": _known(pair.after_ns),
        "speedup": _known(pair.speedup),
        "spread": pair.spread,
        "unchanged": pair.is_noise,
        "moved": [asdict(shift) for shift in pair.shifts],
        "rules": [{**asdict(shift), "rule": shift.rule.code, "name": shift.rule.name} for shift in pair.rules],
        "promise": (
            {**asdict(pair.promise), "rule": pair.promise.rule.code, "name": pair.promise.rule.name}
            if pair.promise
            else None
        ),
        "launches": [
            {"before": _side(was), "after": _side(now)} for was, now in zip(pair.before, pair.after, strict=True)
        ],
    }


def _side(launch: LaunchDiagnosis) -> dict[str, Any]:
    """Which launch it is, and what was said of it in short; the diagnosis of its report has the rest."""
    return {
        "report": launch.report,
        "index": launch.index,
        "kernel": launch.kernel,
        "demangled": launch.demangled,
        "grid": list(launch.grid),
        "block": list(launch.block),
        "device": asdict(launch.device),
        "time_ns": _known(launch.whole_ns),
        "wall": launch.bottleneck,
        "verdict": launch.verdict,
        "first_advice": launch.findings[0].optimization if launch.findings else None,
    }


def _report(report: ReportInfo) -> dict[str, Any]:
    created = report.created.isoformat() if report.created else None
    return {"path": report.path, "ncu_version": report.ncu_version, "created": created, "damage": report.damage}


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
        "wall": launch.bottleneck,
        "walls": {unit: share for unit, share in launch.units.items() if isfinite(share)},
        "attained": _known(launch.attained),
        "verdict": launch.verdict,
        "owner": launch.owner,
        "host": asdict(launch.host) if launch.host else None,
        "textbook": list(launch.textbook),
        "metrics": {
            name: {"value": metric.value, "unit": metric.unit, "from": metric.source}
            for name, metric in sorted(launch.metrics.items())
            if isfinite(metric.value)
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
        "wall_after": finding.bottleneck_after,
        "assumes": finding.assumes,
        "check": finding.check,
        "evidence": [asdict(evidence) for evidence in finding.evidence],
        "where": [asdict(line) for line in finding.where],
        "instructions": [asdict(instruction) for instruction in finding.instructions],
        "lines_wanted": finding.lines_wanted,
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
