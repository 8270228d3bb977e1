"""Batches of loads in flight together; more cases are in tests/metrics/test_quantities.py."""

from __future__ import annotations

import pytest

from ncuview.sass.load_batches import load_batches
from tests.sass.counting import code


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
