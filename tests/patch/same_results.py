"""Run a kernel file before and after an edit in the emulation, and require the same results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ncuview.catalogue.kernel_file import Kernel, read_front_matter
from ncuview.catalogue.kernels import Launch, launch_of
from ncuview.patch import Maker
from tests.emulation import ORDERS, Ran, emulated_launch
from tests.patch.building import applied, cubin, made

Sizes = Mapping[str, int]


def kernel_file(
    body: str, *, grid: str, args: Iterable[str], sizes: Sizes, block: str = '"64"', shared: str = ""
) -> str:
    """A kernel file with front matter: ``args`` are ``name: kind``, ``body`` is the kernel ``k`` and what it calls."""
    named = [each.split(": ", 1) for each in args]
    listed = "".join(f'\n[[args]]\nname = "{name}"\nkind = "{kind}"\n' for name, kind in named)
    lines = "".join(f"{name} = {value}\n" for name, value in sizes.items())
    dynamic = f'shared = "{shared}"\n' if shared else ""
    head = (
        f'schema = 1\nname = "k"\n\n[sizes]\n{lines}\n[launch]\ngrid = [{grid}]\nblock = [{block}]\n{dynamic}{listed}'
    )
    return f"/*--- ncuview\n{head}---*/\n{body}"


def edited_alike(
    source: str, maker: Maker, sizes: Iterable[Sizes], folder: Path, *, kernel: str = "k", tolerance: float = 0
) -> str:
    """Edit a kernel file, compile it, and require the original's results at these sizes, in every order.

    Returns:
        The edited file.
    """
    edited = applied(source, made(source, maker, kernel=kernel), folder / "after", f"{kernel}.cu")
    (folder / "before").mkdir(exist_ok=True)
    (folder / "before" / f"{kernel}.cu").write_text(source, encoding="utf-8")
    cubin(edited, folder / "compiled")
    for each in sizes:
        before = _run(folder / "before" / f"{kernel}.cu", each, "forward")
        assert not before.faults, f"{each}: the original has {before.faults}"
        for order in ORDERS:
            after = _run(folder / "after" / f"{kernel}.cu", each, order)
            assert not after.faults, f"{each} {order}: {after.faults}\n{edited}"
            for number, (one, other) in enumerate(zip(before.arrays, after.arrays, strict=True)):
                same = one.tobytes() == other.tobytes()
                close = tolerance > 0 and np.allclose(one, other, rtol=tolerance, atol=tolerance)
                assert same or close, f"{each} {order}: argument {number} differs\n{edited}"
    return edited


def _run(path: Path, sizes: Sizes, order: str) -> Ran:
    text = read_front_matter(path)
    launch = launch_of(Kernel(path, text, text.name, path.parent), {**text.sizes, **sizes})
    assert np.prod(launch.grid) > 0
    return emulated_launch(launch, order=order)


def without_variants(source: str) -> str:
    """A catalogue file's text without what only the catalogue knows, as a user's kernel file."""
    return re.sub(r"^\[\[variant\]\].*?(?=^---\*/)", "", source, flags=re.DOTALL | re.MULTILINE)


def launched_at(source: str, sizes: Sizes, folder: Path) -> Launch:
    """The launch of a kernel file's text at these sizes."""
    path = folder / "launched.cu"
    path.write_text(source, encoding="utf-8")
    text = read_front_matter(path)
    return launch_of(Kernel(path, text, text.name, path.parent), {**text.sizes, **sizes})
