"""Impossible numbers become unknown, and all others stay."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.metrics.analysis import Analysis
from ncuview.reader.validity import MOST, impossible, valid
from tests.builders import Instruction, Launch, make_profile

SECTORS, TIME = "lts__t_sectors.sum", "gpu__time_duration.sum"
USE, HIT_RATE = "dram__cycles_active.avg.pct_of_peak_sustained_elapsed", "lts__t_sector_hit_rate.pct"


@pytest.mark.parametrize(
    ("metric", "value", "wrong"),
    [
        (SECTORS, 0.0, False),
        (SECTORS, -0.0, False),
        (SECTORS, nan, False),
        (SECTORS, 2.0**62, False),
        (SECTORS, -1.0, True),
        (SECTORS, -1e-300, True),
        (SECTORS, inf, True),
        (SECTORS, -inf, True),
        (SECTORS, MOST, True),
        (SECTORS, float(2**64 - 1), True),
        (USE, 100.4, False),
        (USE, 199.0, False),
        (USE, 200.0, True),
        (HIT_RATE, 257.3, False),
        (TIME, 0.0, True),
        (TIME, 5e-324, True),
        (TIME, 640.0, False),
        ("host__whole_time", 0.0, True),
        ("host__to_device_time", 0.0, False),
    ],
)
def test_what_no_measurement_gives(metric: str, value: float, wrong: bool) -> None:
    assert impossible(metric, np.array([value])).tolist() == [wrong]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=8))
def test_what_is_left_is_finite_and_not_negative(values: list[float]) -> None:
    columns = np.array(values, np.float64)
    left = columns[~impossible(SECTORS, columns)]
    known = left[~np.isnan(left)]
    assert np.isfinite(known).all()
    assert (known >= 0).all()


def test_a_profile_without_fault_is_itself() -> None:
    profile = make_profile(Launch(), Launch({SECTORS: nan}))
    assert valid(profile) is profile
    assert profile.refused == {}


def test_only_impossible_values_become_unknown_and_the_originals_are_in_refused() -> None:
    profile = make_profile(Launch(), Launch({SECTORS: -5.0, USE: 4000.0}), Launch({SECTORS: inf}))
    checked = valid(profile)
    assert checked.metrics[SECTORS].isna().tolist() == [False, True, True]
    assert checked.metrics.drop(columns=[SECTORS, USE]).equals(profile.metrics.drop(columns=[SECTORS, USE]))
    assert checked.refused == {1: {SECTORS: -5.0, USE: 4000.0}, 2: {SECTORS: inf}}
    analysis = Analysis(profile)
    assert analysis.was_refused([SECTORS, HIT_RATE]).tolist() == [False, True, True]
    assert analysis.was_refused([USE]).tolist() == [False, True, False]
    assert Analysis(replace(checked, failure=None)).was_refused([USE]).tolist() == [False, True, False]
    assert profile.metrics[SECTORS].tolist()[1:] == [-5.0, inf], "what was read stays as it was"


def test_a_launch_without_a_time_that_can_be_has_none() -> None:
    checked = valid(make_profile(Launch({TIME: -7.0}), Launch()))
    assert checked.launches["duration_ns"].isna().tolist() == [True, False]
    assert checked.refused[0] == {TIME: -7.0}


def test_one_instruction_is_enough_to_name_the_first_of_its_launch() -> None:
    bad = [Instruction("NOP", metrics={"inst_executed": value}) for value in (1.0, -2.0, -3.0)]
    profile = make_profile(Launch(), Launch({"inst_executed": 10.0}, instructions=bad))
    checked = valid(profile)
    rows = checked.instructions
    assert rows.loc[rows["launch"] == 1, "inst_executed"].isna().tolist() == [False, True, True]
    assert not rows.loc[rows["launch"] == 0, "inst_executed"].isna().any()
    assert checked.refused[1] == {"inst_executed": -2.0}
    assert list(rows.columns) == list(profile.instructions.columns)


def test_no_launch_is_no_fault() -> None:
    profile = make_profile(Launch())
    empty = replace(
        profile,
        launches=profile.launches.iloc[:0],
        metrics=profile.metrics.iloc[:0],
        instructions=profile.instructions.iloc[:0],
    )
    assert valid(empty) is empty
