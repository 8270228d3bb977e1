"""Run the test cases that a rule file carries: each case's metric values must give the outcome that it states.

``run_cases`` also checks the values that cases state, and that the code regions of the rule's fix exist.
"""

from __future__ import annotations

import numpy as np

from ncuview.base.errors import RuleFileError
from ncuview.engine.evaluate import judge
from ncuview.engine.regions import region
from ncuview.engine.rule_file import Rule

TOLERANCE = 0.01
"""How far a value may be from what a case states, as a share; cases give three or four digits."""


def run_cases(rule: Rule) -> int:
    """Check a rule's cases and the regions that it shows; the number of cases.

    Raises:
        RuleFileError: A case gives another outcome or value than it states, or a region does not exist.
    """
    for fix in rule.text.fix:
        region(fix.before, rule.path)
        region(fix.after, rule.path)
    for case in rule.text.case:
        judgement = judge(rule, {alias: np.array([value]) for alias, value in case.metrics.items()}, [case.gpu])
        outcome = judgement.outcomes[0]
        if outcome != case.expect:
            raise RuleFileError(f"{rule.path}: case {case.name!r} gives {outcome}, not {case.expect}")
        for name, expected in case.values.items():
            if name not in judgement.values:
                raise RuleFileError(f"{rule.path}: case {case.name!r}: no value {name!r}")
            value = float(judgement.values[name][0])
            if not abs(value - expected) <= TOLERANCE * abs(expected):
                raise RuleFileError(f"{rule.path}: case {case.name!r}: {name} is {value:g}, not {expected:g}")
    return len(rule.text.case)
