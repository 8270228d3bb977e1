"""Spilled registers and local arrays, sums over shared memory, and loops of compare-and-swap."""

from __future__ import annotations

import pytest

from ncuview.sass.idioms.memory_patterns import (
    local_array_accesses,
    shared_pairs,
    shared_updates,
    spill_accesses,
    summed_values,
    swap_loops,
)
from tests.sass.program import Of, marked


def test_a_sum_in_shared_memory_is_an_update() -> None:
    lines = ("@!P1 LDS R3, [R5]", "@!P1 LDS R2, [R2]", "@!P1 FADD R4, R3, R2", "@!P1 STS [R5], R4")
    assert marked(shared_updates, *lines) == [3]


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
    assert marked(shared_updates, *lines) == []


def test_an_update_may_take_ten_instructions_between() -> None:
    assert marked(shared_updates, "LDS R3, [R5]", *["FADD R4, R4, R3"] * 10, "STS [R5], R4") == [11]


def test_a_store_through_a_register_that_has_moved_on_is_no_update() -> None:
    assert marked(shared_updates, "LDS R3, [R5]", "IADD3 R5, R5, 0x4, RZ", "STS [R5], R3") == []


PATH_OF_TWO = ("LDS R1, [R10]", "LDS R2, [R11]", "FADD R3, R1, R2")


@pytest.mark.parametrize("next_one", ["FMNMX R8, R8, R3, PT", "FADD R8, R8, |R3|"])
def test_two_numbers_from_shared_memory_that_go_into_a_sum_are_a_pair(next_one: str) -> None:
    assert marked(shared_pairs, *PATH_OF_TWO, next_one) == [2]


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
    assert marked(shared_pairs, *lines) == []


def test_each_pair_of_a_vector_load_counts() -> None:
    lines = ("LDS.128 R4, [R10]", "LDS R1, [R11]", "FADD R2, R4, R1", "FADD R3, R7, R1", "FMNMX3 R8, R8, R2, R3, PT")
    assert marked(shared_pairs, *lines) == [2, 3]


def test_a_running_sum_that_begins_with_a_number_from_shared_memory_is_no_pair() -> None:
    lines = ("LDS R16, [R10]", "LDS R5, [R11]", "FADD R5, R5, R16", "FADD R16, R5, R6", "@P0 BRA 0x10", "EXIT")
    assert marked(shared_pairs, *lines) == []


@pytest.mark.parametrize("halves", [("DADD R2, R4, 1", []), ("DADD R2, R4, R6", [2])])
def test_a_double_is_one_number(halves: tuple[str, list[int]]) -> None:
    adds, pairs = halves
    assert marked(shared_pairs, "LDS.64 R4, [R10]", "LDS.64 R6, [R11]", adds, "DADD R8, R8, R2") == pairs


COUNTED = [
    (spill_accesses, "STL [R1+0x4c], R4", "STL [R3], R4"),
    (spill_accesses, "LDL.LU R0, [R1]", "LDL R0, [R12+0x4]"),
    (spill_accesses, "STL.128 [R1+0x10], R12", "STS.128 [R1+0x10], R12"),
    (local_array_accesses, "LDL R5, [R5]", "LDL R5, [R1]"),
    (local_array_accesses, "@P1 LDL R3, [R12+-0x4]", "@P1 LDL R3, [R1+0x4]"),
    (local_array_accesses, "STL [R10], R2", "LDG.E R5, desc[UR4][R10.64]"),
]


@pytest.mark.parametrize(
    ("of", "counts", "does_not"), COUNTED, ids=[f"{of.__name__}: {text}" for of, text, _ in COUNTED]
)
def test_spills_and_local_arrays_are_distinguished(of: Of, counts: str, does_not: str) -> None:
    assert marked(of, does_not, counts, does_not) == [1]


def test_a_place_on_the_stack_that_a_uniform_register_moves_is_in_an_array() -> None:
    assert marked(local_array_accesses, "LDL R4, [R1+UR4+0x10]") == [0]


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
    assert marked(swap_loops, *lines) == [3]


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
    assert marked(swap_loops, *lines) == []


def test_a_swap_that_nothing_repeats_is_no_swap_loop() -> None:
    lines = ("LD.E R5, desc[UR4][R8.64]", "IADD3 R3, R5, 0x1, RZ", "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3", "EXIT")
    assert marked(swap_loops, *lines) == []


def test_a_value_that_is_only_chosen_by_what_was_found_is_a_fixed_one() -> None:
    lines = (
        "ATOMG.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3",
        "ISETP.NE.U32.AND P0, PT, R0, R5, PT",
        "@P0 MOV R3, R7",
        "@P0 BRA 0x0",
        "EXIT",
    )
    assert marked(swap_loops, *lines) == []


