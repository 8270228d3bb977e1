"""The indices of blocks and threads that instructions depend on, thread-invariant arithmetic and invariant loads."""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.sass.code import Code
from ncuview.sass.index_dependence import (
    ALONG,
    ANYTHING,
    CTAID_X,
    CTAID_Y,
    OTHER_THREADS,
    TID_X,
    TID_Y,
    float_arithmetic,
    index_dependence,
    loads_invariant_along,
    thread_invariant,
    thread_invariant_float_results,
    thread_invariant_floats,
)
from tests.sass.program import code, program, where


def operands(code: Code, text: str) -> int:
    return index_dependence(code)[where(code, text)].operands


@pytest.mark.parametrize(
    ("source", "indices"),
    [
        ("S2R R0, SR_TID.X", TID_X),
        ("S2R R0, SR_TID.Y", TID_Y),
        ("S2R R0, SR_CTAID.Y", CTAID_Y),
        ("S2R R0, SR_LANEID", TID_X),
        ("S2R R0, SR_LTMASK", TID_X),
        ("CS2R R0, SRZ", 0),
        ("S2R R0, SR_CgaCtaId", 0),
        ("LDC R0, c[0x0][0x210]", 0),
        ("LDS R0, [R9]", OTHER_THREADS),
        ("LDSM.16.M88 R0, [R9]", OTHER_THREADS),
        ("SHFL.IDX PT, R0, R9, RZ, 0x1f", OTHER_THREADS),
        ("ATOMG.E.ADD PT, R0, desc[UR4][R8.64], R9", OTHER_THREADS),
        ("LD.E R0, [R8.64]", OTHER_THREADS),
        ("LDG.E R0, desc[UR4][R8.64]", 0),
    ],
)
def test_what_an_instruction_brings(source: str, indices: int) -> None:
    assert operands(program(f"{source}\nFADD R5, R0, R0\nEXIT"), "FADD") == indices


def test_what_is_loaded_depends_on_what_its_address_does() -> None:
    code = program("S2R R0, SR_TID.X\nIMAD.WIDE R2, R0, 0x4, R8\nLDG.E R4, desc[UR4][R2.64]\nFADD R5, R4, R4\nEXIT")
    assert operands(code, "FADD") == TID_X


def test_a_predicated_definition_depends_on_its_guard() -> None:
    code = program("S2R R0, SR_TID.X\nISETP.EQ.AND P0, PT, R0, RZ, PT\nMOV R4, RZ\n@P0 MOV R4, 0x1\nFADD R5, R4, R4")
    assert operands(code, "FADD") == TID_X
    found = index_dependence(code)[where(code, "@P0")]
    assert (found.operands, found.guard) == (0, TID_X)


CHOICE = """
    S2R R0, SR_TID.X
    ISETP.EQ.AND P0, PT, R0, RZ, PT
    MOV R4, 0x1
    @P0 BRA {join}
    MOV R4, 0x2
    FMUL R7, R4, R4
    join:
    FADD R5, R4, R4
    EXIT
"""


def test_where_paths_meet_a_value_depends_on_the_branch_that_chose_it() -> None:
    assert operands(program(CHOICE), "FADD") == TID_X


def test_on_one_path_nothing_is_chosen() -> None:
    code = program(CHOICE)
    found = index_dependence(code)[where(code, "FMUL")]
    assert (found.operands, found.control) == (0, TID_X)


def test_a_uniform_branch_chooses_nothing_by_index() -> None:
    assert operands(program(CHOICE.replace("SR_TID.X", "SRZ")), "FADD") == 0


COUNTED = """
    S2R R0, SR_TID.X
    MOV R4, RZ
    top:
    IADD3 R4, R4, 0x1, RZ
    FMUL R5, R4, R4
    ISETP.LT.AND P0, PT, R4, R0, PT
    @P0 BRA {top}
    FADD R6, R4, R4
    EXIT
"""


def test_what_a_loop_leaves_depends_on_how_often_it_ran() -> None:
    code = program(COUNTED)
    assert operands(code, "FADD") == TID_X


def test_an_iteration_counts_the_same_in_all_threads_that_execute_it() -> None:
    code = program(COUNTED)
    found = index_dependence(code)[where(code, "FMUL")]
    assert (found.operands, found.control) == (0, TID_X)


