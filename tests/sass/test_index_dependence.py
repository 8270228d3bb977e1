"""The indices of blocks and threads that instructions depend on."""

from __future__ import annotations

import pytest

from ncuview.sass.code import Code
from ncuview.sass.index_dependence import (
    ANYTHING,
    CTAID_X,
    CTAID_Y,
    OTHER_THREADS,
    TID_X,
    TID_Y,
    index_dependence,
    loads_invariant_along,
    thread_invariant,
    thread_invariant_float_results,
    thread_invariant_floats,
)
from tests.sass.program import program, where


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
