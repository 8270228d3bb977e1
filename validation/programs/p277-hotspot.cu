// Temperature of a chip: one explicit time step on a grid of cells, and the hottest cell of every unit of the floor plan.
#include "../harness.h"
#include <algorithm>
#include <cstdint>
#include <cstring>

constexpr int ROWS = 8192, COLS = 8192, STRIP = 4, UNITS = 256;

struct Chip {
    double rx, ry, rz, cap, step, ambient;
};

__device__ float cell_divided(float t, float n, float s, float w, float e, float p, const Chip &chip)
{
    double c = t;
    double delta = chip.step * (p + ((double)n + s - 2.0 * c) / chip.ry + ((double)e + w - 2.0 * c) / chip.rx +
                                (chip.ambient - c) / chip.rz) / chip.cap;
    return (float)(c + delta);
}

// A thread updates STRIP cells of one column.
__global__ void k277a(const float *temp, const float *power, float *out, Chip chip)
{
    int row0 = (blockIdx.y * blockDim.x + threadIdx.x) * STRIP, col = blockIdx.x * blockDim.y + threadIdx.y;
    for (int r = row0; r < row0 + STRIP; r++) {
        size_t i = (size_t)r * COLS + col;
        float t = temp[i];
        float n = r > 0 ? temp[i - COLS] : t, s = r < ROWS - 1 ? temp[i + COLS] : t;
        float w = col > 0 ? temp[i - 1] : t, e = col < COLS - 1 ? temp[i + 1] : t;
        out[i] = cell_divided(t, n, s, w, e, power[i], chip);
    }
}

__global__ void k277b(const float *__restrict__ temp, const float *__restrict__ power, float *__restrict__ out, Chip chip)
{
    int row0 = (blockIdx.y * blockDim.y + threadIdx.y) * STRIP, col = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < STRIP; k++) {
        int r = row0 + k;
        size_t i = (size_t)r * COLS + col;
        float t = temp[i];
        float n = r > 0 ? temp[i - COLS] : t, s = r < ROWS - 1 ? temp[i + COLS] : t;
        float w = col > 0 ? temp[i - 1] : t, e = col < COLS - 1 ? temp[i + 1] : t;
        out[i] = cell_divided(t, n, s, w, e, power[i], chip);
    }
}

// The same with the reciprocals of the resistances.
template <class Real> struct Factors {
    Real x, y, z, step, ambient;
};

template <class Real> __device__ void strip(const float *__restrict__ temp, const float *__restrict__ power,
                                            float *__restrict__ out, const Factors<Real> &f)
{
    int row0 = (blockIdx.y * blockDim.y + threadIdx.y) * STRIP, col = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < STRIP; k++) {
        int r = row0 + k;
        size_t i = (size_t)r * COLS + col;
        float t = temp[i];
        float n = r > 0 ? temp[i - COLS] : t, s = r < ROWS - 1 ? temp[i + COLS] : t;
        float w = col > 0 ? temp[i - 1] : t, e = col < COLS - 1 ? temp[i + 1] : t;
        Real c = t;
        Real delta = f.step * ((Real)power[i] + ((Real)n + (Real)s - 2 * c) * f.y + ((Real)e + (Real)w - 2 * c) * f.x +
                               (f.ambient - c) * f.z);
        out[i] = (float)(c + delta);
    }
}

__global__ void k277c(const float *__restrict__ temp, const float *__restrict__ power, float *__restrict__ out,
                      Factors<double> f)
{
    strip<double>(temp, power, out, f);
}

__global__ void k277d(const float *__restrict__ temp, const float *__restrict__ power, float *__restrict__ out,
                      Factors<float> f)
{
    strip<float>(temp, power, out, f);
}

// Hottest cell of each unit; temperatures are positive, so that their bits are ordered as integers.
__global__ void k277e(const float *__restrict__ temp, const uint8_t *__restrict__ unit, int *__restrict__ peak, size_t n)
{
    __shared__ int local[UNITS];
    for (int u = threadIdx.x; u < UNITS; u += blockDim.x)
        local[u] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        atomicMax(&local[unit[i]], __float_as_int(temp[i]));
    __syncthreads();
    for (int u = threadIdx.x; u < UNITS; u += blockDim.x)
        if (local[u])
            atomicMax(&peak[u], local[u]);
}

__device__ void put(int *local, int u, int value)
{
    if (__all_sync(0xffffffffu, u == __shfl_sync(0xffffffffu, u, 0))) {
        int best = __reduce_max_sync(0xffffffffu, value);
        if (threadIdx.x % 32 == 0)
            atomicMax(&local[u], best);
    } else
        atomicMax(&local[u], value);
}

