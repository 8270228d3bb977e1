"""NumPy oracles of the copy and transpose kernels: ``Problem`` -> the input, its transpose, or a padded transpose."""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import POISON, Array, Problem

_ROWS = 64
"""Rows that NumPy transposes at once: as many as fit in a processor's cache."""


def copy_CPU(problem: Problem) -> Array:
    """The input itself."""
    return problem.given


def transpose_CPU(problem: Problem) -> Array:
    """``out[i, j] = in[j, i]``, for matrices of any shape."""
    expected = np.empty(problem.shape, problem.given.dtype)
    for row in range(0, len(problem.given), _ROWS):
        expected[:, row : row + _ROWS] = problem.given[row : row + _ROWS].T
    return expected


def transpose_padded_CPU(problem: Problem) -> Array:
    """The transpose of the square part; the padding columns of each row are not changed."""
    n = problem.shape[0]
    expected: Array = np.full(problem.shape, POISON).view(problem.given.dtype)
    expected[:, :n] = problem.given[:, :n].T
    return expected


ORACLES = (copy_CPU, transpose_CPU, transpose_padded_CPU)
