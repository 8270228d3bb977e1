// What several elements per thread bring to a loop over constant memory (constant) and over global memory (global), as in
// kernels/constant_memory/applyGenerated*.cu. Each time is the mean of ten launches, warm.
//
//     nvcc -O3 -arch=native -o shared_constants benchmarks/shared_constants.cu && ./shared_constants
//
// On an NVIDIA H200, driver 580, CUDA 13.0, 2026-11-22, in ms:
//     elements              1       2       4       8      16
//     m = 256    constant   1.0564  0.7817  0.0639  0.0455  0.0432
//                global     0.1371  0.0771  0.0769  0.0538  0.0498
//     m = 16384  constant   6.5347  0.5185  0.2064  0.2180  0.3521
//                global     0.6258  0.3726  0.5710  0.4877  0.6351
// applyGenerated_tiled, four elements, takes 0.196 ms in one launch under ncu, with caches flushed; why so much more is not known.
#include <cstdio>
#include <cuda_runtime.h>

__constant__ float in_constant[16384];

template <int ELEMENTS, bool CONSTANT> __global__ void rows(const float *__restrict__ in_global, float *R, int m)
{
    int first = blockIdx.x * blockDim.x * ELEMENTS + threadIdx.x;
    float coefficient[ELEMENTS][4], result[ELEMENTS];
    for (int t = 0; t < ELEMENTS; t++) {
        result[t] = 0;
        for (int i = 0; i < 4; i++)
            coefficient[t][i] = (first + t * blockDim.x) >> 6 * i & 63;
    }
    for (int j = 0; j < m; j += 4)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float signal = CONSTANT ? in_constant[j + i] : in_global[j + i];
#pragma unroll
            for (int t = 0; t < ELEMENTS; t++)
                result[t] += coefficient[t][i] * signal;
        }
    for (int t = 0; t < ELEMENTS; t++)
        R[first + t * blockDim.x] = result[t];
}

template <int ELEMENTS, bool CONSTANT> float milliseconds(const float *in_global, float *R, int count, int m)
{
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    for (int i = 0; i < 12; i++) {
        if (i == 2)
            cudaEventRecord(start);
        rows<ELEMENTS, CONSTANT><<<count / 256 / ELEMENTS, 256>>>(in_global, R, m);
    }
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    float elapsed;
    cudaEventElapsedTime(&elapsed, start, stop);
    return elapsed / 10;
}

template <int ELEMENTS> void print(const float *in_global, float *R, int count, int m)
{
    printf("m %5d, elements %2d: constant %.4f ms, global %.4f ms\n", m, ELEMENTS,
           milliseconds<ELEMENTS, true>(in_global, R, count, m), milliseconds<ELEMENTS, false>(in_global, R, count, m));
}

void print_all(const float *in_global, float *R, int count, int m)
{
    print<1>(in_global, R, count, m);
    print<2>(in_global, R, count, m);
    print<4>(in_global, R, count, m);
    print<8>(in_global, R, count, m);
    print<16>(in_global, R, count, m);
}

int main()
{
    float *R, *in_global;
    cudaMalloc(&R, 4194304 * sizeof(float));
    cudaMalloc(&in_global, sizeof(in_constant));
    cudaMemset(in_global, 0, sizeof(in_constant));
    print_all(in_global, R, 4194304, 256);
    print_all(in_global, R, 262144, 16384);
    cudaError_t ended = cudaDeviceSynchronize();
    printf("%s\n", cudaGetErrorString(ended));
    return ended != cudaSuccess;
}
