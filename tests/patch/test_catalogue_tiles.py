"""Structural edits of the catalogue's own kernels give the same results at several sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.catalogue.kernels import find_kernel
from ncuview.patch import Maker
from ncuview.patch.product_tiles import product_tiles
from ncuview.patch.register_tiles import register_tiles
from ncuview.patch.tile_transposed import tile_transposed
from tests.emulation import needs_gpp
from tests.patch.same_results import Sizes, edited_alike, without_variants

pytest.importorskip("islpy")


@needs_gpp
@pytest.mark.parametrize(
    ("name", "maker", "sizes"),
    [
        ("transposeNaive", tile_transposed, [{"n": 32}, {"n": 96}]),
        ("mtran", tile_transposed, [{"n": 32}, {"n": 96}]),
        ("matrixTranspose", tile_transposed, [{"sizeX": 32, "sizeY": 48}]),
        ("transformNaiveRow", tile_transposed, [{"nx": 64, "ny": 48}]),
        ("transpose_parallel_per_element", tile_transposed, [{"n": 64}]),
        ("mmul", product_tiles, [{"n": 128}]),
        ("mmul", register_tiles, [{"n": 128}]),
        ("mmul_1x128", product_tiles, [{"n": 128}]),
        ("mmul_1x128", register_tiles, [{"n": 128}]),
    ],
)
def test_the_results_are_the_same(name: str, maker: Maker, sizes: list[Sizes], tmp_path: Path) -> None:
    source = without_variants(find_kernel(name).path.read_text(encoding="utf-8"))
    edited_alike(source, maker, sizes, tmp_path, kernel=name)
