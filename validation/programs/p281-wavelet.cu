// One level of the 9/7 wavelet transform along the columns of an image: low band in the upper half, high band in the lower.
#include "../harness.h"
#include <algorithm>
#include <cuda_pipeline.h>

constexpr int ROWS = 8192, COLS = 8192, HALF = ROWS / 2, PAIRS = 32;

// Symmetric filters: nine taps of the low pass around row 2i, seven of the high pass around row 2i + 1.
#define L0 0.602949018236f
#define L1 0.266864118443f
#define L2 -0.078223266529f
#define L3 -0.016864118443f
#define L4 0.026748757411f
#define H0 1.115087052457f
#define H1 -0.591271763114f
#define H2 -0.057543526229f
#define H3 0.091271763114f

// w holds rows 2i - 4 to 2i + 4.
__device__ float low(const float *w)
{
    return L0 * w[4] + L1 * (w[3] + w[5]) + L2 * (w[2] + w[6]) + L3 * (w[1] + w[7]) + L4 * (w[0] + w[8]);
}
__device__ float high(const float *w)
{
    return H0 * w[5] + H1 * (w[4] + w[6]) + H2 * (w[3] + w[7]) + H3 * (w[2] + w[8]);
}
__device__ int mirrored(int r)
{
    r = abs(r);
    return r < ROWS ? r : 2 * ROWS - 2 - r;
}

// One pair of outputs per thread.
__device__ void one_pair(const float *__restrict__ image, float *__restrict__ out, int i, int col)
{
    float w[9];
#pragma unroll
    for (int k = 0; k < 9; k++)
        w[k] = image[(size_t)mirrored(2 * i - 4 + k) * COLS + col];
    out[(size_t)i * COLS + col] = low(w);
    out[(size_t)(HALF + i) * COLS + col] = high(w);
}

__global__ void k281a(const float *__restrict__ image, float *__restrict__ out)
{
    one_pair(image, out, blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y);
}

__global__ void k281b(const float *__restrict__ image, float *__restrict__ out)
{
    one_pair(image, out, blockIdx.y, blockIdx.x * blockDim.x + threadIdx.x);
}

// Threads walk down a column with the last nine rows in a window.
__device__ void walk(const float *__restrict__ image, float *__restrict__ out, int first, int pairs, int col)
{
    float w[9];
#pragma unroll
    for (int k = 0; k < 7; k++)
        w[k] = image[(size_t)mirrored(2 * first - 4 + k) * COLS + col];
#pragma unroll 8
    for (int i = first; i < first + pairs; i++) {
        w[7] = image[(size_t)mirrored(2 * i + 3) * COLS + col];
        w[8] = image[(size_t)mirrored(2 * i + 4) * COLS + col];
        out[(size_t)i * COLS + col] = low(w);
        out[(size_t)(HALF + i) * COLS + col] = high(w);
#pragma unroll
        for (int k = 0; k < 7; k++)
            w[k] = w[k + 2];
    }
}

__global__ void k281c(const float *__restrict__ image, float *__restrict__ out)
{
    walk(image, out, 0, HALF, blockIdx.x * blockDim.x + threadIdx.x);
}

// Filters whose lengths are known at run time, centred; the window is a ring of 16 rows.
struct Filters {
    float low[9], high[9];
    int lows, highs;
};

__global__ void k281d(const float *__restrict__ image, float *__restrict__ out, Filters f)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * PAIRS;
    float ring[16];
    for (int k = 0; k < 7; k++)
        ring[(2 * first + 12 + k) % 16] = image[(size_t)mirrored(2 * first - 4 + k) * COLS + col];
    for (int i = first; i < first + PAIRS; i++) {
        int at = 2 * i + 12;
        ring[(at + 7) % 16] = image[(size_t)mirrored(2 * i + 3) * COLS + col];
        ring[(at + 8) % 16] = image[(size_t)mirrored(2 * i + 4) * COLS + col];
        float l = 0, h = 0;
        for (int k = 0; k < f.lows; k++)
            l += f.low[k] * ring[(at + 4 - f.lows / 2 + k) % 16];
        for (int k = 0; k < f.highs; k++)
            h += f.high[k] * ring[(at + 5 - f.highs / 2 + k) % 16];
        out[(size_t)i * COLS + col] = l;
        out[(size_t)(HALF + i) * COLS + col] = h;
    }
}

__global__ void k281e(const float *__restrict__ image, float *__restrict__ out)
{
    walk(image, out, blockIdx.y * PAIRS, PAIRS, blockIdx.x * blockDim.x + threadIdx.x);
}

