// A small network (3 -> 16 -> 16 -> 1, no biases) evaluated at many points, the bi-interaction pooling of embedded
// fields, and the sum of the squared hinge loss.
#include "../harness.h"

#include <functional>

const int HIDDEN = 16, FIRST = HIDDEN * 3, SECOND = HIDDEN * HIDDEN, WEIGHTS = FIRST + SECOND + HIDDEN;

// weight: [hidden][3], then [hidden][hidden], then [hidden]. points: x of all, y of all, z of all.
__global__ void k214a(float *value, const float *points, const float *weight, int hidden, int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float in[3], layer[64];
    for (int i = 0; i < 3; i++)
        in[i] = points[(size_t)i * n + p];
    for (int j = 0; j < hidden; j++) {
        float sum = 0.0f;
        for (int i = 0; i < 3; i++)
            sum += weight[j * 3 + i] * in[i];
        layer[j] = fmaxf(sum, 0.0f);
    }
    const float *second = weight + hidden * 3, *last = second + hidden * hidden;
    float result = 0.0f;
    for (int j = 0; j < hidden; j++) {
        float sum = 0.0f;
        for (int i = 0; i < hidden; i++)
            sum += second[j * hidden + i] * layer[i];
        result += last[j] * fmaxf(sum, 0.0f);
    }
    value[p] = result;
}

__global__ void k214b(float *__restrict__ value, const float *__restrict__ points, const float *__restrict__ weight,
                      int n)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= n)
        return;
    float in[3], layer[HIDDEN];
#pragma unroll
    for (int i = 0; i < 3; i++)
        in[i] = points[(size_t)i * n + p];
#pragma unroll
    for (int j = 0; j < HIDDEN; j++) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 3; i++)
            sum += weight[j * 3 + i] * in[i];
        layer[j] = fmaxf(sum, 0.0f);
    }
    float result = 0.0f;
#pragma unroll
    for (int j = 0; j < HIDDEN; j++) {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < HIDDEN; i++)
            sum += weight[FIRST + j * HIDDEN + i] * layer[i];
        result += weight[FIRST + SECOND + j] * fmaxf(sum, 0.0f);
    }
    value[p] = result;
}

__constant__ float weights[WEIGHTS];

// Two neighbouring points per thread; n is even.
__global__ void k214c(float *__restrict__ value, const float *__restrict__ points, int n)
{
    int p = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
    if (p >= n)
        return;
    float2 in[3];
    float layer[HIDDEN], other[HIDDEN];
#pragma unroll
    for (int i = 0; i < 3; i++)
        in[i] = *reinterpret_cast<const float2 *>(points + (size_t)i * n + p);
#pragma unroll
    for (int j = 0; j < HIDDEN; j++) {
        float s = 0.0f, t = 0.0f;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            s += weights[j * 3 + i] * in[i].x;
            t += weights[j * 3 + i] * in[i].y;
        }
        layer[j] = fmaxf(s, 0.0f);
        other[j] = fmaxf(t, 0.0f);
    }
    float2 result = make_float2(0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < HIDDEN; j++) {
        float s = 0.0f, t = 0.0f;
#pragma unroll
        for (int i = 0; i < HIDDEN; i++) {
            s += weights[FIRST + j * HIDDEN + i] * layer[i];
            t += weights[FIRST + j * HIDDEN + i] * other[i];
        }
        result.x += weights[FIRST + SECOND + j] * fmaxf(s, 0.0f);
        result.y += weights[FIRST + SECOND + j] * fmaxf(t, 0.0f);
    }
    *reinterpret_cast<float2 *>(value + p) = result;
}

const int FIELDS = 24, DEPTH = 64;

// embedded[sample][field][depth], pooled[sample][depth]: the sum over pairs of fields of their products.
__global__ void k214d(float *pooled, const float *embedded, int fields)
{
    const float *v = embedded + (size_t)(blockIdx.x * blockDim.y + threadIdx.y) * fields * DEPTH + threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < fields; i++)
        for (int j = i + 1; j < fields; j++)
            sum += v[i * DEPTH] * v[j * DEPTH];
    pooled[(blockIdx.x * blockDim.y + threadIdx.y) * DEPTH + threadIdx.x] = sum;
}

__global__ void k214e(float *__restrict__ pooled, const float *__restrict__ embedded)
{
    const float *v = embedded + (size_t)(blockIdx.x * blockDim.y + threadIdx.y) * FIELDS * DEPTH + threadIdx.x;
    float sum = 0.0f, squares = 0.0f;
#pragma unroll
    for (int i = 0; i < FIELDS; i++) {
        float e = v[i * DEPTH];
        sum += e;
        squares += e * e;
    }
    pooled[(blockIdx.x * blockDim.y + threadIdx.y) * DEPTH + threadIdx.x] = 0.5f * (sum * sum - squares);
}

__device__ inline float hinge(float score, float target)
{
    float m = fmaxf(0.0f, 1.0f - score * target);
    return m * m;
}

__global__ void k214f(float *partial, const float *score, const float *target)
{
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = hinge(score[i], target[i]);
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (threadIdx.x % (2 * s) == 0)
            sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}

