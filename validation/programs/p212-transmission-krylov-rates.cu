// Transmission from the top of the atmosphere to every level of many columns, the products of a new Krylov vector with
// eight earlier ones, and rate constants of 32 reactions in the cells of a flame.
#include "../harness.h"

#include <functional>

const int COLUMNS = 1 << 19, LEVELS = 64;

// thickness[column][level]
__global__ void k212a(float *__restrict__ passed, const float *__restrict__ thickness, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float path = 0.0f;
#pragma unroll 8
    for (int k = 0; k < LEVELS; k++) {
        path += thickness[column * LEVELS + k];
        passed[column * LEVELS + k] = exp(-2.1 * path / sqrt(1.0 + 3.7 * path));
    }
}

// thickness[level][column]
__global__ void k212b(float *__restrict__ passed, const float *__restrict__ thickness, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float path = 0.0f;
#pragma unroll 8
    for (int k = 0; k < LEVELS; k++) {
        path += thickness[k * columns + column];
        passed[k * columns + column] = exp(-2.1 * path / sqrt(1.0 + 3.7 * path));
    }
}

__global__ void k212c(float *__restrict__ passed, const float *__restrict__ thickness, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float path = 0.0f;
#pragma unroll 8
    for (int k = 0; k < LEVELS; k++) {
        path += thickness[k * columns + column];
        passed[k * columns + column] = expf(-2.1f * path * rsqrtf(1.0f + 3.7f * path));
    }
}

__global__ void k212d(float *__restrict__ passed, const float *__restrict__ thickness, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns)
        return;
    float path = 0.0f;
#pragma unroll 8
    for (int k = 0; k < LEVELS; k++) {
        path += thickness[k * columns + column];
        passed[k * columns + column] = __expf(-2.1f * path * rsqrtf(1.0f + 3.7f * path));
    }
}

const int LENGTH = 1 << 24, VECTORS = 8, THREADS = 256, RESIDENT = 1056;

__global__ void k212e(float *partial, const float *__restrict__ v, const float *__restrict__ w, int n)
{
    __shared__ float sums[THREADS];
    int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    sums[t] = v[(size_t)blockIdx.y * n + i] * w[i];
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2) {
        if (t % (2 * step) == 0)
            sums[t] += sums[t + step];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.y * gridDim.x + blockIdx.x] = sums[0];
}

__device__ inline float over_warp(float x)
{
    for (int distance = 16; distance > 0; distance /= 2)
        x += __shfl_down_sync(0xFFFFFFFF, x, distance);
    return x;
}

__global__ void k212f(float *partial, const float *__restrict__ v, const float *__restrict__ w, int n)
{
    __shared__ float sums[THREADS / 32];
    const float *mine = v + (size_t)blockIdx.y * n;
    float sum = 0.0f;
#pragma unroll 4
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
        sum += mine[i] * w[i];
    sum = over_warp(sum);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < THREADS / 32; k++)
            sum += sums[k];
        partial[blockIdx.y * gridDim.x + blockIdx.x] = sum;
    }
}

__global__ void k212g(float *partial, const float *__restrict__ v, const float *__restrict__ w, int n)
{
    __shared__ float sums[THREADS / 32][VECTORS];
    float sum[VECTORS] = {};
#pragma unroll 2
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        float factor = w[i];
#pragma unroll
        for (int k = 0; k < VECTORS; k++)
            sum[k] += v[(size_t)k * n + i] * factor;
    }
#pragma unroll
    for (int k = 0; k < VECTORS; k++) {
        sum[k] = over_warp(sum[k]);
        if (threadIdx.x % 32 == 0)
            sums[threadIdx.x / 32][k] = sum[k];
    }
    __syncthreads();
    if (threadIdx.x < VECTORS) {
        float total = 0.0f;
        for (int k = 0; k < THREADS / 32; k++)
            total += sums[k][threadIdx.x];
        partial[threadIdx.x * gridDim.x + blockIdx.x] = total;
    }
}

const int CELLS = 1 << 21, REACTIONS = 32;

