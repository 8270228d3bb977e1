"""NumPy oracles of the constant_memory kernels: matrix-vector products with one signal, and sums over weighted lines.

Each takes a ``Problem``. The products are sums of integers that stay below 2**24, exact in any order.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_WARP = 32
_COEFFICIENTS = 4
_BITS = 6
_WIDTH, _SPACING = 1024, 1 / 64


def apply_signal_to_rows(problem: Problem) -> Array:
    """``R[b, t] = sum of mat[b, t, j] * signal[j]``."""
    matrices, signal = problem.inputs
    result: Array = np.matmul(matrices, signal)
    return result


def apply_signal_to_columns(problem: Problem) -> Array:
    """``R[b, t] = sum of mat[b, j, t] * signal[j]``."""
    matrices, signal = problem.inputs
    result: Array = np.matmul(signal, matrices)
    return result


def apply_signal_by_lane(problem: Problem) -> Array:
    """``R[b, t] = sum of mat[b, j, t] * signal[j ^ t % 32]``."""
    matrices, signal = problem.inputs
    element = np.arange(len(signal))
    by_lane = signal[element[:, None] ^ element % _WARP]
    result: Array = np.einsum("bjt,jt->bt", matrices, by_lane)
    return result


def apply_generated(problem: Problem) -> Array:
    """Row r of the matrix repeats four coefficients, each of six bits of r."""
    rows = np.arange(problem.shape[0])
    sums = problem.given.reshape(-1, _COEFFICIENTS).sum(axis=0)
    bits = rows[:, None] >> _BITS * np.arange(_COEFFICIENTS) & (1 << _BITS) - 1
    result: Array = np.matmul(bits.astype(np.float32), sums)
    return result


def near_lines(problem: Problem) -> Array:
    """``out[i] = sum of w / sqrt((a * (i % 1024 / 64) + b * (i // 1024 / 64) + c)^2 + 1)`` over rows (a, b, c, w)."""
    rows, columns = np.divmod(np.arange(problem.shape[0]), _WIDTH)
    result = np.zeros(problem.shape[0])
    for a, b, c, weight in problem.given.astype(np.float64):
        result += weight / np.sqrt((a * columns * _SPACING + b * rows * _SPACING + c) ** 2 + 1)
    return result.astype(np.float32)


ORACLES = (apply_signal_to_rows, apply_signal_to_columns, apply_signal_by_lane, apply_generated, near_lines)
