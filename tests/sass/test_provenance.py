"""Where values come from, with the branches and the index arithmetic that follow from it."""

from __future__ import annotations

import pytest

from ncuview.sass.provenance import (
    ARGUMENT,
    CONSTANT,
    CONVERTED,
    LOADED,
    data_dependent_branches,
    guarded_branches,
    index_arithmetic,
    provenance,
)
from tests.sass.program import program, where


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("LDG.E R4, desc[UR4][R2.64]", LOADED),
        ("LDS R4, [R2]", LOADED),
        ("LDSM.16.M88 R4, [R2]", LOADED),
        ("LD.E R4, [R2.64]", LOADED),
        ("ATOMS.ADD R4, [R2], R5", LOADED),
        ("TEX.LL RZ, R4, R2, R6, 0x58, 2D", LOADED),
        ("CALL.ABS.NOINC R2", LOADED),
        ("LDC R4, c[0x0][0x210]", ARGUMENT),
        ("LDC R4, c[0x3][0x8]", CONSTANT),
        ("MOV R4, 0x3f800000", CONSTANT),
        ("I2FP.F32.S32 R4, R2", CONVERTED),
        ("S2R R4, SR_TID.X", 0),
    ],
)
def test_where_a_value_comes_from(source: str, origin: int) -> None:
    code = program(f"{source}\nFADD R6, R4, R4\nEXIT")
    assert provenance(code)[where(code, "FADD")].operands == origin


def test_origins_join_and_go_through_local_memory() -> None:
    code = program("""
        IADD3 R1, R1, -0x10, RZ
        LDG.E R4, desc[UR4][R2.64]
        FADD R5, R4, c[0x0][0x210]
        STL [R1], R5
        STL [R1+0x4], R9
        LDL R6, [R1]
        LDL R7, [R1+0x4]
        FMUL R8, R6, R6
        FMUL.FTZ R8, R7, R7
        EXIT
    """)
    spilled = provenance(code)[where(code, "FMUL R8")].operands
    assert spilled & LOADED
    assert spilled & ARGUMENT
    assert not provenance(code)[where(code, "FMUL.FTZ")].operands & LOADED


BRANCHES = """
    ISETP.GE.AND P0, PT, R0, R9, PT
    @P0 EXIT
    top:
    LDG.E R4, desc[UR4][R2.64]
    ISETP.GE.AND P1, PT, R4, RZ, PT
    IADD3 R2, R2, 0x4, RZ
    ISETP.GE.AND P2, PT, R2, R8, PT
    @P1 BRA {rare}
    back:
    @!P2 BRA {top}
    EXIT
    rare:
    FADD R6, R6, R4
    BRA {back}
"""


def test_branches_that_loaded_data_decide() -> None:
    code = program(BRANCHES)
    assert guarded_branches(code).tolist() == [0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    assert data_dependent_branches(code).tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_a_branch_after_a_loop_is_in_none_although_a_jump_goes_back_across_it() -> None:
    """The first edition took all code between a jump back and its target for a loop."""
    code = program("""
        LDG.E R4, desc[UR4][R2.64]
        ISETP.GE.AND P1, PT, R4, RZ, PT
        BRA {other}
        back:
        @P1 BRA {end}
        NOP
        end:
        EXIT
        other:
        BRA {back}
    """)
    assert not data_dependent_branches(code).any()


def test_index_arithmetic_is_what_no_loaded_data_reach() -> None:
    code = program("""
        S2R R0, SR_TID.X
        IMAD.WIDE R2, R0, 0x4, R8
        LDG.E R4, desc[UR4][R2.64]
        IADD3 R5, R4, 0x1, RZ
        FADD R6, R6, R6
        ISETP.GE.AND P0, PT, R0, R9, PT
        FLO.U32 R7, R0
        EXIT
    """)
    assert index_arithmetic(code).tolist() == [1, 1, 0, 0, 0, 1, 1, 0]


def test_data_on_another_path_is_not_loaded_data_here() -> None:
    code = program("""
        @P0 BRA {other}
        LDG.E R4, desc[UR4][R2.64]
        BRA {end}
        other:
        IADD3 R5, R4, 0x1, RZ
        end:
        EXIT
    """)
    assert index_arithmetic(code)[where(code, "IADD3")] == 1
