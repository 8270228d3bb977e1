// Softmax over rows of 1024 numbers, and the gated activation silu(gate) * up of a feed-forward layer in half precision.
#include "../harness.h"

#include <functional>

const int ROWS = 32768, COLS = 1024;

__global__ void k141a(float *out, const float *inp, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = inp + (size_t)row * cols;
    float *y = out + (size_t)row * cols;
    float largest = -INFINITY;
    for (int i = 0; i < cols; i++)
        if (x[i] > largest)
            largest = x[i];
    float sum = 0.0f;
    for (int i = 0; i < cols; i++) {
        y[i] = expf(x[i] - largest);
        sum += y[i];
    }
    for (int i = 0; i < cols; i++)
        y[i] /= sum;
}

__global__ void k141b(float *out, const float *inp, int rows, int cols)
{
    __shared__ float shared[256];
    int tid = threadIdx.x;
    const float *x = inp + (size_t)blockIdx.x * cols;
    float *y = out + (size_t)blockIdx.x * cols;

    float largest = -INFINITY;
    for (int i = tid; i < cols; i += blockDim.x)
        largest = fmaxf(largest, x[i]);
    shared[tid] = largest;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        if (tid < stride)
            shared[tid] = fmaxf(shared[tid], shared[tid + stride]);
        __syncthreads();
    }
    largest = shared[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < cols; i += blockDim.x) {
        float e = expf(x[i] - largest);
        y[i] = e;
        sum += e;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    sum = shared[0];
    for (int i = tid; i < cols; i += blockDim.x)
        y[i] /= sum;
}

__device__ inline float warp_max(float v)
{
    for (int o = 16; o > 0; o /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xFFFFFFFFu, v, o));
    return v;
}

__device__ inline float warp_sum(float v)
{
    for (int o = 16; o > 0; o /= 2)
        v += __shfl_xor_sync(0xFFFFFFFFu, v, o);
    return v;
}

// One warp per row.
__global__ void k141c(float *out, const float *inp, int rows, int cols)
{
    int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    const float *x = inp + (size_t)row * cols;
    float *y = out + (size_t)row * cols;

    float largest = -INFINITY;
    for (int i = lane; i < cols; i += 32)
        largest = fmaxf(largest, x[i]);
    largest = warp_max(largest);

    float sum = 0.0f;
    for (int i = lane; i < cols; i += 32) {
        float e = expf(x[i] - largest);
        y[i] = e;
        sum += e;
    }
    sum = warp_sum(sum);
    for (int i = lane; i < cols; i += 32)
        y[i] /= sum;
}

__global__ void k141d(float *__restrict__ out, const float *__restrict__ inp, int rows, int cols)
{
    int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    const float *x = inp + (size_t)row * cols;
    float *y = out + (size_t)row * cols;

    float largest = -INFINITY, sum = 0.0f;
    for (int i = lane; i < cols; i += 32) {
        float v = x[i], next = fmaxf(largest, v);
        sum = sum * expf(largest - next) + expf(v - next);
        largest = next;
    }
    float all = warp_max(largest);
    sum = warp_sum(sum * expf(largest - all));
    float scale = 1.0f / sum;
    for (int i = lane; i < cols; i += 32)
        y[i] = expf(x[i] - all) * scale;
}

template <bool FAST> __device__ inline void whole_row(float4 *y, const float4 *x, int lane)
{
    float4 v[COLS / 128];
#pragma unroll
    for (int i = 0; i < COLS / 128; i++)
        v[i] = x[i * 32 + lane];
    float largest = -INFINITY;
#pragma unroll
    for (int i = 0; i < COLS / 128; i++)
        largest = fmaxf(largest, fmaxf(fmaxf(v[i].x, v[i].y), fmaxf(v[i].z, v[i].w)));
    largest = warp_max(largest);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < COLS / 128; i++) {
        v[i].x = FAST ? __expf(v[i].x - largest) : expf(v[i].x - largest);
        v[i].y = FAST ? __expf(v[i].y - largest) : expf(v[i].y - largest);
        v[i].z = FAST ? __expf(v[i].z - largest) : expf(v[i].z - largest);
        v[i].w = FAST ? __expf(v[i].w - largest) : expf(v[i].w - largest);
        sum += (v[i].x + v[i].y) + (v[i].z + v[i].w);
    }
    sum = warp_sum(sum);
    float scale = FAST ? __fdividef(1.0f, sum) : 1.0f / sum;
#pragma unroll
    for (int i = 0; i < COLS / 128; i++)
        y[i * 32 + lane] = make_float4(v[i].x * scale, v[i].y * scale, v[i].z * scale, v[i].w * scale);
}

__global__ void k141e(float4 *__restrict__ out, const float4 *__restrict__ inp, int rows)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row < rows)
        whole_row<false>(out + (size_t)row * (COLS / 4), inp + (size_t)row * (COLS / 4), threadIdx.x % 32);
}

