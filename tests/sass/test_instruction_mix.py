"""The instruction mix of snippets as ncu prints them."""

from __future__ import annotations

import pytest

from ncuview.sass.instruction_mix import (
    double_arithmetic,
    double_conversions,
    indexed_constants,
    integer_multiply_cycles,
    loads_after_stores,
    loop_iterations,
    masks_to_24_bits,
    multiply_adds,
    narrow_loads,
    shuffles,
    special_functions,
    tensor_operations,
    uniform_constants,
    uniform_multiply_adds,
)
from tests.sass.program import Of, marked, program, weights


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("IMAD R0, R7, UR4, R0", 0.5),
        ("@P1 IMAD.IADD R0, R2, 0x1, R5", 0.5),
        ("IMAD.MOV.U32 R22, RZ, RZ, R0", 0.5),
        ("IMAD.SHL.U32 R6, R3, 0x8, RZ", 0.5),
        ("IMAD.WIDE R2, R0, 0x4, R2", 1.0),
        ("IMAD.WIDE.U32 R8, R9, 0x4, R2", 1.0),
        ("IMAD.HI.U32 R10, R5, R9, R4", 1.0),
        ("IMAD.HI R4, R15, 0x78787879, RZ", 1.0),
        ("UIMAD UR4, UR4, UR5, URZ", 0.0),
        ("IADD3 R4, R0, R5, RZ", 0.0),
        ("FFMA R24, R9, R4, R5", 0.0),
    ],
)
def test_wide_and_high_products_take_one_cycle_of_the_integer_multiplier(text: str, cycles: float) -> None:
    assert weights(integer_multiply_cycles, text) == [cycles]


@pytest.mark.parametrize(
    "text",
    [
        "MUFU.RCP R8, R8",
        "@P0 MUFU.EX2 R10, R10",
        "F2F.F32.F64 R4, R24",
        "F2I.NTZ R6, R0",
        "I2F.U32.RP R8, R6",
        "I2F.RP R6, R20",
        "FCHK P0, R9, R16",
        "POPC R7, R7",
        "FLO.U32.SH R9, R9",
        "BREV R9, R7",
    ],
)
def test_conversions_and_special_functions_share_a_pipe(text: str) -> None:
    assert marked(special_functions, "EXIT", text) == [1]


@pytest.mark.parametrize("text", ["I2FP.F32.S32 R7, R7", "UPOPC UR4, UR4", "FFMA R24, R9, R4, R5", "FMUL R5, R3, R4"])
def test_what_other_pipes_do_is_no_special_function(text: str) -> None:
    assert marked(special_functions, text) == []


COUNTED = [
    (double_conversions, "F2F.F64.F32 R22, R4", "F2F.F16.F32 R22, R4"),
    (double_conversions, "F2F.F32.F64 R4, R24", "F2I.F64.TRUNC R4, R24"),
    (double_arithmetic, "DADD R12, R12, R10", "FADD R12, R12, R10"),
    (double_arithmetic, "DFMA R24, R24, UR6, R8", "FFMA R24, R9, R4, R5"),
    (double_arithmetic, "DSETP.EQ.AND P0, PT, R10, R24, !P0", "ISETP.EQ.AND P0, PT, R11, R12, !P0"),
    (multiply_adds, "FFMA R24, R9, R4, R5", "FMUL R24, R9, R4"),
    (multiply_adds, "DFMA R24, R24, UR6, R8", "IMAD R0, R7, UR4, R0"),
    (masks_to_24_bits, "LOP3.LUT R6, R7, 0xffffff, RZ, 0xc0, !PT", "LOP3.LUT R6, R7, 0xffff, RZ, 0xc0, !PT"),
    (
        masks_to_24_bits,
        "@P0 LOP3.LUT R6, R7, 0xffffff, RZ, 0xc0, !PT",
        "LOP3.LUT R6, R7, 0xfffffff, RZ, 0xc0, !PT",
    ),
    (masks_to_24_bits, "LOP3.LUT R6, R7, 0xffffff, RZ, 0xc0, !PT", "MOV R4, 0xffffff"),
    (indexed_constants, "LDC R27, c[0x3][R28]", "LDC R27, c[0x3][0x28]"),
    (indexed_constants, "LDC.64 R4, c[0x3][R28+0x8]", "ULDC UR4, c[0x3][UR5]"),
    (shuffles, "SHFL.DOWN PT, R7, R2, 0x10, 0x1f", "SHF.L.U32 R6, R3, 0x2, RZ"),
    (shuffles, "REDUX.SUM.S32 UR4, R0", "REDG.E.ADD.STRONG.GPU desc[UR4][R18.64], R17"),
    (shuffles, "MATCH.ANY R7, R23", "VOTEU.ANY UR4, UPT, PT"),
    (tensor_operations, "HMMA.16816.F32 R12, R8, R12, RZ", "HFMA2.MMA R4, -RZ, RZ, 0, 0"),
    (uniform_multiply_adds, "FFMA R2, R2, UR6, RZ", "FFMA R2, R2, R6, RZ"),
    (uniform_multiply_adds, "FFMA R2, R2, c[0x3][0x8], RZ", "FADD R2, R2, c[0x3][0x8]"),
]


