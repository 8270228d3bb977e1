"""The classes of metrics, compared with measured spreads."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.gate.baseline_checks import COUNTERS
from ncuview.metrics.repeatability import NEAR_TOLERANCE, MetricClass, best_class, class_of_expression, class_of_metric
from ncuview.metrics.textbook import definitions
from tests.together import together

MEASURED = Path(__file__).resolve().parents[2] / "benchmarks" / "gate" / "measured_spread.csv"
MOST = {MetricClass.EXACT: 0.0, MetricClass.NEAR: NEAR_TOLERANCE, MetricClass.TIME: 0.10}
SMALL_SHARES = {"lts__t_sector_op_read_hit_rate.pct"}
"""Between 0.03 and 0.05 %: shares are compared by points, not by their relative spread."""


def measured() -> dict[str, float]:
    with MEASURED.open(encoding="utf-8") as file:
        return {row["metric"]: float(row["worst_spread"]) for row in csv.DictReader(file)}


@together("metric, spread", measured().items())
def test_no_metric_spreads_more_than_its_class_allows(metric: str, spread: float) -> None:
    kind = class_of_metric(metric)
    assert kind is MetricClass.NOISY or metric in SMALL_SHARES or spread <= MOST[kind]


def test_most_of_what_repeats_is_gated_as_such() -> None:
    exact = [name for name, spread in measured().items() if spread == 0]
    assert sum(class_of_metric(name) is MetricClass.EXACT for name in exact) > 0.5 * len(exact)
    worst = [name for name, spread in measured().items() if spread > 0.2 and name not in SMALL_SHARES]
    assert {class_of_metric(name) for name in worst} == {MetricClass.NOISY}


def test_what_the_rules_collect_was_mostly_measured() -> None:
    planned = set(metrics_for(load_rules()))
    assert len(planned & measured().keys()) > 0.7 * len(planned)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("duration_ns", MetricClass.TIME),
        ("gld_transactions_per_request", MetricClass.EXACT),
        ("shared_bank_conflict_ways", MetricClass.EXACT),
        ("achieved_occupancy", MetricClass.NEAR),
        ("ipc", MetricClass.TIME),
        ("dram_write_bytes", MetricClass.NOISY),
        ("stall_sync", MetricClass.NOISY),
        ("some__metric_nobody_knows.sum", MetricClass.TIME),
        ("smsp__pcsamp_warps_issue_stalled_wait", MetricClass.NOISY),
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", MetricClass.NOISY),
    ],
)
def test_names_have_classes(name: str, kind: MetricClass) -> None:
    assert best_class(name) is kind


def test_an_expression_is_as_bad_as_the_worst_of_its_metrics() -> None:
    assert class_of_expression("inst_executed / launch__sm_count") is MetricClass.EXACT
    assert class_of_expression("inst_executed / dram__bytes_read.sum") is MetricClass.NEAR
    assert class_of_expression("inst_executed / gpu__time_duration.sum") is MetricClass.TIME
    assert class_of_expression("dram__bytes_read.sum + dram__bytes_write.sum") is MetricClass.NOISY


@together("name", COUNTERS)
def test_what_a_baseline_is_compared_by_repeats(name: str) -> None:
    assert class_of_expression(definitions()[name].expressions[0]) <= MetricClass.NEAR
