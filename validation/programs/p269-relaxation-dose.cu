// T2 relaxation from multi-echo MRI (weighted log-linear fit per voxel), and dose-volume histograms of sixteen organs.
#include "../harness.h"

constexpr int echoes = 16;
constexpr int voxels = 4 << 20;
constexpr int organs = 16;
constexpr int dose_bins = 128;
constexpr int bins = organs * dose_bins;
constexpr int dose_voxels = 64 << 20;

// Decay rate per echo spacing and log amplitude at the middle of the train, weights S^2; signals [echo][voxel].
__global__ void k269a(const float *__restrict__ signal, float *__restrict__ fit, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    double w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0;
#pragma unroll
    for (int e = 0; e < echoes; e++) {
        double s = signal[(size_t)e * n + v];
        double t = e - 7.5;
        double w = s * s;
        double y = log(s);
        w0 += w;
        w1 += w * t;
        w2 += w * t * t;
        y0 += w * y;
        y1 += w * y * t;
    }
    double det = w0 * w2 - w1 * w1;
    fit[v] = (float)((w1 * y0 - w0 * y1) / det);
    fit[n + v] = (float)((w2 * y0 - w1 * y1) / det);
}

// Single precision.
__global__ void k269b(const float *__restrict__ signal, float *__restrict__ fit, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    float w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0;
#pragma unroll
    for (int e = 0; e < echoes; e++) {
        float s = signal[(size_t)e * n + v];
        float t = e - 7.5f;
        float w = s * s;
        float y = logf(s);
        w0 += w;
        w1 += w * t;
        w2 += w * t * t;
        y0 += w * y;
        y1 += w * y * t;
    }
    float det = w0 * w2 - w1 * w1;
    fit[v] = (w1 * y0 - w0 * y1) / det;
    fit[n + v] = (w2 * y0 - w1 * y1) / det;
}

// With the hardware logarithm and division.
__global__ void k269c(const float *__restrict__ signal, float *__restrict__ fit, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    float w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0;
#pragma unroll
    for (int e = 0; e < echoes; e++) {
        float s = signal[(size_t)e * n + v];
        float t = e - 7.5f;
        float w = s * s;
        float y = __logf(s);
        w0 += w;
        w1 += w * t;
        w2 += w * t * t;
        y0 += w * y;
        y1 += w * y * t;
    }
    float det = w0 * w2 - w1 * w1;
    fit[v] = __fdividef(w1 * y0 - w0 * y1, det);
    fit[n + v] = __fdividef(w2 * y0 - w1 * y1, det);
}

// Signals [voxel][echo], as the reconstruction delivers them.
__global__ void k269d(const float *__restrict__ signal, float *__restrict__ fit, int n)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= n)
        return;
    float w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0;
#pragma unroll
    for (int e = 0; e < echoes; e++) {
        float s = signal[(size_t)v * echoes + e];
        float t = e - 7.5f;
        float w = s * s;
        float y = logf(s);
        w0 += w;
        w1 += w * t;
        w2 += w * t * t;
        y0 += w * y;
        y1 += w * y * t;
    }
    float det = w0 * w2 - w1 * w1;
    fit[v] = (w1 * y0 - w0 * y1) / det;
    fit[n + v] = (w2 * y0 - w1 * y1) / det;
}

__host__ __device__ inline int bin_of(unsigned char organ, float dose)
{
    int b = (int)(dose * 1.6f);
    return organ * dose_bins + (b < dose_bins - 1 ? b : dose_bins - 1);
}

// Voxels per organ and dose bin.
__global__ void k269e(const float4 *__restrict__ dose, const uchar4 *__restrict__ organ, unsigned *__restrict__ counts,
                      int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 d = dose[i];
    uchar4 o = organ[i];
    atomicAdd(&counts[bin_of(o.x, d.x)], 1u);
    atomicAdd(&counts[bin_of(o.y, d.y)], 1u);
    atomicAdd(&counts[bin_of(o.z, d.z)], 1u);
    atomicAdd(&counts[bin_of(o.w, d.w)], 1u);
}