def test_a_guarded_exit_does_not_decide_about_threads_that_stay() -> None:
    code = program("S2R R0, SR_TID.X\nISETP.GE.AND P0, PT, R0, R9, PT\n@P0 EXIT\nFADD R4, R5, R5\nEXIT")
    assert index_dependence(code)[where(code, "FADD")].control == 0


def test_indices_come_through_local_memory_by_its_words() -> None:
    code = program("""
        IADD3 R1, R1, -0x10, RZ
        S2R R0, SR_TID.X
        STL [R1], R0
        STL [R1+0x4], R9
        LDL R4, [R1]
        LDL R5, [R1+0x4]
        FADD R6, R4, R4
        FMUL R7, R5, R5
        EXIT
    """)
    assert (operands(code, "FADD"), operands(code, "FMUL")) == (TID_X, 0)


def test_a_store_depends_on_what_it_stores_and_not_on_what_else_lies_there() -> None:
    code = program("S2R R0, SR_TID.X\nSTL [R8], R0\nSTL [R9], R10\nLDL R4, [R8]\nFADD R5, R4, R4\nEXIT")
    assert (operands(code, "STL [R9]"), operands(code, "FADD")) == (0, TID_X)


def test_which_call_it_was_chooses_nothing_in_a_function_and_a_branch_before_a_call_does() -> None:
    code = program("""
        S2R R0, SR_TID.X
        ISETP.EQ.AND P0, PT, R0, RZ, PT
        MOV R4, 0x1
        MOV R6, 0x1
        @P0 BRA {skip}
        CALL.REL.NOINC {f}
        MOV R6, 0x2
        skip:
        MOV R4, 0x2
        CALL.REL.NOINC {f}
        EXIT
        f:
        FADD R5, R4, R4
        FMUL R5, R6, R6
        RET.REL.NODEC R20 0x0
    """)
    assert (operands(code, "FADD"), operands(code, "FMUL")) == (0, TID_X)


def test_an_unknown_function_may_bring_anything() -> None:
    assert operands(program("CALL.ABS.NOINC R2\nFADD R4, R5, R5\nEXIT"), "FADD") == ANYTHING


def test_a_function_passes_indices_on() -> None:
    code = program("""
        S2R R4, SR_CTAID.X
        CALL.REL.NOINC {f}
        FADD R6, R5, R5
        FMUL R7, R8, R8
        EXIT
        f:
        MOV R5, R4
        RET.REL.NODEC R20 0x0
    """)
    assert (operands(code, "FADD"), operands(code, "FMUL")) == (CTAID_X, 0)


def test_thread_invariant_arithmetic_and_what_uses_it() -> None:
    code = program("""
        S2R R0, SR_TID.X
        LDC R2, c[0x0][0x210]
        FMUL R3, R2, R2
        MUFU.SIN R4, R3
        I2FP.F32.S32 R5, R0
        FADD R6, R4, R5
        EXIT
    """)
    assert thread_invariant(code).tolist() == [0, 1, 1, 1, 0, 0, 1]
    assert thread_invariant_floats(code).tolist() == [0, 0, 1, 1, 0, 0, 0]
    assert thread_invariant_float_results(code).tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_the_result_of_another_path_is_no_use() -> None:
    """The first edition followed the listing across the branch."""
    code = program("S2R R0, SR_TID.X\nFMUL R3, R2, R2\nBRA {end}\nFADD R4, R3, R0\nend:\nEXIT")
    assert not thread_invariant_float_results(code).any()


def test_loads_that_are_the_same_along_an_axis() -> None:
    code = program("""
        S2R R0, SR_TID.X
        ISETP.LT.AND P0, PT, R0, R9, PT
        S2UR UR4, SR_CTAID.Y
        IMAD.WIDE R2, R0, 0x4, R8
        IMAD.WIDE R6, UR4, 0x4, R8
        LDG.E R4, desc[UR8][R2.64]
        LDG.E R5, desc[UR8][R6.64]
        @P0 BRA {end}
        LDG.E R6, desc[UR8][R6.64]
        end:
        EXIT
    """)
    found = {axis: loads_invariant_along(code, axis)[[5, 6, 8]].tolist() for axis in ("x", "y", "z")}
    assert found == {"x": [0, 1, 0], "y": [1, 0, 0], "z": [1, 1, 1]}


