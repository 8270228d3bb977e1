"""Images, stencils and matrix products, against the documents' loops over pixels, neighbours and elements."""

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


H, W = 11, 3


def test_each_number_becomes_the_mean_of_nine_above_each_other() -> None:
    grid = np.random.default_rng(7).integers(0, 256, (H, W)).astype(np.float32)
    want = [[sum(int(grid[(y + d) % H, x]) for d in range(-4, 5)) / 9 for x in range(W)] for y in range(H)]
    result = ORACLES["smooth_columns"](Problem((grid,), (H, W), "float32", {}))
    np.testing.assert_allclose(result, want, rtol=1e-12)


def whole_numbers(rows: int, columns: int, seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 4, (rows, columns)).astype(np.float32)


def product(left: Array, right: Array) -> Array:
    shape = (len(left), right.shape[1])
    return ORACLES["matrix_product"](Problem((left, right), shape, "float32", {}))


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 1, 1), (5, 5, 5), (3, 7, 4), (17, 33, 9)])
def test_an_element_is_a_row_of_the_left_times_a_column_of_the_right(rows: int, inner: int, columns: int) -> None:
    left, right = whole_numbers(rows, inner, 7), whole_numbers(inner, columns, 8)
    result = product(left, right)
    assert result.dtype == np.float32
    for i in range(rows):
        for j in range(columns):
            total = 0
            for k in range(inner):
                total += int(left[i, k]) * int(right[k, j])
            assert result[i, j] == total


def test_products_of_the_catalogue_are_exact_in_any_order() -> None:
    n = 2048
    largest = np.full((1, n), 3, np.float32)
    one_by_one = np.float32(0)
    for value in largest[0]:
        one_by_one += value * value
    assert one_by_one == 9 * n
    assert product(largest, largest.T).tolist() == [[9 * n]]
