"""A gain is a ratio whose interval excludes 1; noise, drift and impossible times are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.catalogue.launcher.ratios import LOOKS, ratio_of
from ncuview.catalogue.reference import Array
from ncuview.trial.timing import judged

NOISES: Mapping[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda random, count: np.abs(1 + 0.02 * random.standard_normal(count)),
    "long tail": lambda random, count: 1 + 0.05 * random.exponential(size=count),
    "two clocks": lambda random, count: np.where(random.random(count) < 0.5, 1.0, 1.1),
    "rare stalls": lambda random, count: np.where(random.random(count) < 0.05, 4.0, 1.0) + 0.001 * random.random(count),
}


def rounds(noise: str, seed: int, gain: float) -> tuple[list[float], list[float]]:
    """Times as the process takes them: until the ratio is precise."""
    random = np.random.default_rng(seed)
    drift = np.linspace(1, random.uniform(0.8, 1.25), LOOKS[-1])
    original = 10_000 * gain * drift * NOISES[noise](random, LOOKS[-1])
    variant = 10_000 * drift * NOISES[noise](random, LOOKS[-1])
    for look in LOOKS:
        taken = original[:look].tolist(), variant[:look].tolist()
        if ratio_of(*taken).precise:
            break
    return taken


@pytest.mark.parametrize("noise", NOISES)
def test_noise_alone_is_no_gain(noise: str) -> None:
    outcomes = [judged(*rounds(noise, seed, 1.0)).outcome for seed in range(300)]
    assert outcomes.count("faster") <= 0.05 * len(outcomes)
    assert outcomes.count("slower") <= 0.05 * len(outcomes)


@pytest.mark.parametrize("noise", NOISES)
def test_a_gain_beyond_the_noise_is_seen(noise: str) -> None:
    outcomes = [judged(*rounds(noise, seed, 1.15)).outcome for seed in range(50)]
    assert outcomes.count("faster") >= 0.9 * len(outcomes)


@given(st.floats(0.2, 5), st.integers(10, 40))
def test_exact_times_give_the_ratio(gain: float, count: int) -> None:
    timing = judged([1000.0 * gain] * count, [1000.0] * count)
    assert timing.ratio.median == pytest.approx(gain)
    assert timing.outcome == ("faster" if timing.ratio.low > 1 else "slower" if timing.ratio.high < 1 else "same")
    assert (timing.reason == "") == (timing.outcome == "faster")


def test_few_rounds_are_unclear() -> None:
    timing = judged([2000.0] * 4, [1000.0] * 4)
    assert (timing.outcome, timing.rounds) == ("unclear", 4)
    assert judged([2000.0] * 5, [1000.0] * 5).outcome == "faster"


def test_a_wide_interval_around_1_is_unclear_and_a_narrow_one_the_same() -> None:
    wide = [1000.0, 1300.0, 900.0, 1200.0] * 5
    assert judged(wide, wide[::-1]).outcome == "unclear"
    assert judged([1000.0, 1002.0] * 10, [1002.0, 1000.0] * 10).outcome == "same"


def test_less_than_the_hardware_allows_is_no_gain() -> None:
    timing = judged([2000.0] * 20, [1000.0] * 20, floor_ns=1200.0)
    assert timing.outcome == "impossible"
    assert "1,000 ns" in timing.reason
    assert judged([2000.0] * 20, [1300.0] * 20, floor_ns=1200.0).outcome == "faster"


def test_few_rounds_say_what_they_can() -> None:
    few = judged([1.2] * 2, [1.0] * 2)
    assert (few.outcome, few.reason) == ("unclear", "too few runs to tell 1.200x from the noise")
    some = judged([1.01, 1.0, 0.99], [1.0] * 3)
    assert (some.outcome, some.reason) == ("unclear", "it gains 1.010x at most")
