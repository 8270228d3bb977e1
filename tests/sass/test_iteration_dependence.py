"""Loops with independent iterations, and chains: indices, sums, scans, recurrences, and results passed in memory."""

from __future__ import annotations

import pytest

from ncuview.sass.iteration_dependence import independent_iterations, serial_iterations
from tests.sass.program import program

LOOP = """
LDC.64 R2, c[0x0][0x210]
LDC.64 R4, c[0x0][0x218]
MOV R6, RZ
MOV R7, RZ
MOV R11, 0x1
loop:
{body}
IADD3 R7, R7, 0x1, RZ
ISETP.LT.AND P0, PT, R7, 0x64, PT
@P0 BRA {{loop}}
STG.E desc[UR4][R4.64], R6
EXIT
"""
ADVANCE = "IADD3 R2, P1, R2, 0x4, RZ\nIADD3.X R3, RZ, R3, RZ, P1, !PT"
STEP_BOTH = f"{ADVANCE}\nIADD3 R4, P2, R4, 0x4, RZ\nIADD3.X R5, RZ, R5, RZ, P2, !PT"

LOAD = "LDG.E R8, desc[UR4][R2.64]"

INDEPENDENT = {
    "a sum of loaded numbers": f"{LOAD}\nFADD R6, R8, R6\n{ADVANCE}",
    "a dot product, whose sum is the last operand": f"{LOAD}\nFFMA R6, R8, R8, R6\n{ADVANCE}",
    "a maximum": f"{LOAD}\nFMNMX R6, R8, R6, !PT\n{ADVANCE}",
    "one result for each iteration": f"{LOAD}\nFMUL R8, R8, R8\nSTG.E desc[UR4][R4.64], R8\n{STEP_BOTH}",
    "an element that is replaced": f"{LOAD}\nFMUL R8, R8, R8\nSTG.E desc[UR4][R2.64], R8\n{ADVANCE}",
    "a tile that each iteration fills and reads": (
        f"{LOAD}\nSTS [R10], R8\nBAR.SYNC 0x0\nLDS R9, [R12]\nFADD R6, R9, R6\nBAR.SYNC 0x0\n{ADVANCE}"
    ),
    "an index that advances by a fixed stride": "IMAD R9, R13, 0x4, R9\nLDS R8, [R9]\nFADD R6, R8, R6",
}
SERIAL = {
    "a pointer chain": "LDG.E.64 R2, desc[UR4][R2.64]",
    "a recurrence, whose result is a factor": f"{LOAD}\nFFMA R6, R6, R9, R8\n{ADVANCE}",
    "a scan, which stores each sum": (f"{LOAD}\nFADD R6, R8, R6\nSTG.E desc[UR4][R4.64], R6\n{STEP_BOTH}"),
    "a wavefront in shared memory": "LDS R8, [R10+0x4]\nFADD R8, R8, R8\nSTS [R10], R8\nBAR.SYNC 0x0",
    "a step that reads what another wrote": (
        f"LDG.E R8, desc[UR4][R2.64+-0x4]\nFADD R8, R8, R8\nSTG.E desc[UR4][R2.64], R8\n{ADVANCE}"
    ),
    "a function iterated": "MUFU.SIN R6, R6",
    "a generator of random numbers": "IMAD R6, R6, R11, R12",
    "bits shifted out": "SHF.R.U32.HI R6, RZ, 0x1, R6",
    "an exchange of the running sum": "SHFL.BFLY PT, R8, R6, 0x1, 0x1f\nFADD R6, R8, R6",
}


@pytest.mark.parametrize("body", INDEPENDENT.values(), ids=INDEPENDENT.keys())
def test_iterations_that_could_run_in_any_order(body: str) -> None:
    code = program(LOOP.format(body=body))
    assert independent_iterations(code).sum() == len(body.splitlines()) + 3
    assert not serial_iterations(code).any()


@pytest.mark.parametrize("body", SERIAL.values(), ids=SERIAL.keys())
def test_iterations_that_need_the_one_before(body: str) -> None:
    code = program(LOOP.format(body=body))
    assert not independent_iterations(code).any()
    assert serial_iterations(code).sum() == len(body.splitlines()) + 3


def test_an_inner_sum_does_not_chain_the_outer_loop() -> None:
    code = program("""
        LDC.64 R2, c[0x0][0x210]
        LDC.64 R4, c[0x0][0x218]
        MOV R7, RZ
        outer:
        MOV R6, RZ
        MOV R9, RZ
        inner:
        LDG.E R8, desc[UR4][R2.64]
        FADD R6, R8, R6
        IADD3 R2, P1, R2, 0x4, RZ
        IADD3.X R3, RZ, R3, RZ, P1, !PT
        IADD3 R9, R9, 0x1, RZ
        ISETP.LT.AND P0, PT, R9, 0x20, PT
        @P0 BRA {inner}
        STG.E desc[UR4][R4.64], R6
        IADD3 R4, P2, R4, 0x4, RZ
        IADD3.X R5, RZ, R5, RZ, P2, !PT
        IADD3 R7, R7, 0x1, RZ
        ISETP.LT.AND P0, PT, R7, 0x20, PT
        @P0 BRA {outer}
        EXIT
    """)
    assert not serial_iterations(code).any()


def test_code_without_loops_is_neither() -> None:
    code = program("LDG.E R8, desc[UR4][R2.64]\nFADD R6, R8, R6\nEXIT")
    assert not independent_iterations(code).any()
    assert not serial_iterations(code).any()