__global__ void k277f(const float *__restrict__ temp, const uint8_t *__restrict__ unit, int *__restrict__ peak, size_t n)
{
    __shared__ int local[UNITS];
    for (int u = threadIdx.x; u < UNITS; u += blockDim.x)
        local[u] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        put(local, unit[i], __float_as_int(temp[i]));
    __syncthreads();
    for (int u = threadIdx.x; u < UNITS; u += blockDim.x)
        if (local[u])
            atomicMax(&peak[u], local[u]);
}

// Units are at least four cells wide and start at multiples of four columns.
__global__ void k277g(const float4 *__restrict__ temp, const uchar4 *__restrict__ unit, int *__restrict__ peak, size_t n4)
{
    __shared__ int local[UNITS];
    for (int u = threadIdx.x; u < UNITS; u += blockDim.x)
        local[u] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n4; i += (size_t)gridDim.x * blockDim.x) {
        float4 t = temp[i];
        uchar4 u = unit[i];
        put(local, u.x, __float_as_int(fmaxf(fmaxf(t.x, t.y), fmaxf(t.z, t.w))));
    }
    __syncthreads();
    for (int u = threadIdx.x; u < UNITS; u += blockDim.x)
        if (local[u])
            atomicMax(&peak[u], local[u]);
}

int main()
{
    const size_t n = (size_t)ROWS * COLS;
    float *temp = input<float>(n, 1, 323, 341), *power = input<float>(n, 2, 0, 0.01), *out = output<float>(n);
    Chip chip{0.1, 0.12, 40.0, 3.5, 0.02, 80.0};
    Factors<double> fd{1 / chip.rx, 1 / chip.ry, 1 / chip.rz, chip.step / chip.cap, chip.ambient};
    Factors<float> ff{(float)fd.x, (float)fd.y, (float)fd.z, (float)fd.step, (float)fd.ambient};

    k277a<<<dim3(COLS / 16, ROWS / (16 * STRIP)), dim3(16, 16)>>>(temp, power, out, chip);
    MUST(cudaDeviceSynchronize());
    std::vector<float> first = on_host(out, n), t = on_host(temp, n), p = on_host(power, n);
    for (size_t k = 0; k < 20000; k++) {
        size_t i = k < 100 ? k : k < 200 ? n - 1 - k + 100 : scrambled(k, 9) % n;
        int r = i / COLS, c = i % COLS;
        double m = t[i], north = r ? t[i - COLS] : m, south = r < ROWS - 1 ? t[i + COLS] : m;
        double west = c ? t[i - 1] : m, east = c < COLS - 1 ? t[i + 1] : m;
        double want = m + chip.step / chip.cap * (p[i] + (north + south - 2 * m) / chip.ry + (east + west - 2 * m) / chip.rx +
                                                  (chip.ambient - m) / chip.rz);
        if (std::fabs(want - first[i]) > 1e-4 * want)
            return std::printf("k277a: cell %zu is %g, not %g\n", i, first[i], want), 2;
    }
    check("k277a", out, first, 0);
    dim3 grid(COLS / 32, ROWS / (8 * STRIP)), block(32, 8);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k277b<<<grid, block>>>(temp, power, out, chip);
    check("k277b", out, first, 1e-5);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k277c<<<grid, block>>>(temp, power, out, fd);
    check("k277c", out, first, 1e-5);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k277d<<<grid, block>>>(temp, power, out, ff);
    check("k277d", out, first, 1e-5);

    std::vector<uint8_t> plan(n);
    std::vector<int> peak(UNITS, 0);
    for (size_t i = 0; i < n; i++) {
        plan[i] = (uint8_t)(i / COLS / 512 * 16 + i % COLS / 512);
        int bits;
        memcpy(&bits, &t[i], 4);
        peak[plan[i]] = std::max(peak[plan[i]], bits);
    }
    uint8_t *unit = on_device(plan);
    int *best = zeroed<int>(UNITS);
    k277e<<<1056, 256>>>(temp, unit, best, n);
    check("k277e", best, peak, 0);
    MUST(cudaMemset(best, 0, UNITS * 4));
    k277f<<<1056, 256>>>(temp, unit, best, n);
    check("k277f", best, peak, 0);
    MUST(cudaMemset(best, 0, UNITS * 4));
    k277g<<<1056, 256>>>((const float4 *)temp, (const uchar4 *)unit, best, n / 4);
    check("k277g", best, peak, 0);
}
