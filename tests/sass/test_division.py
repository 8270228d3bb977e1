"""Divisions in machine code."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.sass.idioms.division import division_instructions, division_leaves, repeated_divisions
from tests.sass.program import code, marked, program, weights, where

RECIPROCAL = (
    "I2F.U32.RP R10, UR6",
    "MUFU.RCP R10, R10",
    "VIADD R8, R10, 0xffffffe",
    "F2I.FTZ.U32.TRUNC.NTZ R9, R8",
    "HFMA2.MMA R8, -RZ, RZ, 0, 0",
    "IADD3 R5, RZ, -R9, RZ",
    "IMAD R5, R5, UR6, RZ",
    "IMAD.HI.U32 R6, R9, R5, R8",
)
QUOTIENT = (
    "IMAD.HI.U32 R8, R6, R7, RZ",
    "IMAD.MOV R10, RZ, RZ, -R8",
    "IMAD R9, R10, UR6, R7",
    "ISETP.GE.U32.AND P2, PT, R9, UR6, PT",
    "@P2   IADD3 R9, R9, -UR6, RZ",
    "@P2   VIADD R8, R8, 0x1",
    "ISETP.GE.U32.AND P3, PT, R9, UR6, PT",
    "@P3   IADD3 R8, R8, 0x1, RZ",
)


def test_a_division_takes_a_reciprocal_and_a_quotient() -> None:
    lines = (*RECIPROCAL, *QUOTIENT)
    assert sum(weights(division_instructions, *lines)) == 17
    assert sum(weights(division_leaves, *lines)) == 2
    assert weights(division_instructions, *lines)[len(RECIPROCAL)] == 10


@pytest.mark.parametrize("iterations", [1, 8, 100])
def test_a_loop_invariant_divisor_needs_its_reciprocal_once(iterations: int) -> None:
    lines = (*RECIPROCAL, *QUOTIENT, "@P1 BRA 0x80")
    executed = np.array([1.0] * len(RECIPROCAL) + [float(iterations)] * (len(QUOTIENT) + 1))
    assert division_instructions(code(*lines)) @ executed == 7 + 10 * iterations
    assert division_leaves(code(*lines)) @ executed == 2 * iterations


def test_a_remainder_whose_difference_is_written_the_other_way_round_is_a_division() -> None:
    lines = (*RECIPROCAL, *(line.replace("R9, R9, -UR6, RZ", "R9, -UR6, R9, RZ") for line in QUOTIENT))
    assert sum(weights(division_instructions, *lines)) == 17


@pytest.mark.parametrize(
    "lines",
    [
        ("IMAD.HI.U32 R5, R4, -0x33333333, RZ", "SHF.R.U32.HI R5, RZ, 0x3, R5"),
        ("IMAD.HI R4, R15, 0x78787879, RZ", "SHF.R.S32.HI R4, RZ, 0x1, R4"),
        ("IMAD.HI.U32 R5, R4, R6, RZ", "ISETP.GE.U32.AND P0, PT, R5, R6, PT", "@P0 BRA 0x0"),
        ("I2F.U32.RP R10, R3", "FADD R4, R10, R4"),
        ("ISETP.GE.U32.AND P0, PT, R9, UR6, PT", "@P0 IADD3 R9, R9, -UR6, RZ"),
    ],
    ids=["by a constant", "signed by a constant", "a high product", "a rounded conversion", "a wrapped index"],
)
def test_what_only_looks_like_part_of_a_division_counts_nothing(lines: tuple[str, ...]) -> None:
    assert not any(weights(division_instructions, *lines))
    assert not any(weights(division_leaves, *lines))


SIGNED = (
    "IABS R5, R3",
    "I2F.RP R6, R5",
    "MUFU.RCP R6, R6",
    "VIADD R8, R6, 0xffffffe",
    "F2I.FTZ.U32.TRUNC.NTZ R9, R8",
    "IMAD.MOV.U32 R8, RZ, RZ, RZ",
    "IMAD.MOV R10, RZ, RZ, -R9",
    "IMAD R13, R10, R5, RZ",
    "IMAD.HI.U32 R9, R9, R13, R8",
    "IABS R8, R7",
    "IMAD.HI.U32 R9, R9, R8, RZ",
    "IMAD.MOV R11, RZ, RZ, -R9",
    "IMAD R8, R5, R11, R8",
    "ISETP.GT.U32.AND P2, PT, R5, R8, PT",
    "@!P2 IMAD.IADD R8, R8, 0x1, -R5",
    "@!P2 IADD3 R9, R9, 0x1, RZ",
    "ISETP.GE.U32.AND P1, PT, R8, R5, PT",
    "@P1 VIADD R9, R9, 0x1",
)


def test_a_signed_division_is_a_division() -> None:
    assert sum(weights(division_instructions, *SIGNED)) == 17


OF_64_BITS = f"""
    LOP3.LUT R12, R15, R13, RZ, 0xfc, !PT
    ISETP.NE.U32.AND P0, PT, R12, RZ, PT
    @P0 BRA {{long}}
    {chr(10).join((*RECIPROCAL, *QUOTIENT))}
    EXIT
    long:
    MOV R0, {{back}}
    CALL.REL.NOINC {{function}}
    back:
    EXIT
    function:
    I2F.U64.RP R8, UR6
    MUFU.RCP R8, R8
    VIADD R4, R8, 0x1ffffffe
    F2I.U64.TRUNC R4, R4
    IMAD.WIDE.U32 R6, R4, UR6, RZ
    IADD3 R9, P0, RZ, -R6, RZ
    IMAD.HI.U32 R6, R4, R9, RZ
    IMAD.HI.U32 R6, P1, R5, R9, R6
    IMAD.HI.U32 R4, R7, R8, RZ
    ISETP.GE.U32.AND P0, PT, R8, UR6, PT
    @P0 IADD3 R8, R8, -UR6, RZ
    RET.REL.NODEC R0, 0x0
