// Code that two programs share, so that what is slow lies in a header.
#pragma once

#include <cstddef>

template <typename T> __device__ __forceinline__ T element(const T *matrix, int row, int column, int n)
{
    return matrix[size_t(row) * n + column]; // waste
}

template <typename T> __global__ void transposed(T *out, const T *in, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n)
        out[size_t(y) * n + x] = in[size_t(x) * n + y]; // template waste
}
