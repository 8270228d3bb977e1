"""Each rule says the same of four families with the metrics that are planned for it alone."""

from __future__ import annotations

import pytest

from ncuview.engine.rule_file import Rule
from tests.engine.test_plan import PLANNED, RULES, check_planned


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.text.name)
def test_a_rule_says_the_same_with_the_metrics_that_are_planned_for_it_alone(rule: Rule) -> None:
    check_planned(rule, PLANNED)
