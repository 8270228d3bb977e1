"""Changes that pay only one after another: which launches have a sequence, and the gain of each step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ncuview.engine.sequences import Sequences
from ncuview.metrics.analysis import Analysis
from ncuview.records.diagnosis import Effect, Finding, Gain, RuleId, StepSequence
from ncuview.render.words import sequence_words
from ncuview.speedup.model import after_change, load_of, predict
from tests.builders import USE, Launch, make_profile
from tests.profiles import recorded_diagnosis

SCATTERED = Launch(
    metrics={USE["l2_tags"]: 70.0, USE["dram"]: 8.0, USE["alu"]: 28.0, "gpu__time_duration.sum": 200_000.0}
)
"""A launch that the L2 cache limits, of 200 us."""
FEW_THREADS = SCATTERED.with_metrics({"launch__waves_per_multiprocessor": 0.1})


def finding(code: str, gain: float, optimization: str = "coalescing", **effects: float) -> Finding:
    """A finding of a rule of this code, that predicts this gain; worth doing from 1.10x on."""
    example = next(each for each in recorded_diagnosis("transpose").launches if each.findings).findings[0]
    return replace(
        example,
        rule=RuleId(code, code.lower()),
        optimization=optimization,
        predicted_speedup=Gain(1.0, gain, 2 * gain),
        effects=tuple(Effect(name, value) for name, value in effects.items()),
        rejected="" if gain >= 1.10 else "not the bottleneck",
        cause=None,
    )


def sequence(launch: Launch, *findings: Finding) -> StepSequence | None:
    analysis = Analysis(make_profile(launch))
    return Sequences(analysis, load_of(analysis)).of_launch(0, findings)


COALESCING = finding("GMEM001", 3.0, l2_sectors=0.125, latency_hidden=0.8)
FEWER_OPERATIONS = finding("INST002", 1.0, "strength_reduction", integer_arithmetic=0.2)
MORE_THREADS = finding("GRID001", 1.2, "launch_configuration", latency_hidden=0.9)


def test_a_change_at_the_next_bottleneck_is_the_second_step() -> None:
    found = sequence(SCATTERED, COALESCING, FEWER_OPERATIONS)
    assert found is not None
    assert [step.rule.code for step in found.steps] == ["GMEM001", "INST002"]
    assert found.steps[0].gain == 3.0
    assert found.steps[1].gain >= 1.15
    assert found.alone == 1.0


def test_the_second_step_is_predicted_on_what_the_first_leaves() -> None:
    load = load_of(Analysis(make_profile(SCATTERED))).of_launch(0)
    left = after_change(load, {"l2_sectors": np.array([0.125])}, {}, 3.0)
    assert left.use["l2_tags"] == pytest.approx(0.70 * 0.125 * 3.0)
    assert left.use["alu"] == pytest.approx(0.28 * 3.0)
    gains, _ = predict(left, {"integer_arithmetic": np.array([0.2])}, {}, np.zeros(1))
    found = sequence(SCATTERED, COALESCING, FEWER_OPERATIONS)
    assert found is not None
    assert found.steps[1].gain == pytest.approx(gains[1, 0])


def test_a_change_that_relieves_the_same_unit_is_no_second_step() -> None:
    same = replace(FEWER_OPERATIONS, effects=(Effect("l2_sectors", 0.5), Effect("integer_arithmetic", 0.2)))
    assert sequence(SCATTERED, COALESCING, same) is None


@pytest.mark.parametrize(
    "second",
    [
        replace(FEWER_OPERATIONS, draft=True),
        replace(FEWER_OPERATIONS, same_cause_as="GMEM001"),
        replace(FEWER_OPERATIONS, optimization="coalescing"),
        finding("INST002", 1.0, "strength_reduction", integer_arithmetic=0.95),
    ],
    ids=["draft", "same cause", "same optimization", "little left to gain"],
)
def test_what_is_no_second_step(second: Finding) -> None:
    assert sequence(SCATTERED, COALESCING, second) is None


def test_too_few_threads_need_more_of_them_before_less_traffic() -> None:
    analysis = Analysis(make_profile(FEW_THREADS))
    trips = analysis.value("waits_for_loads")[0] / analysis.value("warps")[0]
    found = sequence(FEW_THREADS.with_metrics({"gpu__time_duration.sum": 300 + 400 * trips}), COALESCING, MORE_THREADS)
    assert found is not None
    assert [step.rule.code for step in found.steps] == ["GRID001", "GMEM001"]
    assert [step.gain for step in found.steps] == pytest.approx([1.2, 3.0 / 1.2])
    assert found.alone == pytest.approx(1.0)  # the present warps wait as long as before


def test_more_threads_are_no_step_where_the_present_ones_allow_the_gain() -> None:
    assert sequence(FEW_THREADS, COALESCING, MORE_THREADS) is None
    assert sequence(SCATTERED.with_metrics({"gpu__time_duration.sum": 700.0}), COALESCING, MORE_THREADS) is None


def test_no_sequence_without_advice() -> None:
    assert sequence(SCATTERED, replace(COALESCING, rejected="not the bottleneck"), FEWER_OPERATIONS) is None
    assert sequence(SCATTERED) is None


def test_the_words_say_what_the_last_step_gains_alone() -> None:
    found = sequence(SCATTERED, COALESCING, FEWER_OPERATIONS)
    assert found is not None
    words = sequence_words(found)
    assert words.startswith("coalescing 3.00x (GMEM001), then strength_reduction ")
    assert words.endswith("(INST002; alone 1.00x)")


def test_a_recorded_launch_has_its_sequence() -> None:
    launch = next(each for each in recorded_diagnosis("transpose").launches if each.kernel == "mtran")
    assert launch.sequence is not None
    assert [step.rule.code for step in launch.sequence.steps] == ["GMEM002", "WORK001"]