__global__ void k214g(float *partial, const float *score, const float *target)
{
    __shared__ float sums[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = hinge(score[i], target[i]);
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}

__global__ void k214h(float *__restrict__ partial, const float4 *__restrict__ score, const float4 *__restrict__ target,
                      int quads)
{
    __shared__ float sums[256];
    float sum = 0.0f;
    const int step = gridDim.x * blockDim.x;
#pragma unroll 2
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += step) {
        float4 a = score[i], b = target[i];
        sum += (hinge(a.x, b.x) + hinge(a.y, b.y)) + (hinge(a.z, b.z) + hinge(a.w, b.w));
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = sums[0];
}

__global__ void fill_signs(float *target, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        target[i] = scrambled(i, 2147) & 1 ? 1.0f : -1.0f;
}

// One block of 1024 threads.
__global__ void fill_mean(float *mean, const float *partial, int count, double n)
{
    __shared__ double sums[1024];
    double sum = 0.0;
    for (int i = threadIdx.x; i < count; i += 1024)
        sum += partial[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 512; s > 0; s /= 2) {
        if (threadIdx.x < s)
            sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *mean = float(sums[0] / n);
}

int main()
{
    {
        const int n = 16 << 20, every = 241, part = (n - 1) / every + 1;
        float *points = input<float>((size_t)n * 3, 2141, -1.0, 1.0), *weight = input<float>(WEIGHTS, 2142, -0.6, 0.6);
        float *value = output<float>(n);
        MUST(cudaMemcpyToSymbol(weights, weight, WEIGHTS * sizeof(float), 0, cudaMemcpyDeviceToDevice));
        std::vector<float> hp = on_host(points, (size_t)n * 3), w = on_host(weight, WEIGHTS), want(part);
        for (int k = 0; k < part; k++) {
            double layer[HIDDEN], result = 0.0;
            for (int j = 0; j < HIDDEN; j++) {
                layer[j] = 0.0;
                for (int i = 0; i < 3; i++)
                    layer[j] += double(w[j * 3 + i]) * hp[(size_t)i * n + k * every];
                layer[j] = std::fmax(layer[j], 0.0);
            }
            for (int j = 0; j < HIDDEN; j++) {
                double sum = 0.0;
                for (int i = 0; i < HIDDEN; i++)
                    sum += w[FIRST + j * HIDDEN + i] * layer[i];
                result += w[FIRST + SECOND + j] * std::fmax(sum, 0.0);
            }
            want[k] = float(result);
        }
        float *picked = output<float>(part);
        auto network = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(value, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(picked, 4, value, every * 4, 4, part, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-5);
        };
        network("k214a", [&] { k214a<<<n / 256, 256>>>(value, points, weight, HIDDEN, n); });
        network("k214b", [&] { k214b<<<n / 256, 256>>>(value, points, weight, n); });
        network("k214c", [&] { k214c<<<n / 512, 256>>>(value, points, n); });
        MUST(cudaFree(points));
    }
    {
        const int samples = 64 << 10, part = 2048;
        const size_t per_sample = FIELDS * DEPTH;
        float *embedded = input<float>(samples * per_sample, 2143, -1.0, 1.0);
        float *pooled = output<float>((size_t)samples * DEPTH);
        std::vector<float> some = on_host(embedded + (samples - part) * per_sample, part * per_sample);
        std::vector<float> want((size_t)part * DEPTH);
        for (int s = 0; s < part; s++)
            for (int k = 0; k < DEPTH; k++) {
                const float *v = &some[s * per_sample + k];
                double sum = 0.0;
                for (int i = 0; i < FIELDS; i++)
                    for (int j = i + 1; j < FIELDS; j++)
                        sum += double(v[i * DEPTH]) * v[j * DEPTH];
                want[(size_t)s * DEPTH + k] = float(sum);
            }
        auto pool = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(pooled, 0xA5, (size_t)samples * DEPTH * sizeof(float)));
            launch();
            check(name, pooled + (size_t)(samples - part) * DEPTH, want, 1e-4);
        };
        dim3 block(DEPTH, 4);
        pool("k214d", [&] { k214d<<<samples / 4, block>>>(pooled, embedded, FIELDS); });
        pool("k214e", [&] { k214e<<<samples / 4, block>>>(pooled, embedded); });
        MUST(cudaFree(embedded));
    }
    {
        const int n = 32 << 20, blocks = n / 256, wide = 132 * 8;
        float *score = input<float>(n, 2144, -2.0, 2.0), *target = output<float>(n);
        fill_signs<<<1056, 256>>>(target, n);
        float *partial = output<float>(blocks), *mean = output<float>(1);
        std::vector<float> hs = on_host(score, n), ht = on_host(target, n);
        double sum = 0.0;
        for (int i = 0; i < n; i++) {
            float m = std::fmax(0.0f, 1.0f - hs[i] * ht[i]);
            sum += m * m;
        }
        std::vector<float> want(1, float(sum / n));
        auto loss = [&](const char *name, int count, std::function<void()> launch) {
            MUST(cudaMemset(partial, 0xA5, blocks * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            fill_mean<<<1, 1024>>>(mean, partial, count, n);
            check(name, mean, want, 2e-6);
        };
        const float4 *score4 = reinterpret_cast<float4 *>(score), *target4 = reinterpret_cast<float4 *>(target);
        loss("k214f", blocks, [&] { k214f<<<blocks, 256>>>(partial, score, target); });
        loss("k214g", blocks, [&] { k214g<<<blocks, 256>>>(partial, score, target); });
        loss("k214h", wide, [&] { k214h<<<wide, 256>>>(partial, score4, target4, n / 4); });
    }
    return 0;
}
