"""A Numba kernel whose lanes read a column. Numba writes a line table only when it is asked to."""

# ruff: noqa: ANN001, ANN201, D103  annotations would be read by the compiler
# mypy: ignore-errors

import numpy as np
from numba import cuda

N = 4096


@cuda.jit(lineinfo=True)
def column_read(out, matrix):
    x, y = cuda.grid(2)
    out[y, x] = matrix[x, y]  # waste


def main():
    matrix = np.arange(N * N, dtype=np.float32).reshape(N, N)
    out = cuda.device_array_like(matrix)
    column_read[(N // 32, N // 8), (32, 8)](out, cuda.to_device(matrix))
    np.testing.assert_array_equal(out.copy_to_host(), matrix.T)


if __name__ == "__main__":
    main()
