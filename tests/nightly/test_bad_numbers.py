"""Every metric with every number that cannot be, and many more reports with several of them."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.bad_numbers import LAUNCHES, WRONG, Spot
from tests.engine.test_missing import check_gone, families_and_losses
from tests.nightly.engine.test_bad_numbers import check_no_finding, check_unknown, check_written, several


@pytest.mark.parametrize("family", LAUNCHES)
def test_what_cannot_be_is_as_unknown_as_what_is_missing(family: str) -> None:
    check_unknown(family, len(WRONG))
    check_no_finding(family, len(WRONG))


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # to shrink takes minutes
@given(families_and_losses())
def test_no_rule_says_anything_new_when_metrics_are_gone(case: tuple[str, frozenset[str]]) -> None:
    check_gone(*case)


@settings(
    max_examples=60,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink takes minutes
    suppress_health_check=[HealthCheck.too_slow],
)
@given(several())
def test_whatever_numbers_a_report_holds_every_form_is_written_and_sound(case: tuple[str, list[Spot]]) -> None:
    check_written(*case)
