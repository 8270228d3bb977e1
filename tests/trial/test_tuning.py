"""Kernel Tuner's strategies over costs of our own."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping

import pytest

from ncuview.base.errors import TunerNotFound
from ncuview.trial.tuning import MOST_POINTS, tune

SMALL = {"block": (64, 128, 256, 512), "unroll": (0, 2, 4)}
LARGE = {"block": (32, 64, 128, 256, 512, 1024), "unroll": (0, 1, 2, 4, 8), "elements": (1, 2, 4, 8)}
PRESENT = {"block": 256, "unroll": 0, "elements": 1}
BEST = {"block": 512, "unroll": 8, "elements": 1}
"""In LARGE, by the costs of ``asked``."""


def asked(
    values: Mapping[str, tuple[int, ...]], *restrictions: str, stop_after: int = 1000, invalid: int = -1
) -> list[dict[str, int]]:
    points: list[dict[str, int]] = []

    def cost(point: Mapping[str, int], coming: Iterable[Mapping[str, int]]) -> float | None:
        points.append(dict(point))
        assert all(each not in points for each in coming)
        return None if point["block"] == invalid else abs(point["block"] - 512) + 1.0 / (1 + point["unroll"])

    tune(values, {name: PRESENT[name] for name in values}, restrictions, cost, lambda: len(points) >= stop_after)
    return points


def test_every_point_of_a_small_space_is_measured_once() -> None:
    points = asked(SMALL)
    assert len(points) == 12
    assert {tuple(each.values()) for each in points} == {(b, u) for b in SMALL["block"] for u in SMALL["unroll"]}


def test_the_points_that_follow_are_given() -> None:
    followed: list[tuple[int, list[int]]] = []

    def cost(point: Mapping[str, int], coming: Iterable[Mapping[str, int]]) -> float:
        followed.append((point["block"], [each["block"] for each in coming]))
        return 1.0

    tune({"block": SMALL["block"]}, {"block": 256}, (), cost, lambda: False)
    assert followed == [(64, [128, 256, 512]), (128, [256, 512]), (256, [512]), (512, [])]


def test_in_a_large_space_the_best_of_independent_parameters_is_found_within_the_bound() -> None:
    points = asked(LARGE)
    assert PRESENT in points
    assert BEST in points
    assert len({tuple(each.values()) for each in points}) == len(points) <= MOST_POINTS
    assert points == asked(LARGE)


def test_restrictions_hold() -> None:
    points = asked(LARGE, "block * elements <= 512")
    assert all(each["block"] * each["elements"] <= 512 for each in points)


def test_restrictions_of_several_conditions_hold() -> None:
    rule = "unroll == 1 or ((unroll * block <= 512 and unroll * block * 2 <= 65536) and unroll * 64 > block)"
    points = {(each["block"], each["unroll"]) for each in asked({**SMALL, "unroll": (1, 2, 4)}, rule)}
    assert points == {(64, 1), (64, 2), (64, 4), (128, 1), (128, 4), (256, 1), (512, 1)}


def test_no_point_is_measured_when_it_is_over() -> None:
    assert len(asked(SMALL, stop_after=3)) == 3
    assert len(asked(LARGE, stop_after=3)) == 3
    assert asked(LARGE, stop_after=0) == []


def test_a_point_that_is_not_valid_does_not_end_the_search() -> None:
    assert len(asked(LARGE, invalid=256)) > 3


def test_without_kernel_tuner_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kernel_tuner.interface", None)
    with pytest.raises(TunerNotFound) as missing:
        asked(SMALL)
    assert missing.value.hint == "pip install 'ncuview[try]'"
