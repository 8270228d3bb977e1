"""Accesses that one wider access could replace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass.listing import Code
from ncuview.sass.splits import saved_by_wider


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
def test_one_access_takes_what_the_lanes_step_over(
    offsets: list[int], kind: str, per_request: float, saved: float
) -> None:
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
def test_others_save_nothing(offsets: list[int], per_request: float, why: str) -> None:
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
