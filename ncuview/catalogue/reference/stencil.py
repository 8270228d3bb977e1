"""NumPy oracles of the stencil kernels: ``Problem`` -> periodic moving means, or one red-black relaxation step.

The means are along columns (9 numbers) or rows (33); the relaxation takes mixed or separated red and black cells.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_REACH = 4
"""Rows above and below, in column_smooth.cu and column_smooth_four.cu."""
_REACH_IN_ROW = 16
"""Numbers before and after, in row_smooth.cu and row_smooth_four.cu."""


def smooth_columns(problem: Problem) -> Array:
    """The mean of each number with the four above and the four below, on a grid that repeats."""
    return _smooth(problem.given, _REACH, axis=0)


def smooth_rows(problem: Problem) -> Array:
    """The mean of each number with the sixteen before and the sixteen after it, in a row that repeats."""
    return _smooth(problem.given, _REACH_IN_ROW, axis=1)


def _smooth(grid: Array, reach: int, axis: int) -> Array:
    total = np.zeros(grid.shape, np.float64)
    for step in range(-reach, reach + 1):
        total += np.roll(grid, -step, axis=axis)
    mean: Array = total / (2 * reach + 1)
    return mean


def red_cells_relaxed(problem: Problem) -> Array:
    """Each cell whose row and column are both even or both odd, halfway to the mean of its neighbours; 0 elsewhere."""
    cells = problem.given.astype(np.float64)
    around = np.zeros(cells.shape)
    for axis in (0, 1):
        around += np.roll(cells, 1, axis) + np.roll(cells, -1, axis)
    row, column = np.indices(cells.shape)
    relaxed: Array = np.where((row + column) % 2 == 0, 0.5 * cells + 0.125 * around, 0)
    return relaxed


def red_cells_relaxed_apart(problem: Problem) -> Array:
    """The same, where red and black cells are separate inputs, and only red ones are in the result."""
    red, black = problem.given
    odd = np.arange(len(red)) % 2 == 1
    cells = np.empty((red.shape[0], 2 * red.shape[1]))
    cells[~odd, ::2], cells[~odd, 1::2] = red[~odd], black[~odd]
    cells[odd, 1::2], cells[odd, ::2] = red[odd], black[odd]
    relaxed = red_cells_relaxed(replace(problem, inputs=(cells,)))
    apart: Array = np.where(odd[:, None], relaxed[:, 1::2], relaxed[:, ::2])
    return apart


ORACLES = (smooth_columns, smooth_rows, red_cells_relaxed, red_cells_relaxed_apart)