__global__ void k141f(float4 *__restrict__ out, const float4 *__restrict__ inp, int rows)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row < rows)
        whole_row<true>(out + (size_t)row * (COLS / 4), inp + (size_t)row * (COLS / 4), threadIdx.x % 32);
}

// A token has d gates, then d values. One block per token.
__global__ void k141g(__half *out, const __half *inp, int d)
{
    const __half *gate = inp + (size_t)blockIdx.x * 2 * d, *up = gate + d;
    __half *y = out + (size_t)blockIdx.x * d;
    for (int i = threadIdx.x; i < d; i += blockDim.x) {
        float g = __half2float(gate[i]), u = __half2float(up[i]);
        y[i] = __float2half(g / (1.0f + expf(-g)) * u);
    }
}

union Eight {
    uint4 bits;
    __half2 pair[4];
};

__global__ void k141h(uint4 *__restrict__ out, const uint4 *__restrict__ inp, int octets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= octets)
        return;
    Eight g, u, y;
    g.bits = inp[(size_t)blockIdx.y * 2 * octets + i];
    u.bits = inp[(size_t)blockIdx.y * 2 * octets + octets + i];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        float2 a = __half22float2(g.pair[j]), b = __half22float2(u.pair[j]);
        a.x = __fdividef(a.x, 1.0f + __expf(-a.x)) * b.x;
        a.y = __fdividef(a.y, 1.0f + __expf(-a.y)) * b.y;
        y.pair[j] = __float22half2_rn(a);
    }
    out[(size_t)blockIdx.y * octets + i] = y.bits;
}

__global__ void pick_half(float *to, const __half *from, size_t stride, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        to[i] = __half2float(from[i * stride]);
}

int main()
{
    const size_t n = (size_t)ROWS * COLS;
    float *x = input<float>(n, 1411, -4.0, 4.0), *y = output<float>(n);
    std::vector<float> hx = on_host(x, n);
    // Every seventh row.
    const int every = 7, chosen = (ROWS - 1) / every + 1;
    float *picked = output<float>((size_t)chosen * COLS);
    std::vector<float> want((size_t)chosen * COLS);
    for (int r = 0; r < chosen; r++) {
        const float *from = &hx[(size_t)r * every * COLS];
        float largest = from[0];
        for (int i = 1; i < COLS; i++)
            largest = std::fmax(largest, from[i]);
        double sum = 0.0;
        for (int i = 0; i < COLS; i++)
            sum += want[(size_t)r * COLS + i] = std::exp(from[i] - largest);
        for (int i = 0; i < COLS; i++)
            want[(size_t)r * COLS + i] = float(want[(size_t)r * COLS + i] / sum);
    }
    auto softmax = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = COLS * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, y, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-7);
    };
    auto x4 = (const float4 *)x;
    auto y4 = (float4 *)y;
    softmax("k141a", [&] { k141a<<<ROWS / 128, 128>>>(y, x, ROWS, COLS); });
    softmax("k141b", [&] { k141b<<<ROWS, 256>>>(y, x, ROWS, COLS); });
    softmax("k141c", [&] { k141c<<<ROWS / 8, 256>>>(y, x, ROWS, COLS); });
    softmax("k141d", [&] { k141d<<<ROWS / 8, 256>>>(y, x, ROWS, COLS); });
    softmax("k141e", [&] { k141e<<<ROWS / 8, 256>>>(y4, x4, ROWS); });
    softmax("k141f", [&] { k141f<<<ROWS / 8, 256>>>(y4, x4, ROWS); });

    const int tokens = 8192, d = 11008, octets = d / 8;
    const size_t results = (size_t)tokens * d;
    __half *both = input<__half>(2 * results, 1412, -4.0, 4.0), *gated = output<__half>(results);
    std::vector<__half> hb = on_host(both, 2 * results);
    const size_t stride = 61;
    const int count = (results - 1) / stride + 1;
    float *sample = output<float>(count);
    std::vector<float> expected(count);
    for (int i = 0; i < count; i++) {
        size_t at = i * stride, token = at / d, j = at % d;
        float g = __half2float(hb[token * 2 * d + j]), u = __half2float(hb[token * 2 * d + d + j]);
        expected[i] = g / (1.0f + std::exp(-g)) * u;
    }
    auto gating = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(gated, 0xA5, results * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_half<<<(count + 255) / 256, 256>>>(sample, gated, stride, count);
        check(name, sample, expected, 1e-3);
    };
    auto in8 = (const uint4 *)both;
    auto out8 = (uint4 *)gated;
    gating("k141g", [&] { k141g<<<tokens, 1024>>>(gated, both, d); });
    gating("k141h", [&] { k141h<<<dim3((octets + 127) / 128, tokens), 128>>>(out8, in8, octets); });
    return 0;
}
