"""Textbook metrics: the table is complete, and each number is what the documents mean by its name."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UnknownMetric
from ncuview.base.expression import compile_expression
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import STALL_REASONS
from ncuview.metrics.textbook import definition, definitions, metric_names, textbook_metrics
from ncuview.records.diagnosis import TextbookMetric
from ncuview.records.profile import Profile
from tests.together import together

ROWS = list(
    csv.DictReader(
        files("ncuview.metrics").joinpath("textbook_metrics.csv").read_text(encoding="utf-8").splitlines(),
    ),
)
EXPRESSIONS = sorted({text for each in definitions().values() for text in each.expressions})

ROLLUP = r"\.(sum|avg|max|min)(\.(per_second|per_cycle_active|pct_of_peak_sustained_(active|elapsed)))?"
HARDWARE = re.compile(rf"[a-z0-9]+__[a-z0-9_]+({ROLLUP}|\.pct|\.ratio)")
ATTRIBUTE = re.compile(r"(launch|device__attribute)__?[a-z0-9_]+|sm__maximum_warps_per_active_cycle_pct")
SAMPLES = re.compile(r"smsp__pcsamp_(warps_issue_stalled_[a-z_]+|sample_count)")
LINE = re.compile(r"(memory_l[12]_[a-z_]+|(thread_)?inst_executed(_true)?)")

SECTORS, LOADS = (
    "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__sass_inst_executed_op_global_ld.sum",
)
AVERAGE_SECTORS = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"
REASONS_OF_EVERY_CHIP = [reason for reason in STALL_REASONS if reason not in {"imc_miss", "warpgroup_arrive"}]


def profile_with(columns: dict[str, list[float]]) -> Profile:
    """A profile that has these metrics and nothing else."""
    metrics = pd.DataFrame(columns, dtype=np.float64)
    launches = pd.DataFrame({"duration_ns": np.nan}, index=metrics.index, dtype=np.float64)
    instructions = pd.DataFrame({"launch": [], "address": [], "sass": [], "file": [], "line": []})
    return Profile((), launches, metrics, {}, instructions, {})


def only_launch(metrics: dict[str, float]) -> Mapping[str, TextbookMetric]:
    [launch] = textbook_metrics(Analysis(profile_with({name: [value] for name, value in metrics.items()})))
    return launch


def test_the_table_has_everything_that_nvprof_had() -> None:
    assert Counter(row["kind"] for row in ROWS if row["status"] != "ncuview") == {"metric": 181, "event": 82}


def test_a_name_stands_once_per_kind() -> None:
    assert max(Counter((row["kind"], row["name"]) for row in ROWS).values()) == 1


def test_one_name_is_both_metric_and_event_and_the_metric_is_found() -> None:
    twice = [name for name, count in Counter(row["name"] for row in ROWS).items() if count > 1]
    assert twice == ["inst_executed"]
    assert definition("inst_executed").kind == "metric"


@together("row", ROWS, name=lambda row: f"{row['kind']}-{row['name']}")
def test_a_row_says_what_it_means_in_which_unit_and_what_to_do_without_it(row: dict[str, str]) -> None:
    assert row["definition"].endswith(".")
    assert row["unit"]
    assert row["expressions"] or row["notes"]
    assert (row["status"] == "no equivalent") == (not row["expressions"] and row["name"] != "effective_bandwidth")


@together("text", EXPRESSIONS)
def test_an_expression_compiles_and_reads_metrics_that_look_like_metrics(text: str) -> None:
    names = metric_names(text)
    assert compile_expression(text, dotted=True).names == names
    for name in names:
        assert any(form.fullmatch(name) for form in (HARDWARE, ATTRIBUTE, SAMPLES, LINE)), name


@pytest.mark.parametrize(
    ("name", "metrics", "expected"),
    [
        ("gld_transactions_per_request", {SECTORS: 32.0, LOADS: 1.0}, 32.0),
        ("gld_transactions_per_request", {AVERAGE_SECTORS: 4.0}, 4.0),
        ("gld_efficiency", {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio": 4.0}, 12.5),
        ("warp_nonpred_execution_efficiency", {"thread_inst_executed_true": 2460.0, "inst_executed": 100.0}, 76.875),
        ("warp_execution_efficiency", {"smsp__thread_inst_executed_per_inst_executed.ratio": 16.0}, 50.0),
        ("ipc", {"sm__inst_executed.avg.per_cycle_active": 3.24}, 3.24),
        ("eligible_warps_per_cycle", {"smsp__warps_eligible.avg.per_cycle_active": 0.5}, 2.0),
        ("achieved_occupancy", {"sm__warps_active.avg.pct_of_peak_sustained_active": 48.0}, 0.48),
        ("dram_utilization", {"dram__cycles_active.avg.pct_of_peak_sustained_elapsed": 83.0}, 8.3),
        ("dram_read_throughput", {"dram__bytes_read.sum": 4e6, "gpu__time_duration.sum": 1000.0}, 4e12),
        (
            "dram_throughput",
            {"dram__bytes_read.sum.per_second": 2e12, "dram__bytes_write.sum.per_second": 1e12},
            3e12,
        ),
        (
            "gld_requested_throughput",
            {
                SECTORS: 1000.0,
                "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct": 12.5,
                "gpu__time_duration.sum": 1.0,
            },
            4e12,
        ),
        ("l2_tex_read_throughput", {"lts__t_sectors_srcunit_tex_op_read.sum.per_second": 2.0}, 64.0),
        (
            "shared_bank_conflict_ways",
            {"memory_l1_wavefronts_shared": 69206016.0, "memory_l1_wavefronts_shared_ideal": 4194304.0},
            16.5,
        ),
        (
            "sm_efficiency",
            {"sm__cycles_active.avg": 50.0, "sm__cycles_elapsed.max": 200.0, "sm__cycles_elapsed.avg": 100.0},
            50.0,
        ),
        (
            "issued_ipc",
            {
                "sm__inst_issued.avg.pct_of_peak_sustained_elapsed": 40.0,
                "device__attribute_max_ipc_per_multiprocessor": 4.0,
                "sm__cycles_elapsed.max": 100.0,
                "sm__cycles_active.avg": 80.0,
            },
            2.0,
        ),
    ],
)
def test_known_values(name: str, metrics: dict[str, float], expected: float) -> None:
    assert only_launch(metrics)[name].value == pytest.approx(expected)
    assert only_launch(metrics)[name].unit == definition(name).unit


def test_the_last_warp_of_a_block_counts_as_a_full_warp() -> None:
    launch = only_launch({"launch__block_size": 48.0, "launch__grid_size": 10.0, "smsp__inst_executed.sum": 100.0})
    assert launch["warps_launched"].value == 20
    assert launch["inst_per_warp"].value == 5


@pytest.mark.parametrize("total", [{}, {"smsp__pcsamp_sample_count": 190.0}], ids=["summed", "reported"])
def test_a_stall_share_is_of_all_samples(total: dict[str, float]) -> None:
    samples = {f"smsp__pcsamp_warps_issue_stalled_{reason}": 10.0 for reason in REASONS_OF_EVERY_CHIP}
    samples["smsp__pcsamp_warps_issue_stalled_barrier"] = 30.0
    samples["smsp__pcsamp_warps_issue_stalled_barrier_not_issued"] = 29.0
    launch = only_launch(samples | total)
    assert launch["stall_sync"].value == pytest.approx(100 * (30 + 10) / 190)
    assert "stall_constant_memory_dependency" not in launch


def test_a_choice_of_stall_reasons_gives_no_shares() -> None:
    assert "stall_barrier" not in only_launch({"smsp__pcsamp_warps_issue_stalled_barrier": 30.0})


def test_a_launch_takes_the_first_expression_that_it_has_metrics_for() -> None:
    profile = profile_with({SECTORS: [32.0, np.nan], LOADS: [1.0, 1.0], AVERAGE_SECTORS: [5.0, 8.0]})
    first, second = textbook_metrics(Analysis(profile))
    assert first["gld_transactions_per_request"] == TextbookMetric(32.0, "sector/request", f"{SECTORS} / {LOADS}")
    assert second["gld_transactions_per_request"] == TextbookMetric(8.0, "sector/request", AVERAGE_SECTORS)


def test_the_metrics_of_a_launch_are_a_mapping_of_what_it_has() -> None:
    profile = profile_with({SECTORS: [32.0, np.nan], LOADS: [1.0, 1.0]})
    first, second = textbook_metrics(Analysis(profile))
    assert len(first) == len(list(first)) == len(dict(first)) > len(second)
    assert first == {name: first[name] for name in first}
    assert "gld_transactions_per_request" in first
    assert "gld_transactions_per_request" not in second
    assert second.get("gld_transactions_per_request") is None
    assert "no such metric" not in first
    with pytest.raises(KeyError, match="gld_transactions_per_request"):
        second["gld_transactions_per_request"]
    assert repr(first) == repr(dict(first))


@pytest.mark.parametrize(
    "metrics",
    [{SECTORS: 32.0}, {SECTORS: np.nan, LOADS: 1.0}, {SECTORS: 32.0, LOADS: 0.0}, {SECTORS: np.inf, LOADS: 1.0}],
    ids=["missing", "nan", "divided by zero", "infinite"],
)
def test_what_cannot_be_computed_is_left_out(metrics: dict[str, float]) -> None:
    assert "gld_transactions_per_request" not in only_launch(metrics)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("gld_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"),
        ("gst_efficiency", "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"),
        ("shared_efficiency", "smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct"),
        ("branch_efficiency", "smsp__sass_average_branch_targets_threads_uniform.pct"),
    ],
)
def test_the_zero_that_ncu_reports_for_nothing_is_no_efficiency(name: str, metric: str) -> None:
    assert name not in only_launch({metric: 0.0})
    assert only_launch({metric: 25.0})[name].value == 25


def test_a_kernel_all_of_whose_branches_diverge_has_an_efficiency_of_zero() -> None:
    diverging = {
        "smsp__sass_average_branch_targets_threads_uniform.pct": 0.0,
        "smsp__sass_branch_targets_threads_divergent.sum": 7.0,
    }
    assert only_launch(diverging)["branch_efficiency"].value == 0


COUNTS = st.floats(min_value=1, max_value=1e12)
RATIOS = {
    "gld_transactions_per_request": (SECTORS, LOADS),
    "warp_execution_efficiency": ("thread_inst_executed", "inst_executed"),
    "shared_bank_conflict_ways": ("memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"),
    "l2_slice_imbalance": ("lts__t_sectors.max", "lts__t_sectors.avg"),
    "inst_per_warp": ("smsp__inst_executed.sum", "smsp__warps_launched.sum"),
    "dram_read_throughput": ("dram__bytes_read.sum", "gpu__time_duration.sum"),
}


@given(name=st.sampled_from(sorted(RATIOS)), above=COUNTS, below=COUNTS, factor=st.floats(min_value=1.0, max_value=1e3))
def test_twice_the_work_has_the_same_ratios(name: str, above: float, below: float, factor: float) -> None:
    numerator, denominator = RATIOS[name]
    once = only_launch({numerator: above, denominator: below})[name].value
    scaled = only_launch({numerator: above * factor, denominator: below * factor})[name].value
    assert scaled == pytest.approx(once)


def test_a_profile_without_launches_has_no_metrics() -> None:
    assert textbook_metrics(Analysis(profile_with({SECTORS: [], LOADS: []}))) == []


def test_an_unknown_name_brings_the_nearest() -> None:
    with pytest.raises(UnknownMetric, match="gld_eficiency") as caught:
        definition("gld_eficiency")
    assert "gld_efficiency" in caught.value.hint


def test_a_name_like_no_other_brings_the_list() -> None:
    with pytest.raises(UnknownMetric) as caught:
        definition("?")
    assert "ncuview metrics" in caught.value.hint
