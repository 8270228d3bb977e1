"""What a gate says, for all formats that show its checks."""

from __future__ import annotations

from ncuview.gate.verdict import counts, exit_code
from ncuview.model import Check, CheckResult, Gate, Level
from ncuview.render.gate import verdict_sentence

_RESULTS: dict[CheckResult, int] = {"failed": 0, "inconclusive": 1, "not judged": 2, "passed": 3}
_LEVELS: dict[Level, int] = {"error": 0, "warn": 1, "off": 2}


def closes(check: Check, gate: Gate) -> bool:
    """Whether this check is a reason for the gate to be closed: it did not pass, and its level counts."""
    return check.result != "passed" and counts(gate.fail_on, check.level)


def is_closed(gate: Gate) -> bool:
    """Whether any check closes the gate."""
    return exit_code(gate) != 0


def gate_sentence(gate: Gate) -> str:
    """Open or closed, and how many checks did not pass."""
    return verdict_sentence(gate)


def by_weight(gate: Gate) -> list[Check]:
    """The checks that did not pass: what closes the gate first, failures before what could not be told."""
    weighed = [check for check in gate.checks if check.result != "passed"]
    return sorted(weighed, key=lambda check: (not closes(check, gate), _RESULTS[check.result], _LEVELS[check.level]))
