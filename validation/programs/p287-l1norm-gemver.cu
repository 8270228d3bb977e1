// Rows of halves divided by their mean magnitude (L1 norm layer), and the rank-two update of PolyBench's gemver.
#include "../harness.h"

constexpr int ROWS = 1 << 19, D = 128;
constexpr int M = 6144, N = 8192;

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

__global__ void k287a(const __half *x, __half *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < D; k++)
        sum += fabsf(__half2float(x[size_t(row) * D + k]));
    float mean = sum / D;
    for (int k = 0; k < D; k++)
        y[size_t(row) * D + k] = __float2half(__half2float(x[size_t(row) * D + k]) / mean);
}

__global__ void k287b(const __half *x, __half *y)
{
    __shared__ float part[D];
    size_t i = size_t(blockIdx.x) * D + threadIdx.x;
    float v = __half2float(x[i]);
    part[threadIdx.x] = fabsf(v);
    __syncthreads();
    for (int s = D / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    y[i] = __float2half(v / (part[0] / D));
}

__global__ void k287c(const __half *x, __half *y)
{
    __shared__ float part[D / 32];
    size_t i = size_t(blockIdx.x) * D + threadIdx.x;
    float v = __half2float(x[i]);
    float sum = fabsf(v);
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    y[i] = __float2half(v / ((part[0] + part[1] + part[2] + part[3]) / D));
}

__global__ void k287d(const __half *x, __half *y)
{
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    uint2 raw = reinterpret_cast<const uint2 *>(x)[i];
    float2 a = __half22float2(*reinterpret_cast<__half2 *>(&raw.x));
    float2 b = __half22float2(*reinterpret_cast<__half2 *>(&raw.y));
    float sum = fabsf(a.x) + fabsf(a.y) + fabsf(b.x) + fabsf(b.y);
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    float mean = sum / D;
    __half2 p = __floats2half2_rn(a.x / mean, a.y / mean), q = __floats2half2_rn(b.x / mean, b.y / mean);
    reinterpret_cast<uint2 *>(y)[i] = make_uint2(*reinterpret_cast<unsigned *>(&p), *reinterpret_cast<unsigned *>(&q));
}

__global__ void k287e(const __half *x, __half *y)
{
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    uint2 raw = reinterpret_cast<const uint2 *>(x)[i];
    float2 a = __half22float2(*reinterpret_cast<__half2 *>(&raw.x));
    float2 b = __half22float2(*reinterpret_cast<__half2 *>(&raw.y));
    float sum = fabsf(a.x) + fabsf(a.y) + fabsf(b.x) + fabsf(b.y);
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_xor_sync(~0u, sum, s);
    float mean = sum / D;
    __half2 p = __floats2half2_rn(__fdividef(a.x, mean), __fdividef(a.y, mean));
    __half2 q = __floats2half2_rn(__fdividef(b.x, mean), __fdividef(b.y, mean));
    reinterpret_cast<uint2 *>(y)[i] = make_uint2(*reinterpret_cast<unsigned *>(&p), *reinterpret_cast<unsigned *>(&q));
}

__device__ void rank_two(const double2 *a, const double *u1, const double2 *v1, const double *u2, const double2 *v2,
                         double2 *b)
{
    for (int i = blockIdx.x; i < M; i += gridDim.x) {
        double p = u1[i], q = u2[i];
        for (int j = threadIdx.x; j < N / 2; j += blockDim.x) {
            double2 x = a[size_t(i) * (N / 2) + j], s = v1[j], t = v2[j];
            x.x += p * s.x + q * t.x;
            x.y += p * s.y + q * t.y;
            b[size_t(i) * (N / 2) + j] = x;
        }
    }
}

__global__ void k287f(const double2 *a, const double *u1, const double2 *v1, const double *u2, const double2 *v2,
                      double2 *b)
{
    rank_two(a, u1, v1, u2, v2, b);
}

__global__ void k287g(const double2 *a, const double *u1, const double2 *v1, const double *u2, const double2 *v2,
                      double2 *b)
{
    rank_two(a, u1, v1, u2, v2, b);
}

int main()
{
    {
        size_t n = size_t(ROWS) * D;
        __half *x = input<__half>(n, 1, -2, 2), *y = output<__half>(n);
        k287a<<<ROWS / 256, 256>>>(x, y);
        MUST(cudaDeviceSynchronize());
        std::vector<__half> want = on_host(y, n), source = on_host(x, n);
        for (size_t row = 0; row < ROWS; row += 1013) {
            double sum = 0;
            for (int k = 0; k < D; k++)
                sum += std::fabs(double(source[row * D + k]));
            for (int k = 0; k < D; k++)
                agree("row", double(want[row * D + k]), double(source[row * D + k]) * D / sum, 3e-3);
        }
        auto launch = [&](const char *name, auto kernel, int blocks, int threads) {
            MUST(cudaMemset(y, 0xA5, n * sizeof(__half)));
            kernel<<<blocks, threads>>>(x, y);
            check(name, y, want, 3e-3);
        };
        launch("k287b", k287b, ROWS, D);
        launch("k287c", k287c, ROWS, D);
        launch("k287d", k287d, ROWS / 8, 256);
        launch("k287e", k287e, ROWS / 8, 256);
        cudaFree(x), cudaFree(y);
    }
    size_t n = size_t(M) * N;
    double *a = input<double>(n, 2, -1, 1), *b = output<double>(n);
    double *u1 = input<double>(M, 3, -1, 1), *u2 = input<double>(M, 4, -1, 1);
    double *v1 = input<double>(N, 5, -1, 1), *v2 = input<double>(N, 6, -1, 1);
    auto pairs = [](double *p) { return reinterpret_cast<double2 *>(p); };
    k287f<<<64, 256>>>(pairs(a), u1, pairs(v1), u2, pairs(v2), pairs(b));
    MUST(cudaDeviceSynchronize());
    std::vector<double> want = on_host(b, n), ha = on_host(a, n);
    std::vector<double> h1 = on_host(u1, M), h2 = on_host(u2, M), w1 = on_host(v1, N), w2 = on_host(v2, N);
    for (size_t k = 0; k < n; k += 997)
        agree("b", want[k], ha[k] + h1[k / N] * w1[k % N] + h2[k / N] * w2[k % N], 1e-12);
    MUST(cudaMemset(b, 0xA5, n * sizeof(double)));
    k287g<<<M, 256>>>(pairs(a), u1, pairs(v1), u2, pairs(v2), pairs(b));
    check("k287g", b, want, 1e-12);
    return 0;
}
