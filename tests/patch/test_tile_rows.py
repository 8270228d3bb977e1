"""Rows that neighbouring threads walk along go through a tile: the same bytes for all sizes, or the reason is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncuview.patch.tile_rows import tile_rows
from tests.emulation import Array, needs_gpp
from tests.patch.building import refused
from tests.patch.structural import compiles_together, edited, same

pytest.importorskip("islpy")


def program(body: str, *, head: str = "", launch: str = "k<<<9, 64>>>(p, q, 40, 24);") -> str:
    return f"""{head}
__global__ void k(float *out, const float *in, int rows, int columns)
{{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
{body}
}}
int main()
{{
    float *p = nullptr, *q = nullptr;
    {launch}
}}
"""


LOOP = """    for (int j = 0; j < columns; j++)
        sum += in[row * columns + j];
"""
SUM = "    if (row >= rows)\n        return;\n    float sum = 0.0f;\n" + LOOP + "    out[row] = sum;"
RIGHT = {
    "a sum of each row": program(SUM),
    "a guard": program("    if (row < rows) {\n    float sum = 0.0f;\n" + LOOP + "    out[row] = sum;\n    }"),
    "a function": program(
        SUM.replace("in[row * columns + j]", "square(in[row * columns + j])"),
        head="__device__ float square(float x) { return x * x; }",
    ),
    "constant memory": program(SUM.replace("in[row", "weight[0] + in[row"), head="__constant__ float weight[4];"),
    "two elements of a row": program(SUM.replace("+ j];", "+ j] * (j > 0 ? 2.0f : in[row * columns + j]);")),
    "a stored row": program(
        SUM.replace("sum += in[row * columns + j];", "out[j * rows + row] = in[row * columns + j];").replace(
            "    out[row] = sum;", ""
        )
    ),
    "a row pointer": program(
        SUM.replace("    float sum", "    const float *line = in + (size_t)row * columns;\n    float sum").replace(
            "in[row * columns + j]", "line[j]"
        )
    ),
    "a second loop under the guard": program(SUM.replace("    out", LOOP.replace("sum +=", "sum *=") + "    out")),
    "a store before the loop": program(SUM.replace("    for", "    out[row] = 3.0f;\n    for")),
    "a loop before the loop": program(
        SUM.replace("    for", "    for (int j = 0; j < rows; j++)\n        sum -= out[row];\n    for")
    ),
    "another array of the same row": program(SUM.replace("+ j];", "+ j] * in[j];")),
}


@needs_gpp
@pytest.mark.parametrize("name", RIGHT)
def test_the_results_are_the_same_for_all_sizes(name: str, tmp_path: Path) -> None:
    source = RIGHT[name]
    after = edited(source, tile_rows, tmp_path)
    assert "in_tile[32][64 + 1]" in after
    for rows, columns in [(64, 32), (65, 33), (1, 1), (130, 7), (63, 0)]:
        data = np.random.default_rng(3).random(max(1, rows * columns), np.float32)
        out = np.zeros(max(rows, rows * columns), np.float32)
        arguments: list[Array | np.generic] = [out, data, np.int32(rows), np.int32(columns)]
        same(source, after, arguments, (-(-rows // 64),), (64,))


def test_nvcc_compiles_all(tmp_path: Path) -> None:
    compiles_together([edited(source, tile_rows, tmp_path) for source in RIGHT.values()], tmp_path)


WRONG = {
    "along lanes": (program(SUM.replace("row * columns + j", "j * rows + row")), "no loop has loads"),
    "a function that stores": (
        program(
            SUM.replace("sum += in", "sum += note(j) + in"),
            head="__device__ float last; __device__ float note(int x) { last = x; return 0; }",
        ),
        "calls note",
    ),
    "a function that reads memory": (
        program(
            SUM.replace("sum += in", "sum += note(j) + in"),
            head="__device__ float all[9]; __device__ float note(int x) { return all[x]; }",
        ),
        "calls note",
    ),
    "a function with a barrier": (
        program(
            SUM.replace("sum += in", "sum += note(j) + in"),
            head="__device__ float note(int x) { __syncthreads(); return x; }",
        ),
        "calls note",
    ),
    "a function that takes a pointer": (
        program(
            SUM.replace("sum += in", "sum += note(out) + in"), head="__device__ float note(float *x) { return 1; }"
        ),
        "calls note",
    ),
    "a function that takes a reference": (
        program(
            SUM.replace("sum += in", "sum += note(sum) + in"), head="__device__ float note(float &x) { return 1; }"
        ),
        "calls note",
    ),
    "two functions of one name": (
        program(
            SUM.replace("sum += in", "sum += note(j) + in"),
            head="__device__ float note(int x) { return 1; }\n__device__ float note(float *x) { return 1; }",
        ),
        "calls note",
    ),
    "a load by name": (program(SUM.replace("sum += in", "sum += __ldg(in + j) + in")), "loads by __ldg"),
    "rows of other rows": (program(SUM.replace("in[row *", "in[(int)in[row] *")), "no loop has loads"),
    "rows of different lengths": (program(SUM.replace("j < columns", "j < columns - row")), "differ between threads"),
    "aliasing": (program(SUM, launch="k<<<9, 64>>>(p, p, 4, 4);"), "may overlap"),
    "barriers": (program(SUM + "\n    __syncthreads();"), "threads cooperate already"),
    "a part of the output": (program(SUM.replace("in[row", "out[row")), "out is both read and written"),
    "large blocks": (
        program(SUM, launch="k<<<9, 1024>>>(p, q, 4, 4);").replace("float *", "double2 *"),
        "more than 48 KiB",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_each_obligation_is_named_where_it_is_not_met(name: str) -> None:
    source, reason = WRONG[name]
    assert reason in refused(source, tile_rows)
