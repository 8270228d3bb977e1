"""No gate passes on a number that is unknown or cannot be: all operators of budgets, and baselines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncuview.api import load_rules
from ncuview.base.errors import NothingProfiled, TableError
from ncuview.engine.rank import diagnose
from ncuview.gate.baseline import baseline_of
from ncuview.gate.baseline_checks import COUNTERS
from ncuview.gate.budget import Budget, Entry
from ncuview.gate.budget_checks import budget_checks
from ncuview.gate.formatting import quantity
from ncuview.gate.judge import judge
from ncuview.gate.metric_values import MetricValues
from ncuview.gate.spread import Spreads, read_spreads
from ncuview.gate.verdict import exit_code, on_missing
from ncuview.metrics.repeatability import DURATION, MetricClass, best_class
from ncuview.metrics.textbook import definitions
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Broken, Diagnosis, Finding, Gain, LaunchDiagnosis, Skipped
from ncuview.records.gate import Check
from ncuview.records.profile import Failure, Profile
from ncuview.render.outputs import FORMATS, output_text
from tests.bad_numbers import LAUNCHES, TIME, UNKNOWN, Spot, copies, metric_names, with_numbers
from tests.gate.made import diagnosis, launch, profile
from tests.profiles import recorded_profile
from tests.render.sample import advice_finding

RULES = load_rules()
FAMILIES = ("reduction", "transfers")
WIDE = 1e300
"""A limit that every number keeps."""
ABOUT_HOST = ("host__to_device_time", "host__kernel_time", "host__to_host_time", "host__whole_time")


@cache
def good(family: str) -> tuple[Profile, Diagnosis]:
    """One launch as it was recorded."""
    found = copies(recorded_profile(family), [LAUNCHES[family]])
    return found, diagnose(found, RULES)


@cache
def poisoned(family: str) -> tuple[list[Spot], Profile, Diagnosis]:
    """A launch once for each metric and each number that is unknown or cannot be."""
    profile = recorded_profile(family)
    limited = [metric for metric in metric_names(profile) if not metric.startswith("device__")]
    spots = [Spot(0, metric, value) for metric in limited for value in (UNKNOWN, inf, -1.0)]
    spots = [replace(spot, launch=number) for number, spot in enumerate(spots)]
    found = with_numbers(copies(recorded_profile(family), [LAUNCHES[family]] * len(spots)), spots)
    return spots, found, diagnose(found, RULES)


def entry(kernel: str, **keys: Any) -> Entry:
    return Entry.model_validate({"kernel": kernel, **keys})


def held_against(asked: Entry, *launches: LaunchDiagnosis) -> list[Check]:
    """The checks of one entry."""
    found, read = diagnosis(*launches), MetricValues(profile(*launches))
    return list(budget_checks(Budget(entries=(asked,)), found, read, Spreads()))


def conditions(metric: str) -> list[Entry]:
    """Every operator that a budget may have for a metric, with limits that every number keeps."""
    kind = best_class(metric)
    if kind is MetricClass.NOISY:
        return []
    limits: list[dict[str, float]] = [{"max": WIDE}, {"min": -WIDE}, {"min": -WIDE, "max": WIDE}]
    limits += [] if kind is MetricClass.TIME else [{"equal": 0.0}]
    return [entry("*", metric=metric, **limit) for limit in limits]


def checked(entries: Iterable[Entry], found: Diagnosis, numbers: MetricValues, number: int) -> list[Check]:
    alone = replace(found, launches=(found.launches[number],))
    return list(budget_checks(Budget(entries=tuple(entries)), alone, numbers, Spreads()))


@pytest.mark.parametrize("family", FAMILIES)
def test_no_operator_passes_on_a_metric_of_ncu_that_cannot_be(family: str) -> None:
    spots, read, found = poisoned(family)
    numbers, good_numbers = MetricValues(read), MetricValues(good(family)[0])
    judged = 0
    for number, spot in enumerate(spots):
        if spot.metric not in read.metrics.columns or spot.metric in definitions():
            continue  # what documents call by the same name may be computed from others
        entries = conditions(spot.metric)
        for check in checked(entries, found, numbers, number):
            assert (check.result, check.measured) == ("not judged", None), (spot, check)
            if isfinite(spot.value) or spot.value == inf:
                assert f"{spot.metric} is {spot.value:g}" in check.message
            judged += 1
        without_fault = checked(entries, good(family)[1], good_numbers, 0)
        assert all(each.result != "not judged" for each in without_fault if "equal" not in each.condition)
    assert judged > len(spots)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_operator_passes_on_what_was_computed_from_it(family: str) -> None:
    spots, read, found = poisoned(family)
    numbers = MetricValues(read)
    names = [name for name, each in definitions().items() if each.expressions]
    good_launch = good(family)[1].launches[0]
    before = {
        name: MetricValues(good(family)[0]).of(good_launch, name) for name in names if name in good_launch.metrics
    }
    refused = 0
    for number, spot in enumerate(spots):
        for name in (name for name, was in before.items() if spot.metric in was.metrics):
            now = numbers.of(found.launches[number], name)
            # "a > 0 or b > 0" is known where only one of them is, and then is what it was.
            assert now.value is None or spot.metric not in now.metrics or now.value == before[name].value
            for check in checked(conditions(name), found, numbers, number) if now.value is None else ():
                assert check.result == "not judged", (spot, check)
                refused += 1
    assert refused


@pytest.mark.parametrize("family", FAMILIES)
def test_a_time_that_cannot_be_is_within_no_limit(family: str) -> None:
    spots, read, found = poisoned(family)
    numbers = MetricValues(read)
    about_time = {TIME, *(ABOUT_HOST if found.launches[0].host or family == "transfers" else ())}
    seen = set()
    for number, spot in enumerate(spots):
        results = {check.result for check in checked(conditions(DURATION), found, numbers, number)}
        if spot.metric in about_time and not (spot.metric == TIME and found.launches[number].host):
            assert results == {"not judged"}, spot
            seen.add(spot.metric)
        elif not spot.metric.startswith("host__"):
            assert results == {"passed"}, spot
    assert seen


@pytest.mark.parametrize("family", FAMILIES)
def test_rules_and_predictions_that_could_not_be_judged_pass_no_gate(family: str) -> None:
    spots, read, found = poisoned(family)
    numbers = MetricValues(read)
    fired = {outcome.rule.code for outcome in good(family)[1].launches[0].outcomes if isinstance(outcome, Finding)}
    entries = [
        entry("*", predicted=True, max=WIDE),
        *(entry("*", finding=code) for code in sorted(fired)),
    ]
    for number, spot in enumerate(spots):
        predicted, *findings = checked(entries, found, numbers, number)
        unknown = [o for o in found.launches[number].outcomes if isinstance(o, Skipped | Broken)]
        assert (predicted.result == "not judged") == bool(unknown), spot
        assert all(check.result in {"failed", "not judged"} for check in findings), spot


@pytest.mark.parametrize("family", FAMILIES)
def test_a_baseline_is_held_against_no_number_that_cannot_be(family: str) -> None:
    spots, read, found = poisoned(family)
    settings = {report.path: Settings("none", "all", "kernel") for report in found.reports}
    twins = diagnose(copies(recorded_profile(family), [LAUNCHES[family]] * len(spots)), RULES)
    before = baseline_of(twins, settings.values(), Spreads(), "1")
    gate = judge(found, read, Budget(), ("main", before), settings=settings, spreads=Spreads())
    by_kernel: dict[str, list[Check]] = {}
    for check in gate.checks:
        by_kernel.setdefault(check.kernel, []).append(check)
    numbers = MetricValues(read)
    for number, spot in enumerate(spots):
        launch = found.launches[number]
        results = {check.subject: check for check in by_kernel[launch.demangled]}
        assert all(check.result != "failed" for check in results.values()), spot
        if spot.metric == TIME and launch.host is None:
            assert results[DURATION].result == "not judged", spot
        unknown = [
            name
            for name in COUNTERS
            if name in twins.launches[number].metrics and numbers.of(launch, name).value is None
        ]
        unjudged = [check for check in by_kernel[launch.demangled] if check.result == "not judged"]
        for name in unknown:
            assert any(name in check.message for check in unjudged), (spot, name)
    strict(str(output_text(found, gate, "json", rules=RULES)))


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_every_form_says_what_could_not_be_judged(form: str) -> None:
    family = "reduction"
    read = with_numbers(good(family)[0], [Spot(0, "launch__registers_per_thread", -1.0), Spot(0, TIME, inf)])
    found = diagnose(read, RULES)
    entries = [*conditions("launch__registers_per_thread"), *conditions(DURATION)]
    gate = judge(found, read, Budget(name="b", entries=tuple(entries)), settings={}, spreads=Spreads())
    assert exit_code(gate) == 3
    text = output_text(found, gate, form, rules=RULES, profile=read)
    assert text
    if form in {"json", "sarif", "gitlab"}:
        strict(str(text))


# Launches made by hand: what any number does to any operator

NO_NUMBERS = st.sampled_from([nan, inf, -inf])
SOME = st.floats(-1e9, 1e9)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(NO_NUMBERS, st.lists(SOME, max_size=4), st.integers(0, 4), st.sampled_from(["max", "min", "equal"]), SOME)
def test_one_launch_without_a_number_is_enough(
    number: float, others: list[float], place: int, operator: str, limit: float
) -> None:
    values = [*others[:place], number, *others[place:]]
    launches = [launch(counts={"inst_executed": value}, index=index) for index, value in enumerate(values)]
    asked = entry("copy", metric="inst_executed", **{operator: limit})
    (check,) = held_against(asked, *launches)
    assert check.result in {"not judged", "failed"}
    if not others:
        assert check.result == "not judged"


@pytest.mark.parametrize("number", [nan, inf, -inf, -5.0, 0.0])
@pytest.mark.parametrize("limit", [{"max": WIDE}, {"min": -WIDE}])
def test_a_duration_that_is_none(number: float, limit: dict[str, float]) -> None:
    launches = [launch(index=0), launch(index=1, time_ns=number)]
    asked = entry("copy", metric=DURATION, **limit)
    (check,) = held_against(asked, *launches)
    assert (check.result, check.measured) == ("not judged", None)
    before = baseline_of(diagnosis(launch(), launch(index=1)), [], Spreads(), "1")
    gate = judge(diagnosis(*launches), profile(*launches), Budget(), ("main", before), settings={}, spreads=Spreads())
    (timed,) = (check for check in gate.checks if check.subject == DURATION)
    assert timed.result == "not judged"
    assert "1 of 2 launches have no duration" in timed.message


@pytest.mark.parametrize("gain", [nan, inf])
def test_a_prediction_that_is_not_finite_passes_no_limit(gain: float) -> None:
    finding = replace(advice_finding(), predicted_speedup=Gain(gain, gain, gain))
    made = launch(outcomes=(finding,))
    asked = entry("copy", predicted=True, max=WIDE)
    (check,) = held_against(asked, made)
    assert check.result != "passed"


def test_a_limit_of_no_predicted_gain_can_be_set() -> None:
    asked = entry("copy", predicted=True, max=0)
    made = launch()
    (check,) = held_against(asked, made)
    assert check.result == "failed"


def test_an_unjudged_launch_among_others_passes_no_limit_on_predictions() -> None:
    skipped = Skipped(advice_finding().rule, "it cannot be judged", ("m",))
    launches = [launch(index=0), launch(index=1), launch(index=2, outcomes=(skipped,))]
    asked = entry("copy", predicted=True, max=2)
    (check,) = held_against(asked, *launches)
    assert check.result == "not judged"


def test_an_equality_over_a_number_that_spreads_is_never_sure() -> None:
    """Without the exact counters, instructions come from a rate."""
    text = definitions()["inst_executed"].expressions[-1]
    made = launch(counts={"inst_executed": 1000.0})
    spreading = replace(made.metrics["inst_executed"], source=text)
    made = replace(made, metrics={"inst_executed": spreading})
    results = {}
    for limit in (1000.0, 2000.0):
        asked = entry("copy", metric="inst_executed", equal=limit)
        (check,) = held_against(asked, made)
        results[limit] = check.result
    assert results == {1000.0: "inconclusive", 2000.0: "failed"}


def test_a_metric_from_noisy_counters_only_is_not_judged() -> None:
    noisy = definitions()["dram_throughput"].expressions[0]
    made = launch(counts={"dram_throughput": 1e9})
    changed = replace(made.metrics["dram_throughput"], source=noisy)
    made = replace(made, metrics={"dram_throughput": changed})
    asked = entry("copy", metric="dram_throughput", max=WIDE)
    (check,) = held_against(asked, made)
    assert check.result == "not judged"
    assert "differ too much from run to run" in check.message


def test_an_incomplete_profile_is_not_judged() -> None:
    made = replace(diagnosis(launch()), failure=Failure("NCU-CORRUPT", "block 3 is damaged", "Copy it again.", 3))
    whole = judge(made, profile(*made.launches), Budget(), settings={}, spreads=Spreads())
    assert (exit_code(whole), exit_code(on_missing(whole, "skip"))) == (3, 3)
    assert "block 3 is damaged" in whole.checks[0].message


@pytest.mark.parametrize("number", [nan, inf])
def test_no_sentence_holds_a_number_that_is_none(number: float) -> None:
    assert quantity(number, "ns") == "unknown"


def test_a_kernel_of_unknown_grid_is_saved_in_no_baseline() -> None:
    with pytest.raises(NothingProfiled, match="has no grid and block"):
        baseline_of(diagnosis(launch(grid=(0, 0, 0))), [], Spreads(), "1")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-0.5"])
def test_a_table_of_spreads_holds_numbers(tmp_path: Path, number: str) -> None:
    path = tmp_path / "spread.json"
    kernel = f'{{"repeats": 6, "time": 0.01, "metrics": {{"inst_executed": {number}}}}}'
    path.write_text(f'{{"schema": "ncuview.spread/1", "gpus": {{"GPU": {{"copy": {kernel}}}}}}}', encoding="utf-8")
    with pytest.raises(TableError, match="inst_executed"):
        read_spreads(path)
