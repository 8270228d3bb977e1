"""None, NaN, infinite, negative and impossible numbers: no rule judges by them, no prediction or document has one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import cache
from math import inf, isfinite, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lxml import etree
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ncuview.api import load_rules
from ncuview.comparison.compare import compare
from ncuview.engine.first_look import second_look
from ncuview.engine.priority import priorities
from ncuview.engine.rank import diagnose
from ncuview.metrics.analysis import Analysis
from ncuview.reader.validity import impossible
from ncuview.records.diagnosis import Diagnosis, Finding, LaunchDiagnosis, Outcome, Skipped
from ncuview.records.profile import Profile
from ncuview.render.outputs import FORMATS, output_text
from ncuview.speedup.model import load_of, predict
from tests.bad_numbers import (
    LAUNCHES,
    TIME,
    TOO_MUCH,
    UNKNOWN,
    WRONG,
    Spot,
    copies,
    judged_by,
    metric_names,
)
from tests.bad_numbers import with_numbers as with_
from tests.builders import STALL, USE, Launch, load, make_profile, shared_load
from tests.engine.test_missing import check_gone, families_and_losses
from tests.profiles import recorded_profile

RULES = load_rules()
_DATA_OF_PAGE = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def of(profile: Profile) -> Diagnosis:
    return diagnose(profile, RULES)


def strict(text: str) -> Any:
    """JSON as its standard has it, without NaN and Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, float):
        yield value


def assert_sound(launch: LaunchDiagnosis) -> None:
    """Every prediction is within its bounds, and whatever a finding rests on is a number."""
    for outcome in launch.outcomes:
        if isinstance(outcome, Finding):
            gain = outcome.predicted_speedup
            assert 0 < gain.low <= gain.best <= gain.high < inf, outcome
            assert all(map(isfinite, numbers(asdict(outcome)))), outcome
            assert all(0 <= line.share <= 1 for line in outcome.where)
        for word in ("nan", "inf"):
            assert word not in outcome.message.split(), outcome
    assert all(0 <= share < 2 for share in launch.units.values())
    assert not launch.attained > 1 + 1e-9
    assert all(isfinite(metric.value) for metric in launch.metrics.values())


def without_reasons(outcomes: tuple[Outcome, ...]) -> dict[str, Any]:
    """What was said, but for why a rule could not judge."""
    return {
        outcome.rule.code: replace(outcome, message="", missing=()) if isinstance(outcome, Skipped) else outcome
        for outcome in outcomes
    }


@cache
def poisoned(family: str) -> tuple[list[Spot], Diagnosis]:
    """A launch once for each metric and each number: unknown first, then all that cannot be."""
    profile = recorded_profile(family)
    metrics = [metric for metric in metric_names(profile) if metric in judged_by()]
    spots = [Spot(0, metric, value) for metric in metrics for value in (UNKNOWN, *WRONG)]
    spots = [replace(spot, launch=number) for number, spot in enumerate(spots)]
    return spots, of(with_(copies(profile, [LAUNCHES[family]] * len(spots)), spots))


@pytest.mark.parametrize("family", LAUNCHES)
def test_what_cannot_be_is_as_unknown_as_what_is_missing(family: str) -> None:
    spots, found = poisoned(family)
    for first in range(0, len(spots), every := len(WRONG) + 1):
        unknown, *wrong = found.launches[first : first + every]
        expected = without_reasons(unknown.outcomes)
        for spot, each in zip(spots[first + 1 :], wrong, strict=False):
            assert spot.metric == spots[first].metric
            differing = [code for code, outcome in without_reasons(each.outcomes).items() if outcome != expected[code]]
            assert not differing, spot
            assert (each.bottleneck, each.units, each.verdict) == (
                unknown.bottleneck,
                unknown.units,
                unknown.verdict,
            ), spot


@pytest.mark.parametrize("family", LAUNCHES)
def test_no_rule_finds_anything_by_a_number_that_cannot_be(family: str) -> None:
    profile = recorded_profile(family)
    before = without_reasons(of(copies(profile, [LAUNCHES[family]])).launches[0].outcomes)
    spots, found = poisoned(family)
    for spot, each in zip(spots, found.launches, strict=True):
        assert_sound(each)
        for code, outcome in without_reasons(each.outcomes).items():
            was = before[code]
            assert type(outcome) in {type(was), Skipped}, (spot, outcome)
            if isinstance(outcome, Finding) and not outcome.rejected:
                assert not was.rejected or any(isinstance(other, Skipped) for other in each.outcomes), (
                    f"{spot} makes {code} advice, {was.rejected}"
                )


