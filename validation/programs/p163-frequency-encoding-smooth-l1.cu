// Frequency encoding of sample positions for a radiance field (sines and cosines of ten octaves), and the smooth L1 loss
// of two tensors.
#include "../harness.h"

#include <algorithm>
#include <cuda_pipeline.h>
#include <functional>

const int SAMPLES = 1 << 21, OCTAVES = 10, CODE = 6 * OCTAVES;
#define PI 3.14159265f

// The code of a sample: for each octave the sines of x, y, z and then the cosines.
__global__ void k163a(float *code, const float *position, int samples)
{
    int sample = blockIdx.x * blockDim.x + threadIdx.x;
    if (sample >= samples)
        return;
    for (int k = 0; k < OCTAVES; k++) {
        float frequency = (float)(1 << k) * PI;
        for (int c = 0; c < 3; c++) {
            float v = position[sample * 3 + c] * frequency;
            code[sample * CODE + k * 6 + c] = sinf(v);
            code[sample * CODE + k * 6 + 3 + c] = cosf(v);
        }
    }
}

__global__ void k163b(float *code, const float *position, int samples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples * CODE)
        return;
    int sample = i / CODE, element = i % CODE;
    int k = element / 6, c = element % 6;
    float frequency = (float)(1 << k) * PI;
    if (c < 3)
        code[i] = sinf(position[sample * 3 + c] * frequency);
    else
        code[i] = cosf(position[sample * 3 + c - 3] * frequency);
}

__global__ void k163c(float *code, const float *position, int samples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples * CODE)
        return;
    int sample = i / CODE, element = i % CODE;
    int k = element / 6, c = element % 6;
    float frequency = (float)(1 << k) * PI;
    float phase = c / 3 * (0.5f * PI);
    code[i] = sinf(position[sample * 3 + c % 3] * frequency + phase);
}

__global__ void k163d(float *__restrict__ code, const float *__restrict__ position, int samples)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= samples * (CODE / 4))
        return;
    int sample = i / (CODE / 4), first = i % (CODE / 4) * 4;
    float x = position[sample * 3], y = position[sample * 3 + 1], z = position[sample * 3 + 2];
    float r[4];
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int k = (first + j) / 6, c = (first + j) % 6;
        int axis = c < 3 ? c : c - 3;
        float t = axis == 0 ? x : axis == 1 ? y : z;
        t = t * __int_as_float(127 + k << 23) + (c < 3 ? 0.0f : 0.5f);
        t -= 2.0f * rintf(0.5f * t);
        r[j] = __sinf(PI * t);
    }
    reinterpret_cast<float4 *>(code)[i] = make_float4(r[0], r[1], r[2], r[3]);
}

__host__ __device__ inline float smooth(float a, float b)
{
    float d = fabsf(a - b);
    return d < 1.0f ? 0.5f * d * d : d - 0.5f;
}

// A sum for each block of 256 pairs.
__global__ void k163e(float *partial, const float *a, const float *b, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    part[t] = i < n ? smooth(a[i], b[i]) : 0.0f;
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = part[0];
}

__global__ void k163f(float *partial, const float *a, const float *b, int n)
{
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    part[t] = i < n ? smooth(a[i], b[i]) : 0.0f;
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = part[0];
}

// The sum over a block of 256 threads, for thread 0.
__device__ inline float over_block(float sum)
{
    __shared__ float part[8];
#pragma unroll
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xFFFFFFFFu, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? part[threadIdx.x] : 0.0f;
#pragma unroll
        for (int s = 4; s > 0; s /= 2)
            sum += __shfl_down_sync(0xFFFFFFFFu, sum, s);
    }
    return sum;
}

