"""Matrix products against three loops."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem


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


def test_a_matrix_product_leaves_its_inputs_alone() -> None:
    left, right = whole_numbers(8, 8, 7), whole_numbers(8, 8, 8)
    before = left.copy(), right.copy()
    product(left, right)
    np.testing.assert_array_equal(left, before[0])
    np.testing.assert_array_equal(right, before[1])


def test_products_of_the_catalogue_are_exact_in_any_order() -> None:
    n = 2048
    largest = np.full((1, n), 3, np.float32)
    one_by_one = np.float32(0)
    for value in largest[0]:
        one_by_one += value * value
    assert one_by_one == 9 * n
    assert product(largest, largest.T).tolist() == [[9 * n]]
