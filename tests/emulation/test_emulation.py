"""The emulation computes what the kernels' oracles compute, and finds each kind of fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncuview.catalogue.kernels import find_kernel
from ncuview.catalogue.reference import ORACLES, Problem
from tests.emulation import ORDERS, Fault, NotEmulated, Ran, emulated, emulated_launch, needs_gpp, small
from tests.together import together

pytestmark = needs_gpp

RIGHT = (
    "transposeGranularity", "mmul_tiled", "reduce_v5_1", "reduce_shuffle", "histogram_match", "count_warp",
    "row_smooth_four", "sobel_constant", "rowSums_block", "preciseSine",
)  # fmt: skip
"""Kernels with tiles, dynamic shared memory, templates, constants, shuffles, votes, atomics and intrinsics."""


@together("name", RIGHT)
def test_kernels_give_what_their_oracle_gives(name: str) -> None:
    kernel = find_kernel(name)
    launch = small(kernel)
    for order in ("forward", "shuffled"):
        ran = emulated_launch(launch, order=order)
        assert not ran.faults
        described = [each for each in launch.args if each["role"] in {"out", "zeroed"}]
        for argument, output in zip(described, ran.outputs, strict=True):
            problem = Problem(ran.inputs, tuple(argument["shape"]), argument["dtype"], launch.sizes)
            answer = ORACLES[kernel.text.oracle or ""](problem)
            close = max(kernel.text.tolerance, 1e-5 if output.dtype.kind == "f" else 0)
            np.testing.assert_allclose(output, answer, rtol=close, atol=close)


def ran(body: str, threads: int = 64, *, count: int = 64, order: str = "forward") -> Ran:
    """A kernel over ``const float *in, float *out, int n``, with i as its thread's number."""
    source = f"""__global__ void k(const float *in, float *out, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x; {body} }}"""
    data = np.arange(count, dtype=np.float32)
    return emulated(
        source,
        "k",
        [data, np.full(count, np.nan, np.float32), np.int32(count)],
        [1],
        [threads],
        names=["in", "out"],
        order=order,
    )


def kinds(launched: Ran) -> set[str]:
    return {fault.kind for fault in launched.faults}


def test_a_write_after_the_end_names_array_byte_and_thread() -> None:
    assert ran("out[i + 1] = in[i];").faults == (
        Fault("memory", "a write of 4 bytes outside out (256 bytes) at byte 256 by thread (63,0,0) of block (0,0,0)"),
    )


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = in[i - 1];",
        "if (i == 0) out[0] = in[1 << 28];",
        "if (i == 0) out[0] = *(const float *)8;",
        "if (i < 15) *(float4 *)(out + 4 * i + 1) = *(const float4 *)(in + 4 * i);",
        "__shared__ float s[63]; s[threadIdx.x] = 1; out[i] = 1;",
        "__trap();",
    ],
)
def test_wrong_addresses_are_faults_of_memory(body: str) -> None:
    assert kinds(ran(body)) == {"memory"}


def test_reading_a_neighbour_without_a_barrier_is_a_race() -> None:
    body = "__shared__ float s[64]; s[threadIdx.x] = in[i]; %s out[i] = s[63 - threadIdx.x];"
    assert kinds(ran(body % "")) == {"race"}
    assert not ran(body % "__syncthreads();").faults
    assert kinds(ran(body % "__syncwarp();")) == {"race"}, "the two lanes are of different warps"


def test_lanes_of_a_warp_are_ordered_by_syncwarp() -> None:
    body = "__shared__ float s[32]; s[threadIdx.x] = in[i]; %s out[i] = s[31 - threadIdx.x];"
    assert kinds(ran(body % "", 32)) == {"race"}
    assert not ran(body % "__syncwarp();", 32).faults


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses() -> None:
    body = "__shared__ int c; if (i == 0) c = 0; __syncthreads(); %s __syncthreads(); out[i] = c;"
    added = ran(body % "atomicAdd(&c, 1);")
    assert not added.faults
    assert set(added.arrays[1]) == {64.0}
    assert kinds(ran(body % "if (i) atomicAdd(&c, 1); else c = 5;")) == {"race"}


@pytest.mark.parametrize(
    "body",
    [
        "if (i >= 40) return; __syncthreads(); out[i] = 1;",
        "if (i < 32) __syncthreads();\n else __syncthreads(); out[i] = 1;",
        "if (i < 16) out[i] = __shfl_down_sync(0xffffffff, in[i], 4);\n else __syncthreads();",
        "if (i >= 24 && i < 32) return; out[i] = __shfl_down_sync(0xffffffff, in[i], 16);",
        "if (i < 16) out[i] = __shfl_down_sync(0xffff, in[i], 8);",
    ],
)
def test_barriers_and_exchanges_that_lanes_miss_are_faults(body: str) -> None:
    assert kinds(ran(body)) == {"barrier"}


def test_a_shuffle_inside_its_mask_is_no_fault() -> None:
    launched = ran("if (threadIdx.x < 16) out[i] = __shfl_xor_sync(0xffff, in[i], 8);", 32)
    assert not launched.faults
    assert list(launched.arrays[1][:16]) == [*range(8, 16), *range(8)]


def test_an_order_that_matters_changes_outputs() -> None:
    results = {ran("out[0] = in[i];", order=order).arrays[1][0] for order in ORDERS}
    assert {0.0, 63.0} < results


def test_outputs_that_are_not_written_keep_their_poison() -> None:
    assert np.isnan(ran("if (i != 5) out[i] = 1;").arrays[1]).nonzero()[0].tolist() == [5]


def test_bytes_are_counted() -> None:
    launched = ran("out[i] = in[i] + in[0];")
    assert (launched.loaded, launched.stored) == (512, 256)


def test_the_special_function_unit_gives_other_bits() -> None:
    assert not np.array_equal(ran("out[i] = sinf(in[i]);").arrays[1], ran("out[i] = __sinf(in[i]);").arrays[1])


@pytest.mark.parametrize("body", ['asm volatile("bar.sync 0;" : : "r"(i));', "out[i] = unheard_of(1);", "__half h;"])
def test_what_is_not_emulated_is_refused(body: str) -> None:
    with pytest.raises(NotEmulated):
        ran(body)


def test_arguments_that_do_not_fit_are_refused() -> None:
    source = "__global__ void k(float *out, int n) { out[0] = n; }"
    with pytest.raises(ValueError, match="another size"):
        emulated(source, "k", [np.zeros(1, np.float32), np.int64(1)], [1], [1])
    with pytest.raises(ValueError, match="another number"):
        emulated(source, "k", [np.zeros(1, np.float32)], [1], [1])


def test_lines_of_faults_are_those_of_the_source() -> None:
    source = Path(find_kernel("reduce_v5_1").path).read_text(encoding="utf-8")
    line = source[: source.index("__syncthreads();")].count("\n") + 1
    launch = small(find_kernel("reduce_v5_1"))
    edited = source.replace("smem[threadIdx.x] = sum;", "smem[threadIdx.x] = sum; if (threadIdx.x > 200) return;", 1)
    assert [each.text for each in emulated_launch(launch, edited).faults if f"line {line}" in each.text]