"""
"""As nvcc 12 and 13 write it for Hopper, the function shortened."""


def test_a_division_of_64_bits_chooses_between_one_of_32_bits_and_a_function() -> None:
    divides = program(OF_64_BITS)
    steps = division_instructions(divides)
    assert steps[where(divides, "I2F.U32.RP")] == 7 + 12
    assert steps[where(divides, "IMAD.HI.U32 R8, R6, R7")] == 10
    assert steps[where(divides, "I2F.U64.RP")] == 73
    assert steps.sum() == 19 + 10 + 73
    assert division_leaves(divides).sum() == 2 * 2


def test_a_test_of_other_numbers_before_a_division_is_none_of_its_size() -> None:
    lines = ("ISETP.NE.U32.AND P0, PT, R12, RZ, PT", "@P0 BRA 0x0", *RECIPROCAL, *QUOTIENT)
    assert sum(weights(division_instructions, *lines)) == 17


def test_a_quotient_counts_although_its_reciprocal_was_spilled_or_moved() -> None:
    spilled = ("STL [R1], R6", "MOV R6, RZ", "LDL R6, [R1]")
    assert sum(weights(division_instructions, *RECIPROCAL, *spilled, *QUOTIENT)) == 17


def test_a_high_product_next_to_a_division_is_no_quotient() -> None:
    lines = (*RECIPROCAL, *QUOTIENT, "IMAD.HI.U32 R20, R21, R22, RZ")
    assert sum(weights(division_instructions, *lines)) == 17
    assert sum(weights(division_leaves, *lines)) == 2


def test_a_remainder_is_a_division_though_its_comparison_reads_a_copy_of_the_divisor() -> None:
    lines = [line.replace("@!P2 IMAD.IADD R8, R8, 0x1, -R5", "@!P2 IMAD.IADD R8, R8, 0x1, -R26") for line in SIGNED]
    assert sum(weights(division_instructions, "IABS R26, R3", *lines)) == 17


@pytest.mark.parametrize("divisor", ["6", "c[0x0][0x254]", "UR5"])
def test_a_reciprocal_of_a_thread_invariant_divisor_could_be_reused(divisor: str) -> None:
    assert marked(repeated_divisions, f"MUFU.RCP64H R13, {divisor}") == [0]


def test_a_second_division_by_the_same_number_is_repeated() -> None:
    lines = ("MUFU.RCP64H R13, R27", "DFMA R14, R12, -R26, 1", "MUFU.RCP64H R15, R27", "DADD R26, R2, R4")
    assert marked(repeated_divisions, *lines, "MUFU.RCP64H R13, R27") == [2]


def test_a_divisor_that_the_loop_keeps_is_divided_by_again() -> None:
    lines = ("MOV R27, R2", "DADD R4, R4, 1", "MUFU.RCP64H R13, R27", "@P0 BRA 0x10")
    assert marked(repeated_divisions, *lines) == [2]


def test_a_divisor_that_each_iteration_computes_again_is_not_repeated() -> None:
    lines = ("MOV R27, R2", "DADD R26, R26, 1", "MUFU.RCP64H R13, R27", "@P0 BRA 0x10")
    assert marked(repeated_divisions, *lines) == []


def test_a_single_division_is_not_repeated() -> None:
    assert marked(repeated_divisions, "DADD R26, R2, R4", "MUFU.RCP64H R13, R27") == []


def test_a_uniform_divisor_that_each_iteration_loads_again_is_not_repeated() -> None:
    fetches = ("MOV R2, R3", "ULDC UR5, c[0x0][UR4]", "MUFU.RCP64H R13, UR5")
    assert marked(repeated_divisions, *fetches, "UIADD3 UR4, UR4, 0x8, URZ", "@P0 BRA 0x10") == []
    assert marked(repeated_divisions, *fetches, "@P0 BRA 0x10") == [2]  # the same one each time


def test_a_division_in_another_branch_by_the_same_number_is_no_second_one() -> None:
    branches = program("""
        DADD R26, R2, R4
        @P0 BRA {other}
        MUFU.RCP64H R13, R27
        EXIT
        other:
        MUFU.RCP64H R15, R27
        EXIT
    """)
    assert not repeated_divisions(branches).any()


def test_a_division_where_the_ways_meet_is_the_second_by_its_number() -> None:
    meet = program("""
        DADD R26, R2, R4
        @P0 BRA {meet}
        MUFU.RCP64H R13, R27
        meet:
        MUFU.RCP64H R15, R27
        EXIT
    """)
    assert [at for at, weight in enumerate(repeated_divisions(meet)) if weight] == [3]
