"""A first look loses no advice, whatever is missing in it, and excuses launches from a second one."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ncuview.api import load_rules
from ncuview.base.paths import shipped
from ncuview.engine.first_look import LEAST_SAVING, SecondLook, joined, second_look
from ncuview.engine.plan import first_look_metrics, metrics_for
from ncuview.engine.rank import diagnose
from ncuview.profiling.passes import sampling_metrics
from ncuview.reader.host_times import with_host_times_of
from ncuview.records.diagnosis import Diagnosis, Finding, Passed, Skipped
from ncuview.records.profile import Profile
from tests.builders import USE, Launch, make_profile
from tests.profiles import RECORDED, labelled_diagnosis, profile_of, recorded_diagnosis

RULES = load_rules()
PLAN = metrics_for(RULES)
FEW = [path for path in RECORDED if path.parent.name in {"occupancy", "atomics", "constant_memory", "transfers"}]
OF_THE_LAUNCH = ("launch__", "device__", "host__")
TABLE = ["launch", "address", "sass", "file", "line"]


@cache
def recorded(path: Path) -> Profile:
    return with_host_times_of(profile_of(path), path)


@cache
def whole_diagnosis(path: Path) -> Diagnosis:
    return recorded_diagnosis(path.parent.name) if path in RECORDED else labelled_diagnosis(path)


def at_a_look(profile: Profile, metrics: Collection[str]) -> Profile:
    """The profile as a run with these metrics alone would have given it."""
    kept = [name for name in profile.metrics.columns if name in metrics or name.startswith(OF_THE_LAUNCH)]
    carried = [name for name in profile.instructions.columns if name in metrics]
    rows = profile.instructions[TABLE + carried]
    times = {} if "gpu__time_duration.sum" in metrics else {"duration_ns": math.nan}
    return replace(
        profile,
        launches=profile.launches.assign(**times),
        metrics=profile.metrics[kept],
        instructions=rows if carried else rows.iloc[:0],
    )


@cache
def first_look_of(path: Path) -> SecondLook:
    return second_look(at_a_look(recorded(path), first_look_metrics()), RULES)


def lost(look: SecondLook, whole: Diagnosis, *, first_only: bool) -> list[tuple[str, str]]:
    """The advice of the complete diagnosis that a second look would not give: kernel and rule."""
    judged = {rule.text.code for rule in look.rules}
    return [
        (launch.kernel, found.rule.code)
        for place, launch in enumerate(whole.launches)
        for found in launch.findings[: 1 if first_only else None]
        if place not in look.launches or found.rule.code not in judged & look.possible(place)
    ]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_a_first_look_loses_no_first_advice(path: Path) -> None:
    assert lost(first_look_of(path), whole_diagnosis(path), first_only=True) == []


def test_what_weight_leaves_out_could_save_next_to_nothing() -> None:
    """All that sampling loses is on launches of no weight, and together worth less than the limit."""
    for path in FEW:
        whole, glance = whole_diagnosis(path), at_a_look(recorded(path), sampling_metrics())
        look = second_look(glance, RULES, least_saving=0.01)
        given_up = [launch for place, launch in enumerate(whole.launches) if place not in look.launches]
        saving = sum(
            launch.duration_ns * (1 - 1 / launch.findings[0].predicted_speedup.best)
            for launch in given_up
            if launch.findings and not launch.host
        )
        assert saving < 0.01 * sum(launch.duration_ns for launch in whole.launches)


@settings(max_examples=25, phases=[Phase.explicit, Phase.generate])
@given(path=st.sampled_from(FEW), metrics=st.frozensets(st.sampled_from(PLAN)))
def test_no_advice_is_lost_whatever_is_missing_in_the_first_look(path: Path, metrics: frozenset[str]) -> None:
    look = second_look(at_a_look(recorded(path), metrics), RULES, least_saving=0.0)
    assert lost(look, whole_diagnosis(path), first_only=False) == []


def test_with_every_metric_exactly_the_launches_with_advice_are_left() -> None:
    path = shipped("kernels") / "transpose" / "h200.ncu-repz"
    look = second_look(recorded(path), RULES, least_saving=0.0)
    advised = [place for place, launch in enumerate(whole_diagnosis(path).launches) if launch.findings]
    assert list(look.launches) == advised
    fired = {found.rule.code for launch in whole_diagnosis(path).launches for found in launch.findings}
    assert fired <= {rule.text.code for rule in look.rules}


def glance(*launches: Launch) -> Profile:
    return at_a_look(make_profile(*launches), first_look_metrics())


def using(share: float, unit: str, **more: float) -> Launch:
    return Launch(metrics={USE[unit]: 100 * share, "dram__bytes_write.sum": 0.0, **more})


SLOW = Launch(metrics={"gpu__time_duration.sum": 1e6})


def test_a_launch_at_the_peak_of_the_memory_needs_no_second_look() -> None:
    look = second_look(glance(using(0.91, "dram"), SLOW), RULES)
    assert 0 not in look.launches
    assert 1 in look.launches


@pytest.mark.parametrize(("weight", "again"), [(1.0, False), (1000.0, True)])
def test_a_short_launch_counts_as_often_as_it_is_launched(weight: float, *, again: bool) -> None:
    short = Launch(metrics={"gpu__time_duration.sum": 50_000.0})
    long = Launch(metrics={"gpu__time_duration.sum": 1e8})
    look = second_look(glance(short, long), RULES, weights=[weight, 1.0])
    assert (0 in look.launches) is again
    assert 1 in look.launches


def test_many_launches_of_little_weight_are_left_out_together_only_below_the_limit() -> None:
    count = 100
    profile = glance(*[Launch(metrics={"gpu__time_duration.sum": 1e4})] * count, SLOW)
    left_out = count + 1 - len(second_look(profile, RULES).launches)
    total = count * 1e4 + 1e6
    assert left_out * 1e4 * (1 - 1 / 10) < LEAST_SAVING * total * 2
    assert left_out < count


def test_a_launch_of_unknown_duration_is_looked_at_again() -> None:
    unknown = Launch(metrics={"gpu__time_duration.sum": math.nan})
    assert 0 in second_look(glance(unknown, SLOW), RULES).launches


def test_a_bound_is_zero_where_the_rule_cannot_fire_and_rises_when_metrics_are_missing() -> None:
    less = second_look(at_a_look(make_profile(), sampling_metrics()), RULES)
    more = second_look(glance(Launch()), RULES)
    assert more.largest["ATOM001"][0] == 0  # its machine code holds no atomics
    assert less.largest["ATOM001"][0] > 1
    assert all(np.all(less.largest[code] >= more.largest[code] - 1e-9) for code in more.largest)


def test_nothing_is_left_where_no_rule_can_say_anything() -> None:
    look = second_look(glance(using(0.91, "dram")), RULES)
    assert (look.rules, look.launches) == ((), ())


def test_the_joined_diagnosis_says_of_every_rule_what_the_look_that_judged_it_said() -> None:
    first = glance(using(0.91, "dram"), SLOW)
    look = second_look(first, RULES)
    again = make_profile(SLOW)
    answer = joined(diagnose(first, RULES, from_counters=False), diagnose(again, look.rules), look, {1: 0})
    done, looked_at = answer.launches
    assert done.verdict == "near-peak"
    assert not [outcome for outcome in done.outcomes if isinstance(outcome, Skipped)]
    assert any(isinstance(outcome, Passed) and "by the first look" in outcome.message for outcome in done.outcomes)
    for launch in (done, looked_at):
        assert sorted(outcome.rule.code for outcome in launch.outcomes) == [rule.text.code for rule in RULES]
    assert not [outcome for outcome in looked_at.outcomes if isinstance(outcome, Skipped)]


def test_a_recorded_family_has_the_same_diagnosis_with_two_looks() -> None:
    path = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"
    first = at_a_look(recorded(path), first_look_metrics())
    look = second_look(first, RULES, least_saving=0.0)
    again = {place: place for place in look.launches}
    answer = joined(diagnose(first, RULES, from_counters=False), diagnose(recorded(path), look.rules), look, again)
    for seen, whole in zip(answer.launches, whole_diagnosis(path).launches, strict=True):
        assert [each.rule for each in seen.findings] == [each.rule for each in whole.findings]
        gains = [each.predicted_speedup for each in seen.outcomes if isinstance(each, Finding) and not each.rejected]
        assert gains == [each.predicted_speedup for each in whole.findings]


def test_without_anything_to_look_at_again_the_first_diagnosis_stands() -> None:
    first = glance(using(0.91, "dram"))
    look = second_look(first, RULES)
    answer = joined(diagnose(first, RULES, from_counters=False), None, look, {})
    assert [launch.verdict for launch in answer.launches] == ["near-peak"]
