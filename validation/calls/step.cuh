// Runs variants of a C++ program as step.py runs those of a Python program: of each some steps to warm up, then one
// step with the profiler on.
//
//     ./program VARIANT ...
//     ./program --time VARIANT     prints its wall time too
//
// A kernel called ncuview_next_variant runs before each step that is profiled and after the last one, so that reports
// and traces show where a variant begins. A run fails where a variant's result is not that of the first one.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

constexpr int WARM_UP = 3;
constexpr int TIMED = 7;

// Ends the program where a function of CUDA, cuBLAS or cuFFT does not succeed: each of them returns 0 then.
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        const int status = static_cast<int>(call);                                                                     \
        if (status != 0) {                                                                                             \
            fprintf(stderr, "%s:%d: %s returned %d\n", __FILE__, __LINE__, #call, status);                             \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

extern "C" __global__ void ncuview_next_variant() {}

// A State has `float *result` and `size_t count`: what its variants compute, on the device.
template <class State> struct Variant {
    const char *name;
    void (*step)(State &);
};

__global__ void fill_uniformly(float *values, size_t count, unsigned seed, float low, float high)
{
    const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < count) {
        unsigned bits = static_cast<unsigned>(i) * 2654435761u ^ seed * 0x9e3779b9u;
        bits = (bits ^ bits >> 16) * 0x7feb352du;
        bits = (bits ^ bits >> 15) * 0x846ca68bu;
        values[i] = low + (high - low) * static_cast<float>((bits ^ bits >> 16) >> 8) * 0x1p-24f;
    }
}

// Floats on the device.
inline float *device_floats(size_t count)
{
    float *values = nullptr;
    CHECK(cudaMalloc(&values, count * sizeof(float)));
    return values;
}

// Floats on the device between two numbers, the same in each run.
inline float *uniform_floats(size_t count, unsigned seed, float low, float high)
{
    float *values = device_floats(count);
    fill_uniformly<<<static_cast<unsigned>((count + 255) / 256), 256>>>(values, count, seed, low, high);
    CHECK(cudaGetLastError());
    return values;
}

template <class State> std::vector<float> result_of(const State &state)
{
    std::vector<float> values(state.count);
    CHECK(cudaMemcpy(values.data(), state.result, state.count * sizeof(float), cudaMemcpyDeviceToHost));
    return values;
}

// The largest difference as a share of the largest expected value; NaN where one of the results has it.
inline double difference_of(const std::vector<float> &found, const std::vector<float> &expected)
{
    double largest = 0.0, difference = 0.0;
    for (size_t i = 0; i < expected.size(); ++i) {
        const double here = std::fabs(static_cast<double>(found[i]) - expected[i]);
        largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
        if (!(here <= difference))
            difference = here;
        if (std::isnan(difference))
            break;
    }
    return difference / largest;
}

template <class State> void run_to_end(void (*step)(State &), State &state)
{
    step(state);
    CHECK(cudaDeviceSynchronize());
}

template <class State> double median_ms(void (*step)(State &), State &state)
{
    std::vector<double> took;
    for (int i = 0; i < TIMED; ++i) {
        const auto started = std::chrono::steady_clock::now();
        run_to_end(step, state);
        took.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count());
    }
    std::nth_element(took.begin(), took.begin() + TIMED / 2, took.end());
    return took[TIMED / 2];
}

inline void mark()
{
    ncuview_next_variant<<<1, 1>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

// The main function of a program. `tolerance` is a share of the largest value of the result.
template <class State>
int run_steps(int argc, char **argv, State &state, const std::vector<Variant<State>> &variants, double tolerance)
{
    const bool timed = argc > 1 && std::strcmp(argv[1], "--time") == 0;
    std::vector<Variant<State>> chosen;
    for (int word = timed ? 2 : 1; word < argc; ++word) {
        const auto named = [&](const Variant<State> &variant) { return std::strcmp(variant.name, argv[word]) == 0; };
        const auto found = std::find_if(variants.begin(), variants.end(), named);
        if (found == variants.end()) {
            fprintf(stderr, "there is no variant %s\n", argv[word]);
            return 2;
        }
        chosen.push_back(*found);
    }
    CHECK(cudaDeviceSynchronize());
    std::vector<std::vector<float>> results;
    for (size_t number = 0; number < chosen.size(); ++number) {
        CHECK(cudaMemset(state.result, 0xff, state.count * sizeof(float)));  // NaN, which no result of another variant is
        for (int i = 0; i < WARM_UP; ++i)
            run_to_end(chosen[number].step, state);
        if (timed)
            printf("%.4f\n", median_ms(chosen[number].step, state));
        CHECK(cudaProfilerStart());
        mark();
        run_to_end(chosen[number].step, state);
        if (number + 1 == chosen.size())
            mark();
        CHECK(cudaProfilerStop());
        results.push_back(result_of(state));
    }
    run_to_end(variants.front().step, state);
    const std::vector<float> expected = result_of(state);
    for (size_t number = 0; number < chosen.size(); ++number) {
        const double difference = difference_of(results[number], expected);
        if (!(difference <= tolerance)) {
            fprintf(stderr, "%s differs from %s by %g\n", chosen[number].name, variants.front().name, difference);
            return 1;
        }
    }
    return 0;
}
