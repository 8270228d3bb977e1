"""Which kernel to change first: groups, weights, order, and Amdahl's bound."""

from __future__ import annotations

import random
from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UsageError
from ncuview.engine.priority import Priorities, priorities
from ncuview.records.diagnosis import Diagnosis, Gain, LaunchDiagnosis
from ncuview.records.profile import HostTimes
from tests.profiles import recorded_diagnosis
from tests.render.sample import advice_finding, launch_near_peak, launch_with_advice

GRID, BLOCK = (256, 256, 1), (32, 8, 1)


def launch(
    kernel: str = "k", ns: float = 1000.0, gain: float = 1.0, optimization: str = "coalescing", **other: object
) -> LaunchDiagnosis:
    """A launch whose first advice predicts this speedup; without advice at 1.0."""
    bounds = Gain(gain**0.5, gain, gain**1.5)
    advice = replace(advice_finding(), predicted_speedup=bounds, optimization=optimization)
    outcomes = (advice,) if gain != 1.0 else ()
    made = replace(
        launch_with_advice(), kernel=kernel, demangled=f"{kernel}(float *)", duration_ns=ns, outcomes=outcomes
    )
    return replace(made, **other)  # type: ignore[arg-type]


def ranked(*launches: LaunchDiagnosis, counts: dict[tuple[str, object, object], int] | None = None) -> Priorities:
    return priorities(Diagnosis(launches, (), launched=counts or {}))  # type: ignore[arg-type]


def names(found: Priorities) -> list[str]:
    return [group.kernel for group in found.groups]


some_launches = st.lists(
    st.builds(
        launch,
        kernel=st.sampled_from("abc"),
        ns=st.floats(1.0, 1e9),
        gain=st.sampled_from([1.0, 1.1, 2.0, 50.0]),
        optimization=st.sampled_from(["coalescing", "unrolling"]),
    ),
    min_size=1,
    max_size=12,
)


def test_the_kernel_whose_advice_saves_most_time_comes_first_not_the_one_with_the_largest_prediction() -> None:
    found = ranked(launch("large factor", 100.0, 10.0), launch("saves", 1000.0, 1.5), launch("long", 5000.0))
    assert names(found) == ["saves", "large factor", "long"]
    assert [group.saved.best for group in found.groups] == pytest.approx([1000 / 3, 90.0, 0.0])


def test_amdahl_bounds_the_speedup_of_all_launches_together() -> None:
    found = ranked(launch("a", 750.0, 4.0), launch("b", 250.0))
    assert found.left_ns == pytest.approx(750 / 4 + 250)
    assert found.speedup.best == pytest.approx(1000 / 437.5)
    assert found.speedup.low == pytest.approx(1000 / (750 / 2 + 250))
    assert found.speedup.high == pytest.approx(1000 / (750 / 8 + 250))


@pytest.mark.parametrize(
    "other",
    [
        {"grid": (1, 1, 1)},
        {"block": (64, 1, 1)},
        {"demangled": "k(double *)"},
        {"device": replace(launch().device, name="another")},
    ],
)
def test_what_was_launched_differently_is_another_group(other: dict[str, object]) -> None:
    assert len(ranked(launch(), launch(), launch(**other)).groups) == 2  # type: ignore[arg-type]


def test_a_group_gives_its_launches_and_the_spread_of_their_times() -> None:
    (group,) = ranked(launch(ns=100.0), launch(ns=300.0), launch(ns=200.0)).groups
    assert (group.launches, group.profiled, group.time_ns) == (3, 3, 600.0)
    assert (group.shortest_ns, group.longest_ns) == (100.0, 300.0)


def test_the_advice_of_a_group_is_what_saves_most_time_in_its_launches() -> None:
    many_short = [launch(ns=10.0, gain=2.0, optimization="unrolling")] * 3
    one_long = launch(ns=1000.0, gain=2.0, optimization="coalescing")
    (group,) = ranked(*many_short, one_long, launch(ns=970.0)).groups
    assert group.advice is not None
    assert group.advice.optimization == "coalescing"
    assert group.agreed == pytest.approx(0.5)
    assert group.example is one_long


def test_the_predicted_speedup_of_a_group_is_its_time_over_what_its_launches_leave_of_it() -> None:
    (group,) = ranked(launch(ns=600.0, gain=3.0), launch(ns=400.0)).groups
    assert group.predicted_speedup.best == pytest.approx(1000 / (200 + 400))
    assert group.saved.best == pytest.approx(400.0)


def test_a_kernel_without_advice_saves_nothing() -> None:
    found = priorities(Diagnosis((launch_near_peak(),), ()))
    assert (found.groups[0].advice, found.groups[0].predicted_speedup) == (None, Gain(1.0, 1.0, 1.0))
    assert found.speedup.best == 1.0


def test_copies_that_the_host_timed_count() -> None:
    host = HostTimes(3000.0, 1000.0, 2000.0, 6000.0)
    found = ranked(launch("copied", 1000.0, 2.0, host=host), launch("alone", 4000.0, 2.0))
    assert names(found) == ["copied", "alone"]
    assert found.total_ns == 10_000.0


