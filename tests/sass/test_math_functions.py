"""Precise functions in machine code, and powers with integer, half and quarter exponents."""

from __future__ import annotations

import pytest

from ncuview.sass.idioms.math_functions import (
    denormal_scaling,
    power_doubles,
    power_instructions,
    power_special,
    precise_instructions,
    precise_special,
)
from tests.sass.program import code, weights

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
    assert weights(precise_instructions, "EXIT", f"@P0 {text}") == [0.0, saved]
    assert weights(precise_special, "EXIT", text) == [0.0, special]


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
    assert weights(precise_instructions, text) == [0.0]
    assert weights(precise_special, text) == [0.0]


@pytest.mark.parametrize("text", ["FFMA.SAT R9, R0, R9, 0.55000001192092895508", "FFMA.SAT R7, R0, R9, 0.5"])
def test_a_clamped_sum_is_no_exponential(text: str) -> None:
    assert weights(precise_instructions, text, "STG.E desc[UR4][R2.64], R9") == [0.0, 0.0]


@pytest.mark.parametrize(
    ("divisor", "saved"),
    [("MOV R5, RZ", 10.0), ("LDC R4, c[0x0][0x220]", 10.0), ("FADD R4, R4, 1", 7.0)],
    ids=["untouched", "the same argument again", "changed"],
)
def test_dividing_by_the_same_number_in_a_loop_saves_more(divisor: str, saved: float) -> None:
    lines = ("MUFU.RCP R9, R4", divisor, "FCHK P0, R15, R4", "FADD R15, R15, 1", "@P2 BRA 0x0", "EXIT")
    assert weights(precise_instructions, *lines)[2] == saved
    assert weights(precise_special, *lines)[2] == (2 if saved == 10 else 1)


def test_a_division_outside_all_loops_saves_the_usual() -> None:
    lines = ("FADD R1, R1, 1", "@P2 BRA 0x0", "MUFU.RCP R9, R4", "FCHK P0, R15, R4", "EXIT")
    assert weights(precise_instructions, *lines)[3] == 7


@pytest.mark.parametrize(
    "text",
    [
        "FSETP.GEU.AND P0, PT, R11, -126, PT",
        "@P4 FSETP.GEU.AND P5, PT, R24, -126, PT",
        "FSETP.GEU.AND P1, PT, |R3|, 1.175494350822287508e-38, PT",
    ],
)
def test_scaling_of_denormal_numbers_takes_three_instructions(text: str) -> None:
    assert weights(denormal_scaling, text) == [3.0]


@pytest.mark.parametrize(
    "text",
    ["FSETP.GEU.AND P0, PT, R11, -128, PT", "FSETP.GEU.AND P0, PT, R3, R4, PT", "ISETP.GE.AND P0, PT, R3, -126, PT"],
)
def test_other_comparisons_scale_nothing(text: str) -> None:
    assert weights(denormal_scaling, text) == [0.0]


@pytest.mark.parametrize("divisor", ["-20", "c[0x0][0x160]", "UR5"])
def test_dividing_by_a_constant_in_a_loop_saves_as_much_though_the_dividend_changes(divisor: str) -> None:
    assert weights(precise_instructions, "FADD R15, R15, 1", f"FCHK P0, R15, {divisor}", "@P2 BRA 0x0")[1] == 10


def test_scaling_of_a_negated_number_counts_too() -> None:
    assert weights(denormal_scaling, "FSETP.GEU.AND P0, PT, -R7, -126, PT") == [3.0]


def marked(*lines: str) -> list[int]:
    return [place for place, weight in enumerate(power_instructions(code(*lines))) if weight]


def single(product: str) -> list[str]:
    return [product, "FRND R6, R5", "FSETP.GT.AND P0, PT, |R5|, 152, PT", "FADD R4, R5, -R6"]


def double(*after: str) -> list[str]:
    """A call of pow, what comes after it, and the function at 0x100 with its constant."""
    lines = ["MOV R0, 0x20", "CALL.REL.NOINC 0x100", *after, "EXIT"]
    return [
        *lines,
        *["NOP"] * (16 - len(lines)),
        "DADD R4, -RZ, |R18|",
        "UMOV UR6, 0x7d2cafe2",
        "RET.REL.NODEC R0, 0x0",
    ]


@pytest.mark.parametrize("exponent", ["2", "3", "-1.5", "0.75", "16"])
def test_a_literal_exponent_of_quarters_is_found(exponent: str) -> None:
    assert marked(*single(f"FMUL R5, R4, {exponent}")) == [2]
    assert marked(*double(f"DADD R4, R18.reuse, {exponent}")) == [1]


@pytest.mark.parametrize("exponent", ["2.2000000476837158203", "0.33333334326744079590", "1000", "R9", "+INF"])
def test_other_exponents_are_not_found(exponent: str) -> None:
    assert marked(*single(f"FMUL R5, R4, {exponent}")) == []
    assert marked(*double(f"DADD R4, R18, {exponent}")) == []


def test_an_exponent_converted_from_an_integer_is_found() -> None:
    assert marked("I2FP.F32.S32 R9, R8", *single("FMUL R5, R4, R9")) == [3]
    assert marked(*double("I2F.F64 R8, R3", "DADD R4, R18, R8")) == [1]


def test_an_integer_base_is_no_exponent() -> None:
    assert marked(*double("I2F.F64 R18, R3", "DADD R4, R18, R8")) == []


def test_an_exponent_that_was_overwritten_is_not_found() -> None:
    assert marked("I2FP.F32.S32 R9, R8", "FADD R9, R9, R3", *single("FMUL R5, R4, R9")) == []


def test_a_change_of_sign_after_the_call_is_no_sum() -> None:
    assert marked(*double("DADD R12, -RZ, -R14", "DADD R4, R18, 3")) == [1]


def test_a_sum_after_the_next_call_belongs_to_that_call() -> None:
    assert marked(*double("CALL.REL.NOINC 0x120", "DADD R4, R18, 3")) == []


def test_a_call_of_another_function_is_no_power() -> None:
    lines = double("DADD R4, R18, 2")
    assert marked(*lines[:-2], "UMOV UR6, 0x652b82fe", lines[-1]) == []


def test_a_function_before_the_one_with_the_constant_is_no_power() -> None:
    ended = ["DADD R4, R18, 2", "EXIT", *["NOP"] * 12, "DADD R2, R2, 1", "RET.REL.NODEC R0, 0x0"]
    assert marked("MOV R0, 0x20", "CALL.REL.NOINC 0x100", *ended, "UMOV UR6, 0x7d2cafe2", "RET.REL.NODEC R0, 0x0") == []


def test_a_test_of_range_that_no_product_leads_to_is_none() -> None:
    assert marked("FADD R5, R4, R3", *single("FMUL R7, R4, 2")[1:]) == []
    assert marked(*single("FMUL R7, R4, 2")[1:]) == []


def test_the_cost_of_a_power_depends_on_its_precision() -> None:
    powf, pow_ = code(*single("FMUL R5, R4, 2")), code(*double("DADD R4, R18, 2"))
    assert (power_instructions(powf).sum(), power_doubles(powf).sum(), power_special(powf).sum()) == (50, 0, 3)
    assert (power_instructions(pow_).sum(), power_doubles(pow_).sum(), power_special(pow_).sum()) == (170, 84, 1)
