"""Matrices applied to one signal, against the document's loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem

M = 64
MATRICES = 3


def whole_numbers(*shape: int) -> Array:
    return np.random.default_rng(7).integers(0, 256, shape).astype(np.float32)


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