@pytest.mark.parametrize(
    ("of", "counts", "does_not"), COUNTED, ids=[f"{of.__name__}: {text}" for of, text, _ in COUNTED]
)
def test_similar_instructions_are_distinguished(of: Of, counts: str, does_not: str) -> None:
    assert marked(of, does_not, counts, does_not) == [1]


def test_packed_half_precision_multiplies_and_adds_twice() -> None:
    assert weights(multiply_adds, "HFMA2 R6, R3, R6, R2", "HADD2 R6, R3, R6") == [2.0, 0.0]


def test_a_constant_that_is_made_by_a_packed_multiply_add_is_no_arithmetic() -> None:
    assert weights(multiply_adds, "HFMA2.MMA R17, -RZ, RZ, 0, 5.9604644775390625e-08") == [0.0]


def test_the_other_form_of_a_packed_multiply_add_counts_as_much() -> None:
    assert weights(multiply_adds, "HFMA2.MMA R7, R2, R7, R3") == [2.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ULDC UR4, c[0x3][UR5]", 1.0),
        ("ULDC.64 UR4, c[0x3][UR5+0x8]", 2.0),
        ("FFMA R4, R5, c[0x3][UR6], R7", 1.0),
        ("LDC R27, c[0x3][R28]", 0.0),
        ("ULDC.64 UR6, c[0x0][0x208]", 0.0),
        ("LDG.E R4, desc[UR6][R8.64]", 0.0),
    ],
)
def test_words_of_constant_memory_at_a_computed_place_are_counted(text: str, words: float) -> None:
    assert weights(uniform_constants, text) == [words]


@pytest.mark.parametrize("text", ["LDG.E.U8 R4, desc[UR4][R2.64]", "@P0 LDG.E.S16.CONSTANT R4, desc[UR4][R2.64]"])
def test_a_load_of_one_or_two_bytes_is_tiny(text: str) -> None:
    assert marked(narrow_loads, text, "LDG.E R4, desc[UR4][R2.64]", "STG.E.U8 desc[UR4][R2.64], R4") == [0]


def test_loads_that_may_not_pass_a_store_are_those_after_the_first() -> None:
    load, store = "LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4"
    assert marked(loads_after_stores, load, store, load, load, store) == [2, 3]
    assert marked(loads_after_stores, load, load, store) == []
    assert marked(loads_after_stores, load, load) == []


def test_a_store_of_the_iteration_before_is_none_before_a_load() -> None:
    load, store = "LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4"
    assert marked(loads_after_stores, load, load, store, load, "@P0 BRA 0x10", "EXIT") == [3]


def test_a_load_that_was_moved_before_the_store_in_the_listing_comes_after_it_where_a_path_leads_there() -> None:
    load, store = "LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4"
    assert marked(loads_after_stores, "BRA 0x30", load, "EXIT", store, "BRA 0x10") == [1]


def test_no_path_leads_from_a_store_in_one_branch_to_a_load_in_the_other() -> None:
    load, store = "LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4"
    assert marked(loads_after_stores, "@P0 BRA 0x30", store, "EXIT", load, store, "EXIT") == []


