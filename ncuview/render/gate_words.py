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
    """``gate: closed, 2 of 31 checks failed, 1 warning``, with the exit code of the run.

    ``closed`` is said of failed checks; a gate without data fails, and the sentence names what is missing.

    A gate without a result is never called open.
    """
    code, total = exit_code(gate), len(gate.checks)
    state = "nothing was checked" if not code and nothing_checked(gate) else _state(gate, code)
    closing = Counter(check.result for check in gate.checks if closes(check, gate))
    words: dict[CheckResult, str] = {
        "failed": "failed",
        "not judged": "could not be judged",
        "inconclusive": "inconclusive",
    }
    parts = [f"{closing[result]:,} {word}" for result, word in words.items() if closing[result]]
    passed = sum(check.result == "passed" for check in gate.checks)
    if parts:
        number, _, word = parts[0].partition(" ")
        parts[0] = f"{number} of {total:,} checks {word}"
    elif passed:
        parts = [f"{passed:,} {'checks' if passed > 1 else 'check'} passed"]
    parts += _not_counted(gate)
    return ", ".join([f"gate: {state}", *parts]) + (f" (exit code {code})" if code else "")


def _not_counted(gate: Gate) -> list[str]:
    """The checks that did not pass and do not close the gate."""
    mild = Counter(
        check.result == "not judged" for check in gate.checks if check.result != "passed" and not closes(check, gate)
    )
    warnings, unjudged = mild[False], mild[True]
    parts = [f"{warnings:,} {'warnings' if warnings > 1 else 'warning'}"] if warnings else []
    return [*parts, f"{unjudged:,} not judged"] if unjudged else parts


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
