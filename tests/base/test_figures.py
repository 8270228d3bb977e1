"""Durations and factors: a suitable unit, the right number of digits, and no exponent."""

from __future__ import annotations

from math import inf, nan

import pytest

from ncuview.base.figures import duration


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (0.0, "0 ns"),
        (0.5, "0.5 ns"),
        (512.25, "512.2 ns"),
        (2_272.0, "2.272 us"),
        (-150_600.0, "-150.6 us"),
        (999_960.0, "1000 us"),
        (300e6, "300 ms"),
        (30e9, "30 s"),
        (86_400e9, "86,400 s"),
        (nan, "unknown"),
        (inf, "unknown"),
    ],
)
def test_a_time_has_four_digits_and_a_unit_that_fits_it(nanoseconds: float, words: str) -> None:
    assert duration(nanoseconds) == words


@pytest.mark.parametrize(("nanoseconds", "words"), [(2_272.0, "2.27 us"), (999_700.0, "1,000 us"), (5.0, "5 ns")])
def test_fewer_digits_where_fewer_are_meant(nanoseconds: float, words: str) -> None:
    assert duration(nanoseconds, digits=3) == words
