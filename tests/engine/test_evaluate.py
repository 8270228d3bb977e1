"""Rules on launches: five outcomes; an unknown value is never a number and never a pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from ncuview.base.expression import compile_expression
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import Rule, load_rules
from ncuview.metrics.names import OF_INSTRUCTIONS
from ncuview.metrics.quantities.stalls import OF_SOME_CHIPS
from ncuview.metrics.units import UNITS
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, Outcome, Passed, Skipped
from ncuview.records.profile import Profile
from tests.builders import COPY, PER_INSTRUCTION, WARPS, Launch, load, make_profile, shared_load, store

RULES = load_rules()
BY_NAME = {rule.text.name: rule for rule in RULES}
DRAM_BYTES = {"dram__bytes_read.sum", "dram__bytes_write.sum"}
TIME = {"gpu__time_duration.sum"}
CORE = {unit.metric for unit in UNITS.values() if unit.needed} | DRAM_BYTES | TIME
"""Without these the what-if model predicts nothing, so every finding becomes skipped."""

WASTEFUL = Launch(
    metrics={
        "launch__grid_size": 256.0,
        "launch__thread_count": 256.0 * 256,
        "launch__waves_per_multiprocessor": 0.25,
        "smsp__sass_branch_targets_threads_divergent.sum": 1.0e5,
        "thread_inst_executed": 20.0 * len(COPY) * WARPS,
        "thread_inst_executed_true": 20.0 * len(COPY) * WARPS,
        "sm__maximum_warps_per_active_cycle_pct": 50.0,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 20.0,
        "lts__t_sectors.max": 80_000.0,
    },
    instructions=(load(sectors=32.0 * WARPS), shared_load(ways=8), *COPY[4:], store(sectors=32.0 * WARPS)),
)


def outcomes(profile: Profile, rules: tuple[Rule, ...] = RULES) -> list[dict[str, Outcome]]:
    """For each launch: rule name -> outcome."""
    return [by_name(launch) for launch in diagnose(profile, rules).launches]


def by_name(launch: LaunchDiagnosis) -> dict[str, Outcome]:
    return {outcome.rule.name: outcome for outcome in launch.outcomes}


def kinds(launch: Launch, rules: tuple[Rule, ...] = RULES) -> dict[str, type[Outcome]]:
    [found] = outcomes(make_profile(launch), rules)
    return {name: type(outcome) for name, outcome in found.items()}


def test_every_rule_says_something_of_every_launch() -> None:
    assert [launch.keys() for launch in outcomes(make_profile(Launch(), WASTEFUL))] == [BY_NAME.keys()] * 2


def test_nothing_is_found_on_a_launch_without_waste() -> None:
    assert set(kinds(Launch()).values()) <= {Passed, NotApplicable}


def test_waste_is_found() -> None:
    found = {name for name, kind in kinds(WASTEFUL).items() if kind is Finding}
    assert {
        "uncoalesced-global-load",
        "shared-bank-conflict",
        "divergent-branch",
        "partition-camping",
        "small-grid",
    } <= found


def test_a_rule_without_a_subject_does_not_apply() -> None:
    no_shared_memory = Launch(instructions=[load(), store()])
    assert kinds(no_shared_memory)["shared-bank-conflict"] is NotApplicable


def test_a_rule_without_a_subject_does_not_apply_even_when_other_metrics_are_missing() -> None:
    no_shared_memory = Launch(instructions=[load(), store()]).without("sm__cycles_elapsed.max")
    assert kinds(no_shared_memory)["shared-bank-conflict"] is NotApplicable


REQUIRED = [(rule.text.name, metric) for rule in RULES for metric in sorted(rule.metric_names() - OF_SOME_CHIPS)]
ONLY_FOR_LINES = {
    (rule.text.name, metric)
    for rule in RULES
    if rule.waste
    for metric in {OF_INSTRUCTIONS[name] for name in rule.waste.names} - replace(rule, waste=None).metric_names()
}


@pytest.mark.parametrize("launch", [Launch(), WASTEFUL], ids=["clean", "wasteful"])
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_a_metric_that_is_missing_or_no_number_never_gives_a_judgement(launch: Launch, value: float | None) -> None:
    metrics = sorted({metric for _, metric in REQUIRED} - CORE)
    if value is not None and math.isinf(value):
        metrics = [metric for metric in metrics if metric not in PER_INSTRUCTION]
    harmed = (launch.with_metrics({metric: value}) for metric in metrics)
    before, *after = outcomes(make_profile(launch, *harmed))
    for metric, found in zip(metrics, after, strict=True):
        for name, outcome in found.items():
            if (name, metric) in ONLY_FOR_LINES:
                assert type(outcome) is type(before[name])
            elif (name, metric) in REQUIRED:
                assert isinstance(outcome, Skipped | NotApplicable), (name, metric, outcome)


@pytest.mark.parametrize("launch", [Launch(), WASTEFUL], ids=["clean", "wasteful"])
def test_a_missing_metric_changes_no_rule_that_does_not_need_it(launch: Launch) -> None:
    metrics = sorted({metric for _, metric in REQUIRED} - CORE)
    before, *after = outcomes(make_profile(launch, *(launch.without(metric) for metric in metrics)))
    for metric, found in zip(metrics, after, strict=True):
        for name, outcome in found.items():
            if (name, metric) not in REQUIRED:
                assert type(outcome) is type(before[name]), (name, metric)


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        ("lts__t_sectors.max", "partition-camping"),
        ("smsp__pcsamp_warps_issue_stalled_barrier", "barrier-stall"),  # one reason is not taken for zero
    ],
)
def test_what_is_skipped_names_the_metric_and_the_command_that_collects_it(metric: str, rule: str) -> None:
    [found] = outcomes(make_profile(Launch().without(metric)))
    skipped = found[rule]
    assert isinstance(skipped, Skipped)
    assert skipped.missing == (metric,)
    assert skipped.message.endswith(f"ncu --metrics {metric}")


def test_a_stall_reason_of_other_chips_can_be_missing() -> None:
    assert Skipped not in set(kinds(Launch().without(*OF_SOME_CHIPS)).values())


def test_a_launch_too_short_for_samples_is_skipped_and_asks_for_nothing() -> None:
    unsampled = {metric: 0.0 for rule in RULES for metric in rule.metric_names() if "pcsamp" in metric}
    [found] = outcomes(make_profile(Launch().with_metrics(unsampled)))
    skipped = found["barrier-stall"]
    assert isinstance(skipped, Skipped)
    assert skipped.missing == ()
    assert "too short" in skipped.message


def test_a_finding_whose_gain_needs_a_missing_unit_is_skipped() -> None:
    [found] = outcomes(make_profile(WASTEFUL.without("dram__cycles_active.avg.pct_of_peak_sustained_elapsed")))
    assert not any(isinstance(outcome, Finding) for outcome in found.values())
    skipped = found["small-grid"]
    assert isinstance(skipped, Skipped)
    assert skipped.missing == ("dram__cycles_active.avg.pct_of_peak_sustained_elapsed",)


def test_an_unrelated_metric_changes_nothing() -> None:
    more = WASTEFUL.with_metrics({"sm__unheard_of.sum": 1e9, "launch__unheard_of": math.nan})
    assert outcomes(make_profile(more)) == outcomes(make_profile(WASTEFUL))


def test_a_launch_is_judged_the_same_alone_and_among_others() -> None:
    together = outcomes(make_profile(Launch(), WASTEFUL, Launch().without("lts__t_sectors.max")))
    assert together[0] == outcomes(make_profile(Launch()))[0]
    assert together[1] == outcomes(make_profile(WASTEFUL))[0]


def _with_condition_that_divides_by_zero(rule: Rule) -> Rule:
    divides = compile_expression("1 / 0 > 0")
    return replace(rule, fires=divides, when={"1 / 0 > 0": divides})


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (_with_condition_that_divides_by_zero, 'when "1 / 0 > 0"'),
        (lambda rule: replace(rule, applies=compile_expression("0 / 0")), "applies"),
        (lambda rule: replace(rule, latency_hidden=compile_expression("0 / 0")), "gain"),
    ],
)
def test_a_rule_that_gives_no_number_is_broken_and_the_others_go_on(harm: Callable[[Rule], Rule], what: str) -> None:
    broken = tuple(harm(rule) if rule.text.name == "small-grid" else rule for rule in RULES)
    [found] = outcomes(make_profile(WASTEFUL), broken)
    [sound] = outcomes(make_profile(WASTEFUL))
    outcome = found.pop("small-grid")
    assert isinstance(outcome, Broken)
    assert f"small-grid.toml: {what} is not a number" in outcome.message
    assert found == {name: kept for name, kept in sound.items() if name != "small-grid"}
