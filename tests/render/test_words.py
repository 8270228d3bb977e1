"""The words that pages share."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.records.diagnosis import Effect, Gain, Passed, RuleId, Skipped, TextbookMetric
from ncuview.records.profile import Device
from ncuview.render.words import (
    advice_reason,
    device_words,
    effects_words,
    gain_bounds,
    idle_words,
    is_finished,
    kernel_words,
    passed_words,
    skipped_words,
    verdict_headline,
    verdict_reason,
)
from tests.builders import USE, Launch, make_profile
from tests.render.sample import advice_finding, launch_near_peak, launch_with_advice


@pytest.mark.parametrize(
    ("demangled", "shown"),
    [
        ("transposeNaive(float *, const float *, int)", "transposeNaive"),
        ("void rotate<(int)32, (int)8>(float *, int)", "rotate<(int)32, (int)8>"),
        ("void (anonymous namespace)::scale<float>(float *)", "(anonymous namespace)::scale<float>"),
        ("apply(void (*)(int), float)", "apply"),
        ("triton_kernel", "triton_kernel"),
        ("(", "("),
        ("", ""),
    ],
)
def test_a_kernel_is_shown_without_parameters_and_result(demangled: str, shown: str) -> None:
    assert kernel_words(demangled) == shown


@given(st.text(alphabet="ab<>() ,:", max_size=30))
def test_no_name_is_lost(demangled: str) -> None:
    assert kernel_words(demangled) or not demangled.strip()


def test_what_could_not_be_judged_is_not_called_far_from_its_peak() -> None:
    busy = Launch(metrics={USE["dram"]: 90.0})
    [judged, unjudged, idle] = diagnose(
        make_profile(busy, busy.without("launch__occupancy_limit_registers"), Launch()), load_rules()
    ).launches
    assert verdict_headline(judged) == "At 100% of what dram attains. Stop here."
    assert verdict_headline(unjudged) == "Unclear: no rule predicts a gain, and some could not judge the launch."
    assert verdict_reason(unjudged).endswith(" at 90% of its peak. The rules that could not judge it are listed below.")
    assert verdict_headline(idle).endswith("the launch is not near its peak.")
    assert "listed below" not in verdict_reason(idle)


@pytest.mark.parametrize(
    ("bottleneck", "attained", "headline", "left"),
    [
        ("dram", 1.0, "At 100% of what dram attains. Stop here.", ""),
        ("dram", 0.9, "At 90% of what dram attains. Stop here.", ""),
        ("dram", 0.89, "At 89% of what dram attains; no rule predicts 1.10x or more.", "1.12x"),
        ("issue", 0.81, "At 81% of what issue attains; no rule predicts 1.10x or more.", "1.23x"),
        ("issue", 0.95, "At 95% of what issue attains; only less work for it is faster.", ""),
        ("launch", 0.94, "What a launch costs is 94% of its time. Stop here.", ""),
        ("blocks", 0.82, "Starting its blocks takes 82% of its time; no rule predicts 1.10x or more.", "1.22x"),
        ("transfer", 0.92, "At 92% of a perfect overlap of copies and kernel. Stop here.", ""),
    ],
)
def test_a_launch_is_finished_only_where_little_is_left_to_gain(
    bottleneck: str, attained: float, headline: str, left: str
) -> None:
    launch = replace(launch_near_peak(), bottleneck=bottleneck, attained=attained, units={"dram": 0.7, "issue": 0.8})
    assert verdict_headline(launch) == headline
    assert is_finished(launch) == ("Stop here" in headline)
    reason = verdict_reason(launch)
    assert ("is left to gain" in reason) == bool(left)
    assert left in reason
    assert ("of what a good kernel attains" in reason) == (bottleneck in launch.units)


def test_a_prediction_that_is_too_small_near_the_peak_is_not_denied() -> None:
    small = replace(advice_finding(), predicted_speedup=Gain(1.0, 1.14, 1.3), rejected="near its peak, dram: too small")
    launch = replace(launch_near_peak(), attained=0.83, outcomes=(small,))
    assert verdict_headline(launch) == "At 83% of what dram attains; the largest prediction, 1.14x, is uncertain here."
    assert verdict_reason(launch).endswith("SMEM001 predicts 1.14x; near the peak, advice begins at 1.15x.")
    finished = verdict_reason(replace(launch, attained=0.97))
    assert finished.endswith("SMEM001 predicts 1.14x; near the peak, advice begins at 1.15x.")


def test_the_effects_of_a_change_are_given_with_the_units_that_they_relieve() -> None:
    effects = (
        Effect("l1_wavefronts", 0.06, ("l1_data",)),
        Effect("latency_hidden", 0.5),
        Effect("time_left", 0.24),
        Effect("instructions", 2e6, ("issue",), added=True),
    )
    assert effects_words(replace(advice_finding(), effects=effects)) == (
        "l1_wavefronts 6% left (l1_data); 50% of the latency goes away; 24% of the time is left at least;"
        " 2e+06 instructions added (issue)"
    )


def test_rules_that_cannot_judge_are_named_unless_there_are_many() -> None:
    profile = make_profile(Launch().without("launch__occupancy_limit_registers"))
    [launch] = diagnose(profile, load_rules()).launches
    assert "register-limited-occupancy, shared-memory-limited-occupancy: metrics that" in skipped_words(launch)
    skipped = [outcome for outcome in launch.outcomes if isinstance(outcome, Skipped)]
    bare = replace(launch, outcomes=(*launch.outcomes, *skipped * 12))
    assert skipped_words(bare).startswith(f"{13 * len(skipped)} of {len(bare.outcomes)} rules: metrics that they need")


def test_a_use_that_was_not_collected_is_not_called_small() -> None:
    [launch] = diagnose(make_profile(Launch()), load_rules()).launches
    assert idle_words(launch) == "no unit above 5 %"
    bare = replace(launch, units={}, metrics={})
    assert idle_words(bare) == "the counters of the units were not collected"
    summary = {"dram_peak_share": TextbookMetric(86.4, "%", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed")}
    assert idle_words(replace(bare, metrics=summary)).endswith("device memory is at 86% of its peak")


def test_rules_that_want_the_machine_code_say_so_and_do_not_ask_for_metrics() -> None:
    [launch] = diagnose(make_profile(Launch()), load_rules()).launches
    skipped = Skipped(RuleId("INST002", "precise-function"), "it cannot be judged: no machine code was read", ())
    words = skipped_words(replace(launch, outcomes=(skipped, Passed(RuleId("A001", "a"), ""))))
    assert words == "precise-function: it cannot be judged: no machine code was read"


def test_a_rule_that_was_selected_says_which_condition_it_did_not_meet() -> None:
    [launch] = diagnose(make_profile(Launch()), load_rules()).launches
    passed = Passed(RuleId("SMEM001", "shared-bank-conflict"), "1.00 wavefronts (not met: ways >= 1.1)", ("ways",))
    alone = replace(launch, outcomes=(passed,))
    assert passed_words(alone) == "shared-bank-conflict: 1.00 wavefronts (not met: ways >= 1.1)"
    assert passed_words(replace(launch, outcomes=(passed,) * 4)) == ", ".join(["shared-bank-conflict"] * 4)


def test_the_hint_for_an_export_asks_for_the_report() -> None:
    profile = make_profile(Launch().without("launch__occupancy_limit_registers"))
    [launch] = diagnose(profile, load_rules()).launches
    assert "-o mine ./program" not in skipped_words(launch)
    assert skipped_words(replace(launch, report="theirs.csv")).endswith("a CSV export holds no instructions")


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (Device("NVIDIA H200", "9.0"), "NVIDIA H200"),
        (Device("", "12.0"), "GPU of compute capability 12.0"),
        (Device("", ""), "unknown GPU"),
    ],
)
def test_a_gpu_is_called_by_what_is_known_of_it(device: Device, words: str) -> None:
    assert device_words(device) == words


def test_a_prediction_names_the_time_that_it_leaves_and_the_present_one() -> None:
    launch, finding = launch_with_advice(), advice_finding()
    assert gain_bounds(launch, finding) == "1.94x to 2.29x in 8 of 10 cases, leaves about 150.6 us of 328.3 us"
    assert gain_bounds(replace(launch, duration_ns=nan), finding) == "1.94x to 2.29x in 8 of 10 cases"


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ("dram", " After the change, the bottleneck is dram (device memory)."),
        ("l2", " After the change, the bottleneck is l2 (L2 cache)."),
        ("latency", " After the change, the bottleneck is latency: no unit is busy enough to explain the time."),
        ("launch", " After the change, the bottleneck is launch: starting the kernel costs as much as its work."),
        ("blocks", " is blocks: the GPU starts blocks one after the other, and each ends too soon."),
        ("transfer", " is transfer: the copies between host and device take the time."),
        ("l1_data", " at 88% of its peak."),
    ],
)
def test_the_bottleneck_after_a_change_is_explained(after: str, said: str) -> None:
    finding = replace(advice_finding(), bottleneck_after=after)
    assert advice_reason(launch_with_advice(), finding).endswith(said)
