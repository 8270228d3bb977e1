// Market data: maximum drawdown of many instruments, bars from ticks, and implied volatilities.
#include "../harness.h"

// Largest fall of the logarithmic price from its running maximum, for each instrument. prices[instrument][day]
__global__ void k238a(const float *prices, float *drawdown, int instruments, int days)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= instruments)
        return;
    const float *p = prices + (size_t)i * days;
    float peak = p[0], worst = 0;
    for (int t = 1; t < days; t++) {
        peak = fmaxf(peak, p[t]);
        worst = fmaxf(worst, peak - p[t]);
    }
    drawdown[i] = worst;
}

// prices[day][instrument]
__global__ void k238b(const float *prices, float *drawdown, int instruments, int days)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= instruments)
        return;
    float peak = prices[i], worst = 0;
    for (int t = 1; t < days; t++) {
        float p = prices[(size_t)t * instruments + i];
        peak = fmaxf(peak, p);
        worst = fmaxf(worst, peak - p);
    }
    drawdown[i] = worst;
}

// days is a multiple of 16
__global__ void k238c(const float *prices, float *drawdown, int instruments, int days)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= instruments)
        return;
    const float *p = prices + i;
    float peak = p[0], worst = 0;
    for (int t = 0; t < days; t += 16) {
        float next[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            next[k] = p[(size_t)(t + k) * instruments];
#pragma unroll
        for (int k = 0; k < 16; k++) {
            peak = fmaxf(peak, next[k]);
            worst = fmaxf(worst, peak - next[k]);
        }
    }
    drawdown[i] = worst;
}

__global__ void k238d(const float *__restrict__ prices, float *__restrict__ drawdown, int instruments, int days)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= instruments)
        return;
    const float *p = prices + i;
    float peak = __ldg(p), worst = 0;
    for (int t = 0; t < days; t += 16) {
        float next[16];
#pragma unroll
        for (int k = 0; k < 16; k++)
            next[k] = __ldg(p + (size_t)(t + k) * instruments);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            peak = fmaxf(peak, next[k]);
            worst = fmaxf(worst, peak - next[k]);
        }
    }
    drawdown[i] = worst;
}

// Bars of 64 ticks: open, high, low and close price, and the volume
constexpr int TICKS = 64;

__global__ void k238e(const float *price, const float *size, float4 *bars, float *volume, int nbars)
{
    int bar = blockIdx.x * blockDim.x + threadIdx.x;
    if (bar >= nbars)
        return;
    size_t first = (size_t)bar * TICKS;
    float high = price[first], low = high, total = 0;
    for (int t = 0; t < TICKS; t++) {
        float p = price[first + t];
        high = fmaxf(high, p);
        low = fminf(low, p);
        total += size[first + t];
    }
    bars[bar] = make_float4(price[first], high, low, price[first + TICKS - 1]);
    volume[bar] = total;
}

// One block of 64 threads for each bar
__global__ void k238f(const float *price, const float *size, float4 *bars, float *volume)
{
    __shared__ float high[TICKS], low[TICKS], total[TICKS];
    int t = threadIdx.x;
    size_t first = (size_t)blockIdx.x * TICKS;
    high[t] = low[t] = price[first + t];
    total[t] = size[first + t];
    __syncthreads();
    for (int s = TICKS / 2; s > 0; s /= 2) {
        if (t < s) {
            high[t] = fmaxf(high[t], high[t + s]);
            low[t] = fminf(low[t], low[t + s]);
            total[t] += total[t + s];
        }
        __syncthreads();
    }
    if (t == 0) {
        bars[blockIdx.x] = make_float4(price[first], high[0], low[0], price[first + TICKS - 1]);
        volume[blockIdx.x] = total[0];
    }
}

// Sixteen lanes for each bar, four ticks each
__global__ void k238g(const float4 *price, const float4 *size, float4 *bars, float *volume, int nbars)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int bar = thread / 16, lane = threadIdx.x % 16;
    if (bar >= nbars)
        return;
    float4 p = price[thread], q = size[thread];
    float high = fmaxf(fmaxf(p.x, p.y), fmaxf(p.z, p.w));
    float low = fminf(fminf(p.x, p.y), fminf(p.z, p.w));
    float total = (q.x + q.y) + (q.z + q.w);
#pragma unroll
    for (int d = 8; d > 0; d /= 2) {
        high = fmaxf(high, __shfl_xor_sync(0xffffffffu, high, d));
        low = fminf(low, __shfl_xor_sync(0xffffffffu, low, d));
        total += __shfl_xor_sync(0xffffffffu, total, d);
    }
    float close = __shfl_sync(0xffffffffu, p.w, 15, 16);
    if (lane == 0) {
        bars[bar] = make_float4(p.x, high, low, close);
        volume[bar] = total;
    }
}

// Implied volatilities of European calls without interest: Newton's method from 0.3
struct Options {
    double *spot, *strike, *years, *premium;
};
struct OptionsF {
    float *spot, *strike, *years, *premium;
};
constexpr int STEPS = 5;

__device__ inline double cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752);
}

__global__ void k238h(Options o, double *vol, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double s = o.spot[i], k = o.strike[i], t = o.years[i], want = o.premium[i];
    double root = sqrt(t), m = log(s / k), v = 0.3;
    for (int step = 0; step < STEPS; step++) {
        double d1 = m / (v * root) + 0.5 * v * root;
        double d2 = d1 - v * root;
        double price = s * cdf(d1) - k * cdf(d2);
        double vega = s * root * 0.3989422804014327 * exp(-0.5 * d1 * d1);
        v -= (price - want) / vega;
    }
    vol[i] = v;
}

