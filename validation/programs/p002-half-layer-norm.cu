// Layer normalisation of half-precision activations: y = (x - mean) / sqrt(variance + eps) * gamma + beta, row by row.
#include "../harness.h"

constexpr int kTokens = 40000;
constexpr int kHidden = 1536;
constexpr float kEps = 1e-5f;

__device__ float ReduceTree(float v, float *buf)
{
    const int t = threadIdx.x;
    buf[t] = v;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (t < stride)
            buf[t] += buf[t + stride];
        __syncthreads();
    }
    const float total = buf[0];
    __syncthreads();
    return total;
}

template <int kWarps> __device__ float ReduceLanes(float v, float *buf)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    if (threadIdx.x % 32 == 0)
        buf[threadIdx.x / 32] = v;
    __syncthreads();
    float total = 0.f;
    for (int w = 0; w < kWarps; ++w)
        total += buf[w];
    __syncthreads();
    return total;
}

__global__ void k02a(const __half *__restrict__ x, const __half *__restrict__ gamma, const __half *__restrict__ beta,
                     __half *__restrict__ y, int hidden)
{
    __shared__ float buf[256];
    const __half *in = x + (size_t)blockIdx.x * hidden;
    __half *out = y + (size_t)blockIdx.x * hidden;

    float sum = 0.f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        sum += __half2float(in[i]);
    const float mean = ReduceTree(sum, buf) / hidden;

    float squares = 0.f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const float d = __half2float(in[i]) - mean;
        squares += d * d;
    }
    const float rstd = rsqrtf(ReduceTree(squares, buf) / hidden + kEps);

    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
        const float v = (__half2float(in[i]) - mean) * rstd;
        out[i] = __float2half(v * __half2float(gamma[i]) + __half2float(beta[i]));
    }
}

__global__ void k02b(const __half2 *__restrict__ x, const __half2 *__restrict__ gamma,
                     const __half2 *__restrict__ beta, __half2 *__restrict__ y, int hidden)
{
    __shared__ float buf[256];
    const int pairs = hidden / 2;
    const __half2 *in = x + (size_t)blockIdx.x * pairs;
    __half2 *out = y + (size_t)blockIdx.x * pairs;

    float sum = 0.f;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 v = __half22float2(in[i]);
        sum += v.x + v.y;
    }
    const float mean = ReduceTree(sum, buf) / hidden;

    float squares = 0.f;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 v = __half22float2(in[i]);
        squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean);
    }
    const float rstd = rsqrtf(ReduceTree(squares, buf) / hidden + kEps);

    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 v = __half22float2(in[i]);
        const float2 g = __half22float2(gamma[i]);
        const float2 b = __half22float2(beta[i]);
        out[i] = __floats2half2_rn((v.x - mean) * rstd * g.x + b.x, (v.y - mean) * rstd * g.y + b.y);
    }
}

__global__ void k02c(const __half2 *__restrict__ x, const __half2 *__restrict__ gamma,
                     const __half2 *__restrict__ beta, __half2 *__restrict__ y, int hidden)
{
    __shared__ float buf[8];
    const int pairs = hidden / 2;
    const __half2 *in = x + (size_t)blockIdx.x * pairs;
    __half2 *out = y + (size_t)blockIdx.x * pairs;

    float sum = 0.f;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 v = __half22float2(in[i]);
        sum += v.x + v.y;
    }
    const float mean = ReduceLanes<8>(sum, buf) / hidden;

    float squares = 0.f;
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 v = __half22float2(in[i]);
        squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean);
    }
    const float rstd = rsqrtf(ReduceLanes<8>(squares, buf) / hidden + kEps);

    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 v = __half22float2(in[i]);
        const float2 g = __half22float2(gamma[i]);
        const float2 b = __half22float2(beta[i]);
        out[i] = __floats2half2_rn((v.x - mean) * rstd * g.x + b.x, (v.y - mean) * rstd * g.y + b.y);
    }
}

union Pack {
    uint4 bits;
    __half2 h[4];
    __device__ Pack() {}
};

// 64 threads, three times eight numbers each.
__global__ void k02d(const uint4 *__restrict__ x, const uint4 *__restrict__ gamma, const uint4 *__restrict__ beta,
                     uint4 *__restrict__ y)
{
    __shared__ float buf[2];
    constexpr int kPacks = kHidden / 8;
    const uint4 *in = x + (size_t)blockIdx.x * kPacks;
    uint4 *out = y + (size_t)blockIdx.x * kPacks;

    Pack p[3];
#pragma unroll
    for (int k = 0; k < 3; ++k)
        p[k].bits = in[threadIdx.x + k * 64];

    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < 3; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 v = __half22float2(p[k].h[e]);
            sum += v.x + v.y;
        }
    const float mean = ReduceLanes<2>(sum, buf) / kHidden;

    float squares = 0.f;
#pragma unroll
    for (int k = 0; k < 3; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 v = __half22float2(p[k].h[e]);
            squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean);
        }
    const float rstd = rsqrtf(ReduceLanes<2>(squares, buf) / kHidden + kEps);

