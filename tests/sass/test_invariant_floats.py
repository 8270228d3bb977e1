"""Thread-invariant arithmetic."""

from __future__ import annotations

import numpy as np

from ncuview.sass.code import Code
from ncuview.sass.index_dependence import (
    float_arithmetic,
    thread_invariant,
    thread_invariant_float_results,
    thread_invariant_floats,
)

WEIGHT = (
    "LDC R2, c[0x0][0x220]",
    "S2R R1, SR_TID.X",
    "I2FP.F32.S32 R3, R2",
    "FMUL R3, R3, R3",
    "MUFU.EX2 R3, R3",
    "LDG.E R4, desc[UR6][R8.64]",
    "I2FP.F32.S32 R5, R1",
    "FMUL R4, R4, R5",
    "FFMA R6, R3, R4, R6",
)
"""A weight that is the same for all, and what each thread makes of it."""
KERNEL = Code(WEIGHT, tuple(range(0, 16 * len(WEIGHT), 16)))


def at(weights: np.ndarray) -> list[int]:
    return np.flatnonzero(weights).tolist()


def test_no_index_reaches_what_is_thread_invariant() -> None:
    assert at(thread_invariant(KERNEL)) == [0, 2, 3, 4, 5]


def test_arithmetic_of_floats_is_counted_by_itself() -> None:
    assert at(float_arithmetic(KERNEL)) == [2, 3, 4, 6, 7, 8]
    assert at(thread_invariant_floats(KERNEL)) == [2, 3, 4]


def test_a_result_that_varying_arithmetic_uses_could_stand_in_a_table() -> None:
    assert at(thread_invariant_float_results(KERNEL)) == [4]


def test_a_result_that_is_overwritten_before_does_not_count() -> None:
    again = (*WEIGHT[:5], "MOV R3, RZ", *WEIGHT[6:])
    assert at(thread_invariant_float_results(Code(again, KERNEL.addresses))) == []


def test_a_result_that_only_code_after_the_loop_uses_does_not_count() -> None:
    loop = ("S2R R1, SR_TID.X", "MUFU.RSQ R3, R3", "@P0 BRA 0x10", "FMUL R4, R3, R1", "EXIT")
    assert at(thread_invariant_float_results(Code(loop, tuple(range(0, 80, 16))))) == []
    inside = ("S2R R1, SR_TID.X", "MUFU.RSQ R3, R2", "FMUL R4, R3, R1", "@P0 BRA 0x10", "EXIT")
    assert at(thread_invariant_float_results(Code(inside, tuple(range(0, 80, 16))))) == [1]


def test_products_of_matrices_in_tensor_cores_are_no_arithmetic_of_floats() -> None:
    assert at(float_arithmetic(Code(("HMMA.16816.F32 R4, R8, R10, R4", "FLO.U32 R1, R2"), (0, 16)))) == []
