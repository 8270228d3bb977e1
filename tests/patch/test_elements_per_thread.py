"""Several elements per thread: blocks of the original kernel that one block does, one after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.patch.elements_per_thread import elements_per_thread
from tests.emulation import emulated_launch
from tests.patch.building import applied, cubin, made, refused
from tests.patch.same_results import edited_alike, kernel_file, launched_at

GUARD = "if (i >= n)\n        return;\n    out[i] = 2 * in[i];"
TILE = "__shared__ float s[64];\n    s[threadIdx.x] = in[i];\n    __syncthreads();\n    out[i] = s[63 - threadIdx.x];"
LOOP = "for (int j = 0; j < 4; j++) {\n        if (i >= n) return;\n        out[i] = in[i];\n    }"
LAUNCH = "k<<<(n + 255) / 256, 256>>>(out, in, n);"


def source(
    body: str = GUARD, host: str = LAUNCH, head: str = "", index: str = "blockIdx.x * blockDim.x + threadIdx.x"
) -> str:
    return f"""{head}
__global__ void k(float *out, const float *in, int n)
{{
    int i = {index};
    {body}
}}

void run(float *out, const float *in, int n)
{{
    {host}
}}
"""


def test_one_block_does_the_work_of_four(tmp_path: Path) -> None:
    change = made(source(), elements_per_thread)
    edited = applied(source(), change, tmp_path)
    assert (
        """{
    #pragma unroll
    for (int part = 0; part < 4; part++) {
        const unsigned block = 4 * blockIdx.x + part;
        int i = block * blockDim.x + threadIdx.x;
        if (i >= n)
            continue;
        out[i] = 2 * in[i];
    }
}
"""
        in edited
    )
    assert "k<<<((n + 255) / 256 + 3) / 4, 256>>>" in edited
    assert change.title == "Process 4 elements per thread"
    assert change.assumes.startswith("n is smaller than the largest number of its type")
    cubin(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    ("text", "contains"),
    [
        (source("if (i < n) {\n        out[i] = in[i];\n    }"), "if (i < n) {"),
        (source(index="threadIdx.x + blockIdx.x * 256"), "threadIdx.x + block * 256"),
        (source(index="(int)(blockIdx.x * (size_t)blockDim.x + threadIdx.x)"), "block * (size_t)blockDim.x"),
        (source(host="int b = 64; k<<<(n - 1) / b + 1, b>>>(out, in, n);"), "<<<((n - 1) / b + 1 + 3) / 4, b>>>"),
        (source(host="k<<<blocks(n, 64), 64>>>(out, in, n);", head=(
            "int blocks(int a, int b) { return (a + b - 1) / b; }")), "<<<(blocks(n, 64) + 3) / 4, 64>>>"),
        (source("out[i] = in[i];", "k<<<4096, 64>>>(out, in, n);"), "k<<<1024, 64>>>"),
        (source("out[i] = in[i];", "k<<<2050, 64>>>(out, in, n);"), "k<<<1025, 64>>>"),
        (source(TILE,
                "k<<<4096, 64>>>(out, in, n);"), "s[63 - threadIdx.x];\n        __syncthreads();\n    }\n}"),
        (source(GUARD.replace("2 *", "twice(i) *"), head="__device__ int twice(int i) { return 2 * i; }"), "twice(i)"),
        (source(head="int part, block;"), "for (int share = 0; share < 4; share++) {\n        const unsigned block_x"),
    ],
)  # fmt: skip
def test_what_is_proven_is_made(text: str, contains: str, tmp_path: Path) -> None:
    edited = applied(text, made(text, elements_per_thread), tmp_path)
    assert contains in edited
    cubin(edited, tmp_path / "compiled")


PLANE = """
__global__ void k(float *out, const float *in, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        out[y * w + x] = in[y * w + x];
}

