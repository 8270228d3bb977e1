// A matrix of known numbers in device memory, and a check that it was transposed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error = (call);                                                                                    \
        if (error != cudaSuccess) {                                                                                    \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));                                \
            std::exit(2);                                                                                              \
        }                                                                                                              \
    } while (0)

const int N = 4096;
const dim3 BLOCK(32, 8), GRID(N / 32, N / 8);

template <typename T> struct Matrices {
    T *in, *out;

    Matrices()
    {
        std::vector<T> values(size_t(N) * N);
        for (size_t i = 0; i < values.size(); i++)
            values[i] = T(i % 65521);
        MUST(cudaMalloc(&in, values.size() * sizeof(T)));
        MUST(cudaMalloc(&out, values.size() * sizeof(T)));
        MUST(cudaMemcpy(in, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }

    void must_be_transposed()
    {
        std::vector<T> got(size_t(N) * N);
        MUST(cudaGetLastError());
        MUST(cudaMemcpy(got.data(), out, got.size() * sizeof(T), cudaMemcpyDeviceToHost));
        for (size_t y = 0; y < N; y++)
            for (size_t x = 0; x < N; x++)
                if (got[y * N + x] != T((x * N + y) % 65521)) {
                    std::fprintf(stderr, "row %zu, column %zu is wrong\n", y, x);
                    std::exit(1);
                }
    }
};
