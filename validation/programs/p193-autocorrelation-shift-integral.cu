// Autocorrelation of frames of 4096 samples for 128 lags, the shift of a complex signal in frequency (mixer), and the
// Monte Carlo integral of a bell in three dimensions over given sample points.
#include "../harness.h"

#include <functional>

const int FRAMES = 8192, LENGTH = 4096, LAGS = 128;

__global__ void k193a(float *out, const float *signal, int length, int lags)
{
    int lag = threadIdx.x;
    const float *x = signal + (size_t)blockIdx.x * length;
    float sum = 0.0f;
    for (int n = 0; n < length - lag; n++)
        sum += x[n] * x[n + lag];
    out[(size_t)blockIdx.x * lags + lag] = sum;
}

__global__ void k193b(float *__restrict__ out, const float *__restrict__ signal)
{
    __shared__ __align__(16) float x[LENGTH + LAGS];
    int lag = threadIdx.x;
    for (int n = lag; n < LENGTH; n += LAGS)
        x[n] = signal[(size_t)blockIdx.x * LENGTH + n];
    x[LENGTH + lag] = 0.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll 4
    for (int n = 0; n < LENGTH; n += 4) {
        float4 v = *reinterpret_cast<const float4 *>(&x[n]);
        sum += v.x * x[n + lag];
        sum += v.y * x[n + 1 + lag];
        sum += v.z * x[n + 2 + lag];
        sum += v.w * x[n + 3 + lag];
    }
    out[(size_t)blockIdx.x * LAGS + lag] = sum;
}

const int EACH = 16, GROUPS = LAGS / EACH, PARTS = 128 / GROUPS, PART = LENGTH / PARTS;

__device__ inline int place(int n)
{
    return n + n / 32 * 4;
}

__device__ inline void eight(float *to, const float *x, int n)
{
    float4 low = *reinterpret_cast<const float4 *>(&x[place(n)]);
    float4 high = *reinterpret_cast<const float4 *>(&x[place(n + 4)]);
    to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
    to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

__global__ void __launch_bounds__(128) k193c(float *__restrict__ out, const float *__restrict__ signal)
{
    __shared__ __align__(16) float x[(LENGTH + LAGS) / 32 * 36];
    __shared__ float sums[PARTS][LAGS + 1];
    int t = threadIdx.x;
    for (int n = t; n < LENGTH; n += 128)
        x[place(n)] = signal[(size_t)blockIdx.x * LENGTH + n];
    x[place(LENGTH + t)] = 0.0f;
    __syncthreads();

    int group = t % GROUPS, part = t / GROUPS, ahead = group * EACH;
    float sum[EACH], window[EACH + 8];
#pragma unroll
    for (int l = 0; l < EACH; l++)
        sum[l] = 0.0f;
    eight(window, x, part * PART + ahead);
    eight(window + 8, x, part * PART + ahead + 8);
#pragma unroll 4
    for (int n = part * PART; n < part * PART + PART; n += 8) {
        float v[8];
        eight(v, x, n);
        eight(window + 16, x, n + ahead + 16);
#pragma unroll
        for (int i = 0; i < 8; i++)
#pragma unroll
            for (int l = 0; l < EACH; l++)
                sum[l] += v[i] * window[i + l];
#pragma unroll
        for (int l = 0; l < EACH; l++)
            window[l] = window[l + 8];
    }
#pragma unroll
    for (int l = 0; l < EACH; l++)
        sums[part][ahead + l] = sum[l];
    __syncthreads();
    float total = 0.0f;
#pragma unroll
    for (int p = 0; p < PARTS; p++)
        total += sums[p][t];
    out[(size_t)blockIdx.x * LAGS + t] = total;
}

const int SIGNAL = 1 << 26;
const unsigned STEP = 345678901u;

__global__ void k193d(float2 *out, const float2 *in, double frequency, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double phase = 2.0 * 3.14159265358979323846 * frequency * i;
        float c = cos(phase), s = sin(phase);
        float2 v = in[i];
        out[i] = make_float2(v.x * c + v.y * s, v.y * c - v.x * s);
    }
}

__global__ void k193e(float4 *__restrict__ out, const float4 *__restrict__ in, unsigned step, int pairs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pairs) {
        float4 v = in[i];
        unsigned phase = step * (2u * i);
        float s0, c0, s1, c1;
        sincospif((int)phase * (1.0f / 2147483648.0f), &s0, &c0);
        sincospif((int)(phase + step) * (1.0f / 2147483648.0f), &s1, &c1);
        out[i] = make_float4(v.x * c0 + v.y * s0, v.y * c0 - v.x * s0, v.z * c1 + v.w * s1, v.w * c1 - v.z * s1);
    }
}

const int POINTS = 1 << 25, THREADS = 256, GRID = 132 * 8;

__device__ inline float bell(float x, float y, float z)
{
    return __expf(-(x * x + y * y + z * z));
}

