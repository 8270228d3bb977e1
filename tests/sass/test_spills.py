"""Spilled registers and arrays in local memory."""

from __future__ import annotations

import re

import pytest

from ncuview.sass.idioms.spills import local_array_accesses, spill_accesses
from tests.sass.counting import Of, marked, weights

COUNTED = [
    (spill_accesses, "STL [R1+0x4c], R4", "STL [R3], R4"),
    (spill_accesses, "LDL.LU R0, [R1]", "LDL R0, [R12+0x4]"),
    (spill_accesses, "STL.128 [R1+0x10], R12", "STS.128 [R1+0x10], R12"),
    (local_array_accesses, "LDL R5, [R5]", "LDL R5, [R1]"),
    (local_array_accesses, "@P1 LDL R3, [R12+-0x4]", "@P1 LDL R3, [R1+0x4]"),
    (local_array_accesses, "STL [R10], R2", "LDG.E R5, desc[UR4][R10.64]"),
]


@pytest.mark.parametrize(
    ("of", "counts", "does_not"), COUNTED, ids=[f"{of.__name__}: {text}" for of, text, _ in COUNTED]
)
def test_spills_and_local_arrays_are_distinguished(of: Of, counts: str, does_not: str) -> None:
    assert marked(of, does_not, counts, does_not) == [1]


@pytest.mark.parametrize("text", [counts for of, counts, _ in COUNTED if of is spill_accesses])
def test_a_local_access_is_either_a_spill_or_an_array(text: str) -> None:
    for lines in ([text], [re.sub(r"\[R1\b", "[R30", text)]):
        assert sum(weights(spill_accesses, *lines)) + sum(weights(local_array_accesses, *lines)) == 1


def test_a_place_on_the_stack_that_a_uniform_register_moves_is_in_an_array() -> None:
    assert marked(local_array_accesses, "LDL R4, [R1+UR4+0x10]") == [0]
