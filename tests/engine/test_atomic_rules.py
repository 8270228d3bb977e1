"""Contended atomics, atomics at one address, and merges of the copies that blocks keep: which rule applies to which."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.base.paths import shipped
from ncuview.engine.evaluate import FINDING, NOT_APPLICABLE, PASSED, judge_values
from ncuview.engine.rule_file import load_rule

RULES = {path.name.partition("-")[0]: load_rule(path) for path in (shipped("rules") / "atomics").glob("*.toml")}
HISTOGRAM = {
    "atomics": 1e6,
    "atomic_lanes": 32e6,
    "atomic_lanes_per_sector": 8.0,
    "unmerged_lanes": 32e6,
    "merging_lanes": 0.0,
    "merging_sectors": 0.0,
    "merge_instructions": 0.0,
    "merge_waits": 0.0,
    "one_address_waits": 0.0,
    "l2_atomic_pct": 80.0,
    "stall_drain": 0.0,
    "stall_memory": 0.9,
    "grid_size": 1e4,
    "waves_per_sm": 10.0,
    "executed": 1e9,
    "l2_sectors": 1e8,
}
MERGED = {"unmerged_lanes": 0.0, "merging_lanes": 32e6, "merging_sectors": 4e6, "merge_instructions": 5e8}
ONE_ADDRESS = {"atomic_lanes_per_sector": 32.0, "l2_atomic_pct": 20.0}


def outcome(code: str, **changed: float) -> str:
    rule, values = RULES[code], {**HISTOGRAM, **changed}
    inputs = {name: np.array([values[name]]) for name in rule.inputs}
    return judge_values(rule, inputs, {"gpu.float_atomic_use": np.array([0.4125])}).outcomes[0]


@pytest.mark.parametrize("code", ["ATOM001", "ATOM002"])
def test_atomics_that_merge_copies_of_blocks_are_no_contended_ones(code: str) -> None:
    assert outcome(code) == FINDING
    assert outcome(code, **MERGED) == PASSED


@pytest.mark.parametrize("code", ["ATOM001", "ATOM002"])
def test_a_few_merges_beside_other_atomics_change_nothing(code: str) -> None:
    assert outcome(code, unmerged_lanes=31e6, merging_lanes=1e6) == FINDING


@pytest.mark.parametrize("code", ["ATOM001", "ATOM002"])
def test_waits_at_one_address_need_no_busy_atomic_unit(code: str) -> None:
    assert outcome(code, **ONE_ADDRESS) == PASSED
    assert outcome(code, **ONE_ADDRESS, one_address_waits=0.5) == FINDING


def test_blocks_that_do_not_fit_at_once_merge_too_many_copies() -> None:
    assert outcome("ATOM004") == NOT_APPLICABLE
    assert outcome("ATOM004", **MERGED) == FINDING
    assert outcome("ATOM004", **MERGED, waves_per_sm=1.0) == PASSED


def test_copies_that_a_block_merges_repeatedly_do_not_become_fewer_with_the_blocks() -> None:
    assert outcome("ATOM004", **{**MERGED, "merge_instructions": 0.0}) == PASSED
