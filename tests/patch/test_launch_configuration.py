"""Patches of launch bounds, and of the size of blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.patch.building import PROGRAMS, applied, changed_lines, count, edit, refusal, sass


def bounded(bounds: str, launch: str = "k<<<1, 128>>>(nullptr);") -> str:
    return f"__global__ void {bounds} k(float *a) {{ a[threadIdx.x] = 0; }}\nint main() {{ {launch} }}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("__launch_bounds__(256, 8)", "__launch_bounds__(256)"),
        ("__launch_bounds__( 128 * 2 , 8)", "__launch_bounds__( 128 * 2)"),
        ("__launch_bounds__(1024)", "__launch_bounds__(128)"),
    ],
)
def test_bounds_are_relaxed(before: str, after: str, tmp_path: Path) -> None:
    source = bounded(before)
    edited = applied(source, edit(source, "launch_bounds"), tmp_path)
    assert edited == bounded(after)
    sass(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (bounded(""), "no __launch_bounds__"),
        (bounded("__launch_bounds__(128)"), "no more threads"),
        (bounded("__launch_bounds__(1024)", "int n = time(0); k<<<1, n>>>(nullptr);"), "not a constant"),
        (bounded("__launch_bounds__(1024)", "k<<<1, 64>>>(nullptr); k<<<1, 96>>>(nullptr);"), "different blocks"),
        (bounded("__launch_bounds__(1024)", "dim3 b(64); b.y = 8; k<<<1, b>>>(nullptr);"), "not a constant"),
        (bounded("__launch_bounds__(1024)", ""), "no launch"),
        (bounded("__launch_bounds__(1024)", "auto f = &k; k<<<1, 32>>>(nullptr);"), "neither a launch"),
    ],
)
def test_bounds_that_cannot_be_relaxed_are_refused(source: str, reason: str) -> None:
    assert reason in refusal(source, "launch_bounds")


def test_launches_of_a_header_are_not_all_known() -> None:
    assert "header" in refusal(bounded("__launch_bounds__(1024)"), "launch_bounds", path="a.cuh")


def test_the_program_spills_no_longer(tmp_path: Path) -> None:
    source = (PROGRAMS / "launch_bounds.cu").read_text(encoding="utf-8")
    after = applied(source, edit(source, "launch_bounds", kernel="mixed"), tmp_path)
    assert count(sass(source, tmp_path / "0", "mixed"), "STL|LDL") > 0
    assert count(sass(after, tmp_path / "1", "mixed"), "STL|LDL") == 0
    assert "no more threads" in refusal(after, "launch_bounds", kernel="mixed")


GUARD = "if (i < n) a[i] = 2 * a[i];"
EXIT = "if (i >= n) { return; }\n    a[i] = 2 * a[i];"
STRIDE = "for (int j = i; j < n; j += gridDim.x * blockDim.x) a[j] = 0;"


def sized(body: str = GUARD, host: str = "k<<<(n + 63) / 64, 64>>>(a, n);", head: str = "", bounds: str = "") -> str:
    return f"""{head}
