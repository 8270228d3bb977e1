"""Loads that blocks make alike: those whose address does not come from one of the grid's indices.

Where one index of the grid counts results of the same data, sums, filters or channels, each of them loads the data
anew.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from ncuview.sass.axes import Axes, axes_at
from ncuview.sass.control_flow import decided
from ncuview.sass.listing import GLOBAL_LOAD, Code, Weights

Axis = Literal["X", "Y", "Z"]


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
def _axes_of_loads(code: Code) -> list[Axes | None]:
    """For each instruction, if it is a global load, the axes of the indices that its address comes from.

    To them belong those that decide whether it is reached.
    """
    known = axes_at(code)
    branches = [(span, known[place].guard) for place, span in decided(code)]
    return [
        known[place].operands.union(*(axes for span, axes in branches if place in span))
        if GLOBAL_LOAD.match(text)
        else None
        for place, text in enumerate(code.texts)
    ]
