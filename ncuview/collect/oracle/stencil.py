"""Means of neighbours on a grid."""

from __future__ import annotations

import numpy as np

from ncuview.collect.oracle.problem import Array, Problem

_REACH = 4
"""Rows above and below, in column_smooth.cu and column_smooth_four.cu."""


def smooth_columns(problem: Problem) -> Array:
    """The mean of each number with the four above and the four below, on a grid that repeats."""
    grid = problem.given
    total = np.zeros(grid.shape, np.float64)
    for step in range(-_REACH, _REACH + 1):
        total += np.roll(grid, -step, axis=0)
    mean: Array = total / (2 * _REACH + 1)
    return mean


ORACLES = (smooth_columns,)
