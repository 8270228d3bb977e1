// Gaussian naive Bayes: the best score of 32 classes for samples of 16 features (stored by feature), and the five sums
// that the correlation of two long columns needs.
#include "../harness.h"

#include <functional>

const int FEATURES = 16, CLASSES = 32;

__global__ void k179a(float *best, const float *x, const float *mean, const float *variance, const float *prior,
                      int samples, int features, int classes)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= samples)
        return;
    float top = -1e30f;
    for (int k = 0; k < classes; k++) {
        float score = logf(prior[k]);
        for (int f = 0; f < features; f++) {
            float v = variance[k * features + f];
            float d = x[f * samples + n] - mean[k * features + f];
            score -= 0.5f * (logf(6.28318531f * v) + d * d / v);
        }
        top = fmaxf(top, score);
    }
    best[n] = top;
}

__global__ void k179b(float *best, const float *x, const float *square, const float *linear, const float *offset,
                      int samples, int features, int classes)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= samples)
        return;
    float top = -1e30f;
    for (int k = 0; k < classes; k++) {
        float score = offset[k];
        for (int f = 0; f < features; f++) {
            float v = x[f * samples + n];
            score += v * (linear[k * features + f] + v * square[k * features + f]);
        }
        top = fmaxf(top, score);
    }
    best[n] = top;
}

__global__ void k179c(float *__restrict__ best, const float *__restrict__ x, const float *__restrict__ square,
                      const float *__restrict__ linear, const float *__restrict__ offset, int samples)
{
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= samples)
        return;
    float v[FEATURES];
#pragma unroll
    for (int f = 0; f < FEATURES; f++)
        v[f] = x[f * samples + n];
    float top = -1e30f;
#pragma unroll 1
    for (int k = 0; k < CLASSES; k++) {
        float score = offset[k];
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            score += v[f] * (linear[k * FEATURES + f] + v[f] * square[k * FEATURES + f]);
        top = fmaxf(top, score);
    }
    best[n] = top;
}

const int TEAM = 128, EACH = 8;

// Samples are a multiple of 1024.
__global__ void __launch_bounds__(TEAM, 3) k179d(float *__restrict__ best, const float *__restrict__ x,
                                                 const float *__restrict__ square, const float *__restrict__ linear,
                                                 const float *__restrict__ offset, int samples)
{
    __shared__ float4 table[CLASSES * FEATURES / 2];
    __shared__ float start[CLASSES];
    for (int i = threadIdx.x; i < CLASSES * FEATURES / 2; i += TEAM)
        table[i] = make_float4(square[2 * i], linear[2 * i], square[2 * i + 1], linear[2 * i + 1]);
    if (threadIdx.x < CLASSES)
        start[threadIdx.x] = offset[threadIdx.x];
    int n = blockIdx.x * TEAM * EACH + threadIdx.x;
    float v[EACH][FEATURES], top[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        top[e] = -1e30f;
#pragma unroll
        for (int f = 0; f < FEATURES; f++)
            v[e][f] = x[f * samples + n + e * TEAM];
    }
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < CLASSES; k++) {
        float score[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++)
            score[e] = start[k];
#pragma unroll
        for (int f = 0; f < FEATURES; f += 2) {
            float4 w = table[(k * FEATURES + f) / 2];
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                score[e] += v[e][f] * (w.y + v[e][f] * w.x);
                score[e] += v[e][f + 1] * (w.w + v[e][f + 1] * w.z);
            }
        }
#pragma unroll
        for (int e = 0; e < EACH; e++)
            top[e] = fmaxf(top[e], score[e]);
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
        best[n + e * TEAM] = top[e];
}

const int BLOCK = 256, SUMS = 5;

__device__ inline void add(float *sum, float x, float y)
{
    sum[0] += x;
    sum[1] += y;
    sum[2] += x * x;
    sum[3] += y * y;
    sum[4] += x * y;
}

