"""Each thread computes several results: the same bytes for all sizes, with the grid divided, or the reason is named."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from ncuview.patch.program import Program
from ncuview.patch.register_tiles import register_tiles
from tests.emulation import ORDERS, Array, needs_gpp
from tests.patch.building import count, refused, sass
from tests.patch.structural import SOME_ORDERS, compiles_together, edited, same
from tests.patch.test_product_tiles import GUARDED, PLACE, RIGHT, SUM, program

pytest.importorskip("islpy")

SIZES = [(40, 24, 33), (5, 150, 7), (1, 1, 1), (130, 17, 9), (16, 3, 0)]
REFUSED = {
    "statements after": "not a multiple",
    "written in the loop": "c changes in the loop",
    "one operand only": "one operand along each axis",
}


def covering(source: str) -> str:
    """The source with a grid that covers the results, of sizes that are not known."""
    (width, height) = re.findall(r"dim3\((\d+), (\d+)\)", source)[-1]
    columns, rows = ("m", "n") if source == RIGHT["rows along x"] else ("n", "m")
    grid = f"({columns} + {int(width) - 1}) / {width}, ({rows} + {int(height) - 1}) / {height}"
    sizes = "int m = p[0], n = p[1], k = p[2];"
    text = re.sub(r"product<<<dim3\(4, 4\)", f"{sizes} product<<<dim3({grid})", source)
    return text.replace("40, 24, 9", "m, n, k")


@needs_gpp
@pytest.mark.parametrize("name", [name for name in RIGHT if name not in REFUSED])
def test_the_results_are_the_same_for_all_sizes(name: str, tmp_path: Path) -> None:
    source = covering(RIGHT[name])
    change = register_tiles(Program.read(source, "a.cu").kernel("product"), [])
    after = edited(source, register_tiles, tmp_path, kernel="product")
    (merged,) = re.findall(r"Compute (\d+) x (\d+) results", change.title)
    (block,) = re.findall(r"dim3\((\d+), (\d+)\)>>>", source)
    width, height = map(int, block)
    for m, n, k in SIZES:
        columns, rows = (m, n) if name == "rows along x" else (n, m)
        rng = np.random.default_rng(5)
        a, b, c = (rng.random(max(1, size), np.float32) for size in (m * k, k * n, m * n))
        arguments: list[Array | np.generic] = [a, b, c, *map(np.int32, (m, n, k))]
        more: list[Array | np.generic] = [np.float32(2), np.float32(-0.5)] if "alpha" in source else []
        orders = ORDERS if (m, n, k) == SIZES[0] else SOME_ORDERS
        grid = -(-columns // width), -(-rows // height)
        down, across = map(int, merged)
        by = (1, down * across) if height == 1 else (across, down)
        fewer = -(-grid[0] // by[0]), -(-grid[1] // by[1])
        same(
            source,
            after,
            [*arguments, *more],
            grid,
            block=(width, height),
            kernel="product",
            grid_after=fewer,
            orders=orders,
        )


def test_nvcc_compiles_all(tmp_path: Path) -> None:
    sources = [covering(source) for name, source in RIGHT.items() if name not in REFUSED]
    compiles_together([edited(source, register_tiles, tmp_path, kernel="product") for source in sources], tmp_path)


def test_the_launches_have_fewer_blocks(tmp_path: Path) -> None:
    after = edited(covering(RIGHT["guarded"]), register_tiles, tmp_path, kernel="product")
    assert "dim3(((n + 15) / 16 + 7) / 8, ((m + 15) / 16 + 7) / 8)" in after
    source = (
        covering(RIGHT["guarded"])
        .replace("product<<<dim3(", "dim3 grid(")
        .replace("), dim3(16", "); product<<<grid, dim3(16")
    )
    assert "dim3((grid.x + 7) / 8, (grid.y + 7) / 8, grid.z)" in edited(
        source, register_tiles, tmp_path, kernel="product"
    )


def test_sums_stay_in_registers(tmp_path: Path) -> None:
    """64 fused multiplications and additions per iteration, no local memory, and no multiplication beside them."""
    after = edited(covering(RIGHT["guarded"]), register_tiles, tmp_path, kernel="product")
    code = sass(after.partition("int main(")[0], tmp_path, kernel="product")
    assert count(code, "FFMA") >= 64 * 16
    assert count(code, "FMUL") == count(code, "FADD") == 0
    assert count(code, "LDL") == count(code, "STL") == 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_product_tiles_still_serve_is_refused(name: str) -> None:
    assert REFUSED[name] in refused(covering(RIGHT[name]), register_tiles, kernel="product")


def front(grid: str) -> str:
    """A kernel file without guards."""
    arguments = "".join(
        f'[[args]]\nname = "{name}"\nkind = "{kind}"\n'
        for name, kind in [
            *(("a", "in float32[s, s]"), ("b", "in float32[s, s]"), ("c", "out float32[s, s]")),
            *((each, "int32 = s") for each in "mnk"),
        ]
    )
    launch = f'schema = 1\nname = "product"\n[sizes]\ns = 2048\n[launch]\ngrid = {grid}\nblock = ["16", "16"]\n'
    kernel = program(PLACE + SUM).partition("int main(")[0]
    return f"/*--- ncuview\n{launch}{arguments}---*/\n{kernel}"


@needs_gpp
def test_more_blocks_than_the_original_had_get_a_condition(tmp_path: Path) -> None:
    source = front('["s / 16", "s / 16"]')
    after = edited(source, register_tiles, tmp_path, kernel="product")
    assert 'grid = ["ceil(s / 128)", "ceil(s / 128)"]' in after
    assert "(blockIdx.x * 8 + across) * 16 < k" in after
    rng = np.random.default_rng(5)
    for size in (16, 144, 48):
        data = [rng.random(size * size, np.float32) for _ in range(3)]
        fewer = -(-size // 128)
        arguments: list[Array | np.generic] = [*data, *[np.int32(size)] * 3]
        same(source, after, arguments, (size // 16,) * 2, (16, 16), kernel="product", grid_after=(fewer, fewer))


def test_blocks_that_nothing_bounds_are_refused() -> None:
    assert "not divisible" in refused(front('["s / 8 + 1", "s / 8 + 1"]'), register_tiles, kernel="product")


WRONG = {
    "too few blocks": (program(GUARDED), "too few blocks"),
    "a grid that does not reach the bound": (
        covering(program(GUARDED)).replace("(n + 15) / 16", "n / 16").replace("(m + 15) / 16", "m / 16"),
        "not a multiple",
    ),
    "the body depends on the thread": (
        covering(program(GUARDED.replace("sum += a", "sum += row * a"))),
        "depends on the thread in the loop beyond its operands",
    ),
    "the body depends on the block": (
        covering(program(GUARDED.replace("sum += a", "sum += blockIdx.x * a"))),
        "depends on the thread in the loop beyond its operands",
    ),
    "a sum that starts by thread": (
        covering(program(GUARDED.replace("sum = 0.0f", "sum = row"))),
        "an initial value that may differ",
    ),
    "a sum beside other variables": (
        covering(program(GUARDED.replace("sum = 0.0f", "sum = 0.0f, t = 1"))),
        "declares sum together with other variables",
    ),
    "a sum that starts earlier": (
        covering(
            program(PLACE + "    float sum = 0.0f;\n    if (row < m && col < n) {\n" + SUM.partition("\n")[2] + "}")
        ),
        "not declared right before it",
    ),
    "a sum without a type": (covering(program(GUARDED.replace("float sum", "auto sum"))), "does not name the type"),
    "a place beside other variables": (
        covering(program(GUARDED.replace("int row =", "int t = 3, row ="))),
        "together with other variables",
    ),
    "code before the loop": (
        covering(program(GUARDED.replace("        for", "        m;\n        for"))),
        "acts before the loop",
    ),
    "another access in the loop": (
        covering(program(GUARDED.replace("sum += a", "sum += a[i] * a"))),
        "accesses memory that is no operand",
    ),
    "an else": (covering(program(GUARDED + "\n    else\n        m;")), "has an else"),
    "bounds that differ between blocks": (
        covering(program(GUARDED.replace("i < k", "i < k + blockIdx.x + blockIdx.y"))),
        "differ between threads",
    ),
    "a guard that excludes the first block": (
        covering(program(GUARDED.replace("col < n", "col < n && blockIdx.x > 0 && blockIdx.y > 0"))),
        "may exclude the thread at blockIdx",
    ),
    "vectors": (
        covering(
            program(
                GUARDED.replace("+ i]", "+ i].x"),
                parameters="const float4 *a, const float *b, float *c, int m, int n, int k",
            )
        ),
        "operands are vectors",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_obligation_is_named_where_it_is_not_met(name: str) -> None:
    source, reason = WRONG[name]
    assert reason in refused(source, register_tiles, kernel="product")
