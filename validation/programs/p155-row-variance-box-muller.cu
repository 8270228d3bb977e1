// Mean and variance of each of 131072 rows of 1024 numbers, and normally distributed numbers from 64 Mi pairs of
// uniform ones (Box-Muller).
#include "../harness.h"

#include <functional>

const int ROWS = 131072, LENGTH = 1024;

__device__ inline float2 moments(float sum, float squares)
{
    float mean = sum / LENGTH;
    return make_float2(mean, squares / LENGTH - mean * mean);
}

// A block of 1024 threads for a row.
__global__ void k155a(float2 *result, const float *x)
{
    __shared__ float sum[LENGTH], squares[LENGTH];
    unsigned tid = threadIdx.x;
    float v = x[blockIdx.x * LENGTH + tid];
    sum[tid] = v;
    squares[tid] = v * v;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            sum[tid] += sum[tid + s];
            squares[tid] += squares[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0)
        result[blockIdx.x] = moments(sum[0], squares[0]);
}

__global__ void k155b(float2 *result, const float *x)
{
    __shared__ float sum[LENGTH], squares[LENGTH];
    unsigned tid = threadIdx.x;
    float v = x[blockIdx.x * LENGTH + tid];
    sum[tid] = v;
    squares[tid] = v * v;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned at = 2 * s * tid;
        if (at < blockDim.x) {
            sum[at] += sum[at + s];
            squares[at] += squares[at + s];
        }
        __syncthreads();
    }
    if (tid == 0)
        result[blockIdx.x] = moments(sum[0], squares[0]);
}

__global__ void k155c(float2 *result, const float *x)
{
    __shared__ float sum[LENGTH], squares[LENGTH];
    unsigned tid = threadIdx.x;
    float v = x[blockIdx.x * LENGTH + tid];
    sum[tid] = v;
    squares[tid] = v * v;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            sum[tid] += sum[tid + s];
            squares[tid] += squares[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0)
        result[blockIdx.x] = moments(sum[0], squares[0]);
}

__device__ inline void add_warp(float &sum, float &squares)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_down_sync(~0u, sum, s);
        squares += __shfl_down_sync(~0u, squares, s);
    }
}

__global__ void k155d(float2 *result, const float *x)
{
    __shared__ float sums[32], more[32];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    float sum = x[blockIdx.x * LENGTH + tid];
    float squares = sum * sum;
    add_warp(sum, squares);
    if (lane == 0) {
        sums[warp] = sum;
        more[warp] = squares;
    }
    __syncthreads();
    if (warp == 0) {
        sum = sums[lane];
        squares = more[lane];
        add_warp(sum, squares);
        if (lane == 0)
            result[blockIdx.x] = moments(sum, squares);
    }
}

// Blocks of 256 threads for eight rows.
__global__ void k155e(float2 *__restrict__ result, const float4 *__restrict__ x)
{
    int lane = threadIdx.x % 32, row = blockIdx.x * 8 + threadIdx.x / 32;
    const float4 *line = x + row * (LENGTH / 4);
    float4 v[8];
#pragma unroll
    for (int k = 0; k < 8; k++)
        v[k] = line[k * 32 + lane];
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
        squares += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
    }
    add_warp(sum, squares);
    if (lane == 0)
        result[row] = moments(sum, squares);
}

const int PAIRS = 64 << 20;

__global__ void k155f(float *z0, float *z1, const float *first, const float *second, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double u1 = first[i], u2 = second[i];
    double radius = sqrt(-2.0 * log(u1));
    double angle = 2.0 * 3.14159265358979323846 * u2;
    z0[i] = radius * cos(angle);
    z1[i] = radius * sin(angle);
}

__global__ void k155g(float *__restrict__ z0, float *__restrict__ z1, const float *__restrict__ first,
                      const float *__restrict__ second, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float u1 = first[i], u2 = second[i];
    float radius = sqrtf(-2.0f * logf(u1));
    float s, c;
    sincospif(2.0f * u2, &s, &c);
    z0[i] = radius * c;
    z1[i] = radius * s;
}