WEIGHT = (
    "LDC R2, c[0x0][0x220]",
    "S2R R1, SR_TID.X",
    "I2FP.F32.S32 R3, R2",
    "FMUL R3, R3, R3",
    "MUFU.EX2 R3, R3",
    "LDG.E R4, desc[UR6][R8.64]",
    "I2FP.F32.S32 R5, R1",
    "FMUL R4, R4, R5",
    "FFMA R6, R3, R4, R6",
)
"""A weight that is the same for all, and what each thread makes of it."""
KERNEL = code(*WEIGHT)


def at(weights: np.ndarray) -> list[int]:
    return np.flatnonzero(weights).tolist()


def test_no_index_reaches_what_is_thread_invariant() -> None:
    assert at(thread_invariant(KERNEL)) == [0, 2, 3, 4, 5]


def test_arithmetic_of_floats_is_counted_by_itself() -> None:
    assert at(float_arithmetic(KERNEL)) == [2, 3, 4, 6, 7, 8]
    assert at(thread_invariant_floats(KERNEL)) == [2, 3, 4]


def test_a_result_that_varying_arithmetic_uses_could_stand_in_a_table() -> None:
    assert at(thread_invariant_float_results(KERNEL)) == [4]


def test_a_result_that_is_overwritten_before_does_not_count() -> None:
    again = (*WEIGHT[:5], "MOV R3, RZ", *WEIGHT[6:])
    assert at(thread_invariant_float_results(code(*again))) == []


def test_a_result_that_only_code_after_the_loop_uses_does_not_count() -> None:
    loop = ("S2R R1, SR_TID.X", "MUFU.RSQ R3, R3", "@P0 BRA 0x10", "FMUL R4, R3, R1", "EXIT")
    assert at(thread_invariant_float_results(code(*loop))) == []
    inside = ("S2R R1, SR_TID.X", "MUFU.RSQ R3, R2", "FMUL R4, R3, R1", "@P0 BRA 0x10", "EXIT")
    assert at(thread_invariant_float_results(code(*inside))) == [1]


def test_products_of_matrices_in_tensor_cores_are_no_arithmetic_of_floats() -> None:
    assert at(float_arithmetic(code("HMMA.16816.F32 R4, R8, R10, R4", "FLO.U32 R1, R2"))) == []


COLUMN = ("S2R R2, SR_TID.X", "S2UR UR4, SR_CTAID.X", "IMAD R2, R5, UR4, R2", "IMAD.WIDE R4, R2, 0x4, R8")
"""The place of an element by x: registers R4 and R5."""
LOAD = "LDG.E R9, desc[UR6][R4.64]"


def invariant(*lines: str) -> str:
    """The axes that the last load's address does not come from."""
    last = int(np.flatnonzero([line.startswith("LDG") for line in lines])[-1])
    return "".join(axis for axis in ALONG if loads_invariant_along(code(*lines), axis)[last])


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


BRANCH = ("S2R R3, SR_CTAID.Z", "ISETP.NE.AND P1, PT, R3, RZ, PT")


def test_an_array_that_an_index_chooses_is_not_invariant() -> None:
    assert invariant(*COLUMN, *BRANCH, "SEL R4, R4, R10, P1", LOAD) == "y"
    assert invariant(*COLUMN, *BRANCH, "@P1   MOV R4, R10", LOAD) == "y"


def test_a_load_that_a_branch_decides_about_is_not_invariant() -> None:
    assert invariant(*COLUMN, *BRANCH, "@P1   BRA 0x90", "NOP", LOAD, "NOP") == "y"
    assert invariant(*COLUMN, *BRANCH, "@P1   BRA 0x90", "NOP", "BRA 0xb0", LOAD, "NOP", "NOP") == "y"


def test_a_load_in_a_loop_whose_end_an_index_decides_is_not_invariant() -> None:
    assert invariant(*COLUMN, *BRANCH, LOAD, "NOP", "@P1   BRA 0x60", "EXIT") == "y"


def test_a_load_after_a_branch_is_reached_by_all_threads() -> None:
    assert invariant(*COLUMN, *BRANCH, "@P1   BRA 0x80", "NOP", LOAD) == "yz"


def test_a_guarded_exit_does_not_decide_about_later_loads() -> None:
    assert invariant(*COLUMN, *BRANCH, "@P1   EXIT", LOAD) == "yz"


def test_other_instructions_have_weight_0() -> None:
    lines = ("S2R R2, SR_TID.X", "STG.E desc[UR6][R4.64], R2")
    assert loads_invariant_along(code(*lines), "y").tolist() == [0, 0]
