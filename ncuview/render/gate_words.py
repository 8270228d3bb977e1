"""Summarise a ``Gate`` for all formats: is it closed, by which checks, as a sentence, and the checks that did not pass.

``closes`` and ``is_closed`` return a bool, ``gate_sentence`` a text, ``unpassed_checks`` the sorted checks.
"""

from __future__ import annotations

from collections import Counter

from ncuview.gate.verdict import closes_at, exit_code, nothing_checked
from ncuview.records.gate import Check, CheckResult, Gate, Level

_RESULTS: dict[CheckResult, int] = {"failed": 0, "inconclusive": 1, "not judged": 2, "passed": 3}
_LEVELS: dict[Level, int] = {"error": 0, "warn": 1, "off": 2}
_STATES = {
    0: "open",
    1: "closed",
    3: "closed, because data is missing",
    4: "closed, because it is inconclusive",
}


def closes(check: Check, gate: Gate) -> bool:
    """Whether this check closes the gate: it did not pass, and its level counts."""
    return check.result != "passed" and closes_at(gate.fail_on, check.level)


def is_closed(gate: Gate) -> bool:
    """Whether any check closes the gate."""
    return exit_code(gate) != 0


def gate_sentence(gate: Gate) -> str:
    """``gate: closed, 2 of 31 checks failed, 1 of them only warns``, with the exit code of the run.

    A gate without a result is never called open.
    """
    code, total = exit_code(gate), len(gate.checks)
    state = "nothing was checked" if not code and nothing_checked(gate) else _STATES[code]
    if not total:
        return f"gate: {state}"
    results = Counter(check.result for check in gate.checks)
    mild = sum(check.result != "passed" and not closes_at(gate.fail_on, check.level) for check in gate.checks)
    words: dict[CheckResult, str] = {
        "failed": "failed",
        "not judged": "could not be judged",
        "inconclusive": "inconclusive",
    }
    parts = [f"{results[result]:,} {word}" for result, word in words.items() if results[result]]
    if not parts:
        return f"gate: open, {total:,} {'checks' if total > 1 else 'check'} passed"
    first, *rest = parts
    number, _, word = first.partition(" ")
    parts = [f"{number} of {total:,} checks {word}", *rest]
    aside = f"; {mild:,} of these only warn" if mild else ""
    return f"gate: {state}, {', '.join(parts)}{aside}" + (f" (exit code {code})" if code else "")


def unpassed_checks(gate: Gate) -> list[Check]:
    """The checks that did not pass: those that close the gate first, failures before inconclusive ones."""
    weighed = [check for check in gate.checks if check.result != "passed"]
    return sorted(weighed, key=lambda check: (not closes(check, gate), _RESULTS[check.result], _LEVELS[check.level]))
