"""Strides of addresses, consecutive accesses, windows of neighbouring lanes, and fields of structures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass.address import (
    bank_conflict,
    is_executed_uniformly,
    iteration_stride,
    lane_stride,
    one_address_atomics,
    saved_by_wider,
    structure_loads,
    window_loads,
)
from ncuview.sass.cfg import innermost_loop
from ncuview.sass.code import Code
from tests.sass.program import program, where

PLACE = ("S2R R3, SR_TID.X", "UMOV UR4, 0x400", "LEA R3, R3, UR4, 0x2")
"""The place of a lane's own float in shared memory."""


def marked(*lines: str) -> list[int]:
    code = Code(lines, tuple(range(0, 16 * len(lines), 16)))
    return [place for place, weight in enumerate(window_loads(code)) if weight]


def row(*offsets: int, opcode: str = "LDS", register: str = "R3") -> list[str]:
    return [f"{opcode} R{20 + at}, [{register}+{offset:#x}]" for at, offset in enumerate(offsets)]


def test_six_adjacent_floats_are_a_window() -> None:
    assert marked(*PLACE, *row(0, 4, 8, 12, 16, 20)) == [3, 4, 5, 6, 7, 8]


def test_the_order_of_the_loads_does_not_matter() -> None:
    assert marked(*PLACE, *row(0x3C, 0x54, 0x40, 0x50, 0x44, 0x4C, 0x48)) == list(range(3, 10))


def test_five_points_of_a_stencil_are_no_window() -> None:
    assert marked(*PLACE, *row(0, 4, 8, 12, 16)) == []


def test_floats_that_are_not_adjacent_are_no_window() -> None:
    assert marked(*PLACE, *row(0, 8, 16, 24, 32, 40, 48)) == []


@pytest.mark.parametrize(
    "place",
    [
        ("S2R R3, SR_TID.Y", "LEA R3, R3, UR4, 0x2"),
        ("S2R R3, SR_TID.X", "LEA R3, R3, UR4, 0x4"),
        ("S2R R3, SR_TID.X", "SHF.R.U32.HI R3, RZ, 0x4, R3", "LEA R3, R3, UR4, 0x2"),
        ("S2R R3, SR_TID.X", "IMAD R3, R3, R7, RZ", "LEA R3, R3, UR4, 0x2"),
        ("LDS R3, [R9]",),
    ],
    ids=["the same for all lanes", "four elements per lane", "a sixteenth of the lanes", "rows", "loaded"],
)
def test_lanes_that_are_not_adjacent_share_no_window(place: tuple[str, ...]) -> None:
    assert marked(*place, *row(0, 4, 8, 12, 16, 20)) == []


@pytest.mark.parametrize(
    "place",
    [
        ("S2R R5, SR_TID.X", "IMAD R3, R9, 0x100, R5", "IMAD.SHL.U32 R3, R3, 0x4, RZ"),
        ("S2R R5, SR_TID.X", "S2R R9, SR_CTAID.X", "LEA R5, R9, R5, 0x8", "IMAD.SHL.U32 R3, R5, 0x4, RZ"),
        ("S2R R5, SR_TID.X", "LDC.64 R8, c[0x0][0x220]", "IMAD.WIDE R2, R5, 0x4, R8", "MOV R3, R2"),
        ("S2R R5, SR_TID.X", "VIADD R5, R5, 0xffffffee", "SHF.L.U32 R3, R5, 0x2, RZ"),
        ("S2R R5, SR_TID.X", "LDC R7, c[0x0][0x210]", "IADD3 R5, R7, -R5, RZ", "IMAD R3, R5, -0x4, RZ"),
    ],
)
def test_the_offset_of_a_lane_is_found(place: tuple[str, ...]) -> None:
    start = len(place) + 1
    found = marked("LDC R9, c[0x0][0x210]", *place, *row(0, 4, 8, 12, 16, 20))
    assert found == list(range(start, start + 6))


def test_a_pair_of_floats_is_one_element() -> None:
    place = ("S2R R3, SR_TID.X", "LEA R3, R3, UR4, 0x3")
    assert marked(*place, *row(*range(0, 48, 8), opcode="LDS.64")) == [2, 3, 4, 5, 6, 7]


def test_a_loop_that_advances_by_one_element_has_a_window() -> None:
    assert marked(*PLACE, "LDS R7, [R3]", "IADD3 R3, R3, 0x4, RZ", "@P0 BRA 0x30") == [3]


def test_a_loop_that_skips_elements_has_no_window() -> None:
    assert marked(*PLACE, "LDS R7, [R3]", "IADD3 R3, R3, 0x400, RZ", "@P0 BRA 0x30") == []


