"""What ablations make of indices: the waste is gone, the elements are the same, and the reasons where there is none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, child
from ncuview.trial.ablations import KINDS, NONE, kind_of
from tests.trial.addresses import Names, accesses, conflicts, kernel_of, of_warp, sectors, value
from tests.trial.building import catalogue, made, refusal, variant

if TYPE_CHECKING:
    from tree_sitter import Node

ROWS = """
__global__ void k(const float *a, float *y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float *mine = a + (size_t)row * columns;
    float sum = 0.0f;
    for (int j = 0; j < columns; j++)
        sum += mine[j];
    y[row] = sum;
}
"""
CHUNKS = """
__global__ void k(const float *a, float *y, int columns)
{
    int each = (columns + blockDim.x - 1) / blockDim.x;
    int begin = threadIdx.x * each;
    int end = min(begin + each, columns);
    float sum = 0.0f;
    for (int c = begin; c < end; c++)
        sum += a[blockIdx.x * columns + c];
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
MATRICES = """
__global__ void k(const float *a, float *y, int n)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++)
            sum += a[m * 64 + i * 8 + j] * (i + 1);
    y[m] = sum;
}
"""
WINDOW = """
__global__ void k(const float *a, float *y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int j = 1; j < columns - 1; j++)
        sum += a[row * columns + j - 1];
    y[row] = sum;
}
"""
BLOCK: Names = {"blockIdx.x": 3, "blockDim.x": 64, "blockIdx.y": 2}


class TestCoalesced:
    @pytest.mark.parametrize(
        ("source", "at", "names", "counters"),
        [
            (ROWS, "sum += ", {"columns": 19}, {"j": range(19)}),
            (CHUNKS, "sum += ", {"columns": 19 * 64}, {"k": range(19)}),
            (MATRICES, "sum += ", {}, {"i": range(8), "j": range(8)}),
            (WINDOW, "sum += ", {"columns": 33}, {"j": range(1, 33)}),
        ],
    )
    def test_a_warp_reads_the_same_elements_in_full_sectors(
        self, source: str, at: str, names: Names, counters: dict[str, range], tmp_path: Path
    ) -> None:
        after = variant(source, made(source, "coalesced_index", at), tmp_path)
        read: list[list[int]] = []
        for text in (source, after):
            kernel = kernel_of(text)
            (access,) = accesses(kernel, at)
            steps = [dict[str, int]()]
            for name, values in counters.items():
                steps = [{**step, name: number} for step in steps for number in values]
            warps = [_of_warp(kernel, access, {**BLOCK, **names, **step}) for step in steps]
            read.append([element for warp in warps for element in warp])
            counts = [sectors(warp, 4) for warp in warps]
            assert max(counts) <= 5 if text == after else min(counts) > 16
        assert set(read[0]) == set(read[1])
        assert len(set(read[0])) == len(read[0]) == len(read[1])

    def test_a_tile_is_written_by_rows(self, tmp_path: Path) -> None:
        name, source = "transposeNaive", catalogue("transpose/transposeNaive")
        after = variant(source, made(source, "coalesced_index", "odata[", kernel=name), tmp_path)
        elements = []
        for text in (source, after):
            kernel = kernel_of(text, name)
            written = accesses(kernel, "odata[")[0]
            warps = [
                of_warp(kernel, written, {"blockIdx.x": 1, "blockIdx.y": 2, "n": 128, "j": j, "threadIdx.y": y})
                for j in range(0, 32, 8)
                for y in range(8)
            ]
            elements.append(sorted(element for warp in warps for element in warp))
            assert {sectors(warp, 4) for warp in warps} == ({4} if text == after else {32})
        assert elements[0] == elements[1]

    def test_fields_of_structures_are_read_as_if_they_were_arrays(self, tmp_path: Path) -> None:
        name, source = "load_aos", catalogue("access_patterns/load_aos")
        ablated = made(source, "coalesced_index", "sum += ", kernel=name)
        assert ablated.in_bounds
        kernel = kernel_of(variant(source, ablated, tmp_path), name)
        (access,) = accesses(kernel, "sum += ")
        names = {**BLOCK, "r": 0, "threads": 4096}
        elements = of_warp(kernel, access, names)
        assert sectors(elements, 4) == 4
        first = (BLOCK["blockIdx.x"] * BLOCK["blockDim.x"]) * 4
        assert all(first <= element < first + 32 * 4 for element in elements)

    def test_half_a_warp_is_a_row_of_sixteen_threads(self, tmp_path: Path) -> None:
        source = """
__global__ void k(const float *in, float *out, int n)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
int main() { k<<<dim3(8, 8), dim3(16, 16)>>>(nullptr, nullptr, 128); }
"""
        kernel = kernel_of(variant(source, made(source, "coalesced_index"), tmp_path))
        (written, read) = accesses(kernel, "out[")
        elements = of_warp(kernel, written, {**BLOCK, "n": 128}, width=16)
        assert sectors(elements, 4) == 4
        assert kernel.program.text(read) == "in[y * n + x]"

    def test_a_pointer_that_moves_once(self, tmp_path: Path) -> None:
        source = ROWS.replace("const float *mine = a + (size_t)row * columns;", "a += row * columns;")
        source = source.replace("mine[j]", "a[j]")
        after = variant(source, made(source, "coalesced_index", "sum += "), tmp_path)
        assert "(a - (row * columns))[" in after

    @pytest.mark.parametrize(
        ("change", "why"),
        [
            (("mine[j]", "a[(int)mine[j]]"), "loaded values"),
            (("mine[j]", "mine[j]; mine += 1"), "the pointer mine moves"),
            (("mine[j]", "y[row]"), "scattered"),
            (("mine[j]", "a[f(row)]"), "a function computes"),
        ],
    )
    def test_it_is_refused(self, change: tuple[str, str], why: str) -> None:
        source = "__device__ int f(int x) { return x * 7; }" + ROWS.replace(*change)
        assert why in refusal(source, "coalesced_index", "sum += ")

    def test_rows_of_a_few_threads_are_refused(self) -> None:
        source = "__global__ void k(float *a, int n) { a[threadIdx.x * n + threadIdx.y] = 1; }\n"
        launch = "int main() {{ k<<<8, dim3({x}, 8)>>>(nullptr, 8); }}"
        assert "rows of 4 threads" in refusal(source + launch.format(x=4), "coalesced_index")
        assert "no launch" in refusal(source, "coalesced_index")


def _of_warp(kernel: Kernel, access: Node, names: Names) -> list[int]:
    """The elements of a warp; a counter ``k`` runs along each lane's own part."""
    if "k" not in names:
        return of_warp(kernel, access, names)
    each = names["columns"] // names["blockDim.x"]
    return [value(kernel, access, {**names, "threadIdx.x": lane, "c": lane * each + names["k"]}) for lane in range(32)]


class TestAligned:
    @pytest.mark.parametrize("offset", [1, 13, 31])
    def test_a_warp_begins_at_a_sector(self, offset: int, tmp_path: Path) -> None:
        name, source = "load_misaligned", catalogue("access_patterns/load_misaligned")
        ablated = made(source, "aligned_index", kernel=name)
        names = {**BLOCK, "r": 0, "threads": 4096, "offset": offset}
        before, kernel = kernel_of(source, name), kernel_of(variant(source, ablated, tmp_path), name)
        original = of_warp(before, accesses(before, "sum += ")[0], names)
        moved = of_warp(kernel, accesses(kernel, "sum += ")[0], names)
        assert sectors(original, 4) == 5
        assert sectors(moved, 4) == 4
        assert ablated.in_bounds
        assert all(0 <= new <= old for new, old in zip(moved, original, strict=True))

    def test_without_an_offset_it_is_refused(self) -> None:
        assert "offset" in refusal("__global__ void k(float *a) { a[threadIdx.x] = 1; }", "aligned_index")


class TestConflictFree:
    @pytest.mark.parametrize(
        ("file", "at", "names", "size", "in_bounds"),
        [
            ("transpose/transposeCoalesced", "odata[(y + j)", {"j": 8, "threadIdx.y": 3}, 4, True),
            ("bank_patterns/bank_strided", "volatile float *word", {"stride": 32}, 4, True),
            ("bank_patterns/bank_strided64", "volatile double *word", {"stride": 16}, 8, True),
            ("bank_patterns/bank_column", "volatile float *row", {}, 4, False),
        ],
    )
    def test_the_lanes_are_in_different_banks(
        self, file: str, at: str, names: Names, size: int, in_bounds: bool, tmp_path: Path
    ) -> None:
        name, source = file.partition("/")[2], catalogue(file)
        ablated = made(source, "conflict_free_index", at, kernel=name)
        assert ablated.in_bounds == in_bounds
        degrees = []
        for text in (source, variant(source, ablated, tmp_path)):
            kernel = kernel_of(text, name)
            access = accesses(kernel, at)[-1]
            degrees.append(
                conflicts(of_warp(kernel, access, {**BLOCK, **names}, first=32 if "tid" in text else 0), size)
            )
        assert degrees[0] > 8
        assert degrees[1] == 1

    def test_loaded_values_select_a_row_of_all_banks(self, tmp_path: Path) -> None:
        source = """
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
        ablated = made(source, "conflict_free_index", "v = table")
        assert ablated.in_bounds
        kernel = kernel_of(variant(source, ablated, tmp_path))
        (access,) = accesses(kernel, "v = table")
        chosen = [value(kernel, access, {"threadIdx.x": lane, "v": 977 * lane % 2048}) for lane in range(32)]
        assert conflicts(chosen, 4) == 1
        assert all(0 <= each < 256 for each in chosen)
        assert len({each // 32 for each in chosen}) > 4

    def test_an_index_may_hold_another_access(self, tmp_path: Path) -> None:
        source = """
__global__ void k(int *out)
{
    __shared__ int s[256], t[256];
    int v = out[threadIdx.x];
    out[threadIdx.x] = t[s[(v + 1) & 255] & 255];
}
"""
        after = variant(source, made(source, "conflict_free_index"), tmp_path)
        lane = "& ~31u) + (threadIdx.x & 31u)]"
        assert f"t[((unsigned)(s[((unsigned)((v + 1) & 255) {lane} & 255) {lane};" in after

    def test_a_table_that_is_too_short_is_wrapped(self, tmp_path: Path) -> None:
        source = """
__global__ void k(float *out)
{
    __shared__ float2 root[64];
    root[threadIdx.x] = make_float2(threadIdx.x, 1);
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < 64; n++)
        sum += root[threadIdx.x * n % 64].x;
    out[threadIdx.x] = sum;
}
"""
        kernel = kernel_of(variant(source, made(source, "conflict_free_index", "sum += "), tmp_path))
        (access,) = accesses(kernel, "sum += ")
        for n in range(64):
            elements = of_warp(kernel, access, {"n": n}, first=32)
            assert conflicts(elements, 8) == 1
            assert all(0 <= element < 64 for element in elements)

    @pytest.mark.parametrize(
        ("use", "why"),
        [
            ("out[threadIdx.x] = tile[threadIdx.x];", "by more than one element"),
            ("float4 v = *reinterpret_cast<float4 *>(&tile[threadIdx.x * 4]); out[threadIdx.x] = v.x;", "another type"),
            ("out[threadIdx.x] = tile[(int)out[threadIdx.x]];", "do not fill all banks"),
        ],
    )
    def test_it_is_refused(self, use: str, why: str) -> None:
        source = "__global__ void k(float *out) { __shared__ float tile[100]; USE }".replace("USE", use)
        assert why in refusal(source, "conflict_free_index")


class TestBarriers:
    def test_each_becomes_an_order_of_accesses(self, tmp_path: Path) -> None:
        name, source = "reduce_v1", catalogue("reduction/reduce_v1")
        after = variant(source, made(source, "no_barrier", kernel=name), tmp_path)
        assert source.count("__syncthreads();") == after.count('asm volatile("" ::: "memory");') == 2
        assert "__syncthreads" not in after

    def test_those_on_the_lines_only(self, tmp_path: Path) -> None:
        source = "__global__ void k(int *a) {\n__syncthreads();\na[0] = 1;\n__syncthreads(); // here\n}"
        after = variant(source, made(source, "no_barrier", "// here"), tmp_path)
        assert after.count("__syncthreads") == 1

    def test_an_index_from_shared_memory_needs_the_sanitizer(self) -> None:
        source = (
            "__global__ void k(int *a) { __shared__ int s[32]; s[threadIdx.x] = a[threadIdx.x]; __syncthreads(); USE }"
        )
        assert made(source.replace("USE", "a[threadIdx.x] = s[31 - threadIdx.x];"), "no_barrier").in_bounds
        assert not made(source.replace("USE", "int at = s[0]; a[at] = 1;"), "no_barrier").in_bounds

    def test_without_barriers_it_is_refused(self) -> None:
        assert "no __syncthreads()" in refusal("__global__ void k(int *a) { a[0] = 1; }", "no_barrier")


class TestConditions:
    @pytest.mark.parametrize("name", ["divergentWithinWarp", "branchAtLane16"])
    def test_a_warp_decides_once_and_each_lane_as_often(self, name: str, tmp_path: Path) -> None:
        source = catalogue(f"divergence/{name}")
        ablated = made(source, "uniform_condition", kernel=name)
        assert ablated.in_bounds
        taken = []
        for text in (source, variant(source, ablated, tmp_path)):
            kernel = kernel_of(text, name)
            (branch,) = kernel.of_type("if_statement")
            (choice,) = child(branch, "condition").named_children
            threads = [(block, thread) for block in range(32) for thread in range(64)]
            chosen = {
                (block, thread): value(kernel, choice, {"blockIdx.x": block, "threadIdx.x": thread})
                for block, thread in threads
            }
            taken.append(sum(chosen.values()))
            warps = {(block, thread // 32, side) for (block, thread), side in chosen.items()}
            uniform = len(warps) == 32 * 2
            assert uniform == (text != source)
        assert taken[0] == taken[1]

    def test_loaded_values_are_decided_by_the_first_active_lane(self, tmp_path: Path) -> None:
        source = "__global__ void k(int *a) { int v = a[threadIdx.x]; if (v > 3) a[threadIdx.x] = v * v; }"
        ablated = made(source, "uniform_condition")
        assert "__shfl_sync(__activemask(), (int)(v > 3), __ffs(__activemask()) - 1)" in variant(
            source, ablated, tmp_path
        )
        assert not ablated.in_bounds

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            ("if (threadIdx.x >= n) return; a[threadIdx.x] = 1;", "end of the data"),
            ("if (blockIdx.x * blockDim.x + threadIdx.x < n) a[threadIdx.x] = 1;", "end of the data"),
            ("if (threadIdx.x < 7) { a[threadIdx.x] = 1; __syncthreads(); }", "holds a barrier"),
            ("if (a[threadIdx.x]++ < 3) a[threadIdx.x] = 1;", "changes a value"),
        ],
    )
    def test_it_is_refused(self, body: str, why: str) -> None:
        assert why in refusal(f"__global__ void k(int *a, int n) {{ {body} }}", "uniform_condition")


class TestAtomics:
    @pytest.mark.parametrize(
        ("source", "names"),
        [
            ("__global__ void k(int *bins, int v) { atomicAdd(&bins[v], 1); }", {"v": 5}),
            ("__global__ void k(float *sum, int v) {\natomicAdd(sum, 1.0f); }", {}),
            ("__global__ void k(unsigned *bins, int v) { atomicMax(bins + v, 1u); }", {"v": 9}),
        ],
    )
    def test_threads_have_addresses_of_their_own(self, source: str, names: Names, tmp_path: Path) -> None:
        ablated = made(source, "spread_atomics")
        assert ablated.in_bounds
        kernel = kernel_of(variant(source, ablated, tmp_path))
        (call,) = kernel.of_type("call_expression")
        place = child(call, "arguments").named_children[0]
        (index,) = child(child(place, "argument"), "indices").named_children
        elements = {
            value(kernel, index, {**names, "blockIdx.x": block, "blockDim.x": 128, "threadIdx.x": thread})
            for block in range(4)
            for thread in range(128)
        }
        assert len(elements) == 4 * 128
        assert all(0 <= each < 1 << 20 for each in elements)

    def test_the_array_has_a_name_and_a_place_of_its_own(self, tmp_path: Path) -> None:
        source = "int spread_0;\ntemplate <int N> __global__ void k(double *sum) { atomicAdd(sum, 1.0 * N); }"
        after = variant(source, made(source, "spread_atomics"), tmp_path)
        assert re.search(r"^__device__ double spread_0_\[1048576\]; template", after, re.MULTILINE)

    @pytest.mark.parametrize(
        ("body", "why"),
        [
            ("__shared__ int s[4]; atomicAdd(&s[0], 1);", "shared memory"),
            ("bins[0] = 1;", "no atomic function"),
            ("atomicAdd(f(bins), 1);", "does not show as an element"),
        ],
    )
    def test_it_is_refused(self, body: str, why: str) -> None:
        assert why in refusal(f"__global__ void k(int *bins) {{ {body} }}", "spread_atomics")


class TestElements:
    def test_floats_become_halves_in_memory_only(self, tmp_path: Path) -> None:
        source = "__global__ void k(const float *x, float *y) {\n    y[threadIdx.x] = x[threadIdx.x] * 2.0f;\n}\n"
        after = variant(source, made(source, "smaller_element"), tmp_path)
        changed = "((__half *)y)[threadIdx.x] = (__half)((float)(((__half *)x)[threadIdx.x]) * 2.0f);"
        assert changed in after
        assert after.startswith("#include <cuda_fp16.h>\n#line 1\n__global__")

    def test_doubles_become_floats(self, tmp_path: Path) -> None:
        source = "__global__ void k(double *x) { double v = x[0]; x[1] += v; }"
        after = variant(source, made(source, "smaller_element"), tmp_path)
        assert after == "__global__ void k(double *x) { double v = (double)(((float *)x)[0]); x[1] += v; }"

    def test_integers_are_refused(self) -> None:
        assert "float or double" in refusal("__global__ void k(int *x) { x[0] = 1; }", "smaller_element")


def test_each_rule_of_a_kernel_has_a_kind_or_a_reason() -> None:
    from ncuview.api import load_rules

    codes = {rule.text.code for rule in load_rules()}
    with_kind = [code for kind in KINDS.values() for code in kind.rules]
    assert sorted([*with_kind, *NONE]) == sorted(code for code in codes if not code.startswith("PROG"))
    assert kind_of("SMEM001") == "conflict_free_index"
    with pytest.raises(Refused, match="nothing that is removed does that"):
        kind_of("WORK001")


def test_the_kinds_of_a_change_that_users_make_are_the_patches() -> None:
    source = "__global__ void k(float *x) { x[0] = sinf(x[0]); }"
    assert made(source, "fast_functions").change.title == "Use __sinf"
    assert made("__global__ void k(float *x) { x[0] = x[0] * 2.0; }", "float_literals").in_bounds
