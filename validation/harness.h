// What every program of the accuracy set needs: seeded inputs, poisoned outputs, and the check that a rewritten kernel
// computes what the first one did. Programs print a line for each launch; the launches stand in the order of the labels.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <vector>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));                       \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

// Numbers from 0 to 2^32 - 1 that depend on the index alone, so that they are made on the device in one pass.
__host__ __device__ inline unsigned scrambled(unsigned long long index, unsigned seed)
{
    unsigned long long x = (index + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return static_cast<unsigned>(x >> 32);
}

template <class T> __global__ void harness_fill(T *data, size_t n, unsigned seed, double low, double high)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        data[i] = T(low + (high - low) * (scrambled(i, seed) / 4294967296.0));
}

// n numbers from low to high (of integers: below high).
template <class T> T *input(size_t n, unsigned seed, double low, double high)
{
    T *data;
    MUST(cudaMalloc(&data, n * sizeof(T)));
    harness_fill<<<1056, 256>>>(data, n, seed, low, high);
    MUST(cudaDeviceSynchronize());
    return data;
}

// A copy of host data on the device.
template <class T> T *on_device(const std::vector<T> &host)
{
    T *data;
    MUST(cudaMalloc(&data, host.size() * sizeof(T)));
    MUST(cudaMemcpy(data, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return data;
}

// Room for n numbers, filled so that one that is not written shows.
template <class T> T *output(size_t n)
{
    T *data;
    MUST(cudaMalloc(&data, n * sizeof(T)));
    MUST(cudaMemset(data, 0xA5, n * sizeof(T)));
    return data;
}

template <class T> T *zeroed(size_t n)
{
    T *data = output<T>(n);
    MUST(cudaMemset(data, 0, n * sizeof(T)));
    return data;
}

template <class T> std::vector<T> on_host(const T *data, size_t n)
{
    std::vector<T> host(n);
    MUST(cudaMemcpy(host.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

// After a launch: wait, and say how many of the n numbers differ by more than the tolerance (relative, and absolute
// below 1) from what they should be. Ends the program if any does.
template <class T> void check(const char *kernel, const T *got, const std::vector<T> &want, double tolerance)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    // Trials of one kernel run the program often, and have no use for the results of the others.
    const char *only = std::getenv("NCUVIEW_CHECKED");
    if (only && !std::strstr(kernel, only))
        return;
    std::vector<T> host = on_host(got, want.size());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); i++) {
        double a = double(host[i]), b = double(want[i]);
        wrong += !(std::fabs(a - b) <= tolerance * std::fmax(1.0, std::fabs(b)));
    }
    std::printf("%s: %zu of %zu wrong\n", kernel, wrong, want.size());
    if (wrong)
        std::exit(2);
}