def test_loads_from_global_memory_are_windows_too() -> None:
    place = ("S2R R5, SR_TID.X", "LDC.64 R8, c[0x0][0x220]", "IMAD.WIDE R2, R5, 0x4, R8")
    loads = [f"LDG.E R{20 + at}, desc[UR8][R2.64+{4 * at:#x}]" for at in range(6)]
    assert marked(*place, *loads) == [3, 4, 5, 6, 7, 8]


def test_a_register_that_changes_in_between_is_another_address_for_a_window() -> None:
    moved = "IADD3 R3, R3, 0x100, RZ"
    assert marked(*PLACE, *row(0, 4, 8), moved, *row(0, 4, 8)) == []


def test_values_that_only_some_lanes_compute_are_unknown() -> None:
    assert marked(*PLACE, "@P0 IMAD R3, R3, 0x4, RZ", *row(0, 4, 8, 12, 16, 20)) == []


@pytest.mark.parametrize(
    "odd",
    [
        "MOV R3",
        "LEA R3, R3",
        "LEA R3, R3, UR4, 0xffffffff",
        "SHF.L.U32 R3, R3, 0x40, RZ",
        "IMAD R3, R3",
        "IADD3 R3",
        "VIADD R3, R3, 010",
    ],
)
def test_damaged_instructions_have_no_stride(odd: str) -> None:
    assert marked("S2R R3, SR_TID.X", "IMAD.SHL.U32 R3, R3, 0x4, RZ", odd, *row(0, 4, 8, 12, 16, 20)) == []


@pytest.mark.parametrize(
    ("lines", "stride"),
    [
        (("LEA R4, R3, R9, 0x2",), 4),
        (("IMAD R4, R3, -0x8, RZ",), -8),
        (("IMAD R4, R3, 0xfffffffc, R9",), -4),
        (("MOV R5, 0x10", "IMAD R4, R3, R5, RZ"), 16),
        (("IMAD R4, R3, R9, RZ",), None),
        (("LOP3.LUT R4, R3, 0x1f, RZ, 0xc0, !PT",), None),
        (("IMAD R4, R3, 0x7fffffff, RZ", "IADD3 R4, R4, R4, R4"), 0x7FFFFFFD),
        (("S2R R5, SR_CTAID.X", "IMAD R4, R5, UR5, R3", "SHF.L.U32 R4, R4, 0x3, RZ"), 8),
        (("ISETP.GT.AND P0, PT, R3, 0x4, PT", "SEL R4, R9, RZ, P0"), None),
        (("ISETP.GT.AND P0, PT, R9, 0x4, PT", "SEL R4, R9, RZ, P0"), 0),
        (("SHFL.IDX PT, R4, R3, RZ, 0x1f",), None),
        (("LDS R4, [R9]",), None),
        (("MOV R4, R77",), None),
    ],
)
def test_strides_from_lane_to_lane(lines: tuple[str, ...], stride: int | None) -> None:
    before = ("S2R R3, SR_TID.X", "LDC R9, c[0x0][0x210]", "ULDC UR5, c[0x0][0x0]")
    code = program("\n".join((*before, *lines, "STS [R4], R9")))
    assert lane_stride(code, len(code) - 1) == stride


def test_uniform_registers_and_scales_are_part_of_an_address() -> None:
    code = program("S2R R3, SR_TID.X\nUMOV UR4, 0x400\nLDS R5, [R3.X4+UR4+0x10]")
    assert lane_stride(code, 2) == 4


def test_the_stride_of_a_wide_product_is_that_of_its_lower_half() -> None:
    code = program("S2R R5, SR_TID.X\nLDC.64 R8, c[0x0][0x220]\nIMAD.WIDE R2, R5, 0x4, R8\nSTS [R3], R8\nSTS [R2], R8")
    assert (lane_stride(code, 3), lane_stride(code, 4)) == (None, 4)


def test_strides_follow_jumps_not_the_order_of_the_code() -> None:
    code = program("""
        S2R R3, SR_TID.X
        BRA {scales}
        loads:
        LDS R5, [R3]
        EXIT
        scales:
        SHF.L.U32 R3, R3, 0x2, RZ
        BRA {loads}
    """)
    assert lane_stride(code, where(code, "LDS")) == 4


def test_where_paths_meet_only_a_common_stride_is_known() -> None:
    text = "S2R R3, SR_TID.X\n@P0 BRA {{one}}\n{}\nBRA {{join}}\none:\n{}\njoin:\nLDS R5, [R4]"
    for other, stride in (("IMAD R4, R3, 0x4, RZ", None), ("IADD3 R4, R3, 0x20, RZ", 1)):
        code = program(text.format(other, "IADD3 R4, R3, 0x10, RZ"))
        assert lane_stride(code, where(code, "LDS")) == stride


