"""Loads that the branches of precise functions keep apart."""

from __future__ import annotations

import pytest

from ncuview.sass.global_loads import load_batches
from ncuview.sass.idioms.slow_paths import batches_without_slow_paths
from tests.sass.program import program

ROOT = """
    BSSY B0, {{end{n}}}
    MUFU.RSQ R7, R{value}
    IADD3 R8, R{value}, -0xd000000, RZ
    ISETP.GT.U32.AND P0, PT, R8, {test}, PT
    @!P0 BRA {{usual{n}}}
    CALL.REL.NOINC {{root}}
    BRA {{join{n}}}
    usual{n}:
    FMUL.FTZ R9, R{value}, R7
    join{n}:
    BSYNC B0
    end{n}:
"""
FUNCTION = """
    EXIT
    root:
    FMUL R9, R9, R9
    RET.REL.NODEC R20 0x0
"""
PRECISE = "0x727fffff"


def load(register: int, offset: int = 0, modifier: str = "") -> str:
    return f"LDG.E{modifier} R{register}, desc[UR6][R2.64+{hex(offset)}]\n"


def root(number: int, value: int, test: str = PRECISE) -> str:
    return ROOT.format(n=number, value=value, test=test)


def sizes(listing: str) -> list[int]:
    return [batch.size for batch in batches_without_slow_paths(program(listing + FUNCTION))]


def test_roots_of_loaded_numbers_keep_four_loads_apart() -> None:
    listing = "".join(load(value, 4 * value) + root(value, value) for value in (10, 11, 12, 13))
    assert [batch.size for batch in load_batches(program(listing + FUNCTION))] == [4, 4, 4, 4]
    assert sizes(listing) == [16]


def test_a_branch_of_the_program_keeps_them_apart_without_the_root_too() -> None:
    assert sizes(load(10) + root(0, 10, test="0x100") + load(11, 4) + root(1, 11)) == [4, 4]


def test_loads_that_no_function_keeps_apart_are_those_of_the_order_of_the_program() -> None:
    assert sizes(load(10) + "FADD R9, R10, R10\n" + load(11, 4) + "FADD R9, R11, R11\n") == [4, 4]


@pytest.mark.parametrize(
    ("between", "modifier", "joined"),
    [
        ("STG.E desc[UR6][R4.64], R9\n", "", False),
        ("STG.E desc[UR6][R4.64], R9\n", ".CONSTANT", True),
        ("BAR.SYNC.DEFER_BLOCKING 0x0\n", ".CONSTANT", False),
        ("@P3 EXIT\n", "", False),
        ("IADD3 R2, R2, 0x8, RZ\n", "", True),
        ("IADD3 R2, R9, R10, RZ\n", "", False),
    ],
    ids=[
        "a store",
        "a store and read-only data",
        "a barrier",
        "an end",
        "another address",
        "an address that was loaded",
    ],
)
def test_what_else_stands_between(between: str, modifier: str, joined: bool) -> None:
    listing = load(10, 0, modifier) + root(0, 10) + between + load(11, 4, modifier) + root(1, 11)
    assert sizes(listing) == ([8] if joined else [4, 4])


def test_iterations_of_a_loop_stay_apart() -> None:
    body = load(10) + root(0, 10) + "IADD3 R2, R2, 0x4, RZ\nISETP.NE.AND P1, PT, R2, R5, PT\n"
    assert sizes("top:\n" + body + "@P1 BRA {top}\n" + load(11, 4)) == [4, 4]


def test_code_without_loads_has_none() -> None:
    assert sizes(root(0, 10)) == []
