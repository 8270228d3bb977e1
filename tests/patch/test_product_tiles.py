"""Operands of a product go through tiles: the results are the same bytes for all sizes, or the reason is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncuview.patch.product_tiles import product_tiles
from tests.emulation import ORDERS, Array, needs_gpp
from tests.patch.building import count, cubin, refused, sass
from tests.patch.structural import SOME_ORDERS, compiles_together, edited, same

pytest.importorskip("islpy")


def program(
    body: str,
    block: str = "16, 16",
    *,
    head: str = "",
    parameters: str = "const float *a, const float *b, float *c, int m, int n, int k",
    launch: str = "",
) -> str:
    return f"""{head}
__global__ void product({parameters})
{{
{body}
}}
int main()
{{
    float *p = nullptr, *q = nullptr, *r = nullptr;
    {launch or f"product<<<dim3(4, 4), dim3({block})>>>(p, q, r, 40, 24, 9);"}
}}
"""


PLACE = """    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
"""
SUM = """        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += a[row * k + i] * b[i * n + col];
        c[row * n + col] = sum;
"""
GUARDED = PLACE + "    if (row < m && col < n) {\n" + SUM + "    }"
EXIT = PLACE + "    if (row >= m || col >= n)\n        return;\n" + SUM
BRACES = SUM.replace("i++)\n", "i++) {\n").replace("+ col];\n        c", "+ col];\n        }\n        c")
SIZES = [(40, 24, 33), (16, 16, 32), (5, 70, 7), (1, 1, 1), (33, 17, 64), (16, 3, 0)]

RIGHT = {
    "guarded": program(GUARDED),
    "exit": program(EXIT),
    "two exits": program(PLACE + "    if (row >= m) return;\n    if (col >= n) return;\n" + SUM),
    "two guards": program(PLACE + "    if (row < m) {\n    if (col < n) {\n" + SUM + "    }\n    }"),
    "exit and guard": program(PLACE + "    if (row >= m) return;\n    if (col < n) {\n" + SUM + "    }"),
    "braces": program(GUARDED.replace(SUM, BRACES)),
    "transposed b": program(GUARDED.replace("b[i * n + col]", "b[col * k + i]")),
    "transposed a": program(GUARDED.replace("a[row * k + i]", "a[i * m + row]")),
    "both transposed": program(
        GUARDED.replace("b[i * n + col]", "b[col * k + i]").replace("a[row * k + i]", "a[i * m + row]")
    ),
    "rows along x": program(GUARDED.replace(".y", ".z").replace(".x", ".y").replace(".z", ".x")),
    "wide block": program(GUARDED, "32, 8"),
    "tall block": program(GUARDED, "8, 32"),
    "alpha and beta": program(
        GUARDED.replace("c[row * n + col] = sum", "c[row * n + col] = alpha * sum + beta * c[row * n + col]"),
        parameters="const float *a, const float *b, float *c, int m, int n, int k, float alpha, float beta",
        launch="product<<<dim3(4, 4), dim3(16, 16)>>>(p, q, r, 40, 24, 9, 2.0f, 3.0f);",
    ),
    "several statements": program(
        GUARDED.replace(
            "            sum += a[row * k + i] * b[i * n + col];\n",
            "        {\n            float u = a[row * k + i];\n            // a comment\n"
            "            float v = b[i * n + col];\n"
            "            sum += u * v;\n            sum -= 0.5f * u;\n        }\n",
        )
    ),
    "a square of differences": program(
        GUARDED.replace(
            "sum += a[row * k + i] * b[i * n + col];",
            "{ float d = a[row * k + i] - b[i * n + col]; sum += d * d; }",
        )
    ),
    "unsigned counter": program(GUARDED.replace("int i = 0", "unsigned i = 0")),
    "64-bit counter": program(GUARDED.replace("int i = 0", "size_t i = 0").replace("row * k", "(size_t)row * k")),
    "up to and with": program(GUARDED.replace("i < k", "i <= k - 1")),
    "first not zero": program(GUARDED.replace("int i = 0", "int i = 2")),
    "row pointers": program(
        GUARDED.replace("        for", "        const float *line = a + row * k;\n        for").replace(
            "a[row * k + i]", "line[i]"
        )
    ),
    "statements after": program(GUARDED + "\n    if (row == 0 && col == 0)\n        c[0] += 1.0f;"),
    "a pragma before the loop": program(GUARDED.replace("        for", "#pragma unroll 4\n        for")),
    "one operand only": program(GUARDED.replace("a[row * k + i]", "2.0f")),
    "names in use": program(
        GUARDED.replace("sum", "first").replace("{\n", "{\n        float place = 1, later = place;\n", 1)
    ),
    "windows line ends": program(GUARDED).replace("\n", "\r\n"),
    "written in the loop": program(GUARDED.replace("sum += a", "c[row * n + col] += a")),
    "a block of one row": program(GUARDED, "64, 1"),
}


@needs_gpp
@pytest.mark.parametrize("name", RIGHT)
def test_the_results_are_the_same_for_all_sizes(name: str, tmp_path: Path) -> None:
    source = RIGHT[name]
    after = edited(source, product_tiles, tmp_path, kernel="product")
    width, height = next(
        each for each in ((16, 16), (32, 8), (8, 32), (64, 1)) if f"dim3({each[0]}, {each[1]})" in source
    )
    for m, n, k in SIZES:
        columns, rows = (m, n) if name == "rows along x" else (n, m)
        rng = np.random.default_rng(5)
        a, b, c = (rng.random(max(1, size), np.float32) for size in (m * k, k * n, m * n))
        arguments: list[Array | np.generic] = [a, b, c, *map(np.int32, (m, n, k))]
        more: list[Array | np.generic] = [np.float32(2), np.float32(-0.5)] if "alpha" in source else []
        orders = ORDERS if (m, n, k) == SIZES[0] else SOME_ORDERS
        grid = -(-columns // width), -(-rows // height)
        same(source, after, [*arguments, *more], grid, (width, height), kernel="product", orders=orders)


def test_nvcc_compiles_all(tmp_path: Path) -> None:
    compiles_together(
        [edited(source, product_tiles, tmp_path, kernel="product") for source in RIGHT.values()], tmp_path
    )


@pytest.mark.parametrize("kind", ["double", "int", "__half"])
def test_other_elements_keep_their_types(kind: str, tmp_path: Path) -> None:
    body = GUARDED.replace("a[row * k + i]", "(double)a[row * k + i]")
    if kind == "__half":
        body = GUARDED.replace(
            "a[row * k + i] * b[i * n + col]", "__half2float(a[row * k + i]) * __half2float(b[i * n + col])"
        )
    parameters = f"const {kind} *__restrict__ a, const {kind} *__restrict__ b, float *c, int m, int n, int k"
    after = edited(
        program(body, parameters=parameters, head="#include <cuda_fp16.h>").replace("float *p", f"{kind} *p"),
        product_tiles,
        tmp_path,
        kernel="product",
    )
    assert f"__shared__ {kind} a_tile[16][32 + {2 if kind == '__half' else 1}];" in after
    cubin(after.partition("int main(")[0], tmp_path)


def test_the_compiler_contracts_the_same_products(tmp_path: Path) -> None:
    """One fused multiply and add per iteration before and after, and no multiplication beside it."""
    source = RIGHT["guarded"]
    before, after = (
        sass(text.partition("int main(")[0], tmp_path / str(at), kernel="product")
        for at, text in enumerate([source, edited(source, product_tiles, tmp_path, kernel="product")])
    )
    for code in (before, after):
        assert count(code, "FFMA") > 0
        assert count(code, "FMUL") == 0
        assert count(code, "FADD") == 0


WRONG: dict[str, tuple[str, str]] = {
    "no common elements": (program(GUARDED, "16, 1").replace("a[row * k + i]", "2.0f"), "no loop has loads"),
    "no loop": (
        program(PLACE + "    if (row < m && col < n) c[row * n + col] = a[row] * b[col];"),
        "no loop has loads",
    ),
    "aliasing in the launch": (
        program(GUARDED, launch="product<<<4, dim3(16, 16)>>>(p, q, p, 4, 4, 4);"),
        "may overlap",
    ),
    "read and written": (program(GUARDED.replace("b[i", "c[i")), "c is both read and written"),
    "return in the loop": (
        program(
            GUARDED.replace("            sum +=", "        { if (i > 4) return; sum +=").replace(
                "col];\n        c", "col]; }\n        c"
            )
        ),
        "may leave the loop",
    ),
    "break in the loop": (
        program(
            GUARDED.replace("            sum +=", "        { if (sum > 4) break; sum +=").replace(
                "col];\n        c", "col]; }\n        c"
            )
        ),
        "may leave the loop",
    ),
    "bounds that differ between threads": (program(GUARDED.replace("i < k", "i < row")), "differ between threads"),
    "first values that differ between threads": (
        program(GUARDED.replace("i = 0", "i = col")),
        "differ between threads",
    ),
    "a bound that changes": (program(GUARDED.replace("sum +=", "k -= 1, sum +=")), "changes its counter or its bound"),
    "another step": (program(GUARDED.replace("i++", "i += 2")), "does not count by one"),
    "loop in a loop": (
        program(GUARDED.replace("        for", "        for (int t = 0; t < 2; t++)\n        for")),
        "stands in another loop",
    ),
    "divergent branch around: the first thread alone is excluded": (
        program(GUARDED.replace("col < n", "col < n && col > 0")),
        "may exclude the thread at threadIdx.x 0 alone",
    ),
    "divergent branch around: every other row": (
        program(GUARDED.replace("row < m", "row < m && row % 2 == 1")),
        "may exclude the thread at threadIdx.y 0 alone",
    ),
    "guard from memory": (program(GUARDED.replace("row < m", "c[row] > 0")), "depends on memory"),
    "else": (program(GUARDED + "\n    else\n        c[0] = 1;"), "has an else"),
    "memory before the loop": (
        program(GUARDED.replace("sum = 0.0f", "sum = b[col]")),
        "accesses memory before the loop, under a guard",
    ),
    "a condition in the loop": (
        program(GUARDED.replace("sum += a", "if (i != 3) sum += a")),
        "no loop has loads",
    ),
    "return before": (
        program(PLACE + "    for (int t = 0; t < 3; t++) if (row > t + m) return;\n" + SUM),
        "may leave the code before",
    ),
    "return after": (program(GUARDED + "\n    if (row == 3) return;\n    m;"), "leaves the kernel"),
    "an index that changes": (
        program(GUARDED.replace("        for", "        row = row + 0;\n        for")),
        "changes",
    ),
    "a guard's parameter changes": (
        program(GUARDED.replace("float sum = 0.0f;", "float sum = 0.0f;\n        m = m - 1;")),
        "m changes",
    ),
    "an index by another name": (
        program("    uint3 t = threadIdx;\n" + GUARDED.replace("threadIdx.x", "t.x")),
        "uses threadIdx in a way",
    ),
    "a place from memory": (
        program(
            GUARDED.replace("        float sum", "        int line = (int)c[row];\n        float sum").replace(
                "a[row", "a[line"
            )
        ),
        "accesses memory before the loop, under a guard",
    ),
    "a place from memory, without guards": (
        program(
            PLACE + "    int line = (int)b[row];\n" + SUM.replace("a[row", "a[line").replace("b[i * n + col]", "1")
        ),
        "no loop has loads",
    ),
    "shared memory": (program("    __shared__ float s[3];\n" + GUARDED), "shared memory already"),
    "unknown macro": (program(GUARDED.replace("sum = 0.0f", "sum = ZERO")), "may be a macro"),
    "macro of an operand": (program(GUARDED, head="#define AT(i) a[i]"), "a macro mentions a"),
    "block not constant": (
        program(GUARDED, launch="int t = *p; product<<<4, dim3(t, t)>>>(p, q, r, 4, 4, 4);"),
        "not a constant",
    ),
    "planes": (program(GUARDED, "8, 8, 2"), "several planes"),
    "unknown type": (
        program(
            GUARDED,
            head="struct T { float x; };",
            parameters="const T *a, const float *b, float *c, int m, int n, int k",
        ),
        "size of T is not known",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_obligation_is_named_where_it_is_not_met(name: str) -> None:
    source, reason = WRONG[name]
    assert reason in refused(source, product_tiles, kernel="product")
