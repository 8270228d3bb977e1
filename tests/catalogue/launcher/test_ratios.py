"""The interval of a ratio holds it as often as it says, whatever the noise; precision ends measuring."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.catalogue.launcher.ratios import FEW, FIRST_LOOK, LOOKS, Ratio, ratio_of
from ncuview.catalogue.reference import Array


def noise(kind: str, random: np.random.Generator, count: int) -> Array:
    match kind:
        case "normal":
            return np.abs(1 + 0.01 * random.standard_normal(count))
        case "long tail":
            return np.asarray(1 + 0.02 * random.exponential(size=count))
        case "two clocks":
            return np.where(random.random(count) < 0.4, 1.0, 1.08) * (1 + 0.002 * random.standard_normal(count))
        case _:
            raise AssertionError(kind)


def measured(kind: str, random: np.random.Generator, ratio: float) -> tuple[Ratio, int]:
    """As the process measures: in rounds, until the interval is precise."""
    drift = np.linspace(1, random.uniform(0.9, 1.1), LOOKS[-1])
    original = 5000 * ratio * drift * noise(kind, random, LOOKS[-1])
    variant = 5000 * drift * noise(kind, random, LOOKS[-1])
    for look in LOOKS:
        found = ratio_of(original[:look].tolist(), variant[:look].tolist())
        if found.precise:
            break
    return found, look


@pytest.mark.parametrize("kind", ["normal", "long tail", "two clocks"])
@pytest.mark.parametrize("ratio", [1.0, 1.3])
def test_the_interval_holds_the_ratio_in_95_percent(kind: str, ratio: float) -> None:
    random = np.random.default_rng(7)
    held = [found.low <= ratio <= found.high for found, _ in (measured(kind, random, ratio) for _ in range(400))]
    assert np.mean(held) >= 0.93, "95 %, less the spread of 400 draws"


def few(kind: str, count: int) -> list[Ratio]:
    """Measurements of two equal versions in so many rounds each."""
    random = np.random.default_rng(9)
    times = noise(kind, random, 4000 * count).reshape(2000, 2, count)
    return [ratio_of(original.tolist(), variant.tolist()) for original, variant in times]


@pytest.mark.parametrize("kind", ["normal", "long tail", "two clocks"])
def test_the_first_look_loses_few_gains(kind: str) -> None:
    found = few(kind, FIRST_LOOK)
    assert np.mean([each.high < 1 for each in found]) < 0.065, "1 of 20, and the spread of 2,000 draws"
    assert {each.low for each in found} == {0.0}


@pytest.mark.parametrize("kind", ["normal", "long tail", "two clocks"])
def test_few_rounds_hold_the_ratio_in_99_percent(kind: str) -> None:
    held = [each.low <= 1 <= each.high for each in few(kind, FEW)]
    assert np.mean(held) > 0.985, "99.2 %, less the spread of 2,000 draws"


def test_quiet_times_end_measuring_early_and_one_percent_is_seen() -> None:
    random = np.random.default_rng(8)
    found, looked = measured("normal", random, 1.02)
    assert found.precise
    assert found.low > 1
    assert looked < LOOKS[-1]


def test_a_drift_of_the_clock_changes_nothing() -> None:
    drift = np.linspace(1, 2, 40)
    assert ratio_of((3000 * drift).tolist(), (2000 * drift).tolist()) == Ratio(1.5, 1.5, 1.5)


def test_few_rounds_have_a_part_of_an_interval() -> None:
    assert ratio_of([2.0] * 2, [1.0] * 2) == Ratio(2.0, 0.0, float("inf"))
    assert ratio_of([2.0, 2.1, 2.4], [1.0] * FIRST_LOOK) == Ratio(2.1, 0.0, 2.4)
    assert ratio_of([2.0, 2.0, 2.1, 2.2, 2.4], [1.0, 1.0, 1.0, 1.0, 0.5]) == Ratio(2.1, 2.0, 4.8)
    assert ratio_of([2.0] * 7 + [4.0], [1.0] * 8) == Ratio(2.0, 2.0, 4.0)
    assert not ratio_of([2.0] * FIRST_LOOK, [1.0] * FIRST_LOOK).precise
    assert ratio_of([2.0] * FEW, [1.0] * FEW).precise


@pytest.mark.parametrize(("original", "variant"), [([], []), ([1.0], [0.0]), ([0.0], [1.0]), ([1.0], [1.0, 1.0])])
def test_times_that_are_none_are_refused(original: list[float], variant: list[float]) -> None:
    with pytest.raises(ValueError, match=r"times|argument"):
        ratio_of(original, variant)