__constant__ float factor[REACTIONS], exponent[REACTIONS], energy[REACTIONS];
__constant__ float log2_factor[REACTIONS], reduced[REACTIONS];

// rate[cell][reaction]
__global__ void k212h(float *__restrict__ rate, const float *__restrict__ temperature, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float t = temperature[cell];
    for (int r = 0; r < REACTIONS; r++)
        rate[cell * REACTIONS + r] = factor[r] * powf(t, exponent[r]) * exp(-energy[r] / (1.987 * t));
}

// rate[reaction][cell]
__global__ void k212i(float *__restrict__ rate, const float *__restrict__ temperature, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float t = temperature[cell];
    for (int r = 0; r < REACTIONS; r++)
        rate[r * cells + cell] = factor[r] * powf(t, exponent[r]) * exp(-energy[r] / (1.987 * t));
}

__global__ void k212j(float *__restrict__ rate, const float *__restrict__ temperature, int cells)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    float t = temperature[cell], logarithm = log2f(t), inverse = 1.0f / t;
#pragma unroll
    for (int r = 0; r < REACTIONS; r++)
        rate[r * cells + cell] = exp2f(log2_factor[r] + exponent[r] * logarithm - reduced[r] * inverse);
}

// to[column][row] = from[row][column]
__global__ void fill_swapped(float *to, const float *from, int rows, int columns)
{
    int n = rows * columns;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i % columns * rows + i / columns] = from[i];
}

__global__ void fill_chosen(float *to, const float *from, int count, int width, int every, int per_outer, int per_inner)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count * width)
        to[i] = from[i / width * every * per_outer + i % width * per_inner];
}

__global__ void fill_totals(float *total, const float *partial, int count)
{
    if (threadIdx.x == 0) {
        double sum = 0.0;
        for (int i = 0; i < count; i++)
            sum += partial[blockIdx.x * count + i];
        total[blockIdx.x] = float(sum);
    }
}

