"""A transposed access goes through a tile: the results are the same for all sizes, or the reason is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncuview.patch.tile_transposed import tile_transposed
from tests.emulation import ORDERS, Array, needs_gpp
from tests.patch.building import cubin, refused
from tests.patch.structural import SOME_ORDERS, compiles_together, edited, same

pytest.importorskip("islpy")


def program(body: str, block: str = "32, 8", *, head: str = "", parameters: str = "", launch: str = "") -> str:
    return f"""{head}
__global__ void k({parameters or "float *out, const float *in, int nx, int ny"})
{{
{body}
}}
int main()
{{
    float *a = nullptr, *b = nullptr;
    {launch or f"k<<<dim3(4, 4), dim3({block})>>>(a, b, 40, 24);"}
}}
"""


XY = """    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
"""
GUARDED = "    if (x < nx && y < ny)\n"
STORE = "        out[x * ny + y] = in[y * nx + x];"
LOAD = "        out[y * nx + x] = in[x * ny + y];"
EXIT = "    if (x >= nx || y >= ny)\n        return;\n"
ROWS = """    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
"""
IN_ROWS = "        if (x < nx && y + j < ny)\n            out[x * ny + y + j] = in[(y + j) * nx + x];"
SIZES = [(40, 24), (32, 32), (33, 7), (1, 1), (64, 65)]

RIGHT = {
    "store": program(XY + GUARDED + STORE),
    "load": program(XY + GUARDED + LOAD),
    "square block": program(XY + GUARDED + STORE, "16, 16"),
    "wide block": program(XY + GUARDED + STORE, "64, 4"),
    "tall block": program(XY + GUARDED + LOAD, "8, 32"),
    "early exit and a store": program(XY + EXIT + STORE),
    "early exit and a load": program(XY + EXIT + LOAD),
    "two early exits": program(XY + "    if (x >= nx) return;\n    if (y >= ny)\n        return;\n" + STORE),
    "rows in a loop, store": program(
        ROWS + "        if (x < nx && y + j < ny)\n    " + STORE.replace("y", "(y + j)").replace("n(y + j)", "ny")
    ),
    "rows in a loop, load": program(
        ROWS
        + "        if (x < nx && y + j < ny)\n    "
        + LOAD.replace("+ y]", "+ y + j]").replace("[y *", "[(y + j) *")
    ),
    "computed values": program(
        XY + GUARDED + "    {\n        float v = 2 * in[y * nx + x];\n        out[x * ny + y] = v * v + 1;\n    }"
    ),
    "bias and scale": program(
        XY + GUARDED + "        out[x * ny + y] = s * in[y * nx + x] + bias[x];",
        parameters="float *__restrict__ out, const float *in, const float *bias, float s, int nx, int ny",
        launch="k<<<dim3(4, 4), dim3(32, 8)>>>(a, b, b, 2.0f, 40, 24);",
    ),
    "added to what is there": program(
        XY + GUARDED + "        out[y * nx + x] += in[x * ny + y];",
        parameters="float *__restrict__ out, const float *in, int nx, int ny",
    ),
    "two loads": program(XY + GUARDED + "        out[y * nx + x] = in[x * ny + y] * in[x * ny + y];"),
    "names in use": program(
        XY + GUARDED + STORE.replace("in[", "tile * row * in["), head="#define tile 1\n#define row 3.0f"
    ),
    "64-bit indices": program(XY + GUARDED + "        out[(size_t)x * ny + y] = in[(size_t)y * nx + x];"),
    "pointers of rows": program(
        XY + "    const float *line = in + y * nx;\n" + GUARDED + "        out[x * ny + y] = line[x];"
    ),
    "x and y exchanged": program(
        "    int x = blockIdx.y * blockDim.y + threadIdx.y;\n    int y = blockIdx.x * blockDim.x + threadIdx.x;\n"
        + GUARDED
        + STORE
    ),
    "one line": program((XY + GUARDED + STORE).replace("\n", " ")),
    "a 64-bit counter": program(ROWS.replace("int j", "size_t j") + IN_ROWS),
    "a text with spaces": program(XY + GUARDED + STORE + '\n    if (x > 1000000)\n        printf("a   b  %d", x);'),
    "windows line ends": program(XY + GUARDED + STORE).replace("\n", "\r\n"),
    "blocks counted in a loop": program(
        ROWS.replace("j < 32; j += 8", "j < 4; j++")
        + "        if (x < nx && y + 8 * j < ny)\n            out[x * ny + y + 8 * j] = in[(y + j * 8) * nx + x];"
    ),
    "unrolled by a pragma": program(ROWS.replace("    for", "#pragma unroll\n    for") + IN_ROWS),
}


@needs_gpp
@pytest.mark.parametrize("name", RIGHT)
def test_the_results_are_the_same_for_all_sizes(name: str, tmp_path: Path) -> None:
    source = RIGHT[name]
    after = edited(source, tile_transposed, tmp_path)
    assert "__syncthreads();" in after
    for nx, ny in SIZES:
        columns, rows = (ny, nx) if name == "x and y exchanged" else (nx, ny)
        block = next(each for each in ((16, 16), (64, 4), (8, 32), (32, 8)) if f"dim3({each[0]}, {each[1]})" in source)
        grid = -(-columns // block[0]), -(-rows // (32 if "j < 32" in source or "j < 4" in source else block[1]))
        rng = np.random.default_rng(3)
        data = rng.random(nx * ny, np.float32)
        others: list[Array | np.generic] = [rng.random(nx, np.float32), np.float32(3)] if "bias" in source else []
        out = np.arange(nx * ny, dtype=np.float32)
        orders = ORDERS if (nx, ny) == SIZES[0] else SOME_ORDERS
        same(source, after, [out, data, *others, np.int32(nx), np.int32(ny)], grid, block, orders=orders)


def test_nvcc_compiles_all(tmp_path: Path) -> None:
    compiles_together([edited(source, tile_transposed, tmp_path) for source in RIGHT.values()], tmp_path)


@pytest.mark.parametrize("kind", ["double", "unsigned char", "short", "float2", "__half"])
def test_other_elements_have_rows_that_are_a_word_longer(kind: str, tmp_path: Path) -> None:
    parameters = f"{kind} *out, const {kind} *in, int nx, int ny"
    source = program(XY + GUARDED + STORE, parameters=parameters, head="#include <cuda_fp16.h>")
    padding = {"unsigned char": 4, "short": 2, "__half": 2}.get(kind, 1)
    after = edited(source.replace("float *a", f"{kind} *a"), tile_transposed, tmp_path)
    assert f"__shared__ {kind} tile[8][32 + {padding}];" in after
    cubin(after, tmp_path)


WRONG = {
    "along lanes": (
        program(XY + GUARDED + "        out[y * nx + x] = in[y * nx + x];"),
        "neighbouring elements already",
    ),
    "both across": (
        program(XY + GUARDED + "        out[x * ny + y] = in[x * ny + y];"),
        "no access is along the lanes",
    ),
    "aliasing in the launch": (
        program(XY + GUARDED + STORE, launch="k<<<4, dim3(32, 8)>>>(a, a, 40, 24);"),
        "may overlap",
    ),
    "aliasing on the host": (
        program(XY + GUARDED + STORE, launch="float *c = a + 1; k<<<4, dim3(32, 8)>>>(a, c, 40, 24);"),
        "may overlap",
    ),
    "in place": (program(XY + GUARDED + "        out[x * ny + y] = out[y * nx + x];"), "out is both read and written"),
    "no launch": (program(XY + GUARDED + STORE, launch="return 0;"), "no launch of k"),
    "block not constant": (
        program(XY + GUARDED + STORE, launch="k<<<4, dim3(a - b, 8)>>>(a, b, 40, 24);"),
        "not a constant",
    ),
    "blocks differ": (
        program(XY + GUARDED + STORE, launch="k<<<4, dim3(32, 8)>>>(a, b, 4, 4); k<<<4, dim3(32, 4)>>>(a, b, 4, 4);"),
        "different blocks",
    ),
    "block of one row": (program(XY + GUARDED + STORE, "32, 1"), "a block has one row"),
    "planes": (program(XY + GUARDED + STORE, "8, 8, 2"), "several planes"),
    "not bijective: a column may exceed its row": (
        program(XY + STORE, launch="int n = *a; k<<<dim3(4, 4), dim3(32, 8)>>>(a, b, n, n);"),
        "a column may exceed its row",
    ),
    "not bijective: too few rows": (
        program(XY + GUARDED + "        out[x * 4 + y] = in[y * nx + x];"),
        "may use one element",
    ),
    "not bijective: the loop overlaps": (
        program(XY + "    for (int j = 0; j < 16; j += 8)\n" + IN_ROWS.replace("y + j]", "y + 2 * j]")),
        "sum of row and counter",
    ),
    "blocks counted in a loop, which overlap": (
        program(XY + "    for (int j = 0; j < 4; j++)\n" + IN_ROWS),
        "sum of row and counter",
    ),
    "loop of another step": (
        program(XY + "    for (int j = 0; j < 16; j += 4)\n" + IN_ROWS),
        "step through rows by the block's height",
    ),
    "loop of unknown length": (
        program(XY + "    for (int j = 0; j < nx; j += 8)\n" + IN_ROWS),
        "step through rows by the block's height",
    ),
    "return inside a loop": (
        program(ROWS + "    {\n if (y + j >= ny) return;\n out[x * ny + y + j] = in[(y + j) * nx + x];\n}"),
        "may leave the",
    ),
    "return before, under a loop": (
        program(XY + "    for (int j = 0; j < 4; j++)\n        if (x > j * nx) return;\n" + STORE),
        "may leave the code before",
    ),
    "return in an else": (
        program(XY + "    if (x < nx && y < ny) { } else return;\n" + STORE),
        "may leave the code before",
    ),
    "return after": (program(XY + GUARDED + STORE + "\n    if (x > 3) return;\n    in;"), "leaves the kernel"),
    "divergent else": (
        program(XY + "    if (x >= nx || y >= ny)\n        ;\n    else\n" + STORE),
        "in the branch of an else",
    ),
    "divergent while": (program(XY + "    while (nx < ny) {\n" + STORE + "\n }"), "another statement"),
    "switch": (program(XY + "    switch (nx) { case 1:\n" + STORE + "\n }"), "another statement"),
    "condition from memory": (program(XY + "    if (in[x] > 0)\n" + STORE), "depends on memory"),
    "under a conditional expression": (
        program(XY + "    out[y * nx + x] = x < nx && y < ny ? in[x * ny + y] : 0;"),
        "under a condition",
    ),
    "index from memory": (
        program(XY + GUARDED + "        out[(int)in[y] * ny + y] = in[y * nx + x];"),
        "neighbouring elements already",
    ),
    "a parameter that changes": (
        program(XY + GUARDED + "    {\n" + STORE + "\n        ny = 3;\n    }"),
        "neighbouring elements already",
    ),
    "a parameter of the guard that changes": (
        program(XY + "    int rows = 24;\n" + GUARDED + STORE.replace("ny", "rows") + "\n    ny = 3;"),
        "ny changes",
    ),
    "an index by another name": (
        program("    uint3 t = threadIdx;\n" + XY.replace("threadIdx.x", "t.x") + GUARDED + STORE),
        "uses threadIdx in a way",
    ),
    "an index with spaces": (
        program(XY.replace("threadIdx.x", "threadIdx . x") + GUARDED + STORE),
        "uses threadIdx in a way",
    ),
    "a counter with the name of a variable": (
        program("    int j = 5;\n" + ROWS.replace("* 32 + threadIdx.y", "* 32 + threadIdx.y + j - j") + IN_ROWS),
        "neighbouring elements already",
    ),
    "a variable that changes": (
        program(XY + "    y = y + 1;\n" + GUARDED + STORE),
        "neighbouring elements already",
    ),
    "shared memory": (program("    __shared__ float s[4];\n" + XY + GUARDED + STORE), "shared memory already"),
    "a barrier": (program(XY + GUARDED + STORE + "\n    __syncthreads();"), "threads cooperate already"),
    "a shuffle": (program(XY + "    __shfl_sync(0xffffffffu, x, 0);\n" + GUARDED + STORE), "threads cooperate already"),
    "an unknown call": (
        program(
            XY + GUARDED + STORE.replace("= in", "= f(x) * in"),
            head="__device__ float last; __device__ float f(int x) { return last = x; }",
        ),
        "calls f",
    ),
    "an unknown macro": (program(XY + "    CHECK(x);\n" + GUARDED + STORE), "may be a macro"),
    "a macro that names the array": (program(XY + GUARDED + STORE, head="#define OUT out[0]"), "a macro mentions out"),
    "a macro that launches": (
        program(XY + GUARDED + STORE, head="#define RUN(n) k<<<n, dim3(32, 8)>>>(0, 0, n, n)"),
        "a macro mentions k",
    ),
    "conditional code": (program(XY + GUARDED + STORE + "\n#if 1\n    in;\n#endif"), "hides code"),
    "assembly": (program(XY + '    asm volatile("");\n' + GUARDED + STORE), "hides code"),
    "a pointer that moves": (program(XY + "    in += 1;\n" + GUARDED + STORE), "no pointer parameter"),
    "volatile": (
        program(XY + GUARDED + STORE, parameters="volatile float *out, const float *in, int nx, int ny"),
        "volatile",
    ),
    "an address": (program(XY + GUARDED + "        *(out + x * ny + y) = in[y * nx + x];"), "uses a pointer"),
    "stored twice": (program(XY + GUARDED + "{\n out[0] = 1;\n" + STORE + "}"), "stores to out too"),
    "added to what is there": (program(XY + GUARDED + STORE.replace("] =", "] +=")), "does not only store"),
    "unsigned difference": (
        program(XY + GUARDED + "        out[(threadIdx.x - 1) * ny + y] = in[y * nx + x];"),
        "neighbouring elements already",
    ),
    "unknown type": (
        program(XY + GUARDED + STORE, parameters="T *out, const T *in, int nx, int ny", head="struct T { int a; };"),
        "size of T is not known",
    ),
    "too large": (
        program(XY + GUARDED + STORE, "128, 8", parameters="double2 *out, const double2 *in, int nx, int ny").replace(
            "128, 8", "1024, 4"
        ),
        "above the limit",
    ),
    "broken over lines": (
        program(XY + EXIT + STORE.replace("x * ny + y", "x * ny\n + y")),
        "broken over lines",
    ),
    "two loops": (
        program(ROWS + "    for (int i = 0; i < 2; i++)\n" + IN_ROWS),
        "stands in 2 loops",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_obligation_is_named_where_it_is_not_met(name: str) -> None:
    source, reason = WRONG[name]
    assert reason in refused(source, tile_transposed)
