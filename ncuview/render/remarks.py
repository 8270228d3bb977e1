"""Build ``Remark`` objects from a ``Diagnosis`` and a ``Gate``: failed checks, advice, and what was not judged.

``remarks`` returns one per rule and kernel, with severity, message and source lines, for SARIF, GitHub and GitLab.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Literal

from ncuview.base.errors import BudgetError
from ncuview.base.figures import duration
from ncuview.gate.verdict import PROFILE
from ncuview.records.diagnosis import Diagnosis, Finding, Gain, LaunchDiagnosis, SourceLine
from ncuview.records.gate import Check, Gate
from ncuview.records.profile import Failure
from ncuview.records.program import ProgramFinding
from ncuview.render.gate_words import closes, unpassed_checks
from ncuview.render.program_words import call_words, change_bounds, change_headline
from ncuview.render.words import advice_headline, coverage_sentence, failure_sentence

Severity = Literal["error", "warning", "note"]

_ORDER: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
_CODE = re.compile(r"[A-Z]{2,6}[0-9]{3}(?![A-Za-z0-9])")
_CONDITION = "budget/"
_PLACE = re.compile(r"(?P<file>[^\n]+?):(?P<line>[0-9]{1,9}), ")
"""The place at the start of an error of a budget file."""


@dataclass(frozen=True)
class Remark:
    """A failed check, an advice, or a missing part, about one kernel, or a change of the program."""

    severity: Severity
    """``error`` and ``warning`` are checks: an error closes the gate at the default level. ``note`` is advice, or names
    what was not judged or compared. Missing launches are an error."""
    rule: str
    """The rule's code, or ``budget/`` and the subject of the condition."""
    title: str
    message: str
    kernel: str
    """The demangled name; ``*`` where it is about no single kernel."""
    where: tuple[SourceLine, ...]
    """The worst line first; empty where no line is known."""
    predicted: Gain | None
    """The predicted gain of the advice; None for a check."""
    saved_ns: float
    """The time that the advice saves over all launches; 0 for a check, or where durations are unknown."""
    launches: int
    """The number of launches with this advice; 0 for a check."""
    fingerprint: str
    """Constant while kernel, rule and code are the same, wherever the line moves; unique among the remarks."""


def remarks(diagnosis: Diagnosis, gate: Gate | None) -> list[Remark]:
    """What is missing, checks that did not pass, then advice: one for each rule and kernel, the largest saving first.

    The gate's check of a complete profile is left out: what is missing says the same.
    """
    found = list(_of_failure(diagnosis.failure)) if diagnosis.failure else []
    if gate:
        found += (_of_check(check, gate) for check in unpassed_checks(gate) if check.subject != PROFILE)
    if gate and gate.remark:
        found.append(_of_comparison(gate.remark))
    if covered := coverage_sentence(diagnosis.launches):
        found.append(_of_coverage(covered))
    blamed = {(remark.rule, remark.kernel) for remark in found}
    found += (remark for remark in _advice(diagnosis) if (remark.rule, remark.kernel) not in blamed)
    found += map(_of_change, diagnosis.program.findings if diagnosis.program else ())
    found.sort(key=lambda remark: (_ORDER[remark.severity], remark.launches > 0, -remark.saved_ns))  # advice last
    return list(_with_unique_fingerprints(found))


def rule_id(subject: str) -> str:
    """The rule's code where a condition is about a rule; else ``budget/`` and its subject."""
    code = _CODE.match(subject)
    return code.group() if code else f"{_CONDITION}{subject}"


def _of_check(check: Check, gate: Gate) -> Remark:
    rule = rule_id(check.subject)
    named = "" if check.kernel == "*" else f"{check.kernel}: "
    severe = check.level == "error" and (check.result == "failed" or closes(check, gate))
    parts = (rule, check.kernel, str((check.grid, check.block)), _code(check.where))
    return Remark(
        severity="error" if severe else "warning",
        rule=rule,
        title=f"{check.subject}: {check.result}",
        message=f"{named}{check.message.rstrip('.')} ({check.condition}; {check.origin}).",
        kernel=check.kernel,
        where=(*check.where, *check.limit_line),
        predicted=None,
        saved_ns=0.0,
        launches=0,
        fingerprint=_fingerprint(parts),
    )


