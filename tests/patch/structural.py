"""Make a structural edit, apply it by git, and compare what the kernels before and after it compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.patch.patch import Change, Edit, Refused
from ncuview.patch.program import Kernel, Program
from tests.emulation import ORDERS, Array, Extent, emulated
from tests.patch.building import applied, cubin

if TYPE_CHECKING:
    import numpy as np

Maker = Callable[[Kernel, Sequence[int]], Change]


def made(source: str, maker: Maker, folder: Path, *, kernel: str = "k", path: str = "a.cu") -> str:
    """The source after the edit, by `git apply`."""
    program = Program.read(source, path)
    change = maker(program.kernel(kernel), [])
    assert not change.reorders
    return applied(source, Edit(change.title, change.assumes, program.data, change.replacements), folder, path)


def refused(source: str, maker: Maker, *, kernel: str = "k", path: str = "a.cu") -> str:
    """The reason why there is no edit; there must be one."""
    try:
        change = maker(Program.read(source, path).kernel(kernel), [])
    except Refused as found:
        return str(found)
    raise AssertionError(f"not refused: {change}")


def same(
    source: str,
    after: str,
    arguments: Sequence[Array | np.generic],
    grid: Extent,
    block: Extent,
    *,
    kernel: str = "k",
    grid_after: Extent | None = None,
) -> None:
    """Both kernels give the same bytes without faults, in every order of threads."""
    before = emulated(_device(source), kernel, arguments, grid, block)
    assert not before.faults
    for order in ORDERS:
        edited = emulated(_device(after), kernel, arguments, grid_after or grid, block, order=order)
        assert not edited.faults, (edited.faults, after)
        for one, other in zip(before.arrays, edited.arrays, strict=True):
            assert one.tobytes() == other.tobytes(), after


def compiles_together(sources: Sequence[str], folder: Path) -> None:
    """nvcc compiles the kernels, in one file of namespaces."""
    parts = [f"namespace n{at} {{\n{_device(source)}\n}}\n" for at, source in enumerate(sources)]
    undefined = [f"#undef {name}\n" for part in parts for name in re.findall(r"#define (\w+)", part)]
    cubin("".join(part + "".join(undefined) for part in parts), folder)


def _device(source: str) -> str:
    """The source without the host's code, which is not emulated."""
    return source.partition("int main(")[0]
