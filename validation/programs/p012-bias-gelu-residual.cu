// Transformer block tail: out = residual + scale * gelu(x + bias), over tokens x features.
#include "../harness.h"

constexpr int features = 5120;

__host__ __device__ inline float gelu(float v)
{
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    return 0.5f * v * (1.0f + tanhf(u));
}

__device__ inline float gelu_exp(float v)
{
    float u = 0.7978845608f * (v + 0.044715f * v * v * v);
    return v - __fdividef(v, 1.0f + __expf(2.0f * u));
}

__device__ void stage_bias(const float *x, const float *bias, float *out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = x[i] + bias[i % features];
}

__device__ void stage_gelu(float *out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = gelu(out[i]);
}

__device__ void stage_residual(const float *residual, float scale, float *out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = residual[i] + scale * out[i];
}

__global__ void k12a(const float *x, const float *bias, const float *residual, float scale, float *out, unsigned n)
{
    stage_bias(x, bias, out, n);
    stage_gelu(out, n);
    stage_residual(residual, scale, out, n);
}

__global__ void k12b(const float *__restrict__ x, const float *__restrict__ bias, const float *__restrict__ residual,
                     float scale, float *__restrict__ out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = residual[i] + scale * gelu(x[i] + bias[i % features]);
}

__global__ void k12c(const float *__restrict__ x, const float *__restrict__ bias, const float *__restrict__ residual,
                     float scale, float *__restrict__ out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = residual[i] + scale * gelu_exp(x[i] + bias[i % features]);
}

__global__ void k12d(const __half *__restrict__ x, const __half *__restrict__ bias,
                     const __half *__restrict__ residual, float scale, __half *__restrict__ out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __half2float(x[i]) + __half2float(bias[i % features]);
        out[i] = __float2half(__half2float(residual[i]) + scale * gelu(v));
    }
}

union Pack {
    uint4 raw;
    __half2 h[4];
    __device__ Pack() {}
};

__global__ void k12e(const uint4 *__restrict__ x, const uint4 *__restrict__ bias, const uint4 *__restrict__ residual,
                     float scale, uint4 *__restrict__ out, unsigned packs)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs)
        return;
    Pack px, pb, pr, po;
    px.raw = x[i];
    pr.raw = residual[i];
    pb.raw = bias[i % (features / 8)];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 a = __half22float2(px.h[k]), b = __half22float2(pb.h[k]), r = __half22float2(pr.h[k]);
        po.h[k] = __floats2half2_rn(r.x + scale * gelu(a.x + b.x), r.y + scale * gelu(a.y + b.y));
    }
    out[i] = po.raw;
}

__global__ void k12f(const uint4 *__restrict__ x, const uint4 *__restrict__ bias, const uint4 *__restrict__ residual,
                     float scale, uint4 *__restrict__ out, unsigned packs)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs)
        return;
    Pack px, pb, pr, po;
    px.raw = x[i];
    pr.raw = residual[i];
    pb.raw = bias[i % (features / 8)];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 a = __half22float2(px.h[k]), b = __half22float2(pb.h[k]), r = __half22float2(pr.h[k]);
        po.h[k] = __floats2half2_rn(r.x + scale * gelu_exp(a.x + b.x), r.y + scale * gelu_exp(a.y + b.y));
    }
    out[i] = po.raw;
}

template <class T> std::vector<T> pick(const T *data, size_t n)
{
    const size_t rows = 64, run = 128;
    std::vector<T> host(rows * run);
    MUST(cudaMemcpy2D(host.data(), run * sizeof(T), data, n / rows * sizeof(T), run * sizeof(T), rows,
                      cudaMemcpyDeviceToHost));
    return host;
}

int main()
{
    const unsigned tokens = 8192, n = tokens * features;
    const float scale = 0.7f;
    {
        float *x = input<float>(n, 1, -4.0, 4.0), *bias = input<float>(features, 2, -0.5, 0.5);
        float *residual = input<float>(n, 3, -2.0, 2.0), *out = output<float>(n);
        std::vector<float> hx = pick(x, n), hr = pick(residual, n), hb = on_host(bias, features), want(hx.size());
        for (size_t i = 0; i < want.size(); i++) {
            size_t place = i / 128 * (n / 64) + i % 128;
            want[i] = hr[i] + scale * gelu(hx[i] + hb[place % features]);
        }
        k12a<<<132 * 8, 256>>>(x, bias, residual, scale, out, n);
        MUST(cudaGetLastError());
        check("k12a", on_device(pick(out, n)), want, 1e-5);
        std::vector<float> all = on_host(out, n);
        MUST(cudaMemset(out, 0xA5, (size_t)n * sizeof(float)));
        k12b<<<132 * 8, 256>>>(x, bias, residual, scale, out, n);
        check("k12b", out, all, 1e-5);
        MUST(cudaMemset(out, 0xA5, (size_t)n * sizeof(float)));
        k12c<<<132 * 8, 256>>>(x, bias, residual, scale, out, n);
        check("k12c", out, all, 1e-4);
        MUST(cudaFree(x));
        MUST(cudaFree(residual));
        MUST(cudaFree(out));
    }
    __half *x = input<__half>(n, 4, -4.0, 4.0), *bias = input<__half>(features, 5, -0.5, 0.5);
    __half *residual = input<__half>(n, 6, -2.0, 2.0), *out = output<__half>(n);
    std::vector<__half> hx = pick(x, n), hr = pick(residual, n), hb = on_host(bias, features);
    std::vector<float> want(hx.size());
    for (size_t i = 0; i < want.size(); i++) {
        size_t place = i / 128 * (n / 64) + i % 128;
        want[i] = __half2float(hr[i]) + scale * gelu(__half2float(hx[i]) + __half2float(hb[place % features]));
    }
    auto same = [&](const char *kernel) {
        MUST(cudaGetLastError());
        std::vector<__half> part = pick(out, n);
        std::vector<float> got(part.size());
        for (size_t i = 0; i < part.size(); i++)
            got[i] = __half2float(part[i]);
        check(kernel, on_device(got), want, 2e-3);
        MUST(cudaMemset(out, 0xA5, (size_t)n * sizeof(__half)));
    };
    k12d<<<(n + 255) / 256, 256>>>(x, bias, residual, scale, out, n);
    same("k12d");
    const unsigned packs = n / 8;
    k12e<<<(packs + 255) / 256, 256>>>((uint4 *)x, (uint4 *)bias, (uint4 *)residual, scale, (uint4 *)out, packs);
    same("k12e");
    k12f<<<(packs + 255) / 256, 256>>>((uint4 *)x, (uint4 *)bias, (uint4 *)residual, scale, (uint4 *)out, packs);
    same("k12f");
    return 0;
}
