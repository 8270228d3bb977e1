"""From diagnosed reports to series: order, steps with their mechanism, breaks, GPUs apart, ranks."""

from __future__ import annotations

import re
from math import nan

import pytest

from ncuview.reader.settings import Settings
from ncuview.records.profile import Device
from ncuview.trends import DiagnosedReport, Series, history_of
from tests.trends.series_sample import launch, reported, series_of

A100 = Device("NVIDIA A100", "8.0")
US = 1000.0


def only(reports: list[DiagnosedReport]) -> Series:
    (series,) = history_of(reports).series
    return series


def test_points_are_in_the_order_in_which_they_were_written() -> None:
    reports = [reported(name, [launch("k", 1e5)], day) for name, day in (("a", 3), ("b", 1), ("c", 2))]
    assert [point.name for point in only(reports).points] == ["b", "c", "a"]


def test_points_are_in_the_order_of_their_names_where_one_does_not_say() -> None:
    days = {"v10": 1, "v9": None, "v2": 3}
    reports = [reported(name, [launch("k", 1e5)], day) for name, day in days.items()]
    assert [point.name for point in only(reports).points] == ["v2", "v9", "v10"]


def test_the_kernel_whose_time_changed_comes_first_with_its_counters() -> None:
    reports = series_of({"steady": [9e6] * 4, "slower": [1e5, 1e5, 2e5, 2e5]})
    reports[2:] = [
        reported(f"c{at}", [launch("steady", 9e6), launch("slower", 2e5, advice=False)], at) for at in (2, 3)
    ]
    series = only(reports)
    assert [kernel.kernel for kernel in series.kernels] == ["slower", "steady"]
    assert [kernel.kernel for kernel in series.changed] == ["slower"]
    (step,) = series.changed[0].steps
    assert (step.at, step.since, step.before_ns, step.after_ns) == (2, 1, 1e5, 2e5)
    assert step.is_confirmed
    assert step.pair.longest[0].bottleneck == "l1_data"
    assert step.pair.longest[1].bottleneck == "dram"


def test_gpus_are_series_of_their_own_and_never_compared() -> None:
    reports = [reported(f"c{at}", [launch("k", 1e5), launch("k", 5e5, A100)], at) for at in range(3)] + [
        reported("c3", [launch("k", 1e5)], 3)
    ]
    history = history_of(reports)
    assert [series.device.name for series in history.series] == ["NVIDIA H200", "NVIDIA A100"]
    assert [len(series.points) for series in history.series] == [4, 3]
    assert not any(series.changed for series in history.series)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((Settings("base"), Settings("none")), "clock control base before, none after"),
        ((Settings("base", "all"), Settings("none", "none")), "clock control .*; cache control all before, none after"),
    ],
)
def test_nothing_is_compared_across_another_clock_or_cache_control(
    settings: tuple[Settings, Settings], words: str
) -> None:
    reports = [
        reported(f"c{at}", [launch("k", 1e5 if at < 3 else 2e5)], at, settings=settings[at >= 3]) for at in range(6)
    ]
    series = only(reports)
    assert not series.changed
    (found,) = series.breaks
    assert found.at == 3
    assert re.fullmatch(words, found.words)


def test_an_unknown_setting_is_no_break() -> None:
    conditions = [Settings("base"), Settings(), Settings("base")]
    series = only([reported(f"c{at}", [launch("k", 1e5)], at, settings=each) for at, each in enumerate(conditions)])
    assert not series.breaks


def test_another_release_of_ncu_is_a_break_and_another_patch_is_none() -> None:
    versions = ["2025.3.1", "2025.3.2", "2026.1.0"]
    reports = [reported(f"c{at}", [launch("k", 1e5)], at, ncu_version=each) for at, each in enumerate(versions)]
    assert [(each.at, each.words) for each in only(reports).breaks] == [(2, "ncu 2025.3 before, 2026.1 after")]


def test_new_and_missing_kernels_are_listed() -> None:
    series = only(series_of({"always": [1e5] * 3, "new": [None, 1e5, 1e5], "gone": [1e5, 1e5, None]}))
    assert [kernel.kernel for kernel in series.new] == ["new"]
    assert [kernel.kernel for kernel in series.gone] == ["gone"]


def test_the_launch_of_median_time_is_the_example_of_a_point() -> None:
    times = [120 * US, 100 * US, 110 * US, nan]
    (kernel,) = only([reported("c0", [launch("k", time) for time in times], 0)]).kernels
    assert kernel.last.time_ns == 110 * US
    assert kernel.last.launch.duration_ns == 110 * US
    assert kernel.last.launches == 4


def test_an_unknown_time_stays_unknown() -> None:
    (kernel,) = only([reported("c0", [launch("k", nan)], 0)]).kernels
    assert kernel.last.time_ns != kernel.last.time_ns
    assert not kernel.steps


def test_ranks_are_compared_and_the_slowest_is_named() -> None:
    times = {"rank 0": 100 * US, "rank 1": 101 * US, "rank 2": 99 * US, "rank 10": 150 * US}
    series = only([reported("c0", [launch("k", time)], 0, rank) for rank, time in times.items()])
    assert series.points[0].ranks == ("rank 0", "rank 1", "rank 2", "rank 10")
    reading = series.kernels[0].last
    assert reading.ranks == times
    assert reading.slowest == "rank 10"
    assert reading.imbalance == pytest.approx(150 / 100.5)
    assert [kernel.kernel for kernel in series.uneven] == ["k"]


def test_ranks_with_the_same_time_are_not_reported() -> None:
    series = only([reported("c0", [launch("k", 1e5)], 0, f"rank {rank}") for rank in range(4)])
    assert not series.uneven


def test_one_rank_has_no_imbalance() -> None:
    assert only([reported("c0", [launch("k", 1e5)], 0, "rank 0")]).kernels[0].last.imbalance is None


def test_launch_groups_are_series_of_their_own() -> None:
    times = [[1e5, 1e6], [1e5, 1e6], [1.5e5, 1e6], [1.5e5, 1e6]]
    series = only([reported(f"c{at}", [launch("k", time) for time in both], at) for at, both in enumerate(times)])
    first, second = series.kernels
    assert [(kernel.group, kernel.groups) for kernel in (first, second)] == [(1, 2), (2, 2)]
    assert [step.at for step in first.steps] == [2]
    assert not second.steps


def test_launch_groups_are_merged_where_points_have_different_numbers() -> None:
    times = [[1e5, 1e6], [1e5], [1e5, 1e6]]
    series = only([reported(f"c{at}", [launch("k", time) for time in both], at) for at, both in enumerate(times)])
    (kernel,) = series.kernels
    assert (kernel.group, kernel.groups) == (1, 1)
    assert [reading.launches for reading in kernel.readings] == [2, 1, 2]
