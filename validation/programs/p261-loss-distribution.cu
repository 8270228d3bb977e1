// Loss distribution of a credit portfolio for each scenario of the market factor: recursion over the names, losses in
// units, the last unit collects everything above.
#include "../harness.h"

constexpr int SCENARIOS = 262144, NAMES = 64, UNITS = 64;

__global__ void k261a(const float *pd, const float *beta, const float *factor, float *dist)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    double z = factor[s];
    for (int k = 0; k < UNITS; k++)
        dist[k * SCENARIOS + s] = k == 0 ? 1.0f : 0.0f;
    for (int i = 0; i < NAMES; i++) {
        double b = beta[i];
        float p = float(normcdf((normcdfinv(double(pd[i])) - b * z) / sqrt(1.0 - b * b)));
        float previous = 0.0f;
        for (int k = 0; k < UNITS - 1; k++) {
            float current = dist[k * SCENARIOS + s];
            dist[k * SCENARIOS + s] = current + p * (previous - current);
            previous = current;
        }
        dist[(UNITS - 1) * SCENARIOS + s] += p * previous;
    }
}

__device__ __forceinline__ void add_name(float (&d)[UNITS], float p)
{
    d[UNITS - 1] += p * d[UNITS - 2];
#pragma unroll
    for (int k = UNITS - 2; k > 0; k--)
        d[k] += p * (d[k - 1] - d[k]);
    d[0] -= p * d[0];
}

__device__ __forceinline__ void start(float (&d)[UNITS])
{
#pragma unroll
    for (int k = 0; k < UNITS; k++)
        d[k] = k == 0 ? 1.0f : 0.0f;
}

__device__ __forceinline__ void store(const float (&d)[UNITS], float *dist, int s)
{
#pragma unroll
    for (int k = 0; k < UNITS; k++)
        dist[k * SCENARIOS + s] = d[k];
}

__global__ void __launch_bounds__(1024) k261b(const float *pd, const float *beta, const float *factor, float *dist)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    double z = factor[s];
    float d[UNITS];
    start(d);
#pragma unroll 1
    for (int i = 0; i < NAMES; i++) {
        double b = beta[i];
        float p = float(normcdf((normcdfinv(double(pd[i])) - b * z) / sqrt(1.0 - b * b)));
        add_name(d, p);
    }
    store(d, dist, s);
}

__global__ void __launch_bounds__(1024) k261c(const float *pd, const float *beta, const float *factor, float *dist)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    float z = factor[s];
    float d[UNITS];
    start(d);
#pragma unroll 1
    for (int i = 0; i < NAMES; i++) {
        float b = beta[i];
        float p = normcdff((normcdfinvf(pd[i]) - b * z) / sqrtf(1.0f - b * b));
        add_name(d, p);
    }
    store(d, dist, s);
}

__device__ __forceinline__ void scenario_with_levels(const float *pd, const float *beta, const float *factor, float *dist)
{
    __shared__ float level[NAMES], slope[NAMES];
    if (threadIdx.x < NAMES) {
        float b = beta[threadIdx.x], r = sqrtf(1.0f - b * b);
        level[threadIdx.x] = normcdfinvf(pd[threadIdx.x]) / r;
        slope[threadIdx.x] = b / r;
    }
    __syncthreads();
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    float z = factor[s];
    float d[UNITS];
    start(d);
#pragma unroll 1
    for (int i = 0; i < NAMES; i++)
        add_name(d, normcdff(level[i] - slope[i] * z));
    store(d, dist, s);
}

__global__ void __launch_bounds__(1024) k261d(const float *pd, const float *beta, const float *factor, float *dist)
{
    scenario_with_levels(pd, beta, factor, dist);
}

__global__ void __launch_bounds__(128) k261e(const float *pd, const float *beta, const float *factor, float *dist)
{
    scenario_with_levels(pd, beta, factor, dist);
}

__constant__ float const_level[NAMES], const_slope[NAMES];

__global__ void __launch_bounds__(128) k261f(const float *factor, float *dist)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    float z = factor[s];
    float d[UNITS];
    start(d);
#pragma unroll 1
    for (int i = 0; i < NAMES; i++)
        add_name(d, normcdff(const_level[i] - const_slope[i] * z));
    store(d, dist, s);
}

__global__ void __launch_bounds__(128) k261g(const float *factor, float *dist)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    float z = factor[s];
    float d[UNITS];
    start(d);
#pragma unroll 2
    for (int i = 0; i < NAMES; i++)
        add_name(d, normcdff(const_level[i] - const_slope[i] * z));
    store(d, dist, s);
}

static double host_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

static double host_cdf_inverse(double p)
{
    double low = -10, high = 10;
    for (int i = 0; i < 80; i++) {
        double middle = 0.5 * (low + high);
        (host_cdf(middle) < p ? low : high) = middle;
    }
    return 0.5 * (low + high);
}

int main()
{
    float *pd = input<float>(NAMES, 1, 0.005, 0.08), *beta = input<float>(NAMES, 2, 0.2, 0.6);
    float *factor = input<float>(SCENARIOS, 3, -2.5, 2.5);
    size_t n = size_t(SCENARIOS) * UNITS;
    float *first = output<float>(n), *other = output<float>(n);

    std::vector<float> hpd = on_host(pd, NAMES), hbeta = on_host(beta, NAMES), hz = on_host(factor, 2048), sample(2048);
    std::vector<float> level(NAMES), slope(NAMES);
    for (int i = 0; i < NAMES; i++) {
        double r = std::sqrt(1.0 - double(hbeta[i]) * hbeta[i]);
        level[i] = float(host_cdf_inverse(hpd[i]) / r);
        slope[i] = float(hbeta[i] / r);
    }
    MUST(cudaMemcpyToSymbol(const_level, level.data(), NAMES * sizeof(float)));
    MUST(cudaMemcpyToSymbol(const_slope, slope.data(), NAMES * sizeof(float)));
    for (int s = 0; s < 2048; s++) { // no loss at all
        double none = 1;
        for (int i = 0; i < NAMES; i++)
            none *= 1 - host_cdf(level[i] - double(slope[i]) * hz[s]);
        sample[s] = float(none);
    }

    k261a<<<SCENARIOS / 256, 256>>>(pd, beta, factor, first);
    check("k261a, samples", first, sample, 1e-4);
    std::vector<float> want = on_host(first, n);
    check("k261a", first, want, 1e-4);
    k261b<<<SCENARIOS / 1024, 1024>>>(pd, beta, factor, other);
    check("k261b", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k261c<<<SCENARIOS / 1024, 1024>>>(pd, beta, factor, other);
    check("k261c", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k261d<<<SCENARIOS / 1024, 1024>>>(pd, beta, factor, other);
    check("k261d", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k261e<<<SCENARIOS / 128, 128>>>(pd, beta, factor, other);
    check("k261e", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k261f<<<SCENARIOS / 128, 128>>>(factor, other);
    check("k261f", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k261g<<<SCENARIOS / 128, 128>>>(factor, other);
    check("k261g", other, want, 1e-4);
}
