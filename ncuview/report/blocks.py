"""Loads that blocks make alike: those whose address does not come from one of the grid's indices.

Where one index of the grid counts results of the same data, sums, filters or channels, each of them loads the data
anew.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import numpy as np

from ncuview.report.data_flow import guard_of, reads_of, results_of
from ncuview.report.sass import GLOBAL_LOAD, Code, Weights

Axis = Literal["X", "Y", "Z"]

_INDEX = re.compile(r"SR_(?:CTAID|TID)\.(?P<axis>[XYZ])")
_LANE = "SR_LANEID"
_OF_OTHERS = ("LDS", "LDL", "ATOM", "SHFL", "TEX", "TLD", "SULD")
"""What they bring may come from any thread."""
_ANY = frozenset("XYZ")
_PASSES = 3
"""Over the code: one for each loop around the load, and one more; deeper nests are left with what is known by then."""


def alike_in_x(code: Code) -> Weights:
    """1 at each global load that is the same for all x: its address comes from neither blockIdx.x nor threadIdx.x."""
    return _alike(code, "X")


def alike_in_y(code: Code) -> Weights:
    """As ``alike_in_x``, for y."""
    return _alike(code, "Y")


def alike_in_z(code: Code) -> Weights:
    """As ``alike_in_x``, for z."""
    return _alike(code, "Z")


def _alike(code: Code, axis: Axis) -> Weights:
    return np.array([axes is not None and axis not in axes for axes in _axes_of_loads(code)], dtype=np.float64)


@lru_cache(maxsize=1 << 12)
def _axes_of_loads(code: Code) -> list[frozenset[str] | None]:
    """For each instruction, if it is a global load, the axes of the indices that its address comes from.

    To them belong those that decide whether it is reached.
    """
    known: list[frozenset[str]] = []
    turned: dict[int, dict[str, frozenset[str]]] = {}
    for _ in range(_PASSES):
        known = _axes_at(code, turned)
    branches = [(span, axes) for place, axes in enumerate(known) for span in code.decided_by(place)]
    return [
        known[place].union(*(axes for span, axes in branches if place in span)) if GLOBAL_LOAD.match(text) else None
        for place, text in enumerate(code.texts)
    ]


def _axes_at(code: Code, turned: dict[int, dict[str, frozenset[str]]]) -> list[frozenset[str]]:
    """For each instruction the axes of the indices that it works on; for a load, those of its address.

    Args:
        code: The kernel's instructions.
        turned: What registers hold where a loop turns, by its start, from the pass before; this pass puts in its own.
    """
    axes: dict[str, frozenset[str]] = {}
    turns = {loop[-1]: loop.start for loop in code.loops}
    known = []
    for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
        for register, before in turned.get(position, {}).items():
            axes[register] = before | axes.get(register, frozenset())
        behind = _together(axes, reads_of(text, each)) | _given(text, each.opcode)
        known.append(_together(axes, code.address_of(position)) if GLOBAL_LOAD.match(text) else behind)
        for result in results_of(each):
            axes[result] = behind | axes.get(result, frozenset()) if guard_of(text) else behind
        if position in turns:
            turned[turns[position]] = dict(axes)
    return known


def _together(axes: dict[str, frozenset[str]], registers: frozenset[str]) -> frozenset[str]:
    return frozenset[str]().union(*(axes.get(register, frozenset()) for register in registers))


def _given(text: str, opcode: str) -> frozenset[str]:
    """The axes that an instruction brings in by itself."""
    if opcode.startswith(_OF_OTHERS):
        return _ANY
    index = _INDEX.search(text)
    if index:
        return frozenset(index["axis"])
    return frozenset("X") if _LANE in text else frozenset()