__global__ void k179e(float *partial, const float *x, const float *y, int n)
{
    __shared__ float part[SUMS][BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    float sum[SUMS] = {};
    if (i < n)
        add(sum, x[i], y[i]);
    for (int j = 0; j < SUMS; j++)
        part[j][t] = sum[j];
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        if (t % (2 * step) == 0)
            for (int j = 0; j < SUMS; j++)
                part[j][t] += part[j][t + step];
        __syncthreads();
    }
    if (t < SUMS)
        partial[t * gridDim.x + blockIdx.x] = part[t][0];
}

__device__ inline void tree(float *partial, float (*part)[BLOCK], const float *sum)
{
    int t = threadIdx.x;
    for (int j = 0; j < SUMS; j++)
        part[j][t] = sum[j];
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (t < half)
            for (int j = 0; j < SUMS; j++)
                part[j][t] += part[j][t + half];
        __syncthreads();
    }
    if (t < SUMS)
        partial[t * gridDim.x + blockIdx.x] = part[t][0];
}

__global__ void k179f(float *partial, const float *x, const float *y, int n)
{
    __shared__ float part[SUMS][BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float sum[SUMS] = {};
    if (i < n)
        add(sum, x[i], y[i]);
    tree(partial, part, sum);
}

__device__ inline void stream(float *sum, const float4 *__restrict__ x, const float4 *__restrict__ y, int quads)
{
    int step = gridDim.x * BLOCK;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < quads; i += step) {
        float4 a = x[i], b = y[i];
        add(sum, a.x, b.x);
        add(sum, a.y, b.y);
        add(sum, a.z, b.z);
        add(sum, a.w, b.w);
    }
}

__global__ void __launch_bounds__(BLOCK, 8) k179g(float *__restrict__ partial, const float4 *__restrict__ x,
                                                  const float4 *__restrict__ y, int quads)
{
    __shared__ float part[SUMS][BLOCK];
    float sum[SUMS] = {};
    stream(sum, x, y, quads);
    tree(partial, part, sum);
}

__global__ void __launch_bounds__(BLOCK, 8) k179h(float *__restrict__ partial, const float4 *__restrict__ x,
                                                  const float4 *__restrict__ y, int quads)
{
    __shared__ float part[SUMS][BLOCK / 32];
    float sum[SUMS] = {};
    stream(sum, x, y, quads);
    int t = threadIdx.x;
    for (int j = 0; j < SUMS; j++) {
        for (int down = 16; down > 0; down /= 2)
            sum[j] += __shfl_down_sync(0xffffffffu, sum[j], down);
        if (t % 32 == 0)
            part[j][t / 32] = sum[j];
    }
    __syncthreads();
    if (t < SUMS) {
        float all = 0.0f;
        for (int w = 0; w < BLOCK / 32; w++)
            all += part[t][w];
        partial[t * gridDim.x + blockIdx.x] = all;
    }
}

__global__ void fill_totals(double *total, const float *partial, int count)
{
    __shared__ double part[256];
    double sum = 0;
    for (int i = threadIdx.x; i < count; i += 256)
        sum += partial[blockIdx.x * count + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 256; i++)
            sum += part[i];
        total[blockIdx.x] = sum;
    }
}