__device__ inline float cdf(float x)
{
    return 0.5f * erfcf(-x * 0.70710678f);
}

__global__ void k238i(OptionsF o, float *vol, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = o.spot[i], k = o.strike[i], t = o.years[i], want = o.premium[i];
    float root = sqrtf(t), m = logf(s / k), v = 0.3f;
    for (int step = 0; step < STEPS; step++) {
        float d1 = m / (v * root) + 0.5f * v * root;
        float d2 = d1 - v * root;
        float price = s * cdf(d1) - k * cdf(d2);
        float vega = s * root * 0.39894228f * expf(-0.5f * d1 * d1);
        v -= (price - want) / vega;
    }
    vol[i] = v;
}

// Abramowitz and Stegun 26.2.17; density is the normal density at x
__device__ inline float cdf_fast(float x, float density)
{
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(x));
    float tail = density * k *
                 (0.319381530f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return x < 0 ? tail : 1.0f - tail;
}

__global__ void k238j(OptionsF o, float *vol, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float s = o.spot[i], k = o.strike[i], t = o.years[i], want = o.premium[i];
    float root = sqrtf(t), m = __logf(__fdividef(s, k)), v = 0.3f;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
        float d1 = __fdividef(m, v * root) + 0.5f * v * root;
        float d2 = d1 - v * root;
        float n1 = 0.39894228f * __expf(-0.5f * d1 * d1), n2 = 0.39894228f * __expf(-0.5f * d2 * d2);
        float price = s * cdf_fast(d1, n1) - k * cdf_fast(d2, n2);
        v -= __fdividef(price - want, s * root * n1);
    }
    vol[i] = v;
}

__global__ void transpose(const float *in, float *out, int rows, int columns)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < (size_t)rows * columns)
        out[(i % columns) * rows + i / columns] = in[i];
}

__global__ void make_premiums(Options o, OptionsF f, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double v = 0.15 + 0.35 * (scrambled(i, 77) / 4294967296.0);
    double s = o.spot[i] = f.spot[i], k = o.strike[i] = f.strike[i], t = o.years[i] = f.years[i];
    double root = sqrt(t), d1 = log(s / k) / (v * root) + 0.5 * v * root;
    f.premium[i] = float(s * cdf(d1) - k * cdf(d1 - v * root));
    o.premium[i] = f.premium[i];
}

int main()
{
    {
        const int instruments = 65536, days = 1024;
        size_t n = (size_t)instruments * days;
        float *prices = input<float>(n, 1, 3, 6), *by_day = output<float>(n);
        transpose<<<n / 256, 256>>>(prices, by_day, instruments, days);
        float *out = output<float>(instruments);
        k238a<<<instruments / 256, 256>>>(prices, out, instruments, days);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(out, instruments);
        check("k238a", out, want, 0);
        float *o2 = output<float>(instruments), *o3 = output<float>(instruments), *o4 = output<float>(instruments);
        k238b<<<instruments / 256, 256>>>(by_day, o2, instruments, days);
        check("k238b", o2, want, 0);
        k238c<<<instruments / 256, 256>>>(by_day, o3, instruments, days);
        check("k238c", o3, want, 0);
        k238d<<<instruments / 256, 256>>>(by_day, o4, instruments, days);
        check("k238d", o4, want, 0);
        MUST(cudaFree(prices));
        MUST(cudaFree(by_day));
    }
    {
        const int nbars = 1 << 19;
        float *price = input<float>((size_t)nbars * TICKS, 2, 10, 20), *size = input<float>((size_t)nbars * TICKS, 3, 1, 9);
        float4 *bars = output<float4>(nbars);
        float *volume = output<float>(nbars);
        k238e<<<nbars / 256, 256>>>(price, size, bars, volume, nbars);
        MUST(cudaDeviceSynchronize());
        auto want = on_host((float *)bars, 4 * (size_t)nbars), want_volume = on_host(volume, nbars);
        check("k238e", volume, want_volume, 0);
        bars = output<float4>(nbars);
        volume = output<float>(nbars);
        k238f<<<nbars, TICKS>>>(price, size, bars, volume);
        check("k238f", (float *)bars, want, 0);
        check("k238f", volume, want_volume, 1e-5);
        bars = output<float4>(nbars);
        volume = output<float>(nbars);
        k238g<<<nbars / 16, 256>>>((float4 *)price, (float4 *)size, bars, volume, nbars);
        check("k238g", (float *)bars, want, 0);
        check("k238g", volume, want_volume, 1e-5);
        MUST(cudaFree(price));
        MUST(cudaFree(size));
    }
    {
        const int n = 8 << 20;
        OptionsF f = {input<float>(n, 4, 90, 110), input<float>(n, 5, 95, 105), input<float>(n, 6, 0.5, 2), output<float>(n)};
        Options o = {output<double>(n), output<double>(n), output<double>(n), output<double>(n)};
        make_premiums<<<n / 256, 256>>>(o, f, n);
        double *vol = output<double>(n);
        k238h<<<n / 256, 256>>>(o, vol, n);
        MUST(cudaDeviceSynchronize());
        auto exact = on_host(vol, n);
        check("k238h", vol, exact, 0);
        std::vector<float> want(exact.begin(), exact.end());
        float *v2 = output<float>(n), *v3 = output<float>(n);
        k238i<<<n / 256, 256>>>(f, v2, n);
        check("k238i", v2, want, 2e-3);
        k238j<<<n / 256, 256>>>(f, v3, n);
        check("k238j", v3, want, 2e-3);
    }
    return 0;
}
