"""Vectors of neighbouring elements, with a scalar tail and a test of alignment where the source does not prove it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncuview.patch.vector_access import vector_access
from tests.emulation import emulated
from tests.patch.building import applied, cubin, made, refused
from tests.patch.same_results import edited_alike, kernel_file

INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
LEAVES = INDEX + "    if (i >= n)\n        return;\n"
TYPES = "float *out, const float *in"
LAUNCH = "k<<<(n + 255) / 256, 256>>>(out, in, n);"


def source(body: str, types: str = TYPES, host: str = LAUNCH, head: str = "") -> str:
    kernel = f"__global__ void k({types}, int n)\n{{\n{body}\n}}\n"
    return f"{head}\n{kernel}\nvoid run({types}, int n)\n{{\n    {host}\n}}\n"


def test_four_floats_are_loaded_and_stored_at_once(tmp_path: Path) -> None:
    text = source(LEAVES + "    out[i] = 2 * in[i];")
    change = made(text, vector_access)
    edited = applied(text, change, tmp_path)
    assert (
        """    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n)
        return;
    alignas(16) float out_part[4];
    alignas(16) float in_part[4];
    const bool aligned = (reinterpret_cast<size_t>(out) | reinterpret_cast<size_t>(in)) % 16 == 0;
    const bool whole = n - first >= 4 && aligned;
    if (whole) {
        *reinterpret_cast<float4 *>(in_part) = *reinterpret_cast<const float4 *>(&in[first]);
    } else {
        for (int item = 0; item < 4 && first + item < n; item++)
            in_part[item] = in[first + item];
    }
