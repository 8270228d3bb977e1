"""Outputs are compared byte by byte, or within what the original's own results differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.catalogue.launcher.differences import Spread, difference
from ncuview.catalogue.reference import POISON, Array

F = np.float32


def floats(*numbers: float) -> Array:
    return np.array(numbers, F)


def test_equal_bytes_do_not_differ() -> None:
    found = difference(floats(1, np.inf, np.nan), floats(1, np.inf, np.nan))
    assert (found.elements, found.first, found.ulp) == (0, (), 0)


def test_the_first_element_that_differs_is_given_with_both_values() -> None:
    right = np.arange(6, dtype=F).reshape(2, 3)
    wrong = right.copy()
    wrong[1, 0], wrong[1, 2] = 7, 9
    found = difference(right, wrong)
    assert (found.elements, found.first, found.expected, found.found) == (2, (1, 0), "3.0", "7.0")
    assert found.absolute == 4


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_next_number_is_one_ulp_away(dtype: type) -> None:
    one: Array = np.array([1, -1, 0], dtype)
    found = difference(one, np.nextafter(one, np.array([2, -2, -1], dtype)))
    assert (found.elements, found.ulp) == (3, 1)


def test_the_two_zeros_have_other_bytes_and_no_distance() -> None:
    found = difference(floats(0.0), floats(-0.0))
    assert (found.elements, found.ulp) == (1, 0)


def test_any_nan_that_was_computed_equals_another_but_not_the_poison() -> None:
    other_nan = np.array([0x7FC00001], np.uint32).view(F)
    poison = np.array([POISON]).view(F)
    assert difference(floats(np.nan), other_nan).elements == 0
    assert difference(floats(np.nan), poison).elements == 1
    assert difference(poison, poison).elements == 0, "the original does not write it either"


@pytest.mark.parametrize(("right", "wrong"), [(np.nan, 1.0), (np.inf, -np.inf), (np.inf, np.nan), (1.0, np.inf)])
def test_infinities_and_nan_differ_as_classes_whatever_is_allowed(right: float, wrong: float) -> None:
    spread = Spread(floats(right))
    spread.largest = 1e30
    assert difference(floats(right), floats(wrong), spread).elements == 1
    assert difference(floats(right), floats(right), spread).elements == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_differ_by_whole_numbers(dtype: str) -> None:
    bounds = np.iinfo(dtype)
    found = difference(np.array([bounds.min, 5], dtype), np.array([bounds.max, 5], dtype))
    assert (found.elements, found.ulp) == (1, int(bounds.max) - int(bounds.min))
    spread = Spread(np.array([5], dtype))
    spread.largest = 100
    assert difference(np.array([5], dtype), np.array([6], dtype), spread).elements == 1, "integers have no tolerance"


def test_four_times_the_spread_is_allowed_and_no_more() -> None:
    spread = Spread(floats(100, 100, 100))
    spread.add(floats(100, 100.005, 100))
    assert spread.largest == pytest.approx(0.005, rel=1e-2)
    assert difference(floats(100, 100, 100), floats(100.019, 100, 100), spread).elements == 0
    assert difference(floats(100, 100, 100), floats(100.021, 100, 100), spread).elements == 1


def test_no_spread_allows_one_ulp() -> None:
    spread = Spread(floats(1))
    spread.add(floats(1))
    next_one = np.nextafter(F(1), F(2))
    assert difference(floats(1), np.array([next_one]), spread).elements == 0
    assert difference(floats(1), np.array([np.nextafter(next_one, F(2))]), spread).elements == 1


def test_a_wide_spread_allows_a_thousandth() -> None:
    spread = Spread(floats(100, 0.001))
    spread.add(floats(150, 0.001))
    assert difference(floats(100, 0.001), floats(100.09, 0.001), spread).elements == 0
    assert difference(floats(100, 0.001), floats(100.2, 0.001), spread).elements == 1
    assert difference(floats(100, 0.001), floats(100, 0.0011), spread).elements == 1


def test_elements_whose_class_the_original_changes_are_not_compared() -> None:
    spread = Spread(floats(np.inf, 1))
    spread.add(floats(3e38, 1))
    assert spread.unstable.tolist() == [True, False]
    assert difference(floats(np.inf, 1), floats(2e38, 1), spread).elements == 0


def test_poison_differs_whatever_is_allowed() -> None:
    spread = Spread(floats(np.nan))
    assert difference(floats(np.nan), np.array([POISON]).view(F), spread).elements == 1


@given(st.lists(st.floats(width=32), min_size=1, max_size=20), st.data())
def test_one_changed_element_is_found_wherever_it_is(numbers: list[float], data: st.DataObject) -> None:
    right = np.array(numbers, F)
    at = data.draw(st.integers(0, len(numbers) - 1))
    wrong = right.copy()
    wrong[at] = 1.0 if right[at] != 1.0 else 2.0
    found = difference(right, wrong)
    assert (found.elements, found.first) == (1, (at,))
