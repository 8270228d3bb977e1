"""Branches in loops that depend on loaded data, and index arithmetic, which does not."""

from __future__ import annotations

import pytest

from ncuview.sass.code import Code
from ncuview.sass.provenance import data_dependent_branches, guarded_branches, index_arithmetic

LOAD, COUNT = "LDG.E R4, desc[UR4][R2.64]", "IADD3 R6, R6, 0x1, RZ"
BY_DATA, BY_COUNT = "ISETP.GT.AND P0, PT, R4, R7, PT", "ISETP.GE.AND P0, PT, R6, UR8, PT"
BACK, OUT = "@P0 BRA 0x0", "@!P0 BRA 0x60"


def code(*lines: str) -> Code:
    return Code(lines, tuple(range(0, 16 * len(lines), 16)))


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