int main()
{
    const int samples = 4 << 20, cells = CLASSES * FEATURES;
    float *x = input<float>((size_t)samples * FEATURES, 1791, -3.0, 3.0), *best = output<float>(samples);
    float *mean = input<float>(cells, 1792, -2.0, 2.0), *variance = input<float>(cells, 1793, 0.5, 2.0);
    float *prior = input<float>(CLASSES, 1794, 0.01, 0.05);
    std::vector<float> hm = on_host(mean, cells), hv = on_host(variance, cells), hp = on_host(prior, CLASSES);
    std::vector<float> a(cells), b(cells), c(CLASSES);
    std::vector<double> constant(CLASSES);
    for (int k = 0; k < CLASSES; k++) {
        constant[k] = std::log(double(hp[k]));
        double full = 0;
        for (int f = 0; f < FEATURES; f++) {
            double m = hm[k * FEATURES + f], v = hv[k * FEATURES + f];
            a[k * FEATURES + f] = float(-0.5 / v);
            b[k * FEATURES + f] = float(m / v);
            constant[k] -= 0.5 * std::log(2 * 3.14159265358979323846 * v);
            full -= 0.5 * m * m / v;
        }
        c[k] = float(constant[k] + full);
    }
    float *square = on_device(a), *linear = on_device(b), *offset = on_device(c);

    // Every 257th sample.
    const int every = 257, chosen = (samples - 1) / every + 1;
    float *picked = output<float>(chosen);
    std::vector<float> hx((size_t)chosen * FEATURES), want(chosen);
    const size_t word = sizeof(float);
    for (int f = 0; f < FEATURES; f++)
        MUST(cudaMemcpy2D(&hx[(size_t)f * chosen], word, x + (size_t)f * samples, every * word, word, chosen,
                          cudaMemcpyDeviceToHost));
    for (int i = 0; i < chosen; i++) {
        double top = -1e30;
        for (int k = 0; k < CLASSES; k++) {
            double score = constant[k];
            for (int f = 0; f < FEATURES; f++) {
                double d = double(hx[(size_t)f * chosen + i]) - hm[k * FEATURES + f];
                score -= 0.5 * d * d / hv[k * FEATURES + f];
            }
            top = std::fmax(top, score);
        }
        want[i] = float(top);
    }
    auto bayes = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(best, 0xA5, samples * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, word, best, every * word, word, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-5);
    };
    const int strips = samples / 256, teams = samples / (TEAM * EACH);
    bayes("k179a", [&] { k179a<<<strips, 256>>>(best, x, mean, variance, prior, samples, FEATURES, CLASSES); });
    bayes("k179b", [&] { k179b<<<strips, 256>>>(best, x, square, linear, offset, samples, FEATURES, CLASSES); });
    bayes("k179c", [&] { k179c<<<strips, 256>>>(best, x, square, linear, offset, samples); });
    bayes("k179d", [&] { k179d<<<teams, TEAM>>>(best, x, square, linear, offset, samples); });

    const int n = 64 << 20, blocks = n / BLOCK, wide = 132 * 8;
    float *u = input<float>(n, 1795, 0.0, 1.0), *v = input<float>(n, 1796, 0.0, 2.0);
    float *partial = output<float>((size_t)SUMS * blocks);
    double *total = output<double>(SUMS);
    std::vector<float> hu = on_host(u, n), hw = on_host(v, n);
    std::vector<double> sums(SUMS, 0.0);
    double su = 0, sv = 0, suu = 0, svv = 0, suv = 0;
    for (int i = 0; i < n; i++) {
        double p = hu[i], q = hw[i];
        su += p, sv += q, suu += p * p, svv += q * q, suv += p * q;
    }
    sums[0] = su, sums[1] = sv, sums[2] = suu, sums[3] = svv, sums[4] = suv;
    auto moments = [&](const char *name, int count, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, (size_t)SUMS * blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_totals<<<SUMS, 256>>>(total, partial, count);
        check(name, total, sums, 1e-5);
    };
    const float4 *u4 = reinterpret_cast<const float4 *>(u), *v4 = reinterpret_cast<const float4 *>(v);
    moments("k179e", blocks, [&] { k179e<<<blocks, BLOCK>>>(partial, u, v, n); });
    moments("k179f", blocks, [&] { k179f<<<blocks, BLOCK>>>(partial, u, v, n); });
    moments("k179g", wide, [&] { k179g<<<wide, BLOCK>>>(partial, u4, v4, n / 4); });
    moments("k179h", wide, [&] { k179h<<<wide, BLOCK>>>(partial, u4, v4, n / 4); });
    return 0;
}
