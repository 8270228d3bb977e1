"""SARIF 2.1.0 document from a ``Diagnosis`` and a ``Gate`` (``sarif``): failed checks and advice, for code scanning.

A failed check is an error or a warning by its level, advice is a note; places are relative to ``source_root``.

A result without a line below it is at line 1 of the report: GitHub refuses a file with any result that has no physical
location. Fingerprints depend on kernel, rule and code, and survive moved lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ncuview.engine.rule_file import Rule, load_rules
from ncuview.programs.rule_file import ProgramRule, program_rules
from ncuview.records.diagnosis import Diagnosis, SourceLine
from ncuview.records.gate import Gate
from ncuview.records.profile import Failure
from ncuview.render.inert_markdown import prose
from ncuview.render.remarks import Remark, remarks
from ncuview.render.repository import Repository
from ncuview.render.text import json_text, safe_text
from ncuview.render.words import failure_sentence

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "SRCROOT"
_SHOWN = 25_000
"""GitHub refuses a run with more results."""
_FINGERPRINTS = ("kernelRuleCode/v1", "primaryLocationLineHash")
"""Our own name for the fingerprint, and the only name that GitHub reads."""


def sarif(diagnosis: Diagnosis, gate: Gate | None, rules: Sequence[Rule] | None, source_root: Path) -> str:
    """The document with one run: all rules, those about programs too, and a result for each remark.

    Args:
        diagnosis: The diagnosis to show.
        gate: The result of a budget and a baseline.
        rules: The evaluated rules; None for all shipped and installed ones.
        source_root: The folder that paths are relative to.
    """
    from ncuview.base.version import VERSION

    found, repository = remarks(diagnosis, gate)[:_SHOWN], Repository(source_root)
    report = repository.report(diagnosis)
    described = _descriptors(load_rules() if rules is None else rules, found)
    places = {descriptor["id"]: place for place, descriptor in enumerate(described)}
    run = {
        "tool": {"driver": {"name": "ncuview", "semanticVersion": VERSION, "rules": described}},
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that source files are relative to."}}},
        "invocations": [_invocation(diagnosis.failure)],
        "columnKind": "unicodeCodePoints",
        "results": [_result(remark, places[safe_text(remark.rule)], repository, report) for remark in found],
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(document)


def _invocation(failure: Failure | None) -> dict[str, Any]:
    if failure is None:
        return {"executionSuccessful": True}
    notification = {"descriptor": {"id": safe_text(failure.id)}, "level": "error"}
    return {
        "executionSuccessful": False,
        "exitCode": failure.exit_code,
        "toolExecutionNotifications": [{**notification, "message": {"text": _plain(failure_sentence(failure))}}],
    }


def _descriptors(rules: Iterable[Rule], found: Iterable[Remark]) -> list[dict[str, Any]]:
    """The loaded rules, then the conditions and other rules that remarks name."""
    described = {rule.text.code: _rule(rule) for rule in rules}
    described |= {rule.code: _program_rule(rule) for rule in program_rules()}
    for remark in found:
        identity = safe_text(remark.rule)
        if identity not in described:
            described[identity] = {"id": identity, "shortDescription": {"text": _plain(f"A condition on {identity}")}}
    return list(described.values())


def _rule(rule: Rule) -> dict[str, Any]:
    text = rule.text
    parts = [
        ("What is measured", text.docs.what),
        ("Why it matters", text.docs.why),
        ("What to do", "; ".join(fix.title for fix in text.fix)),
        ("What the prediction assumes", f"{text.docs.assumes}."),
        ("Limits", text.docs.limits),
        ("Taught in", "; ".join(f"{cite.document}, {cite.section}" for cite in text.cite)),
    ]
    return _descriptor(text.code, text.name, text.summary, text.optimization, parts)


def _program_rule(rule: ProgramRule) -> dict[str, Any]:
    parts = [
        ("What it looks for", rule.docs.what),
        ("Why it matters", rule.docs.why),
        *((f"What to do, {framework}", terms.advice) for framework, terms in rule.frameworks.items()),
        ("What the prediction assumes", f"{rule.docs.assumes}."),
        ("Where it brings nothing", " ".join(rule.docs.not_where)),
    ]
    return _descriptor(rule.code, rule.name, rule.summary, rule.change, parts)


def _descriptor(code: str, name: str, summary: str, tag: str, parts: Iterable[tuple[str, str]]) -> dict[str, Any]:
    sections = [(heading, safe_text(" ".join(body.split()))) for heading, body in parts]
    return {
        "id": code,
        "name": name,
        "shortDescription": {"text": _plain(f"{summary}.")},
        "fullDescription": {"text": _plain(sections[1][1])},
        "help": {
            "text": "\n\n".join(f"{heading}: {_plain(body)}" for heading, body in sections),
            "markdown": "\n\n".join(f"**{heading}.** {prose(body)}" for heading, body in sections),
        },
        "defaultConfiguration": {"level": "note"},
        "properties": {"tags": ["performance", tag]},
    }


def _result(remark: Remark, rule: int, repository: Repository, report: str) -> dict[str, Any]:
    located = [location for line in remark.where if (location := _location(line, remark, repository))]
    result: dict[str, Any] = {
        "ruleId": safe_text(remark.rule),
        "ruleIndex": rule,
        "level": remark.severity,
        "message": {"text": _plain(remark.message)},
        "locations": located[:1] or [_physical(report, {"startLine": 1}, remark)],
        "partialFingerprints": dict.fromkeys(_FINGERPRINTS, remark.fingerprint),
    }
    if len(located) > 1:
        result["relatedLocations"] = [{"id": number, **each} for number, each in enumerate(located[1:], start=1)]
    if remark.predicted:
        gain = remark.predicted
        result["properties"] = {
            "promisedSpeedup": {"low": gain.low, "best": gain.best, "high": gain.high},
            "savedNanoseconds": remark.saved_ns,
            "launches": remark.launches,
        }
    return result


def _location(line: SourceLine, remark: Remark, repository: Repository) -> dict[str, Any] | None:
    place = repository.place([line])
    if place is None:
        return None
    region: dict[str, Any] = {"startLine": place[1]}
    if line.code:
        region["snippet"] = {"text": safe_text(line.code.replace("\t", " "))}
    return _physical(place[0], region, remark)


def _physical(path: str, region: dict[str, Any], remark: Remark) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": quote(path), "uriBaseId": _ROOT}, "region": region},
        "logicalLocations": [_kernel(remark)],
    }


def _kernel(remark: Remark) -> dict[str, Any]:
    return {"fullyQualifiedName": safe_text(remark.kernel), "kind": "function"}


def _plain(text: str) -> str:
    """Escape a message for SARIF, where braces are placeholders and ``](`` makes a link."""
    return safe_text(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