__global__ void k193f(float *sums, const float *x, const float *y, const float *z, int n)
{
    __shared__ float part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? bell(x[i], y[i], z[i]) : 0.0f;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

__global__ void k193g(float *sums, const float *x, const float *y, const float *z, int n)
{
    __shared__ float part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? bell(x[i], y[i], z[i]) : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = part[0];
}

__global__ void k193h(float *__restrict__ sums, const float4 *__restrict__ x, const float4 *__restrict__ y,
                      const float4 *__restrict__ z, int quads)
{
    __shared__ float part[THREADS / 32];
    float sum = 0.0f;
#pragma unroll 2
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < quads; i += GRID * THREADS) {
        float4 a = x[i], b = y[i], c = z[i];
        sum += bell(a.x, b.x, c.x) + bell(a.y, b.y, c.y) + bell(a.z, b.z, c.z) + bell(a.w, b.w, c.w);
    }
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; w++)
            sum += part[w];
        sums[blockIdx.x] = sum;
    }
}

int main()
{
    float *signal = input<float>((size_t)FRAMES * LENGTH, 1931, -1.0, 1.0), *out = output<float>((size_t)FRAMES * LAGS);
    // Every 511th frame.
    const int every = 511, chosen = (FRAMES - 1) / every + 1;
    std::vector<float> want(chosen * LAGS);
    for (int c = 0; c < chosen; c++) {
        std::vector<float> x = on_host(signal + (size_t)c * every * LENGTH, LENGTH);
        for (int lag = 0; lag < LAGS; lag++) {
            double sum = 0;
            for (int n = 0; n < LENGTH - lag; n++)
                sum += double(x[n]) * x[n + lag];
            want[c * LAGS + lag] = float(sum);
        }
    }
    float *picked = output<float>(want.size());
    auto frames = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, (size_t)FRAMES * LAGS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = LAGS * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-3);
    };
    frames("k193a", [&] { k193a<<<FRAMES, LAGS>>>(out, signal, LENGTH, LAGS); });
    frames("k193b", [&] { k193b<<<FRAMES, LAGS>>>(out, signal); });
    frames("k193c", [&] { k193c<<<FRAMES, 128>>>(out, signal); });

    float *in = input<float>(2 * (size_t)SIGNAL, 1932, -1.0, 1.0), *mixed = output<float>(2 * (size_t)SIGNAL);
    // The first and the last samples.
    const int ends = 1 << 18;
    std::vector<float> shifted(4 * ends);
    for (int side = 0; side < 2; side++) {
        size_t skip = side ? SIGNAL - ends : 0;
        std::vector<float> v = on_host(in + 2 * skip, 2 * ends);
        for (int i = 0; i < ends; i++) {
            unsigned turn = STEP * unsigned(skip + i);
            double phase = 2 * 3.14159265358979323846 * (turn / 4294967296.0), c = std::cos(phase), s = std::sin(phase);
            shifted[2 * (side * ends + i)] = float(v[2 * i] * c + v[2 * i + 1] * s);
            shifted[2 * (side * ends + i) + 1] = float(v[2 * i + 1] * c - v[2 * i] * s);
        }
    }
    float *some = output<float>(shifted.size());
    auto mixer = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(mixed, 0xA5, 2 * (size_t)SIGNAL * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t half = 2 * (size_t)ends;
        MUST(cudaMemcpy(some, mixed, half * sizeof(float), cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(some + half, mixed + 2 * (size_t)SIGNAL - half, half * sizeof(float), cudaMemcpyDeviceToDevice));
        check(name, some, shifted, 1e-5);
    };
    float2 *in2 = reinterpret_cast<float2 *>(in), *mixed2 = reinterpret_cast<float2 *>(mixed);
    float4 *in4 = reinterpret_cast<float4 *>(in), *mixed4 = reinterpret_cast<float4 *>(mixed);
    const double frequency = STEP / 4294967296.0;
    mixer("k193d", [&] { k193d<<<SIGNAL / 256, 256>>>(mixed2, in2, frequency, SIGNAL); });
    mixer("k193e", [&] { k193e<<<SIGNAL / 512, 256>>>(mixed4, in4, STEP, SIGNAL / 2); });

    float *x = input<float>(POINTS, 1933, -1.0, 1.0), *y = input<float>(POINTS, 1934, -1.0, 1.0);
    float *z = input<float>(POINTS, 1935, -1.0, 1.0);
    const int blocks = POINTS / THREADS;
    float *sums = output<float>(blocks), *whole = output<float>(1);
    double truth = 0;
    {
        std::vector<float> hx = on_host(x, POINTS), hy = on_host(y, POINTS), hz = on_host(z, POINTS);
        for (int i = 0; i < POINTS; i++)
            truth += std::exp(-(hx[i] * hx[i] + hy[i] * hy[i] + hz[i] * hz[i]));
    }
    auto integral = [&](const char *name, int used, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0xA5, blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        double total = 0;
        for (float v : on_host(sums, used))
            total += v;
        float rounded = float(total);
        MUST(cudaMemcpy(whole, &rounded, sizeof(float), cudaMemcpyHostToDevice));
        check(name, whole, std::vector<float>{float(truth)}, 2e-6);
    };
    auto quads = [](float *data) { return reinterpret_cast<float4 *>(data); };
    integral("k193f", blocks, [&] { k193f<<<blocks, THREADS>>>(sums, x, y, z, POINTS); });
    integral("k193g", blocks, [&] { k193g<<<blocks, THREADS>>>(sums, x, y, z, POINTS); });
    integral("k193h", GRID, [&] { k193h<<<GRID, THREADS>>>(sums, quads(x), quads(y), quads(z), POINTS / 4); });
    return 0;
}
