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
from tests.sass.program import code, program, where


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


LOAD, COUNT = "LDG.E R4, desc[UR4][R2.64]", "IADD3 R6, R6, 0x1, RZ"
BY_DATA, BY_COUNT = "ISETP.GT.AND P0, PT, R4, R7, PT", "ISETP.GE.AND P0, PT, R6, UR8, PT"
BACK, OUT = "@P0 BRA 0x0", "@!P0 BRA 0x60"


def shares(*lines: str) -> tuple[int, int]:
    return int(guarded_branches(code(*lines)).sum()), int(data_dependent_branches(code(*lines)).sum())


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([LOAD, BY_DATA, BACK], (1, 1), id="a loop that loaded numbers end"),
        pytest.param([LOAD, COUNT, BY_COUNT, BACK], (1, 0), id="a counted loop"),
        pytest.param([LOAD, BY_DATA, OUT], (1, 0), id="a choice by loaded numbers, once"),
        pytest.param(
            [LOAD, "FADD R9, R4, R8", "FSETP.GT.AND P0, PT, R9, 1, PT", BACK], (1, 1), id="computed from them"
        ),
        pytest.param([LOAD, "MOV R4, RZ", BY_DATA, BACK], (1, 0), id="overwritten since"),
        pytest.param([LOAD, "@P1 MOV R4, RZ", BY_DATA, BACK], (1, 1), id="overwritten in some lanes"),
        pytest.param(
            ["ISETP.GT.AND P1, PT, R9, R7, PT", "@P1 BRA 0x30", LOAD, "MOV R9, R4", BACK], (2, 1), id="next iteration"
        ),
        pytest.param(
            [LOAD, "ISETP.GT.AND P1, PT, R4, R7, PT", "PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", BACK],
            (1, 1),
            id="by way of predicates",
        ),
        pytest.param(
            [LOAD, BY_DATA, "ISETP.GE.AND P0, PT, R6, UR8, P3", BACK], (1, 0), id="a predicate that is set anew"
        ),
        pytest.param([LOAD, BY_DATA, "BRA 0x0"], (0, 0), id="a jump of all lanes"),
    ],
)
def test_a_branch_is_by_data_where_loaded_numbers_decide_it(lines: list[str], expected: tuple[int, int]) -> None:
    assert shares(*lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["S2R R0, SR_TID.X", "IMAD R2, R0, 0x4, R3", LOAD], [1, 1, 0], id="a place and its load"),
        pytest.param(["LDC R1, c[0x0][0x210]", "ULDC UR4, c[0x0][0x214]"], [1, 1], id="arguments"),
        pytest.param([LOAD, "IADD3 R5, R4, 0x1, RZ", "STG.E desc[UR4][R2.64], R5"], [0, 0, 0], id="a loaded number"),
        pytest.param([LOAD, BY_DATA, "@P0 IADD3 R8, R8, 0x1, RZ"], [0, 0, 0], id="where a loaded number decides"),
        pytest.param([LOAD, "MOV R4, RZ", "IADD3 R5, R4, 0x1, RZ"], [0, 1, 1], id="overwritten since"),
        pytest.param(["FADD R5, R6, R7", "MUFU.RCP R5, R5"], [0, 0], id="floats"),
        pytest.param([BY_COUNT, BACK], [1, 1], id="a test of bounds"),
        pytest.param(["EXIT", "BAR.SYNC 0x0", "NOP"], [0, 0, 0], id="what every thread does once"),
        pytest.param(["IADD3 R5, R9, 0x1, RZ", LOAD, "MOV R9, R4", "BRA 0x0"], [0, 0, 0, 1], id="next iteration"),
    ],
)
def test_what_no_loaded_number_goes_into_is_index_arithmetic(lines: list[str], expected: list[int]) -> None:
    assert index_arithmetic(code(*lines)).tolist() == expected
