"""Along which axes of the grid values differ: through jumps, calls and local memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass.code import Code
from ncuview.sass.index_dependence import ALONG, index_dependence


def code(*lines: str) -> Code:
    return Code(lines, tuple(range(0, 16 * len(lines), 16)))


def axes(indices: int) -> str:
    """The axes along which a value differs that depends on these indices."""
    return "".join(axis.upper() for axis, differing in ALONG.items() if indices & differing)


def at(position: int, *lines: str) -> str:
    """The axes along which an instruction's operands differ."""
    return axes(index_dependence(code(*lines))[position].operands)


def of_last(*lines: str) -> str:
    """The same of the last instruction."""
    return at(-1, *lines)


X, Y = "S2R R1, SR_TID.X", "S2R R2, SR_CTAID.Y"


def test_what_is_computed_from_arguments_and_literals_has_no_axis() -> None:
    assert of_last(X, "LDC R3, c[0x0][0x210]", "FADD R3, R3, 1", "FMUL R4, R3, R3") == ""


def test_axes_go_from_register_to_register() -> None:
    assert of_last(X, Y, "IADD3 R3, R1, R2, RZ", "FMUL R4, R3, 2") == "XY"


@pytest.mark.parametrize("register", ["SR_LANEID", "SR_WARPID", "SR_LTMASK"])
def test_a_place_in_the_block_counts_as_x(register: str) -> None:
    assert of_last(f"S2R R1, {register}", "FMUL R4, R1, 2") == "X"


def test_what_a_jump_skips_did_not_happen() -> None:
    skipping = (X, "@P0   BRA 0x50", "MOV R1, RZ", "MOV R3, RZ", "EXIT")
    assert of_last(*skipping, "FMUL R4, R1, 2") == "X"


def test_both_ways_to_a_place_count() -> None:
    joined = (X, Y, "MOV R3, R1", "@P0   BRA 0x60", "MOV R3, R2", "NOP")
    assert of_last(*joined, "FMUL R4, R3, 2") == "XY"


def test_values_that_three_nested_loops_carry_are_known() -> None:
    nest = ("MOV R3, RZ", "FMUL R4, R3, 2", "MOV R3, R5", "@P0   BRA 0x10", "MOV R5, R6", "@P1   BRA 0x10")
    assert at(1, *nest, "MOV R6, R7", X, "MOV R7, R1", "@P2   BRA 0x10") == "X"


def test_a_result_that_a_predicate_keeps_from_being_written_may_be_the_old_one() -> None:
    assert of_last(X, Y, "ISETP.NE.AND P0, PT, R2, RZ, PT", "@P0   MOV R1, RZ", "FMUL R4, R1, 2") == "XY"


def test_a_carry_is_a_result_of_its_sum() -> None:
    sum_of_64_bits = ("ISETP.NE.AND P1, PT, R2, RZ, PT", "IADD3 R4, P1, R1, 0x10, RZ")
    assert of_last(X, Y, *sum_of_64_bits, "IMAD.X R5, RZ, RZ, R6, P1") == "X"


def test_a_predicate_that_a_logic_gives_is_its_result() -> None:
    given = ("ISETP.NE.AND P1, PT, R2, RZ, PT", "LOP3.LUT P1, RZ, R1, 0x1, RZ, 0xc0, !PT")
    assert of_last(X, Y, *given, "SEL R5, R6, R7, P1") == "X"


FUNCTION = ("NOP", "FADD R8, R9, 1", "FMUL R8, R8, R8", "RET.REL.NODEC R20, 0x0")
"""At 0x60: a square of R9 in R8."""


@pytest.mark.parametrize(("argument", "expected"), [("R1", "X"), ("R10", "")])
def test_what_a_function_returns_comes_from_the_registers_that_it_reads(argument: str, expected: str) -> None:
    lines = (X, f"MOV R9, {argument}", "CALL.REL.NOINC 0x60", "FMUL R4, R8, 2", "EXIT", *FUNCTION)
    assert at(3, *lines) == expected


def test_another_call_of_it_does_not_change_that() -> None:
    calls = (X, "MOV R9, R10", "CALL.REL.NOINC 0x80", "FMUL R4, R8, 2", "MOV R9, R1", "CALL.REL.NOINC 0x80", "EXIT")
    assert at(3, *calls, *FUNCTION) == ""
    assert at(8, *calls, *FUNCTION) == "X"


def test_an_index_that_a_function_reads_itself_is_in_its_results() -> None:
    own = ("MOV R9, RZ", "CALL.REL.NOINC 0x40", "FMUL R4, R8, 2", "EXIT", "S2R R8, SR_TID.Y", "RET.REL.NODEC R20, 0x0")
    assert at(2, *own) == "Y"


def test_a_load_that_may_be_from_shared_memory_may_bring_what_any_thread_stored() -> None:
    assert of_last("LD.E R4, desc[UR6][R8.64]", "FMUL R6, R4, 2") == "XYZ"


def test_what_a_call_of_an_unknown_function_leaves_may_come_from_anywhere() -> None:
    assert of_last("MOV R8, RZ", "CALL.ABS.NOINC R10", "FMUL R4, R8, 2") == "XYZ"


def test_local_memory_brings_what_was_stored_there() -> None:
    assert of_last("STL [R3], R2", "LDL R4, [R5]", "FMUL R6, R4, 2") == ""
    assert of_last(X, "STL [R3], R1", "LDL R4, [R5]", "FMUL R6, R4, 2") == "X"


def test_the_guard_is_separate_from_the_operands() -> None:
    [*_, last] = index_dependence(code(X, Y, "ISETP.NE.AND P0, PT, R2, RZ, PT", "@P0   FMUL R4, R1, 2"))
    assert axes(last.operands) == "X"
    assert axes(last.guard) == "Y"


def test_a_function_without_a_return_may_leave_anything() -> None:
    assert of_last(X, "CALL.REL.NOINC 0x0", "FMUL R4, R1, 2") == "XYZ"


def test_a_jump_out_of_the_listing_ends_its_path() -> None:
    assert of_last(X, "@P0   BRA 0x7f0", "FMUL R4, R1, 2") == "X"


TARGETS = st.integers(-1, 14).map(lambda place: f"0x{16 * place & 0xFFF:x}")
LINES = st.one_of(
    st.sampled_from(
        ["S2R R1, SR_TID.X", "RET.REL.NODEC R20, 0x0", "EXIT", "BRX R2 -0x10", "STL [R3], R1", "LDL R4, [R5]"]
    ),
    st.builds("{} {}".format, st.sampled_from(["BRA", "@P0   BRA", "CALL.REL.NOINC", "@!P1  BRA.U"]), TARGETS),
    st.builds("FADD R{}, R{}, R{}".format, *[st.integers(1, 6)] * 3),
    st.text(max_size=30),
)


@given(st.lists(LINES, max_size=14))
def test_any_code_is_analysed_without_an_error(lines: list[str]) -> None:
    found = index_dependence(code(*lines))
    assert len(found) == len(lines)
    uniform = index_dependence(code(*[line.replace("SR_TID.X", "SR_CLOCKLO") for line in lines]))
    assert not any(less.operands & ~more.operands for less, more in zip(uniform, found, strict=True))
