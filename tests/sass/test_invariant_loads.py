"""Loads that are invariant along an axis of the grid."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.sass.code import Code
from ncuview.sass.index_dependence import ALONG, loads_invariant_along

COLUMN = ("S2R R2, SR_TID.X", "S2UR UR4, SR_CTAID.X", "IMAD R2, R5, UR4, R2", "IMAD.WIDE R4, R2, 0x4, R8")
"""The place of an element by x: registers R4 and R5."""
LOAD = "LDG.E R9, desc[UR6][R4.64]"


def invariant(*lines: str) -> str:
    """The axes that the last load's address does not come from."""
    code = Code(lines, tuple(range(0, 16 * len(lines), 16)))
    last = int(np.flatnonzero([line.startswith("LDG") for line in lines])[-1])
    return "".join(axis for axis in ALONG if loads_invariant_along(code, axis)[last])


def test_an_address_by_x_is_invariant_along_y_and_z() -> None:
    assert invariant(*COLUMN, LOAD) == "yz"


def test_an_address_from_arguments_is_thread_invariant() -> None:
    assert invariant("LDC.64 R4, c[0x0][0x210]", LOAD) == "xyz"


@pytest.mark.parametrize("index", ["S2R R3, SR_CTAID.Y", "S2R R3, SR_TID.Y"])
def test_an_index_of_block_or_thread_makes_a_load_vary(index: str) -> None:
    assert invariant(*COLUMN, index, "IMAD R2, R3, R7, R2", "IMAD.WIDE R4, R2, 0x4, R8", LOAD) == "z"


def test_the_lane_number_counts_as_x() -> None:
    assert invariant("S2R R2, SR_LANEID", "IMAD.WIDE R4, R2, 0x4, R8", LOAD) == "yz"


def test_a_loaded_index_depends_on_its_address() -> None:
    through = ("LDG.E R3, desc[UR6][R4.64]", "IMAD.WIDE R10, R3, 0x4, R8", "LDG.E R9, desc[UR6][R10.64]")
    assert invariant(*COLUMN, *through) == "yz"


@pytest.mark.parametrize(
    "bring", ["LDS R3, [R2]", "SHFL.IDX PT, R3, R2, R6, 0x1f", "ATOMG.E.ADD R3, desc[UR6][R8.64], R2"]
)
def test_data_from_other_threads_depends_on_any_index(bring: str) -> None:
    assert invariant(bring, "IMAD.WIDE R4, R3, 0x4, R8", LOAD) == ""


def test_what_a_loop_adds_counts_from_its_start() -> None:
    loop = (LOAD, "S2R R3, SR_CTAID.Z", "IADD3 R4, R4, R3, RZ", "@P0   BRA 0x40")
    assert invariant(*COLUMN, *loop) == "y"


def test_an_overwritten_register_loses_its_dependence() -> None:
    assert invariant("S2R R4, SR_CTAID.Y", *COLUMN, LOAD) == "yz"


def test_a_register_overwritten_under_a_predicate_does_not() -> None:
    assert invariant(*COLUMN, "S2R R3, SR_CTAID.Y", "@P0   MOV R4, R3", LOAD) == "z"


CHOICE = ("S2R R3, SR_CTAID.Z", "ISETP.NE.AND P1, PT, R3, RZ, PT")


def test_an_array_that_an_index_chooses_is_not_invariant() -> None:
    assert invariant(*COLUMN, *CHOICE, "SEL R4, R4, R10, P1", LOAD) == "y"
    assert invariant(*COLUMN, *CHOICE, "@P1   MOV R4, R10", LOAD) == "y"


def test_a_load_that_a_branch_decides_about_is_not_invariant() -> None:
    assert invariant(*COLUMN, *CHOICE, "@P1   BRA 0x90", "NOP", LOAD, "NOP") == "y"
    assert invariant(*COLUMN, *CHOICE, "@P1   BRA 0x90", "NOP", "BRA 0xb0", LOAD, "NOP", "NOP") == "y"


def test_a_load_in_a_loop_whose_end_an_index_decides_is_not_invariant() -> None:
    assert invariant(*COLUMN, *CHOICE, LOAD, "NOP", "@P1   BRA 0x60", "EXIT") == "y"


def test_a_load_after_a_branch_is_reached_by_all_threads() -> None:
    assert invariant(*COLUMN, *CHOICE, "@P1   BRA 0x80", "NOP", LOAD) == "yz"


def test_a_guarded_exit_does_not_decide_about_later_loads() -> None:
    assert invariant(*COLUMN, *CHOICE, "@P1   EXIT", LOAD) == "yz"


def test_other_instructions_have_weight_0() -> None:
    code = Code(("S2R R2, SR_TID.X", "STG.E desc[UR6][R4.64], R2"), (0, 16))
    assert loads_invariant_along(code, "y").tolist() == [0, 0]
