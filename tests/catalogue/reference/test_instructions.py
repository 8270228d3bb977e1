"""The oracles of single instructions against a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem

M32 = 1 << 32


def words(count: int, below: int = M32) -> Array:
    return np.random.default_rng(7).integers(0, below, count, dtype=np.uint32)


def floats(count: int) -> Array:
    return np.random.default_rng(7).random(count, dtype=np.float32)


def answer(oracle: str, *inputs: Array, **sizes: int) -> Array:
    given = inputs[-1]
    return ORACLES[oracle](Problem(inputs, given.shape, given.dtype.name, sizes))


@pytest.mark.parametrize("d", [1, 3, 10, 16])
def test_a_number_is_divided_and_its_remainder_weighed_again_and_again(d: int) -> None:
    given = words(20)
    want = given.tolist()
    for _ in range(6):
        want = [(value // d + value % d * 2654435769) % M32 for value in want]
    assert answer("division_rounds", given, d=d, rounds=6).tolist() == want


def test_dividing_by_16_is_a_shift_and_a_mask() -> None:
    given = words(20)
    want = given.tolist()
    for _ in range(6):
        want = [((value >> 4) + (value & 15) * 2654435769) % M32 for value in want]
    assert answer("division_rounds", given, d=16, rounds=6).tolist() == want


def test_a_number_is_multiplied_and_shifted_again_and_again() -> None:
    given = words(20, below=1 << 24)
    want = given.tolist()
    for _ in range(6):
        want = [(value * 16598013 + 12345) % M32 >> 8 for value in want]
        assert max(want) < 1 << 24
    assert answer("multiply_rounds", given, factor=16598013, shift=8, rounds=6).tolist() == want


def test_work_in_pieces_covers_every_element() -> None:
    given = words((1 << 15) * 2 + 3)
    result = answer("division_rounds", given, d=10, rounds=1)
    assert result.tolist() == [(value // 10 + value % 10 * 2654435769) % M32 for value in given.tolist()]


def test_sines_are_summed_in_steps() -> None:
    given = floats(20)
    want = [sum(math.sin(x + r / 32) for r in range(64)) for x in given.tolist()]
    np.testing.assert_allclose(answer("sum_of_sines", given, parts=32, rounds=64), want, rtol=1e-12)


def test_exponentials_are_summed_in_steps() -> None:
    given = floats(20)
    want = [sum(math.exp(-x - r / 32) for r in range(64)) for x in given.tolist()]
    np.testing.assert_allclose(answer("sum_of_exponentials", given, parts=32, rounds=64), want, rtol=1e-12)


def test_variances_are_weighted_by_the_distance_from_the_center() -> None:
    given = floats(20)
    xs = given.astype(np.float64)[:, None] + np.arange(64) / 32
    weights = np.exp(-((xs - 1) ** 2))
    want = np.average((xs - np.average(xs, 1, weights)[:, None]) ** 2, 1, weights)
    np.testing.assert_allclose(answer("weighted_variance", given, parts=32, rounds=64, center=1), want, rtol=1e-12)


def test_quotients_are_summed_from_the_number_after() -> None:
    given = words(20, below=50).astype(np.float32)
    want = [sum(3 / (x + 1 + r) for r in range(9)) for x in given.tolist()]
    np.testing.assert_allclose(answer("sum_of_quotients", given, numerator=3, rounds=9), want, rtol=1e-12)


def test_numbers_are_divided_by_one_divisor_and_summed() -> None:
    given = words(20, below=1024).astype(np.float32)
    want = [sum((x + r) / 3 for r in range(9)) for x in given.tolist()]
    np.testing.assert_allclose(answer("sum_divided", given, d=3, rounds=9), want, rtol=1e-12)


def test_a_number_is_damped_again_and_again() -> None:
    given = floats(20)
    want = given.tolist()
    for _ in range(30):
        want = [x * 0.999 + 0.001 for x in want]
    np.testing.assert_allclose(answer("damped_rounds", given, rounds=30), want, rtol=1e-12)


def test_each_sum_of_the_ring_adds_the_next_two() -> None:
    given, want = words(7), []
    for start in given.tolist():
        sums = [start + number for number in range(48)]
        for _ in range(3):
            for at in range(46):
                sums[at] += sums[at + 1] + sums[at + 2]
            sums[46] += sums[47] + sums[0]
            sums[47] += sums[0] + sums[1]
        want.append(sums[0] % M32)
    assert answer("ring_of_sums", given, rounds=3).tolist() == want


def test_a_window_adds_words_from_five_places_on() -> None:
    given, want = words(7), []
    for start in given.tolist():
        window = [start]
        while len(window) < 16:
            window.append((window[-1] * 1664525 + 1013904223) % M32)
        for _ in range(3):
            for k in range(16):
                window[k] = (window[k] + window[(k + 5) % 16]) % M32
        want.append(window[15])
    assert answer("lagged_fibonacci", given, rounds=48).tolist() == want


def test_a_polynomial_is_evaluated_highest_power_first() -> None:
    coefficients, points = floats(4), floats(20)
    a, b, c, d = coefficients.tolist()
    want = [a * x**3 + b * x**2 + c * x + d for x in points.tolist()]
    np.testing.assert_allclose(answer("polynomial", coefficients, points, terms=4), want, rtol=1e-12)


def test_floats_are_scaled_in_single_precision() -> None:
    given = floats(20)
    result = answer("scaled", given, a=3)
    assert result.dtype == np.float32
    assert result.tolist() == [float(np.float32(3) * x) for x in given]


RECORDS = 8


def chained(table: Array, warps: int, steps: int) -> Array:
    return ORACLES["chained_records"](Problem((table,), (32 * warps,), "uint32", {"records": RECORDS, "steps": steps}))


def records() -> Array:
    return np.random.default_rng(7).integers(0, 1 << 32, (RECORDS, 32), dtype=np.uint32)


def test_warps_follow_a_chain_of_records() -> None:
    table, want = records(), []
    for warp in range(5):
        at, total = warp, [0] * 32
        for step in range(11):
            record = table[at % RECORDS].tolist()
            total = [(have + word * 31**step) % (1 << 32) for have, word in zip(total, record, strict=True)]
            at = (record[0] + warp) % (1 << 32)
        want += total
    assert chained(table, 5, 11).tolist() == want


def test_a_word_weighted_at_the_end_weighs_as_much() -> None:
    """The kernels that keep all words work from the last one back."""
    table, warp = records(), 3
    at, words = warp, []
    for _ in range(6):
        words.append(int(table[at % RECORDS, 9]))
        at = (int(table[at % RECORDS, 0]) + warp) % (1 << 32)
    total = 0
    for word in reversed(words):
        total = (total * 31 + word) % (1 << 32)
    assert chained(table, 4, 6)[32 * warp + 9] == total
