// Jensen-Shannon divergence between pairs of histograms, and net energy flux at the sea surface (longwave radiation and
// stirring by the wind).
#include "../harness.h"

constexpr int BINS = 128;

__device__ __forceinline__ float term(float p, float q)
{
    float m = 0.5f * (p + q);
    return p * logf(p / m) + q * logf(q / m);
}

__device__ __forceinline__ float term_fast(float p, float q)
{
    float m = 0.5f * (p + q);
    return p * __logf(__fdividef(p, m)) + q * __logf(__fdividef(q, m));
}

// p, q: [pair][bin]; one pair of histograms per thread
__global__ void k252a(const float *__restrict__ p, const float *__restrict__ q, float *__restrict__ divergence)
{
    size_t pair = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int b = 0; b < BINS; b++)
        sum += term(p[pair * BINS + b], q[pair * BINS + b]);
    divergence[pair] = 0.5f * sum;
}

__global__ void k252b(const float *__restrict__ p, const float *__restrict__ q, float *__restrict__ divergence)
{
    size_t pair = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int b = 0; b < BINS; b++)
        sum += term_fast(p[pair * BINS + b], q[pair * BINS + b]);
    divergence[pair] = 0.5f * sum;
}

// one pair of histograms per warp
__global__ void k252c(const float *__restrict__ p, const float *__restrict__ q, float *__restrict__ divergence)
{
    size_t pair = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    size_t i = pair * BINS + lane;
    float a[BINS / 32], b[BINS / 32];
#pragma unroll
    for (int k = 0; k < BINS / 32; k++) {
        a[k] = p[i + 32 * k];
        b[k] = q[i + 32 * k];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < BINS / 32; k++)
        sum += term(a[k], b[k]);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        divergence[pair] = 0.5f * sum;
}

__global__ void k252d(const float *__restrict__ p, const float *__restrict__ q, float *__restrict__ divergence)
{
    size_t pair = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    size_t i = pair * BINS + lane;
    float a[BINS / 32], b[BINS / 32];
#pragma unroll
    for (int k = 0; k < BINS / 32; k++) {
        a[k] = p[i + 32 * k];
        b[k] = q[i + 32 * k];
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < BINS / 32; k++)
        sum += term_fast(a[k], b[k]);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
        divergence[pair] = 0.5f * sum;
}

constexpr float SIGMA = 5.67e-8f, SKY = 0.82f, STIRRING = 1.6e-3f;

__device__ __forceinline__ float flux(float air, float sea, float wind)
{
    return SIGMA * (SKY * powf(air, 4.0f) - powf(sea, 4.0f)) + STIRRING * powf(wind, 3.0f);
}

__device__ __forceinline__ float fourth(float x) { return (x * x) * (x * x); }

__device__ __forceinline__ float flux_products(float air, float sea, float wind)
{
    return SIGMA * (SKY * fourth(air) - fourth(sea)) + STIRRING * (wind * wind * wind);
}

__global__ void k252e(const float4 *air, const float4 *sea, const float4 *wind, float4 *net)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = air[i], s = sea[i], w = wind[i];
    net[i] = make_float4(flux(a.x, s.x, w.x), flux(a.y, s.y, w.y), flux(a.z, s.z, w.z), flux(a.w, s.w, w.w));
}

__global__ void k252f(const float4 *air, const float4 *sea, const float4 *wind, float4 *net)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = air[i], s = sea[i], w = wind[i];
    net[i] = make_float4(flux_products(a.x, s.x, w.x), flux_products(a.y, s.y, w.y), flux_products(a.z, s.z, w.z),
                         flux_products(a.w, s.w, w.w));
}

__global__ void k252g(const float4 *air, const float4 *sea, const float4 *wind, float4 *net)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = __ldg(&air[i]), s = __ldg(&sea[i]), w = __ldg(&wind[i]);
    net[i] = make_float4(flux_products(a.x, s.x, w.x), flux_products(a.y, s.y, w.y), flux_products(a.z, s.z, w.z),
                         flux_products(a.w, s.w, w.w));
}

int main()
{
    const int pairs = 1 << 18;
    float *p = input<float>((size_t)pairs * BINS, 1, 0.001, 0.015), *q = input<float>((size_t)pairs * BINS, 2, 0.001, 0.015);
    std::vector<float> hp = on_host(p, 1000 * BINS), hq = on_host(q, 1000 * BINS), first(1000);
    for (int i = 0; i < 1000; i++) {
        double sum = 0;
        for (int b = 0; b < BINS; b++) {
            double x = hp[i * BINS + b], y = hq[i * BINS + b], m = 0.5 * (x + y);
            sum += x * log(x / m) + y * log(y / m);
        }
        first[i] = float(0.5 * sum);
    }
    float *da = output<float>(pairs), *db = output<float>(pairs), *dc = output<float>(pairs), *dd = output<float>(pairs);
    k252a<<<pairs / 256, 256>>>(p, q, da);
    check("k252a", da, first, 1e-5);
    std::vector<float> want = on_host(da, pairs);
    k252b<<<pairs / 256, 256>>>(p, q, db);
    check("k252b", db, want, 1e-5);
    k252c<<<pairs / 8, 256>>>(p, q, dc);
    check("k252c", dc, want, 1e-5);
    k252d<<<pairs / 8, 256>>>(p, q, dd);
    check("k252d", dd, want, 1e-5);
    MUST(cudaFree(p));
    MUST(cudaFree(q));

    const int cells = 1 << 25;
    float *air = input<float>(cells, 3, 260.0, 305.0), *sea = input<float>(cells, 4, 271.0, 304.0),
          *wind = input<float>(cells, 5, 0.5, 25.0), *net = output<float>(cells);
    std::vector<float> ha = on_host(air, 4096), hs = on_host(sea, 4096), hw = on_host(wind, 4096), some(4096);
    for (int i = 0; i < 4096; i++)
        some[i] = float(double(SIGMA) * (SKY * pow(ha[i], 4.0) - pow(hs[i], 4.0)) + STIRRING * pow(hw[i], 3.0));
    const float4 *a4 = reinterpret_cast<const float4 *>(air), *s4 = reinterpret_cast<const float4 *>(sea),
                 *w4 = reinterpret_cast<const float4 *>(wind);
    float4 *n4 = reinterpret_cast<float4 *>(net);
    auto poison = [&] { MUST(cudaMemset(net, 0xA5, cells * sizeof(float))); };
    k252e<<<cells / 1024, 256>>>(a4, s4, w4, n4);
    check("k252e", net, some, 2e-3);
    want = on_host(net, cells);
    poison();
    k252f<<<cells / 1024, 256>>>(a4, s4, w4, n4);
    check("k252f", net, want, 2e-3);
    poison();
    k252g<<<cells / 1024, 256>>>(a4, s4, w4, n4);
    check("k252g", net, want, 2e-3);
}