@pytest.mark.parametrize("family", LAUNCHES)
def test_the_reason_is_what_the_report_says(family: str) -> None:
    spots, found = poisoned(family)
    named = 0
    for spot, each in zip(spots, found.launches, strict=True):
        for outcome in each.outcomes:
            if isinstance(outcome, Skipped) and spot.metric in outcome.missing:
                named += 1
                if spot.value == spot.value:
                    assert f"{spot.metric} is {spot.value:g}" in outcome.message
                    assert outcome.message.endswith(". Profile again")
                    assert "the report gives an impossible value: " in outcome.message
                else:
                    assert "no value in the report. Collect with: ncu --metrics" in outcome.message
    assert named > len(WRONG)


@pytest.mark.parametrize("family", LAUNCHES)
def test_shares_above_all_of_it_break_no_promise(family: str) -> None:
    profile = recorded_profile(family)
    shares = [name for name in metric_names(profile) if "pct" in name]
    spots = [Spot(0, metric, value) for metric in shares for value in TOO_MUCH]
    spots = [replace(spot, launch=number) for number, spot in enumerate(spots)]
    found = of(with_(copies(profile, [LAUNCHES[family]] * len(spots)), spots))
    for spot, each in zip(spots, found.launches, strict=True):
        assert_sound(each)
        refused = bool(impossible(spot.metric, profile.metrics[spot.metric].to_numpy() * 0 + spot.value).all())
        assert refused == ("of_peak" in spot.metric and spot.value > 200), spot


def several() -> st.SearchStrategy[tuple[str, list[Spot]]]:
    """A family, and several numbers that are replaced in one or more of four copies."""

    def spots(family: str) -> st.SearchStrategy[tuple[str, list[Spot]]]:
        values = st.sampled_from([UNKNOWN, 0.0, 5e-324, 2.0**62, *WRONG, *TOO_MUCH]) | st.floats()
        names = st.sampled_from(metric_names(recorded_profile(family)))
        spot = st.builds(Spot, st.integers(0, 3), names, values)
        return st.tuples(st.just(family), st.lists(spot, min_size=1, max_size=30))

    return st.sampled_from(sorted(LAUNCHES)).flatmap(spots)


MORE = settings(
    max_examples=60,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink takes minutes
    suppress_health_check=[HealthCheck.too_slow],
)


@MORE
@given(families_and_losses())
def test_no_rule_says_anything_new_when_metrics_are_gone(case: tuple[str, frozenset[str]]) -> None:
    check_gone(*case)


@MORE
@given(several())
def test_whatever_numbers_a_report_holds_every_form_is_written_and_sound(case: tuple[str, list[Spot]]) -> None:
    family, spots = case
    profile = with_(first_four(family), spots)
    found = of(profile)
    for launch in found.launches:
        assert_sound(launch)
    assert all(map(isfinite, numbers(asdict(priorities(found).speedup))))
    assert_written(found, profile)
    second_look(profile, RULES)


def first_four(family: str) -> Profile:
    return copies(recorded_profile(family), [LAUNCHES[family]] * 4)


def assert_written(found: Diagnosis, profile: Profile) -> None:
    """Every form of output, read again by a strict reader of its kind."""
    texts = {form: output_text(found, None, form, rules=RULES, profile=profile) for form in FORMATS}
    for form in ("json", "sarif", "gitlab"):
        strict(str(texts[form]))
    etree.fromstring(str(texts["junit"]).encode())
    families = text_string_to_metric_families(str(texts["openmetrics"]))  # type: ignore[no-untyped-call]
    samples = [sample for each in families for sample in each.samples]
    assert samples
    assert all(isfinite(sample.value) for sample in samples)
    (data,) = _DATA_OF_PAGE.findall(str(texts["html"]))
    strict(data)
    rows = str(texts["csv"]).lower().splitlines()
    assert not {"nan", "inf", "-inf", "infinity"} & {cell for row in rows for cell in row.split(",")}
    assert isinstance(texts["parquet"], bytes)
    for form in ("terminal", "markdown", "summary", "github"):
        assert not {"nan", "inf", "-inf", "nan%", "inf%", "nanx", "infx"} & set(str(texts[form]).lower().split()), form


@pytest.mark.parametrize("family", LAUNCHES)
def test_every_form_is_written_of_numbers_that_cannot_be(family: str) -> None:
    spots = [
        Spot(number % 4, metric, value)
        for number, (metric, value) in enumerate(
            (metric, value) for metric in metric_names(recorded_profile(family))[::7] for value in WRONG
        )
    ]
    profile = with_(first_four(family), spots)
    assert_written(of(profile), profile)