@pytest.mark.parametrize("unknown", [nan, inf])
def test_a_launch_of_unknown_time_counts_as_a_launch_and_not_as_time(unknown: float) -> None:
    found = ranked(launch("a", unknown, 2.0), launch("b", 100.0, 2.0))
    assert (found.total_ns, found.untimed, names(found)) == (100.0, 1, ["b", "a"])
    assert found.groups[1].share == 0.0


def test_no_launches_are_no_groups() -> None:
    assert ranked() == replace(ranked(), groups=(), total_ns=0.0)
    assert ranked().speedup.best == 1.0


def test_sampled_launches_stand_for_all_of_their_configuration() -> None:
    sampled = ranked(
        launch("a", 100.0, 2.0), launch("a", 300.0, 2.0), launch("b", 50.0), counts={("a", GRID, BLOCK): 8}
    )
    everything = ranked(*[launch("a", 100.0, 2.0)] * 4, *[launch("a", 300.0, 2.0)] * 4, launch("b", 50.0))
    assert sampled.total_ns == pytest.approx(everything.total_ns)
    assert sampled.saved.best == pytest.approx(everything.saved.best)
    assert [(group.launches, group.profiled) for group in sampled.groups] == [(8, 2), (1, 1)]


def test_a_count_can_name_a_kernel_with_or_without_its_parameters() -> None:
    for name in ("a", "a(float *)"):
        assert ranked(launch("a"), counts={(name, GRID, BLOCK): 5}).groups[0].launches == 5


def test_a_bare_name_counts_all_kernels_of_that_name_together() -> None:
    overloads = [launch("a"), launch("a", demangled="a(double *)")]
    assert [group.launches for group in ranked(*overloads, counts={("a", GRID, BLOCK): 10}).groups] == [5, 5]


def test_configurations_that_were_not_profiled_are_counted_separately() -> None:
    found = ranked(launch("a"), counts={("a", (1, 1, 1), BLOCK): 7, ("never", GRID, BLOCK): 3})
    assert (found.unprofiled, found.groups[0].launches) == (10, 1)


def test_fewer_launches_than_were_profiled_are_refused() -> None:
    with pytest.raises(UsageError, match="profiled 2 times"):
        ranked(launch("a"), launch("a"), counts={("a", GRID, BLOCK): 1})


@given(some_launches)
def test_shares_add_up_to_one_and_no_time_is_lost(launches: list[LaunchDiagnosis]) -> None:
    found = ranked(*launches)
    assert sum(group.share for group in found.groups) == pytest.approx(1.0)
    assert found.total_ns == pytest.approx(sum(each.duration_ns for each in launches))
    assert sum(group.profiled for group in found.groups) == len(launches)
    assert found.left_ns + found.saved.best == pytest.approx(found.total_ns)


@given(some_launches)
def test_all_launches_together_gain_no_more_than_the_kernel_that_gains_most(launches: list[LaunchDiagnosis]) -> None:
    found = ranked(*launches)
    most = max(group.predicted_speedup.best for group in found.groups)
    assert 1.0 <= found.speedup.low <= found.speedup.best <= found.speedup.high
    assert found.speedup.best <= most * (1 + 1e-9)
    assert found.speedup.best <= found.total_ns / (found.total_ns - found.saved.best) * (1 + 1e-9)


@given(some_launches, st.randoms())
def test_the_order_of_the_launches_does_not_matter(launches: list[LaunchDiagnosis], chance: random.Random) -> None:
    shuffled = launches[:]
    chance.shuffle(shuffled)
    one, other = ranked(*launches), ranked(*shuffled)
    assert [group.saved.best for group in one.groups] == pytest.approx([group.saved.best for group in other.groups])
    assert one.total_ns == pytest.approx(other.total_ns)


@given(some_launches, st.integers(1, 5))
def test_a_count_does_what_repeating_the_launches_does(launches: list[LaunchDiagnosis], times: int) -> None:
    profiled = {name: sum(each.kernel == name for each in launches) for name in "abc"}
    counts: dict[tuple[str, object, object], int] = {
        (name, GRID, BLOCK): times * number for name, number in profiled.items() if number
    }
    counted, repeated = ranked(*launches, counts=counts), ranked(*launches * times)
    assert counted.total_ns == pytest.approx(repeated.total_ns)
    assert counted.saved.high == pytest.approx(repeated.saved.high)


def test_of_the_recorded_reductions_the_first_is_to_be_changed_first() -> None:
    found = priorities(recorded_diagnosis("reduction"))
    assert names(found)[:4] == ["reduce_v1", "reduce_v2", "reduce_v3", "rowSums_block"]
    assert found.groups[0].share == pytest.approx(0.31, abs=0.05)
    assert found.total_ns == pytest.approx(sum(each.duration_ns for each in recorded_diagnosis("reduction").launches))
    assert 2.5 < found.speedup.best < 4.0


def test_a_kernel_that_runs_often_comes_before_one_that_takes_long_once() -> None:
    v4 = next(each for each in recorded_diagnosis("reduction").launches if each.kernel == "reduce_v4_1")
    found = priorities(replace(recorded_diagnosis("reduction"), launched={("reduce_v4_1", v4.grid, v4.block): 1000}))
    assert found.groups[0].kernel == "reduce_v4_1"
    assert found.groups[0].share > 0.98
