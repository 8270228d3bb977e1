// Haar wavelet transform of many signals of 256 numbers, and a time step of the two-dimensional wave equation in double
// precision.
#include "../harness.h"

#include <functional>

const int LENGTH = 256, SIGNALS = 1 << 17;
const float ROOT = 0.70710678f;

// Result: the mean term, then the differences from the coarsest level to the finest.
__global__ void k166a(float *out, float *temp, const float *in, int signals)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < signals) {
        const float *src = in + s * LENGTH;
        float *half_done = temp + s * (LENGTH / 2), *dst = out + s * LENGTH;
        for (int half = LENGTH / 2; half >= 1; half /= 2) {
            for (int i = 0; i < half; i++) {
                float e = src[2 * i], o = src[2 * i + 1];
                half_done[i] = (e + o) * ROOT;
                dst[half + i] = (e - o) * ROOT;
            }
            src = half_done;
        }
        dst[0] = half_done[0];
    }
}

// A block of LENGTH / 2 threads per signal from here on.
__global__ void k166b(float *out, float *temp, const float *in)
{
    int t = threadIdx.x;
    const float *src = in + blockIdx.x * LENGTH;
    float *half_done = temp + blockIdx.x * (LENGTH / 2), *dst = out + blockIdx.x * LENGTH;
    for (int half = LENGTH / 2; half >= 1; half /= 2) {
        float e = 0.0f, o = 0.0f;
        if (t < half) {
            e = src[2 * t];
            o = src[2 * t + 1];
        }
        __syncthreads();
        if (t < half) {
            half_done[t] = (e + o) * ROOT;
            dst[half + t] = (e - o) * ROOT;
        }
        __syncthreads();
        src = half_done;
    }
    if (t == 0)
        dst[0] = half_done[0];
}

__global__ void k166c(float *out, const float *in)
{
    __shared__ float signal[LENGTH];
    int t = threadIdx.x;
    float *dst = out + blockIdx.x * LENGTH;
    signal[t] = in[blockIdx.x * LENGTH + t];
    signal[t + LENGTH / 2] = in[blockIdx.x * LENGTH + t + LENGTH / 2];
    __syncthreads();
    for (int half = LENGTH / 2; half >= 1; half /= 2) {
        float e = 0.0f, o = 0.0f;
        if (t < half) {
            e = signal[2 * t];
            o = signal[2 * t + 1];
        }
        __syncthreads();
        if (t < half) {
            signal[t] = (e + o) * ROOT;
            dst[half + t] = (e - o) * ROOT;
        }
        __syncthreads();
    }
    if (t == 0)
        dst[0] = signal[0];
}

// A warp per signal, eight numbers per lane.
__global__ void k166d(float *__restrict__ out, const float *__restrict__ in)
{
    int lane = threadIdx.x % 32;
    int s = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const float4 *src = reinterpret_cast<const float4 *>(in + s * LENGTH);
    float *dst = out + s * LENGTH;
    float4 p = src[2 * lane], q = src[2 * lane + 1];

    float a0 = (p.x + p.y) * ROOT, a1 = (p.z + p.w) * ROOT;
    float a2 = (q.x + q.y) * ROOT, a3 = (q.z + q.w) * ROOT;
    reinterpret_cast<float4 *>(dst + 128)[lane] =
        make_float4((p.x - p.y) * ROOT, (p.z - p.w) * ROOT, (q.x - q.y) * ROOT, (q.z - q.w) * ROOT);

    float b0 = (a0 + a1) * ROOT, b1 = (a2 + a3) * ROOT;
    reinterpret_cast<float2 *>(dst + 64)[lane] = make_float2((a0 - a1) * ROOT, (a2 - a3) * ROOT);

    float v = (b0 + b1) * ROOT;
    dst[32 + lane] = (b0 - b1) * ROOT;
#pragma unroll
    for (int half = 16; half >= 1; half /= 2) {
        int from = 2 * (lane & (half - 1));
        float e = __shfl_sync(0xFFFFFFFFu, v, from);
        float o = __shfl_sync(0xFFFFFFFFu, v, from + 1);
        if (lane < half)
            v = (e + o) * ROOT;
        else if (lane < 2 * half)
            v = (e - o) * ROOT;
    }
    dst[lane] = v;
}

const int NX = 8192, NY = 4096, TX = 32, TY = 8;

// The edge stays at rest.
__global__ void k166e(double *next, const double *now, const double *before, double c, double dt, double h)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < NX && y < NY) {
        int i = y * NX + x;
        if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1)
            next[i] = 2 * now[i] - before[i] +
                      pow(c * dt / h, 2.0) * (now[i - 1] + now[i + 1] + now[i - NX] + now[i + NX] - 4 * now[i]);
        else
            next[i] = 0;
    }
}

__global__ void k166f(double *next, const double *now, const double *before, double c, double dt, double h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < NX && y < NY) {
        int i = y * NX + x;
        if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1)
            next[i] = 2 * now[i] - before[i] +
                      pow(c * dt / h, 2.0) * (now[i - 1] + now[i + 1] + now[i - NX] + now[i + NX] - 4 * now[i]);
        else
            next[i] = 0;
    }
}

