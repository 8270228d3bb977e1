// Absorption coefficient of a gas at many wavenumbers: sum of the Lorentz profiles of all lines, widths and strengths
// scaled to the temperature.
#include "../harness.h"

constexpr int POINTS = 262144, LINES = 2048, TILE = 256, PER = 4;

struct Lines {
    const float *centre, *width, *exponent, *strength, *energy;
};

__device__ __forceinline__ float width_at(const Lines &lines, int l, float temperature)
{
    return lines.width[l] * powf(296.0f / temperature, lines.exponent[l]);
}

__device__ __forceinline__ float strength_at(const Lines &lines, int l, float temperature)
{
    return lines.strength[l] * powf(296.0f / temperature, 1.5f) *
           expf(-1.4388f * lines.energy[l] * (1.0f / temperature - 1.0f / 296.0f));
}

__global__ void k263a(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    int at = blockIdx.x * blockDim.x * PER + threadIdx.x;
    double nu[PER], sum[PER] = {};
    for (int q = 0; q < PER; q++)
        nu[q] = wavenumber[at + q * blockDim.x];
    for (int l = 0; l < LINES; l++) {
        double g = width_at(lines, l, temperature), s = strength_at(lines, l, temperature), c = lines.centre[l];
        for (int q = 0; q < PER; q++) {
            double x = nu[q] - c;
            sum[q] += s * g / (3.14159265358979 * (x * x + g * g));
        }
    }
    for (int q = 0; q < PER; q++)
        absorption[at + q * blockDim.x] = float(sum[q]);
}

__global__ void k263b(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    __shared__ double centre[TILE], square[TILE], factor[TILE];
    int at = blockIdx.x * blockDim.x * PER + threadIdx.x;
    double nu[PER], sum[PER] = {};
    for (int q = 0; q < PER; q++)
        nu[q] = wavenumber[at + q * blockDim.x];
    for (int base = 0; base < LINES; base += TILE) {
        __syncthreads();
        double g = width_at(lines, base + threadIdx.x, temperature);
        centre[threadIdx.x] = lines.centre[base + threadIdx.x];
        square[threadIdx.x] = g * g;
        factor[threadIdx.x] = strength_at(lines, base + threadIdx.x, temperature) * g / 3.14159265358979;
        __syncthreads();
        for (int l = 0; l < TILE; l++)
            for (int q = 0; q < PER; q++) {
                double x = nu[q] - centre[l];
                sum[q] += factor[l] / (x * x + square[l]);
            }
    }
    for (int q = 0; q < PER; q++)
        absorption[at + q * blockDim.x] = float(sum[q]);
}

__global__ void k263c(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    __shared__ float centre[TILE], square[TILE], factor[TILE];
    int at = blockIdx.x * blockDim.x * PER + threadIdx.x;
    float nu[PER], sum[PER] = {};
    for (int q = 0; q < PER; q++)
        nu[q] = wavenumber[at + q * blockDim.x];
    for (int base = 0; base < LINES; base += TILE) {
        __syncthreads();
        float g = width_at(lines, base + threadIdx.x, temperature);
        centre[threadIdx.x] = lines.centre[base + threadIdx.x];
        square[threadIdx.x] = g * g;
        factor[threadIdx.x] = strength_at(lines, base + threadIdx.x, temperature) * g / 3.14159265f;
        __syncthreads();
        for (int l = 0; l < TILE; l++)
            for (int q = 0; q < PER; q++) {
                float x = nu[q] - centre[l];
                sum[q] += factor[l] / (x * x + square[l]);
            }
    }
    for (int q = 0; q < PER; q++)
        absorption[at + q * blockDim.x] = sum[q];
}

__device__ __forceinline__ float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k263d(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    __shared__ float centre[TILE], square[TILE], factor[TILE];
    int at = blockIdx.x * blockDim.x * PER + threadIdx.x;
    float nu[PER], sum[PER] = {};
    for (int q = 0; q < PER; q++)
        nu[q] = wavenumber[at + q * blockDim.x];
    for (int base = 0; base < LINES; base += TILE) {
        __syncthreads();
        float g = width_at(lines, base + threadIdx.x, temperature);
        centre[threadIdx.x] = lines.centre[base + threadIdx.x];
        square[threadIdx.x] = g * g;
        factor[threadIdx.x] = strength_at(lines, base + threadIdx.x, temperature) * g / 3.14159265f;
        __syncthreads();
        for (int l = 0; l < TILE; l++)
            for (int q = 0; q < PER; q++) {
                float x = nu[q] - centre[l];
                sum[q] += factor[l] * reciprocal(x * x + square[l]);
            }
    }
    for (int q = 0; q < PER; q++)
        absorption[at + q * blockDim.x] = sum[q];
}

__global__ void k263e(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    __shared__ __align__(16) float centre[TILE], square[TILE], factor[TILE];
    int at = blockIdx.x * blockDim.x * PER + threadIdx.x;
    float nu[PER], sum[PER] = {};
    for (int q = 0; q < PER; q++)
        nu[q] = wavenumber[at + q * blockDim.x];
    for (int base = 0; base < LINES; base += TILE) {
        __syncthreads();
        float g = width_at(lines, base + threadIdx.x, temperature);
        centre[threadIdx.x] = lines.centre[base + threadIdx.x];
        square[threadIdx.x] = g * g;
        factor[threadIdx.x] = strength_at(lines, base + threadIdx.x, temperature) * g / 3.14159265f;
        __syncthreads();
#pragma unroll 4
        for (int l = 0; l < TILE; l += 2) // a / b + c / d = (a d + c b) / (b d)
            for (int q = 0; q < PER; q++) {
                float x = nu[q] - centre[l], y = nu[q] - centre[l + 1];
                float b = x * x + square[l], d = y * y + square[l + 1];
                sum[q] += (factor[l] * d + factor[l + 1] * b) * reciprocal(b * d);
            }
    }
    for (int q = 0; q < PER; q++)
        absorption[at + q * blockDim.x] = sum[q];
}