__global__ void k155h(float *__restrict__ z0, float *__restrict__ z1, const float *__restrict__ first,
                      const float *__restrict__ second, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float u1 = first[i], u2 = second[i];
    float radius = sqrtf(-2.0f * __logf(u1));
    float s, c;
    __sincosf(6.28318531f * u2, &s, &c);
    z0[i] = radius * c;
    z1[i] = radius * s;
}

// Rows 0, every, 2 every, ... of an array with rows of width numbers.
void pick(float *some, const float *data, int width, int every, int count)
{
    const size_t bytes = width * sizeof(float);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, data, every * bytes, bytes, count, cudaMemcpyDeviceToDevice));
}

// The number that input() puts at an index.
float uniform(size_t index, unsigned seed, double low, double high)
{
    return float(low + (high - low) * (scrambled(index, seed) / 4294967296.0));
}

int main()
{
    const size_t n = (size_t)ROWS * LENGTH;
    float *x = input<float>(n, 1551, -0.5, 1.5);
    float2 *result = output<float2>(ROWS);
    float *flat = reinterpret_cast<float *>(result);
    const int every = 31, taken = (ROWS - 1) / every + 1;
    std::vector<float> want(2 * taken), all;
    for (int t = 0; t < taken; t++) {
        double sum = 0, squares = 0;
        for (int k = 0; k < LENGTH; k++) {
            double v = uniform((size_t)t * every * LENGTH + k, 1551, -0.5, 1.5);
            sum += v;
            squares += v * v;
        }
        double mean = sum / LENGTH;
        want[2 * t] = float(mean);
        want[2 * t + 1] = float(squares / LENGTH - mean * mean);
    }
    float *some = output<float>(want.size());
    auto statistics = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(result, 0xA5, ROWS * sizeof(float2)));
        launch();
        if (all.empty()) {
            pick(some, flat, 2, every, taken);
            check(name, some, want, 1e-5);
            all = on_host(flat, 2 * ROWS);
        } else
            check(name, flat, all, 1e-5);
    };
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    statistics("k155a", [&] { k155a<<<ROWS, LENGTH>>>(result, x); });
    statistics("k155b", [&] { k155b<<<ROWS, LENGTH>>>(result, x); });
    statistics("k155c", [&] { k155c<<<ROWS, LENGTH>>>(result, x); });
    statistics("k155d", [&] { k155d<<<ROWS, LENGTH>>>(result, x); });
    statistics("k155e", [&] { k155e<<<ROWS / 8, 256>>>(result, x4); });

    const double low = 1e-6, high = 0.999;
    float *first = input<float>(PAIRS, 1552, low, high), *second = input<float>(PAIRS, 1553, 0.0, 1.0);
    float *z = output<float>(2 * (size_t)PAIRS), *z0 = z, *z1 = z + PAIRS;
    const int width = 4096, step = 61, lines = (2 * (PAIRS / width) - 1) / step + 1;
    std::vector<float> normal((size_t)lines * width);
    for (size_t s = 0; s < normal.size(); s++) {
        size_t at = s / width * step * width + s % width, i = at % PAIRS;
        double u1 = uniform(i, 1552, low, high), u2 = uniform(i, 1553, 0.0, 1.0);
        double angle = 2.0 * 3.14159265358979323846 * u2;
        normal[s] = float(std::sqrt(-2.0 * std::log(u1)) * (at < size_t(PAIRS) ? std::cos(angle) : std::sin(angle)));
    }
    float *part = output<float>(normal.size());
    auto numbers = [&](const char *name, double tolerance, std::function<void()> launch) {
        MUST(cudaMemset(z, 0xA5, 2 * (size_t)PAIRS * sizeof(float)));
        launch();
        pick(part, z, width, step, lines);
        check(name, part, normal, tolerance);
    };
    const int blocks = PAIRS / 256;
    numbers("k155f", 1e-5, [&] { k155f<<<blocks, 256>>>(z0, z1, first, second, PAIRS); });
    numbers("k155g", 1e-5, [&] { k155g<<<blocks, 256>>>(z0, z1, first, second, PAIRS); });
    numbers("k155h", 2e-4, [&] { k155h<<<blocks, 256>>>(z0, z1, first, second, PAIRS); });
    return 0;
}
