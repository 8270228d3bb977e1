"""Loops of compare-and-swap."""

from __future__ import annotations

import pytest

from ncuview.sass.idioms.compare_and_swap import swap_loops
from tests.sass.counting import marked


def test_an_addition_by_compare_and_swap_is_a_swap_loop() -> None:
    lines = (
        "LD.E R5, desc[UR4][R8.64]",
        "HADD2 R0, R5, R2.H0_H0",
        "PRMT R3, R5, R4, R0",
        "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3",
        "ISETP.NE.U32.AND P0, PT, R0, R5, PT",
        "MOV R5, R0",
        "@P0 BRA 0x10",
        "EXIT",
    )
    assert marked(swap_loops, *lines) == [3]


@pytest.mark.parametrize(
    "swap",
    [
        "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R7",
        "ATOM.E.ADD.STRONG.GPU PT, R0, [R8], R5",
        "ATOMS.CAS R0, [R8], R5, R5",
    ],
    ids=["a fixed value", "an addition", "in shared memory"],
)
def test_other_atomics_in_a_loop_are_no_swap_loops(swap: str) -> None:
    lines = ("LD.E R5, desc[UR4][R8.64]", "IADD3 R3, R5, 0x1, RZ", swap, "MOV R5, R0", "@P0 BRA 0x10", "EXIT")
    assert marked(swap_loops, *lines) == []


def test_a_swap_that_nothing_repeats_is_no_swap_loop() -> None:
    lines = ("LD.E R5, desc[UR4][R8.64]", "IADD3 R3, R5, 0x1, RZ", "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3", "EXIT")
    assert marked(swap_loops, *lines) == []


def test_a_value_that_is_only_chosen_by_what_was_found_is_a_fixed_one() -> None:
    lines = (
        "ATOMG.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3",
        "ISETP.NE.U32.AND P0, PT, R0, R5, PT",
        "@P0 MOV R3, R7",
        "@P0 BRA 0x0",
        "EXIT",
    )
    assert marked(swap_loops, *lines) == []