template <int UNROLL>
__device__ __forceinline__ void four_lines(const float *wavenumber, const Lines &lines, float temperature, float *absorption)
{
    __shared__ __align__(16) float centre[TILE], square[TILE], factor[TILE];
    int at = blockIdx.x * blockDim.x * PER + threadIdx.x;
    float nu[PER], sum[PER] = {};
    for (int q = 0; q < PER; q++)
        nu[q] = wavenumber[at + q * blockDim.x];
    for (int base = 0; base < LINES; base += TILE) {
        __syncthreads();
        float g = width_at(lines, base + threadIdx.x, temperature);
        centre[threadIdx.x] = lines.centre[base + threadIdx.x];
        square[threadIdx.x] = g * g;
        factor[threadIdx.x] = strength_at(lines, base + threadIdx.x, temperature) * g / 3.14159265f;
        __syncthreads();
#pragma unroll UNROLL
        for (int l = 0; l < TILE; l += 4)
            for (int q = 0; q < PER; q++) {
                float x0 = nu[q] - centre[l], x1 = nu[q] - centre[l + 1];
                float x2 = nu[q] - centre[l + 2], x3 = nu[q] - centre[l + 3];
                float b0 = x0 * x0 + square[l], b1 = x1 * x1 + square[l + 1];
                float b2 = x2 * x2 + square[l + 2], b3 = x3 * x3 + square[l + 3];
                float n01 = factor[l] * b1 + factor[l + 1] * b0, d01 = b0 * b1;
                float n23 = factor[l + 2] * b3 + factor[l + 3] * b2, d23 = b2 * b3;
                sum[q] += (n01 * d23 + n23 * d01) * reciprocal(d01 * d23);
            }
    }
    for (int q = 0; q < PER; q++)
        absorption[at + q * blockDim.x] = sum[q];
}

__global__ void k263f(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    four_lines<2>(wavenumber, lines, temperature, absorption);
}

__global__ void k263g(const float *wavenumber, Lines lines, float temperature, float *absorption)
{
    four_lines<8>(wavenumber, lines, temperature, absorption);
}

int main()
{
    float *wavenumber = input<float>(POINTS, 1, -500, 500);
    float *centre = input<float>(LINES, 2, -500, 500), *width = input<float>(LINES, 3, 0.05, 0.12);
    float *exponent = input<float>(LINES, 4, 0.5, 0.8), *strength = input<float>(LINES, 5, 0.1, 1.0);
    float *energy = input<float>(LINES, 6, 0, 2000);
    Lines lines = {centre, width, exponent, strength, energy};
    const float temperature = 250.0f;
    float *first = output<float>(POINTS), *other = output<float>(POINTS);

    const int samples = 512;
    std::vector<float> nu = on_host(wavenumber, samples), c = on_host(centre, LINES), w = on_host(width, LINES);
    std::vector<float> e = on_host(exponent, LINES), s = on_host(strength, LINES), en = on_host(energy, LINES);
    std::vector<float> sample(samples);
    for (int i = 0; i < samples; i++) {
        double sum = 0;
        for (int l = 0; l < LINES; l++) {
            double t = temperature, g = w[l] * std::pow(296 / t, e[l]), x = double(nu[i]) - c[l];
            double a = s[l] * std::pow(296 / t, 1.5) * std::exp(-1.4388 * en[l] * (1 / t - 1 / 296.0));
            sum += a * g / (3.14159265358979 * (x * x + g * g));
        }
        sample[i] = float(sum);
    }

    const int blocks = POINTS / (256 * PER);
    k263a<<<blocks, 256>>>(wavenumber, lines, temperature, first);
    check("k263a, samples", first, sample, 1e-3);
    std::vector<float> want = on_host(first, POINTS);
    check("k263a", first, want, 1e-3);
    k263b<<<blocks, 256>>>(wavenumber, lines, temperature, other);
    check("k263b", other, want, 1e-3);
    MUST(cudaMemset(other, 0xA5, POINTS * sizeof(float)));
    k263c<<<blocks, 256>>>(wavenumber, lines, temperature, other);
    check("k263c", other, want, 1e-3);
    MUST(cudaMemset(other, 0xA5, POINTS * sizeof(float)));
    k263d<<<blocks, 256>>>(wavenumber, lines, temperature, other);
    check("k263d", other, want, 1e-3);
    MUST(cudaMemset(other, 0xA5, POINTS * sizeof(float)));
    k263e<<<blocks, 256>>>(wavenumber, lines, temperature, other);
    check("k263e", other, want, 1e-3);
    MUST(cudaMemset(other, 0xA5, POINTS * sizeof(float)));
    k263f<<<blocks, 256>>>(wavenumber, lines, temperature, other);
    check("k263f", other, want, 1e-3);
    MUST(cudaMemset(other, 0xA5, POINTS * sizeof(float)));
    k263g<<<blocks, 256>>>(wavenumber, lines, temperature, other);
    check("k263g", other, want, 1e-3);
}
