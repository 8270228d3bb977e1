"""Block sums against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.catalogue.reference import ORACLES, Array, Problem


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


def test_block_sums_leave_their_input_alone() -> None:
    given = whole_numbers(64)
    before = given.copy()
    ORACLES["block_sums"](Problem((given,), (4,), "float32", {}))
    np.testing.assert_array_equal(given, before)


def test_block_sums_of_the_catalogue_are_exact_in_any_order() -> None:
    given = np.full(256 * 8, 7, np.float32)
    forwards = np.float32(0)
    for value in given:
        forwards += value
    assert forwards == 7 * 256 * 8
    assert ORACLES["block_sums"](Problem((given,), (1,), "float32", {})).tolist() == [7 * 256 * 8]