#pragma unroll
    for (int k = 0; k < 3; ++k) {
        Pack g, b, r;
        g.bits = gamma[threadIdx.x + k * 64];
        b.bits = beta[threadIdx.x + k * 64];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 v = __half22float2(p[k].h[e]);
            const float2 gf = __half22float2(g.h[e]);
            const float2 bf = __half22float2(b.h[e]);
            r.h[e] = __floats2half2_rn((v.x - mean) * rstd * gf.x + bf.x, (v.y - mean) * rstd * gf.y + bf.y);
        }
        out[threadIdx.x + k * 64] = r.bits;
    }
}

__constant__ uint4 c_gamma[kHidden / 8];
__constant__ uint4 c_beta[kHidden / 8];

__global__ void k02e(const uint4 *__restrict__ x, uint4 *__restrict__ y)
{
    __shared__ float buf[2];
    constexpr int kPacks = kHidden / 8;
    const uint4 *in = x + (size_t)blockIdx.x * kPacks;
    uint4 *out = y + (size_t)blockIdx.x * kPacks;

    Pack p[3];
#pragma unroll
    for (int k = 0; k < 3; ++k)
        p[k].bits = in[threadIdx.x + k * 64];

    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < 3; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 v = __half22float2(p[k].h[e]);
            sum += v.x + v.y;
        }
    const float mean = ReduceLanes<2>(sum, buf) / kHidden;

    float squares = 0.f;
#pragma unroll
    for (int k = 0; k < 3; ++k)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 v = __half22float2(p[k].h[e]);
            squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean);
        }
    const float rstd = rsqrtf(ReduceLanes<2>(squares, buf) / kHidden + kEps);

#pragma unroll
    for (int k = 0; k < 3; ++k) {
        Pack g, b, r;
        g.bits = c_gamma[threadIdx.x + k * 64];
        b.bits = c_beta[threadIdx.x + k * 64];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 v = __half22float2(p[k].h[e]);
            const float2 gf = __half22float2(g.h[e]);
            const float2 bf = __half22float2(b.h[e]);
            r.h[e] = __floats2half2_rn((v.x - mean) * rstd * gf.x + bf.x, (v.y - mean) * rstd * gf.y + bf.y);
        }
        out[threadIdx.x + k * 64] = r.bits;
    }
}

int main()
{
    const size_t n = (size_t)kTokens * kHidden;
    __half *x = input<__half>(n, 2, -1.0, 3.0);
    __half *gamma = input<__half>(kHidden, 3, 0.5, 1.5);
    __half *beta = input<__half>(kHidden, 4, -0.5, 0.5);
    __half *y = output<__half>(n);
    MUST(cudaMemcpyToSymbol(c_gamma, gamma, kHidden * sizeof(__half), 0, cudaMemcpyDeviceToDevice));
    MUST(cudaMemcpyToSymbol(c_beta, beta, kHidden * sizeof(__half), 0, cudaMemcpyDeviceToDevice));

    std::vector<int> tokens;
    for (int t = 0; t < kTokens; t += 271)
        tokens.push_back(t);
    tokens.push_back(kTokens - 1);
    __half *picked = output<__half>(tokens.size() * kHidden);
    std::vector<__half> want(tokens.size() * kHidden);
    const std::vector<__half> g = on_host(gamma, kHidden), b = on_host(beta, kHidden);
    for (size_t k = 0; k < tokens.size(); ++k) {
        const std::vector<__half> row = on_host(x + (size_t)tokens[k] * kHidden, kHidden);
        double mean = 0, var = 0;
        for (int i = 0; i < kHidden; ++i)
            mean += __half2float(row[i]);
        mean /= kHidden;
        for (int i = 0; i < kHidden; ++i)
            var += (__half2float(row[i]) - mean) * (__half2float(row[i]) - mean);
        const double rstd = 1.0 / std::sqrt(var / kHidden + kEps);
        for (int i = 0; i < kHidden; ++i)
            want[k * kHidden + i] =
                __float2half(float((__half2float(row[i]) - mean) * rstd * __half2float(g[i]) + __half2float(b[i])));
    }
    auto verify = [&](const char *kernel) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (size_t k = 0; k < tokens.size(); ++k)
            MUST(cudaMemcpy(picked + k * kHidden, y + (size_t)tokens[k] * kHidden, kHidden * sizeof(__half),
                            cudaMemcpyDeviceToDevice));
        check(kernel, picked, want, 4e-3);
        MUST(cudaMemset(y, 0xA5, n * sizeof(__half)));
    };

    k02a<<<kTokens, 256>>>(x, gamma, beta, y, kHidden);
    verify("k02a");
    k02b<<<kTokens, 256>>>((const __half2 *)x, (const __half2 *)gamma, (const __half2 *)beta, (__half2 *)y, kHidden);
    verify("k02b");
    k02c<<<kTokens, 256>>>((const __half2 *)x, (const __half2 *)gamma, (const __half2 *)beta, (__half2 *)y, kHidden);
    verify("k02c");
    k02d<<<kTokens, 64>>>((const uint4 *)x, (const uint4 *)gamma, (const uint4 *)beta, (uint4 *)y);
    verify("k02d");
    k02e<<<kTokens, 64>>>((const uint4 *)x, (uint4 *)y);
    verify("k02e");
    return 0;
}
