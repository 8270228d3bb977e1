"""Edges and rotations of images, against the documents' loops over pixels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem


def pixels(*shape: int) -> Array:
    return np.random.default_rng(7).integers(0, 256, shape).astype(np.int32)


def brightness(*shape: int) -> Array:
    return np.random.default_rng(7).random(shape, dtype=np.float32)


def edges(image: Array, threshold: int) -> Array:
    return ORACLES["sobel_edges"](Problem((image,), image.shape, "int32", {"threshold": threshold}))


def rotated(image: Array, degrees: int) -> Array:
    return ORACLES["rotated_image"](Problem((image,), image.shape, "float32", {"degrees": degrees}))


@pytest.mark.parametrize("shape", [(3, 3), (5, 8), (66, 5), (130, 4)])
def test_an_edge_is_where_the_masks_exceed_the_threshold(shape: tuple[int, int]) -> None:
    image = pixels(*shape)
    u, want = image.tolist(), np.zeros(shape, np.int32)
    for i in range(1, shape[0] - 1):
        for j in range(1, shape[1] - 1):
            sum1 = u[i - 1][j + 1] - u[i - 1][j - 1] + 2 * u[i][j + 1] - 2 * u[i][j - 1]
            sum1 += u[i + 1][j + 1] - u[i + 1][j - 1]
            sum2 = u[i - 1][j - 1] + 2 * u[i - 1][j] + u[i - 1][j + 1]
            sum2 -= u[i + 1][j - 1] + 2 * u[i + 1][j] + u[i + 1][j + 1]
            want[i, j] = 255 if sum1 * sum1 + sum2 * sum2 > 90000 else 0
    result = edges(image, 90000)
    assert result.dtype == np.int32
    assert result.tolist() == want.tolist()


def test_a_gradient_of_the_threshold_itself_is_no_edge() -> None:
    image = np.array([[0, 0, 10]] * 3, np.int32)
    assert edges(image, 1600)[1, 1] == 0
    assert edges(image, 1599)[1, 1] == 255


@pytest.mark.parametrize("degrees", [0, 30, 90, 200])
@pytest.mark.parametrize("shape", [(4, 4), (5, 8), (70, 6)])
def test_a_turned_pixel_interpolates_the_four_nearest(shape: tuple[int, int], degrees: int) -> None:
    image, (height, width) = brightness(*shape), shape
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    want = np.empty(shape)
    for row in range(height):
        for column in range(width):
            u, v = column / width - 0.5, row / height - 0.5
            x = (u * cosine - v * sine + 0.5) * width - 0.5
            y = (v * cosine + u * sine + 0.5) * height - 0.5
            want[row, column] = sum(
                (1 - abs(x - i)) * (1 - abs(y - j)) * image[j % height, i % width]
                for i in (math.floor(x), math.floor(x) + 1)
                for j in (math.floor(y), math.floor(y) + 1)
            )
    result = rotated(image, degrees)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, want, atol=1e-5)


def test_an_image_that_is_not_turned_averages_pixels_because_their_centres_are_half_a_pixel_in() -> None:
    image = brightness(4, 6)
    result = rotated(image, 0)
    np.testing.assert_allclose(result[1, 1], image[:2, :2].mean(), atol=1e-6)
    np.testing.assert_allclose(result[0, 0], image[[0, 0, -1, -1], [0, -1, 0, -1]].mean(), atol=1e-6)
