"""NumPy oracles (of a ``Problem``) of kernels on matrices, images and grids.

Copies, transposes and products of matrices; Sobel edges, and an image rotated with bilinear interpolation; periodic
moving means along columns (9 numbers) or rows (33), and one red-black relaxation step of mixed or separated cells.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ncuview.catalogue.reference.problem import POISON, Array, Problem

_ROWS = 64
"""Rows that are computed or transposed at once: as many as fit in a processor's cache."""


def sobel_edges(problem: Problem) -> Array:
    """255 where the squared gradient of the Sobel masks exceeds the threshold, 0 elsewhere and on the border."""
    image = problem.given
    edges = np.zeros(problem.shape, np.int32)
    for top in range(1, len(image) - 1, _ROWS):
        rows = image[top - 1 : min(top + _ROWS, len(image) - 1) + 1]
        across = rows[:, 2:] - rows[:, :-2]
        down = rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]
        sum1 = across[:-2] + 2 * across[1:-1] + across[2:]
        sum2 = down[:-2] - down[2:]
        edges[top : top + len(sum1), 1:-1] = 255 * (sum1 * sum1 + sum2 * sum2 > problem.sizes["threshold"])
    return edges


def rotated_image(problem: Problem) -> Array:
    """The image rotated about its centre and repeated beyond its border; each pixel interpolates the nearest four."""
    image = problem.given
    height, width = image.shape
    around = np.pad(image, 1, mode="wrap").reshape(-1)
    angle = float(np.float32(np.radians(problem.sizes["degrees"])))
    cosine, sine = np.cos(angle), np.sin(angle)
    u = np.arange(width) / width - 0.5
    rotated = np.empty(problem.shape, np.float32)
    for top in range(0, height, _ROWS):
        v = (np.arange(top, min(top + _ROWS, height)) / height - 0.5)[:, None]
        x = _wrapped(u * cosine - v * sine + 0.5) * width - 0.5
        y = _wrapped(v * cosine + u * sine + 0.5) * height - 0.5
        left, above = np.floor(x), np.floor(y)
        a, b = x - left, y - above
        at = ((above + 1) * (width + 2) + left + 1).astype(np.int64)
        upper = (1 - a) * around.take(at) + a * around.take(at + 1)
        lower = (1 - a) * around.take(at + width + 2) + a * around.take(at + width + 3)
        rotated[top : top + _ROWS] = (1 - b) * upper + b * lower
    return rotated


def _wrapped(coordinate: Array) -> Array:
    """The coordinate's place in the image that repeats from 0 to 1; 1 itself where rounding leads there."""
    inside: Array = coordinate - np.floor(coordinate)
    return inside


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


def matrix_product(problem: Problem) -> Array:
    """Rows of the first by columns of the second; integers, so that the order of the additions does not matter."""
    left, right = problem.inputs
    product: Array = left @ right
    return product
