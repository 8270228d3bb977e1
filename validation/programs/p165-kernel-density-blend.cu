// Kernel density estimate with Gaussians at 262144 points, and two grey images blended into one.
#include "../harness.h"

#include <functional>

const int POINTS = 1 << 18, SAMPLES = 4096, BLOCK = 256;

__global__ void k165a(float *density, const float *points, const float *samples, int m, int n, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float x = points[i], sum = 0.0f;
        for (int j = 0; j < n; j++) {
            float u = (x - samples[j]) / h;
            sum += exp(-0.5 * u * u);
        }
        density[i] = sum / (n * h * 2.50662827f);
    }
}

__global__ void k165b(float *density, const float *points, const float *samples, int m, int n, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float x = points[i], sum = 0.0f;
        for (int j = 0; j < n; j++) {
            float u = (x - samples[j]) / h;
            sum += expf(-0.5f * u * u);
        }
        density[i] = sum / (n * h * 2.50662827f);
    }
}

__global__ void k165c(float *density, const float *points, const float *samples, int m, int n, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float x = points[i], sum = 0.0f, scale = 1.0f / h;
        for (int j = 0; j < n; j++) {
            float u = (x - samples[j]) * scale;
            sum += expf(-0.5f * u * u);
        }
        density[i] = sum * scale / (n * 2.50662827f);
    }
}

// 2 to the power x by the instruction alone.
__device__ __forceinline__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k165d(float *__restrict__ density, const float *__restrict__ points,
                      const float *__restrict__ samples, int m, int n, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < m) {
        float x = points[i], sum = 0.0f;
        float scale = 0.84932180f / h; // square root of log2(e) / 2
#pragma unroll 8
        for (int j = 0; j < n; j++) {
            float u = (x - samples[j]) * scale;
            sum += power_of_two(-u * u);
        }
        density[i] = sum / (n * h * 2.50662827f);
    }
}

// n is a multiple of the block, and so is m.
__global__ void k165e(float *__restrict__ density, const float *__restrict__ points,
                      const float *__restrict__ samples, int m, int n, float h)
{
    __shared__ float tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float x = points[i], sum = 0.0f;
    float scale = 0.84932180f / h;
    for (int first = 0; first < n; first += BLOCK) {
        tile[threadIdx.x] = samples[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < BLOCK; j++) {
            float u = (x - tile[j]) * scale;
            sum += power_of_two(-u * u);
        }
        __syncthreads();
    }
    density[i] = sum / (n * h * 2.50662827f);
}

typedef unsigned char byte;

// out = (weight * a + (256 - weight) * b) / 256, rounded.
__global__ void k165f(byte *out, const byte *a, const byte *b, int width, int height, int weight)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x;
    if (y < height)
        for (int x = 0; x < width; x++)
            out[y * width + x] = (weight * a[y * width + x] + (256 - weight) * b[y * width + x] + 128) >> 8;
}

__global__ void k165g(byte *out, const byte *a, const byte *b, int width, int height, int weight)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[y * width + x] = (weight * a[y * width + x] + (256 - weight) * b[y * width + x] + 128) >> 8;
}

__device__ __forceinline__ unsigned blend_four(unsigned p, unsigned q, unsigned weight)
{
    const unsigned mask = 0x00FF00FFu, half = 0x00800080u;
    unsigned even = (p & mask) * weight + (q & mask) * (256 - weight) + half;
    unsigned odd = (p >> 8 & mask) * weight + (q >> 8 & mask) * (256 - weight) + half;
    return (even >> 8 & mask) | (odd & ~mask);
}

__global__ void k165h(uint4 *__restrict__ out, const uint4 *__restrict__ a, const uint4 *__restrict__ b, int n16,
                      unsigned weight)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n16) {
        uint4 p = a[i], q = b[i], r;
        r.x = blend_four(p.x, q.x, weight);
        r.y = blend_four(p.y, q.y, weight);
        r.z = blend_four(p.z, q.z, weight);
        r.w = blend_four(p.w, q.w, weight);
        out[i] = r;
    }
}

template <class T> __global__ void pick_every(T *picked, const T *all, size_t count, size_t step)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        picked[i] = all[i * step];
}

int main()
{
    const float h = 0.5f;
    float *points = input<float>(POINTS, 1651, 0.0, 8.0), *samples = input<float>(SAMPLES, 1652, 0.0, 8.0);
    float *density = output<float>(POINTS);
    const size_t skip = 61, few = (POINTS - 1) / skip + 1;
    float *picked = output<float>(few);
    std::vector<float> hx = on_host(points, POINTS), hs = on_host(samples, SAMPLES), want(few);
    for (size_t i = 0; i < few; i++) {
        double sum = 0;
        for (int j = 0; j < SAMPLES; j++) {
            float u = (hx[i * skip] - hs[j]) / h;
            sum += std::exp(-0.5f * u * u);
        }
        want[i] = float(sum / (SAMPLES * double(h) * 2.5066282746));
    }
    auto estimate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(density, 0xA5, POINTS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<64, 256>>>(picked, density, few, skip);
        check(name, picked, want, 1e-5);
    };
    const int blocks = POINTS / BLOCK;
    estimate("k165a", [&] { k165a<<<blocks, BLOCK>>>(density, points, samples, POINTS, SAMPLES, h); });
    estimate("k165b", [&] { k165b<<<blocks, BLOCK>>>(density, points, samples, POINTS, SAMPLES, h); });
    estimate("k165c", [&] { k165c<<<blocks, BLOCK>>>(density, points, samples, POINTS, SAMPLES, h); });
    estimate("k165d", [&] { k165d<<<blocks, BLOCK>>>(density, points, samples, POINTS, SAMPLES, h); });
    estimate("k165e", [&] { k165e<<<blocks, BLOCK>>>(density, points, samples, POINTS, SAMPLES, h); });

    const int width = 4096, height = 32768, weight = 77;
    const size_t n = (size_t)width * height, step = 61, some = (n - 1) / step + 1;
    byte *a = input<byte>(n, 1653, 0, 256), *b = input<byte>(n, 1654, 0, 256);
    byte *out = output<byte>(n), *sample = output<byte>(some);
    pick_every<<<1056, 256>>>(sample, a, some, step);
    std::vector<byte> ha = on_host(sample, some);
    pick_every<<<1056, 256>>>(sample, b, some, step);
    std::vector<byte> hb = on_host(sample, some), mixed(some);
    for (size_t i = 0; i < some; i++)
        mixed[i] = byte((weight * ha[i] + (256 - weight) * hb[i] + 128) >> 8);
    auto blend = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<1056, 256>>>(sample, out, some, step);
        check(name, sample, mixed, 0.0);
    };
    const dim3 square(16, 16), cover(width / 16, height / 16);
    const int n16 = int(n / 16);
    blend("k165f", [&] { k165f<<<height / 128, 128>>>(out, a, b, width, height, weight); });
    blend("k165g", [&] { k165g<<<cover, square>>>(out, a, b, width, height, weight); });
    blend("k165h", [&] {
        k165h<<<n16 / 256, 256>>>((uint4 *)out, (const uint4 *)a, (const uint4 *)b, n16, weight);
    });
    return 0;
}
