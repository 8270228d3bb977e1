"""How often change points are right, on a bounded part of what benchmarks/store_changes.py measures, with seeds."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.checkout


def test_every_change_of_an_exact_counter_is_found_and_none_is_invented() -> None:
    from benchmarks.store_changes import counters

    made, found, invented = counters(300)
    assert made > 900
    assert (found, invented) == (made, 0)


@pytest.mark.parametrize("form", ["1 launch", "median of 3", "median of 5"])
def test_at_most_one_step_is_invented_in_a_thousand_series_of_measured_noise(form: str) -> None:
    from benchmarks.store_changes import REPORTED, found_by_permutations, invented, measured, noise_of

    assert invented(noise_of(form, measured(REPORTED)), found_by_permutations, 1_000) <= 1


@pytest.mark.parametrize("form", ["median of 3", "median of 5"])
def test_steps_of_three_per_cent_are_found_in_95_of_100_series(form: str) -> None:
    from benchmarks.store_changes import REPORTED, found, found_by_permutations, measured, noise_of

    assert found(noise_of(form, measured(REPORTED, long=True)), found_by_permutations, 300) >= 0.95
