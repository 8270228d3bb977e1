"""Kernel Tuner's strategies over costs of our own."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping

import numpy as np
import pytest

from ncuview.base.errors import TunerNotFound
from ncuview.trial.tuning import MOST_POINTS, tune

SMALL = {"block": (64, 128, 256, 512), "unroll": (0, 2, 4)}
LARGE = {"block": (32, 64, 128, 256, 512, 1024), "unroll": (0, 1, 2, 4, 8), "elements": (1, 2, 4, 8)}
PRESENT = {"block": 256, "unroll": 0, "elements": 1}


def asked(
    values: Mapping[str, tuple[int, ...]], *restrictions: str, stop_after: int = 1000, invalid: int = -1
) -> list[dict[str, int]]:
    points: list[dict[str, int]] = []

    def cost(point: Mapping[str, int]) -> float | None:
        points.append(dict(point))
        return None if point["block"] == invalid else abs(point["block"] - 512) + 1.0 / (1 + point["unroll"])

    tune(values, PRESENT, restrictions, cost, lambda: len(points) >= stop_after)
    return points


def test_every_point_of_a_small_space_is_measured_once() -> None:
    points = asked(SMALL)
    assert len(points) == 12
    assert {tuple(each.values()) for each in points} == {(b, u) for b in SMALL["block"] for u in SMALL["unroll"]}


def test_a_large_space_is_searched_from_the_present_point_within_the_bound() -> None:
    points = asked(LARGE)
    assert points[0] == PRESENT
    assert len({tuple(each.values()) for each in points}) == len(points)
    assert MOST_POINTS // 2 <= len(points) <= MOST_POINTS
    assert points == asked(LARGE)


def test_restrictions_hold() -> None:
    points = asked(LARGE, "block * elements <= 512")
    assert all(each["block"] * each["elements"] <= 512 for each in points)


def test_no_point_is_measured_when_it_is_over() -> None:
    assert len(asked(SMALL, stop_after=3)) == 3
    assert len(asked(LARGE, stop_after=3)) == 3
    assert asked(LARGE, stop_after=0) == []


def test_a_point_that_is_not_valid_does_not_end_the_search() -> None:
    assert len(asked(LARGE, invalid=256)) > 3


def test_the_generators_of_random_numbers_stay_as_they_were() -> None:
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    asked(LARGE)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002


def test_without_kernel_tuner_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kernel_tuner.interface", None)
    with pytest.raises(TunerNotFound) as missing:
        asked(SMALL)
    assert missing.value.hint == "pip install 'ncuview[try]'"
