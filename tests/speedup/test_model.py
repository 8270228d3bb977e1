"""The what-if model: gains end at the next bottleneck, and relieving another unit than the bottleneck gains nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.metrics.analysis import Analysis
from ncuview.metrics.units import BLOCKS
from ncuview.metrics.units import UNITS as ALL_UNITS
from ncuview.speedup.attainable import attainable
from ncuview.speedup.effects import ADDED, EFFECTS, NAMES, by_unit
from ncuview.speedup.model import CERTAINTY, Load, bottlenecks_now, load_of, predict
from tests.builders import H200, LOW_USE, USE, Instruction, Launch, make_profile

UNITS = {name: unit for name, unit in ALL_UNITS.items() if unit.metric}
"""Those with a counter of their own, whose use a made profile can set."""
BOTTLENECKS = tuple(dict.fromkeys(unit.bottleneck for unit in UNITS.values()))

SECOND = "l2_tags"
FIRST = "l1_data"


def load_with(use: Mapping[str, float], **metrics: float) -> Load:
    """A launch with these units in use, in % of peak, and all others nearly idle."""
    uses = {**dict.fromkeys(UNITS, 1.0), **use}
    named = {USE[unit]: percent for unit, percent in uses.items()}
    return load_of(Analysis(make_profile(Launch(metrics={**named, **metrics}))))


def gain(
    load: Load,
    effects: Mapping[str, float] | None = None,
    added: Mapping[str, float] | None = None,
    latency: float = 0.0,
) -> tuple[float, float, float, str]:
    """Low, best and high speedup of a single launch, and the bottleneck after the change."""
    gains, bottlenecks_after = predict(
        load,
        {name: np.array([share]) for name, share in (effects or {}).items()},
        {name: np.array([more]) for name, more in (added or {}).items()},
        np.array([latency]),
    )
    low, middle, high = gains[:, 0].tolist()
    return low, middle, high, bottlenecks_after[0]


def best(load: Load, **change: object) -> float:
    return gain(load, **change)[1]  # type: ignore[arg-type]


shares = st.floats(0.0, 1.0)
loads = st.fixed_dictionaries(dict.fromkeys(UNITS, st.floats(0.5, 100.0)))
changes = st.dictionaries(st.sampled_from(sorted(EFFECTS)), shares, max_size=5)
additions = st.dictionaries(st.sampled_from(sorted(ADDED)), shares, max_size=2)


@given(loads)
def test_a_change_that_changes_nothing_gains_nothing(use: dict[str, float]) -> None:
    assert best(load_with(use)) == pytest.approx(1.0)


@given(loads, changes, additions, shares)
def test_the_best_estimate_lies_between_its_bounds(
    use: dict[str, float], effects: dict[str, float], added: dict[str, float], latency: float
) -> None:
    low, middle, high, _ = gain(load_with(use), effects, added, latency)
    assert 0 < low <= middle <= high < math.inf


@given(loads, changes, additions, shares)
def test_new_demand_never_speeds_up(
    use: dict[str, float], effects: dict[str, float], added: dict[str, float], latency: float
) -> None:
    load = replace(load_with(use), own_waits=np.zeros(1))  # waits of today's code say nothing of code with new work
    assert best(load, effects=effects, added=added, latency=latency) <= best(load, effects=effects, latency=latency)


@given(loads, changes, st.dictionaries(st.sampled_from(sorted(ADDED)), shares, min_size=1), shares, shares, shares)
def test_more_new_demand_never_speeds_up_whatever_warps_wait_for(
    use: dict[str, float], effects: dict[str, float], added: dict[str, float], latency: float, waits: float, more: float
) -> None:
    load = replace(load_with(use), own_waits=np.array([waits]))
    further = {name: work + more for name, work in added.items()}
    assert best(load, effects=effects, added=further, latency=latency) <= best(
        load, effects=effects, added=added, latency=latency
    )


def test_own_waits_stay_after_a_change_that_lowers_traffic_and_adds_no_work() -> None:
    load = replace(load_with({"l2_sectors": 95.0}), own_waits=np.array([0.5]))
    assert best(load, effects={"l2_sectors": 0.0}) == pytest.approx(2.0, rel=0.01)
    assert best(load, effects={"l2_sectors": 0.0}, added={"instructions": 1e-9}) > 2.5


@given(loads, changes, shares, shares)
def test_hiding_more_latency_never_slows_down(
    use: dict[str, float], effects: dict[str, float], one: float, other: float
) -> None:
    less, more = sorted((one, other))
    load = load_with(use)
    assert best(load, effects=effects, latency=less) <= best(load, effects=effects, latency=more)


@given(loads, st.sampled_from(sorted(EFFECTS)), shares)
def test_less_work_for_units_that_are_not_the_busiest_gains_nothing(
    use: dict[str, float], effect: str, share: float
) -> None:
    busiest = "tex" if FIRST in EFFECTS[effect] else FIRST
    idle = {unit: 0.5 * use[unit] for unit in EFFECTS[effect] if unit in use}
    assert best(load_with({**use, **idle, busiest: 100.0}), effects={effect: share}) == pytest.approx(1.0)


@given(st.floats(5.0, 60.0), shares)
def test_relieving_the_bottleneck_gains_no_more_than_the_next_bottleneck_allows(second: float, share: float) -> None:
    load = load_with({FIRST: 100.0, SECOND: second})
    next_bottleneck = second / 100 / attainable(H200, SECOND, "best")
    assert load.latency()[0] == 0
    assert best(load, effects={"l1_wavefronts": share}) <= 1 / next_bottleneck * (1 + 1e-9)


def test_removing_the_bottleneck_leaves_the_next_one() -> None:
    load = load_with({FIRST: 100.0, SECOND: 45.0})
    _, middle, _, bottleneck_after = gain(load, {"l1_wavefronts": 0.0})
    assert middle == pytest.approx(attainable(H200, SECOND, "best") / 0.45)
    assert (bottlenecks_now(load), bottleneck_after) == ([FIRST], "l2")


def test_a_bottleneck_of_several_units_is_relieved_as_one() -> None:
    load = load_with(dict.fromkeys(EFFECTS["l2_sectors"], 80.0))
    assert best(load, effects={"l2_sectors": 0.5}) > 1.2
    assert best(load, effects={"l2_requests": 0.5}) < 1.05


def test_the_narrower_of_two_effects_on_a_unit_counts() -> None:
    assert by_unit({"instructions": 0.5, "arithmetic": 1.0}) == {"issue": 0.5, "alu": 1.0, "imad": 1.0, "fma": 1.0}
    assert by_unit({"l1_wavefronts": 0.1, "memory_instructions": 0.5}) == {"l1_data": 0.1, "lsu": 0.5}


def test_every_unit_with_a_demand_has_an_effect_on_it() -> None:
    assert {unit for units in EFFECTS.values() for unit in units} == {*ALL_UNITS, BLOCKS} - {"tex"}
    assert len(NAMES) <= 15


def test_latencies_of_each_warp_count_after_a_change_of_traffic_alone() -> None:
    load = replace(load_with({"dram": 90.0}, launch__grid_size=1.0), own_waits=np.array([0.5]))
    traffic = {"dram_bytes": 0.1, "l2_sectors": 0.1}
    assert best(load, effects=traffic, latency=1.0) == pytest.approx(2.0, rel=0.03)
    assert best(load, effects={**traffic, "memory_instructions": 0.5}, latency=1.0) > 3.0
    assert best(load, effects={"instructions": 0.5}, latency=1.0) == best(
        replace(load, own_waits=np.array([0.0])), effects={"instructions": 0.5}, latency=1.0
    )


@pytest.mark.parametrize(("hits", "share"), [(0.0, 8 * 700 / 100_000), (50.0, 8 * 500 / 100_000), (math.nan, 0.0)])
def test_the_waits_of_a_launch_are_those_of_its_waves_for_loads_that_l1_does_not_hold(
    hits: float, share: float
) -> None:
    launch = Launch({"l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct": hits})
    assert load_of(Analysis(make_profile(launch))).own_waits.tolist() == [pytest.approx(share)]
    assert load_of(Analysis(make_profile(replace(launch, instructions=())))).own_waits.tolist() == [0.0]


def test_latency_is_what_no_unit_explains() -> None:
    load = load_with({"dram": 20.0})
    assert bottlenecks_now(load) == ["latency"]
    assert load.floor()[0] ** 2 + load.latency()[0] ** 2 == pytest.approx(1.0)
    assert best(load, latency=1.0) == pytest.approx(1 / load.floor()[0])


def test_the_low_bound_counts_part_of_the_claimed_latency() -> None:
    low, middle, _, _ = gain(load_with({"dram": 20.0}), latency=1.0)
    assert low < middle
    assert CERTAINTY["low"] < CERTAINTY["best"] <= CERTAINTY["high"]


SERVED = {
    "l2_atomic": "RED.E.ADD.F32 [R2], R5",
    "tex": "TEX R4, R2",
    "fp64_tensor": "DFMA R2, R4, R6, R8",
    "xu": "MUFU.EX2 R4, R5",
}
"""Units that only some instructions use, and one of these."""


def without_metric(unit: str, *code: str) -> Launch:
    """A launch in which a unit was not measured, and which executes an instruction that uses it, or this code."""
    texts = code or (SERVED.get(unit, "EXIT"),)
    return replace(Launch().without(UNITS[unit].metric), instructions=tuple(Instruction(text) for text in texts))


@pytest.mark.parametrize("unit", UNITS)
def test_a_missing_unit_is_named(unit: str) -> None:
    load = load_of(Analysis(make_profile(without_metric(unit))))
    assert load.missing(0) == (USE[unit],)


@pytest.mark.parametrize("metric", ["dram__bytes_read.sum", "dram__bytes_write.sum"])
def test_what_device_memory_attains_is_unknown_without_the_bytes_written(metric: str) -> None:
    load = load_of(Analysis(make_profile(Launch().without(metric))))
    assert load.missing(0) == ("dram__bytes_read.sum", "dram__bytes_write.sum")
    assert np.isnan(load.attainable["best"]["dram"][0])


@pytest.mark.parametrize("unit", UNITS)
def test_latency_is_no_answer_while_a_unit_is_unknown(unit: str) -> None:
    assert bottlenecks_now(load_of(Analysis(make_profile(Launch())))) == ["latency"]
    assert bottlenecks_now(load_of(Analysis(make_profile(without_metric(unit))))) == ["unknown"]


def test_what_takes_all_the_time_is_the_bottleneck_whatever_is_unknown() -> None:
    short = without_metric("tex").with_metrics({"gpu__time_duration.sum": 1_600.0, "launch__grid_size": 1.0})
    load = load_of(Analysis(make_profile(short)))
    assert load.missing(0)
    assert bottlenecks_now(load) == ["launch"]


@pytest.mark.parametrize("unit", SERVED)
def test_a_unit_that_no_instruction_uses_is_idle(unit: str) -> None:
    load = load_of(Analysis(make_profile(without_metric(unit, "@P0 IADD3 R1, R2, R3", "EXIT"))))
    assert load.missing(0) == ()
    assert load.use[unit].tolist() == [0.0]


@pytest.mark.parametrize("unit", SERVED)
def test_without_code_any_unit_may_be_in_use(unit: str) -> None:
    launch = replace(Launch().without(UNITS[unit].metric), instructions=())
    assert load_of(Analysis(make_profile(launch))).missing(0) == (USE[unit],)


def test_an_older_name_of_a_pipes_use_counts_too() -> None:
    older = Launch().without(USE["xu"]).with_metrics({USE["xu"].replace("_realtime", ""): 77.0})
    assert load_of(Analysis(make_profile(older))).use["xu"].tolist() == [0.77]


def test_a_gpu_that_was_not_measured_takes_the_default() -> None:
    unknown = load_of(Analysis(make_profile(Launch(device="NVIDIA Unheard-of"))))
    for unit in UNITS:
        assert attainable("NVIDIA Unheard-of", unit, "low") <= attainable(H200, unit, "low") + 0.15
        assert 0.5 < attainable("NVIDIA Unheard-of", unit, "best") <= 1.0
    assert unknown.attainable["best"]["l2_tags"].tolist() == [attainable("NVIDIA Unheard-of", "l2_tags", "best")]


@pytest.mark.parametrize("device", [H200, "NVIDIA Unheard-of"])
@pytest.mark.parametrize("unit", UNITS)
def test_the_bounds_of_what_is_attainable_are_in_order(device: str, unit: str) -> None:
    low, middle, high = (attainable(device, unit, bound) for bound in ("low", "best", "high"))
    assert 0 < low <= middle <= high <= 1


def test_a_launch_that_beats_the_table_shows_what_is_attainable() -> None:
    load = load_with({"dram": 97.0})
    assert load.attainable["best"]["dram"].tolist() == [0.97]
    assert load.floor().tolist() == [1.0]


def test_writing_makes_less_of_the_memorys_peak_attainable() -> None:
    reads = load_with({}, **{"dram__bytes_read.sum": 1e9, "dram__bytes_write.sum": 0.0})
    copies = load_with({}, **{"dram__bytes_read.sum": 1e9, "dram__bytes_write.sum": 1e9})
    assert copies.attainable["best"]["dram"][0] < reads.attainable["best"]["dram"][0]


def test_an_empty_launch_is_limited_by_launching() -> None:
    load = load_with({}, **{"gpu__time_duration.sum": 1600.0, "launch__grid_size": 1.0})
    assert bottlenecks_now(load) == ["launch"]
    assert best(load, latency=1.0) == pytest.approx(1.0)


def test_launches_do_not_influence_each_other() -> None:
    busy, idle = Launch().with_metrics({USE["dram"]: 90.0}), Launch()
    together = load_of(Analysis(make_profile(busy, idle)))
    alone = [load_of(Analysis(make_profile(launch))) for launch in (busy, idle)]
    assert together.floor().tolist() == [float(load.floor()[0]) for load in alone]
    assert together.use["dram"].tolist() == [0.9, LOW_USE / 100]
