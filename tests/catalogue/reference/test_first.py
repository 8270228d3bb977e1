"""Every oracle against a plain loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, POISON, Array, Problem

M32 = 1 << 32
Loop = Callable[[list[Any], dict[str, int]], list[int]]


def words(*shape: int) -> Array:
    return np.random.default_rng(7).integers(0, M32, shape, dtype=np.uint32)


def floats(*shape: int) -> Array:
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def answer(oracle: str, given: Array, shape: tuple[int, ...], **sizes: int) -> Array:
    return ORACLES[oracle](Problem((given,), shape, str(given.dtype), sizes))


def test_a_copy_is_the_input() -> None:
    given = floats(3, 5)
    assert answer("copy_CPU", given, (3, 5)).tolist() == given.tolist()


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (64, 64), (65, 3), (130, 70)])
def test_a_transpose_swaps_rows_and_columns(shape: tuple[int, int]) -> None:
    given = floats(*shape)
    result = answer("transpose_CPU", given, shape[::-1])
    assert result.dtype == np.float32
    assert all(result[j, i] == given[i, j] for i in range(shape[0]) for j in range(shape[1]))


def test_a_padded_transpose_leaves_the_padding_as_it_was() -> None:
    given = floats(3, 5)
    result = answer("transpose_padded_CPU", given, (3, 5))
    assert all(result[j, i] == given[i, j] for i in range(3) for j in range(3))
    assert (result[:, 3:].view(np.uint32) == POISON).all()


def test_strided_words_are_summed_by_each_thread() -> None:
    rounds, threads = 3, 5
    given = words(rounds * threads * 4)
    want = [
        sum(int(given[4 * (t + r * threads) + k]) for r in range(rounds) for k in range(4)) % M32
        for t in range(threads)
    ]
    assert answer("sum_of_strided_words", given, (threads,), rounds=rounds, threads=threads).tolist() == want


@pytest.mark.parametrize("quads", [1, 4, 7, 40])
def test_a_buffer_is_read_repeatedly(quads: int) -> None:
    rounds, threads = 6, 5
    given = words(4 * quads)
    want = [
        sum(int(given[4 * ((t + r * threads) % quads) + k]) for r in range(rounds) for k in range(4)) % M32
        for t in range(threads)
    ]
    assert answer("sum_of_rounds", given, (threads,), rounds=rounds, threads=threads).tolist() == want


@pytest.mark.parametrize("rounds", [8, 11, 128])
def test_a_sector_holds_what_the_last_rounds_stored(rounds: int) -> None:
    threads = 3
    want = [0] * (8 * threads)
    for t in range(threads):
        for r in range(rounds):
            want[8 * t + r % 8] = t + r
    assert answer("last_round_per_sector", words(0), (8 * threads,), rounds=rounds, threads=threads).tolist() == want


def test_each_lane_adds_its_number_once_a_round() -> None:
    want = [sum(t % 32 for _ in range(9)) for t in range(70)]
    assert answer("sum_of_lanes", words(0), (70,), rounds=9).tolist() == want


def test_a_chain_of_loads_ends_where_its_steps_lead() -> None:
    given, at = words(1009), 0
    for _ in range(50):
        at = (at + 8191 * 32 + (int(given[at]) & 1)) % 1009
    assert answer("end_of_chain", given, (1,), steps=50, words=1009).tolist() == [at]


@pytest.mark.parametrize(("oracle", "group"), [("two_generators_by_lane", 1), ("two_generators_by_warp", 32)])
def test_two_generators_alternate(oracle: str, group: int) -> None:
    given = words(256)
    want = []
    for thread, start in enumerate(given.tolist()):
        value = start
        for _ in range(5):
            if thread // group % 2 == 0:
                value = (value * 1664525 + 1013904223) % M32
            else:
                value = ((value ^ (value << 13)) + 0x9E3779B9) % M32
        want.append(value)
    assert answer(oracle, given, (256,), rounds=5).tolist() == want


def test_xor_and_shift_again_and_again() -> None:
    given = words(20)
    want = given.tolist()
    for _ in range(5):
        want = [(value ^ (value << 1)) % M32 for value in want]
    assert answer("xor_shift_rounds", given, (20,), rounds=5).tolist() == want


def test_a_sparse_matrix_times_a_vector_is_the_same_in_both_orders() -> None:
    rows, width = 5, 3
    values, places, x = words(rows, width) % 8, words(rows, width) % 4, words(4) % 8
    want = [sum(int(values[r, i]) * int(x[places[r, i]]) for i in range(width)) for r in range(rows)]
    by_rows = Problem((values, places, x), (rows,), "uint32", {})
    by_columns = Problem((values.T, places.T, x), (rows,), "uint32", {})
    assert ORACLES["sparse_rows"](by_rows).tolist() == want
    assert ORACLES["sparse_columns"](by_columns).tolist() == want


def test_what_nothing_writes_stays_poisoned() -> None:
    assert answer("untouched", words(0), (4,)).tolist() == [int(POISON)] * 4


def test_poison_is_no_number() -> None:
    assert np.isnan(np.array([POISON]).view(np.float32)).all()
