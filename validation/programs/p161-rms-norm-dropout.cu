// Two pieces of a transformer block: RMS normalisation of tokens in bfloat16, and bias + dropout + residual in float.
#include "../harness.h"

#include <functional>

typedef __nv_bfloat16 bf16;

const int TOKENS = 65536, DIM = 2048;

__global__ void k161a(bf16 *out, const bf16 *x, const bf16 *weight, int tokens, int dim, float epsilon)
{
    int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= tokens)
        return;
    const bf16 *row = x + (size_t)token * dim;
    float sum = 0.0f;
    for (int i = 0; i < dim; i++) {
        float v = __bfloat162float(row[i]);
        sum += v * v;
    }
    float scale = rsqrtf(sum / dim + epsilon);
    for (int i = 0; i < dim; i++)
        out[(size_t)token * dim + i] = __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(weight[i]));
}

__global__ void k161b(bf16 *out, const bf16 *x, const bf16 *weight, int dim, float epsilon)
{
    __shared__ float part[1024];
    const bf16 *row = x + (size_t)blockIdx.x * dim;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float v = __bfloat162float(row[i]);
        sum += v * v;
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    float scale = rsqrtf(part[0] / dim + epsilon);
    for (int i = threadIdx.x; i < dim; i += blockDim.x)
        out[(size_t)blockIdx.x * dim + i] = __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(weight[i]));
}

__device__ inline float over_warp(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_xor_sync(0xFFFFFFFFu, v, s);
    return v;
}

__global__ void k161c(bf16 *out, const bf16 *x, const bf16 *weight, int dim, float epsilon)
{
    __shared__ float part[32];
    const bf16 *row = x + (size_t)blockIdx.x * dim;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float v = __bfloat162float(row[i]);
        sum += v * v;
    }
    sum = over_warp(sum);
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    sum = over_warp(lane < blockDim.x / 32 ? part[lane] : 0.0f);
    float scale = rsqrtf(sum / dim + epsilon);
    for (int i = threadIdx.x; i < dim; i += blockDim.x)
        out[(size_t)blockIdx.x * dim + i] = __float2bfloat16(__bfloat162float(row[i]) * scale * __bfloat162float(weight[i]));
}

struct alignas(16) Eight {
    __nv_bfloat162 v[4];
};

__device__ inline float squares(const Eight &e)
{
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 f = __bfloat1622float2(e.v[i]);
        sum += f.x * f.x + f.y * f.y;
    }
    return sum;
}

__device__ inline Eight scaled(const Eight &e, const Eight &weight, float scale)
{
    Eight r;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 f = __bfloat1622float2(e.v[i]), w = __bfloat1622float2(weight.v[i]);
        r.v[i] = __floats2bfloat162_rn(f.x * scale * w.x, f.y * scale * w.y);
    }
    return r;
}

// Blocks of dim / 8 threads.
__global__ void __launch_bounds__(256) k161d(bf16 *out, const bf16 *x, const bf16 *weight, int dim, float epsilon)
{
    __shared__ float part[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t at = (size_t)blockIdx.x * dim + threadIdx.x * 8;
    Eight e = *reinterpret_cast<const Eight *>(x + at);
    Eight w = *reinterpret_cast<const Eight *>(weight + threadIdx.x * 8);
    float sum = over_warp(squares(e));
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += part[i];
    *reinterpret_cast<Eight *>(out + at) = scaled(e, w, rsqrtf(sum / dim + epsilon));
}

__device__ inline Eight through_ldg(const bf16 *from)
{
    uint4 raw = __ldg(reinterpret_cast<const uint4 *>(from));
    Eight e;
    *reinterpret_cast<uint4 *>(&e) = raw;
    return e;
}

__global__ void __launch_bounds__(256) k161e(bf16 *__restrict__ out, const bf16 *__restrict__ x, const bf16 *__restrict__ weight, int dim, float epsilon)
{
    __shared__ float part[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t at = (size_t)blockIdx.x * dim + threadIdx.x * 8;
    Eight e = through_ldg(x + at);
    Eight w = through_ldg(weight + threadIdx.x * 8);
    float sum = over_warp(squares(e));
    if (lane == 0)
        part[warp] = sum;
    __syncthreads();
    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += part[i];
    *reinterpret_cast<Eight *>(out + at) = scaled(e, w, rsqrtf(sum / dim + epsilon));
}

// Philox 4x32 with ten rounds: four random numbers from a counter.
__host__ __device__ inline uint4 philox(unsigned long long counter, unsigned seed)
{
    unsigned a = (unsigned)counter, b = (unsigned)(counter >> 32), c = 0, d = 0, key0 = seed, key1 = 0x5EEDu;
#ifdef __CUDA_ARCH__
#pragma unroll
#endif
    for (int round = 0; round < 10; round++) {
        unsigned long long p = (unsigned long long)a * 0xD2511F53u, q = (unsigned long long)c * 0xCD9E8D57u;
        unsigned na = (unsigned)(q >> 32) ^ b ^ key0, nc = (unsigned)(p >> 32) ^ d ^ key1;
        b = (unsigned)q;
        d = (unsigned)p;
        a = na;
        c = nc;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return make_uint4(a, b, c, d);
}

__global__ void k161f(float *out, const float *x, const float *bias, const float *residual, int n, int columns, float p, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double u = philox(i, seed).x / 4294967296.0;
        float v = u < p ? 0.0 : (x[i] + bias[i % columns]) / (1.0 - p);
        out[i] = residual[i] + v;
    }
}

__global__ void k161g(float *out, const float *x, const float *bias, const float *residual, int n, int columns, float p, float factor, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float u = philox(i, seed).x * 2.3283064e-10f;
        float v = u < p ? 0.0f : (x[i] + bias[i % columns]) * factor;
        out[i] = residual[i] + v;
    }
}

__device__ inline float kept(float x, float bias, float residual, unsigned random, float p, float factor)
{
    return residual + (random * 2.3283064e-10f < p ? 0.0f : (x + bias) * factor);
}

__global__ void k161h(float *__restrict__ out, const float *__restrict__ x, const float *__restrict__ bias, const float *__restrict__ residual, int n, int columns, float p,
                      float factor, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 vx = reinterpret_cast<const float4 *>(x)[i], vr = reinterpret_cast<const float4 *>(residual)[i];
        float4 vb = reinterpret_cast<const float4 *>(bias)[i % (columns / 4)];
        uint4 r = philox(i, seed);
        reinterpret_cast<float4 *>(out)[i] = make_float4(kept(vx.x, vb.x, vr.x, r.x, p, factor), kept(vx.y, vb.y, vr.y, r.y, p, factor),
                                                         kept(vx.z, vb.z, vr.z, r.z, p, factor), kept(vx.w, vb.w, vr.w, r.w, p, factor));
    }
}

