// Michalewicz function of many points of 16 dimensions, and the product of a diagonal matrix and a matrix in bfloat16.
#include "../harness.h"

constexpr int POINTS = 1 << 22, DIMS = 16;
constexpr int ROWS = 8192, COLUMNS = 16384;
constexpr float INV_PI = 0.31830988618f;

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

// Coordinates as [dimension][point].
__global__ void k288a(const float *x, float *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[DIMS], sum = 0;
#pragma unroll
    for (int d = 0; d < DIMS; d++)
        v[d] = x[d * POINTS + i];
#pragma unroll
    for (int d = 0; d < DIMS; d++)
        sum += sinf(v[d]) * powf(sinf((d + 1) * INV_PI * v[d] * v[d]), 20.0f);
    f[i] = -sum;
}

__global__ void k288b(const float *x, float *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[DIMS], sum = 0;
#pragma unroll
    for (int d = 0; d < DIMS; d++)
        v[d] = x[d * POINTS + i];
#pragma unroll
    for (int d = 0; d < DIMS; d++) {
        float s = sinf((d + 1) * INV_PI * v[d] * v[d]);
        float s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
        sum += sinf(v[d]) * (s8 * s8 * s4);
    }
    f[i] = -sum;
}

__global__ void k288c(const float *x, float *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[DIMS], sum = 0;
#pragma unroll
    for (int d = 0; d < DIMS; d++)
        v[d] = x[d * POINTS + i];
#pragma unroll
    for (int d = 0; d < DIMS; d++) {
        float s = __sinf((d + 1) * INV_PI * v[d] * v[d]);
        float s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
        sum += __sinf(v[d]) * (s8 * s8 * s4);
    }
    f[i] = -sum;
}

__device__ float term(float v, float factor)
{
    float s = __sinf(factor * v * v);
    float s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
    return __sinf(v) * (s8 * s8 * s4);
}

__global__ void k288d(const float4 *x, float4 *f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 sum = {};
#pragma unroll
    for (int d = 0; d < DIMS; d++) {
        float4 v = x[d * (POINTS / 4) + i];
        float factor = (d + 1) * INV_PI;
        sum.x -= term(v.x, factor);
        sum.y -= term(v.y, factor);
        sum.z -= term(v.z, factor);
        sum.w -= term(v.w, factor);
    }
    f[i] = sum;
}

__global__ void k288e(const __nv_bfloat16 *b, const float *diagonal, __nv_bfloat16 *c)
{
    for (int i = blockIdx.x; i < ROWS; i += gridDim.x) {
        float a = diagonal[i];
        for (int j = threadIdx.x; j < COLUMNS; j += blockDim.x)
            c[size_t(i) * COLUMNS + j] = __float2bfloat16(a * __bfloat162float(b[size_t(i) * COLUMNS + j]));
    }
}

__global__ void k288f(const __nv_bfloat16 *b, const float *diagonal, __nv_bfloat16 *c)
{
    for (int i = blockIdx.x; i < ROWS; i += gridDim.x) {
        float a = diagonal[i];
        for (int j = threadIdx.x; j < COLUMNS; j += blockDim.x)
            c[size_t(i) * COLUMNS + j] = __float2bfloat16(a * __bfloat162float(b[size_t(i) * COLUMNS + j]));
    }
}

__device__ unsigned scaled(unsigned pair, float a)
{
    float2 v = __bfloat1622float2(*reinterpret_cast<__nv_bfloat162 *>(&pair));
    __nv_bfloat162 r = __floats2bfloat162_rn(a * v.x, a * v.y);
    return *reinterpret_cast<unsigned *>(&r);
}

__global__ void k288g(const uint4 *__restrict__ b, const float *__restrict__ diagonal, uint4 *__restrict__ c)
{
    for (int i = blockIdx.x; i < ROWS; i += gridDim.x) {
        float a = diagonal[i];
        for (int j = threadIdx.x; j < COLUMNS / 8; j += blockDim.x) {
            uint4 v = b[size_t(i) * (COLUMNS / 8) + j];
            c[size_t(i) * (COLUMNS / 8) + j] = make_uint4(scaled(v.x, a), scaled(v.y, a), scaled(v.z, a), scaled(v.w, a));
        }
    }
}

int main()
{
    {
        size_t n = size_t(POINTS) * DIMS;
        float *x = input<float>(n, 1, 0, 3.14159265), *f = output<float>(POINTS);
        k288a<<<POINTS / 256, 256>>>(x, f);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(f, POINTS), source = on_host(x, n);
        for (size_t i = 0; i < POINTS; i += 4001) {
            double sum = 0;
            for (int d = 0; d < DIMS; d++) {
                double v = source[size_t(d) * POINTS + i];
                sum -= std::sin(v) * std::pow(std::sin((d + 1) * v * v / 3.14159265358979), 20);
            }
            agree("f", want[i], sum, 2e-3);
        }
        MUST(cudaMemset(f, 0xA5, POINTS * sizeof(float)));
        k288b<<<POINTS / 256, 256>>>(x, f);
        check("k288b", f, want, 2e-3);
        MUST(cudaMemset(f, 0xA5, POINTS * sizeof(float)));
        k288c<<<POINTS / 256, 256>>>(x, f);
        check("k288c", f, want, 2e-3);
        MUST(cudaMemset(f, 0xA5, POINTS * sizeof(float)));
        k288d<<<POINTS / 1024, 256>>>(reinterpret_cast<float4 *>(x), reinterpret_cast<float4 *>(f));
        check("k288d", f, want, 2e-3);
        cudaFree(x), cudaFree(f);
    }
    size_t n = size_t(ROWS) * COLUMNS;
    __nv_bfloat16 *b = input<__nv_bfloat16>(n, 2, -1, 1), *c = output<__nv_bfloat16>(n);
    float *diagonal = input<float>(ROWS, 3, 0.5, 2);
    k288e<<<132, 128>>>(b, diagonal, c);
    MUST(cudaDeviceSynchronize());
    std::vector<__nv_bfloat16> want = on_host(c, n), hb = on_host(b, n);
    std::vector<float> hd = on_host(diagonal, ROWS);
    for (size_t k = 0; k < n; k += 1999)
        agree("c", double(want[k]), double(hb[k]) * hd[k / COLUMNS], 1e-2);
    MUST(cudaMemset(c, 0xA5, n * 2));
    k288f<<<ROWS, 256>>>(b, diagonal, c);
    check("k288f", c, want, 1e-6);
    MUST(cudaMemset(c, 0xA5, n * 2));
    k288g<<<ROWS, 256>>>(reinterpret_cast<uint4 *>(b), diagonal, reinterpret_cast<uint4 *>(c));
    check("k288g", c, want, 1e-6);
    return 0;
}
