"""A kernel that CuPy compiles, whose lanes read a column."""

# mypy: ignore-errors

import cupy

N = 4096
SOURCE = r"""
extern "C" __global__ void column_read(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * n + x] = in[x * n + y]; // waste
}
"""


def main() -> None:
    """Transpose a matrix and check it."""
    matrix = cupy.arange(N * N, dtype=cupy.float32).reshape(N, N)
    out = cupy.empty_like(matrix)
    kernel = cupy.RawKernel(SOURCE, "column_read", options=("-lineinfo",))
    kernel((N // 32, N // 8), (32, 8), (out, matrix, N))
    cupy.testing.assert_array_equal(out, matrix.T)


if __name__ == "__main__":
    main()
