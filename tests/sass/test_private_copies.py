"""Copies of a result that each block keeps in shared memory, and the atomics that merge them."""

from __future__ import annotations

import pytest

from ncuview.sass.idioms.private_copies import merge_per_block, merging_atomics
from tests.sass.program import code, marked, program, where

COUNT = "ATOMS.POPC.INC.32 RZ, [R10+URZ]"
ADD = "REDG.E.ADD.STRONG.GPU desc[UR8][R2.64], R7"

HISTOGRAM = """
    S2R R0, SR_TID.X
    MOV R4, 0x400
clear:
    STS [R4], RZ
    IADD3 R4, R4, 0x400, RZ
    ISETP.GE.AND P0, PT, R4, 0x2000, PT
    @!P0 BRA {clear}
    BAR.SYNC.DEFER_BLOCKING 0x0
tile:
    LDG.E R11, desc[UR8][R12.64]
    ATOMS.POPC.INC.32 RZ, [R11+URZ]
    ISETP.GE.AND P1, PT, R13, R14, PT
    @!P1 BRA {tile}
    BAR.SYNC.DEFER_BLOCKING 0x0
    LDS R7, [R0]
    REDG.E.ADD.STRONG.GPU desc[UR8][R2.64], R7
    {end}
"""


@pytest.mark.parametrize(
    "lines",
    [
        (COUNT, "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R7, [R0]", ADD),
        ("LDS R5, [R1]", "FADD R5, R5, R6", "STS [R1], R5", "LDS R7, [R0]", ADD),
        (COUNT, "LDS R5, [R0]", "LDS R6, [R0+0x400]", "IADD3 R7, R5, R6, RZ", ADD),
        (COUNT, "LDS R5, [R0]", "SHFL.BFLY PT, R6, R5, 0x10, 0x1f", "IMAD.IADD R7, R5, 0x1, R6", ADD),
        (COUNT, "LDS R6, [R0]", "MOV R7, RZ", "@P0 IADD3 R7, R7, R6, RZ", ADD),
    ],
    ids=["counted", "summed", "of two copies", "of all lanes", "from zero on"],
)
def test_an_atomic_that_adds_what_the_block_has_summed_up_merges(lines: tuple[str, ...]) -> None:
    assert marked(merging_atomics, *lines) == [len(lines) - 1]


@pytest.mark.parametrize(
    "lines",
    [
        ("STS [R0], R5", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R7, [R0]", ADD),
        (COUNT, "LDG.E R7, desc[UR8][R4.64]", ADD),
        (COUNT, "LDS R5, [R0]", "LDG.E R6, desc[UR8][R4.64]", "IADD3 R7, R5, R6, RZ", ADD),
        (COUNT, "LDS R5, [R0]", "LDS R6, [R0+0x400]", "IMAD R7, R5, R6, RZ", ADD),
        (COUNT, "MOV R7, 0x1", ADD),
        (COUNT, "LDS R5, [R0]", "S2R R6, SR_TID.X", "IADD3 R7, R5, R6, RZ", ADD),
    ],
    ids=["passed on", "loaded", "partly loaded", "a product", "a number", "with the thread's number"],
)
def test_an_atomic_of_other_values_merges_nothing(lines: tuple[str, ...]) -> None:
    assert marked(merging_atomics, *lines) == []


def test_clearing_and_merging_is_work_of_each_block() -> None:
    histogram = program(HISTOGRAM.replace("{end}", "EXIT"))
    found = merge_per_block(histogram).nonzero()[0].tolist()
    clear, count = where(histogram, "STS"), where(histogram, "ATOMS")
    assert found == [*range(clear + 5), *range(count + 3, len(histogram))]


def test_what_updates_are_computed_from_before_the_barrier_is_no_work_of_each_block() -> None:
    lines = ("LDG.E R10, desc[UR8][R4.64]", "STS [R0], RZ", "BAR.SYNC.DEFER_BLOCKING 0x0", COUNT, "LDS R7, [R0]", ADD)
    assert marked(merge_per_block, *lines) == [1, 2, 4, 5]


def test_a_copy_that_is_merged_again_and_again_is_no_work_of_each_block() -> None:
    listing = (
        HISTOGRAM.replace("clear:", "").replace("@!P0 BRA {clear}", "NOP").replace("    MOV R4", "again:\n    MOV R4")
    )
    again = program(listing.replace("{end}", "@P2 BRA {again}\nEXIT"))
    assert merging_atomics(again).any()
    assert not merge_per_block(again).any()


def test_a_loop_that_fills_a_table_with_what_it_loads_does_not_clear() -> None:
    filled = program(
        HISTOGRAM.replace("STS [R4], RZ", "LDG.E R5, desc[UR8][R4.64]\nSTS [R4], R5").replace("{end}", "EXIT")
    )
    assert not merge_per_block(filled)[where(filled, "STS")]


def test_without_merges_nothing_is_work_of_each_block() -> None:
    assert not merge_per_block(code(COUNT, "EXIT")).any()