@pytest.mark.parametrize("value", [nan, inf, -5.0, 0.0])
def test_a_comparison_with_a_time_that_cannot_be_says_that_it_is_unknown(value: float) -> None:
    good, bad = first_four("reduction"), with_(first_four("reduction"), [Spot(0, TIME, value)])
    for sides in ((of(good), of(bad)), (of(bad), of(good))):
        comparison = compare(*sides)
        (pair,) = (each for each in comparison.pairs if each.before[0].kernel == "copy0")
        assert not isfinite(pair.speedup)
        assert pair.prediction is None
        assert pair.metric_changes == ()
        for form in (name for name, each in FORMATS.items() if each.compares):
            text = str(output_text(comparison, None, form, rules=RULES))
            assert text
            if form == "json":
                strict(text)


@pytest.mark.parametrize("value", [nan, *WRONG, 2.0**63])
def test_a_size_that_cannot_be_is_unknown_in_every_form(value: float) -> None:
    sizes = {f"launch__{of}_dim_{axis}": value for of in ("grid", "block") for axis in "xyz"}
    wasteful = Launch({USE["l1_data"]: 90.0}, [load(), shared_load(ways=32.0), shared_load(ways=32.0)])
    profile = make_profile(wasteful.with_metrics({"launch__grid_dim_x": value}), wasteful.with_metrics(sizes))
    found = of(profile)
    for launch in found.launches:
        assert_sound(launch)
    assert [launch.grid for launch in found.launches] == [(0, 1, 1), (0, 0, 0)]
    assert [launch.block for launch in found.launches] == [(256, 1, 1), (0, 0, 0)]
    assert_written(found, profile)
    second_look(profile, RULES)


# The what-if model


def test_a_change_that_is_no_number_predicts_nothing() -> None:
    load_ = load_of(Analysis(make_profile(Launch({USE["l1_data"]: 90.0}))))
    none = load_.floor() * 0
    wavefronts = {"l1_wavefronts": none + nan}
    for effects, added in ((wavefronts, {}), ({}, wavefronts), ({"dram_bytes": none + inf}, {})):
        assert not np.isfinite(predict(load_, effects, added, none)[0]).any()
    for words in ({"latency_hidden": none + nan}, {"latency_hidden": none, "time_left": none + nan}):
        assert not np.isfinite(predict(load_, {}, {}, **words)[0]).any()


def test_a_prediction_without_any_unit_at_work_is_finite() -> None:
    idle = dict.fromkeys(USE.values(), 0.0)
    load_ = load_of(Analysis(make_profile(Launch({**idle, TIME: 1e15}))))
    (low, best, high), _ = predict(load_, {}, {}, load_.floor() * 0 + 1)
    assert 1 < low[0] <= best[0] <= high[0] < inf


def test_without_its_time_nothing_is_predicted_of_a_launch() -> None:
    wasteful = Launch({USE["l1_data"]: 90.0}, [load(), shared_load(ways=32.0), shared_load(ways=32.0)])
    good, bad = of(make_profile(wasteful, wasteful.with_metrics({TIME: -1.0}))).launches
    assert good.findings
    assert not bad.findings
    (skipped,) = (o for o in bad.outcomes if o.rule == good.findings[0].rule)
    assert isinstance(skipped, Skipped)
    assert skipped.missing == (TIME,)
    assert f"the report gives an impossible value: {TIME} is -1" in skipped.message
    assert bad.verdict == "unclear"


def test_a_stall_reason_that_cannot_be_makes_all_shares_unknown() -> None:
    for reason in ("imc_miss", "long_scoreboard"):
        profile = make_profile(Launch({STALL.format(reason): -3.0}))
        skipped = [outcome for outcome in of(profile).launches[0].outcomes if isinstance(outcome, Skipped)]
        assert any(STALL.format(reason) in outcome.missing for outcome in skipped)


def test_copies_of_which_some_time_is_unknown_are_not_taken_for_none() -> None:
    profile = with_(first_four("transfers"), [Spot(0, "host__whole_time", -1.0)])
    good, bad = of(first_four("transfers")).launches[0], of(profile).launches[0]
    assert good.host is not None
    assert bad.host is None
    codes = {outcome.rule.code for outcome in bad.outcomes if isinstance(outcome, Skipped)}
    assert any(code.startswith("HOST") for code in codes)
    assert {outcome.rule.code for outcome in good.outcomes if outcome.rule.code.startswith("HOST")} <= codes
