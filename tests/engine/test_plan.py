"""The metrics that ncu is asked for: all that are read, and none that ncu always gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from ncuview.base.errors import UnknownRule, UsageError
from ncuview.engine.plan import belongs_in_recording, choose_rules, first_look_metrics, metrics_for
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import Rule, load_rules
from ncuview.engine.shipped_plan import shipped_plan
from ncuview.metrics.quantities import QUANTITIES
from ncuview.metrics.units import UNITS
from ncuview.profiling.passes import collector_of, sampling_metrics
from ncuview.records.diagnosis import Finding, LaunchDiagnosis
from tests.profiles import recorded_diagnosis, recorded_profile
from tests.together import together

RULES = load_rules()
PLAN = frozenset(metrics_for(RULES))
OF_THE_LAUNCH = ("launch__", "device__", "host__")
"""What comes with every launch, or from the host."""


@together("rule", RULES, name=lambda rule: rule.text.name)
def test_every_metric_that_a_rule_reads_is_planned(rule: Rule) -> None:
    needed = {name for name in rule.metric_names() if not name.startswith(OF_THE_LAUNCH)}
    assert needed <= PLAN
    assert needed <= set(metrics_for([rule]))


def test_the_list_that_ships_is_what_the_shipped_rules_need() -> None:
    assert shipped_plan() == metrics_for(RULES), "write it anew: python -m tools.shipped_plan"


def test_what_every_diagnosis_shows_is_planned_even_without_rules() -> None:
    of_units = {unit.metric for unit in UNITS.values() if unit.metric}
    derived = {"inst_executed", "sm__cycles_elapsed.max"}
    shown = {"gpu__time_duration.sum", "dram__bytes_read.sum.per_second", "sm__cycles_active.avg"}
    assert of_units | derived | shown <= set(metrics_for([]))


def test_a_selection_leaves_out_the_collectors_that_it_does_not_need() -> None:
    spills = metrics_for(choose_rules(RULES, ["register-spill"]))
    assert {collector_of(name) for name in spills} == {"hardware", "samples", "lines"}
    assert {collector_of(name) for name in PLAN} == {"hardware", "samples", "lines", "instrumented"}


def test_both_looks_ask_for_a_part_of_the_plan() -> None:
    assert set(sampling_metrics()) < set(first_look_metrics()) < PLAN
    assert {collector_of(name) for name in sampling_metrics()} == {"hardware"}
    assert {collector_of(name) for name in first_look_metrics()} == {"hardware", "lines"}


@pytest.mark.parametrize(
    ("select", "ignore", "codes"),
    [
        (["SMEM"], [], {"SMEM001", "SMEM002", "SMEM003", "SMEM004", "SMEM005"}),
        (["smem001"], [], {"SMEM001"}),
        (["shared-bank-conflict", "OLD"], [], {"SMEM001", "OLD001"}),
        (["SMEM"], ["SMEM002", "shared-bank-conflict"], {"SMEM003", "SMEM004", "SMEM005"}),
        (
            ["INST00"],
            ["INST004", "INST005"],
            {"INST001", "INST002", "INST003", "INST006", "INST007", "INST008", "INST009"},
        ),
    ],
)
def test_rules_are_chosen_by_the_beginning_of_their_codes_or_by_name(
    select: list[str], ignore: list[str], codes: set[str]
) -> None:
    assert {rule.text.code for rule in choose_rules(RULES, select, ignore)} == codes


def test_without_a_selection_all_rules_but_the_ignored_ones_are_chosen_in_their_order() -> None:
    assert choose_rules(RULES) == RULES
    left = choose_rules(RULES, ignore=["OCC", "GRID"])
    assert left == tuple(rule for rule in RULES if not rule.text.code.startswith(("OCC", "GRID")))


@pytest.mark.parametrize("word", ["SMEMX", "shared-bank", "", "OCC0011"])
def test_a_word_that_fits_no_rule_is_refused(word: str) -> None:
    with pytest.raises(UnknownRule):
        choose_rules(RULES, [word])
    with pytest.raises(UnknownRule):
        choose_rules(RULES, [], [word])


def test_a_selection_that_leaves_no_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="no rule is left"):
        choose_rules(RULES, ["SMEM"], ["SMEM"])


@pytest.mark.parametrize("word", ["PROG", "prog003", "layout-copies"])
def test_rules_about_programs_are_not_chosen_and_the_error_says_so(word: str) -> None:
    with pytest.raises(UnknownRule, match="is about programs: only rules of kernels") as caught:
        choose_rules(RULES, [word])
    assert "run wherever call stacks are known" in str(caught.value.hint)
    with pytest.raises(UnknownRule, match="is about programs"):
        choose_rules(RULES, [], [word])


def test_no_attribute_of_launch_or_device_is_planned() -> None:
    assert [name for name in PLAN if name.startswith(OF_THE_LAUNCH) or ":" in name] == []


def test_the_plan_is_sorted_and_names_nothing_twice() -> None:
    plan = metrics_for(RULES)
    assert plan == sorted(set(plan))


def test_quantities_are_planned_through_their_metrics() -> None:
    needed = {
        name for quantity in QUANTITIES.values() for name in quantity.metrics if not name.startswith(OF_THE_LAUNCH)
    }
    assert needed <= PLAN


def test_a_recorded_profile_has_every_planned_metric() -> None:
    recorded = recorded_profile("transpose").metrics.columns
    assert PLAN - set(recorded) == set()


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("gpu__time_duration.sum", True),
        ("launch__grid_size", True),
        ("device__attribute_display_name", True),
        ("launch__occupancy_per_block_size", False),
        ("sm__unheard_of.sum", False),
    ],
)
def test_a_recording_keeps_what_was_asked_for_and_what_the_launch_is(name: str, kept: bool) -> None:
    assert belongs_in_recording(name, PLAN) is kept


PLANNED = ("transpose", "reduction", "atomics", "instructions")
"""Families whose launches rules are asked about: one of them for each rule, all in tests/nightly."""


@together("at, rule", enumerate(RULES), name=lambda each: each[1].text.name)
def test_a_rule_says_the_same_with_the_metrics_that_are_planned_for_it_alone(at: int, rule: Rule) -> None:
    check_planned(rule, PLANNED[at % len(PLANNED) :][:1])


def check_planned(rule: Rule, families: Sequence[str]) -> None:
    for family in families:
        profile = recorded_profile(family)
        planned = (*metrics_for([rule]), "launch__", "device__")
        columns = [
            name for name in profile.metrics if name in planned or str(name).startswith(("launch__", "device__"))
        ]
        alone = diagnose(replace(profile, metrics=profile.metrics[columns]), [rule])
        complete = recorded_diagnosis(family)
        assert [said(launch, rule) for launch in alone.launches] == [said(launch, rule) for launch in complete.launches]


def said(launch: LaunchDiagnosis, rule: Rule) -> tuple[object, ...]:
    (outcome,) = (each for each in launch.outcomes if each.rule.code == rule.text.code)
    gain = outcome.predicted_speedup if isinstance(outcome, Finding) else None
    return type(outcome), outcome.rule.code, gain
