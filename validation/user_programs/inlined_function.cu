// What is slow is a function of a header, inlined into the kernel.
#include "matrix.cuh"
#include "run.h"

__global__ void through_function(float *out, const float *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[size_t(y) * n + x] = element(in, x, y, n); // call
}

int main()
{
    Matrices<float> floats;
    through_function<<<GRID, BLOCK>>>(floats.out, floats.in, N);
    floats.must_be_transposed();
}
