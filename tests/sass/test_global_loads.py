"""Global loads: unchanged addresses, reloads, chains, gathers, arguments of addresses, and batches in flight.

More cases of batches are in tests/metrics/test_quantities.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from ncuview.sass.global_loads import (
    chased_loads,
    fixed_loads,
    gathered_loads,
    load_batches,
    pointer_arguments,
    regathered_loads,
    reloads,
    uniform_loads,
)
from tests.sass.program import code, marked, program, where

LOAD = "LDG.E R4, desc[UR6][R2.64]"


@pytest.mark.parametrize(
    "address",
    [
        ("LDC.64 R2, c[0x0][0x210]",),
        ("ULDC.64 UR8, c[0x0][0x210]", "MOV R2, UR8", "MOV R3, UR9"),
        ("ULDC.64 UR8, c[0x0][0x210]", "IMAD.U32 R2, RZ, RZ, UR8", "IMAD.MOV.U32 R3, RZ, RZ, UR9"),
    ],
)
def test_a_load_from_an_argument_itself_is_the_same_for_all_threads(address: tuple[str, ...]) -> None:
    assert marked(fixed_loads, *address, LOAD) == [len(address)]


@pytest.mark.parametrize(
    "address",
    [
        ("LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R0, 0x4, R2"),
        ("LDC R2, c[0x0][0x210]", "S2R R3, SR_TID.X"),
        ("LDC.64 R6, c[0x0][0x210]", "LDG.E.64 R2, desc[UR6][R6.64+0x8]"),
        ("S2R R0, SR_TID.X", "MOV R2, R0", "MOV R3, R0"),
        ("LDC.64 R2, c[0x3][R8]",),
    ],
    ids=["by thread", "half an argument", "a pointer in memory", "a copied thread", "a table"],
)
def test_a_load_from_a_computed_address_is_not_fixed(address: tuple[str, ...]) -> None:
    assert marked(fixed_loads, *address, LOAD)[-1:] != [len(address)]


@pytest.mark.parametrize(
    ("step", "fixed"),
    [("IADD3 R5, R5, 0x1, RZ", [1]), ("IADD3 R2, P0, R2, 0x4, RZ", []), ("LDC.64 R2, c[0x0][0x210]", [1])],
)
def test_a_loop_that_moves_the_address_reads_more_than_one_place(step: str, fixed: list[int]) -> None:
    assert marked(fixed_loads, "LDC.64 R2, c[0x0][0x210]", LOAD, step, "@P0 BRA 0x10") == fixed


def test_an_outer_loop_that_moves_the_address_reads_more_than_one_place() -> None:
    inner = (LOAD, "FADD R9, R9, R4", "@P0 BRA 0x10")
    assert marked(fixed_loads, "LDC.64 R2, c[0x0][0x210]", *inner, "IADD3 R2, R2, 0x4, RZ", "@P1 BRA 0x10") == []


def test_an_argument_that_is_copied_from_constant_memory_is_one() -> None:
    lines = ("MOV R2, c[0x0][0x160]", "IMAD.MOV.U32 R3, RZ, RZ, c[0x0][0x164]", "LDG.E R4, [R2.64]")
    assert marked(fixed_loads, *lines) == [2]


@pytest.mark.parametrize(
    "store", ["STG.E desc[UR4][R4.64], R23", "@P0 STG.E.64 desc[UR4][R4.64], R22", "ST.E desc[UR4][R4.64], R23"]
)
def test_a_load_from_one_place_in_a_loop_that_stores_is_a_reload(store: str) -> None:
    loop = ("LDC.64 R6, c[0x0][0x210]", "LDG.E R0, desc[UR4][R6.64+0x4]", store, "@P0 BRA 0x0")
    assert marked(reloads, *loop) == [1]


@pytest.mark.parametrize(
    "lines",
    [
        ("LDG.E R0, desc[UR4][R6.64]", "FADD R9, R9, R0", "@P0 BRA 0x0"),
        ("LDG.E R0, desc[UR4][R6.64]", "STS [R4], R0", "@P0 BRA 0x0"),
        ("LDG.E R0, desc[UR4][R6.64]", "STG.E desc[UR4][R4.64], R0", "IADD3 R6, R6, 0x4, RZ", "@P0 BRA 0x0"),
        ("LDG.E R0, desc[UR4][R6.64]", "STG.E desc[UR4][R4.64], R0", "IADD3.X R7, RZ, R7, RZ, P0, !PT", "@P0 BRA 0x0"),
        ("LDG.E R0, desc[UR4][R6.64]", "STG.E desc[UR4][R4.64], R0", "EXIT"),
        ("LDS R0, [R6]", "STG.E desc[UR4][R4.64], R0", "@P0 BRA 0x0"),
    ],
    ids=["no store", "a store to shared memory", "moving", "moving in its upper half", "no loop", "from shared memory"],
)
def test_other_loads_are_no_reloads(lines: tuple[str, ...]) -> None:
    assert marked(reloads, *lines) == []


def test_a_store_after_the_loop_forces_no_reload() -> None:
    assert marked(reloads, LOAD, "FADD R9, R9, R4", "@P0 BRA 0x0", "STG.E desc[UR4][R6.64], R9") == []


def test_a_uniform_load_is_one_that_no_store_forces() -> None:
    reload = ("LDC.64 R2, c[0x0][0x210]", LOAD, "STG.E desc[UR4][R8.64], R4", "@P0 BRA 0x10")
    assert marked(uniform_loads, "LDC.64 R2, c[0x0][0x210]", LOAD, "FADD R9, R9, R4", "@P0 BRA 0x10") == [1]
    assert marked(fixed_loads, *reload) == [1]
    assert marked(uniform_loads, *reload) == []


def hop(to: int, via: int) -> tuple[str, ...]:
    """A load through a register, and the address that its result leads to."""
    return (f"LDG.E R9, desc[UR4][R{via}.64]", f"IMAD.WIDE R{to}, R9, 0x4, R20")


def test_the_third_of_loads_that_wait_for_one_another_is_a_chain() -> None:
    assert marked(chased_loads, *hop(4, 2), *hop(6, 4), *hop(8, 6), *hop(10, 8)) == [4, 6]


def test_an_index_and_what_it_points_to_are_no_chain() -> None:
    assert marked(chased_loads, *hop(4, 2), *hop(6, 4), "STG.E desc[UR4][R6.64], R9") == []


def test_a_register_that_is_overwritten_forgets_the_loads_before() -> None:
    lines = (*hop(4, 2), *hop(6, 4), "MOV R6, R30", "MOV R7, R31", *hop(8, 6))
    assert marked(chased_loads, *lines) == []


@pytest.mark.parametrize(
    "loop",
    [
        ("LDG.E.64 R2, desc[UR4][R2.64]", "IADD3 R5, R5, -0x1, RZ", "@P0 BRA 0x0"),
        (
            "LDG.E R9, desc[UR4][R2.64]",
            "LOP3.LUT R8, R9, 0xff, RZ, 0xc0, !PT",
            "IMAD.WIDE R2, R8, 0x4, R20",
            "@P0 BRA 0x0",
        ),
        ("IMAD.WIDE R2, R9, 0x4, R20", "LDG.E R9, desc[UR4][R2.64]", "FADD R7, R7, R9", "@P0 BRA 0x0"),
    ],
    ids=["a list", "through arithmetic", "around the jump"],
)
def test_a_loop_that_goes_where_its_loads_lead_is_a_chain(loop: tuple[str, ...]) -> None:
    assert marked(chased_loads, *loop) == [next(at for at, text in enumerate(loop) if "LDG" in text)]


@pytest.mark.parametrize(
    "loop",
    [
        (LOAD, "FADD R9, R9, R4", "IADD3 R2, P1, R2, 0x4, RZ", "@P0 BRA 0x0"),
        (LOAD, "MOV R4, RZ", "IMAD.WIDE R2, R4, 0x4, R20", "@P0 BRA 0x0"),
        ("LDS R2, [R2]", "FADD R9, R9, R2", "@P0 BRA 0x0"),
    ],
    ids=["a sum", "a result that is thrown away", "shared memory"],
)
def test_a_loop_whose_addresses_do_not_come_from_memory_is_no_chain(loop: tuple[str, ...]) -> None:
    assert marked(chased_loads, *loop) == []


def test_an_argument_stays_one_where_another_path_uses_its_register() -> None:
    code = program("""
        LDC.64 R2, c[0x0][0x210]
        @P0 BRA {load}
        IMAD.WIDE R2, R0, 0x4, R2
        STG.E desc[UR4][R2.64], R0
        EXIT
        load:
        LDG.E R4, desc[UR6][R2.64]
    """)
    assert np.flatnonzero(fixed_loads(code)).tolist() == [where(code, "LDG")]


def test_a_register_that_a_loop_uses_otherwise_before_is_no_varying_address() -> None:
    loop = ("MOV R2, R9", "FADD R9, R2, R9", "LDC.64 R2, c[0x0][0x210]", LOAD, "STG.E desc[UR4][R8.64], R4")
    assert marked(reloads, *loop, "@P0 BRA 0x0") == [3]


def test_an_index_from_a_path_that_does_not_lead_to_the_load_makes_no_chain() -> None:
    code = program("""
        @P0 BRA {other}
        LDG.E R9, desc[UR4][R2.64]
        IMAD.WIDE R4, R9, 0x4, R20
        LDG.E R9, desc[UR4][R4.64]
        EXIT
        other:
        IMAD.WIDE R6, R9, 0x4, R20
        LDG.E R9, desc[UR4][R6.64]
    """)
    assert not chased_loads(code).any()


def test_a_definition_under_the_guard_of_a_load_replaces_what_was_before() -> None:
    hops = (*hop(4, 2), "@P0 IMAD.WIDE R6, R9, 0x4, R20", "@P0 LDG.E R9, desc[UR4][R6.64]")
    fresh = ("@P0 IMAD.WIDE R6, R5, 0x4, R20", "@P0 LDG.E R9, desc[UR4][R6.64]")
    assert marked(chased_loads, *hops, *fresh) == []
    other_guard = ("@P1 IMAD.WIDE R6, R5, 0x4, R20", "@P2 LDG.E R9, desc[UR4][R6.64]")
    assert marked(chased_loads, *hops, "@P0 IMAD.WIDE R6, R9, 0x4, R20", *other_guard) == [6]


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


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [("R8", "0x214", {"0x210"}), ("R8", "0x218", set()), ("R7", "0x214", set())],
    ids=["a pointer in two halves", "two integers", "no pair of registers"],
)
def test_an_argument_that_is_loaded_in_two_halves_is_a_pointer(low: str, high: str, found: set[str]) -> None:
    halves = (f"LDC {low}, c[0x0][0x210]", f"LDC R9, c[0x0][{high}]")
    lines = (*halves, "IMAD.WIDE R4, R17, 0x4, R8", "LDG.E R25, desc[UR4][R4.64]")
    assert pointer_arguments(code(*lines)) == {3: frozenset(found)}


def test_two_integers_in_neighbouring_registers_are_no_pointer() -> None:
    sizes = ("LDC R6, c[0x0][0x210]", "LDC R7, c[0x0][0x214]", "LDC.64 R2, c[0x0][0x218]")
    lines = (*sizes, "IMAD R9, R6, R7, RZ", "IMAD.WIDE R4, R9, 0x4, R2", "LDG.E R25, desc[UR4][R4.64]")
    assert pointer_arguments(code(*lines)) == {5: frozenset({"0x218"})}


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
    assert list(load_batches(code(f"LDG.E{modifiers} R4, desc[UR4][R2.64]"))) == [(0, max(size, 4))]


def test_a_loop_unrolled_by_two_has_two_loads_in_flight() -> None:
    lines = [
        "LDG.E R5, desc[UR4][R2.64]",
        "LDG.E R6, desc[UR4][R2.64+0x4]",
        "FADD R7, R5, R6",
        "LDG.E R5, desc[UR4][R2.64+0x8]",
        "FADD R7, R7, R5",
    ]
    assert list(load_batches(code(*lines))) == [(0, 8), (3, 4)]


def test_a_load_whose_register_is_overwritten_is_waited_for() -> None:
    lines = ["LDG.E.128 R4, desc[UR4][R2.64]", "MOV R7, RZ", "LDG.E R8, desc[UR4][R2.64]", "FADD R4, R4, R8"]
    assert list(load_batches(code(*lines))) == [(0, 16), (2, 4)]
