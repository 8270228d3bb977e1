from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.profiling.ncu_failures import without_values
from ncuview.records.profile import Profile
from tests.profiles import recorded_profile

METRICS = metrics_for(load_rules())


@pytest.fixture(scope="module")
def recorded() -> Profile:
    return recorded_profile("transpose")


def test_a_recorded_profile_holds_all_that_was_asked_for(recorded: Profile) -> None:
    assert without_values(METRICS, recorded) is None


def test_a_metric_that_ncu_does_not_know_is_named(recorded: Profile) -> None:
    error = without_values([*METRICS, "sm__bogus.sum"], recorded)
    assert error is not None
    assert (error.id, error.exit_code) == ("NCU-METRIC", 3)
    assert "requested metrics: sm__bogus.sum (1 of 1 in all launches)" in str(error)
    assert error.hint


def test_a_metric_without_a_value_in_one_launch_is_named(recorded: Profile) -> None:
    metrics = recorded.metrics.copy()
    metrics.loc[3, "dram__bytes_read.sum"] = float("nan")
    error = without_values(METRICS, replace(recorded, metrics=metrics))
    assert "requested metrics: dram__bytes_read.sum (0 of 1 in all launches)" in str(error)


def test_of_many_some_are_named(recorded: Profile) -> None:
    error = without_values([f"sm__bogus{number}.sum" for number in range(9)], recorded)
    assert "sm__bogus4.sum and 4 more (9 of 9" in str(error)
