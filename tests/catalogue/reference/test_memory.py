"""Elements read in a pattern, and matrices applied to one signal, against the kernels' loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem

LOADS = 8
THREADS = 128
N = LOADS * THREADS


def whole_numbers(*shape: int) -> Array:
    return np.random.default_rng(7).integers(0, 256, shape).astype(np.float32)


def sums(given: Array, element: Callable[[int], int]) -> list[float]:
    """What each thread adds up when it reads ``element(i)`` for its i."""
    flat = given.reshape(-1).tolist()
    return [sum(flat[element(t + r * THREADS)] for r in range(LOADS)) for t in range(THREADS)]


def answer(oracle: str, given: Array, **sizes: int) -> Array:
    result = ORACLES[oracle](Problem((given,), (THREADS,), "float32", sizes))
    assert result.shape == (THREADS,)
    assert result.dtype == np.float32
    return result


def test_aligned_threads_read_their_own_element() -> None:
    given = whole_numbers(N)
    assert answer("sums_of_elements", given).tolist() == sums(given, lambda i: i)


@pytest.mark.parametrize("offset", [1, 8, 16])
def test_misaligned_threads_read_an_element_further_on(offset: int) -> None:
    given = whole_numbers(N + 32)
    assert answer("sums_of_elements", given, offset=offset).tolist() == sums(given, lambda i: i + offset)


def test_permuted_lanes_exchange_places() -> None:
    given = whole_numbers(N)
    assert answer("sums_of_permuted", given).tolist() == sums(given, lambda i: i - i % 32 + i % 32 * 5 % 32)


def test_a_permutation_leaves_no_lane_out() -> None:
    assert sorted(lane * 5 % 32 for lane in range(32)) == list(range(32))


def test_a_broadcast_gives_all_lanes_one_element() -> None:
    given = whole_numbers(N)
    assert answer("sums_of_broadcast", given).tolist() == sums(given, lambda i: i - i % 32)


@pytest.mark.parametrize("stride", [1, 2, 8, 32])
def test_strided_threads_read_every_element_once(stride: int) -> None:
    given = whole_numbers(N)
    threads = THREADS // stride
    want = [0.0] * THREADS
    for row in range(stride):
        for t in range(threads):
            for r in range(LOADS):
                want[row * threads + t] += float(given[(t + r * threads) * stride + row])
    assert answer("sums_of_strided", given, stride=stride).tolist() == want


def test_scattered_threads_read_every_element_once() -> None:
    given = whole_numbers(N)
    elements = [i * 2654435761 % (1 << 32) & (N - 1) for i in range(N)]
    assert sorted(elements) == list(range(N))
    assert answer("sums_of_scattered", given).tolist() == sums(given, lambda i: elements[i])


def test_lanes_that_are_scattered_share_no_sector() -> None:
    n = 33554432
    for warp in (0, 1, 1000, n // 32 - 1):
        sectors = {((32 * warp + lane) * 2654435761 & (n - 1)) // 8 for lane in range(32)}
        assert len(sectors) == 32


def test_one_field_of_an_array_of_structures() -> None:
    given = whole_numbers(N, 4)
    assert answer("sums_of_structure_field", given).tolist() == sums(given, lambda i: 4 * i + 3)


def test_one_field_of_a_structure_of_arrays() -> None:
    given = whole_numbers(4, N)
    assert answer("sums_of_array_field", given).tolist() == sums(given, lambda i: 3 * N + i)


def test_all_fields_of_an_array_of_structures() -> None:
    given = whole_numbers(N, 4)
    fields = [sums(given, lambda i, field=field: 4 * i + field) for field in range(4)]  # type: ignore[misc]
    assert answer("sums_of_structures", given).tolist() == [sum(each) for each in zip(*fields, strict=True)]


M = 64
MATRICES = 3


@pytest.mark.parametrize(
    ("oracle", "coefficient", "element"),
    [
        ("apply_signal_to_rows", lambda t, j: (t, j), lambda _, j: j),
        ("apply_signal_to_columns", lambda t, j: (j, t), lambda _, j: j),
        ("apply_signal_by_lane", lambda t, j: (j, t), lambda t, j: j ^ t % 32),
    ],
)
def test_each_matrix_is_applied_to_the_signal(
    oracle: str, coefficient: Callable[[int, int], tuple[int, int]], element: Callable[[int, int], int]
) -> None:
    matrices, signal = whole_numbers(MATRICES, M, M), whole_numbers(M) + 1
    want = [
        [sum(int(matrix[coefficient(t, j)]) * int(signal[element(t, j)]) for j in range(M)) for t in range(M)]
        for matrix in matrices
    ]
    result = ORACLES[oracle](Problem((matrices, signal), (MATRICES, M), "float32", {}))
    assert result.shape == (MATRICES, M)
    assert result.dtype == np.float32
    assert result.tolist() == want


def test_a_generated_row_repeats_four_numbers_of_six_bits() -> None:
    signal = whole_numbers(8) % 16
    rows = 1 << 14
    want = [sum((row >> 6 * (j % 4) & 63) * int(signal[j]) for j in range(8)) for row in range(rows)]
    result = ORACLES["apply_generated"](Problem((signal,), (rows,), "float32", {}))
    assert result.dtype == np.float32
    assert result.tolist() == want
