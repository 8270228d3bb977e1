"""Backward slices, and the loads that instructions wait for, and registers that are invariant in a loop."""

from __future__ import annotations

import pytest

from ncuview.sass.cfg import innermost_loop
from ncuview.sass.code import Code
from ncuview.sass.slices import address_slice, backward_slice, forward_slice, is_invariant, value_slice, waits_for
from tests.sass.program import program, where


def waited(code: Code, text: str) -> list[str]:
    return [code.texts[at] for at in waits_for(code, where(code, text))]


def test_a_slice_holds_all_that_a_value_comes_from_and_nothing_else() -> None:
    code = program("""
        S2R R0, SR_TID.X
        IMAD.WIDE R2, R0, 0x4, R8
        LDG.E R4, desc[UR4][R2.64]
        FADD R9, R10, R11
        top:
        FADD R5, R5, R4
        @P0 BRA {top}
        STG.E desc[UR4][R2.64], R5
        EXIT
    """)
    assert backward_slice(code, where(code, "STG")) == {0, 1, 2, 4, 6}


def test_the_slice_of_a_stored_value_has_neither_addresses_nor_choices() -> None:
    code = program("""
        IMAD.WIDE R2, R0, 0x4, R8
        LDG.E R4, desc[UR4][R2.64]
        ISETP.EQ.AND P0, PT, R0, RZ, PT
        SEL R5, R4, R6, P0
        LEA R7, R0, UR6, 0x2
        STS [R7], R5
        EXIT
    """)
    assert value_slice(code, where(code, "STS")) == {1, 3}


def test_a_forward_slice_holds_all_that_uses_a_result() -> None:
    code = program("""
        LDG.E R4, desc[UR4][R2.64]
        FADD R5, R6, R7
        ISETP.GT.AND P0, PT, R4, R5, PT
        @P0 FADD R8, R5, R5
        STS [R1], R8
        MOV R4, R5
        EXIT
    """)
    assert forward_slice(code, [0]) == {0, 2, 3, 4}


def test_with_control_it_holds_the_branches_that_decide() -> None:
    code = program("""
        ISETP.EQ.AND P0, PT, R0, RZ, PT
        @P0 BRA {end}
        FADD R5, R5, R4
        end:
        EXIT
    """)
    assert backward_slice(code, 2) == {2}
    assert backward_slice(code, 2, control=True) == {0, 1, 2}


def test_the_first_use_waits_and_later_ones_do_not() -> None:
    code = program("LDG.E R4, desc[UR4][R2.64]\nLDG.E R5, desc[UR4][R6.64]\nFADD R8, R4, R4\nFMUL R9, R4, R5\nEXIT")
    assert waited(code, "FADD") == ["LDG.E R4, desc[UR4][R2.64]"]
    assert waited(code, "FMUL") == ["LDG.E R5, desc[UR4][R6.64]"]


def test_overwriting_a_load_waits_for_it() -> None:
    code = program("LDS R4, [R2]\nMOV R4, 0x1\nFADD R5, R4, R4\nEXIT")
    assert waited(code, "MOV") == ["LDS R4, [R2]"]
    assert waited(code, "FADD") == []


def test_loads_of_all_paths_and_of_the_iteration_before() -> None:
    code = program("""
        LDG.E R4, desc[UR4][R2.64]
        top:
        FADD R5, R5, R4
        @P0 BRA {end}
        LDG.E.CONSTANT R4, desc[UR4][R6.64]
        BRA {top}
        end:
        EXIT
    """)
    assert waited(code, "FADD") == ["LDG.E R4, desc[UR4][R2.64]", "LDG.E.CONSTANT R4, desc[UR4][R6.64]"]


def test_a_use_in_a_function_waits_for_a_load_before_the_call() -> None:
    code = program("""
        LDG.E R4, desc[UR4][R2.64]
        CALL.REL.NOINC {f}
        FMUL R6, R4, R4
        EXIT
        f:
        FADD R5, R4, R4
        RET.REL.NODEC R20 0x0
    """)
    assert waited(code, "FADD") == ["LDG.E R4, desc[UR4][R2.64]"]
    assert waited(code, "FMUL") == []


def test_the_address_slice_holds_what_addresses_come_from_and_no_predicates() -> None:
    code = program("""
        LDC.64 R2, c[0x0][0x210]
        ISETP.GT.AND P0, PT, R9, RZ, PT
        SEL R4, R9, RZ, P0
        IMAD.WIDE R2, R4, 0x4, R2
        FADD R5, R6, R6
        STG.E desc[UR4][R2.64], R5
    """)
    assert address_slice(code)[5] == {"R2": (3,), "R3": (3,), "UR4": (), "UR5": ()}
    assert [bool(uses) for uses in address_slice(code)] == [False, False, True, True, False, True]
    assert address_slice(code)[2] == {"R9": ()}


def test_an_index_comes_from_a_spilled_register_and_not_from_all_elements_of_an_array() -> None:
    text = "S2R R3, SR_TID.X\nSTL [R1+0x4], R3\n{}\nLDS R5, [R4]"
    spilled, element = (program(text.format(load)) for load in ("LDL R4, [R1+0x4]", "LDL R4, [R9]"))
    assert address_slice(spilled)[2] == {"R1": (), "local[4]": (1,)}
    assert address_slice(element)[2] == {"R9": ()}


def invariant(code: Code, name: str) -> bool:
    position = where(code, "FCHK")
    loop = innermost_loop(code, position)
    assert loop is not None
    return is_invariant(code, loop, position, name)


LOOP = """
    MOV R4, R3
    again:
    {made}
    FCHK P0, R15, R4
    ISETP.NE.AND P1, PT, R9, RZ, PT
    @P1 BRA {{again}}
    EXIT
    function:
    {function}
    RET.REL.NODEC R20, 0x0
"""


@pytest.mark.parametrize(
    "made",
    ["NOP", "LDC R4, c[0x0][0x220]", "MOV R4, R7", "IADD3 R6, R7, 0x1, RZ\nI2F R4, R6", "ULDC UR5, c[0x0][UR4]"],
    ids=["untouched", "an argument", "a copy", "arithmetic", "another register"],
)
def test_values_computed_from_invariant_values_are_invariant(made: str) -> None:
    assert invariant(program(LOOP.format(made=made, function="NOP")), "R4")


@pytest.mark.parametrize(
    "made",
    [
        "FADD R4, R4, 1",
        "LDG.E R4, desc[UR4][R6.64]",
        "LDS R4, [R6]",
        "CS2R R4, SR_CLOCKLO",
        "SHFL.DOWN PT, R4, R7, 0x1, 0x1f",
        "@P2 MOV R4, R7",
        "IADD3 R6, R6, 0x1, RZ\nI2F R4, R6",
    ],
)
def test_values_that_may_differ_are_not_invariant(made: str) -> None:
    assert not invariant(program(LOOP.format(made=made, function="NOP")), "R4")


def test_values_that_a_called_function_defines_are_not_invariant() -> None:
    calls = LOOP.format(made="CALL.REL.NOINC {function}", function="FADD R4, R4, 1")
    assert not invariant(program(calls), "R4")
