"""Summarise a ``Gate`` for all formats: is it closed, by which checks, as a sentence, and the checks that did not pass.

``closes`` and ``is_closed`` return a bool, ``gate_sentence`` a text, ``unpassed_checks`` the sorted checks.
"""

from __future__ import annotations

from collections import Counter

from ncuview.gate.verdict import BASELINE, PROFILE, closes_at, exit_code, nothing_checked
from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.records.profile import NOWHERE

_NO_DATA, _NOT_COMPARED = 3, 4
_RESULTS: dict[CheckResult, int] = {"failed": 0, "inconclusive": 1, "not judged": 2, "passed": 3}
_LEVELS: dict[Level, int] = {"error": 0, "warn": 1, "off": 2}


def closes(check: Check, gate: Gate) -> bool:
    """Whether this check closes the gate: it did not pass, and its level counts."""
    return check.result != "passed" and closes_at(gate.fail_on, check.level)


def is_closed(gate: Gate) -> bool:
    """Whether any check closes the gate."""
    return exit_code(gate) != 0


def gate_sentence(gate: Gate) -> str:
    """``gate: closed, 2 of 31 checks failed; 1 of these only warn``, with the exit code of the run.

    ``closed`` is said of failed checks; a gate without data fails, and the sentence names what is missing.

    A gate without a result is never called open.
    """
    code, total = exit_code(gate), len(gate.checks)
    state = "nothing was checked" if not code and nothing_checked(gate) else _state(gate, code)
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


def _state(gate: Gate, code: int) -> str:
    """Open, closed, or why the gate fails without a failed check being the reason."""
    closing = [check for check in gate.checks if closes(check, gate)]
    if code == _NO_DATA:
        missing = dict.fromkeys(_missing(check) for check in closing if check.result == "not judged")
        return f"fails because data is missing ({', '.join(missing)})"
    if code == _NOT_COMPARED:
        compared = all(check.subject != BASELINE for check in closing)
        return "fails because it is inconclusive" if compared else "fails because the baseline was not compared"
    return "closed" if code else "open"


def _missing(check: Check) -> str:
    """What a check that was not judged had no data of."""
    if check.grid != NOWHERE:
        return "values of metrics"
    if check.origin not in {PROFILE, "gate"}:
        return "kernels that the budget names"
    return "launches of the profile" if check.subject == PROFILE else "a result of any check"


def unpassed_checks(gate: Gate) -> list[Check]:
    """The checks that did not pass: those that close the gate first, failures before inconclusive ones."""
    weighed = [check for check in gate.checks if check.result != "passed"]
    return sorted(weighed, key=lambda check: (not closes(check, gate), _RESULTS[check.result], _LEVELS[check.level]))
