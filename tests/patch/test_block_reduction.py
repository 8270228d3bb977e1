"""Sums of a block in registers and warps: atomics on one place, and trees in shared memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.patch.block_reduction import block_reduction
from ncuview.patch.program import Program
from tests.patch.building import applied, cubin, made, refused
from tests.patch.same_results import edited_alike, kernel_file

INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
LEAVES = INDEX + "    if (i >= n)\n        return;\n"
ADD = LEAVES + "    atomicAdd(sum, in[i]);"
ONCE = (
    INDEX
    + "    int s = gridDim.x;\n    for (; i < n; i += s) s++;\n    if (threadIdx.x == 0)\n        atomicAdd(sum, s);"
)
TWICE = INDEX + (
    "    if (i < n && in[i] > 20)\n        atomicAdd(&sum[0], 1);\n    if (i < n)\n        atomicAdd(sum, 2);"
)
STRIDE = INDEX + (
    "    for (; i < n; i += gridDim.x * blockDim.x)\n        if (in[i] > 10)\n            atomicAdd(sum, 1);"
)
TYPES = "const int *in, int *sum"


def source(
    body: str, types: str = TYPES, host: str = "k<<<(n + 255) / 256, 256>>>(in, sum, n);", head: str = ""
) -> str:
    kernel = f"__global__ void k({types}, int n)\n{{\n{body}\n}}\n"
    return f"{head}\n{kernel}\nvoid run({types}, int n)\n{{\n    {host}\n}}\n"


def test_each_block_adds_once(tmp_path: Path) -> None:
    text = source(ADD)
    change = made(text, block_reduction)
    edited = applied(text, change, tmp_path)
    assert (
        """    int total = 0;
    #pragma unroll
    for (int part = 0; part < 16; part++) {
        const unsigned block = 16 * blockIdx.x + part;
        int i = block * blockDim.x + threadIdx.x;
        if (i >= n)
            continue;
        total += in[i];
    }
    for (int lanes = 16; lanes > 0; lanes /= 2)
        total += __shfl_down_sync(0xffffffff, total, lanes);
    __shared__ int of_warps[8];
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x < 32) {
        total = threadIdx.x < 8 ? of_warps[threadIdx.x] : 0;
        for (int lanes = 16; lanes > 0; lanes /= 2)
            total += __shfl_down_sync(0xffffffff, total, lanes);
        if (threadIdx.x == 0) {
            if (total != 0)
                atomicAdd(sum, total);
        }
    }
}
"""
        in edited
    )
    assert "k<<<((n + 255) / 256 + 15) / 16, 256>>>" in edited
    assert change.title == "Add to sum once for each block"
    cubin(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (source(ADD.replace("atomicAdd", "in[0] + atomicAdd")), "the value that atomicAdd returns"),
        (source(ADD.replace("atomicAdd", "atomicExch")), "atomicExch, whose order matters"),
        (source(ADD.replace("atomicAdd(sum, in[i])", "atomicInc(sum, 7)")), "order matters"),
        (source(ADD + "\n    if (sum[0] > 3) return;"), "uses sum in another way"),
        (source(ADD + "\n    sum[1] = 3;"), "uses sum in another way"),
        (source(ADD + "\n    atomicMax(sum, 3);"), "updated by different operations"),
        (source(ADD + "\n    atomicAdd(&sum[1], 3);"), "updated at several places"),
        (source(ADD.replace("sum, in", "&sum[i], in")), "a place that depends on i"),
        (source(ADD.replace("sum, in", "&sum[in[0]], in")), "a place that"),
        (source(ADD, "const int *in, volatile int *sum"), "volatile"),
        (source(ADD, "const int *in, short *sum"), "elements of short"),
        (source("    sum++;\n" + ADD), "sum may change"),
        (source(ADD, host="k<<<(n + 255) / 256, 256>>>(sum, sum, n);"), "may overlap"),
        (source(ADD, host="k<<<n / 256, 256>>>(in, sum, n);"), "not shown to reach n"),
        (source(ADD, host="k<<<(n + 99) / 100, 100>>>(in, sum, n);"), "full warps"),
        (source(ADD, host="int b = n % 8; k<<<(n + b - 1) / b, b>>>(in, sum, n);"), "not a constant"),
        (source(LEAVES + "    for (; i < n; i += gridDim.x)\n        atomicAdd(sum, 1);"), "before the barrier"),
        (source(ONCE),
         "once already"),
        (source(ADD, head="#define TOTAL sum"), "sum may change"),
        (source(ADD.replace("in[i]", "AT(i)"), head="#define AT(i) in[i] + 300"), "may be a macro"),
    ],
)  # fmt: skip
def test_atomics_of_which_not_all_is_proven_are_refused(text: str, reason: str) -> None:
    assert reason in refused(text, block_reduction)


def in_file(body: str, kind: str = "int32", element: str = "int", grid: str = '"ceil(n / 64)"', below: int = 50) -> str:
    text = f"__global__ void k(const {element} *in, {element} *sum, int n)\n{{\n{body}\n}}\n"
    args = [f"in: in {kind}[n] below {below}", f"sum: zeroed {kind}[1]", "n: int32 = n"]
    return kernel_file(text, grid=grid, args=args, sizes={"n": 1 << 20})


SIZES = [{"n": n} for n in (1, 31, 64, 65, 1024, 1025, 2500)]


@pytest.mark.parametrize(
    ("kind", "element", "body"),
    [
        ("int32", "int", ADD),
        ("uint32", "unsigned", ADD.replace("atomicAdd", "atomicMax")),
        ("int32", "int", ADD.replace("atomicAdd", "atomicMin").replace("in[i]", "-in[i]")),
        ("uint32", "unsigned", ADD.replace("atomicAdd", "atomicXor")),
        ("uint64", "unsigned long long", ADD),
        ("int32", "int", TWICE),
        ("int32", "int", STRIDE),
    ],
    ids=["add", "max", "min", "xor", "64 bits", "two statements", "loop over the data"],
)  # fmt: skip
def test_integers_are_the_same_in_every_order(kind: str, element: str, body: str, tmp_path: Path) -> None:
    edited_alike(in_file(body, kind, element), block_reduction, SIZES, tmp_path)


def test_sums_of_floats_name_what_is_reordered(tmp_path: Path) -> None:
    text = in_file(ADD, "float32", "float")
    assert block_reduction(Program.read(text, "k.cu").kernel("k"), []).reorders == "the sum in sum"
    edited_alike(text, block_reduction, SIZES, tmp_path, tolerance=1e-5)


@pytest.mark.parametrize("name", ["count_global", "count_warp"])
def test_counts_of_the_catalogue_are_the_same(name: str, tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "kernels" / "atomics" / f"{name}.cu").read_text()
    edited_alike(text, block_reduction, [{"n": 4096}, {"n": 12288}], tmp_path, kernel=name)


TREES = {
    "modulo": "for (unsigned s = 1; s < blockDim.x; s *= 2) {{\n        if (t % (2 * s) == 0)\n            {add}\n"
    "        {barrier}\n    }}",
    "strided": "for (unsigned s = 1; s < blockDim.x; s *= 2) {{\n        unsigned at = 2 * s * t;\n"
    "        if (at < blockDim.x)\n            w[at] = w[at] + w[at + s];\n        {barrier}\n    }}",
    "halves": "for (int s = blockDim.x / 2; s > 0; s >>= 1) {{\n        if (t < s)\n            {add}\n"
    "        {barrier}\n    }}",
    "last warp": "for (int s = blockDim.x / 2; s > 32; s >>= 1) {{\n        if (t < s)\n            {add}\n"
    "        {barrier}\n    }}\n"
    "    for (int s = 32; s > 0; s /= 2) {{\n        int x = t < s ? w[t + s] : w[t];\n        __syncwarp();\n"
    "        if (t < s)\n            w[t] += x;\n        __syncwarp();\n    }}",
}  # fmt: skip


def tree(
    form: str, store: str = "w[t] = in[i];", first: str = "if (t == 0)\n        out[blockIdx.x] = w[0];",
    add: str = "w[t] += w[t + s];", barrier: str = "__syncthreads();", types: str = "const int *in, int *out",
) -> str:  # fmt: skip
    element = types.rpartition(",")[2].split("*")[0].strip()
    steps = TREES[form].format(add=add, barrier=barrier)
    return (
        f"__global__ void k({types})\n{{\n    __shared__ {element} w[128];\n    int t = threadIdx.x;\n{INDEX}"
        f"    {store}\n    __syncthreads();\n    {steps}\n    {first}\n}}\n"
    )


def tree_in_file(text: str, kind: str = "int32", grid: str = '"n / 128"', out: str = "n / 128") -> str:
    args = [f"in: in {kind}[n] below 50", f"out: out {kind}[{out}]"]
    return kernel_file(text, grid=grid, block='"128"', args=args, sizes={"n": 1 << 22})


@pytest.mark.parametrize("form", ["modulo", "strided", "halves", "last warp"])
def test_a_warp_does_the_work_of_a_block_with_a_tree(form: str, tmp_path: Path) -> None:
    sizes = [{"n": 128 * 4}, {"n": 128 * 12}]
    edited = edited_alike(tree_in_file(tree(form)), block_reduction, sizes, tmp_path)
    assert "__shared__" not in edited
    assert 'grid = ["n / 512"]' in edited
    assert "for (unsigned thread = threadIdx.x % 32; thread < 128; thread += 32) {" in edited


def test_where_the_grid_is_not_known_warps_share_a_word(tmp_path: Path) -> None:
    text = tree("modulo") + "void run(int *in, int *out, int n) { k<<<n, 128>>>(in, out); }\n"
    edited = applied(text, made(text, block_reduction), tmp_path)
    assert "    int sum = in[i];\n" in edited
    assert "__shared__ int of_warps[4];" in edited
    assert "__shared__ int w[128];" not in edited
    cubin(edited, tmp_path / "compiled")
    in_front = edited_alike(tree_in_file(tree("modulo"), grid='"n / 128", "1 + 1"', out="n / 128"), block_reduction,
                            [{"n": 128}, {"n": 640}], tmp_path / "front")  # fmt: skip
    assert "of_warps" in in_front


@pytest.mark.parametrize("function", ["max", "min"])
def test_other_operations_are_the_same(function: str, tmp_path: Path) -> None:
    text = tree("halves", add=f"w[t] = {function}(w[t], w[t + s]);")
    edited_alike(tree_in_file(text), block_reduction, [{"n": 128 * 4}], tmp_path)


def test_floats_without_a_neutral_value_use_the_first_word(tmp_path: Path) -> None:
    text = tree("halves", add="w[t] = fmaxf(w[t], w[t + s]);", types="const float *in, float *out")
    edited = edited_alike(tree_in_file(text, "float32"), block_reduction, [{"n": 128 * 4}], tmp_path)
    assert "of_warps[threadIdx.x < 4 ? threadIdx.x : 0]" in edited


@pytest.mark.parametrize("name", ["reduce_v1", "reduce_v2", "reduce_v3", "reduce_v4_1", "reduce_v4_2"])
def test_trees_of_the_catalogue_are_the_same(name: str, tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "kernels" / "reduction" / f"{name}.cu").read_text()
    change = block_reduction(Program.read(text, f"{name}.cu").kernel(name), [])
    assert change.reorders == "the combination of smem"
    assert change.assumes == "blocks have 256 threads"
    edited_alike(text, block_reduction, [{"n": 8 * 8 * 256}], tmp_path, kernel=name, tolerance=1e-6)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (tree("modulo", barrier=""), "no barrier is between"),
        (tree("halves", barrier="__syncwarp();"), "no barrier is between"),
        (tree("modulo").replace("in[i];\n    __syncthreads();", "in[i];"), "no barrier is between"),
        (tree("halves").replace("s > 0", "s > 1"), "does not hold the combination of all 128 threads"),
        (tree("halves", add="w[t] += w[t + 1];"), "no barrier is between"),
        (tree("halves").replace("if (t < s)", "if (t <= s)"), "no thread has written"),
        (tree("halves", add="w[t] -= w[t + s];"), "not understood"),
        (tree("halves", add="w[t] += 2 * w[t + s];"), "not understood"),
        (tree("halves", add="w[t] += in[t + s];"), "not understood"),
        (tree("halves", barrier="if (t < 64) __syncthreads();"), "not all threads reach a barrier"),
        (tree("halves", first="if (t == 0)\n        out[blockIdx.x] = w[1];"), "does not use w[0] once"),
        (tree("halves", first="if (t == 1)\n        out[blockIdx.x] = w[0];"), "does not use w[0] once"),
        (tree("halves", first="if (t == 0)\n        w[0] = 3;"), "does not use w[0] once"),
        (tree("halves", first="if (t == 0)\n        out[blockIdx.x] = w[0];\n    out[7] = 1;"), "follows the tree"),
        (tree("halves", store="w[127 - t] = in[i];"), "no statement stores"),
        (tree("halves", store="if (in[i] < 0)\n        return;\n    w[t] = in[i];"), "returns before the barrier"),
        (tree("halves").replace("__shared__ int", "__shared__ volatile int"), "volatile"),
        (tree("halves").replace("s >>= 1", "s >>= n()"), "not understood"),
        (tree("halves").replace("s >>= 1", "s >>= 0"), "does not end"),
        (tree("halves", store="w[t] = in[i] + OFF;"), "may be a macro"),
        ("#define LAST w\n" + tree("halves"), "a macro mentions w"),
        (tree("halves", types="const char *in, char *out"), "elements of char"),
    ],
)  # fmt: skip
def test_trees_of_which_not_all_is_proven_are_refused(text: str, reason: str) -> None:
    assert reason in refused(tree_in_file(text).replace("n()", "in[0]"), block_reduction)


def test_blocks_that_are_no_row_of_full_warps_are_refused() -> None:
    text = tree_in_file(tree("halves"))
    assert "full warps" in refused(text.replace('block = ["128"]', 'block = ["100"]'), block_reduction)
    assert "full warps" in refused(text.replace('block = ["128"]', 'block = ["64", "2"]'), block_reduction)