__device__ float own(int);
__device__ float own(int i) {{ return threadIdx.x + i; }}
__global__ void {bounds} k(float *a, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
}}
void run(float *a, int n) {{ {host} }}
"""


def test_numbers_in_block_and_grid_change_together(tmp_path: Path) -> None:
    source = sized()
    edited = applied(source, edit(source, "block_size"), tmp_path)
    assert edited == sized(host="k<<<(n + 255) / 256, 256>>>(a, n);")
    sass(edited, tmp_path / "compiled")
    assert "256 threads already" in refusal(edited, "block_size")


@pytest.mark.parametrize(
    ("host", "head", "changed"),
    [
        ("k<<<(n + 64 - 1) / 64, 64>>>(a, n);", "", "k<<<(n + 256 - 1) / 256, 256>>>(a, n);"),
        ("int g = (n + T - 1) / T; k<<<g, T>>>(a, n);", "#define T 64 // threads", "#define T 256 // threads"),
        ("k<<<(n + T - 1) / T, T>>>(a, n);", "const int U = 1, T = 64;", "const int U = 1, T = 256;"),
        ("int t = 64; k<<<(n + t - 1) / t, t>>>(a, n);", "", "int t = 256; k<<<(n + t - 1) / t, t>>>(a, n);"),
    ],
)
def test_a_block_changes_where_its_number_stands(host: str, head: str, changed: str, tmp_path: Path) -> None:
    source = sized(EXIT, host, head)
    edited = applied(source, edit(source, "block_size"), tmp_path)
    ((_, after),) = changed_lines(source, edited)
    assert changed in after
    sass(edited, tmp_path / "compiled")


def test_bounds_grow_with_the_block(tmp_path: Path) -> None:
    source = sized(bounds="__launch_bounds__(64)")
    assert "__launch_bounds__(256)" in applied(source, edit(source, "block_size"), tmp_path)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("a[i] = 0;", "beyond the end"),
        ("if (i < n) a[i] = 0; a[0] = 1;", "also accesses memory in threads"),
        ("if (i <= n) a[i] = 0;", "beyond the end"),
        ("if (i < n && threadIdx.x) a[i] = 0;", "more than the global index"),
        ("if (i < n) a[i] = blockDim.x;", "more than the global index"),
        ("if (i < n) a[i] = helper(i);", "may be a macro"),
        ("if (i < n) a[i] = own(i);", "calls own"),
        ("__shared__ float s[64]; if (i < n) a[i] = s[i];", "share a block"),
        ("if (i < n) a[i] = __shfl_sync(~0u, a[i], 0);", "__shfl_sync"),
        ("__syncthreads(); if (i < n) a[i] = 0;", "__syncthreads"),
        ("n = 3; if (i < n) a[i] = 0;", "parameter"),
        ("a[0] = 1; if (i >= n) return; a[i] = 0;", "beyond the end"),
        ("if (i < n) a[i] = HIDDEN;", "may be a macro"),
        (STRIDE, "outside a loop over the data"),
    ],
)
def test_a_kernel_that_depends_on_its_block_is_refused(body: str, reason: str) -> None:
    assert reason in refusal(sized(body), "block_size")


@pytest.mark.parametrize(
    ("host", "head", "reason"),
    [
        ("k<<<n / 64, 64>>>(a, n);", "", "is not (n + 64 - 1) / 64"),
        ("k<<<(n + 63) / 64, 64>>>(a, n - 1);", "", "is not (n - 1 + 64 - 1) / 64"),
        ("k<<<100, 64>>>(a, n);", "", "is not"),
        ("dim3 b(8, 8); k<<<(n + 63) / 64, b>>>(a, n);", "", "is not constant"),
        ("k<<<(n + T - 1) / T, T>>>(a, n); float s[T];", "#define T 64", "uses T too"),
        ("k<<<(n + T - 1) / T, T>>>(a, n);", "#define T 64\n#define HALF (T / 2)", "macro"),
        ("int g = (n + 63) / 64; k<<<g, 64>>>(a, n); a[g] = 0;", "", "uses g too"),
        ("k<<<(n + 63) / 64, 64>>>(a, n); k<<<n, 32>>>(a, n);", "", "is not"),
        ("int g = (n + 63) / 64; n *= 2; k<<<g, 64>>>(a, n);", "", "n may change"),
    ],
)
def test_a_host_that_depends_on_the_block_is_refused(host: str, head: str, reason: str) -> None:
    assert reason in refusal(sized(host=host, head=head), "block_size")


def test_the_program_compiles_with_its_larger_block(tmp_path: Path) -> None:
    source = (PROGRAMS / "block_size.cu").read_text(encoding="utf-8")
    edited = applied(source, edit(source, "block_size", kernel="chased"), tmp_path)
    assert len(changed_lines(source, edited)) == 1
    assert "THREADS = 256" in edited
    assert sass(source, tmp_path / "0", "chased") == sass(edited, tmp_path / "1", "chased")