"""
        in edited
    )
    assert "        out_part[item] = 2 * in_part[item];\n    }\n" in edited
    assert "k<<<((n + 255) / 256 + 3) / 4, 256>>>" in edited
    assert change.title == "Access out and in in vectors of 4 elements"
    cubin(edited, tmp_path / "compiled")


def test_allocated_arrays_need_no_test_of_alignment(tmp_path: Path) -> None:
    host = "float *a, *b; cudaMalloc(&a, 4 * n); cudaMalloc((void **)&b, 4 * n); k<<<(n + 63) / 64, 64>>>(a, b, n);"
    edited = {}
    for name, text in {
        "whole": host,
        "moved": host.replace("k<<<", "a += 1; k<<<"),
        "offset": host.replace("(a, b", "(a + 1, b"),
    }.items():
        given = source(LEAVES + "    out[i] = in[i];", host=text)
        edited[name] = applied(given, made(given, vector_access), tmp_path / name)
    assert "const bool whole = n - first >= 4;" in edited["whole"]
    assert "const bool whole = n - first >= 4 && aligned;" in edited["moved"]
    assert "const bool whole = n - first >= 4 && aligned;" in edited["offset"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (source(LEAVES + "    out[i] = in[i] + out[0];"), "out is written, and accessed at another index"),
        (source(LEAVES + "    out[n - 1 - i] = in[i];"), "out is written, and accessed at another index"),
        (source(LEAVES + "    out[i] = in[i];", host="k<<<(n + 255) / 256, 256>>>(in, in, n);"), "may overlap"),
        (source(LEAVES + "    out[i] = in[i];", host="k<<<n / 256, 256>>>(out, in, n);"), "not shown to reach n"),
        (source(LEAVES + "    out[i] = in[i] + threadIdx.x;"), "uses threadIdx"),
        (source(LEAVES + "    out[i] = own(in[i]);", head="__device__ float own(float x) { return x + threadIdx.x; }"),
         "uses threadIdx"),
        (source(LEAVES + "    out[i] = __shfl_xor_sync(~0u, in[i], 1);"), "exchanges values"),
        (source(LEAVES + "    atomicAdd(&out[i], in[i]);"), "the address of an element of out"),
        (source(LEAVES + "    out[i] = in[i];", "volatile float *out, const float *in"), "volatile"),
        (source(LEAVES + "    out[i] = in[i];", "float4 *out, const float4 *in"), "of which there are no vectors"),
        (source(LEAVES + "    if (in[i] > 0) n = 3;\n    out[i] = in[i];"), "may change the parameter n"),
        (source("    float sum = 0;\n" + LEAVES + "    sum += in[i];\n    out[i] = sum;"), "changes from one element"),
        (source(INDEX + "    int j = 2 * i;\n    if (i >= n)\n        return;\n    out[i] = in[j];"), "depend on i"),
        (source(INDEX + "    if (i >= n || n < 3)\n        return;\n    out[i] = in[i];"), "tests more than the bound"),
        (source(INDEX + "    if (i < n && n > 3) {\n        out[i] = in[i];\n    }"), "tests more than the bound"),
        (source(INDEX + "    if (i < n) {\n        out[i] = in[i];\n    }\n    n + 1;"), "more than what its bound"),
        (source(LEAVES + "    for (int j = 0; j < 3; j++)\n        if (in[i] > j) return;\n    out[i] = 1;"), "a loop"),
        (source(LEAVES + "    float x = in[i];"), "writes no array"),
        (source(LEAVES + "    float *p = out;\n    p[i] = 1;\n    out[i] = in[i];"), "out is written, and accessed"),
        (source(LEAVES + "    out[i] = AT(i);", head="#define AT(i) in[i]"), "may be a macro"),
        (source(LEAVES + "    out[i] = in[i];", head="#define ROW threadIdx.x"), "a macro mentions threadIdx"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_refused(text: str, reason: str) -> None:
    assert reason in refused(text, vector_access)


def in_file(body: str, element: str = "float", kind: str = "float32", head: str = "") -> str:
    text = f"{head}__global__ void k({element} *out, const {element} *in, int n)\n{{\n{body}\n}}\n"
    args = [f"out: out {kind}[n]", f"in: in {kind}[n] below 100", "n: int32 = n"]
    return kernel_file(text, grid='"ceil(n / 64)"', args=args, sizes={"n": 1 << 20})


SIZES = [{"n": n} for n in (1, 3, 4, 5, 63, 64, 255, 256, 257, 259, 1000)]


@pytest.mark.parametrize(
    ("element", "kind", "vector"),
    [("float", "float32", "float4"), ("int", "int32", "int4"), ("double", "float64", "double2"),
     ("unsigned char", "uint8", "uchar4"), ("unsigned", "uint32", "uint4"), ("short", "int16", "short4")],
)  # fmt: skip
def test_every_type_and_tail_is_the_same(element: str, kind: str, vector: str, tmp_path: Path) -> None:
    text = in_file(LEAVES + "    out[i] = in[i];", element, kind)
    edited = edited_alike(text, vector_access, SIZES, tmp_path)
    assert f"reinterpret_cast<{vector} *>(&out[first])" in edited
    assert "aligned" not in edited


@pytest.mark.parametrize(
    "body",
    [
        LEAVES + "    if (in[i] > 50)\n        out[i] = 1;",
        LEAVES + "    if (in[i] > 50)\n        return;\n    out[i] = 1;\n    out[i] += in[i];",
        LEAVES + "    out[i] = in[i] + (i > 0 ? in[i - 1] : 0);",
        INDEX + "    if (i < n)\n        out[i] = in[i];",
        INDEX + "    if (n > i) {\n        float x = in[i];\n        for (int j = 0; j < 3; j++)\n"
        "            x = x * x + i;\n        out[i] = x;\n    }",
        INDEX.replace("int i", "const size_t i") + "    if (i < n)\n        out[i] = twice(in[i]);",
    ],
    ids=["some are written", "return", "neighbour", "no braces", "loop", "size_t"],
)  # fmt: skip
def test_other_bodies_are_the_same(body: str, tmp_path: Path) -> None:
    head = "__device__ float twice(float x) { return 2 * x; }\n"
    edited_alike(in_file(body, head=head), vector_access, SIZES, tmp_path)


def test_unaligned_arrays_take_the_scalar_way(tmp_path: Path) -> None:
    text = source(LEAVES + "    out[i] = 2 * in[i];", host=LAUNCH.replace("out, in", "out + 1, in + 1"))
    edited = applied(text, made(text, vector_access), tmp_path)
    shifted = edited.replace("{\n    const int first", "{\n    out += 1;\n    in += 1;\n    const int first", 1)
    given, numbers = np.full(40, -1, np.float32), np.arange(40, dtype=np.float32)
    ran = emulated(shifted[: shifted.index("void run")], "k", [given, numbers, np.int32(37)], [3], [4])
    assert not ran.faults
    np.testing.assert_array_equal(ran.arrays[0][1:38], 2 * numbers[1:38])
    assert ran.arrays[0][0] == ran.arrays[0][38] == -1
    unchecked = shifted.replace(" && aligned", "")
    faults = emulated(unchecked[: unchecked.index("void run")], "k", [given, numbers, np.int32(37)], [3], [4]).faults
    assert [each.kind for each in faults][:1] == ["memory"], "the test would not see a misaligned access"
