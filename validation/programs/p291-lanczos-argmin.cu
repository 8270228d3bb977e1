// Rows of an image resampled with the Lanczos kernel (a = 3), and the place of the smallest value over the middle
// dimension of a tensor.
#include "../harness.h"
#include <algorithm>

constexpr int ROWS = 8192, WIDTH = 4096, WIDE = 6144, ROWS_PER_THREAD = 32;
constexpr int BATCH = 32, K = 2048, N = 1024;

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

__device__ double lanczos(double t)
{
    if (fabs(t) < 1e-4)
        return 1.0;
    if (fabs(t) >= 3.0)
        return 0.0;
    double p = 3.14159265358979 * t;
    return 3.0 * sin(p) * sin(p / 3.0) / (p * p);
}

__device__ float lanczos(float t)
{
    if (fabsf(t) < 1e-4f)
        return 1.0f;
    if (fabsf(t) >= 3.0f)
        return 0.0f;
    float p = 3.14159265f * t;
    return 3.0f * sinf(p) * sinf(p / 3.0f) / (p * p);
}

__device__ float lanczos_quick(float t)
{
    if (fabsf(t) < 1e-3f)
        return 1.0f;
    if (fabsf(t) >= 3.0f)
        return 0.0f;
    float p = 3.14159265f * t;
    return __fdividef(3.0f * __sinf(p) * __sinf(p * 0.33333333f), p * p);
}

__global__ void k291a(const float *in, float *out, double ratio)
{
    int o = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    double x = (o + 0.5) * ratio - 0.5;
    int first = int(floor(x)) - 2;
    double sum = 0, total = 0;
    for (int k = 0; k < 6; k++) {
        double w = lanczos(x - (first + k));
        sum += w * in[row * WIDTH + min(max(first + k, 0), WIDTH - 1)];
        total += w;
    }
    out[row * WIDE + o] = float(sum / total);
}

__global__ void k291b(const float *in, float *out, float ratio)
{
    int o = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    float x = (o + 0.5f) * ratio - 0.5f;
    int first = int(floorf(x)) - 2;
    float sum = 0, total = 0;
    for (int k = 0; k < 6; k++) {
        float w = lanczos(x - (first + k));
        sum += w * in[row * WIDTH + min(max(first + k, 0), WIDTH - 1)];
        total += w;
    }
    out[row * WIDE + o] = sum / total;
}

__global__ void k291c(const float *__restrict__ in, float *__restrict__ out, float ratio)
{
    int o = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * ROWS_PER_THREAD;
    float x = (o + 0.5f) * ratio - 0.5f;
    int first = int(floorf(x)) - 2, from[6];
    float w[6], total = 0;
    for (int k = 0; k < 6; k++) {
        w[k] = lanczos(x - (first + k));
        from[k] = min(max(first + k, 0), WIDTH - 1);
        total += w[k];
    }
    for (int k = 0; k < 6; k++)
        w[k] /= total;
#pragma unroll 4
    for (int r = 0; r < ROWS_PER_THREAD; r++) {
        float sum = 0;
        for (int k = 0; k < 6; k++)
            sum += w[k] * in[(row + r) * WIDTH + from[k]];
        out[(row + r) * WIDE + o] = sum;
    }
}

__global__ void k291d(const float *__restrict__ in, float *__restrict__ out, float ratio)
{
    int o = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * ROWS_PER_THREAD;
    float x = (o + 0.5f) * ratio - 0.5f;
    int first = int(floorf(x)) - 2, from[6];
    float w[6], total = 0;
    for (int k = 0; k < 6; k++) {
        w[k] = lanczos_quick(x - (first + k));
        from[k] = min(max(first + k, 0), WIDTH - 1);
        total += w[k];
    }
    for (int k = 0; k < 6; k++)
        w[k] = __fdividef(w[k], total);
#pragma unroll 4
    for (int r = 0; r < ROWS_PER_THREAD; r++) {
        float sum = 0;
        for (int k = 0; k < 6; k++)
            sum += w[k] * in[(row + r) * WIDTH + from[k]];
        out[(row + r) * WIDE + o] = sum;
    }
}

// One block per result; x as [batch][k][n].
__global__ void k291e(const float *x, int *place)
{
    __shared__ float least[256];
    __shared__ int where[256];
    int b = blockIdx.y, n = blockIdx.x, t = threadIdx.x;
    float best = INFINITY;
    int at = 0;
#pragma unroll
    for (int j = 0; j < K / 256; j++) {
        int k = j * 256 + t;
        float v = x[(size_t(b) * K + k) * N + n];
        if (v < best) {
            best = v;
            at = k;
        }
    }
    least[t] = best;
    where[t] = at;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s && (least[t + s] < least[t] || (least[t + s] == least[t] && where[t + s] < where[t]))) {
            least[t] = least[t + s];
            where[t] = where[t + s];
        }
        __syncthreads();
    }
    if (t == 0)
        place[b * N + n] = where[0];
}