__global__ void k166g(double *next, const double *now, const double *before, double factor)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < NX && y < NY) {
        int i = y * NX + x;
        if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1)
            next[i] = 2 * now[i] - before[i] +
                      factor * (now[i - 1] + now[i + 1] + now[i - NX] + now[i + NX] - 4 * now[i]);
        else
            next[i] = 0;
    }
}

// NX and NY are multiples of TX and TY.
__global__ void k166h(double *next, const double *now, const double *before, double factor)
{
    __shared__ double tile[TY + 2][TX + 2];
    int x = blockIdx.x * TX + threadIdx.x;
    int y = blockIdx.y * TY + threadIdx.y;
    int i = y * NX + x;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    tile[ty][tx] = now[i];
    if (threadIdx.x == 0 && x > 0)
        tile[ty][0] = now[i - 1];
    if (threadIdx.x == TX - 1 && x < NX - 1)
        tile[ty][TX + 1] = now[i + 1];
    if (threadIdx.y == 0 && y > 0)
        tile[0][tx] = now[i - NX];
    if (threadIdx.y == TY - 1 && y < NY - 1)
        tile[TY + 1][tx] = now[i + NX];
    __syncthreads();
    if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1)
        next[i] = 2 * tile[ty][tx] - before[i] +
                  factor * (tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] -
                            4 * tile[ty][tx]);
    else
        next[i] = 0;
}

__global__ void pick_every(double *picked, const double *all, size_t count, size_t step)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        picked[i] = all[i * step];
}

int main()
{
    const size_t n = (size_t)LENGTH * SIGNALS, bytes = LENGTH * sizeof(float);
    float *in = input<float>(n, 1661, -1.0, 1.0), *out = output<float>(n), *temp = output<float>(n / 2);
    const int skip = 13, few = (SIGNALS - 1) / skip + 1;
    float *picked = output<float>((size_t)few * LENGTH);
    MUST(cudaMemcpy2D(picked, bytes, in, skip * bytes, bytes, few, cudaMemcpyDeviceToDevice));
    std::vector<float> want = on_host(picked, (size_t)few * LENGTH);
    for (int s = 0; s < few; s++) {
        double v[LENGTH], w[LENGTH];
        float *row = &want[(size_t)s * LENGTH];
        for (int i = 0; i < LENGTH; i++)
            v[i] = row[i];
        for (int half = LENGTH / 2; half >= 1; half /= 2) {
            for (int i = 0; i < half; i++) {
                w[i] = (v[2 * i] + v[2 * i + 1]) * std::sqrt(0.5);
                row[half + i] = float((v[2 * i] - v[2 * i + 1]) * std::sqrt(0.5));
            }
            for (int i = 0; i < half; i++)
                v[i] = w[i];
        }
        row[0] = float(v[0]);
    }
    auto haar = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        MUST(cudaMemset(temp, 0xA5, n / 2 * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, bytes, out, skip * bytes, bytes, few, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-5);
    };
    haar("k166a", [&] { k166a<<<SIGNALS / 128, 128>>>(out, temp, in, SIGNALS); });
    haar("k166b", [&] { k166b<<<SIGNALS, LENGTH / 2>>>(out, temp, in); });
    haar("k166c", [&] { k166c<<<SIGNALS, LENGTH / 2>>>(out, in); });
    haar("k166d", [&] { k166d<<<SIGNALS / 8, 256>>>(out, in); });

    const size_t cells = (size_t)NX * NY, step = 61, some = (cells - 1) / step + 1;
    double *now = input<double>(cells, 1662, -1.0, 1.0), *before = input<double>(cells, 1663, -1.0, 1.0);
    double *next = output<double>(cells), *sample = output<double>(some);
    const double c = 340.0, dt = 1e-5, h = 0.005, factor = (c * dt / h) * (c * dt / h);
    auto value = [](size_t i, unsigned seed) { return -1.0 + 2.0 * (scrambled(i, seed) / 4294967296.0); };
    std::vector<double> expected(some);
    for (size_t s = 0; s < some; s++) {
        size_t i = s * step, x = i % NX, y = i / NX;
        if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1)
            expected[s] = 2 * value(i, 1662) - value(i, 1663) +
                          factor * (value(i - 1, 1662) + value(i + 1, 1662) + value(i - NX, 1662) +
                                    value(i + NX, 1662) - 4 * value(i, 1662));
        else
            expected[s] = 0;
    }
    auto wave = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(next, 0xA5, cells * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<1056, 256>>>(sample, next, some, step);
        check(name, sample, expected, 1e-12);
    };
    const dim3 block(TX, TY), by_rows(NY / TX, NX / TY), by_columns(NX / TX, NY / TY);
    wave("k166e", [&] { k166e<<<by_rows, block>>>(next, now, before, c, dt, h); });
    wave("k166f", [&] { k166f<<<by_columns, block>>>(next, now, before, c, dt, h); });
    wave("k166g", [&] { k166g<<<by_columns, block>>>(next, now, before, factor); });
    wave("k166h", [&] { k166h<<<by_columns, block>>>(next, now, before, factor); });
    return 0;
}
