"""``Problem``, the argument of every oracle: a kernel's input arrays, output shape and dtype, and sizes.

Also ``POISON``, the word that the host fills outputs with before a launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

POISON = np.uint32(0xFFFFFFFF)
"""What the host fills outputs with before a launch: a NaN as float32, the largest number as uint32."""


@dataclass(frozen=True)
class Problem:
    """What a kernel was given, and what it must return.

    Attributes:
        inputs: The input arrays, constants and textures, in the order of the arguments.
        shape: Of the output.
        dtype: Of the output.
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