def test_a_store_before_a_call_comes_before_the_loads_of_the_function_and_its_stores_before_those_after() -> None:
    called = program("""
        LDG.E R4, desc[UR4][R2.64]
        CALL.REL.NOINC {stores}
        LDG.E R5, desc[UR4][R2.64]
        CALL.REL.NOINC {loads}
        EXIT
        stores:
        STG.E desc[UR4][R8.64], R4
        RET.REL.NODEC R20, 0x0
        loads:
        LDG.E R6, desc[UR4][R2.64]
        RET.REL.NODEC R20, 0x0
    """)
    assert [at for at, weight in enumerate(loads_after_stores(called)) if weight] == [2, 7]


def test_a_function_returns_to_where_it_was_called() -> None:
    twice = program("""
        CALL.REL.NOINC {sine}
        LDG.E R5, desc[UR4][R2.64]
        STG.E desc[UR4][R8.64], R4
        CALL.REL.NOINC {sine}
        EXIT
        sine:
        LDG.E.CONSTANT R6, desc[UR4][R2.64]
        RET.REL.NODEC R20, 0x0
    """)
    assert [at for at, weight in enumerate(loads_after_stores(twice)) if weight] == [5]


COPY_LOOP = (
    "MOV R0, RZ",
    "LDG.E R5, desc[UR4][R2.64]",
    "STG.E desc[UR4][R6.64], R5",
    "IADD3 R2, P0, R2, 0x4, RZ",
    "@P1 BRA 0x10",
    "EXIT",
    "BRA `(.L_x_0) 0x60",
)


def test_a_loop_iterates_at_its_jump_back_and_the_padding_of_a_kernel_is_no_loop() -> None:
    assert marked(loop_iterations, *COPY_LOOP) == [4]


@pytest.mark.parametrize(
    "jump", ["@P0 BRA 0x40", "BRA 0x30", "@P0 BRA 0x28", "CALL.REL.NOINC 0x0", "BSSY B0, 0x0", "BRA.DIV UR9, 0x40"]
)
def test_a_jump_forward_to_itself_or_to_no_instruction_makes_no_loop(jump: str) -> None:
    assert marked(loop_iterations, "MOV R0, RZ", "IADD3 R0, R0, 0x1, RZ", "FADD R4, RZ, R4", jump, "EXIT") == []


@pytest.mark.parametrize(
    "jump", ["BRA 0x10", "@!P0 BRA 0x10", "@P0   BRA 0x10", "BRA.U UP0, 0x10", "@!P0 BRA P1, 0x10"]
)
def test_every_form_of_a_jump_back_makes_a_loop(jump: str) -> None:
    assert marked(loop_iterations, "MOV R0, RZ", "FADD R4, RZ, R4", jump, "EXIT") == [2]


def test_a_switch_is_no_loop_and_leaves_the_loop_around_it_one() -> None:
    lines = ("MOV R0, RZ", "BRX R2 -0x10", "FADD R4, RZ, R4", "BRA 0x50", "FADD R4, RZ, R5", "IADD3 R0, R0, 0x1, RZ")
    assert marked(loop_iterations, *lines, "EXIT") == []
    assert marked(loop_iterations, *lines, "@P0 BRA 0x10", "EXIT") == [6]


def test_loops_in_loops_iterate_at_their_own_jumps() -> None:
    nested = (
        "LDC R9, c[0x0][0x220]",
        "MOV R0, RZ",
        "FADD R4, R4, R5",
        "IADD3 R0, R0, 0x1, RZ",
        "@P0 BRA 0x20",
        "IADD3 R1, R1, 0x1, RZ",
        "@P1 BRA 0x10",
        "EXIT",
    )
    assert marked(loop_iterations, *nested) == [4, 6]


def test_a_jump_back_from_code_that_was_moved_to_the_end_makes_no_loop() -> None:
    """Nvcc 12 and 13 for Hopper: the path of a shuffle in an incomplete warp stands after the EXIT."""
    moved = program("""
        MOV R0, RZ
        BRA.DIV UR4, {apart}
        SHFL.UP P1, R23, R18, R23, R25
        joined:
        FADD R4, R4, R23
        EXIT
        apart:
        WARPSYNC.COLLECTIVE R22, {end}
        SHFL.UP P1, R23, R18, R23, R25
        end:
        BRA {joined}
    """)
    assert not loop_iterations(moved).any()


def test_packed_products_of_blackwell_count_twice() -> None:
    assert weights(multiply_adds, "FFMA2 R4, R6, R8, R4") == [2.0]
