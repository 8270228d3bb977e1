"""What kernels do with loaded data: conversions, coordinates, doubles."""

from __future__ import annotations

import pytest

from ncuview.sass.loaded_values import converted_loads, float_coordinates, kept_doubles, look_ups
from tests.sass.program import marked, weights

LOAD_AT_R6 = ("IMAD.WIDE R6, R6, 0x4, R2", "LDG.E R8, desc[UR4][R6.64]")


@pytest.mark.parametrize("rounds", ["F2I.FLOOR.NTZ R6, R4", "F2I.TRUNC.NTZ R6, R4"])
def test_a_load_at_a_rounded_coordinate_counts(rounds: str) -> None:
    assert weights(float_coordinates, rounds, *LOAD_AT_R6) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "before",
    [
        ("F2I.TRUNC.NTZ R9, R4",),  # a result that is rounded, as a pixel is
        ("F2I.FTZ.U32.TRUNC.NTZ R6, R4",),  # the reciprocal of an integer division
        ("F2I.TRUNC.NTZ R6, R4", "S2R R6, SR_TID.X"),  # overwritten
    ],
)
def test_other_loads_do_not_count(before: tuple[str, ...]) -> None:
    assert not any(weights(float_coordinates, *before, *LOAD_AT_R6))


def test_loaded_doubles_count_and_computed_ones_do_not() -> None:
    code = ("LDG.E.64 R2, desc[UR4][R6.64]", "DADD R4, R2, R8", "F2F.F64.F32 R2, R10", "DMUL R4, R2, R8")
    assert weights(kept_doubles, *code) == [0.0, 1.0, 0.0, 0.0]


def test_stored_doubles_count_and_converted_ones_do_not() -> None:
    kept = ("I2F.F64 R2, R10", "DMUL R4, R2, R8", "STG.E.64 desc[UR4][R6.64], R4")
    assert weights(kept_doubles, *kept) == [0.0, 0.0, 1.0]
    converted = ("I2F.F64 R2, R10", "DMUL R4, R2, R8", "F2F.F32.F64 R4, R4", "STG.E desc[UR4][R6.64], R4")
    assert not any(weights(kept_doubles, *converted))
    assert not any(weights(kept_doubles, "MOV R4, R9", "STG.E.64 desc[UR4][R6.64], R4"))


def test_coefficients_of_library_functions_are_no_doubles_of_the_kernel() -> None:
    sine = ("LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22", "LDG.E.128.CONSTANT R4, desc[UR6][R22.64]")
    assert not any(weights(kept_doubles, *sine, "DFMA R6, R6, R4, R8"))
    reloaded = ("LDG.E.64 R22, desc[UR6][R30.64]", "DADD R4, R22, R8")
    assert weights(kept_doubles, *sine, *reloaded) == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_a_global_array_of_doubles_that_may_be_written_is_the_kernels_own() -> None:
    own = ("LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22", "LDG.E.64 R4, desc[UR6][R22.64]")
    assert weights(kept_doubles, *own, "DADD R6, R4, R8") == [0.0, 0.0, 0.0, 1.0]


def test_only_conversions_of_loaded_values_count() -> None:
    loaded = "LDG.E.S16 R4, desc[UR4][R2.64]"
    assert marked(converted_loads, loaded, "I2F.S16 R5, R4") == [1]
    assert marked(converted_loads, loaded, "IADD3 R4, R4, R6, RZ", "I2F R5, R4") == []
    assert marked(converted_loads, loaded, "I2F R5, R4") == [1]
    assert marked(converted_loads, loaded, "I2FP.F32.S32 R5, R4") == []
    assert marked(converted_loads, "I2F R5, R6") == []


def test_a_coordinate_that_one_branch_computes_counts_where_the_branches_meet() -> None:
    lines = ("MOV R6, R9", "@P0 BRA 0x30", "F2I.TRUNC.NTZ R6, R4", "IMAD.WIDE R6, R6, 0x4, R2", LOAD_AT_R6[1])
    assert marked(float_coordinates, *lines) == [4]


def test_a_table_of_a_library_function_is_no_image() -> None:
    table = ("LDC.64 R22, c[0x4][0x8]", "F2I.F64 R3, R8", "IMAD.WIDE R22, R3, 0x8, R22")
    assert not any(weights(float_coordinates, *table, "LDG.E.128.CONSTANT R4, desc[UR6][R22.64]"))
    assert any(weights(float_coordinates, *table, "LDG.E.128 R4, desc[UR6][R22.64]"))


def test_a_shared_access_at_a_place_that_the_thread_loaded_is_a_look_up() -> None:
    load = ("S2R R0, SR_TID.X", "IMAD.WIDE R6, R0, 0x4, R2", "LDG.E R8, desc[UR4][R6.64]")
    assert weights(look_ups, *load, "SHF.L.U32 R8, R8, 0x2, RZ", "LDS R9, [R8]")[-1] == 1
    assert weights(look_ups, *load, "SHF.L.U32 R8, R8, 0x2, RZ", "LDS R9, [R8]", "LDS R4, [R9+0x80]")[-1] == 1


@pytest.mark.parametrize(
    "lines",
    [
        ("S2R R0, SR_TID.X", "IMAD.SHL.U32 R8, R0, 0x4, RZ", "LDS R9, [R8]"),
        ("S2R R0, SR_CTAID.X", "IMAD.WIDE R6, R0, 0x4, R2", "LDG.E R8, desc[UR4][R6.64]", "LDS R9, [R8]"),
        ("S2R R0, SR_TID.X", "IMAD.WIDE R6, R0, 0x4, R2", "LDG.E R8, desc[UR4][R6.64]", "STS [R0], R8"),
    ],
)
def test_places_that_threads_compute_or_share_are_no_look_ups(lines: tuple[str, ...]) -> None:
    assert not any(weights(look_ups, *lines))
