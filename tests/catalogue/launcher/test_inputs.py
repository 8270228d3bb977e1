"""The contents of inputs: each pattern keeps within what the argument allows, and orders permute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncuview.catalogue.launcher import inputs
from ncuview.catalogue.launcher.inputs import PATTERNS, input_of, seeded

DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "uint64"]


def argument(pattern: str, dtype: str = "float32", *shape: int, below: int = 0, **more: Any) -> dict[str, Any]:
    return {"shape": shape or (40, 5), "dtype": dtype, "below": below, "pattern": pattern, **more}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_have_shape_and_type_and_keep_below_a_bound(pattern: str, dtype: str) -> None:
    array = seeded(input_of(argument(pattern, dtype), 0))
    assert (array.shape, array.dtype) == ((40, 5), np.dtype(dtype))
    bounded = seeded(input_of(argument(pattern, dtype, below=7), 0))
    assert set(bounded.reshape(-1).tolist()) <= set(range(7))


def test_patterns_differ_from_each_other_and_between_inputs() -> None:
    arrays = [seeded(input_of(argument(pattern), stream)).tobytes() for pattern in PATTERNS for stream in (0, 1)]
    assert len(set(arrays)) == len(arrays) - 1, "only zeros are zeros in both inputs"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("below", [0, 7])
@pytest.mark.parametrize("piece", [1, 64, 200, 1 << 20])
def test_a_ramp_does_not_depend_on_its_pieces(
    dtype: str, below: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_PIECE", piece)
    steps = np.arange(200) + 3
    expected = steps % below if below else steps / 200 if np.dtype(dtype).kind == "f" else steps
    found = inputs._ramp(input_of(argument("ramp", dtype, below=below), 3))
    np.testing.assert_array_equal(found, expected.astype(dtype).reshape(40, 5))


def test_extreme_numbers_are_all_there() -> None:
    array = seeded(input_of(argument("extremes", "float32", 400), 0))
    assert {np.inf, -np.inf, np.finfo(np.float32).max, np.finfo(np.float32).smallest_subnormal} <= set(array.tolist())
    assert np.isnan(array).any()
    assert (np.signbit(array) & (array == 0)).any()
    assert np.isfinite(array).mean() > 0.9, "sums of few numbers stay finite"
    integers = seeded(input_of(argument("extremes", "int32", 400), 0))
    assert {integers.min(), integers.max()} == {np.iinfo(np.int32).min, np.iinfo(np.int32).max}


def test_without_a_pattern_an_input_is_that_of_every_profile() -> None:
    plain = {"shape": (9,), "dtype": "float32", "below": 0}
    assert seeded(input_of(plain, 2)).tobytes() == seeded(input_of(plain | {"pattern": "random"}, 2)).tobytes()


def test_a_permutation_keeps_the_elements_and_is_the_same_for_arrays_of_one_length() -> None:
    order = {"axis": 1, "group": 0, "number": 3}
    plain = seeded(input_of(argument("ramp", "int32", 3, 50), 0))
    permuted = seeded(input_of(argument("ramp", "int32", 3, 50, permuted=order), 0))
    assert not np.array_equal(plain, permuted)
    np.testing.assert_array_equal(np.sort(permuted, 1), plain)
    vector = seeded(input_of(argument("ramp", "int32", 50, permuted=order | {"axis": 0}), 0))
    np.testing.assert_array_equal(permuted[0], vector)
    again = seeded(input_of(argument("ramp", "int32", 3, 50, permuted=order | {"number": 4}), 0))
    assert not np.array_equal(again, permuted)


def test_a_group_keeps_its_elements() -> None:
    order = {"axis": 0, "group": 16, "number": 0}
    permuted = seeded(input_of(argument("ramp", "int32", 40, permuted=order), 0))
    groups = [sorted(permuted[start : start + 16].tolist()) for start in (0, 16, 32)]
    assert groups == [list(range(16)), list(range(16, 32)), list(range(32, 40))]
