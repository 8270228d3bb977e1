"""What machine code says, on snippets as ncu prints them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass import listing
from ncuview.sass.listing import Code, Weights, access_bytes, load_batches, parse

Of = Callable[[Code], Weights]


def code(*lines: str) -> Code:
    """Instructions of 16 bytes each, so that the line at position p is jumped to as 0x(10 p)."""
    return Code(lines, tuple(range(0, 16 * len(lines), 16)))


def marked(of: Of, *lines: str) -> list[int]:
    """The positions that count as 1; all others count as 0."""
    found = weights(of, *lines)
    assert set(found) <= {0.0, 1.0}
    return [position for position, weight in enumerate(found) if weight]


def weights(of: Of, *lines: str) -> list[float]:
    return [float(weight) for weight in of(code(*lines))]


PARTS: list[tuple[str, set[str], set[str]]] = [
    ("IMAD R0, R7, UR4, R1", {"R0"}, {"R7", "UR4", "R1"}),
    ("IMAD.WIDE R20, R3, 0x4, R16", {"R20", "R21"}, {"R3", "R16"}),
    ("IMAD.WIDE.U32 R2, R7, 0x4, R2", {"R2", "R3"}, {"R7", "R2"}),
    ("FADD R4, RZ, R4", {"R4"}, {"R4"}),
    ("FFMA R2, -R16, R3, 1", {"R2"}, {"R16", "R3"}),
    ("DFMA R24, R26, UR6, R8", {"R24", "R25"}, {"R26", "UR6", "R8"}),
    ("F2F.F64.F32 R22, R4", {"R22", "R23"}, {"R4"}),
    ("F2F.F32.F64 R4, R24", {"R4"}, {"R24"}),
    ("MUFU.RCP R10, R10", {"R10"}, {"R10"}),
    ("S2R R0, SR_TID.X", {"R0"}, set()),
    ("S2UR UR5, SR_CTAID.X", {"UR5"}, set()),
    ("MOV R4, UR4", {"R4"}, {"UR4"}),
    ("LDC R1, c[0x0][0x28]", {"R1"}, set()),
    ("LDC.64 R2, c[0x0][0x218]", {"R2", "R3"}, set()),
    ("LDC R27, c[0x3][R28]", {"R27"}, {"R28"}),
    ("ULDC.64 UR6, c[0x0][0x208]", {"UR6", "UR7"}, set()),
    ("LDG.E R4, desc[UR6][R8.64]", {"R4"}, {"UR6", "R8", "R9"}),
    ("LDG.E.64 R2, desc[UR6][R8.64+0x10]", {"R2", "R3"}, {"UR6", "R8", "R9"}),
    ("LDG.E.128.STRONG.GPU R8, desc[UR6][R8.64]", {"R8", "R9", "R10", "R11"}, {"UR6", "R8", "R9"}),
    ("LDS.128 R8, [R18]", {"R8", "R9", "R10", "R11"}, {"R18"}),
    ("LDL.LU R0, [R1+0x40]", {"R0"}, {"R1"}),
    ("SHFL.DOWN PT, R7, R2, 0x10, 0x1f", {"R7"}, {"R2"}),
    ("LOP3.LUT P0, R10, R0, 0x3, RZ, 0xc0, !PT", {"R10"}, {"R0"}),
    ("LOP3.LUT P0, RZ, R4, 0x1f, RZ, 0xc0, !PT", set(), {"R4"}),
    ("LEA.HI.X R3, R4, UR5, R6, 0x2, P0", {"R3"}, {"R4", "UR5", "R6"}),
    ("STG.E desc[UR4][R6.64], R5", set(), {"UR4", "R6", "R7", "R5"}),
    ("STS [R5+0x10], R4", set(), {"R5", "R4"}),
    ("STL [R1+0x4c], R4", set(), {"R1", "R4"}),
    ("REDG.E.ADD.STRONG.GPU desc[UR4][R18.64], R17", set(), {"UR4", "R18", "R19", "R17"}),
    ("ATOMS.POPC.INC.32 RZ, [R17+URZ]", set(), {"R17"}),
    ("ISETP.GE.AND P0, PT, R11, UR6, PT", set(), {"R11", "UR6"}),
    ("FSETP.GE.AND P1, PT, |R11|, 105615, PT", set(), {"R11"}),
    ("DSETP.NEU.AND P0, PT, R12, R24, PT", set(), {"R12", "R24"}),
    ("FCHK P0, R9, R16", set(), {"R9", "R16"}),
    ("RET.REL.NODEC R8, 0x0", set(), {"R8"}),
    ("BAR.SYNC.DEFER_BLOCKING 0x0", set(), set()),
    ("EXIT", set(), set()),
]


@pytest.mark.parametrize(("text", "writes", "reads"), PARTS, ids=[text for text, *_ in PARTS])
def test_an_instruction_writes_its_result_and_reads_the_rest(text: str, writes: set[str], reads: set[str]) -> None:
    parsed = parse(text)
    assert parsed.opcode == text.split(maxsplit=1)[0]
    assert parsed.writes == writes
    assert parsed.reads == reads


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("UISETP.GE.AND UP0, UPT, UR4, UR10, UPT", set()),
        ("HSETP2.GT.AND P0, P1, R2, R3, PT", set()),
        ("LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64]", set()),
        ("REDUX.SUM UR4, R25", {"UR4"}),
        ("TEX.LL RZ, R7, R6, R4, UR4, 0x0.2D, 0x1", {"R7"}),
        ("CS2R R24, SRZ", {"R24", "R25"}),
        ("I2F.F64 R4, R2", {"R4", "R5"}),
        ("F2I.S64.F64.TRUNC R10, R8", {"R10", "R11"}),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else "",
)
def test_what_rarer_instructions_write_is_known_too(text: str, writes: set[str]) -> None:
    assert parse(text).writes == writes


@pytest.mark.parametrize("predicate", ["@P0 ", "@!P0 ", "@P2   ", "@!UP1 "])
def test_a_predicate_changes_nothing_about_the_parts(predicate: str) -> None:
    for text, *_ in PARTS:
        assert parse(predicate + text) == parse(text)


def test_the_semicolon_of_a_disassembler_is_no_operand() -> None:
    assert parse("IADD3 R6, R5, -0x1, RZ ;") == parse("IADD3 R6, R5, -0x1, RZ")
    assert parse("EXIT ;").opcode == "EXIT"


@pytest.mark.parametrize("text", ["", "(bad)", "???", "@P0", "lower case"])
def test_what_cannot_be_read_does_nothing(text: str) -> None:
    parsed = parse(text)
    assert (parsed.opcode, parsed.writes, parsed.reads) == ("", frozenset(), frozenset())


@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    assert not parse(text).writes & {"RZ", "URZ"}
    for of in COUNTS:
        assert of(code(text)).shape == (1,)


@pytest.mark.parametrize(
    ("text", "fetches"),
    [
        ("LDC R3, c[0x0][0x220]", True),
        ("ULDC.64 UR4, c[0x0][0x208]", True),
        ("LDC R27, c[0x3][R28]", False),
        ("LDG.E R4, desc[UR6][R8.64]", False),
        ("S2R R0, SR_TID.X", False),
    ],
)
def test_an_argument_lies_at_a_known_place_of_constant_memory(text: str, fetches: bool) -> None:
    assert parse(text).reads_argument is fetches


COPY_LOOP = (
    "MOV R0, RZ",
    "LDG.E R5, desc[UR4][R2.64]",
    "STG.E desc[UR4][R6.64], R5",
    "IADD3 R2, P0, R2, 0x4, RZ",
    "@P1 BRA 0x10",
    "EXIT",
    "BRA `(.L_x_0) 0x60",
)


def test_a_loop_reaches_from_the_target_of_a_jump_back_to_the_jump() -> None:
    assert code(*COPY_LOOP).loops == [range(1, 5)]


@pytest.mark.parametrize(
    "jump", ["@P0 BRA 0x40", "BRA 0x30", "@P0 BRA 0x28", "CALL.REL.NOINC 0x0", "BSSY B0, 0x0", "BRA.DIV UR9, 0x40"]
)
def test_a_jump_forward_to_itself_or_to_no_instruction_makes_no_loop(jump: str) -> None:
    lines = ("MOV R0, RZ", "IADD3 R0, R0, 0x1, RZ", "FADD R4, RZ, R4", jump, "EXIT")
    assert code(*lines).loops == []


@pytest.mark.parametrize(
    "jump", ["BRA 0x10", "@!P0 BRA 0x10", "@P0   BRA 0x10", "BRA.U UP0, 0x10", "@!P0 BRA P1, 0x10"]
)
def test_every_form_of_a_jump_back_makes_a_loop(jump: str) -> None:
    assert code("MOV R0, RZ", "FADD R4, RZ, R4", jump, "EXIT").loops == [range(1, 3)]


NESTED = (
    "LDC R9, c[0x0][0x220]",
    "MOV R0, RZ",
    "FADD R4, R4, R5",
    "IADD3 R0, R0, 0x1, RZ",
    "@P0 BRA 0x20",
    "IADD3 R1, R1, 0x1, RZ",
    "@P1 BRA 0x10",
    "EXIT",
)


def test_the_innermost_loop_around_an_instruction_is_the_smallest() -> None:
    nested = code(*NESTED)
    assert nested.loops == [range(2, 5), range(1, 7)]
    assert nested.innermost_loop(3) == range(2, 5)
    assert nested.innermost_loop(5) == range(1, 7)
    assert nested.innermost_loop(0) is None


def test_a_loop_varies_what_it_writes_but_not_arguments_that_it_fetches_again() -> None:
    loop = code("LDC.64 R6, c[0x0][0x210]", "LDC R8, c[0x3][R9]", "FADD R4, R4, R5", "STS [R5], R4", "@P0 BRA 0x0")
    assert loop.varies_in(range(5)) == {"R4", "R8"}


def test_the_address_of_a_load_is_without_its_descriptor() -> None:
    assert code("LDG.E R4, desc[UR6][R8.64]").address_of(0) == {"R8", "R9"}


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
    assert access_bytes(modifiers) == size
    assert list(load_batches(code(f"LDG.E{modifiers} R4, desc[UR4][R2.64]"))) == [(0, max(size, 4))]


@pytest.mark.parametrize(
    ("opcode", "size"),
    [("STL", 4), ("LDL.U8", 1), ("LDL.LU.S16", 2), ("STL.64", 8), ("LDL.128", 16), ("STG.E.U8", 1), ("LDS.128", 16)],
)
def test_every_access_moves_the_bytes_of_its_width(opcode: str, size: int) -> None:
    assert access_bytes(opcode) == size


def test_a_loop_that_is_unrolled_over_two_turns_has_two_loads_in_flight() -> None:
    lines = [
        "LDG.E R5, desc[UR4][R2.64]",
        "LDG.E R6, desc[UR4][R2.64+0x4]",
        "FADD R7, R5, R6",
        "LDG.E R5, desc[UR4][R2.64+0x8]",
        "FADD R7, R7, R5",
    ]
    assert list(load_batches(code(*lines))) == [(0, 8), (3, 4)]


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
    assert marked(listing.fixed_loads, *address, LOAD) == [len(address)]


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
    assert listing.fixed_loads(code(*address, LOAD))[-1] == 0


@pytest.mark.parametrize(
    ("step", "fixed"),
    [("IADD3 R5, R5, 0x1, RZ", [1]), ("IADD3 R2, P0, R2, 0x4, RZ", []), ("LDC.64 R2, c[0x0][0x210]", [1])],
)
def test_a_loop_that_moves_the_address_reads_more_than_one_place(step: str, fixed: list[int]) -> None:
    assert marked(listing.fixed_loads, "LDC.64 R2, c[0x0][0x210]", LOAD, step, "@P0 BRA 0x10") == fixed


def test_an_outer_loop_that_moves_the_address_reads_more_than_one_place() -> None:
    inner = (LOAD, "FADD R9, R9, R4", "@P0 BRA 0x10")
    assert (
        marked(listing.fixed_loads, "LDC.64 R2, c[0x0][0x210]", *inner, "IADD3 R2, R2, 0x4, RZ", "@P1 BRA 0x10") == []
    )


def test_an_argument_that_is_copied_from_constant_memory_is_one() -> None:
    lines = ("MOV R2, c[0x0][0x160]", "IMAD.MOV.U32 R3, RZ, RZ, c[0x0][0x164]", "LDG.E R4, [R2.64]")
    assert marked(listing.fixed_loads, *lines) == [2]


@pytest.mark.parametrize(
    "store", ["STG.E desc[UR4][R4.64], R23", "@P0 STG.E.64 desc[UR4][R4.64], R22", "ST.E desc[UR4][R4.64], R23"]
)
def test_a_load_from_one_place_in_a_loop_that_stores_is_a_reload(store: str) -> None:
    loop = ("LDC.64 R6, c[0x0][0x210]", "LDG.E R0, desc[UR4][R6.64+0x4]", store, "@P0 BRA 0x0")
    assert marked(listing.reloads, *loop) == [1]


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
    assert marked(listing.reloads, *lines) == []


def test_a_store_after_the_loop_forces_no_reload() -> None:
    assert marked(listing.reloads, LOAD, "FADD R9, R9, R4", "@P0 BRA 0x0", "STG.E desc[UR4][R6.64], R9") == []


def test_a_uniform_load_is_one_that_no_store_forces() -> None:
    reload = ("LDC.64 R2, c[0x0][0x210]", LOAD, "STG.E desc[UR4][R8.64], R4", "@P0 BRA 0x10")
    assert marked(listing.uniform_loads, "LDC.64 R2, c[0x0][0x210]", LOAD, "FADD R9, R9, R4", "@P0 BRA 0x10") == [1]
    assert marked(listing.fixed_loads, *reload) == [1]
    assert marked(listing.uniform_loads, *reload) == []


@pytest.mark.parametrize("load", ["LDG.E R4, desc[UR6][R20.64]", "LDG.E.64 R4, desc[UR6][R20.64+0x8]"])
def test_a_load_of_a_field_takes_part_of_a_structure(load: str) -> None:
    assert marked(listing.structure_loads, "IMAD.WIDE R20, R3, 0x10, R16", load) == [1]
    assert marked(listing.structure_loads, "IMAD.WIDE.U32 R20, R3, 0x40, R16", load) == [1]


@pytest.mark.parametrize(
    "lines",
    [
        ("IMAD.WIDE R20, R3, 0x4, R16", "LDG.E R4, desc[UR6][R20.64]"),
        ("IMAD.WIDE R20, R3, 0x10, R16", "LDG.E.128 R4, desc[UR6][R20.64]"),
        ("IMAD.WIDE R20, R3, 0x8, R16", "LDG.E.64 R4, desc[UR6][R20.64]"),
        ("IMAD.WIDE R20, R3, 0x1000, R16", "LDG.E R4, desc[UR6][R20.64]"),
        ("IMAD.WIDE R20, R3, 0x10, R16", "LDG.E R4, desc[UR6][R22.64]"),
        ("IMAD.WIDE R20, R3, 0x10, R16", "LDC.64 R20, c[0x0][0x210]", "LDG.E R4, desc[UR6][R20.64]"),
        ("IMAD.WIDE R20, R3, 0x10, R16", "LDS R4, [R20]"),
    ],
    ids=["a word", "a whole quad", "a whole pair", "a row", "another address", "overwritten", "shared memory"],
)
def test_a_load_of_whole_elements_takes_no_part(lines: tuple[str, ...]) -> None:
    assert marked(listing.structure_loads, *lines) == []


def hop(to: int, via: int) -> tuple[str, ...]:
    """A load through a register, and the address that its result leads to."""
    return (f"LDG.E R9, desc[UR4][R{via}.64]", f"IMAD.WIDE R{to}, R9, 0x4, R20")


def test_the_third_of_loads_that_wait_for_one_another_is_a_chain() -> None:
    assert marked(listing.chased_loads, *hop(4, 2), *hop(6, 4), *hop(8, 6), *hop(10, 8)) == [4, 6]


def test_an_index_and_what_it_points_to_are_no_chain() -> None:
    assert marked(listing.chased_loads, *hop(4, 2), *hop(6, 4), "STG.E desc[UR4][R6.64], R9") == []


def test_a_register_that_is_overwritten_forgets_the_loads_before() -> None:
    lines = (*hop(4, 2), *hop(6, 4), "MOV R6, R30", "MOV R7, R31", *hop(8, 6))
    assert marked(listing.chased_loads, *lines) == []


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
def test_a_loop_that_walks_where_its_loads_lead_is_a_chain(loop: tuple[str, ...]) -> None:
    assert marked(listing.chased_loads, *loop) == [next(at for at, text in enumerate(loop) if "LDG" in text)]


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
    assert marked(listing.chased_loads, *loop) == []


COUNTS: tuple[Of, ...] = tuple(
    of
    for name, of in vars(listing).items()
    if getattr(of, "__annotations__", {}).get("return") == "Weights" and not name.startswith("_")
)
"""Everything that gives one number per instruction."""


def test_all_counts_are_looked_at() -> None:
    assert {listing.chased_loads, listing.float_coordinates} <= set(COUNTS)


snippets = st.sampled_from(
    [
        *((text,) for text, *_ in PARTS),
        COPY_LOOP[:-1],
        ("LDC.64 R2, c[0x0][0x210]", LOAD),
        ("LDS R3, [R5]", "FADD R4, R3, R2", "STS [R5], R4"),
        *((f"@P0 BRA 0x{target}0",) for target in range(8)),
    ]
)
kernels = st.lists(snippets, max_size=12).map(lambda parts: [line for part in parts for line in part])


@given(kernels)
def test_every_count_has_one_number_for_each_instruction(lines: list[str]) -> None:
    for of in COUNTS:
        found = of(code(*lines))
        assert found.shape == (len(lines),)
        assert np.isfinite(found).all()
        assert (found >= 0).all()


@given(kernels, st.integers(1, 100))
def test_which_registers_a_kernel_uses_does_not_matter(lines: list[str], shift: int) -> None:
    renamed = [
        re.sub(r"\bR(\d+)\b", lambda r: f"R{int(r[1]) + 2 * shift if r[1] != '1' else 1}", line) for line in lines
    ]
    for of in COUNTS:
        assert of(code(*renamed)).tolist() == of(code(*lines)).tolist(), of


@given(kernels, st.integers(1, 1000))
def test_where_a_kernel_lies_does_not_matter(lines: list[str], blocks: int) -> None:
    moved = [re.sub(r"BRA 0x(\w+)", lambda to: f"BRA 0x{int(to[1], 16) + 16 * blocks:x}", line) for line in lines]
    there = Code(tuple(moved), tuple(range(16 * blocks, 16 * (blocks + len(moved)), 16)))
    for of in COUNTS:
        assert of(there).tolist() == of(code(*lines)).tolist(), of


@given(kernels)
def test_every_loop_ends_at_its_own_jump_and_the_smallest_comes_first(lines: list[str]) -> None:
    loops = code(*lines).loops
    assert [len(loop) for loop in loops] == sorted(len(loop) for loop in loops)
    assert all("BRA" in lines[loop[-1]] for loop in loops)


GATHER = (
    "LDG.E R5, desc[UR4][R2.64]",
    "IMAD.WIDE R6, R5, 0x4, R10",
    "IMAD.WIDE R8, R5, 0x4, R12",
    "LDG.E R14, desc[UR4][R6.64]",
    "LDG.E R15, desc[UR4][R8.64]",
)


def test_a_load_through_a_loaded_index_is_a_gather_and_a_second_one_gathers_again() -> None:
    assert marked(listing.gathered_loads, *GATHER) == [3, 4]
    assert marked(listing.gathered_again, *GATHER) == [4]


def test_a_pointer_that_was_loaded_before_a_loop_is_no_index_in_it() -> None:
    row = ("LDG.E R5, desc[UR4][R2.64]", "IMAD.WIDE R6, R5, 0x4, R10")
    loop = ("LDG.E R14, desc[UR4][R6.64]", "IADD3 R6, R6, 0x4, RZ", "@P0 BRA 0x20", "EXIT")
    assert marked(listing.gathered_loads, *row, *loop) == []


LOAD_AT_R6 = ("IMAD.WIDE R6, R6, 0x4, R2", "LDG.E R8, desc[UR4][R6.64]")


@pytest.mark.parametrize("rounds", ["F2I.FLOOR.NTZ R6, R4", "F2I.TRUNC.NTZ R6, R4"])
def test_a_load_at_a_rounded_coordinate_is_one(rounds: str) -> None:
    assert weights(listing.float_coordinates, rounds, *LOAD_AT_R6) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "before",
    [
        ("F2I.TRUNC.NTZ R9, R4",),  # a result that is rounded, as a pixel is
        ("F2I.FTZ.U32.TRUNC.NTZ R6, R4",),  # the reciprocal of an integer division
        ("F2I.TRUNC.NTZ R6, R4", "S2R R6, SR_TID.X"),  # overwritten
    ],
)
def test_a_load_elsewhere_is_none(before: tuple[str, ...]) -> None:
    assert not any(weights(listing.float_coordinates, *before, *LOAD_AT_R6))


def test_doubles_that_are_loaded_are_told_from_those_that_are_computed() -> None:
    code = ("LDG.E.64 R2, desc[UR4][R6.64]", "DADD R4, R2, R8", "F2F.F64.F32 R2, R10", "DMUL R4, R2, R8")
    assert weights(listing.kept_doubles, *code) == [0.0, 1.0, 0.0, 0.0]


def test_doubles_that_are_stored_are_told_from_those_that_are_converted() -> None:
    kept = ("I2F.F64 R2, R10", "DMUL R4, R2, R8", "STG.E.64 desc[UR4][R6.64], R4")
    assert weights(listing.kept_doubles, *kept) == [0.0, 0.0, 1.0]
    converted = ("I2F.F64 R2, R10", "DMUL R4, R2, R8", "F2F.F32.F64 R4, R4", "STG.E desc[UR4][R6.64], R4")
    assert not any(weights(listing.kept_doubles, *converted))
    assert not any(weights(listing.kept_doubles, "MOV R4, R9", "STG.E.64 desc[UR4][R6.64], R4"))


def test_coefficients_of_library_functions_are_no_doubles_of_the_kernel() -> None:
    sine = ("LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22", "LDG.E.128.CONSTANT R4, desc[UR6][R22.64]")
    assert not any(weights(listing.kept_doubles, *sine, "DFMA R6, R6, R4, R8"))
    reloaded = ("LDG.E.64 R22, desc[UR6][R30.64]", "DADD R4, R22, R8")
    assert weights(listing.kept_doubles, *sine, *reloaded) == [0.0, 0.0, 0.0, 0.0, 1.0]


def test_a_global_array_of_doubles_that_may_be_written_is_the_kernels_own() -> None:
    own = ("LDC.64 R22, c[0x4][0x8]", "IMAD.WIDE R22, R3, 0x8, R22", "LDG.E.64 R4, desc[UR6][R22.64]")
    assert weights(listing.kept_doubles, *own, "DADD R6, R4, R8") == [0.0, 0.0, 0.0, 1.0]


def test_a_conversion_of_what_was_loaded_is_told_from_others() -> None:
    loaded = "LDG.E.S16 R4, desc[UR4][R2.64]"
    assert marked(listing.converted_loads, loaded, "I2F.S16 R5, R4") == [1]
    assert marked(listing.converted_loads, loaded, "IADD3 R4, R4, R6, RZ", "I2F R5, R4") == []
    assert marked(listing.converted_loads, loaded, "I2F R5, R4") == [1]
    assert marked(listing.converted_loads, loaded, "I2FP.F32.S32 R5, R4") == []
    assert marked(listing.converted_loads, "I2F R5, R6") == []
