// Vegetation index of a satellite time series, smoothed by the Savitzky-Golay filter of eleven dates.
#include "../harness.h"
#include <algorithm>

constexpr int dates = 46;
constexpr int pixels = 1 << 20;
constexpr int reach = 5;
constexpr int window = 2 * reach + 1;


__host__ __device__ constexpr float weight(int i)
{
    constexpr int w[window] = {-36, 9, 44, 69, 84, 89, 84, 69, 44, 9, -36};
    return w[i] / 429.0f;
}

__device__ inline float index_of(float red, float nir)
{
    return (nir - red) / (nir + red);
}

// Reflectances [date][pixel]; a row of the grid for each date, dates beyond the ends repeat the last one.
__global__ void k275a(const float *__restrict__ red, const float *__restrict__ nir, float *__restrict__ smooth, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y;
    if (p >= n)
        return;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < window; i++) {
        size_t at = (size_t)min(max(t + i - reach, 0), dates - 1) * n + p;
        sum += weight(i) * index_of(red[at], nir[at]);
    }
    smooth[(size_t)t * n + p] = sum;
}

// All dates of a pixel in one thread, the window of a width given at the launch in a ring.
constexpr int most = 31;

struct Filter {
    int reach;
    float weight[most];
};

__global__ void k275b(const float *__restrict__ red, const float *__restrict__ nir, float *__restrict__ smooth,
                      const __grid_constant__ Filter filter, int n)
{
    const int reach = filter.reach, width = 2 * reach + 1;
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n; p += gridDim.x * blockDim.x) {
        float ring[most];
        for (int i = 0; i < width; i++) {
            size_t at = (size_t)max(i - reach, 0) * n + p;
            ring[i] = index_of(red[at], nir[at]);
        }
        int oldest = 0;
        for (int t = 0; t < dates; t++) {
            float sum = 0;
            for (int i = 0; i < width; i++) {
                int j = oldest + i;
                sum += filter.weight[i] * ring[j < width ? j : j - width];
            }
            smooth[(size_t)t * n + p] = sum;
            size_t at = (size_t)min(t + reach + 1, dates - 1) * n + p;
            ring[oldest] = index_of(red[at], nir[at]);
            oldest = oldest + 1 < width ? oldest + 1 : 0;
        }
    }
}

// Eleven dates in registers that move along, reflectances [pixel][date].
__global__ void k275c(const float *__restrict__ red, const float *__restrict__ nir, float *__restrict__ smooth, int n)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n; p += gridDim.x * blockDim.x) {
        const float *r = red + (size_t)p * dates, *f = nir + (size_t)p * dates;
        float v[window];
#pragma unroll
        for (int i = 0; i < window; i++)
            v[i] = index_of(r[max(i - reach, 0)], f[max(i - reach, 0)]);
#pragma unroll 11
        for (int t = 0; t < dates; t++) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < window; i++)
                sum += weight(i) * v[i];
            smooth[(size_t)t * n + p] = sum;
#pragma unroll
            for (int i = 0; i + 1 < window; i++)
                v[i] = v[i + 1];
            int next = min(t + reach + 1, dates - 1);
            v[window - 1] = index_of(r[next], f[next]);
        }
    }
}

// Eleven dates in registers that move along, reflectances [date][pixel].
__global__ void k275d(const float *__restrict__ red, const float *__restrict__ nir, float *__restrict__ smooth, int n)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n; p += gridDim.x * blockDim.x) {
        float v[window];
#pragma unroll
        for (int i = 0; i < window; i++) {
            size_t at = (size_t)max(i - reach, 0) * n + p;
            v[i] = index_of(red[at], nir[at]);
        }
#pragma unroll 11
        for (int t = 0; t < dates; t++) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < window; i++)
                sum += weight(i) * v[i];
            smooth[(size_t)t * n + p] = sum;
#pragma unroll
            for (int i = 0; i + 1 < window; i++)
                v[i] = v[i + 1];
            size_t at = (size_t)min(t + reach + 1, dates - 1) * n + p;
            v[window - 1] = index_of(red[at], nir[at]);
        }
    }
}

// One block for each of 64 rows of tiles.
__global__ void k275e(const float *__restrict__ red, const float *__restrict__ nir, float *__restrict__ smooth, int n)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n; p += gridDim.x * blockDim.x) {
        float v[window];
#pragma unroll
        for (int i = 0; i < window; i++) {
            size_t at = (size_t)max(i - reach, 0) * n + p;
            v[i] = index_of(red[at], nir[at]);
        }
#pragma unroll 11
        for (int t = 0; t < dates; t++) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < window; i++)
                sum += weight(i) * v[i];
            smooth[(size_t)t * n + p] = sum;
#pragma unroll
            for (int i = 0; i + 1 < window; i++)
                v[i] = v[i + 1];
            size_t at = (size_t)min(t + reach + 1, dates - 1) * n + p;
            v[window - 1] = index_of(red[at], nir[at]);
        }
    }
}

__device__ inline float index_fast(float red, float nir)
{
    return __fdividef(nir - red, nir + red);
}

