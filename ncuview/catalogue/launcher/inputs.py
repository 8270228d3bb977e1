"""The numbers of a kernel's input arrays, the same in every run: ``input_of`` an argument -> ``seeded`` array.

Nothing here needs a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ncuview.catalogue.reference import POISON, Array

SEED = 20180604
_KEPT = 8
"""Arrays kept for the next launches; each is up to a few hundred megabytes."""

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Input:
    """The description of an input array's numbers; equal descriptions give equal numbers.

    Attributes:
        shape: The array's shape.
        dtype: The type of its elements.
        below: They are integers from 0 to below this; when it is 0, random in [0, 1), or integers of any size.
        stream: Its position among the inputs, so that two inputs differ.
    """

    shape: Shape
    dtype: str
    below: int
    stream: int


def input_of(argument: Mapping[str, Any], stream: int) -> Input:
    """The input that an argument of the job describes."""
    return Input(tuple(argument["shape"]), argument["dtype"], argument["below"], stream)


@lru_cache(maxsize=_KEPT)
def seeded(described: Input) -> Array:
    """The same numbers in every run, so that counters of data-dependent kernels repeat."""
    random = np.random.default_rng(SEED + described.stream)
    dtype = np.dtype(described.dtype)
    if described.below:
        return random.integers(0, described.below, described.shape, dtype=np.uint32).astype(dtype)
    if dtype.kind in "ui":
        bounds = np.iinfo(dtype)
        return random.integers(bounds.min, int(bounds.max) + 1, described.shape, dtype=dtype)
    return random.random(described.shape, dtype=max(dtype, np.dtype(np.float32)).type).astype(dtype, copy=False)


def words_of(shape: Shape, dtype: str) -> int:
    """How many words of 32 bits hold an output."""
    return -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // POISON.itemsize)
