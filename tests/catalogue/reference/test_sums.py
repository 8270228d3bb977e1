"""Histograms, counts and block sums, against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem


def words(n: int, below: int) -> Array:
    return np.random.default_rng(7).integers(0, below, n, dtype=np.uint32)


@pytest.mark.parametrize("values", [1, 4, 256])
def test_a_histogram_counts_each_value(values: int) -> None:
    given = words(1000, values)
    want = [0] * 256
    for value in given.tolist():
        want[value] += 1
    result = ORACLES["histogram_CPU"](Problem((given,), (256,), "uint32", {"values": values}))
    assert result.dtype == np.uint32
    assert result.tolist() == want


def test_all_set_bits_are_counted() -> None:
    given = words(1000, 1 << 32)
    result = ORACLES["count_of_bits"](Problem((given,), (2,), "uint32", {}))
    assert result.dtype == np.uint32
    assert result.tolist() == [sum(f"{value:b}".count("1") for value in given.tolist()), 0]


def test_a_count_of_bits_is_one_number_of_64_bits() -> None:
    given = np.full(1 << 20, 0xFFFFFFFF, np.uint32)
    result = ORACLES["count_of_bits"](Problem((given,), (2,), "uint32", {}))
    assert result.view(np.uint64).tolist() == [32 << 20]


def test_rows_are_added_to_the_rows_that_they_go_to() -> None:
    rows, to = words(600, 4).reshape(100, 6).astype(np.float16), words(100, 20)
    want = np.zeros((20, 6))
    for row, target in zip(rows.tolist(), to.tolist(), strict=True):
        want[target] += row
    result = ORACLES["sums_by_target_row"](Problem((rows.reshape(-1), to), (120,), "float16", {"rows": 20, "width": 6}))
    assert result.dtype == np.float16
    assert result.reshape(20, 6).tolist() == want.tolist()


def whole_numbers(n: int) -> Array:
    return np.random.default_rng(7).integers(0, 8, n).astype(np.float32)


@pytest.mark.parametrize(("blocks", "each"), [(1, 1), (1, 256), (7, 5), (12, 2048)])
def test_each_block_sums_its_own_stretch(blocks: int, each: int) -> None:
    given = whole_numbers(blocks * each)
    want = []
    for block in range(blocks):
        total = 0
        for i in range(each):
            total += int(given[block * each + i])
        want.append(total)
    result = ORACLES["block_sums"](Problem((given,), (blocks,), "float32", {}))
    assert result.dtype == np.float32
    assert result.tolist() == want


def test_block_sums_of_the_catalogue_are_exact_in_any_order() -> None:
    given = np.full(256 * 8, 7, np.float32)
    forwards = np.float32(0)
    for value in given:
        forwards += value
    assert forwards == 7 * 256 * 8
    assert ORACLES["block_sums"](Problem((given,), (1,), "float32", {})).tolist() == [7 * 256 * 8]
