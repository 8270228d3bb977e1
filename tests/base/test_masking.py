"""Masking takes time in proportion to an argument's length, for any argument."""

from __future__ import annotations

from itertools import product

import pytest

from ncuview.base.masking import MASK, masked, masked_words
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
