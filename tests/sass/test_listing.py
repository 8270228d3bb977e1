"""What machine code says, on snippets as ncu prints them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass import listing
from ncuview.sass.listing import Code, Weights, access_bytes, load_batches, parse

Of = Callable[[Code], Weights]


def code(*lines: str) -> Code:
    """Instructions of 16 bytes each, so that the line at position p is jumped to as 0x(10 p)."""
    return Code(lines, tuple(range(0, 16 * len(lines), 16)))


def marked(of: Of, *lines: str) -> list[int]:
    """The positions that count as 1; all others count as 0."""
    found = weights(of, *lines)
    assert set(found) <= {0.0, 1.0}
    return [position for position, weight in enumerate(found) if weight]


def weights(of: Of, *lines: str) -> list[float]:
    return [float(weight) for weight in of(code(*lines))]


PARTS: list[tuple[str, set[str], set[str]]] = [
    ("IMAD R0, R7, UR4, R1", {"R0"}, {"R7", "UR4", "R1"}),
    ("IMAD.WIDE R20, R3, 0x4, R16", {"R20", "R21"}, {"R3", "R16"}),
    ("IMAD.WIDE.U32 R2, R7, 0x4, R2", {"R2", "R3"}, {"R7", "R2"}),
    ("FADD R4, RZ, R4", {"R4"}, {"R4"}),
    ("FFMA R2, -R16, R3, 1", {"R2"}, {"R16", "R3"}),
    ("DFMA R24, R26, UR6, R8", {"R24", "R25"}, {"R26", "UR6", "R8"}),
    ("F2F.F64.F32 R22, R4", {"R22", "R23"}, {"R4"}),
    ("F2F.F32.F64 R4, R24", {"R4"}, {"R24"}),
    ("MUFU.RCP R10, R10", {"R10"}, {"R10"}),
    ("S2R R0, SR_TID.X", {"R0"}, set()),
    ("S2UR UR5, SR_CTAID.X", {"UR5"}, set()),
    ("MOV R4, UR4", {"R4"}, {"UR4"}),
    ("LDC R1, c[0x0][0x28]", {"R1"}, set()),
    ("LDC.64 R2, c[0x0][0x218]", {"R2", "R3"}, set()),
    ("LDC R27, c[0x3][R28]", {"R27"}, {"R28"}),
    ("ULDC.64 UR6, c[0x0][0x208]", {"UR6", "UR7"}, set()),
    ("LDG.E R4, desc[UR6][R8.64]", {"R4"}, {"UR6", "R8", "R9"}),
    ("LDG.E.64 R2, desc[UR6][R8.64+0x10]", {"R2", "R3"}, {"UR6", "R8", "R9"}),
    ("LDG.E.128.STRONG.GPU R8, desc[UR6][R8.64]", {"R8", "R9", "R10", "R11"}, {"UR6", "R8", "R9"}),
    ("LDS.128 R8, [R18]", {"R8", "R9", "R10", "R11"}, {"R18"}),
    ("LDL.LU R0, [R1+0x40]", {"R0"}, {"R1"}),
    ("SHFL.DOWN PT, R7, R2, 0x10, 0x1f", {"R7"}, {"R2"}),
    ("LOP3.LUT P0, R10, R0, 0x3, RZ, 0xc0, !PT", {"R10"}, {"R0"}),
    ("LOP3.LUT P0, RZ, R4, 0x1f, RZ, 0xc0, !PT", set(), {"R4"}),
    ("LEA.HI.X R3, R4, UR5, R6, 0x2, P0", {"R3"}, {"R4", "UR5", "R6"}),
    ("STG.E desc[UR4][R6.64], R5", set(), {"UR4", "R6", "R7", "R5"}),
    ("STS [R5+0x10], R4", set(), {"R5", "R4"}),
    ("STL [R1+0x4c], R4", set(), {"R1", "R4"}),
    ("REDG.E.ADD.STRONG.GPU desc[UR4][R18.64], R17", set(), {"UR4", "R18", "R19", "R17"}),
    ("ATOMS.POPC.INC.32 RZ, [R17+URZ]", set(), {"R17"}),
    ("ISETP.GE.AND P0, PT, R11, UR6, PT", set(), {"R11", "UR6"}),
    ("FSETP.GE.AND P1, PT, |R11|, 105615, PT", set(), {"R11"}),
    ("DSETP.NEU.AND P0, PT, R12, R24, PT", set(), {"R12", "R24"}),
    ("FCHK P0, R9, R16", set(), {"R9", "R16"}),
    ("RET.REL.NODEC R8, 0x0", set(), {"R8"}),
    ("BAR.SYNC.DEFER_BLOCKING 0x0", set(), set()),
    ("EXIT", set(), set()),
]


@pytest.mark.parametrize(("text", "writes", "reads"), PARTS, ids=[text for text, *_ in PARTS])
def test_an_instruction_writes_its_result_and_reads_the_rest(text: str, writes: set[str], reads: set[str]) -> None:
    parsed = parse(text)
    assert parsed.opcode == text.split(maxsplit=1)[0]
    assert parsed.writes == writes
    assert parsed.reads == reads


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("UISETP.GE.AND UP0, UPT, UR4, UR10, UPT", set()),
        ("HSETP2.GT.AND P0, P1, R2, R3, PT", set()),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64]", set()),
        ("REDUX.SUM UR4, R25", {"UR4"}),
        ("TEX.LL RZ, R7, R6, R4, UR4, 0x0.2D, 0x1", {"R7"}),
        ("CS2R R24, SRZ", {"R24", "R25"}),
        ("I2F.F64 R4, R2", {"R4", "R5"}),
        ("F2I.S64.F64.TRUNC R10, R8", {"R10", "R11"}),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
def test_what_rarer_instructions_write_is_known_too(text: str, writes: set[str]) -> None:
    assert parse(text).writes == writes


@pytest.mark.parametrize("predicate", ["@P0 ", "@!P0 ", "@P2   ", "@!UP1 "])
def test_a_predicate_changes_nothing_about_the_parts(predicate: str) -> None:
    for text, *_ in PARTS:
        assert parse(predicate + text) == parse(text)


def test_the_semicolon_of_a_disassembler_is_no_operand() -> None:
    assert parse("IADD3 R6, R5, -0x1, RZ ;") == parse("IADD3 R6, R5, -0x1, RZ")
    assert parse("EXIT ;").opcode == "EXIT"


@pytest.mark.parametrize("text", ["", "(bad)", "???", "@P0", "lower case"])
def test_what_cannot_be_read_does_nothing(text: str) -> None:
    parsed = parse(text)
    assert (parsed.opcode, parsed.writes, parsed.reads) == ("", frozenset(), frozenset())


@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert not parse(text).writes & {"RZ", "URZ"}
    for of in COUNTS:
        assert of(code(text)).shape == (1,)


@pytest.mark.parametrize(
    ("text", "fetches"),
    [
        ("LDC R3, c[0x0][0x220]", True),
        ("ULDC.64 UR4, c[0x0][0x208]", True),
        ("LDC R27, c[0x3][R28]", False),
        ("LDG.E R4, desc[UR6][R8.64]", False),
        ("S2R R0, SR_TID.X", False),
    ],
)
def test_an_argument_lies_at_a_known_place_of_constant_memory(text: str, fetches: bool) -> None:
    assert parse(text).reads_argument is fetches


COPY_LOOP = (
    "MOV R0, RZ",
    "LDG.E R5, desc[UR4][R2.64]",
    "STG.E desc[UR4][R6.64], R5",
    "IADD3 R2, P0, R2, 0x4, RZ",
    "@P1 BRA 0x10",
    "EXIT",
    "BRA `(.L_x_0) 0x60",
)


def test_a_loop_reaches_from_the_target_of_a_jump_back_to_the_jump() -> None:
    assert code(*COPY_LOOP).loops == [range(1, 5)]
    assert marked(listing.loop_turns, *COPY_LOOP) == [4]


@pytest.mark.parametrize(
    "jump", ["@P0 BRA 0x40", "BRA 0x30", "@P0 BRA 0x28", "CALL.REL.NOINC 0x0", "BSSY B0, 0x0", "BRA.DIV UR9, 0x40"]
)
def test_a_jump_forward_to_itself_or_to_no_instruction_makes_no_loop(jump: str) -> None:
    lines = ("MOV R0, RZ", "IADD3 R0, R0, 0x1, RZ", "FADD R4, RZ, R4", jump, "EXIT")
    assert code(*lines).loops == []
    assert marked(listing.loop_turns, *lines) == []


@pytest.mark.parametrize(
    "jump", ["BRA 0x10", "@!P0 BRA 0x10", "@P0   BRA 0x10", "BRA.U UP0, 0x10", "@!P0 BRA P1, 0x10"]
)
def test_every_form_of_a_jump_back_makes_a_loop(jump: str) -> None:
    assert code("MOV R0, RZ", "FADD R4, RZ, R4", jump, "EXIT").loops == [range(1, 3)]


NESTED = (
    "LDC R9, c[0x0][0x220]",
    "MOV R0, RZ",
    "FADD R4, R4, R5",
    "IADD3 R0, R0, 0x1, RZ",
    "@P0 BRA 0x20",
    "IADD3 R1, R1, 0x1, RZ",
    "@P1 BRA 0x10",
    "EXIT",
)


def test_the_innermost_loop_around_an_instruction_is_the_smallest() -> None:
    nested = code(*NESTED)
    assert nested.loops == [range(2, 5), range(1, 7)]
    assert nested.innermost_loop(3) == range(2, 5)
    assert nested.innermost_loop(5) == range(1, 7)
    assert nested.innermost_loop(0) is None
    assert marked(listing.loop_turns, *NESTED) == [4, 6]


def test_a_loop_varies_what_it_writes_but_not_arguments_that_it_fetches_again() -> None:
    loop = code("LDC.64 R6, c[0x0][0x210]", "LDC R8, c[0x3][R9]", "FADD R4, R4, R5", "STS [R5], R4", "@P0 BRA 0x0")
    assert loop.varies_in(range(5)) == {"R4", "R8"}


def test_the_address_of_a_load_is_without_its_descriptor() -> None:
    assert code("LDG.E R4, desc[UR6][R8.64]").address_of(0) == {"R8", "R9"}


@pytest.mark.parametrize(
    ("modifiers", "size"),
    [
        ("", 4),
        (".CONSTANT", 4),
        (".U8", 1),
        (".S8.CONSTANT", 1),
        (".U16", 2),
        (".S16.STRONG.SYS", 2),
        (".LTC128B.U8.CONSTANT", 1),
        (".64", 8),
        (".64.CONSTANT", 8),
        (".128.STRONG.GPU", 16),
        (".LTC128B", 4),
        (".LTC64B.64", 8),
    ],
)
def test_a_load_brings_the_bytes_of_its_width(modifiers: str, size: int) -> None:
    assert access_bytes(modifiers) == size
    assert list(load_batches(code(f"LDG.E{modifiers} R4, desc[UR4][R2.64]"))) == [(0, max(size, 4))]


@pytest.mark.parametrize(
    ("opcode", "size"),
    [("STL", 4), ("LDL.U8", 1), ("LDL.LU.S16", 2), ("STL.64", 8), ("LDL.128", 16), ("STG.E.U8", 1), ("LDS.128", 16)],
)
def test_every_access_moves_the_bytes_of_its_width(opcode: str, size: int) -> None:
    assert access_bytes(opcode) == size


def test_a_loop_that_is_unrolled_over_two_turns_has_two_loads_in_flight() -> None:
    lines = [
        "LDG.E R5, desc[UR4][R2.64]",
        "LDG.E R6, desc[UR4][R2.64+0x4]",
        "FADD R7, R5, R6",
        "LDG.E R5, desc[UR4][R2.64+0x8]",
        "FADD R7, R7, R5",
    ]
    assert list(load_batches(code(*lines))) == [(0, 8), (3, 4)]


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
def test_wide_and_high_products_take_the_integer_multiplier_a_whole_cycle(text: str, cycles: float) -> None:
    assert weights(listing.integer_multiply_cycles, text) == [cycles]


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
    assert sum(weights(listing.division_instructions, *lines)) == 17
    assert sum(weights(listing.division_leaves, *lines)) == 2
    assert weights(listing.division_instructions, *lines)[len(RECIPROCAL)] == 10


@pytest.mark.parametrize("turns", [1, 8, 100])
def test_a_divisor_that_stays_needs_its_reciprocal_once(turns: int) -> None:
    lines = (*RECIPROCAL, *QUOTIENT, "@P1 BRA 0x80")
    executed = np.array([1.0] * len(RECIPROCAL) + [float(turns)] * (len(QUOTIENT) + 1))
    assert listing.division_instructions(code(*lines)) @ executed == 7 + 10 * turns
    assert listing.division_leaves(code(*lines)) @ executed == 2 * turns


def test_a_remainder_whose_difference_is_written_the_other_way_round_is_a_division() -> None:
    lines = (*RECIPROCAL, *(line.replace("R9, R9, -UR6, RZ", "R9, -UR6, R9, RZ") for line in QUOTIENT))
    assert sum(weights(listing.division_instructions, *lines)) == 17


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
    assert not any(weights(listing.division_instructions, *lines))
    assert not any(weights(listing.division_leaves, *lines))


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
    assert sum(weights(listing.division_instructions, *SIGNED)) == 17


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
    assert marked(listing.special_functions, "EXIT", text) == [1]


@pytest.mark.parametrize("text", ["I2FP.F32.S32 R7, R7", "UPOPC UR4, UR4", "FFMA R24, R9, R4, R5", "FMUL R5, R3, R4"])
def test_what_other_pipes_do_is_no_special_function(text: str) -> None:
    assert marked(listing.special_functions, text) == []


PRECISE = {
    "sine": ("FMUL R0, R11, 0.63661974668502807617", 9.0, 0.0),
    "polynomial of a sine": ("FFMA R2, R8, R0, -0.0013887860113754868507", 13.0, 0.0),
    "the other polynomial": ("FFMA R18, R11, -R18, 0.0083327032625675201416", 8.0, 0.0),
    "exponential": ("FFMA.RM R8, R8, R16, 12582913", 3.0, 0.0),
    "division": ("FCHK P0, R9, R16", 7.0, 1.0),
    "logarithm": ("FFMA R9, R9, 1.1920928955078125e-07, R10", 16.0, 0.0),
    "reciprocal": ("ISETP.GT.U32.AND P0, PT, R6, 0x1ffffff, PT", 9.0, 0.0),
    "square root": ("ISETP.GT.U32.AND P0, PT, R12, 0x727fffff, PT", 7.0, 0.0),
    "power": ("FSETP.GT.AND P1, PT, |R5|, 152, PT", 24.0, 0.0),
    "hyperbolic tangent": ("FSETP.GE.AND P0, PT, |R14|, 9.010913848876953125, PT", 15.0, 1.0),
}


@pytest.mark.parametrize(("text", "saved", "special"), PRECISE.values(), ids=PRECISE)
def test_a_precise_function_is_known_by_one_instruction(text: str, saved: float, special: float) -> None:
    assert weights(listing.precise_instructions, "EXIT", f"@P0 {text}") == [0.0, saved]
    assert weights(listing.precise_special, "EXIT", text) == [0.0, special]


@pytest.mark.parametrize(
    "text",
    [
        "FMUL.RZ R10, R2, 0.15915493667125701904",
        "FMUL R0, R11, 0.5",
        "FFMA R8, -R6, R15, 0.5",
        "FFMA.SAT R8, R8, R16, 0.5",
        "FFMA.SAT R8, -R6, R15, R3",
        "MUFU.RCP R8, R8",
        "IADD3 R6, R5, -0x3, RZ",
        "FSETP.GEU.AND P2, PT, R4, -126, PT",
    ],
)
def test_fast_forms_and_other_arithmetic_are_not_precise(text: str) -> None:
    assert weights(listing.precise_instructions, text) == [0.0]
    assert weights(listing.precise_special, text) == [0.0]


@pytest.mark.parametrize("text", ["FFMA.SAT R9, R0, R9, 0.55000001192092895508", "FFMA.SAT R7, R0, R9, 0.5"])
def test_a_clamped_sum_is_no_exponential(text: str) -> None:
    assert weights(listing.precise_instructions, text, "STG.E desc[UR4][R2.64], R9") == [0.0, 0.0]


@pytest.mark.parametrize(
    ("divisor", "saved"),
    [("MOV R5, RZ", 10.0), ("LDC R4, c[0x0][0x220]", 10.0), ("FADD R4, R4, 1", 7.0)],
    ids=["untouched", "the same argument again", "changed"],
)
def test_dividing_by_the_same_number_in_a_loop_saves_more(divisor: str, saved: float) -> None:
    lines = ("MUFU.RCP R9, R4", divisor, "FCHK P0, R15, R4", "FADD R15, R15, 1", "@P2 BRA 0x0", "EXIT")
    assert weights(listing.precise_instructions, *lines)[2] == saved
    assert weights(listing.precise_special, *lines)[2] == (2 if saved == 10 else 1)


def test_a_division_outside_all_loops_saves_the_usual() -> None:
    lines = ("FADD R1, R1, 1", "@P2 BRA 0x0", "MUFU.RCP R9, R4", "FCHK P0, R15, R4", "EXIT")
    assert weights(listing.precise_instructions, *lines)[3] == 7


COUNTED = [
    (listing.double_conversions, "F2F.F64.F32 R22, R4", "F2F.F16.F32 R22, R4"),
    (listing.double_conversions, "F2F.F32.F64 R4, R24", "F2I.F64.TRUNC R4, R24"),
    (listing.double_arithmetic, "DADD R12, R12, R10", "FADD R12, R12, R10"),
    (listing.double_arithmetic, "DFMA R24, R24, UR6, R8", "FFMA R24, R9, R4, R5"),
    (listing.double_arithmetic, "DSETP.EQ.AND P0, PT, R10, R24, !P0", "ISETP.EQ.AND P0, PT, R11, R12, !P0"),
    (listing.multiply_adds, "FFMA R24, R9, R4, R5", "FMUL R24, R9, R4"),
    (listing.multiply_adds, "DFMA R24, R24, UR6, R8", "IMAD R0, R7, UR4, R0"),
    (listing.masks_to_24_bits, "LOP3.LUT R6, R7, 0xffffff, RZ, 0xc0, !PT", "LOP3.LUT R6, R7, 0xffff, RZ, 0xc0, !PT"),
    (
        listing.masks_to_24_bits,
        "@P0 LOP3.LUT R6, R7, 0xffffff, RZ, 0xc0, !PT",
        "LOP3.LUT R6, R7, 0xfffffff, RZ, 0xc0, !PT",
    ),
    (listing.masks_to_24_bits, "LOP3.LUT R6, R7, 0xffffff, RZ, 0xc0, !PT", "MOV R4, 0xffffff"),
    (listing.spill_accesses, "STL [R1+0x4c], R4", "STL [R3], R4"),
    (listing.spill_accesses, "LDL.LU R0, [R1]", "LDL R0, [R12+0x4]"),
    (listing.spill_accesses, "STL.128 [R1+0x10], R12", "STS.128 [R1+0x10], R12"),
    (listing.local_array_accesses, "LDL R5, [R5]", "LDL R5, [R1]"),
    (listing.local_array_accesses, "@P1 LDL R3, [R12+-0x4]", "@P1 LDL R3, [R1+0x4]"),
    (listing.local_array_accesses, "STL [R10], R2", "LDG.E R5, desc[UR4][R10.64]"),
    (listing.indexed_constants, "LDC R27, c[0x3][R28]", "LDC R27, c[0x3][0x28]"),
    (listing.indexed_constants, "LDC.64 R4, c[0x3][R28+0x8]", "ULDC UR4, c[0x3][UR5]"),
    (listing.shuffles, "SHFL.DOWN PT, R7, R2, 0x10, 0x1f", "SHF.L.U32 R6, R3, 0x2, RZ"),
    (listing.shuffles, "REDUX.SUM.S32 UR4, R0", "REDG.E.ADD.STRONG.GPU desc[UR4][R18.64], R17"),
    (listing.shuffles, "MATCH.ANY R7, R23", "VOTEU.ANY UR4, UPT, PT"),
    (listing.tensor_operations, "HMMA.16816.F32 R12, R8, R12, RZ", "HFMA2.MMA R4, -RZ, RZ, 0, 0"),
    (listing.uniform_multiply_adds, "FFMA R2, R2, UR6, RZ", "FFMA R2, R2, R6, RZ"),
    (listing.uniform_multiply_adds, "FFMA R2, R2, c[0x3][0x8], RZ", "FADD R2, R2, c[0x3][0x8]"),
]


@pytest.mark.parametrize(
    ("of", "counts", "does_not"), COUNTED, ids=[f"{of.__name__}: {text}" for of, text, _ in COUNTED]
)
def test_an_instruction_is_told_from_its_neighbours(of: Of, counts: str, does_not: str) -> None:
    assert marked(of, does_not, counts, does_not) == [1]


@pytest.mark.parametrize("text", [counts for of, counts, _ in COUNTED if of is listing.spill_accesses])
def test_a_local_access_is_either_a_spill_or_an_array(text: str) -> None:
    for lines in ([text], [re.sub(r"\[R1\b", "[R30", text)]):
        assert sum(weights(listing.spill_accesses, *lines)) + sum(weights(listing.local_array_accesses, *lines)) == 1


def test_packed_half_precision_multiplies_and_adds_twice() -> None:
    assert weights(listing.multiply_adds, "HFMA2 R6, R3, R6, R2", "HADD2 R6, R3, R6") == [2.0, 0.0]


def test_a_constant_that_is_made_by_a_packed_multiply_add_is_no_arithmetic() -> None:
    assert weights(listing.multiply_adds, "HFMA2.MMA R17, -RZ, RZ, 0, 5.9604644775390625e-08") == [0.0]


def test_the_other_form_of_a_packed_multiply_add_counts_as_much() -> None:
    assert weights(listing.multiply_adds, "HFMA2.MMA R7, R2, R7, R3") == [2.0]


LOAD = "LDG.E R4, desc[UR6][R2.64]"


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
    assert weights(listing.uniform_constants, text) == [words]


def test_a_sum_that_is_kept_in_shared_memory_is_updated_there() -> None:
    lines = ("@!P1 LDS R3, [R5]", "@!P1 LDS R2, [R2]", "@!P1 FADD R4, R3, R2", "@!P1 STS [R5], R4")
    assert marked(listing.shared_updates, *lines) == [3]


@pytest.mark.parametrize(
    "lines",
    [
        ("LDS R3, [R5]", "STS [R5+0x4], R3"),
        ("LDS R3, [R5]", "STS [R6], R3"),
        ("STS [R5], R3", "BAR.SYNC.DEFER_BLOCKING 0x0", "LDS R4, [R5]"),
        ("LDG.E R3, desc[UR4][R6.64]", "STS [R5], R3"),
        ("LDS R3, [R5]", *["FADD R4, R4, R3"] * 11, "STS [R5], R4"),
    ],
    ids=["a neighbour", "another place", "read after writing", "from global memory", "long ago"],
)
def test_a_store_that_replaces_nothing_just_loaded_is_no_update(lines: tuple[str, ...]) -> None:
    assert marked(listing.shared_updates, *lines) == []


def test_an_update_may_take_ten_instructions_between() -> None:
    assert marked(listing.shared_updates, "LDS R3, [R5]", *["FADD R4, R4, R3"] * 10, "STS [R5], R4") == [11]


def test_a_store_through_a_register_that_has_moved_on_is_no_update() -> None:
    assert marked(listing.shared_updates, "LDS R3, [R5]", "IADD3 R5, R5, 0x4, RZ", "STS [R5], R3") == []


def test_an_addition_by_compare_and_swap_is_a_swap_loop() -> None:
    lines = (
        "LD.E R5, desc[UR4][R8.64]",
        "HADD2 R0, R5, R2.H0_H0",
        "PRMT R3, R5, R4, R0",
        "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3",
        "ISETP.NE.U32.AND P0, PT, R0, R5, PT",
        "MOV R5, R0",
        "@P0 BRA 0x10",
        "EXIT",
    )
    assert marked(listing.swap_loops, *lines) == [3]


@pytest.mark.parametrize(
    "swap",
    [
        "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R7",
        "ATOM.E.ADD.STRONG.GPU PT, R0, [R8], R5",
        "ATOMS.CAS R0, [R8], R5, R5",
    ],
    ids=["a fixed value", "an addition", "in shared memory"],
)
def test_other_atomics_in_a_loop_are_no_swap_loops(swap: str) -> None:
    lines = ("LD.E R5, desc[UR4][R8.64]", "IADD3 R3, R5, 0x1, RZ", swap, "MOV R5, R0", "@P0 BRA 0x10", "EXIT")
    assert marked(listing.swap_loops, *lines) == []


COUNTS: tuple[Of, ...] = tuple(
    of
    for name, of in vars(listing).items()
    if getattr(of, "__annotations__", {}).get("return") == "Weights" and not name.startswith("_")
)
"""Everything that gives one number per instruction."""


def test_all_counts_are_looked_at() -> None:
    assert {listing.loop_turns, listing.division_instructions, listing.float_coordinates} <= set(COUNTS)


snippets = st.sampled_from(
    [
        *((text,) for text, *_ in PARTS),
        COPY_LOOP[:-1],
        (*RECIPROCAL, *QUOTIENT),
        ("LDC.64 R2, c[0x0][0x210]", LOAD),
        *((text,) for text, *_ in PRECISE.values()),
        ("LDS R3, [R5]", "FADD R4, R3, R2", "STS [R5], R4"),
        *((f"@P0 BRA 0x{target}0",) for target in range(8)),
    ]
)
kernels = st.lists(snippets, max_size=12).map(lambda parts: [line for part in parts for line in part])


@given(kernels)
def test_every_count_has_one_number_for_each_instruction(lines: list[str]) -> None:
    for of in COUNTS:
        found = of(code(*lines))
        assert found.shape == (len(lines),)
        assert np.isfinite(found).all()
        # The refinement of a reciprocal is taken back where its conversion is.
        assert (found >= (-10 if of in {listing.division_instructions, listing.division_leaves} else 0)).all()


@given(kernels)
def test_local_memory_is_spills_and_arrays_and_nothing_else(lines: list[str]) -> None:
    local = [float(bool(listing.LOCAL.match(line))) for line in lines]
    assert (listing.spill_accesses(code(*lines)) + listing.local_array_accesses(code(*lines))).tolist() == local


@given(kernels, st.integers(1, 100))
def test_which_registers_a_kernel_uses_does_not_matter(lines: list[str], shift: int) -> None:
    renamed = [
        re.sub(r"\bR(\d+)\b", lambda r: f"R{int(r[1]) + 2 * shift if r[1] != '1' else 1}", line) for line in lines
    ]
    for of in COUNTS:
        assert of(code(*renamed)).tolist() == of(code(*lines)).tolist(), of


@given(kernels, st.integers(1, 1000))
def test_where_a_kernel_lies_does_not_matter(lines: list[str], blocks: int) -> None:
    moved = [re.sub(r"BRA 0x(\w+)", lambda to: f"BRA 0x{int(to[1], 16) + 16 * blocks:x}", line) for line in lines]
    there = Code(tuple(moved), tuple(range(16 * blocks, 16 * (blocks + len(moved)), 16)))
    for of in COUNTS:
        assert of(there).tolist() == of(code(*lines)).tolist(), of


@given(kernels)
def test_every_loop_ends_at_its_own_jump_and_the_smallest_comes_first(lines: list[str]) -> None:
    loops = code(*lines).loops
    assert [len(loop) for loop in loops] == sorted(len(loop) for loop in loops)
    assert listing.loop_turns(code(*lines)).sum() == len({loop[-1] for loop in loops})
    assert all("BRA" in lines[loop[-1]] for loop in loops)


GATHER = (
    "LDG.E R5, desc[UR4][R2.64]",
    "IMAD.WIDE R6, R5, 0x4, R10",
    "IMAD.WIDE R8, R5, 0x4, R12",
    "LDG.E R14, desc[UR4][R6.64]",
    "LDG.E R15, desc[UR4][R8.64]",
)


def test_a_load_through_a_loaded_index_is_a_gather_and_a_second_one_gathers_again() -> None:
    assert marked(listing.gathered_loads, *GATHER) == [3, 4]
    assert marked(listing.gathered_again, *GATHER) == [4]


def test_a_pointer_that_was_loaded_before_a_loop_is_no_index_in_it() -> None:
    row = ("LDG.E R5, desc[UR4][R2.64]", "IMAD.WIDE R6, R5, 0x4, R10")
    loop = ("LDG.E R14, desc[UR4][R6.64]", "IADD3 R6, R6, 0x4, RZ", "@P0 BRA 0x20", "EXIT")
    assert marked(listing.gathered_loads, *row, *loop) == []


@pytest.mark.parametrize("text", ["LDG.E.U8 R4, desc[UR4][R2.64]", "@P0 LDG.E.S16.CONSTANT R4, desc[UR4][R2.64]"])
def test_a_load_of_one_or_two_bytes_is_tiny(text: str) -> None:
    assert marked(listing.tiny_loads, text, "LDG.E R4, desc[UR4][R2.64]", "STG.E.U8 desc[UR4][R2.64], R4") == [0]


LOAD_AT_R6 = ("IMAD.WIDE R6, R6, 0x4, R2", "LDG.E R8, desc[UR4][R6.64]")


@pytest.mark.parametrize("rounds", ["F2I.FLOOR.NTZ R6, R4", "F2I.TRUNC.NTZ R6, R4"])
def test_a_load_at_a_rounded_coordinate_is_one(rounds: str) -> None:
    assert weights(listing.float_coordinates, rounds, *LOAD_AT_R6) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "before",
    [
        ("F2I.TRUNC.NTZ R9, R4",),  # a result that is rounded, as a pixel is
        ("F2I.FTZ.U32.TRUNC.NTZ R6, R4",),  # the reciprocal of an integer division
        ("F2I.TRUNC.NTZ R6, R4", "S2R R6, SR_TID.X"),  # overwritten
    ],
)
def test_a_load_elsewhere_is_none(before: tuple[str, ...]) -> None:
    assert not any(weights(listing.float_coordinates, *before, *LOAD_AT_R6))


def test_loads_that_may_not_pass_a_store_are_those_behind_the_first() -> None:
    load, store = "LDG.E R4, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64], R4"
    assert marked(listing.loads_behind_stores, load, store, load, load, store) == [2, 3]
    assert marked(listing.loads_behind_stores, load, load, store) == []
    assert marked(listing.loads_behind_stores, load, load) == []


def test_doubles_that_are_loaded_are_told_from_those_that_are_computed() -> None:
    code = ("LDG.E.64 R2, desc[UR4][R6.64]", "DADD R4, R2, R8", "F2F.F64.F32 R2, R10", "DMUL R4, R2, R8")
    assert weights(listing.kept_doubles, *code) == [0.0, 1.0, 0.0, 0.0]


def test_doubles_that_are_stored_are_told_from_those_that_are_converted() -> None:
    kept = ("I2F.F64 R2, R10", "DMUL R4, R2, R8", "STG.E.64 desc[UR4][R6.64], R4")
    assert weights(listing.kept_doubles, *kept) == [0.0, 0.0, 1.0]
    converted = ("I2F.F64 R2, R10", "DMUL R4, R2, R8", "F2F.F32.F64 R4, R4", "STG.E desc[UR4][R6.64], R4")
    assert not any(weights(listing.kept_doubles, *converted))
    assert not any(weights(listing.kept_doubles, "MOV R4, R9", "STG.E.64 desc[UR4][R6.64], R4"))


def test_coefficients_of_library_functions_are_no_doubles_of_the_kernel() -> None:
    sine = ("LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22", "LDG.E.128.CONSTANT R4, desc[UR6][R22.64]")
    assert not any(weights(listing.kept_doubles, *sine, "DFMA R6, R6, R4, R8"))
    reloaded = ("LDG.E.64 R22, desc[UR6][R30.64]", "DADD R4, R22, R8")
    assert weights(listing.kept_doubles, *sine, *reloaded) == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_a_global_array_of_doubles_that_may_be_written_is_the_kernels_own() -> None:
    own = ("LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22", "LDG.E.64 R4, desc[UR6][R22.64]")
    assert weights(listing.kept_doubles, *own, "DADD R6, R4, R8") == [0.0, 0.0, 0.0, 1.0]


def test_a_division_of_64_bits_costs_more_than_one_of_32() -> None:
    divides = (
        "I2F.U32.RP R6, R8",
        "IMAD.HI.U32 R3, R5, R3, R4",
        "IMAD.HI.U32 R14, R3, R2, RZ",
        "ISETP.GE.U32.AND P0, PT, R3, R8, PT",
        "@P0 IADD3 R3, R3, -R8, RZ",
    )
    asks = ("LOP3.LUT R3, R9, R11, RZ, 0xfc, !PT",)
    assert (
        sum(weights(listing.division_instructions, *asks, *divides))
        == sum(weights(listing.division_instructions, *divides)) + 12
    )


PATH_OF_TWO = ("LDS R1, [R10]", "LDS R2, [R11]", "FADD R3, R1, R2")


@pytest.mark.parametrize("next_one", ["FMNMX R8, R8, R3, PT", "FADD R8, R8, |R3|"])
def test_two_numbers_from_shared_memory_that_go_into_a_sum_are_a_pair(next_one: str) -> None:
    assert marked(listing.shared_pairs, *PATH_OF_TWO, next_one) == [2]


@pytest.mark.parametrize(
    "lines",
    [
        (*PATH_OF_TWO, "STS [R10], R3"),  # a tree
        (*PATH_OF_TWO, "FMUL R8, R3, R3"),
        (*PATH_OF_TWO, "MOV R3, R9", "FADD R8, R8, R3"),
        ("LDS R1, [R10]", "FADD R3, R1, R2", "FADD R8, R8, R3"),  # one number is in a register
        ("LDS R1, [R10]", "FADD R3, R1, 1", "FADD R8, R8, R3"),
        ("LDS R1, [R10]", "LDG.E R2, desc[UR4][R6.64]", "FADD R3, R1, R2", "FADD R8, R8, R3"),
        PATH_OF_TWO,
    ],
)
def test_other_sums_of_shared_memory_are_no_pairs(lines: tuple[str, ...]) -> None:
    assert marked(listing.shared_pairs, *lines) == []


def test_each_pair_of_a_vector_load_counts() -> None:
    lines = ("LDS.128 R4, [R10]", "LDS R1, [R11]", "FADD R2, R4, R1", "FADD R3, R7, R1", "FMNMX3 R8, R8, R2, R3, PT")
    assert marked(listing.shared_pairs, *lines) == [2, 3]


@pytest.mark.parametrize(
    "text",
    [
        "FSETP.GEU.AND P0, PT, R11, -126, PT",
        "@P4 FSETP.GEU.AND P5, PT, R24, -126, PT",
        "FSETP.GEU.AND P1, PT, |R3|, 1.175494350822287508e-38, PT",
    ],
)
def test_scaling_of_denormal_numbers_takes_three_instructions(text: str) -> None:
    assert weights(listing.denormal_scaling, text) == [3.0]


@pytest.mark.parametrize(
    "text",
    ["FSETP.GEU.AND P0, PT, R11, -128, PT", "FSETP.GEU.AND P0, PT, R3, R4, PT", "ISETP.GE.AND P0, PT, R3, -126, PT"],
)
def test_other_comparisons_scale_nothing(text: str) -> None:
    assert weights(listing.denormal_scaling, text) == [0.0]


@pytest.mark.parametrize("divisor", ["6", "c[0x0][0x254]", "UR5"])
def test_a_reciprocal_of_what_all_threads_share_could_be_kept(divisor: str) -> None:
    assert marked(listing.repeated_divisions, f"MUFU.RCP64H R13, {divisor}") == [0]


def test_a_second_division_by_the_same_number_is_repeated() -> None:
    lines = ("MUFU.RCP64H R13, R27", "DFMA R14, R12, -R26, 1", "MUFU.RCP64H R15, R27", "DADD R26, R2, R4")
    assert marked(listing.repeated_divisions, *lines, "MUFU.RCP64H R13, R27") == [2]


def test_a_divisor_that_the_loop_keeps_is_divided_by_again() -> None:
    lines = ("MOV R27, R2", "DADD R4, R4, 1", "MUFU.RCP64H R13, R27", "@P0 BRA 0x10")
    assert marked(listing.repeated_divisions, *lines) == [2]


def test_a_divisor_that_each_turn_makes_anew_is_none() -> None:
    lines = ("MOV R27, R2", "DADD R26, R26, 1", "MUFU.RCP64H R13, R27", "@P0 BRA 0x10")
    assert marked(listing.repeated_divisions, *lines) == []


def test_a_single_division_is_not_repeated() -> None:
    assert marked(listing.repeated_divisions, "DADD R26, R2, R4", "MUFU.RCP64H R13, R27") == []


def test_a_uniform_divisor_that_each_turn_fetches_anew_is_none() -> None:
    lines = ("MOV R2, R3", "ULDC UR5, c[0x0][UR4]", "MUFU.RCP64H R13, UR5", "@P0 BRA 0x10")
    assert marked(listing.repeated_divisions, *lines) == []


def test_a_conversion_of_what_was_loaded_is_told_from_others() -> None:
    loaded = "LDG.E.S16 R4, desc[UR4][R2.64]"
    assert marked(listing.converted_loads, loaded, "I2F.S16 R5, R4") == [1]
    assert marked(listing.converted_loads, loaded, "IADD3 R4, R4, R6, RZ", "I2F R5, R4") == []
    assert marked(listing.converted_loads, loaded, "I2F R5, R4") == [1]
    assert marked(listing.converted_loads, loaded, "I2FP.F32.S32 R5, R4") == []
    assert marked(listing.converted_loads, "I2F R5, R6") == []
