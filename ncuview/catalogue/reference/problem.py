"""``Problem``, the argument of every oracle: a kernel's input arrays, output shape and dtype, and sizes.

``POISON`` is the word that the host fills outputs with before a launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

POISON = np.uint32(0xFFFFFFFF)
"""The word that the host fills outputs with before a launch: a NaN as float32, the largest number as uint32."""


@dataclass(frozen=True)
class Problem:
    """A kernel's inputs, and the form of its output.

    Attributes:
        inputs: The input arrays, constants and textures, in the order of the arguments.
        shape: The output's shape.
        dtype: The type of the output's elements.
        sizes: The kernel file's sizes.
    """

    inputs: tuple[Array, ...]
    shape: tuple[int, ...]
    dtype: str
    sizes: Mapping[str, int]

    @property
    def given(self) -> Array:
        """The first input; empty when the kernel takes none."""
        return self.inputs[0] if self.inputs else np.empty(0, np.uint32)
