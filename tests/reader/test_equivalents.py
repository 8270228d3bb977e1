"""Missing metrics are computed from others, as in reports that were collected with other sets."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.reader.equivalents import DETERMINED, determinable
from tests.builders import ELAPSED_CYCLES, MULTIPROCESSORS, Launch, make_profile

OF_PEAK = ".avg.pct_of_peak_sustained_"
SCHEDULERS = "device__attribute_num_schedulers_per_multiprocessor"


def value(name: str, metrics: dict[str, float]) -> float:
    launch = Launch().without(*DETERMINED).with_metrics(metrics)
    return float(make_profile(launch).metrics[name][0])


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("launch__sm_count", {"device__attribute_multiprocessor_count": 56}, 56),
        ("sm__cycles_elapsed.max", {"gpc__cycles_elapsed.max": 1e6}, 1e6),
        ("sm__cycles_elapsed.max", {"sm__cycles_elapsed.avg": 1e6}, 1e6),
        ("sm__cycles_elapsed.max", {"gpc__cycles_elapsed.max": 1e6, "sm__cycles_elapsed.avg": 9e5}, 1e6),
        (f"sm__inst_issued{OF_PEAK}elapsed", {f"sm__issue_active{OF_PEAK}elapsed": 40}, 40),
        (
            f"sm__inst_issued{OF_PEAK}elapsed",
            {f"sm__inst_issued{OF_PEAK}active": 40, "sm__cycles_active.avg": 5e5, "gpc__cycles_elapsed.max": 1e6},
            20,
        ),
        (
            f"sm__inst_issued{OF_PEAK}elapsed",
            {f"smsp__issue_active{OF_PEAK}active": 40, "sm__cycles_active.avg": 5e5, "gpc__cycles_elapsed.max": 1e6},
            20,
        ),
        (
            "smsp__sass_branch_targets_threads_divergent.sum",
            {"smsp__sass_branch_targets_threads_divergent.avg": 0.5, SCHEDULERS: 4, "launch__sm_count": 56},
            112,
        ),
        (
            f"sm__pipe_shared_cycles_active_realtime{OF_PEAK}elapsed",
            {f"sm__pipe_fp64_cycles_active{OF_PEAK}elapsed": 85, f"sm__pipe_tensor_cycles_active{OF_PEAK}elapsed": 0},
            85,
        ),
        (
            f"sm__pipe_shared_cycles_active_realtime{OF_PEAK}elapsed",
            {f"sm__pipe_fp64_cycles_active{OF_PEAK}elapsed": 85, f"sm__pipe_tensor_cycles_active{OF_PEAK}elapsed": 30},
            100,
        ),
    ],
)
def test_a_metric_is_what_others_say(name: str, others: dict[str, float], expected: float) -> None:
    assert value(name, others) == pytest.approx(expected)


@pytest.mark.parametrize(
    "counter", ["sm__pipe_shared_cycles_active", "sm__inst_executed_pipe_xu"], ids=["double and tensor", "special"]
)
def test_releases_that_have_no_realtime_form_give_the_other(counter: str) -> None:
    assert value(f"{counter}_realtime{OF_PEAK}elapsed", {f"{counter}{OF_PEAK}elapsed": 77}) == 77


def test_what_was_collected_stays() -> None:
    launch = Launch(metrics={"gpc__cycles_elapsed.max": 1.0, "device__attribute_multiprocessor_count": 1.0})
    metrics = make_profile(launch).metrics
    assert (metrics["sm__cycles_elapsed.max"][0], metrics["launch__sm_count"][0]) == (ELAPSED_CYCLES, MULTIPROCESSORS)


def test_each_launch_gets_its_missing_metrics() -> None:
    without_max = Launch(metrics={"gpc__cycles_elapsed.max": 7.0}).without("sm__cycles_elapsed.max")
    profile = make_profile(Launch(), without_max, Launch().without("sm__cycles_elapsed.max"))
    values = profile.metrics["sm__cycles_elapsed.max"].to_numpy()
    assert values[:2].tolist() == [ELAPSED_CYCLES, 7.0]
    assert np.isnan(values[2])


def test_no_metric_is_added_that_others_do_not_determine() -> None:
    metrics = make_profile(Launch().without(*DETERMINED, "device__attribute_multiprocessor_count")).metrics
    assert not DETERMINED.keys() & set(metrics.columns)


def test_a_determined_metric_has_a_unit() -> None:
    launch = Launch(metrics={f"sm__issue_active{OF_PEAK}elapsed": 40}).without(f"sm__inst_issued{OF_PEAK}elapsed")
    assert make_profile(launch).units[f"sm__inst_issued{OF_PEAK}elapsed"] == "%"


def test_one_may_follow_from_another() -> None:
    names = ["smsp__sass_branch_targets_threads_divergent.avg", SCHEDULERS, "device__attribute_multiprocessor_count"]
    assert list(determinable(names)) == ["launch__sm_count", "smsp__sass_branch_targets_threads_divergent.sum"]
