// Area-weighted sums of every level of an ocean temperature field, and an absorption spectrum as sum of Lorentz lines
// with a pressure shift.
#include "../harness.h"

constexpr int LEVELS = 64, ROWS = 1024, COLUMNS = 1024, BAND = 8; // BAND: rows of a block

// grid: (COLUMNS / 256, ROWS, LEVELS)
__global__ void k246a(const float *__restrict__ field, const float *__restrict__ weight, float *__restrict__ sums)
{
    int row = blockIdx.y, level = blockIdx.z;
    int column = blockIdx.x * 256 + threadIdx.x;
    float value = field[((size_t)level * ROWS + row) * COLUMNS + column] * weight[row];
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&sums[level], value);
}

__device__ __forceinline__ void add_block(float value, float *sum)
{
    __shared__ float part[256];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d)
            part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, part[0]);
}

__global__ void k246b(const float *__restrict__ field, const float *__restrict__ weight, float *__restrict__ sums)
{
    int row = blockIdx.y, level = blockIdx.z;
    int column = blockIdx.x * 256 + threadIdx.x;
    float value = field[((size_t)level * ROWS + row) * COLUMNS + column] * weight[row];
    add_block(value, &sums[level]);
}

__device__ __forceinline__ float band_sum(const float *__restrict__ field, const float *__restrict__ weight)
{
    int row = blockIdx.x * BAND, level = blockIdx.y;
    const float *start = field + ((size_t)level * ROWS + row) * COLUMNS + threadIdx.x;
    float value = 0.0f;
#pragma unroll 4
    for (int r = 0; r < BAND; r++) {
        const float *p = start + r * COLUMNS;
        float sum = (p[0] + p[256]) + (p[512] + p[768]);
        value += sum * weight[row + r];
    }
    return value;
}

// grid: (ROWS / BAND, LEVELS)
__global__ void k246c(const float *__restrict__ field, const float *__restrict__ weight, float *__restrict__ sums)
{
    add_block(band_sum(field, weight), &sums[blockIdx.y]);
}

__global__ void k246d(const float *__restrict__ field, const float *__restrict__ weight, float *__restrict__ sums)
{
    __shared__ float part[8];
    float value = band_sum(field, weight);
    for (int d = 16; d > 0; d /= 2)
        value += __shfl_down_sync(0xffffffffu, value, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x < 8) {
        value = part[threadIdx.x];
        for (int d = 4; d > 0; d /= 2)
            value += __shfl_down_sync(0xffu, value, d);
        if (threadIdx.x == 0)
            atomicAdd(&sums[blockIdx.y], value);
    }
}

struct Lines {
    const float *centre, *shift, *strength, *width2; // strength: with the width, width2: its square
    int count;
};

__global__ void k246e(Lines lines, float pressure, float start, float step, float *__restrict__ absorption)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float nu = start + step * i, sum = 0.0f;
    for (int l = 0; l < lines.count; l++) {
        float d = nu - (lines.centre[l] + pressure * lines.shift[l]);
        sum += lines.strength[l] / (d * d + lines.width2[l]);
    }
    absorption[i] = sum;
}

__global__ void k246f(Lines lines, float pressure, float start, float step, float *__restrict__ absorption)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float nu = start + step * i, sum = 0.0f;
    for (int l = 0; l < lines.count; l++) {
        float d = nu - (lines.centre[l] + pressure * lines.shift[l]);
        sum += __fdividef(lines.strength[l], d * d + lines.width2[l]);
    }
    absorption[i] = sum;
}

// four wavenumbers of a thread, blockDim.x apart
__global__ void k246g(Lines lines, float pressure, float start, float step, float *__restrict__ absorption)
{
    int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
    float nu[4], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < 4; k++)
        nu[k] = start + step * (i + k * (int)blockDim.x);
    for (int l = 0; l < lines.count; l++) {
        float centre = lines.centre[l] + pressure * lines.shift[l];
        float strength = lines.strength[l], width2 = lines.width2[l];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float d = nu[k] - centre;
            sum[k] += __fdividef(strength, d * d + width2);
        }
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        absorption[i + k * blockDim.x] = sum[k];
}

int main()
{
    const size_t n = (size_t)LEVELS * ROWS * COLUMNS;
    float *field = input<float>(n, 1, 0.0, 30.0);
    std::vector<float> cosines(ROWS);
    for (int r = 0; r < ROWS; r++)
        cosines[r] = float(cos((r + 0.5 - ROWS / 2) * 3.14159265 / ROWS));
    float *weight = on_device(cosines);
    std::vector<float> level0 = on_host(field, ROWS * COLUMNS), first(1);
    double total = 0;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            total += double(level0[r * COLUMNS + c]) * cosines[r];
    first[0] = float(total);
    float *sa = zeroed<float>(LEVELS), *sb = zeroed<float>(LEVELS), *sc = zeroed<float>(LEVELS), *sd = zeroed<float>(LEVELS);
    k246a<<<dim3(COLUMNS / 256, ROWS, LEVELS), 256>>>(field, weight, sa);
    check("k246a", sa, first, 2e-4);
    std::vector<float> want = on_host(sa, LEVELS);
    k246b<<<dim3(COLUMNS / 256, ROWS, LEVELS), 256>>>(field, weight, sb);
    check("k246b", sb, want, 2e-4);
    k246c<<<dim3(ROWS / BAND, LEVELS), 256>>>(field, weight, sc);
    check("k246c", sc, want, 2e-4);
    k246d<<<dim3(ROWS / BAND, LEVELS), 256>>>(field, weight, sd);
    check("k246d", sd, want, 2e-4);

    const int count = 4096, points = 1 << 19;
    const float start = 600.0f, step = 200.0f / points, pressure = 0.8f;
    float *centre = input<float>(count, 2, 600.0, 800.0), *shift = input<float>(count, 3, -0.01, 0.01);
    float *strength = input<float>(count, 4, 0.001, 0.01), *width2 = input<float>(count, 5, 0.003, 0.01);
    Lines lines = {centre, shift, strength, width2, count};
    std::vector<float> hc = on_host(centre, count), hs = on_host(shift, count), ht = on_host(strength, count),
                       hw = on_host(width2, count), some(500);
    for (int i = 0; i < 500; i++) {
        double sum = 0;
        float nu = start + step * i;
        for (int l = 0; l < count; l++) {
            double d = double(nu) - (hc[l] + double(pressure) * hs[l]);
            sum += ht[l] / (d * d + hw[l]);
        }
        some[i] = float(sum);
    }
    float *xe = output<float>(points), *xf = output<float>(points), *xg = output<float>(points);
    k246e<<<points / 256, 256>>>(lines, pressure, start, step, xe);
    check("k246e", xe, some, 5e-3);
    std::vector<float> spectrum = on_host(xe, points);
    k246f<<<points / 256, 256>>>(lines, pressure, start, step, xf);
    check("k246f", xf, spectrum, 1e-3);
    k246g<<<points / 1024, 256>>>(lines, pressure, start, step, xg);
    check("k246g", xg, spectrum, 1e-3);
}
