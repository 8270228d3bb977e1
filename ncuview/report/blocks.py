"""Loads that blocks make alike: those whose address does not come from one of the grid's indices.

Where one index of the grid counts results of the same data, sums, filters or channels, each of them loads the data
anew.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import numpy as np

from ncuview.report.sass import GLOBAL_LOAD, Code, Weights

Axis = Literal["X", "Y", "Z"]

_INDEX = re.compile(r"SR_(?:CTAID|TID)\.(?P<axis>[XYZ])")
_LANE = "SR_LANEID"
_OF_OTHERS = ("LDS", "LDSM", "LDL", "ATOM", "ATOMS", "SHFL", "TEX", "TLD", "SULD")
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

    What a loop has changed when it turns is known from the pass before.
    """
    found: list[frozenset[str] | None] = []
    turned: dict[int, dict[str, frozenset[str]]] = {}
    turns = {loop[-1]: loop.start for loop in code.loops}
    for _ in range(_PASSES):
        axes: dict[str, frozenset[str]] = {}
        found = []
        for position, (text, each) in enumerate(zip(code.texts, code.instructions, strict=True)):
            for register, before in turned.get(position, {}).items():
                axes[register] = before | axes.get(register, frozenset())
            is_load = GLOBAL_LOAD.match(text) is not None
            found.append(_together(axes, code.address_of(position)) if is_load else None)
            behind = _together(axes, each.reads) | _given(text, each.opcode)
            for register in each.writes:
                axes[register] = behind | axes.get(register, frozenset()) if text.startswith("@") else behind
            if position in turns:
                turned[turns[position]] = dict(axes)
    return found


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