void run(float *out, const float *in, int w, int h)
{
    dim3 block(32, 8);
    dim3 grid((w + block.x - 1) / block.x, (h + 7) / 8);
    k<<<grid, block>>>(out, in, w, h);
}
"""


def test_rows_of_a_plane_are_merged(tmp_path: Path) -> None:
    edited = applied(PLANE, made(PLANE, elements_per_thread), tmp_path)
    assert "int y = block_y * blockDim.y + threadIdx.y;" in edited
    assert "int x = blockIdx.x * blockDim.x + threadIdx.x;" in edited
    assert "k<<<dim3(grid.x, (grid.y + 3) / 4, grid.z), block>>>" in edited
    cubin(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (source("out[i] = in[i];"), "no bound stops threads"),
        (source("if (i <= n) out[i] = in[i];"), "no bound stops threads"),
        (source("if (i < n) out[i] = in[i]; else out[0] = 1;"), "also accesses memory"),
        (source("if (in[i] > 0 && i < n) out[i] = 1;"), "no bound stops threads"),
        (source("float x = in[i];\n    if (i >= n) return;\n    out[i] = x;"), "no bound stops threads"),
        (source(host="k<<<n / 256, 256>>>(out, in, n);"), "not shown to reach n"),
        (source(host="k<<<(n + 254) / 256, 256>>>(out, in, n);"), "not shown to reach n"),
        (source(host="k<<<(n + 255) / 256, 128>>>(out, in, n);"), "not shown to reach n"),
        (source(host="k<<<(n + 255) / 256, 256>>>(out, in, 2 * n);"), "not shown to reach n"),
        (source(host="int g = (n + 255) / 256; n *= 2; k<<<g, 256>>>(out, in, n);"), "not shown to reach n"),
        (source(host="k<<<100, 256>>>(out, in, 20000);"), "too few blocks along x"),
        (source("out[i] = in[i];", "k<<<4097, 64>>>(out, in, n);"), "no bound stops threads"),
        (source(GUARD + "\n    out[i] += gridDim.x;"), "gridDim"),
        (source("n -= 1;\n    " + GUARD), "may change the parameter n"),
        (source("in += blockIdx.x;\n    if (i < n) out[i] = in[i];"), "may change the parameter in"),
        (source(GUARD + "\n    cut(n);", head="__device__ void cut(int &n) { n--; }"), "may change the parameter n"),
        (source(GUARD + "\n    int &m = n;\n    m--;"), "reference to a parameter"),
        (source(LOOP, "k<<<4096, 64>>>(out, in, n);"),
         "returns from inside a loop"),
        (source(GUARD + "\n    __syncthreads();"), "returns before the barrier"),
        (source(GUARD + "\n    __threadfence();"), "other blocks"),
        (source(GUARD + "\n    while (*(volatile float *)in == 0);"), "other blocks"),
        (source(GUARD + "\n    static int calls;"), "one block to the next"),
        (source(GUARD + '\n    asm("trap;");'), "other blocks"),
        (source(GUARD.replace("2 *", "own() *"), head="__device__ int own() { return blockIdx.x; }"), "blockIdx in a"),
        (source(GUARD.replace("2 *", "own(i) *"), head="__device__ int own(int);"), "uses own, which may be a macro"),
        (source(GUARD.replace("2 *", "OWN *")), "may be a macro"),
        (source(head="#define INDEX blockIdx.x"), "a macro mentions blockIdx"),
        (source(host=""), "no launch"),
        (source("if (i < n) { out[i] = in[i]; } }").replace("}\n\nvoid", "\n\nvoid"), "before its closing brace"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_refused(text: str, reason: str) -> None:
    assert reason in refused(text, elements_per_thread)


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    text = source().replace("\n", "\r\n")
    edited = applied(text, made(text, elements_per_thread), tmp_path)
    assert edited.count("\r\n") == edited.count("\n")


def in_file(body: str, grid: str = '"ceil(n / 64)"', extra: str = "", size: str = "n") -> str:
    args = ["out: out float32[n]", "in: in float32[n]", f"n: int32 = {size}"]
    return kernel_file(
        f"{extra}\n__global__ void k(float *out, const float *in, int n)\n{{\n{body}\n}}\n",
        grid=grid, args=args, sizes={"n": 1 << 20},
    )  # fmt: skip


INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


@pytest.mark.parametrize(
    "text",
    [
        in_file(INDEX + "    if (i >= n)\n        return;\n    out[i] = 2 * in[i] + i;"),
        in_file(INDEX + "    if (i < n && i != 7) {\n        float x = in[i];\n        out[i] = x * x;\n    }"),
        in_file(
            INDEX
            + "    if (i >= n)\n        return;\n    if (i % 3 == 0) {\n        out[i] = 1;\n        return;\n    }\n"
            "    for (int j = 0; j < 3; j++)\n        out[i] = in[i] + j;"
        ),
    ],
    ids=["leaving", "inside", "several returns"],
)
def test_tails_are_the_same(text: str, tmp_path: Path) -> None:
    sizes = [{"n": n} for n in (1, 63, 64, 65, 256, 257, 1000)]
    assert 'grid = ["ceil(n / 256)"]' in edited_alike(text, elements_per_thread, sizes, tmp_path)


def test_the_tile_of_one_block_is_read_before_the_next_writes_it(tmp_path: Path) -> None:
    body = "    __shared__ float tile[64];\n" + INDEX + (
        "    tile[threadIdx.x] = in[i];\n    __syncthreads();\n    out[i] = tile[63 - threadIdx.x];"
    )  # fmt: skip
    edited = edited_alike(in_file(body, '"n / 64"'), elements_per_thread, [{"n": 256}, {"n": 1024}], tmp_path)
    assert 'grid = ["n / 256"]' in edited
    without = edited.replace("threadIdx.x];\n        __syncthreads();\n    }", "threadIdx.x];\n    }")
    assert without != edited
    launched = emulated_launch(launched_at(without, {"n": 256}, tmp_path))
    assert [fault.kind for fault in launched.faults] == ["race"], "the test would not see a missing barrier"


def test_front_matter_whose_grid_ends_early_is_refused() -> None:
    text = in_file(INDEX + "    if (i < n)\n        out[i] = 1;", '"ceil(n / 127)"')
    assert "ends before the bound n" in refused(text, elements_per_thread)


def test_a_plane_is_the_same(tmp_path: Path) -> None:
    body = PLANE[: PLANE.index("void run")]
    args = ["out: out float32[h, w]", "in: in float32[h, w]", "w: int32 = w", "h: int32 = h"]
    text = kernel_file(
        body, grid='"ceil(w / 32)", "ceil(h / 8)"', block='"32", "8"', args=args, sizes={"w": 32, "h": 1 << 15}
    )
    sizes = [{"w": w, "h": h} for w in (1, 33) for h in (1, 8, 31, 33, 70)]
    assert 'grid = ["ceil(w / 32)", "ceil(h / 32)"]' in edited_alike(text, elements_per_thread, sizes, tmp_path)
