"""Windows of neighbouring lanes, told from machine code."""

from __future__ import annotations

import pytest

from ncuview.sass.lanes import _follow, window_loads
from ncuview.sass.listing import Code, parse

PLACE = ("S2R R3, SR_TID.X", "UMOV UR4, 0x400", "LEA R3, R3, UR4, 0x2")
"""The place of a lane's own float in shared memory."""


def marked(*lines: str) -> list[int]:
    code = Code(lines, tuple(range(0, 16 * len(lines), 16)))
    return [place for place, weight in enumerate(window_loads(code)) if weight]


def row(*offsets: int, opcode: str = "LDS", register: str = "R3") -> list[str]:
    return [f"{opcode} R{20 + at}, [{register}+{offset:#x}]" for at, offset in enumerate(offsets)]


def test_six_floats_side_by_side_are_a_window() -> None:
    assert marked(*PLACE, *row(0, 4, 8, 12, 16, 20)) == [3, 4, 5, 6, 7, 8]


def test_the_order_of_the_loads_does_not_matter() -> None:
    assert marked(*PLACE, *row(0x3C, 0x54, 0x40, 0x50, 0x44, 0x4C, 0x48)) == list(range(3, 10))


def test_five_points_of_a_stencil_are_none() -> None:
    assert marked(*PLACE, *row(0, 4, 8, 12, 16)) == []


def test_floats_that_lie_apart_are_none() -> None:
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
def test_lanes_that_do_not_lie_side_by_side_share_no_window(place: tuple[str, ...]) -> None:
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
def test_the_place_of_a_lane_is_followed(place: tuple[str, ...]) -> None:
    start = len(place) + 1
    found = marked("LDC R9, c[0x0][0x210]", *place, *row(0, 4, 8, 12, 16, 20))
    assert found == list(range(start, start + 6))


def test_a_pair_of_floats_is_one_element() -> None:
    place = ("S2R R3, SR_TID.X", "LEA R3, R3, UR4, 0x3")
    assert marked(*place, *row(*range(0, 48, 8), opcode="LDS.64")) == [2, 3, 4, 5, 6, 7]


def test_a_loop_that_goes_on_by_one_element_walks_through_a_window() -> None:
    assert marked(*PLACE, "LDS R7, [R3]", "IADD3 R3, R3, 0x4, RZ", "@P0 BRA 0x30") == [3]


def test_a_loop_that_leaves_elements_out_does_not() -> None:
    assert marked(*PLACE, "LDS R7, [R3]", "IADD3 R3, R3, 0x400, RZ", "@P0 BRA 0x30") == []


def test_loads_from_global_memory_are_windows_too() -> None:
    place = ("S2R R5, SR_TID.X", "LDC.64 R8, c[0x0][0x220]", "IMAD.WIDE R2, R5, 0x4, R8")
    loads = [f"LDG.E R{20 + at}, desc[UR8][R2.64+{4 * at:#x}]" for at in range(6)]
    assert marked(*place, *loads) == [3, 4, 5, 6, 7, 8]


def test_a_register_that_changes_in_between_is_another_place() -> None:
    moved = "IADD3 R3, R3, 0x100, RZ"
    assert marked(*PLACE, *row(0, 4, 8), moved, *row(0, 4, 8)) == []


def test_what_only_some_lanes_compute_is_not_known() -> None:
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
def test_instructions_as_damaged_code_has_them_tell_nothing(odd: str) -> None:
    assert marked("S2R R3, SR_TID.X", "IMAD.SHL.U32 R3, R3, 0x4, RZ", odd, *row(0, 4, 8, 12, 16, 20)) == []


def test_strides_stay_within_a_register() -> None:
    strides: dict[str, int | None] = {}
    for text, stride in [
        ("S2R R3, SR_TID.X", 1),
        ("IMAD R3, R3, 0x7fffffff, RZ", 0x7FFFFFFF),
        ("IADD3 R3, R3, R3, R3", None),
    ]:
        _follow(text, parse(text), strides)
        assert strides["R3"] == stride