TREE = """
    LDS R3, [R5]
    LDS R2, [R6]
    FADD R4, R3, R2
    STS [R5], R4
"""


@pytest.mark.parametrize(
    ("before", "counted"),
    [
        (("LDG.E R8, desc[UR4][R10.64]", "FMUL R9, R8, R8", "STS [R5], R9"), [0, 1]),
        (("LDG.E R8, desc[UR4][R10.64]", "LDS R7, [R12]", "FFMA R9, R8, R7, RZ", "STS [R5], R9"), [0, 1, 2]),
        # The address of the load, and the index of the store, are no part of the value.
        (("IADD3 R10, R10, 0x4, RZ", "LDG.E R8, desc[UR4][R10.64]", "STS [R5], R8"), [1]),
        # Loaded for another array, from which the first values are computed.
        (("LDG.E R8, desc[UR4][R10.64]", "STS [R12], R8", "LDS R7, [R13]", "STS [R5], R7"), []),
        (("I2F R9, R8", "STS [R5], R9"), []),
        # What is loaded decides whether one more is counted.
        (
            ("LDG.E R8, desc[UR4][R10.64]", "ISETP.GT.AND P1, PT, R8, R7, PT", "MOV R9, 0x1", "@P1 STS [R5], R9"),
            [0, 1, 2],
        ),
        # The same for all threads: no element.
        (("LDG.E R8, desc[UR4][R12.64]", "FMUL R9, R8, R7", "STS [R5], R9"), []),
        # A second tree, of sums that the first one left.
        (("LDS R8, [R5]", "LDG.E R9, desc[UR4][R10.64]", "FADD R9, R8, R9", "STS [R5], R9"), []),
    ],
    ids=["squares", "products", "without addresses", "another array", "not loaded", "chosen", "one for all", "sums"],
)
def test_what_a_tree_adds_up_is_followed_back_to_global_loads(before: tuple[str, ...], counted: list[int]) -> None:
    tree = [line.strip() for line in TREE.strip().splitlines()]
    index = ("S2R R10, SR_TID.X", "IMAD R10, R10, 0x4, R11")
    assert marked(summed_values, *index, *before, *["NOP"] * 12, *tree) == [at + len(index) for at in counted]


def test_a_tree_whose_sums_move_may_have_any_store_of_first_values() -> None:
    tree = ("IMAD R5, R0, R6, R7", "LDS R3, [R5]", "LDS R2, [R5+0x4]", "FADD R4, R3, R2", "STS [R5], R4")
    assert marked(summed_values, "S2R R10, SR_TID.X", "LDG.E R8, desc[UR4][R10.64]", "STS [R9], R8", *tree) == [1]


def test_without_a_tree_nothing_is_added_up() -> None:
    assert marked(summed_values, "LDG.E R8, desc[UR4][R10.64]", "STS [R9], R8") == []


STEP = ("LDS R3, [R5]", "LDS R2, [{partner}]", "FADD R4, R3, R2", "BAR.SYNC.DEFER_BLOCKING 0x0", "STS [R5], R4")
"""A sum and that of another thread; positions 2 to 6 after two instructions."""
FIRST = ("LEA R5, R0, UR4, 0x2", "LEA R6, R1, UR4, 0x2")


def step(partner: str) -> list[str]:
    return [line.format(partner=partner) for line in STEP]


@pytest.mark.parametrize(
    ("loop", "counted"),
    [
        ((*step("R6"), "@P0 BRA 0x20"), []),
        ((*step("R6"), *step("R6"), "@P0 BRA 0x20"), []),
        ((*step("R5+0x4"), "@P0 BRA 0x20"), []),
        ((*step("R5+0x4"), "VIADD R5, R5, 0x80", "@P0 BRA 0x20"), []),
        ((*step("R6"), "SHF.R.U32.HI R6, RZ, 0x1, R6", "@P0 BRA 0x20"), [6]),
        (("VIADD R6, R6, 0x10", *step("R6"), "@P0 BRA 0x20"), [7]),
        # A tree without a loop, once for each of several rows.
        ((*step("R5+0x80"), *step("R5+0x40"), "@P0 BRA 0x20"), [6, 11]),
        # Each thread adds for itself.
        (("LDS R3, [R5]", "FADD R4, R3, R8", "STS [R5], R4", "@P0 BRA 0x20"), [4]),
        (step("R5+0x80"), [6]),
    ],
    ids=["stencil", "unrolled", "offset", "moving stencil", "tree", "scan", "unrolled tree", "own sum", "one level"],
)
def test_sums_of_neighbours_that_stay_as_far_away_are_no_updates(loop: tuple[str, ...], counted: list[int]) -> None:
    assert marked(shared_updates, *FIRST, *loop, "EXIT") == counted
