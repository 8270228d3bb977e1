"""Loads whose addresses come from other loads, and the arguments that addresses come from."""

from __future__ import annotations

from ncuview.sass.load_indices import gathered_loads, pointer_arguments, regathered_loads
from tests.sass.counting import code, marked

GATHER = (
    "LDG.E R5, desc[UR4][R2.64]",
    "IMAD.WIDE R6, R5, 0x4, R10",
    "IMAD.WIDE R8, R5, 0x4, R12",
    "LDG.E R14, desc[UR4][R6.64]",
    "LDG.E R15, desc[UR4][R8.64]",
)


def test_a_load_through_a_loaded_index_is_a_gather_and_a_second_one_gathers_again() -> None:
    assert marked(gathered_loads, *GATHER) == [3, 4]
    assert marked(regathered_loads, *GATHER) == [4]


def test_a_pointer_that_was_loaded_before_a_loop_is_no_index_in_it() -> None:
    row = ("LDG.E R5, desc[UR4][R2.64]", "IMAD.WIDE R6, R5, 0x4, R10")
    loop = ("LDG.E R14, desc[UR4][R6.64]", "IADD3 R6, R6, 0x4, RZ", "@P0 BRA 0x20", "EXIT")
    assert marked(gathered_loads, *row, *loop) == []


def test_an_index_that_a_hash_mixes_counts_across_a_loop() -> None:
    row = ("LDG.E R5, desc[UR4][R2.64]", "LOP3.LUT R5, R5, 0xff, RZ, 0xc0, !PT", "IMAD.WIDE R6, R5, 0x4, R10")
    loop = ("LDG.E R14, desc[UR4][R6.64]", "IADD3 R6, R6, 0x4, RZ", "@P0 BRA 0x30", "EXIT")
    assert marked(gathered_loads, *row, *loop) == [3]


def test_a_list_that_is_followed_is_no_gather_from_its_own_last_element() -> None:
    assert marked(gathered_loads, "LDG.E.64 R2, desc[UR4][R2.64]", "@P0 BRA 0x0", "EXIT") == []


def test_a_coefficient_that_a_library_function_chooses_by_a_loaded_number_is_no_gather() -> None:
    table = ("LDG.E R3, desc[UR4][R8.64]", "LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22")
    assert marked(gathered_loads, *table, "LDG.E.128.CONSTANT R4, desc[UR6][R22.64]") == []
    assert marked(gathered_loads, *table, "LDG.E.128 R4, desc[UR6][R22.64]") == [3]


def test_the_arguments_of_an_address_are_found_through_arithmetic_and_not_through_loads() -> None:
    lines = (
        "LDC.64 R2, c[0x0][0x210]",
        "LDC R4, c[0x0][0x220]",
        "IMAD.WIDE R6, R4, 0x4, R2",
        "LDG.E R8, desc[UR4][R6.64]",
        "LEA R10, P0, R8, c[0x0][0x228], 0x2",
        "STG.E desc[UR4][R10.64], R8",
        "STS [R10], R8",
    )
    assert pointer_arguments(code(*lines)) == {3: frozenset({"0x210"}), 5: frozenset({"0x228"})}
