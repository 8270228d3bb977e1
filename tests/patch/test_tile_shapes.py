"""Tiles of other shapes: which are found for a change that makes tiles, and that each computes the same bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ncuview.patch import Maker
from ncuview.patch.fast_functions import fast_functions
from ncuview.patch.parameters import parameters_of
from ncuview.patch.patch import Edit, NoEdit, Refused
from ncuview.patch.product_tiles import product_tiles
from ncuview.patch.register_tiles import register_tiles
from ncuview.patch.tile_rows import tile_rows
from ncuview.patch.tile_shapes import Shapes, shapes_of
from ncuview.patch.tile_transposed import tile_transposed
from tests.emulation import Array, needs_gpp
from tests.patch import test_product_tiles, test_tile_rows, test_tile_transposed
from tests.patch.building import made
from tests.patch.structural import SOME_ORDERS, compiles_together, same
from tests.patch.test_register_tiles import covering

pytest.importorskip("islpy")

PRODUCT = covering(test_product_tiles.RIGHT["guarded"])
ROWS = test_tile_rows.RIGHT["a sum of each row"]
TURN = test_tile_transposed.program(
    test_tile_transposed.XY + test_tile_transposed.GUARDED + test_tile_transposed.STORE,
    launch="int nx = 4096, ny = 4096; k<<<dim3((nx + 31) / 32, (ny + 7) / 8), dim3(32, 8)>>>(a, b, nx, ny);",
)


def shapes(source: str, maker: Maker, kernel: str = "k") -> Shapes:
    after = made(source, maker, kernel=kernel).edited
    found = shapes_of(source, after, "a.cu", kernel, ())
    assert found is not None
    assert found.make(found.present).edited == after
    return found


@pytest.mark.parametrize(
    ("source", "maker", "kernel", "present", "values"),
    [
        (
            PRODUCT,
            register_tiles,
            "product",
            {"results_x": 8, "results_y": 8, "tile_depth": 16},
            {"results_x": (1, 2, 4, 8), "results_y": (1, 2, 4, 8), "tile_depth": (8, 16, 32)},
        ),
        (PRODUCT, product_tiles, "product", {"tile_depth": 32}, {"tile_depth": (8, 16, 32, 64)}),
        (ROWS, tile_rows, "k", {"tile_depth": 32}, {"tile_depth": (8, 16, 32, 64)}),
        (TURN, tile_transposed, "k", {"tile_blocks": 1}, {"tile_blocks": (1, 2, 4)}),
    ],
)
def test_the_shapes_of_a_tile_are_those_that_are_proven(
    source: str, maker: Maker, kernel: str, present: Mapping[str, int], values: Mapping[str, tuple[int, ...]]
) -> None:
    found = shapes(source, maker, kernel)
    assert found.present == present
    assert found.values == values


WITHOUT_POINTER = """
struct Members { float *x; };
__global__ void k(Members data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data.x[i] += 10.0f;
}
void run(Members data, int n) { k<<<n / 128, 128>>>(data, n); }
"""


def test_other_changes_have_no_shapes() -> None:
    after = made(PRODUCT, product_tiles, kernel="product").edited
    assert shapes_of(PRODUCT, PRODUCT, "a.cu", "product", ()) is None
    assert shapes_of(PRODUCT, after + "\n", "a.cu", "product", ()) is None
    assert shapes_of("int x;", "int y;", "a.cu", "k", ()) is None
    assert shapes_of(WITHOUT_POINTER, f"{WITHOUT_POINTER}\n", "a.cu", "k", ()) is None
    with pytest.raises(Refused):
        made(PRODUCT, fast_functions, kernel="product")


@pytest.mark.parametrize(("source", "kernel"), [(PRODUCT, "product"), (ROWS, "k"), (TURN, "k")])
def test_what_a_shape_needs_is_arithmetic_over_its_numbers(source: str, kernel: str) -> None:
    maker = {PRODUCT: register_tiles, ROWS: tile_rows, TURN: tile_transposed}[source]
    found = shapes(source, maker, kernel)
    declared = {PRODUCT: 4 * (16 * 129 + 128 * 17), ROWS: 4 * 64 * 33, TURN: 4 * 8 * 33}[source]
    assert declared <= eval(found.shared, dict(found.present)) < 1.2 * declared
    assert eval(found.registers, dict(found.present)) == {PRODUCT: 64 + 16, ROWS: 0, TURN: 0}[source]
    assert found.threads == {PRODUCT: 256, ROWS: 64, TURN: 256}[source]


@needs_gpp
@pytest.mark.parametrize(
    "shape",
    [
        {"results_x": 2, "results_y": 2, "tile_depth": 32},
        {"results_x": 1, "results_y": 8, "tile_depth": 8},
        {"results_x": 8, "results_y": 1, "tile_depth": 32},
    ],
)
def test_products_with_other_results_per_thread_are_the_same(shape: Mapping[str, int]) -> None:
    after = shapes(PRODUCT, register_tiles, "product").make(shape)
    assert after.title.endswith(f"{shape['tile_depth']} iterations at once")
    for m, n, k in ((40, 24, 33), (130, 17, 9), (16, 3, 0)):
        rng = np.random.default_rng(5)
        data = [rng.random(max(1, size), np.float32) for size in (m * k, k * n, m * n)]
        arguments: list[Array | np.generic] = [*data, *map(np.int32, (m, n, k))]
        grid = -(-n // 16), -(-m // 16)
        fewer = -(-grid[0] // shape["results_x"]), -(-grid[1] // shape["results_y"])
        same(
            PRODUCT,
            after.edited,
            arguments,
            grid,
            (16, 16),
            kernel="product",
            grid_after=fewer,
            orders=SOME_ORDERS,
        )


@needs_gpp
@pytest.mark.parametrize("depth", [8, 64])
@pytest.mark.parametrize("maker", [product_tiles, tile_rows])
def test_other_steps_are_the_same(maker: Maker, depth: int) -> None:
    source, kernel = (PRODUCT, "product") if maker is product_tiles else (ROWS, "k")
    after = shapes(source, maker, kernel).make({"tile_depth": depth})
    assert f"first += {depth}" in after.edited
    rng = np.random.default_rng(5)
    if maker is product_tiles:
        arguments: list[Array | np.generic] = [rng.random(70 * 70, np.float32) for _ in range(3)]
        same(
            source,
            after.edited,
            [*arguments, *map(np.int32, (40, 24, 70))],
            (2, 3),
            (16, 16),
            kernel=kernel,
            orders=SOME_ORDERS,
        )
    else:
        rows: list[Array | np.generic] = [np.zeros(100, np.float32), rng.random(100 * 70, np.float32)]
        same(source, after.edited, [*rows, np.int32(100), np.int32(70)], (2, 1), (64, 1), orders=SOME_ORDERS)


@needs_gpp
@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize("by", [2, 4])
def test_a_tile_for_the_rows_of_several_blocks_transposes_the_same(by: int, load: bool) -> None:
    source = TURN.replace(test_tile_transposed.STORE, test_tile_transposed.LOAD) if load else TURN
    after = shapes(source, tile_transposed).make({"tile_blocks": by}).edited
    assert f"tile[{8 * by}][32 + 1]" in after
    assert f"((ny + 7) / 8 + {by - 1}) / {by}" in after
    for nx, ny in test_tile_transposed.SIZES:
        grid = -(-nx // 32), -(-ny // 8)
        arguments: list[Array | np.generic] = [
            np.arange(nx * ny, dtype=np.float32),
            np.random.default_rng(3).random(nx * ny, np.float32),
            np.int32(nx),
            np.int32(ny),
        ]
        same(source, after, arguments, grid, (32, 8), grid_after=(grid[0], -(-grid[1] // by)))


def test_nvcc_compiles_all(tmp_path: Path) -> None:
    product = shapes(PRODUCT, register_tiles, "product")
    texts = [
        product.make({"results_x": 4, "results_y": 2, "tile_depth": 32}).edited,
        shapes(PRODUCT, product_tiles, "product").make({"tile_depth": 64}).edited,
        shapes(ROWS, tile_rows).make({"tile_depth": 64}).edited,
        shapes(TURN, tile_transposed).make({"tile_blocks": 4}).edited,
    ]
    compiles_together(texts, tmp_path)


def test_a_tile_in_a_string_of_python_has_shapes() -> None:
    kernel = PRODUCT.partition("int main(")[0]
    source = (
        f"import cupy as cp\n# é\nk = cp.RawKernel(r'''{kernel}''', 'product')\n"
        "a = cp.empty(4096)\nb = cp.empty(4096)\nc = cp.empty(4096)\n"
        "k((128, 128), (16, 16), (a, b, c, 2048, 2048, 2048))\n"
    )
    after = made(source, product_tiles, kernel="product", path="app.py").edited
    found = shapes_of(source, after, "app.py", "product", ())
    assert found is not None
    edited = found.make({"tile_depth": 16}).edited
    assert edited.startswith("import cupy as cp\n# é\nk = cp.RawKernel(r'''")
    assert edited == after.replace("first += 32", "first += 16").replace("first + 31", "first + 15").replace(
        "first + 32", "first + 16"
    ).replace("[16][32 + 1]", "[16][16 + 1]").replace("[32][16 + 1]", "[16][16 + 1]").replace("% 32", "% 16").replace(
        "/ 32", "/ 16"
    ).replace("< 512", "< 256")


def test_a_shape_is_a_parameter_beside_the_others() -> None:
    after = made(PRODUCT, register_tiles, kernel="product").edited
    found = parameters_of(after, "a.cu", "product", shapes(PRODUCT, register_tiles, "product"))
    assert [each.name for each in found.found if each.kind == "tile"] == ["results_x", "results_y", "tile_depth"]
    edit = found.edit({"results_x": 4, "results_y": 4, "minimum_blocks": 2})
    assert isinstance(edit, Edit)
    assert edit.source.decode() == after
    assert edit.title == "Compute 4 x 4 results per thread, 16 iterations at once, leave registers for 2 blocks"
    assert "__launch_bounds__(256, 2)" in edit.edited
    assert "(((n + 15) / 16 + 3) / 4, ((m + 15) / 16 + 3) / 4)" in edit.edited
    assert found.optimization({"tile_depth": 8}) == "shared_memory_tiling"
    assert found.optimization({"tile_depth": 8, "minimum_blocks": 2}) == "launch_configuration"
    assert isinstance(found.edit({"results_x": 8, "results_y": 8, "tile_depth": 64}), NoEdit)
