"""The text about a damaged report names the launches that were read and those that were lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.reader.damage import Damage


def damage(results: int, announced: int | None, lost: set[int], without_code: set[int], *reasons: str) -> str:
    return str(Damage(results, announced, lost, without_code, reasons))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (damage(9, 9, {7, 8}, set(), "why"), "launches 0 to 6 of 9 were read; why"),
        (damage(9, 9, {4}, set(), "why"), "launches 0 to 3 and 5 to 8 of 9 were read; why"),
        (damage(7, 7, {1, 3, 5}, set(), "why"), "launches 0, 2, 4 and 6 of 7 were read; why"),
        (damage(2, 2, {0}, set(), "why"), "launch 1 of 2 was read; why"),
        (damage(7, None, set(), set(), "cut"), "launches 0 to 6 were read; cut"),
        (damage(2_000, 2_000, set(range(0, 2_000, 2)), set(), "why"), "1,000 launches of 2,000 were read; why"),
        (
            damage(3, 3, set(), {0, 1, 2}, "why"),
            "launches 0 to 2 of 3 were read, launches 0 to 2 were read without sources and machine code; why",
        ),
    ],
)
def test_launches_are_named_as_people_do(said: str, expected: str) -> None:
    assert said == expected


def test_a_reason_is_given_once_and_only_the_first_few() -> None:
    assert Damage(9, 9, {1}, (), ["a", "b", "a"]).why == "a; b"
    assert Damage(9, 9, {1}, (), list("abcde")).why == "a; b; c; and 2 more"


def test_a_report_that_may_be_intact_is_not_called_damaged() -> None:
    made = Damage(9, 9, {1}, (), list("abcde"), may_be_intact=True)
    assert made.why.endswith(
        "and 2 more; the report is damaged, or this machine has too little memory or time to read it"
    )


@given(st.sets(st.integers(0, 12), min_size=1, max_size=12))
def test_launches_that_were_read_and_lost_ones_are_never_confused(lost: set[int]) -> None:
    said = damage(13, None, lost, set(), "why")
    outcome, _, why = said.partition(" read; ")
    assert why == "why"
    runs = re.findall(r"(\d+)(?: to (\d+))?", outcome)
    named = {launch for first, last in runs for launch in range(int(first), int(last or first) + 1)}
    if outcome.startswith("launch"):
        assert named == set(range(13)) - lost
    else:
        assert named == {13 - len(lost)}
