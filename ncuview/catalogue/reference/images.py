"""NumPy oracles of the image kernels: Sobel edges, and an image rotated with bilinear interpolation.

Each takes a ``Problem`` and returns the output array.
"""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference.problem import Array, Problem

_ROWS = 64
"""Rows that are computed at once: as many as fit in a processor's cache."""


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


ORACLES = (sobel_edges, rotated_image)
