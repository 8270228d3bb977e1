// Two kernels of one file, each with a defect of its own: a column read from memory, and one read from shared memory.
#include "run.h"

__global__ void from_memory(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[size_t(y) * n + x] = in[size_t(x) * n + y]; // memory waste
}

__global__ void from_tile(float *out, const float *in, int n)
{
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[size_t(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[size_t(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j]; // tile waste
}

int main()
{
    Matrices<float> floats;
    from_memory<<<GRID, BLOCK>>>(floats.out, floats.in, N);
    floats.must_be_transposed();
    from_tile<<<dim3(N / 32, N / 32), BLOCK>>>(floats.out, floats.in, N);
    floats.must_be_transposed();
}