@pytest.mark.parametrize(
    ("stride", "size", "ways"),
    [
        (4, 4, 1),
        (0, 4, 1),
        (1, 1, 1),
        (8, 4, 2),
        (64, 4, 16),
        (128, 4, 32),
        (-128, 4, 32),
        (132, 4, 1),
        (144, 4, 4),
        (8, 8, 1),
        (16, 8, 2),
        (16, 16, 1),
        (32, 16, 2),
        (128, 16, 8),
        (64, 1, 16),
    ],
)
def test_the_degree_of_a_bank_conflict(stride: int, size: int, ways: int) -> None:
    assert bank_conflict(stride, size) == ways


def test_an_access_is_uniform_where_no_thread_index_decides_about_it() -> None:
    code = program("""
        S2R R3, SR_TID.X
        LDS R4, [R3]
        ISETP.GT.AND P0, PT, R3, 0x4, PT
        @P0 LDS R5, [R3]
        @P0 BRA {end}
        LDS R6, [R3]
        end:
        LDS R7, [R3]
    """)
    assert [is_executed_uniformly(code, where(code, f"LDS R{number},")) for number in (4, 5, 6, 7)] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("step", "stride"),
    [
        ("IADD3 R3, R3, 0x10, RZ", 16),
        ("VIADD R3, R3, 0xfffffff0", -16),
        ("IADD3 R9, P1, R3, 0x8, RZ\nMOV R3, R9", 8),
        ("IADD3 R3, R3, 0x4, RZ\nVIADD R3, R3, 0x4", 8),
        ("LDC R3, c[0x0][0x210]", None),
        ("NOP", 0),
        ("@P1 IADD3 R3, R3, 0x10, RZ", None),
        ("@P1 BRA {end}\nIADD3 R3, R3, 0x10, RZ\nend:", None),
        ("IADD3 R3, R3, R3, RZ", None),
        ("SHF.L.U32 R3, R3, 0x1, RZ", None),
    ],
)
def test_bytes_that_an_address_advances_by_in_an_iteration(step: str, stride: int | None) -> None:
    code = program(f"MOV R3, RZ\nloop:\nLDS R5, [R3]\n{step}\n@P0 BRA {{loop}}\nEXIT")
    loop = innermost_loop(code, 1)
    assert loop is not None
    assert iteration_stride(code, loop, 1) == stride


def _code(*texts: str) -> Code:
    return Code(texts, tuple(16 * at for at in range(len(texts))))


def _loads(offsets: list[int], kind: str = "LDG.E") -> Code:
    return _code(
        *(
            f"{kind} R{20 + at}, desc[UR4][R2.64{f'+0x{offset:x}' if offset else ''}]"
            for at, offset in enumerate(offsets)
        )
    )


def _saved(code: Code, per_request: float) -> list[float]:
    executed = np.full(len(code.texts), 100.0)
    return [float(each) for each in saved_by_wider(code, executed, per_request * executed)]


@pytest.mark.parametrize(
    ("offsets", "kind", "per_request", "saved"),
    [
        ([0, 4, 8, 12], "LDG.E", 16, 0.75),
        ([0, 4], "LDG.E", 8, 0.5),
        ([0, 1, 2, 3], "LDG.E.U8", 4, 0.75),
        ([0, 8, 16, 24], "LDG.E.64", 32, 0.5),
        ([2 * at for at in range(8)], "LDG.E.U16.CONSTANT", 16, 0.875),
    ],
)
def test_one_wide_access_replaces_strided_ones(offsets: list[int], kind: str, per_request: float, saved: float) -> None:
    assert _saved(_loads(offsets, kind), per_request) == [saved] * len(offsets)


@pytest.mark.parametrize(
    ("offsets", "per_request", "why"),
    [
        ([0], 4, "a single load"),
        ([0, 4, 8], 12, "three numbers are no power of two"),
        ([0, 4, 8, 12], 32, "rows of their own"),
        ([0, 4, 8, 12], 4, "adjacent lanes: an unrolled loop over rows"),
        ([0, 8, 16, 24], 16, "gaps between them"),
        ([0, 16, 32, 48], 16, "steps of a loop"),
    ],
)
def test_other_accesses_save_nothing(offsets: list[int], per_request: float, why: str) -> None:
    assert not any(_saved(_loads(offsets), per_request)), why


def test_a_register_that_changes_in_between_is_another_address() -> None:
    code = _code("LDG.E R20, desc[UR4][R2.64]", "IADD3 R2, R2, R5, RZ", "LDG.E R21, desc[UR4][R2.64+0x4]")
    assert not any(_saved(code, 8))


def test_stores_count_and_do_not_mix_with_loads() -> None:
    code = _code("LDG.E R20, desc[UR4][R2.64]", "STG.E desc[UR4][R2.64+0x4], R20", "STG.E desc[UR4][R2.64+0x8], R21")
    assert _saved(code, 8) == [0.0, 0.5, 0.5]


