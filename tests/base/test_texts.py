"""Texts: masking in time proportional to an argument's length; durations with a unit and digits that fit."""

from __future__ import annotations

from itertools import product
from math import inf, nan

import pytest

from ncuview.base.figures import duration
from ncuview.base.log import MASK, masked, masked_words
from tests.together import together

LENGTH = 128 << 10
"""The longest argument that Linux takes. What looks at each part again for each other part does not finish with it."""
PARTS = ("-", ".", "a", "a-", "key", "-key", "--key", "key ", "key=", "--key ", " --", "'", '"', "='", "a://", "sk-")
BEGINNINGS, ENDS = ("", "--key ", "--key '", "a://"), ("", "@")
LONG = list(product(BEGINNINGS, [*PARTS, " ", "@", "key\"'"], ENDS))


@together("beginning, part, end", LONG[::5])  # with every part, beginning and end; tests/nightly has all
def test_a_long_argument_is_masked(beginning: str, part: str, end: str) -> None:
    check_masked(beginning, part, end)


def check_masked(beginning: str, part: str, end: str) -> None:
    argument = beginning + part * (LENGTH // len(part)) + end
    [word] = masked_words([argument])
    assert len(word) <= len(argument) * len(MASK)
    assert masked(argument)


@pytest.mark.parametrize("dashes", ["", "-", "--", "---", "-" * 40])
def test_a_value_named_as_a_secret_is_masked_after_any_number_of_dashes(dashes: str) -> None:
    assert list(masked_words([f"{dashes}api-key=a b"])) == [f"{dashes}api-key={MASK}"]
    assert list(masked_words([f"x {dashes}token=a b"])) == [f"x {dashes}token={MASK}"]


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
