"""Matrices applied to one signal; every sum is of whole numbers below 2**24, so its order does not matter."""

from __future__ import annotations

import numpy as np

from ncuview.collect.oracle.problem import Array, Problem

_WARP = 32
_COEFFICIENTS = 4
_BITS = 6


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
    """Row r of the matrix repeats four coefficients, of six bits of r each."""
    rows = np.arange(problem.shape[0])
    sums = problem.given.reshape(-1, _COEFFICIENTS).sum(axis=0)
    bits = rows[:, None] >> _BITS * np.arange(_COEFFICIENTS) & (1 << _BITS) - 1
    result: Array = np.matmul(bits.astype(np.float32), sums)
    return result


ORACLES = (apply_signal_to_rows, apply_signal_to_columns, apply_signal_by_lane, apply_generated)
