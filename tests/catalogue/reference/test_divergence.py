"""Squarings that depend on the thread's place in its block, against a loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem

M32 = 1 << 32
FIRST, SECOND = 1013904223, 0x9E3779B9
ROUNDS = 7


def words(n: int) -> Array:
    return np.random.default_rng(7).integers(0, M32, n, dtype=np.uint32)


def squared(value: int, constant: int) -> int:
    for _ in range(ROUNDS):
        value = (value * value + constant) % M32
    return value


def answer(oracle: str, given: Array, **sizes: int) -> list[int]:
    before = given.copy()
    result = ORACLES[oracle](Problem((given,), given.shape, "uint32", {"rounds": ROUNDS, **sizes}))
    np.testing.assert_array_equal(given, before)
    assert result.shape == given.shape
    assert result.dtype == np.uint32
    return list(map(int, result))


def test_every_number_is_squared() -> None:
    given = words((1 << 15) + 33)
    result = answer("squarings", given)
    picked = [*range(40), *range(len(given) - 40, len(given))]
    assert [result[i] for i in picked] == [squared(int(given[i]), FIRST) for i in picked]


@pytest.mark.parametrize(("oracle", "border"), [("two_squarings_at_lane_16", 16), ("two_squarings_at_warp_size", 32)])
def test_threads_take_two_paths(oracle: str, border: int) -> None:
    given = words(192)
    want = [squared(int(value), FIRST if i % 64 < border else SECOND) for i, value in enumerate(given)]
    assert answer(oracle, given) == want


@pytest.mark.parametrize(
    ("oracle", "is_worker"),
    [
        ("squarings_of_scattered_workers", lambda tid, index: tid % (1 << index) == 0),
        ("squarings_of_contiguous_workers", lambda tid, index: tid < 256 >> index),
    ],
)
def test_workers_stop_for_good(oracle: str, is_worker: Callable[[int, int], bool]) -> None:
    given = words(512)
    want = given.tolist()
    for i in range(len(want)):
        index = 0
        while index < 5 and is_worker(i % 256, index):
            want[i] = squared(want[i], FIRST)
            index += 1
    assert answer(oracle, given, passes=5) == want


def test_scattered_and_contiguous_workers_do_the_same_work() -> None:
    for index in range(5):
        assert sum(tid % (1 << index) == 0 for tid in range(256)) == 256 >> index
