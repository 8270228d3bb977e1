"""A kernel that PyCUDA compiles, whose lanes read a column."""

# mypy: ignore-errors

import numpy as np
import pycuda.autoinit  # noqa: F401
from pycuda import gpuarray
from pycuda.compiler import SourceModule

N = 4096
SOURCE = """
__global__ void column_read(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    out[y * n + x] = in[x * n + y]; // waste
}
"""


def main() -> None:
    """Transpose a matrix and check it."""
    matrix = np.arange(N * N, dtype=np.float32).reshape(N, N)
    given, out = gpuarray.to_gpu(matrix), gpuarray.empty((N, N), np.float32)
    kernel = SourceModule(SOURCE, options=["-lineinfo"], keep=True, cache_dir=False).get_function("column_read")
    kernel(out, given, np.int32(N), grid=(N // 32, N // 8), block=(32, 8, 1))
    np.testing.assert_array_equal(out.get(), matrix.T)


if __name__ == "__main__":
    main()
