"""Make a structural edit, apply it by git, and compare what the kernels before and after it compute."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.patch import Maker
from tests.emulation import ORDERS, Array, Extent, emulated
from tests.patch.building import applied, cubin, made

if TYPE_CHECKING:
    import numpy as np


SOME_ORDERS = ("shuffled",)
"""For further sizes, where all orders would take long."""


def edited(source: str, maker: Maker, folder: Path, *, kernel: str = "k") -> str:
    """The source after the edit, by `git apply`."""
    return applied(source, made(source, maker, kernel=kernel), folder)


def same(
    source: str,
    after: str,
    arguments: Sequence[Array | np.generic],
    grid: Extent,
    block: Extent,
    *,
    kernel: str = "k",
    grid_after: Extent | None = None,
    orders: Iterable[str] = ORDERS,
) -> None:
    """Both kernels give the same bytes without faults, in these orders of threads."""
    before = emulated(_device(source), kernel, arguments, grid, block)
    assert not before.faults
    for order in orders:
        result = emulated(_device(after), kernel, arguments, grid_after or grid, block, order=order)
        assert not result.faults, (result.faults, after)
        for one, other in zip(before.arrays, result.arrays, strict=True):
            assert one.tobytes() == other.tobytes(), after


def compiles_together(sources: Sequence[str], folder: Path) -> None:
    """nvcc compiles the kernels, in one file of namespaces."""
    parts = [f"namespace n{at} {{\n{_device(source)}\n}}\n" for at, source in enumerate(sources)]
    undefined = [f"#undef {name}\n" for part in parts for name in re.findall(r"#define (\w+)", part)]
    cubin("".join(part + "".join(undefined) for part in parts), folder)


def _device(source: str) -> str:
    """The source without the host's code, which is not emulated."""
    return source.partition("int main(")[0]