__global__ void k291f(const float *x, int *place)
{
    __shared__ float least[8];
    __shared__ int where[8];
    int b = blockIdx.y, n = blockIdx.x, t = threadIdx.x;
    float best = INFINITY;
    int at = 0;
#pragma unroll
    for (int j = 0; j < K / 256; j++) {
        int k = j * 256 + t;
        float v = x[(size_t(b) * K + k) * N + n];
        if (v < best) {
            best = v;
            at = k;
        }
    }
    for (int s = 16; s > 0; s /= 2) {
        float v = __shfl_down_sync(~0u, best, s);
        int k = __shfl_down_sync(~0u, at, s);
        if (v < best || (v == best && k < at)) {
            best = v;
            at = k;
        }
    }
    if (t % 32 == 0) {
        least[t / 32] = best;
        where[t / 32] = at;
    }
    __syncthreads();
    if (t == 0) {
        for (int s = 1; s < 8; s++)
            if (least[s] < best || (least[s] == best && where[s] < at)) {
                best = least[s];
                at = where[s];
            }
        place[b * N + n] = at;
    }
}

// A block takes 32 neighbouring n; each of its eight warps takes every eighth k.
__global__ void k291g(const float *__restrict__ x, int *__restrict__ place)
{
    __shared__ float least[8][32];
    __shared__ int where[8][32];
    int b = blockIdx.y, n = blockIdx.x * 32 + threadIdx.x, g = threadIdx.y;
    float best = INFINITY;
    int at = 0;
#pragma unroll 8
    for (int k = g; k < K; k += 8) {
        float v = x[(size_t(b) * K + k) * N + n];
        if (v < best) {
            best = v;
            at = k;
        }
    }
    least[g][threadIdx.x] = best;
    where[g][threadIdx.x] = at;
    __syncthreads();
    if (g == 0) {
        for (int s = 1; s < 8; s++) {
            float v = least[s][threadIdx.x];
            int k = where[s][threadIdx.x];
            if (v < best || (v == best && k < at)) {
                best = v;
                at = k;
            }
        }
        place[b * N + n] = at;
    }
}

int main()
{
    {
        size_t from = size_t(ROWS) * WIDTH, to = size_t(ROWS) * WIDE;
        float *in = input<float>(from, 1, 0, 1), *out = output<float>(to);
        double ratio = double(WIDTH) / WIDE;
        k291a<<<dim3(WIDE / 256, ROWS), 256>>>(in, out, ratio);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(out, to), source = on_host(in, from);
        for (size_t i = 0; i < to; i += 2003) {
            double x = (i % WIDE + 0.5) * ratio - 0.5, sum = 0, total = 0;
            int first = int(std::floor(x)) - 2;
            for (int k = 0; k < 6; k++) {
                double p = 3.14159265358979 * (x - (first + k));
                double w = std::fabs(p) < 1e-4 ? 1 : std::fabs(p) >= 9.42477796 ? 0 : 3 * std::sin(p) * std::sin(p / 3) / (p * p);
                sum += w * source[i / WIDE * WIDTH + std::min(std::max(first + k, 0), WIDTH - 1)];
                total += w;
            }
            agree("lanczos", want[i], sum / total, 1e-4);
        }
        MUST(cudaMemset(out, 0xA5, to * sizeof(float)));
        k291b<<<dim3(WIDE / 256, ROWS), 256>>>(in, out, float(ratio));
        check("k291b", out, want, 1e-2);
        MUST(cudaMemset(out, 0xA5, to * sizeof(float)));
        k291c<<<dim3(WIDE / 256, ROWS / ROWS_PER_THREAD), 256>>>(in, out, float(ratio));
        check("k291c", out, want, 1e-2);
        MUST(cudaMemset(out, 0xA5, to * sizeof(float)));
        k291d<<<dim3(WIDE / 256, ROWS / ROWS_PER_THREAD), 256>>>(in, out, float(ratio));
        check("k291d", out, want, 1e-2);
        cudaFree(in), cudaFree(out);
    }
    size_t n = size_t(BATCH) * K * N;
    float *x = input<float>(n, 2, -1, 1);
    int *place = output<int>(BATCH * N);
    k291e<<<dim3(N, BATCH), 256>>>(x, place);
    MUST(cudaDeviceSynchronize());
    std::vector<int> want = on_host(place, BATCH * N);
    std::vector<float> source = on_host(x, n);
    for (size_t i = 0; i < BATCH * N; i += 37) {
        int at = 0;
        for (int k = 1; k < K; k++)
            if (source[(i / N * K + k) * N + i % N] < source[(i / N * K + at) * N + i % N])
                at = k;
        agree("place", want[i], at, 0);
    }
    MUST(cudaMemset(place, 0xA5, BATCH * N * sizeof(int)));
    k291f<<<dim3(N, BATCH), 256>>>(x, place);
    check("k291f", place, want, 0);
    MUST(cudaMemset(place, 0xA5, BATCH * N * sizeof(int)));
    k291g<<<dim3(N / 32, BATCH), dim3(32, 8)>>>(x, place);
    check("k291g", place, want, 0);
    return 0;
}
