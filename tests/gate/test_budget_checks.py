"""Checks of budgets on launches."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.gate.budget import read_budget
from ncuview.gate.budget_checks import budget_checks
from ncuview.gate.metric_values import MetricValues
from ncuview.gate.spread import Spreads
from ncuview.records.diagnosis import Broken, Gain, LaunchDiagnosis, NotApplicable, Passed, RuleId, Skipped
from ncuview.records.gate import Check
from tests.gate.made import diagnosis, launch, profile
from tests.render.sample import advice_finding, rejected_finding

RULE = RuleId("SMEM001", "shared-bank-conflict")
METRIC = '[[budget]]\nkernel = "copy"\nmetric = "{}"\n{}\n'
FINDING = '[[budget]]\nkernel = "copy"\nfinding = "{}"\n'
PREDICTED = '[[budget]]\nkernel = "copy"\npredicted = true\nmax = {}\n'


def checks(folder: Path, text: str, *launches: LaunchDiagnosis, **metrics: list[float]) -> list[Check]:
    (folder / "b.toml").write_text(text, encoding="utf-8")
    numbered = [replace(each, index=index) for index, each in enumerate(launches)]
    budget = read_budget(folder / "b.toml")
    return list(budget_checks(budget, diagnosis(*numbered), MetricValues(profile(*numbered, **metrics)), Spreads()))


def check(folder: Path, text: str, *launches: LaunchDiagnosis, **metrics: list[float]) -> Check:
    (only,) = checks(folder, text, *launches, **metrics)
    return only


@pytest.mark.parametrize(
    ("metric", "limit", "result"),
    [
        ("inst_executed", "max = 1000", "passed"),
        ("inst_executed", "max = 999", "failed"),
        ("inst_executed", "min = 1000", "passed"),
        ("inst_executed", "min = 1001", "failed"),
        ("inst_executed", "equal = 1000", "passed"),
        ("inst_executed", "equal = 1001", "failed"),
        ("inst_executed", "min = 1\nmax = 2000", "passed"),
        ("duration_ns", "max = 90000", "failed"),
        ("duration_ns", "max = 110000", "passed"),
        ("duration_ns", "max = 101000", "inconclusive"),
        ("duration_ns", "min = 90000", "passed"),
    ],
)
def test_conditions_on_metrics(tmp_path: Path, metric: str, limit: str, result: str) -> None:
    found = check(tmp_path, METRIC.format(metric, limit), launch())
    assert found.result == result
    assert found.measured == (100_000.0 if metric == "duration_ns" else 1000.0)
    assert found.origin == f"{tmp_path / 'b.toml'}:1, budget 1"


def test_near_exact_counters_may_differ_by_two_percent(tmp_path: Path) -> None:
    counts = {"dram_read_bytes": 1015.0}
    assert check(tmp_path, METRIC.format("dram_read_bytes", "max = 1000"), launch(counts=counts)).result == "passed"
    counts = {"dram_read_bytes": 1025.0}
    assert check(tmp_path, METRIC.format("dram_read_bytes", "max = 1000"), launch(counts=counts)).result == "failed"


def test_the_worst_launch_of_a_configuration_counts(tmp_path: Path) -> None:
    worse = launch(counts={"inst_executed": 5000.0})
    found = check(tmp_path, METRIC.format("inst_executed", "max = 1000"), launch(), worse, launch())
    assert (found.result, found.measured) == ("failed", 5000.0)


def test_each_configuration_has_a_check_of_its_own(tmp_path: Path) -> None:
    found = checks(tmp_path, METRIC.format("inst_executed", "max = 1"), launch(), launch(grid=(9, 1, 1)))
    assert [each.grid for each in found] == [(8, 1, 1), (9, 1, 1)]


def test_more_launches_decide_what_one_cannot(tmp_path: Path) -> None:
    text = METRIC.format("duration_ns", "max = 20850")
    assert check(tmp_path, text, launch(time_ns=20_000.0)).result == "inconclusive"
    assert check(tmp_path, text, *(launch(time_ns=20_000.0 + step) for step in range(6))).result == "passed"


def test_a_number_of_ncu_is_read_from_the_profile(tmp_path: Path) -> None:
    text = METRIC.format("launch__registers_per_thread", "max = 32")
    assert check(tmp_path, text, launch(), launch__registers_per_thread=[32.0]).result == "passed"
    assert check(tmp_path, text, launch(), launch__registers_per_thread=[33.0]).result == "failed"


def test_a_metric_that_was_not_collected_is_never_a_pass(tmp_path: Path) -> None:
    for metric in ("gld_transactions", "launch__registers_per_thread"):
        found = check(tmp_path, METRIC.format(metric, "max = 32"), launch())
        assert (found.result, found.measured) == ("not judged", None)
        assert metric in found.message
    found = check(
        tmp_path,
        METRIC.format("launch__registers_per_thread", "max = 32"),
        launch(),
        launch(),
        launch__registers_per_thread=[32.0, float("nan")],
    )
    assert found.result == "not judged"


def test_a_metric_without_a_subject_passes(tmp_path: Path) -> None:
    text = METRIC.format("shared_bank_conflict_ways", "max = 1")
    collected = {"memory_l1_wavefronts_shared": [0.0], "memory_l1_wavefronts_shared_ideal": [0.0]}
    found = check(tmp_path, text, launch(), **collected)
    assert found.result == "passed"
    assert "no subject" in found.message
    assert check(tmp_path, text, launch()).result == "not judged"


def test_a_finding_fails_where_the_rule_fires(tmp_path: Path) -> None:
    for name in ("SMEM001", "smem001", "shared-bank-conflict"):
        found = check(tmp_path, FINDING.format(name), launch(outcomes=(advice_finding(),)))
        assert (found.result, found.subject) == ("failed", "SMEM001 shared-bank-conflict")
        assert found.where == advice_finding().where
        assert "Up to 32-way bank conflicts" in found.message


def test_a_finding_that_is_no_advice_fails_too_and_says_so(tmp_path: Path) -> None:
    found = check(tmp_path, FINDING.format("SYNC001"), launch(outcomes=(rejected_finding(),)))
    assert found.result == "failed"
    assert "no advice: not the bottleneck" in found.message
    assert (found.condition, found.message.partition(":")[0]) == ("must not be found", "it was found")


def test_a_finding_that_is_no_advice_passes_where_only_advice_is_forbidden(tmp_path: Path) -> None:
    entry = FINDING + "advised = true\n"
    rejected = check(tmp_path, entry.format("SYNC001"), launch(outcomes=(rejected_finding(),)))
    assert (rejected.result, rejected.condition) == ("passed", "must not be advised")
    assert rejected.message.startswith("it was found and is no advice: not the bottleneck")
    assert check(tmp_path, entry.format("SMEM001"), launch(outcomes=(advice_finding(),))).result == "failed"


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (Passed(RULE, "fine"), "passed"),
        (NotApplicable(RULE, "no shared memory"), "passed"),
        (Skipped(RULE, "collect more", ("m",)), "not judged"),
        (Broken(RULE, "oops"), "not judged"),
    ],
)
def test_a_rule_that_did_not_look_is_no_pass(tmp_path: Path, outcome: Passed, result: str) -> None:
    assert check(tmp_path, FINDING.format("SMEM001"), launch(outcomes=(outcome,))).result == result


def test_a_finding_in_some_of_the_repeats_is_inconclusive(tmp_path: Path) -> None:
    launches = [launch(outcomes=(advice_finding(),)), launch(outcomes=(Passed(RULE, "fine"),))]
    assert check(tmp_path, FINDING.format("SMEM001"), *launches).result == "inconclusive"


def predicting(gain: float) -> LaunchDiagnosis:
    return launch(outcomes=(replace(advice_finding(), predicted_speedup=Gain(1.0, gain, 9.0)),))


@pytest.mark.parametrize(
    ("gains", "result"),
    [([2.2, 2.3], "failed"), ([1.1, 1.15], "passed"), ([1.1, 1.3], "inconclusive")],
)
def test_the_predicted_gain_can_be_limited(tmp_path: Path, gains: list[float], result: str) -> None:
    found = check(tmp_path, PREDICTED.format(1.2), *map(predicting, gains))
    assert found.result == result
    assert found.unit == "x"
    assert bool(found.where) is (result == "failed")


def test_no_predicted_gain_needs_every_rule_to_have_judged(tmp_path: Path) -> None:
    assert check(tmp_path, PREDICTED.format(1.2), launch()).result == "passed"
    found = check(tmp_path, PREDICTED.format(1.2), launch(outcomes=(Skipped(RULE, "collect", ("m",)),)))
    assert found.result == "not judged"
    assert "SMEM001" in found.message


def test_an_entry_without_a_kernel_is_visible_and_no_pass(tmp_path: Path) -> None:
    found = check(tmp_path, METRIC.format("inst_executed", "max = 1"), launch("renamed"))
    assert (found.result, found.level, found.kernel, found.grid) == ("not judged", "error", "copy", (0, 0, 0))
    assert "there are renamed" in found.message
    text = METRIC.format("inst_executed", "max = 1\nrequired = false")
    assert check(tmp_path, text, launch("renamed")).level == "warn"


def test_an_entry_that_is_off_says_nothing(tmp_path: Path) -> None:
    assert checks(tmp_path, METRIC.format("inst_executed", 'max = 1\nlevel = "off"'), launch()) == []


def test_the_nearest_of_ncus_names_are_given_for_an_unknown_one(tmp_path: Path) -> None:
    found = check(tmp_path, METRIC.format("smsp__inst_executd.sum", "max = 1"), launch("copy"))
    assert "it was not collected. Did you mean smsp__inst_executed.sum or " in found.message
