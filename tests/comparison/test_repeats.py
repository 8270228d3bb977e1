"""Medians of repeats: slowdowns, no slowdowns, and inconclusive cases."""

from __future__ import annotations

import random
import re
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.comparison.repeats import noise_of, repeats_of, slowdown
from ncuview.records.gate import CheckResult

LONG = 300_000.0
TRIALS = 2000


def drawn(chance: random.Random, middle: float, spread: float, drift: float, count: int = 5) -> list[float]:
    clock = chance.gauss(1.0, drift)
    return [chance.gauss(middle * clock, spread * middle) for _ in range(count)]


def rates(
    after: float, spread: float, drift: float, count: int = 5, known: float | None = None
) -> dict[CheckResult, float]:
    """How often each result comes out when the second side is so many times as long."""
    chance = random.Random(7)
    results = [
        slowdown(
            repeats_of(drawn(chance, LONG, spread, drift, count)),
            repeats_of(drawn(chance, LONG * after, spread, drift, count)),
            spread=known,
        ).result
        for _ in range(TRIALS)
    ]
    return {result: results.count(result) / TRIALS for result in ("failed", "passed", "inconclusive")}


@pytest.mark.parametrize(("spread", "drift"), [(0.002, 0.003), (0.01, 0.01), (0.015, 0.01), (0.02, 0.01)])
def test_without_a_change_hardly_anything_fails(spread: float, drift: float) -> None:
    assert rates(1.0, spread, drift)["failed"] <= 1 / 200


def test_nor_where_a_kernel_that_spreads_widely_is_known_to() -> None:
    assert rates(1.0, 0.05, 0.01, known=0.05)["failed"] <= 1 / 200


@pytest.mark.parametrize(("spread", "drift"), [(0.002, 0.003), (0.01, 0.01), (0.015, 0.01)])
def test_a_tenth_more_is_caught(spread: float, drift: float) -> None:
    assert rates(1.10, spread, drift)["failed"] >= 0.95


@pytest.mark.parametrize("spread", [0.002, 0.01, 0.02, 0.05])
def test_a_fifth_more_hardly_ever_passes(spread: float) -> None:
    assert rates(1.20, spread, 0.01)["passed"] <= 0.01


def test_repeats_that_differ_too_much_are_inconclusive() -> None:
    assert rates(1.0, 0.08, 0.0)["inconclusive"] > 0.5


def test_single_launches_fail_only_where_the_difference_is_large() -> None:
    before = repeats_of([LONG])
    results = [slowdown(before, repeats_of([LONG * factor])).result for factor in (1.0, 1.04, 1.12, 1.3)]
    assert results == ["passed", "passed", "inconclusive", "failed"]


def test_what_is_below_the_floor_is_nothing() -> None:
    before, after = repeats_of([3_000.0] * 5), repeats_of([3_900.0] * 5)
    assert slowdown(before, after).result == "passed"
    assert slowdown(before, after, floor_ns=0.0, spread=0.001).result == "failed"


def test_a_measured_spread_counts_in_place_of_the_usual_one() -> None:
    before, after = repeats_of([LONG] * 3), repeats_of([1.07 * LONG] * 3)
    assert slowdown(before, after).result == "failed"
    assert slowdown(before, after, spread=0.05).result != "failed"


def test_a_gate_of_many_times_asks_for_more() -> None:
    before, after = repeats_of([20_000.0] * 5), repeats_of([21_600.0] * 5)
    one, many = (slowdown(before, after, comparisons=count).result for count in (1, 1000))
    assert (one, many) == ("failed", "inconclusive")


@given(st.lists(st.floats(1e3, 1e9), min_size=1, max_size=20))
def test_the_same_repeats_never_fail(times: list[float]) -> None:
    repeats = repeats_of(times)
    assert slowdown(repeats, repeats).result != "failed"
    assert min(times) <= repeats.median_ns <= max(times)
    assert noise_of(repeats) > 0


@given(st.lists(st.floats(1e4, 1e8), min_size=3, max_size=9), st.floats(1e-3, 1e3))
def test_the_unit_of_the_clock_does_not_matter(times: list[float], scale: float) -> None:
    faster = [time / 2 for time in times]
    here = slowdown(repeats_of(faster), repeats_of(times), floor_ns=0.0, spread=0.01)
    there = slowdown(
        repeats_of([scale * time for time in faster]),
        repeats_of([scale * time for time in times]),
        floor_ns=0.0,
        spread=0.01,
    )
    assert (here.result, round(here.change, 6)) == (there.result, round(there.change, 6))


def test_unknown_times_are_no_repeats() -> None:
    repeats = repeats_of([float("nan"), 10.0])
    assert (repeats.median_ns, repeats.count) == (10.0, 1)
    assert isnan(repeats_of([]).median_ns)


def test_more_than_the_tolerance_is_explained() -> None:
    one = slowdown(repeats_of([100_000.0]), repeats_of([130_000.0]))
    assert one.result == "failed"
    assert one.why == "25 % are allowed: with fewer than 3 launches on a side, only 25 % more is a failure"
    five = slowdown(repeats_of([1e6] * 5), repeats_of([1.3e6] * 5), tolerance=0.1)
    assert five.why == "10 % are allowed"
    short = slowdown(repeats_of([4_000.0] * 5), repeats_of([8_000.0] * 5))
    assert short.why == "25 % are allowed: differences below 1 us are ignored"
    spread = slowdown(repeats_of([1e6] * 5), repeats_of([2e6] * 5), spread=0.1)
    assert re.fullmatch(r"[\d.]+ % are allowed: 5 %, raised by the spread of 5 launches", spread.why)
    unsure = slowdown(repeats_of([1e6]), repeats_of([1.2e6]))
    assert unsure.why == "5 % are allowed; with fewer than 3 launches on a side, only 25 % more is a failure"
