"""Missing metrics skip rules; they never change the outcome of a rule that does not need them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import cache
from itertools import chain
from math import isnan

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ncuview.api import load_rules
from ncuview.catalogue.kernels import recorded_report
from ncuview.engine.rank import diagnose
from ncuview.metrics.units import UNITS
from ncuview.records.diagnosis import Broken, Finding, NotApplicable, Outcome, RuleId, Skipped
from ncuview.records.profile import Profile
from tests.profiles import profile_of

FAMILIES = ("reduction", "occupancy", "texture", "atomics", "transfers")


def without(profile: Profile, gone: Collection[str]) -> Profile:
    """The profile as if these metrics had not been collected, for launches and for instructions."""
    metrics, instructions = profile.metrics, profile.instructions
    duration = {"duration_ns": float("nan")} if "gpu__time_duration.sum" in gone else {}
    return replace(
        profile,
        launches=profile.launches.assign(**duration),
        metrics=metrics.drop(columns=[name for name in metrics.columns if name in gone]),
        instructions=instructions.drop(columns=[name for name in instructions.columns[5:] if name in gone]),
    )


def said(profile: Profile) -> list[dict[RuleId, Outcome]]:
    """What every rule says of each launch."""
    launches = diagnose(profile, load_rules()).launches
    return [{outcome.rule: outcome for outcome in launch.outcomes} for launch in launches]


@cache
def with_all_metrics(family: str) -> list[dict[RuleId, Outcome]]:
    return said(profile_of(recorded_report(family)))


def families_and_losses() -> st.SearchStrategy[tuple[str, frozenset[str]]]:
    def losses(family: str) -> st.SearchStrategy[tuple[str, frozenset[str]]]:
        names = sorted(
            {
                *profile_of(recorded_report(family)).metrics.columns,
                *profile_of(recorded_report(family)).instructions.columns[5:],
            }
        )
        few = st.frozensets(st.sampled_from(names), min_size=1, max_size=4)
        return st.tuples(
            st.just(family), few | few.map(lambda kept: frozenset(names) - kept) | st.frozensets(st.sampled_from(names))
        )

    return st.sampled_from(FAMILIES).flatmap(losses)


@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # to shrink takes minutes
@given(families_and_losses())
def test_no_rule_says_anything_new_when_metrics_are_gone(case: tuple[str, frozenset[str]]) -> None:
    check_gone(*case)


def check_gone(family: str, gone: frozenset[str]) -> None:
    for before, after in zip(
        with_all_metrics(family), said(without(profile_of(recorded_report(family)), gone)), strict=True
    ):
        for rule, outcome in after.items():
            was = before[rule]
            assert not isinstance(outcome, Broken), outcome
            if isinstance(outcome, Finding):
                assert isinstance(was, Finding), f"{rule.code} was {was}"
            elif not isinstance(outcome, Skipped):
                assert type(outcome) is type(was), f"{rule.code} was {was}, is {outcome}"


@pytest.mark.parametrize("family", FAMILIES)
def test_without_any_metric_every_rule_is_skipped_or_has_no_subject(family: str) -> None:
    profile = profile_of(recorded_report(family))
    for outcomes in said(without(profile, {*profile.metrics.columns, *profile.instructions.columns[5:]})):
        assert all(isinstance(outcome, Skipped | NotApplicable) for outcome in outcomes.values())
        assert any(isinstance(outcome, Skipped) for outcome in outcomes.values())


def test_where_no_unit_was_measured_nothing_is_known_of_the_peak() -> None:
    profile = profile_of(recorded_report("reduction"))
    launches = diagnose(without(profile, {unit.metric for unit in UNITS.values()}), load_rules()).launches
    assert not {*chain.from_iterable(launch.units for launch in launches)} & {"dram", "l2", "issue", "fma"}
    assert all(isnan(launch.attained) for launch in launches)
    assert not any(isnan(launch.attained) for launch in diagnose(profile, load_rules()).launches)