// Counts of 2048 voxels in shared memory, then added to the totals.
__global__ void k269f(const float4 *__restrict__ dose, const uchar4 *__restrict__ organ, unsigned *__restrict__ counts,
                      int quads)
{
    __shared__ unsigned local[bins];
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    int first = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    for (int i = first; i < quads && i < first + 2 * (int)blockDim.x; i += blockDim.x) {
        float4 d = dose[i];
        uchar4 o = organ[i];
        atomicAdd(&local[bin_of(o.x, d.x)], 1u);
        atomicAdd(&local[bin_of(o.y, d.y)], 1u);
        atomicAdd(&local[bin_of(o.z, d.z)], 1u);
        atomicAdd(&local[bin_of(o.w, d.w)], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (local[b])
            atomicAdd(&counts[b], local[b]);
}

// Blocks that stride over the whole volume.
__global__ void k269g(const float4 *__restrict__ dose, const uchar4 *__restrict__ organ, unsigned *__restrict__ counts,
                      int quads)
{
    __shared__ unsigned local[bins];
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        float4 d = dose[i];
        uchar4 o = organ[i];
        atomicAdd(&local[bin_of(o.x, d.x)], 1u);
        atomicAdd(&local[bin_of(o.y, d.y)], 1u);
        atomicAdd(&local[bin_of(o.z, d.z)], 1u);
        atomicAdd(&local[bin_of(o.w, d.w)], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (local[b])
            atomicAdd(&counts[b], local[b]);
}

int main()
{
    {
        float *planar = input<float>((size_t)echoes * voxels, 1, 100, 1000);
        std::vector<float> host = on_host(planar, (size_t)echoes * voxels);
        std::vector<float> turned(host.size());
        for (int v0 = 0; v0 < voxels; v0 += 64)
            for (int e = 0; e < echoes; e++)
                for (int v = v0; v < v0 + 64; v++)
                    turned[(size_t)v * echoes + e] = host[(size_t)e * voxels + v];
        float *by_voxel = on_device(turned);
        std::vector<float> want(4096);
        for (int v = 0; v < 4096; v++) {
            double w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0;
            for (int e = 0; e < echoes; e++) {
                double s = host[(size_t)e * voxels + v], t = e - 7.5, w = s * s, y = std::log(s);
                w0 += w, w1 += w * t, w2 += w * t * t, y0 += w * y, y1 += w * y * t;
            }
            want[v] = float((w1 * y0 - w0 * y1) / (w0 * w2 - w1 * w1));
        }
        int blocks = (voxels + 255) / 256;
        float *fit = output<float>(2 * (size_t)voxels);
        k269a<<<blocks, 256>>>(planar, fit, voxels);
        check("k269a", fit, want, 1e-4);
        std::vector<float> all = on_host(fit, 2 * (size_t)voxels);
        MUST(cudaMemset(fit, 0xA5, 2 * sizeof(float) * (size_t)voxels));
        k269b<<<blocks, 256>>>(planar, fit, voxels);
        check("k269b", fit, all, 1e-3);
        MUST(cudaMemset(fit, 0xA5, 2 * sizeof(float) * (size_t)voxels));
        k269c<<<blocks, 256>>>(planar, fit, voxels);
        check("k269c", fit, all, 1e-3);
        MUST(cudaMemset(fit, 0xA5, 2 * sizeof(float) * (size_t)voxels));
        k269d<<<blocks, 256>>>(by_voxel, fit, voxels);
        check("k269d", fit, all, 1e-3);
        MUST(cudaFree(planar));
        MUST(cudaFree(by_voxel));
        MUST(cudaFree(fit));
    }
    float *dose = input<float>(dose_voxels, 2, 0, 80);
    std::vector<unsigned char> organ(dose_voxels);
    for (int i = 0; i < dose_voxels; i += 64) {
        unsigned char o = scrambled(i / 64, 3) % organs;
        for (int j = i; j < i + 64; j++)
            organ[j] = o;
    }
    unsigned char *organ_device = on_device(organ);
    std::vector<unsigned> want(bins, 0);
    {
        std::vector<float> host = on_host(dose, dose_voxels);
        for (int i = 0; i < dose_voxels; i++)
            want[bin_of(organ[i], host[i])]++;
    }
    int quads = dose_voxels / 4;
    const float4 *d4 = reinterpret_cast<const float4 *>(dose);
    const uchar4 *o4 = reinterpret_cast<const uchar4 *>(organ_device);
    unsigned *counts_e = zeroed<unsigned>(bins), *counts_f = zeroed<unsigned>(bins), *counts_g = zeroed<unsigned>(bins);
    k269e<<<(quads + 255) / 256, 256>>>(d4, o4, counts_e, quads);
    check("k269e", counts_e, want, 0);
    k269f<<<(quads + 511) / 512, 256>>>(d4, o4, counts_f, quads);
    check("k269f", counts_f, want, 0);
    k269g<<<132 * 8, 256>>>(d4, o4, counts_g, quads);
    check("k269g", counts_g, want, 0);
    return 0;
}