// Hardware division.
__global__ void k275f(const float *__restrict__ red, const float *__restrict__ nir, float *__restrict__ smooth, int n)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < n; p += gridDim.x * blockDim.x) {
        float v[window];
#pragma unroll
        for (int i = 0; i < window; i++) {
            size_t at = (size_t)max(i - reach, 0) * n + p;
            v[i] = index_fast(red[at], nir[at]);
        }
#pragma unroll 11
        for (int t = 0; t < dates; t++) {
            float sum = 0;
#pragma unroll
            for (int i = 0; i < window; i++)
                sum += weight(i) * v[i];
            smooth[(size_t)t * n + p] = sum;
#pragma unroll
            for (int i = 0; i + 1 < window; i++)
                v[i] = v[i + 1];
            size_t at = (size_t)min(t + reach + 1, dates - 1) * n + p;
            v[window - 1] = index_fast(red[at], nir[at]);
        }
    }
}

// Hardware division, two pixels per thread.
__global__ void k275g(const float2 *__restrict__ red, const float2 *__restrict__ nir, float2 *__restrict__ smooth,
                      int pairs)
{
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < pairs; p += gridDim.x * blockDim.x) {
        float2 v[window];
#pragma unroll
        for (int i = 0; i < window; i++) {
            size_t at = (size_t)max(i - reach, 0) * pairs + p;
            float2 r = red[at], f = nir[at];
            v[i] = make_float2(index_fast(r.x, f.x), index_fast(r.y, f.y));
        }
#pragma unroll 11
        for (int t = 0; t < dates; t++) {
            float2 sum = make_float2(0, 0);
#pragma unroll
            for (int i = 0; i < window; i++) {
                sum.x += weight(i) * v[i].x;
                sum.y += weight(i) * v[i].y;
            }
            smooth[(size_t)t * pairs + p] = sum;
#pragma unroll
            for (int i = 0; i + 1 < window; i++)
                v[i] = v[i + 1];
            size_t at = (size_t)min(t + reach + 1, dates - 1) * pairs + p;
            float2 r = red[at], f = nir[at];
            v[window - 1] = make_float2(index_fast(r.x, f.x), index_fast(r.y, f.y));
        }
    }
}

static std::vector<float> by_pixel(const std::vector<float> &planes)
{
    std::vector<float> turned(planes.size());
    for (int p0 = 0; p0 < pixels; p0 += 64)
        for (int t = 0; t < dates; t++)
            for (int p = p0; p < p0 + 64; p++)
                turned[(size_t)p * dates + t] = planes[(size_t)t * pixels + p];
    return turned;
}

int main()
{
    size_t total = (size_t)dates * pixels;
    float *red = input<float>(total, 1, 0.02, 0.2), *nir = input<float>(total, 2, 0.2, 0.6);
    std::vector<float> host_red = on_host(red, total), host_nir = on_host(nir, total);
    float *red_pixel = on_device(by_pixel(host_red)), *nir_pixel = on_device(by_pixel(host_nir));
    const int samples = 65536, first_date = 0;
    std::vector<float> want(samples);
    for (int p = 0; p < samples; p++) {
        double sum = 0;
        for (int i = 0; i < window; i++) {
            size_t at = (size_t)std::min(std::max(first_date + i - reach, 0), dates - 1) * pixels + p;
            sum += weight(i) * (double)(host_nir[at] - host_red[at]) / (host_nir[at] + host_red[at]);
        }
        want[p] = (float)sum;
    }
    float *out = output<float>(total);
    const int blocks = pixels / 256;
    k275a<<<dim3(blocks, dates), 256>>>(red, nir, out, pixels);
    check("k275a", out, want, 1e-5);
    std::vector<float> all = on_host(out, total);
    for (int p = 0; p < samples; p++) {
        double sum = 0;
        for (int i = 0; i < window; i++) {
            size_t at = (size_t)std::min(20 + i - reach, dates - 1) * pixels + p;
            sum += weight(i) * (double)(host_nir[at] - host_red[at]) / (host_nir[at] + host_red[at]);
        }
        want[p] = (float)sum;
    }
    check("k275a, date 20", out + (size_t)20 * pixels, want, 1e-5);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    Filter filter = {reach, {}};
    for (int i = 0; i < window; i++)
        filter.weight[i] = weight(i);
    k275b<<<blocks, 256>>>(red, nir, out, filter, pixels);
    check("k275b", out, all, 1e-5);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k275c<<<blocks, 256>>>(red_pixel, nir_pixel, out, pixels);
    check("k275c", out, all, 1e-5);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k275d<<<blocks, 256>>>(red, nir, out, pixels);
    check("k275d", out, all, 1e-5);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k275e<<<64, 256>>>(red, nir, out, pixels);
    check("k275e", out, all, 1e-5);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k275f<<<blocks, 256>>>(red, nir, out, pixels);
    check("k275f", out, all, 1e-5);
    MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
    k275g<<<blocks / 2, 256>>>(reinterpret_cast<float2 *>(red), reinterpret_cast<float2 *>(nir),
                               reinterpret_cast<float2 *>(out), pixels / 2);
    check("k275g", out, all, 1e-5);
    return 0;
}
