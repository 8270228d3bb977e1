"""Powers with integer, half and quarter exponents in machine code."""

from __future__ import annotations

import pytest

from ncuview.sass.idioms.pow import power_doubles, power_instructions, power_special
from tests.sass.counting import code


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
