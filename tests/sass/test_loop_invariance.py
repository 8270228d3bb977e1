"""Registers that are invariant in a loop."""

from __future__ import annotations

import pytest

from ncuview.sass.cfg import innermost_loop
from ncuview.sass.code import Code
from ncuview.sass.loop_invariance import is_invariant
from tests.sass.program import program, where


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