def _of_failure(failure: Failure) -> Iterator[Remark]:
    """One remark; for each error of a budget file one, at its line."""
    _, *errors = failure.message.split("\n  ")
    for error in errors if errors and failure.id == BudgetError.__name__ else [failure.message]:
        place = _PLACE.match(error) if failure.id == BudgetError.__name__ else None
        where = (SourceLine(str(Path(place["file"]).absolute()), int(place["line"]), 1.0, ""),) if place else ()
        yield Remark(
            severity="error",
            rule=failure.id,
            title=f"ncuview: {failure.id}",
            message=failure_sentence(replace(failure, message=error)),
            kernel="*",
            where=where,
            predicted=None,
            saved_ns=0.0,
            launches=0,
            fingerprint=_fingerprint((failure.id, error)),
        )


def _of_comparison(said: str) -> Remark:
    """What the gate did not compare, or compared by force, so that an open gate does not hide it."""
    return Remark(
        severity="note",
        rule="baseline",
        title="ncuview: comparison with the baseline",
        message=f"{said.rstrip('.')}.",
        kernel="*",
        where=(),
        predicted=None,
        saved_ns=0.0,
        launches=0,
        fingerprint=_fingerprint(("baseline", said)),
    )


def _of_coverage(covered: str) -> Remark:
    """What was not judged, so that missing remarks do not look like a good result."""
    return Remark(
        severity="note",
        rule="not-judged",
        title="ncuview: not everything was judged",
        message=covered,
        kernel="*",
        where=(),
        predicted=None,
        saved_ns=0.0,
        launches=0,
        fingerprint=_fingerprint(("not-judged",)),
    )


def _advice(diagnosis: Diagnosis) -> Iterator[Remark]:
    groups: defaultdict[tuple[str, str], list[tuple[LaunchDiagnosis, Finding]]] = defaultdict(list)
    for launch in diagnosis.launches:
        for finding in launch.findings:
            groups[finding.rule.code, launch.demangled].append((launch, finding))
    for (rule, kernel), members in groups.items():
        launch, finding = max(members, key=lambda member: _saved(*member))
        gain = finding.predicted_speedup
        saved = sum(_saved(*member) for member in members)
        yield Remark(
            severity="note",
            rule=rule,
            title=f"{rule} {advice_headline(finding)}",
            message=(
                f"{launch.kernel}: {advice_headline(finding)}"
                f" ({gain.bounds}){_time_words(saved, len(members))}."
                f" {finding.message}. Profile again: {finding.check}."
            ),
            kernel=kernel,
            where=finding.where,
            predicted=gain,
            saved_ns=saved,
            launches=len(members),
            fingerprint=_fingerprint((rule, kernel, _code(finding.where))),
        )


def _of_change(finding: ProgramFinding) -> Remark:
    """A change of the program, at the lines of its calls."""
    lines = tuple(SourceLine(call.file, call.line, 1.0, "") for call in finding.calls if call.file and call.line)
    calls = "; ".join(map(call_words, finding.calls))
    said = f"{change_headline(finding)} ({change_bounds(finding)})"
    return Remark(
        severity="note",
        rule=finding.code,
        title=f"{finding.code} {change_headline(finding)}",
        message=f"{calls}: {said}. {finding.message[:1].upper()}{finding.message[1:]}. See {finding.link}",
        kernel="*",
        where=lines,
        predicted=Gain(*finding.gain),
        saved_ns=finding.saved_ns.best,
        launches=len(finding.launches),
        fingerprint=_fingerprint((finding.code, *(f"{call.file} {call.function}" for call in finding.calls[:1]))),
    )


def _saved(launch: LaunchDiagnosis, finding: Finding) -> float:
    """The time in ns that a finding saves in one launch; 0 where its duration is unknown."""
    return launch.whole_ns * (1 - 1 / finding.predicted_speedup.best) if isfinite(launch.whole_ns) else 0.0


def _time_words(saved: float, launches: int) -> str:
    if saved <= 0:
        return ""
    return f", saves {duration(saved)}" + (f" in {launches:,} launches" if launches > 1 else "")


def _code(where: tuple[SourceLine, ...]) -> str:
    """The worst line's text, independent of its indentation."""
    return " ".join(where[0].code.split()) if where else ""


def _fingerprint(parts: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _with_unique_fingerprints(found: list[Remark]) -> Iterator[Remark]:
    """The remarks, with a number after each fingerprint, counted per fingerprint."""
    seen: Counter[str] = Counter()
    for remark in found:
        seen[remark.fingerprint] += 1
        number = seen[remark.fingerprint]
        yield replace(remark, fingerprint=f"{remark.fingerprint}:{number}")
