"""What counters say of launches without machine code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ncuview.base.expression import compile_expression
from ncuview.metrics import counted
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.counted import COUNTED, FromCounters, uncounted
from ncuview.metrics.names import NAMES
from ncuview.metrics.quantities import QUANTITIES
from ncuview.records.profile import Profile
from tests.builders import Launch, make_profile
from tests.profiles import recorded_profile
from tests.together import together

EQUAL = [name for name, of in counted._TABLE.items() if of["kind"] == "equal" and not name.startswith("stall_")]
SECTORS = "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"


def test_each_entry_is_of_a_quantity_and_says_where_an_estimate_comes_from() -> None:
    assert COUNTED.keys() <= QUANTITIES.keys()
    for name, of in counted._TABLE.items():
        assert of["kind"] in {"equal", "estimate"}, name
        assert ("source" in of) == (of["kind"] == "estimate"), name


def test_expressions_read_known_quantities_or_metrics_of_ncu() -> None:
    names = {name for expressions in COUNTED.values() for each in expressions for name in each.names}
    assert (
        not {name for name in names if "__" not in name}
        - QUANTITIES.keys()
        - NAMES.keys()
        - {
            "inst_executed",
            "thread_inst_executed",
            "thread_inst_executed_true",
            "memory_l2_theoretical_sectors_global",
            "memory_l2_theoretical_sectors_global_ideal",
            "memory_l1_tag_requests_global",
            "memory_l1_wavefronts_shared",
            "memory_l1_wavefronts_shared_ideal",
        }
    )


@together("name", EQUAL)
def test_equal_counters_count_what_the_code_counts(name: str) -> None:
    analysis = Analysis(recorded_profile("transpose"))
    from_code, from_counters = analysis.value(name), FromCounters(analysis).value(name)
    known = np.isfinite(from_code) & np.isfinite(from_counters)
    assert known.any()
    assert from_counters[known] == pytest.approx(from_code[known], rel=0.03, abs=1)


def test_quantities_of_quantities_are_computed_from_counters_too() -> None:
    profile = make_profile(Launch(metrics={SECTORS: 1280.0, "smsp__sass_inst_executed_op_global_ld.sum": 40.0}))
    assert FromCounters(Analysis(profile)).value("sectors_per_load").tolist() == [32.0]


def test_what_no_counter_gives_is_unknown_unless_it_is_assumed() -> None:
    analysis = Analysis(make_profile())
    assert np.isnan(FromCounters(analysis).value("chased_loads")).all()
    assumed = {"chased_loads": compile_expression("load_requests / 2")}
    given = FromCounters(analysis, assumed)
    assert given.value("chased_loads").tolist() == (given.value("load_requests") / 2).tolist()
    assert given.metrics_of("chased_loads") == given.metrics_of("load_requests")


def test_a_missing_counter_stays_unknown() -> None:
    profile = without(make_profile(), SECTORS)
    assert np.isnan(FromCounters(Analysis(profile)).value("sectors_per_load")).all()


def test_stall_shares_come_from_warp_states_where_nothing_was_sampled() -> None:
    states = {
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio": 3.0,
        "smsp__average_warp_latency_per_inst_issued.ratio": 12.0,
    }
    profile = make_profile(Launch(metrics=states))
    sampled = [name for name in profile.metrics.columns if "pcsamp" in name]
    profile = replace(profile, metrics=profile.metrics.drop(columns=sampled))
    assert FromCounters(Analysis(profile)).value("stall_barrier").tolist() == [0.25]


def test_uncounted_names_the_quantities_that_only_code_gives() -> None:
    assert list(uncounted(["load_requests", "duration", "chased_loads"], ())) == ["chased_loads"]
    assert list(uncounted(["float_coordinate_share"], ())) == ["float_coordinates"]
    assert not list(uncounted(["float_coordinate_share"], ["float_coordinates"]))
    assert not list(uncounted(["float_coordinate_share"], ["float_coordinate_share"]))


def without(profile: Profile, metric: str) -> Profile:
    return replace(profile, metrics=profile.metrics.drop(columns=[metric], errors="ignore"))
