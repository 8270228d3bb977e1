"""Change points of times, where chance does not explain a step."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ncuview.store import change_points
from ncuview.store.change_points import (
    TimeChange,
    TimeChanges,
    _share_of_orders,
    _statistics,
    time_changes,
)

NAN = float("nan")
FEW = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.9, 99.1, 100.1]


def test_a_step_of_times_has_its_place_and_both_levels() -> None:
    after = [2 * time for time in FEW]
    assert time_changes(np.array([*FEW, *after])) == TimeChanges((TimeChange(10, 100.05, 200.1),))


def test_two_steps_are_both_found() -> None:
    times = np.array([*FEW, *(1.1 * time for time in FEW), *(1.05 * time for time in FEW)])
    assert [step.at for step in time_changes(times).steps] == [10, 20]


def test_places_count_unknown_times_too() -> None:
    times = np.array([NAN, *FEW, 0.0, *(1.1 * time for time in FEW)])
    assert [step.at for step in time_changes(times).steps] == [12]


@pytest.mark.parametrize(
    "times", [[], [1.0], [NAN] * 9, [5.0] * 20, FEW, [*FEW, 150.0], [*FEW, 150.0, 150.0], [100.0, 100.0, 200.0, 200.0]]
)
def test_odd_runs_and_few_points_are_no_step(times: list[float]) -> None:
    assert time_changes(np.array(times, np.float64)) == TimeChanges()


def test_steps_below_one_per_cent_are_left_out() -> None:
    times = np.array([100.0] * 10 + [100.5] * 10) * np.tile([1.0, 1.0001], 10)
    assert time_changes(times) == TimeChanges()


def test_a_line_is_a_drift() -> None:
    assert time_changes(np.array(FEW * 3) * np.linspace(1, 1.2, 30)) == TimeChanges(drifts=True)


def test_a_slow_ramp_between_two_levels_is_a_drift() -> None:
    ramp = np.interp(np.arange(30), [10, 20], [1.0, 1.2])
    assert time_changes(np.array(FEW * 3) * ramp) == TimeChanges(drifts=True)


def test_waves_are_no_step() -> None:
    waves = 1 + 0.1 * np.sign(np.sin(np.arange(60) / 3))
    waves[30:] *= 1.15
    assert time_changes(np.array(FEW * 6) * waves) == TimeChanges(wanders=True)


def test_a_step_of_the_clock_is_not_the_kernels() -> None:
    times = np.array([*FEW, *(1.1 * time for time in FEW)])
    clocks = np.array([1.98] * 10 + [1.80] * 10)
    assert time_changes(times, clocks) == TimeChanges(with_clock=(10,))


def test_a_step_without_one_of_the_clock_is_the_kernels() -> None:
    times = np.array([*FEW, *(1.1 * time for time in FEW)])
    for clocks in ([1.98] * 20, [1.98] * 10 + [2.18] * 10, [NAN] * 20, [1.98] * 10 + [NAN] * 10):
        assert [step.at for step in time_changes(times, np.array(clocks)).steps] == [10]


def test_the_same_series_gives_the_same_answer() -> None:
    chance = np.random.default_rng(1)
    times = chance.normal(100, 1, 40) * np.where(np.arange(40) < 20, 1, 1.02)
    assert time_changes(times) == time_changes(times.copy())


@given(st.lists(st.floats(-1, 1), min_size=6, max_size=7), st.floats(0.1, 1))
def test_as_many_orders_reach_a_statistic_as_the_inequality_says(values: list[float], share: float) -> None:
    centred = np.array(values) - np.mean(values)
    assume(np.ptp(centred) > 1e-3)
    of_orders = _statistics(np.array(list(permutations(centred)))).max(axis=1)
    statistic = float(share * of_orders.max())
    assert (of_orders >= statistic).mean() <= _share_of_orders(centred, statistic)


def test_a_clear_step_needs_no_random_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    times = np.array(FEW * 4 + [1.2 * time for time in FEW * 4])
    found = time_changes(times)
    monkeypatch.setattr(change_points, "_CERTAIN", 0.0)
    assert time_changes(times) == found
    assert [step.at for step in found.steps] == [40]
    logs = np.log(times)
    centred = logs - logs.mean()
    assert _share_of_orders(centred, _statistics(centred).max()) < 1e-8
