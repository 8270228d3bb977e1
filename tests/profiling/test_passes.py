"""The predicted cost of a run: bounds that hold for measured sets and for every part of them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.engine.plan import first_look_metrics, metrics_for
from ncuview.engine.rule_file import load_rules
from ncuview.profiling.passes import (
    COLLECTORS,
    Bounds,
    Measured,
    collector_of,
    forecast,
    launch_seconds,
    measurements,
    passes_of,
)

PLAN = metrics_for(load_rules())
TRANSPOSE_BYTES = 2 * 8192 * 8192 * 4
SOME = [f"{unit}__{what}.sum" for unit in ("sm", "lts", "dram") for what in ("a", "b", "c")]


def subsets(names: list[str]) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(names))


@pytest.mark.parametrize(
    ("metric", "collector"),
    [
        ("dram__cycles_active.avg.pct_of_peak_sustained_elapsed", "hardware"),
        ("gpu__time_duration.sum", "hardware"),
        ("smsp__inst_executed.sum", "hardware"),
        ("smsp__pcsamp_warps_issue_stalled_wait", "samples"),
        ("inst_executed", "lines"),
        ("memory_l1_wavefronts_shared_ideal", "lines"),
        ("smsp__sass_branch_targets_threads_divergent.sum", "instrumented"),
        ("launch__grid_size", None),
        ("device__attribute_display_name", None),
    ],
)
def test_each_metric_has_one_collector(metric: str, collector: str | None) -> None:
    assert collector_of(metric) == collector


def test_no_measurement_mixes_collectors_or_is_empty() -> None:
    assert measurements()
    for measured in measurements():
        assert len({collector_of(metric) for metric in measured.metrics}) == 1
        assert measured.passes >= 1
        assert measured.where


def test_the_bounds_of_the_complete_plan_hold_its_measured_six_passes() -> None:
    passes = passes_of(PLAN)
    assert passes.low <= 6 <= passes.high
    assert set(passes.of) == set(COLLECTORS)


def test_the_first_look_may_take_its_two_passes_and_takes_fewer_than_the_plan() -> None:
    assert passes_of(first_look_metrics()).low == 2
    assert passes_of(first_look_metrics()).high < passes_of(PLAN).high


@given(part=subsets(PLAN), more=subsets(PLAN))
def test_bounds_only_rise_when_metrics_are_added(part: frozenset[str], more: frozenset[str]) -> None:
    few, many = passes_of(part), passes_of(part | more)
    assert few.low <= few.high
    assert few.low <= many.low


@given(
    cost=st.dictionaries(st.sampled_from(SOME), st.integers(1, 3), min_size=1),
    looked_at=st.lists(subsets(SOME), max_size=6),
    asked=subsets(SOME),
)
def test_bounds_hold_on_a_chip_that_packs_counters_by_unit(
    cost: dict[str, int], looked_at: list[frozenset[str]], asked: frozenset[str]
) -> None:
    """On this chip each unit counts so many things at once, and units count side by side."""

    def truth(metrics: frozenset[str]) -> int:
        units = {metric.partition("__")[0] for metric in metrics}
        room = {unit: max([1, *(value for name, value in cost.items() if name.startswith(unit))]) for unit in units}
        counters = {unit: sum(metric.startswith(f"{unit}__") for metric in metrics) for unit in units}
        return max((-(-counters[unit] // room[unit]) for unit in units), default=0)

    table = [Measured(metrics, truth(metrics), "a chip") for metrics in looked_at if metrics]
    found = passes_of(asked, table)
    assert found.low <= truth(asked) <= found.high


def test_a_counter_that_was_never_measured_is_named_and_costs_up_to_a_pass() -> None:
    new = ["sm__new.avg", "sm__new.sum", "lts__new.sum"]
    passes = passes_of([*PLAN, *new])
    assert passes.assumed == tuple(sorted(new))
    assert passes.high == passes_of(PLAN).high + 2


def test_nothing_asked_for_takes_no_pass() -> None:
    passes = passes_of(["launch__grid_size"])
    assert (passes.low, passes.high, passes.of) == (0, 0, {})


@pytest.mark.parametrize(
    ("metrics", "launches", "seconds"),
    [
        # benchmarks/profiling-cost.md, less the program alone: the family transpose, and transposeCoalesced.
        (PLAN, 26, 16.69 - 3.65),
        (PLAN, 1, 3.43 - 1.15),
    ],
)
def test_the_forecast_holds_what_was_measured(metrics: list[str], launches: int, seconds: float) -> None:
    predicted = forecast(["ncu", "program"], metrics, launches=launches, memory_bytes=TRANSPOSE_BYTES).seconds
    assert predicted is not None
    assert predicted.low <= seconds <= predicted.high


@pytest.mark.parametrize(
    ("passes", "launches", "seconds"),
    # --set full and --set basic on the family, on transposeCoalesced and on ten launches, less the program alone.
    [(38, 26, 59.20 - 3.65), (38, 1, 6.13 - 1.15), (38, 10, 23.0 - 0.5), (10, 10, 5.2 - 0.5), (8, 10, 5.5 - 0.5)],
)
def test_seconds_per_launch_hold_what_was_measured(passes: int, launches: int, seconds: float) -> None:
    many = [f"sm__c{number}.sum" for number in range(passes)]
    found = passes_of(many, [Measured(frozenset(many), passes, "H200")])
    predicted = forecast([], []).start_s + launch_seconds(found, Bounds(TRANSPOSE_BYTES, TRANSPOSE_BYTES)).times(
        launches
    )
    assert predicted.low <= seconds <= predicted.high


def test_one_pass_saves_no_memory() -> None:
    single = passes_of(["gpu__time_duration.sum"])
    assert (single.low, single.high) == (1, 1)
    assert launch_seconds(single, Bounds(1e12, 1e12)) == launch_seconds(single, Bounds(0, 0))


def test_the_command_can_be_pasted_into_a_shell() -> None:
    argv = ["ncu", "--kernel-id=::regex:^(a|b)$:^(1|3)$", "/bin/a program", "it's"]
    predicted = forecast(argv, first_look_metrics())
    assert shlex.split(predicted.command) == argv
    assert predicted.seconds is None
    assert predicted.metrics == len(first_look_metrics())
    assert any("H200" in where for where in predicted.where)
