"""The words for the bounds of a gain."""

from __future__ import annotations

import pytest

from ncuview.records.diagnosis import OPEN_BELOW, Gain


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.94, 2.29, "1.94x to 2.29x"),
        (0.02, 1.5, "0.02x to 1.50x"),
        (OPEN_BELOW, 1.02, "1.02x at most"),
        (OPEN_BELOW, 1 / OPEN_BELOW, "too few runs for an interval"),
    ],
)
def test_a_bound_that_is_unknown_is_not_shown_as_a_number(low: float, high: float, words: str) -> None:
    assert Gain(low, 1.0, high).bounds == words