__global__ void k163g(float *partial, const float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = over_block(i < n ? smooth(a[i], b[i]) : 0.0f);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

__device__ inline float four(float4 a, float4 b)
{
    return smooth(a.x, b.x) + smooth(a.y, b.y) + (smooth(a.z, b.z) + smooth(a.w, b.w));
}

__global__ void __launch_bounds__(256, 8) k163h(float *__restrict__ partial, const float4 *__restrict__ a, const float4 *__restrict__ b, int quads)
{
    float sum = 0.0f;
#pragma unroll 2
    for (int i = blockIdx.x * 256 + threadIdx.x; i < quads; i += gridDim.x * 256)
        sum += four(a[i], b[i]);
    sum = over_block(sum);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sum;
}

// The number of quads is a multiple of the number of threads.
__global__ void __launch_bounds__(256, 8) k163i(float *__restrict__ partial, const float4 *__restrict__ a, const float4 *__restrict__ b, int quads)
{
    const int stages = 3;
    __shared__ float4 left[stages][256], right[stages][256];
    const int t = threadIdx.x, stride = gridDim.x * 256;
    int next = blockIdx.x * 256 + t;
    for (int s = 0; s < stages - 1; s++, next += stride) {
        if (next < quads) {
            __pipeline_memcpy_async(&left[s][t], a + next, 16);
            __pipeline_memcpy_async(&right[s][t], b + next, 16);
        }
        __pipeline_commit();
    }
    float sum = 0.0f;
    int stage = 0, into = stages - 1;
    for (int i = blockIdx.x * 256 + t; i < quads; i += stride, next += stride) {
        if (next < quads) {
            __pipeline_memcpy_async(&left[into][t], a + next, 16);
            __pipeline_memcpy_async(&right[into][t], b + next, 16);
        }
        __pipeline_commit();
        __pipeline_wait_prior(stages - 1);
        sum += four(left[stage][t], right[stage][t]);
        stage = stage == stages - 1 ? 0 : stage + 1;
        into = into == stages - 1 ? 0 : into + 1;
        __syncthreads();
    }
    sum = over_block(sum);
    if (t == 0)
        partial[blockIdx.x] = sum;
}

int main()
{
    const size_t codes = (size_t)SAMPLES * CODE;
    float *position = input<float>((size_t)SAMPLES * 3, 1631, -1.0, 1.0), *code = output<float>(codes);
    std::vector<float> host = on_host(position, (size_t)SAMPLES * 3);
    // Samples 0, 889, ..., 2097151.
    const int every = 889, taken = (SAMPLES - 1) / every + 1;
    std::vector<float> want((size_t)taken * CODE);
    for (int t = 0; t < taken; t++)
        for (int k = 0; k < OCTAVES; k++)
            for (int c = 0; c < 3; c++) {
                double v = 3.14159265358979323846 * (1 << k) * host[(size_t)t * every * 3 + c];
                want[(size_t)t * CODE + k * 6 + c] = float(std::sin(v));
                want[(size_t)t * CODE + k * 6 + 3 + c] = float(std::cos(v));
            }
    float *some = output<float>(want.size());
    auto encode = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(code, 0xA5, codes * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = CODE * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, code, every * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-3);
    };
    const int each = (int)(codes / 256);
    encode("k163a", [&] { k163a<<<SAMPLES / 256, 256>>>(code, position, SAMPLES); });
    encode("k163b", [&] { k163b<<<each, 256>>>(code, position, SAMPLES); });
    encode("k163c", [&] { k163c<<<each, 256>>>(code, position, SAMPLES); });
    encode("k163d", [&] { k163d<<<each / 4, 256>>>(code, position, SAMPLES); });
    MUST(cudaFree(code));

    const int n = 1 << 26, blocks = n / 256, few = 1024;
    float *a = input<float>(n, 1632, -1.0, 1.0), *b = input<float>(n, 1633, -1.0, 1.0);
    float *partial = output<float>(blocks);
    std::vector<float> by_block(blocks), by_few(few);
    {
        std::vector<float> ha = on_host(a, n), hb = on_host(b, n);
        std::vector<double> sums(few, 0.0);
        for (int block = 0; block < blocks; block++) {
            double sum = 0.0;
            for (int i = block * 256; i < block * 256 + 256; i++)
                sum += smooth(ha[i], hb[i]);
            by_block[block] = float(sum);
            // A block of the few takes 256 quads at a time.
            sums[block / 4 % few] += sum;
        }
        for (int i = 0; i < few; i++)
            by_few[i] = float(sums[i]);
    }
    auto loss = [&](const char *name, const std::vector<float> &expected, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, blocks * sizeof(float)));
        launch();
        check(name, partial, expected, 2e-5);
    };
    const float4 *a4 = reinterpret_cast<const float4 *>(a), *b4 = reinterpret_cast<const float4 *>(b);
    loss("k163e", by_block, [&] { k163e<<<blocks, 256>>>(partial, a, b, n); });
    loss("k163f", by_block, [&] { k163f<<<blocks, 256>>>(partial, a, b, n); });
    loss("k163g", by_block, [&] { k163g<<<blocks, 256>>>(partial, a, b, n); });
    loss("k163h", by_few, [&] { k163h<<<few, 256>>>(partial, a4, b4, n / 4); });
    loss("k163i", by_few, [&] { k163i<<<few, 256>>>(partial, a4, b4, n / 4); });
    return 0;
}
