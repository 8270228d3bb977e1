"""Loops that read the same data again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from ncuview.sass.code import Code
from ncuview.sass.repeated_passes import Place, fusible_pass_loads, repeated_pass_loads

Column = NDArray[np.float64]

_FETCH = {"in": "LDC.64 R2, c[0x0][0x210]", "other": "LDC.64 R2, c[0x0][0x218]"}
_STORE = "STG.E desc[UR4][R6.64], R4"


def _code(*loops: tuple[str, str, int], writes: str = "") -> tuple[Code, Column, list[int]]:
    """One loop for each (argument, load, iterations); it advances its index. ``writes`` names the one that stores."""
    texts: list[str] = []
    executed: list[float] = []
    loads = []
    for number, (argument, load, iterations) in enumerate(loops):
        texts.append(_FETCH[argument])
        executed.append(1)
        start = len(texts)
        loads.append(start + 1)
        body = ["IMAD.WIDE R6, R5, 0x4, R2", load, "IADD3 R5, R5, R9, RZ"]
        body += [_STORE] if writes == str(number) else []
        texts += [*body, f"@!P0 BRA 0x{16 * start:x}"]
        executed += [iterations] * (len(body) + 1)
    texts.append("EXIT")
    executed.append(1)
    return Code(tuple(texts), tuple(16 * at for at in range(len(texts)))), np.array(executed, float), loads


def again(code: Code, executed: Column, lines: Sequence[int] = ()) -> list[int]:
    return np.flatnonzero(repeated_pass_loads(code, executed, places(code, lines))).tolist()


def fusible(code: Code, executed: Column) -> list[int]:
    return np.flatnonzero(fusible_pass_loads(code, executed, places(code))).tolist()


def places(code: Code, lines: Sequence[int] = ()) -> list[Place]:
    """Unknown ones, or these lines of one file."""
    return [("rows.cu", line) for line in lines] or [("", 0)] * len(code.texts)


LOAD = "LDG.E R4, desc[UR4][R6.64]"


def test_the_second_loop_over_an_argument_is_a_repeated_pass() -> None:
    code, executed, loads = _code(("in", LOAD, 8), ("in", LOAD, 8), ("in", LOAD, 8))
    assert again(code, executed) == loads[1:]


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (("other", LOAD, 8), "another argument"),
        (("in", LOAD, 2), "the rest of an unrolled loop"),
        (("in", LOAD, 0), "a loop that is never entered"),
    ],
)
def test_other_loops_are_no_repeated_pass(second: tuple[str, str, int], why: str) -> None:
    code, executed, _ = _code(("in", LOAD, 8), second)
    assert again(code, executed) == [], why


def test_a_remainder_that_runs_instead_of_its_main_loop_is_the_only_pass() -> None:
    code, executed, _ = _code(("in", LOAD, 0), ("in", LOAD, 3))
    assert again(code, executed) == []


def test_launches_of_one_code_are_judged_by_their_own_counts() -> None:
    code, executed, loads = _code(("in", LOAD, 8), ("in", LOAD, 8))
    _, remainder_only, _ = _code(("in", LOAD, 0), ("in", LOAD, 3))
    assert again(code, executed) == loads[1:]
    assert again(code, remainder_only) == []


def test_a_load_from_the_same_place_in_every_iteration_is_no_pass() -> None:
    code, executed, _ = _code(("in", "LDG.E R4, desc[UR4][R2.64]", 8), ("in", "LDG.E R4, desc[UR4][R2.64]", 8))
    assert again(code, executed) == []


def test_a_loop_that_stores_a_result_for_each_element_cannot_join_an_earlier_one() -> None:
    code, executed, loads = _code(("in", LOAD, 8), ("in", LOAD, 8), ("in", LOAD, 8), writes="2")
    assert fusible(code, executed) == loads[1:2]


def test_bytes_count_not_instructions() -> None:
    code, executed, loads = _code(("in", "LDG.E.128 R4, desc[UR4][R6.64]", 2), ("in", LOAD, 8))
    assert again(code, executed) == loads[1:]


def test_what_an_earlier_loop_has_written_is_loaded_again() -> None:
    code, executed, loads = _code(("other", LOAD, 8), ("in", LOAD, 8), ("in", LOAD, 8), writes="0")
    texts = [
        text.replace(_FETCH["other"], _FETCH["in"]).replace(LOAD, "LDG.E R4, desc[UR4][R2.64]") for text in code.texts
    ]
    first = texts.index("LDG.E R4, desc[UR4][R2.64]")
    texts[first + 1 :] = code.texts[first + 1 :]
    assert again(Code(tuple(texts), code.addresses), executed) == loads[1:]


def test_two_loops_of_the_machine_code_are_one_of_the_source() -> None:
    code, executed, loads = _code(("in", LOAD, 8), ("in", LOAD, 8))
    assert again(code, executed, [7] * len(code.texts)) == []
    second = code.texts.index(_FETCH["in"], 1)
    assert again(code, executed, [7 if at < second else 9 for at in range(len(code.texts))]) == loads[1:]
