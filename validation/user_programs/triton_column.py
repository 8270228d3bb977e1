"""A Triton kernel whose lanes read a column, through a function that is inlined."""

# ruff: noqa: ANN001, ANN201, D103  annotations would be read by the compiler
# mypy: ignore-errors

import torch
import triton
import triton.language as tl

N = 4096


@triton.jit
def element(matrix, row, column, n: tl.constexpr):
    return tl.load(matrix + row * n + column)  # waste


@triton.jit
def column_read(out, matrix, n: tl.constexpr, block: tl.constexpr):
    place = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out + place, element(matrix, place % n, place // n, n))  # call


def main():
    matrix = torch.arange(N * N, dtype=torch.float32, device="cuda").reshape(N, N)
    out = torch.empty_like(matrix)
    column_read[(N * N // 1024,)](out, matrix, N, 1024)
    torch.testing.assert_close(out, matrix.T)


if __name__ == "__main__":
    main()
