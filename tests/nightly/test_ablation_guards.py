"""Ablations of each kind, of three kernels or more, compile for Hopper and pass the static guards."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.trial.ablations import KINDS
from ncuview.trial.guards import PASSED, static_guards
from tests.trial.building import catalogue, code, made, variant
from tests.trial.test_ablations import CHUNKS, MATRICES, ROWS, WINDOW

TABLE = """
__global__ void k(const int *in, int *out)
{
    __shared__ int table[256];
    table[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int v = in[blockIdx.x * 256 + threadIdx.x];
    for (int r = 0; r < 100; r++)
        v = table[(v >> 3) & 255];
    out[blockIdx.x * 256 + threadIdx.x] = v;
}
"""
SHIFTED = """
__global__ void k(const float *in, float *out, int by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + by] + in[i + 1];
}
"""
BESIDE = """
__global__ void k(const double *in, double *out, int first)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const double *from = in + first;
    out[i + 1] = from[i] * 2.0;
}
"""
TREE = """
__global__ void k(const float *in, float *out)
{
    __shared__ float part[256];
    part[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = part[0];
}
"""
BRIGHT = """
__global__ void k(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = in[i], w = v;
    if (v & 1)
        for (int r = 0; r < rounds; r++)
            w = w * 1664525u + v;
    out[i] = w;
}
"""
TOTAL = """
__global__ void k(const double *in, double *total, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(total, in[i]);
}
"""
KEYS = """
__global__ void k(const int *key, const int *value, int *sums, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicMax(&sums[key[i]], value[i]);
}
"""
POWERS = """
__global__ void k(float *x, float e)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = powf(x[i], e) + 0.5 * x[i] * x[i];
}
"""
SCALED = """
__global__ void k(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < n; r++)
        x[i] = x[i] * 0.25 + 1.5;
}
"""
CASES = (
    ("conflict_free_index", "transpose/transposeCoalesced", "odata[(y + j)"),
    ("conflict_free_index", "bank_patterns/bank_strided", "volatile float *word"),
    ("conflict_free_index", "bank_patterns/bank_column", "volatile float *row"),
    ("conflict_free_index", TABLE, "v = table"),
    ("coalesced_index", ROWS, "sum += "),
    ("coalesced_index", CHUNKS, "sum += "),
    ("coalesced_index", MATRICES, "sum += "),
    ("coalesced_index", "transpose/transposeNaive", "odata["),
    ("coalesced_index", "access_patterns/load_aos", "sum += "),
    ("aligned_index", "access_patterns/load_misaligned", "sum += "),
    ("aligned_index", SHIFTED, "out[i]"),
    ("aligned_index", BESIDE, "out["),
    ("no_barrier", "reduction/reduce_v1", ""),
    ("no_barrier", "reduction/reduce_v3", ""),
    ("no_barrier", "stencil/row_smooth", ""),
    ("no_barrier_in_exchange", TREE, ""),
    ("no_barrier_in_exchange", "reduction/reduce_v2", ""),
    ("no_barrier_in_exchange", "transpose/transposeCoalesced", ""),
    ("uniform_condition", "divergence/divergentWithinWarp", ""),
    ("uniform_condition", "divergence/branchAtLane16", ""),
    ("uniform_condition", "divergence/workersScattered", ""),
    ("uniform_condition", BRIGHT, ""),
    ("spread_atomics", "atomics/histogram_global", ""),
    ("spread_atomics", "atomics/count_global", ""),
    ("spread_atomics", TOTAL, ""),
    ("spread_atomics", KEYS, ""),
    ("fast_functions", "instructions/preciseSine", ""),
    ("fast_functions", "instructions/preciseExponential", ""),
    ("fast_functions", "instructions/preciseDivision", ""),
    ("fast_power", POWERS, ""),
    ("fast_power", POWERS.replace("powf(x[i], e)", "powf(e, x[i])"), ""),
    ("fast_power", POWERS.replace("powf(x[i], e)", "powf(x[i], 2.5f)"), ""),
    ("float_literals", "instructions/doubleLiteral", ""),
    ("float_literals", POWERS, ""),
    ("float_literals", SCALED, ""),
    ("smaller_element", "access_patterns/load_aligned", ""),
    ("smaller_element", "stencil/row_smooth", ""),
    ("smaller_element", "instructions/multiplyDoubles", ""),
)
"""Kind, kernel of the catalogue or source of ``k``, and the text of the finding's line."""


@pytest.mark.parametrize(("kind", "kernel", "at"), CASES)
def test_it_compiles_and_keeps_the_work(kind: str, kernel: str, at: str, tmp_path: Path) -> None:
    own = "\n" in kernel
    name, source = ("k", kernel) if own else (kernel.partition("/")[2], catalogue(kernel))
    after = variant(source, made(source, kind, at, kernel=name), tmp_path / "made")
    before, ablated = code(source, tmp_path / "before", name), code(after, tmp_path / "after", name)
    assert static_guards(kind, before, ablated) == PASSED


def test_exchanged_bits_in_a_loop_cost_unrolling_and_are_not_believed(tmp_path: Path) -> None:
    after = variant(WINDOW, made(WINDOW, "coalesced_index", "sum += "), tmp_path / "made")
    before, ablated = code(WINDOW, tmp_path / "before"), code(after, tmp_path / "after")
    assert static_guards("coalesced_index", before, ablated).failed == "unrolling"


def test_each_kind_has_three_kernels() -> None:
    counts = {kind: sum(each == kind for each, _, _ in CASES) for kind in KINDS}
    assert min(counts.values()) >= 3
