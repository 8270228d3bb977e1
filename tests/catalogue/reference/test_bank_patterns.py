"""Words that threads read from a tile in rounds, against a loop, and the documented bank conflicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem

BLOCK = 256
THREADS = 2 * BLOCK
ROUNDS = 64

WORDS: dict[str, Callable[[int], int]] = {
    "rounds_of_linear_words": lambda tid: tid,
    "rounds_of_two_way_words": lambda tid: tid + tid % 2 * 31,
    "rounds_of_paired_words": lambda tid: tid - tid % 2,
    "rounds_of_broadcast_words": lambda tid: tid // 32,
}


def whole_numbers(n: int, dtype: str = "float32") -> Array:
    return np.random.default_rng(7).integers(0, 256, n).astype(dtype)


def answer(oracle: str, given: Array, **sizes: int) -> Array:
    result = ORACLES[oracle](Problem((given,), (THREADS,), str(given.dtype), {"rounds": ROUNDS, **sizes}))
    assert result.shape == (THREADS,)
    assert result.dtype == given.dtype
    return result


def gathered(given: Array, word: Callable[[int], int]) -> list[float]:
    total = [0.0] * THREADS
    for t in range(THREADS):
        for _ in range(ROUNDS):
            total[t] += float(given[word(t % BLOCK)])
    return total


def wavefronts(word: Callable[[int], int], width: int = 1) -> int:
    """The most words of one bank that a warp asks for, when each lane reads ``width`` words."""
    banks: dict[int, set[int]] = defaultdict(set)
    for lane in range(32):
        for part in range(width):
            at = width * word(lane) + part
            banks[at % 32].add(at)
    return max(map(len, banks.values()))


@pytest.mark.parametrize("oracle", WORDS)
def test_each_thread_reads_its_word_in_every_round(oracle: str) -> None:
    given = whole_numbers(1024)
    assert answer(oracle, given).tolist() == gathered(given, WORDS[oracle])


@pytest.mark.parametrize("stride", [2, 4, 8, 16, 32])
def test_strided_words_go_round_the_tile(stride: int) -> None:
    given = whole_numbers(1024)
    want = gathered(given, lambda tid: tid * stride % 1024)
    assert answer("rounds_of_strided_words", given, stride=stride).tolist() == want


def test_64_bit_words_are_gathered_in_the_same_way() -> None:
    given = whole_numbers(512, "float64")
    assert answer("rounds_of_linear_words", given).tolist() == gathered(given, lambda tid: tid)
    assert answer("rounds_of_strided_words", given, stride=2).tolist() == gathered(given, lambda tid: tid * 2 % 512)


def test_a_warp_reads_columns_while_each_lane_reads_a_row() -> None:
    given = whole_numbers(1024)
    want = [0.0] * THREADS
    for t in range(THREADS):
        for r in range(ROUNDS):
            want[t] += float(given[t % 32 * 32 + r % 32])
    assert answer("rounds_of_columns", given).tolist() == want


@pytest.mark.parametrize(
    ("word", "width", "expected"),
    [
        (lambda tid: tid, 1, 1),
        (lambda tid: tid + tid % 2 * 31, 1, 2),
        (lambda tid: tid - tid % 2, 1, 1),
        (lambda _: 0, 1, 1),
        (lambda tid: tid * 2 % 1024, 1, 2),
        (lambda tid: tid * 32 % 1024, 1, 32),
        (lambda tid: tid * 33, 1, 1),
        (lambda tid: tid, 2, 2),
        (lambda tid: tid * 2, 2, 4),
    ],
)
def test_the_patterns_have_the_conflicts_that_they_are_named_for(
    word: Callable[[int], int], width: int, expected: int
) -> None:
    assert wavefronts(word, width) == expected