int main()
{
    {
        const size_t n = (size_t)COLUMNS * LEVELS;
        float *by_column = input<float>(n, 2121, 0.0, 0.05), *by_level = output<float>(n), *passed = output<float>(n);
        fill_swapped<<<1056, 256>>>(by_level, by_column, COLUMNS, LEVELS);
        MUST(cudaDeviceSynchronize());
        std::vector<float> thickness = on_host(by_column, n);
        const int every = 61, count = COLUMNS / every;
        std::vector<float> want((size_t)count * LEVELS);
        for (int s = 0; s < count; s++) {
            double path = 0;
            for (int k = 0; k < LEVELS; k++) {
                path += thickness[(size_t)s * every * LEVELS + k];
                want[(size_t)s * LEVELS + k] = float(std::exp(-2.1 * path / std::sqrt(1.0 + 3.7 * path)));
            }
        }
        float *some = output<float>(want.size());
        auto transmit = [&](const char *name, int per_column, int per_level, std::function<void()> launch) {
            MUST(cudaMemset(passed, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            fill_chosen<<<(count * LEVELS + 255) / 256, 256>>>(some, passed, count, LEVELS, every, per_column, per_level);
            check(name, some, want, 5e-6);
        };
        const int blocks = COLUMNS / 256;
        transmit("k212a", LEVELS, 1, [&] { k212a<<<blocks, 256>>>(passed, by_column, COLUMNS); });
        transmit("k212b", 1, COLUMNS, [&] { k212b<<<blocks, 256>>>(passed, by_level, COLUMNS); });
        transmit("k212c", 1, COLUMNS, [&] { k212c<<<blocks, 256>>>(passed, by_level, COLUMNS); });
        transmit("k212d", 1, COLUMNS, [&] { k212d<<<blocks, 256>>>(passed, by_level, COLUMNS); });
        for (float *data : {by_column, by_level, passed, some})
            MUST(cudaFree(data));
    }
    {
        const size_t n = LENGTH;
        float *v = input<float>(n * VECTORS, 2122, 0.0, 1.0), *w = input<float>(n, 2123, 0.0, 1.0);
        const int most = LENGTH / THREADS;
        float *partial = output<float>((size_t)most * VECTORS), *total = output<float>(VECTORS);
        std::vector<float> hw = on_host(w, n), want;
        for (int k = 0; k < VECTORS; k++) {
            std::vector<float> hv = on_host(v + k * n, n);
            double sum[4] = {};
            for (size_t i = 0; i < n; i++)
                sum[i % 4] += double(hv[i]) * hw[i];
            want.push_back(float(sum[0] + sum[1] + sum[2] + sum[3]));
        }
        auto products = [&](const char *name, int count, std::function<void()> launch) {
            MUST(cudaMemset(partial, 0xA5, (size_t)most * VECTORS * sizeof(float)));
            MUST(cudaMemset(total, 0xA5, VECTORS * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            fill_totals<<<VECTORS, 32>>>(total, partial, count);
            check(name, total, want, 2e-6);
        };
        products("k212e", most, [&] { k212e<<<dim3(most, VECTORS), THREADS>>>(partial, v, w, LENGTH); });
        products("k212f", RESIDENT, [&] { k212f<<<dim3(RESIDENT, VECTORS), THREADS>>>(partial, v, w, LENGTH); });
        products("k212g", RESIDENT, [&] { k212g<<<RESIDENT, THREADS>>>(partial, v, w, LENGTH); });
        MUST(cudaFree(v));
        MUST(cudaFree(w));
    }
    {
        const size_t n = (size_t)CELLS * REACTIONS;
        float *temperature = input<float>(CELLS, 2124, 800.0, 2400.0), *rate = output<float>(n);
        std::vector<float> a(REACTIONS), b(REACTIONS), e(REACTIONS), log_a(REACTIONS), cut(REACTIONS);
        for (int r = 0; r < REACTIONS; r++) {
            a[r] = float(1000.0 + 9000.0 * (scrambled(r, 2125) / 4294967296.0));
            b[r] = float(-1.0 + 2.0 * (scrambled(r, 2126) / 4294967296.0));
            e[r] = float(16000.0 * (scrambled(r, 2127) / 4294967296.0));
            log_a[r] = float(std::log2(double(a[r])));
            cut[r] = float(e[r] / 1.987 / std::log(2.0));
        }
        const size_t bytes = REACTIONS * sizeof(float);
        MUST(cudaMemcpyToSymbol(factor, a.data(), bytes));
        MUST(cudaMemcpyToSymbol(exponent, b.data(), bytes));
        MUST(cudaMemcpyToSymbol(energy, e.data(), bytes));
        MUST(cudaMemcpyToSymbol(log2_factor, log_a.data(), bytes));
        MUST(cudaMemcpyToSymbol(reduced, cut.data(), bytes));
        std::vector<float> kelvin = on_host(temperature, CELLS);
        const int every = 101, count = CELLS / every;
        std::vector<float> want((size_t)count * REACTIONS);
        for (int s = 0; s < count; s++)
            for (int r = 0; r < REACTIONS; r++) {
                double t = kelvin[(size_t)s * every];
                want[(size_t)s * REACTIONS + r] = float(a[r] * std::pow(t, double(b[r])) * std::exp(-e[r] / (1.987 * t)));
            }
        float *some = output<float>(want.size());
        auto rates = [&](const char *name, int per_cell, int per_reaction, std::function<void()> launch) {
            MUST(cudaMemset(rate, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            fill_chosen<<<(count * REACTIONS + 255) / 256, 256>>>(some, rate, count, REACTIONS, every, per_cell, per_reaction);
            check(name, some, want, 2e-5);
        };
        const int blocks = CELLS / 256;
        rates("k212h", REACTIONS, 1, [&] { k212h<<<blocks, 256>>>(rate, temperature, CELLS); });
        rates("k212i", 1, CELLS, [&] { k212i<<<blocks, 256>>>(rate, temperature, CELLS); });
        rates("k212j", 1, CELLS, [&] { k212j<<<blocks, 256>>>(rate, temperature, CELLS); });
    }
    return 0;
}