@given(st.lists(st.integers(0, 64), min_size=1, max_size=12, unique=True), st.floats(0.1, 40))
def test_never_more_than_all_but_one_is_saved(offsets: list[int], per_request: float) -> None:
    saved = _saved(_loads([4 * offset for offset in offsets]), per_request)
    assert all(0 <= each < 1 for each in saved)
    assert sum(saved) <= len(saved) - 1


def test_a_pointer_that_runs_through_a_loop_is_one_base_in_all_its_blocks() -> None:
    code = program("""
        MOV R2, R10
        loop:
        LDG.E R20, desc[UR4][R2.64]
        @P1 BRA {skip}
        FADD R9, R9, R20
        skip:
        LDG.E R21, desc[UR4][R2.64+0x4]
        IADD3 R2, P2, R2, 0x100, RZ
        @P0 BRA {loop}
        LDG.E R22, desc[UR4][R2.64+0x8]
    """)
    assert np.flatnonzero(_saved(code, 8)).tolist() == [1, 4]


@pytest.mark.parametrize("moves", ["@P1 IADD3 R2, R2, R5, RZ", "@P1 BRA {next}\nIADD3 R2, R2, R5, RZ\nnext:"])
def test_a_register_that_only_some_change_in_between_is_another_address(moves: str) -> None:
    loads = f"LDG.E R20, desc[UR4][R2.64]\n{moves}\nLDG.E R21, desc[UR4][R2.64+0x4]"
    assert not any(_saved(program(f"MOV R2, R10\nloop:\n{loads}\n@P0 BRA {{loop}}"), 8))


def test_a_descriptor_that_is_fetched_again_is_no_other_address() -> None:
    code = _code("LDG.E R20, desc[UR4][R2.64]", "ULDC.64 UR6, c[0x0][0x208]", "LDG.E R21, desc[UR6][R2.64+0x4]")
    assert _saved(code, 8) == [0.5, 0, 0.5]


def _fields(*lines: str) -> list[int]:
    return np.flatnonzero(structure_loads(_code(*lines))).tolist()


@pytest.mark.parametrize("load", ["LDG.E R4, desc[UR6][R20.64]", "LDG.E.64 R4, desc[UR6][R20.64+0x8]"])
def test_a_load_of_a_field_is_a_structure_load(load: str) -> None:
    assert _fields("IMAD.WIDE R20, R3, 0x10, R16", load) == [1]
    assert _fields("IMAD.WIDE.U32 R20, R3, 0x40, R16", load) == [1]


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
    ids=["a word", "a complete quad", "a complete pair", "a row", "another address", "overwritten", "shared memory"],
)
def test_a_load_of_complete_elements_is_no_structure_load(lines: tuple[str, ...]) -> None:
    assert _fields(*lines) == []


def test_each_path_to_a_load_may_scale_its_index() -> None:
    code = program("""
        @P0 BRA {other}
        IMAD.WIDE R20, R3, 0x10, R16
        BRA {join}
        other:
        LDC.64 R20, c[0x0][0x210]
        join:
        LDG.E R4, desc[UR6][R20.64]
    """)
    assert np.flatnonzero(structure_loads(code)).tolist() == [where(code, "LDG")]


def of_one_address(*lines: str) -> list[int]:
    code = Code(lines, tuple(range(0, 16 * len(lines), 16)))
    return [place for place, weight in enumerate(one_address_atomics(code)) if weight]


@pytest.mark.parametrize(
    "address",
    [
        ("LDC.64 R2, c[0x0][0x210]",),
        ("S2R R7, SR_CTAID.X", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R7, 0x4, R2"),
    ],
    ids=["of an argument", "of the block"],
)
def test_atomics_of_all_threads_of_a_block_at_one_address(address: tuple[str, ...]) -> None:
    assert of_one_address(*address, "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R9") == [len(address)]


@pytest.mark.parametrize(
    "address",
    [
        ("S2R R7, SR_TID.X", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R7, 0x4, R2"),
        ("S2R R7, SR_TID.Y", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R7, 0x4, R2"),
        ("S2R R7, SR_TID.X", "SHF.R.U32.HI R7, RZ, 0x5, R7", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R7, 0x4, R2"),
        ("S2R R8, SR_TID.X", "LDG.E R7, desc[UR4][R8.64]", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R7, 0x4, R2"),
        ("LDS R7, [R8]", "LDC.64 R2, c[0x0][0x210]", "IMAD.WIDE R2, R7, 0x4, R2"),
    ],
    ids=["of the thread", "of its row", "of its warp", "loaded by each thread", "shared"],
)
def test_atomics_at_other_addresses(address: tuple[str, ...]) -> None:
    assert of_one_address(*address, "REDG.E.ADD.STRONG.GPU desc[UR4][R2.64], R9") == []
