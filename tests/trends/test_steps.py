"""Steps in a series of times: real ones are found where they happen, noise and odd runs are not."""

from __future__ import annotations

import random
from math import isfinite, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.trends.steps import changes, noise_of_median

US = 1000.0


def steps_of(times: list[float], noises_ns: list[float] | None = None) -> list[tuple[int, bool]]:
    """Where steps are, and whether they are confirmed."""
    found = changes(times, noises_ns or [0.0] * len(times))
    return [(change.after.points[0], change.is_confirmed) for change in found]


def noisy(seed: int, levels: list[float], spread: float = 0.01) -> list[float]:
    """Times that differ from these by a normal error of this share."""
    chance = random.Random(seed)
    return [level * (1 + chance.gauss(0, spread)) for level in levels]


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([], []),
        ([100], []),
        ([100, 100], []),
        ([100, 104], []),
        ([100, 110], [(1, False)]),
        ([100, 110, 110], [(1, True)]),
        ([100, 90, 90], [(1, True)]),
        ([100, 150, 100, 100], []),
        ([100, 100, 150, 160, 100, 101], [(2, True), (4, True)]),
        ([100, 50, 150, 100, 100], []),
        ([100, nan, 100, nan, 150, 150], [(4, True)]),
        ([nan, nan], []),
        ([100, 120, 144, 173], [(1, True), (2, True), (3, False)]),
    ],
)
def test_a_step_is_found_where_it_is(times: list[float], found: list[tuple[int, bool]]) -> None:
    assert steps_of([US * time for time in times]) == found


def test_levels_are_medians_over_all_their_points() -> None:
    (change,) = changes([US * time for time in (100, 101, 99, 200, 202, 201)], [0.0] * 6)
    assert (change.before.median, change.after.median) == (100 * US, 201 * US)
    assert (change.before.points, change.after.points) == ((0, 1, 2), (3, 4, 5))


def test_a_slow_drift_is_found_in_the_end() -> None:
    drift = [100 * US * 1.02**at for at in range(20)]
    assert steps_of(drift)


def test_short_kernels_may_differ_by_more() -> None:
    assert steps_of([3000.0, 3900.0]) == []
    assert steps_of([30_000.0, 39_000.0]) == [(1, False)]


def test_repeats_that_spread_widely_hide_a_small_step() -> None:
    assert steps_of([100 * US, 110 * US], [10 * US, 10 * US]) == []
    assert steps_of([100 * US, 150 * US], [10 * US, 10 * US]) == [(1, False)]


@pytest.mark.parametrize(("spread", "most"), [(0.01, 0), (0.02, 10)])
def test_noise_alone_is_hardly_ever_a_confirmed_step(spread: float, most: int) -> None:
    alarms = sum(
        any(confirmed for _, confirmed in steps_of(noisy(seed, [100 * US] * 30, spread))) for seed in range(200)
    )
    assert alarms <= most


def test_a_slowdown_of_a_tenth_is_found_at_its_point() -> None:
    found = [steps_of(noisy(seed, [100 * US] * 10 + [110 * US] * 10)) for seed in range(100)]
    assert sum(steps == [(10, True)] for steps in found) >= 95


@given(
    st.lists(st.one_of(st.just(nan), st.floats(min_value=1.0, max_value=1e12)), max_size=30),
    st.floats(min_value=0.5, max_value=2.0),
)
def test_steps_are_in_order_and_lie_between_points_of_known_time(times: list[float], error: float) -> None:
    found = changes(times, [error * US] * len(times))
    firsts = [change.after.points[0] for change in found]
    assert firsts == sorted(set(firsts))
    for change in found:
        assert change.before.points[-1] < change.after.points[0]
        assert all(isfinite(times[at]) for at in (*change.before.points, *change.after.points))
        assert change.before.median != change.after.median


def test_the_noise_of_a_median_falls_with_the_number_of_launches() -> None:
    few, many = [90 * US, 100 * US, 110 * US], [90 * US, 100 * US, 110 * US] * 10
    assert noise_of_median([many]) < noise_of_median([few])


def test_differences_between_ranks_are_not_noise() -> None:
    same, apart = [[150.0 * US] * 5] * 2, [[100 * US] * 5, [200 * US] * 5]
    assert noise_of_median(apart) == pytest.approx(noise_of_median(same))