// Tiles of 32 columns in shared memory.
__global__ void k281f(const float *__restrict__ image, float *__restrict__ out)
{
    __shared__ float tile[2 * PAIRS + 7][32];
    int col = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * PAIRS;
#pragma unroll
    for (int r = threadIdx.y; r < 2 * PAIRS + 7; r += 8)
        tile[r][threadIdx.x] = image[(size_t)mirrored(2 * first - 4 + r) * COLS + col];
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.y; i < PAIRS; i += 8) {
        float w[9];
#pragma unroll
        for (int k = 0; k < 9; k++)
            w[k] = tile[2 * i + k][threadIdx.x];
        out[(size_t)(first + i) * COLS + col] = low(w);
        out[(size_t)(HALF + first + i) * COLS + col] = high(w);
    }
}

__global__ void k281g(const float *__restrict__ image, float *__restrict__ out)
{
    __shared__ float tile[2 * PAIRS + 7][32];
    int col = blockIdx.x * 32 + threadIdx.x, first = blockIdx.y * PAIRS;
#pragma unroll
    for (int r = threadIdx.y; r < 2 * PAIRS + 7; r += 8)
        __pipeline_memcpy_async(&tile[r][threadIdx.x], &image[(size_t)mirrored(2 * first - 4 + r) * COLS + col], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
#pragma unroll
    for (int i = threadIdx.y; i < PAIRS; i += 8) {
        float w[9];
#pragma unroll
        for (int k = 0; k < 9; k++)
            w[k] = tile[2 * i + k][threadIdx.x];
        out[(size_t)(first + i) * COLS + col] = low(w);
        out[(size_t)(HALF + first + i) * COLS + col] = high(w);
    }
}

int main()
{
    const size_t n = (size_t)ROWS * COLS;
    float *image = input<float>(n, 1, -128, 128), *out = output<float>(n);
    k281a<<<dim3(HALF / 256, COLS), 256>>>(image, out);
    MUST(cudaDeviceSynchronize());
    std::vector<float> first = on_host(out, n), x = on_host(image, n);
    const double lo[] = {L0, L1, L2, L3, L4}, hi[] = {H0, H1, H2, H3};
    auto at = [&](int r, int c) {
        r = std::abs(r);
        r = r < ROWS ? r : 2 * ROWS - 2 - r;
        return (double)x[(size_t)r * COLS + c];
    };
    for (int k = 0; k < 40000; k++) {
        int c = scrambled(k, 7) % COLS, i = k < 100 ? k % 4 : k < 200 ? HALF - 1 - k % 4 : scrambled(k, 8) % HALF;
        double l = lo[0] * at(2 * i, c), h = hi[0] * at(2 * i + 1, c);
        for (int t = 1; t < 5; t++)
            l += lo[t] * (at(2 * i - t, c) + at(2 * i + t, c));
        for (int t = 1; t < 4; t++)
            h += hi[t] * (at(2 * i + 1 - t, c) + at(2 * i + 1 + t, c));
        if (std::fabs(l - first[(size_t)i * COLS + c]) > 1e-3 || std::fabs(h - first[(size_t)(HALF + i) * COLS + c]) > 1e-3)
            return std::printf("k281a: pair %d of column %d\n", i, c), 2;
    }
    check("k281a", out, first, 0);
    auto clear = [&] { MUST(cudaMemset(out, 0xA5, n * 4)); };
    clear();
    k281b<<<dim3(COLS / 256, HALF), 256>>>(image, out);
    check("k281b", out, first, 1e-4);
    clear();
    k281c<<<COLS / 64, 64>>>(image, out);
    check("k281c", out, first, 1e-4);
    clear();
    Filters filters{{L4, L3, L2, L1, L0, L1, L2, L3, L4}, {H3, H2, H1, H0, H1, H2, H3}, 9, 7};
    k281d<<<dim3(COLS / 256, HALF / PAIRS), 256>>>(image, out, filters);
    check("k281d", out, first, 1e-4);
    clear();
    k281e<<<dim3(COLS / 256, HALF / PAIRS), 256>>>(image, out);
    check("k281e", out, first, 1e-4);
    clear();
    k281f<<<dim3(COLS / 32, HALF / PAIRS), dim3(32, 8)>>>(image, out);
    check("k281f", out, first, 1e-4);
    clear();
    k281g<<<dim3(COLS / 32, HALF / PAIRS), dim3(32, 8)>>>(image, out);
    check("k281g", out, first, 1e-4);
}
