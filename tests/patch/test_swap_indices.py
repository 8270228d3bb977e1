"""threadIdx.x and threadIdx.y are exchanged where that only changes which thread does what."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.patch.building import PROGRAMS, applied, changed_lines, edit, refusal, sass

COALESCING = "swap_indices"


def grid(body: str, block: str = "32, 32", declared: str = "") -> str:
    return f"""
__global__ void k(float *out, const float *in, int n)
{{
    {declared}
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int column = blockIdx.y * blockDim.y + threadIdx.y;
    {body}
}}
void run(float *out, float *in, int n) {{ dim3 block({block}); k<<<n, block>>>(out, in, n); }}
"""


def test_indices_are_exchanged_in_the_complete_kernel(tmp_path: Path) -> None:
    source = grid("if (row < n) out[row * n + column] = in[row * n + column];")
    edited = applied(source, edit(source, COALESCING, "out[row"), tmp_path)
    assert [after for _, after in changed_lines(source, edited)] == [
        "int row = blockIdx.x * blockDim.x + threadIdx.y;",
        "int column = blockIdx.y * blockDim.y + threadIdx.x;",
    ]
    sass(edited, tmp_path / "compiled")
    assert "no index on these lines" in refusal(edited, COALESCING, "out[row")


@pytest.mark.parametrize(
    ("body", "block", "reason"),
    [
        ("out[row * n + column] = in[row * n + column];", "32, 8", "32 by 8"),
        ("out[row * n + column] = in[row * n + column];", "4, 4", "too short"),
        ("out[row * n + column] = in[row * n + column];", "n, n", "not a constant"),
        ("out[row * n + column] = in[column * n + row];", "32, 32", "transpose it in a tile"),
        ("out[row + column * n] = in[row + column * n];", "32, 32", "no index"),
        ("out[row * n + 2 * column] = 0;", "32, 32", "is not contiguous in memory"),
        ("out[row * n + column] = __shfl_sync(~0u, in[row], 0);", "32, 32", "__shfl_sync"),
        ("atomicAdd(&row, 1); out[row * n + column] = 0;", "32, 32", "no index"),
        ("int other; atomicAdd(&other, n); out[row * n + column + other] = 0;", "32, 32", "no index"),
        ("row = 1; out[row * n + column] = 0;", "32, 32", "no index"),
        ("out[IDX(row, column)] = 0;", "32, 32", "may be a macro"),
        ("out[row * n + column + TX] = 0;", "32, 32", "may be a macro"),
        ("*(out + row * n + column) = 0;", "32, 32", "through a pointer"),
    ],
)
def test_what_would_not_help_or_not_hold_is_refused(body: str, block: str, reason: str) -> None:
    assert reason in refusal(grid(body, block), COALESCING, body)


STAGED = (PROGRAMS / "swap_copy.cu").read_text(encoding="utf-8")


def test_a_copy_into_a_tile_is_exchanged_alone(tmp_path: Path) -> None:
    edited = applied(STAGED, edit(STAGED, COALESCING, "] = a[(", kernel="product"), tmp_path)
    assert changed_lines(STAGED, edited) == [
        ("as[tx][ty] = a[(row + tx) * n + m + ty];", "as[ty][tx] = a[(row + ty) * n + m + tx];")
    ]
    both = applied(STAGED, edit(STAGED, COALESCING, "[tx][ty] =", kernel="product"), tmp_path)
    assert "bs[ty][tx] = b[(m + ty) * n + column + tx];" in both
    sass(both, tmp_path / "compiled", "product")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("        __syncthreads();\n\n", "\n", "no barrier is between"),
        ("bs[k][tx];\n        __syncthreads();", "bs[k][tx];", "no barrier is between"),
        ("as[tx][ty] = a[", "as[tx][ty] += a[", "does not only copy"),
        ("as[tx][ty] = a[", "if (tx < 16) as[tx][ty] = a[", "all threads of a block"),
        ("c[(row + ty)", "sum += as[0][tx]; c[(row + ty)", "outside the block"),
        ("int row = blockIdx.y * TILE,", "int row = blockIdx.y * TILE + tx,", "differs between threads"),
    ],
)
def test_a_copy_that_other_threads_may_see_too_early_is_refused(old: str, new: str, reason: str) -> None:
    assert old in STAGED
    assert reason in refusal(STAGED.replace(old, new), COALESCING, "= a[(row", kernel="product")


def test_the_program_compiles_with_its_lanes_along_memory(tmp_path: Path) -> None:
    source = (PROGRAMS / "swap_indices.cu").read_text(encoding="utf-8")
    edited = applied(source, edit(source, COALESCING, "out[row", kernel="scaled"), tmp_path)
    assert len(changed_lines(source, edited)) == 2
    sass(edited, tmp_path / "compiled", "scaled")