int main()
{
    const size_t n = (size_t)TOKENS * DIM;
    const float epsilon = 1e-5f;
    bf16 *x = input<bf16>(n, 1611, -2.0, 2.0), *weight = input<bf16>(DIM, 1612, 0.5, 1.5), *y = output<bf16>(n);
    // Tokens 0, 1285, ..., 65535.
    const int every = 1285, rows = (TOKENS - 1) / every + 1;
    std::vector<bf16> hx((size_t)rows * DIM), hw = on_host(weight, DIM), want((size_t)rows * DIM);
    const size_t line = DIM * sizeof(bf16);
    MUST(cudaMemcpy2D(hx.data(), line, x, every * line, line, rows, cudaMemcpyDeviceToHost));
    for (int r = 0; r < rows; r++) {
        double sum = 0.0;
        for (int i = 0; i < DIM; i++) {
            double v = __bfloat162float(hx[r * DIM + i]);
            sum += v * v;
        }
        float scale = float(1.0 / std::sqrt(sum / DIM + epsilon));
        for (int i = 0; i < DIM; i++)
            want[r * DIM + i] = __float2bfloat16(__bfloat162float(hx[r * DIM + i]) * scale * __bfloat162float(hw[i]));
    }
    bf16 *picked = output<bf16>(want.size());
    auto normalise = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, n * sizeof(bf16)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, line, y, every * line, line, rows, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-2);
    };
    normalise("k161a", [&] { k161a<<<TOKENS / 128, 128>>>(y, x, weight, TOKENS, DIM, epsilon); });
    normalise("k161b", [&] { k161b<<<TOKENS, 1024>>>(y, x, weight, DIM, epsilon); });
    normalise("k161c", [&] { k161c<<<TOKENS, 1024>>>(y, x, weight, DIM, epsilon); });
    normalise("k161d", [&] { k161d<<<TOKENS, DIM / 8>>>(y, x, weight, DIM, epsilon); });
    normalise("k161e", [&] { k161e<<<TOKENS, DIM / 8>>>(y, x, weight, DIM, epsilon); });
    MUST(cudaFree(x));
    MUST(cudaFree(y));

    const int lines = 32768, columns = 4096, all = lines * columns;
    const float p = 0.1f, factor = 1.0f / (1.0f - p);
    const unsigned seed = 20240;
    float *in = input<float>(all, 1613, -1.0, 1.0), *bias = input<float>(columns, 1614, -0.5, 0.5);
    float *residual = input<float>(all, 1615, -3.0, 3.0), *out = output<float>(all);
    // Lines 0, 1057, ..., 32767; a random number for each element, or four for each four.
    const int skip = 1057, taken = (lines - 1) / skip + 1;
    const size_t width = columns * sizeof(float);
    std::vector<float> hi((size_t)taken * columns), hr(hi.size()), hb = on_host(bias, columns), single(hi.size()), fours(hi.size());
    MUST(cudaMemcpy2D(hi.data(), width, in, skip * width, width, taken, cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy2D(hr.data(), width, residual, skip * width, width, taken, cudaMemcpyDeviceToHost));
    for (int t = 0; t < taken; t++)
        for (int c = 0; c < columns; c++) {
            size_t at = (size_t)t * columns + c;
            int i = t * skip * columns + c;
            uint4 four = philox(i / 4, seed);
            const unsigned r[4] = {four.x, four.y, four.z, four.w};
            float v = (hi[at] + hb[c]) * factor;
            single[at] = hr[at] + (philox(i, seed).x * 2.3283064e-10f < p ? 0.0f : v);
            fours[at] = hr[at] + (r[i % 4] * 2.3283064e-10f < p ? 0.0f : v);
        }
    float *some = output<float>(single.size());
    auto drop = [&](const char *name, const std::vector<float> &expected, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, all * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, width, out, skip * width, width, taken, cudaMemcpyDeviceToDevice));
        check(name, some, expected, 1e-5);
    };
    drop("k161f", single, [&] { k161f<<<all / 256, 256>>>(out, in, bias, residual, all, columns, p, seed); });
    drop("k161g", single, [&] { k161g<<<all / 256, 256>>>(out, in, bias, residual, all, columns, p, factor, seed); });
    drop("k161h", fours, [&] { k161h<<<all / 1024, 256>>>(out, in, bias, residual, all, columns, p, factor, seed); });
    return 0;
}
