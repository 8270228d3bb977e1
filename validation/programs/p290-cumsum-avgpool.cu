// Cumulative sums of rows from the right, and average pooling of volumes in windows of 2 x 2 x 2.
#include "../harness.h"

constexpr int ROWS = 262144, LENGTH = 256;
constexpr int PLANES = 64, DEPTH = 128, HEIGHT = 128, WIDTH = 128;
constexpr int OD = DEPTH / 2, OH = HEIGHT / 2, OW = WIDTH / 2;
constexpr int WARPS = 4;

static void agree(const char *what, double got, double want, double tolerance)
{
    if (!(std::fabs(got - want) <= tolerance * std::fmax(1.0, std::fabs(want)))) {
        std::fprintf(stderr, "%s: %g instead of %g\n", what, got, want);
        std::exit(2);
    }
}

__global__ void k290a(const float *__restrict__ x, float *__restrict__ y)
{
    size_t row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = LENGTH - 1; k >= 0; k--) {
        sum += x[row * LENGTH + k];
        y[row * LENGTH + k] = sum;
    }
}

// A warp takes 32 rows, in pieces of 32 columns.
__global__ void k290b(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float tile[WARPS][32][32];
    int lane = threadIdx.x, warp = threadIdx.y;
    size_t row = (size_t(blockIdx.x) * WARPS + warp) * 32;
    float sum = 0;
    for (int k = LENGTH - 32; k >= 0; k -= 32) {
#pragma unroll
        for (int r = 0; r < 32; r++)
            tile[warp][r][lane] = x[(row + r) * LENGTH + k + lane];
        __syncwarp();
#pragma unroll
        for (int c = 31; c >= 0; c--) {
            sum += tile[warp][lane][c];
            tile[warp][lane][c] = sum;
        }
        __syncwarp();
#pragma unroll
        for (int r = 0; r < 32; r++)
            y[(row + r) * LENGTH + k + lane] = tile[warp][r][lane];
        __syncwarp();
    }
}

__global__ void k290c(const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float tile[WARPS][32][33];
    int lane = threadIdx.x, warp = threadIdx.y;
    size_t row = (size_t(blockIdx.x) * WARPS + warp) * 32;
    float sum = 0;
    for (int k = LENGTH - 32; k >= 0; k -= 32) {
#pragma unroll
        for (int r = 0; r < 32; r++)
            tile[warp][r][lane] = x[(row + r) * LENGTH + k + lane];
        __syncwarp();
#pragma unroll
        for (int c = 31; c >= 0; c--) {
            sum += tile[warp][lane][c];
            tile[warp][lane][c] = sum;
        }
        __syncwarp();
#pragma unroll
        for (int r = 0; r < 32; r++)
            y[(row + r) * LENGTH + k + lane] = tile[warp][r][lane];
        __syncwarp();
    }
}

__global__ void k290d(const float2 *x, float *y)
{
    int h = blockIdx.x * blockDim.x + threadIdx.x, w = blockIdx.y * blockDim.y + threadIdx.y, d = blockIdx.z;
    const float2 *at = x + (size_t(2 * d) * HEIGHT + 2 * h) * OW + w;
    float2 p = at[0], q = at[OW], r = at[HEIGHT * OW], s = at[HEIGHT * OW + OW];
    y[(size_t(d) * OH + h) * OW + w] = 0.125f * (p.x + p.y + q.x + q.y + r.x + r.y + s.x + s.y);
}

__global__ void k290e(const float2 *x, float *y)
{
    int h = blockIdx.x * blockDim.x + threadIdx.x, w = blockIdx.y * blockDim.y + threadIdx.y, d = blockIdx.z;
    const float2 *at = x + (size_t(2 * d) * HEIGHT + 2 * h) * OW + w;
    float2 p = __ldg(at), q = __ldg(at + OW), r = __ldg(at + HEIGHT * OW), s = __ldg(at + HEIGHT * OW + OW);
    y[(size_t(d) * OH + h) * OW + w] = 0.125f * (p.x + p.y + q.x + q.y + r.x + r.y + s.x + s.y);
}

__global__ void k290f(const float2 *x, float *y)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y, d = blockIdx.z;
    const float2 *at = x + (size_t(2 * d) * HEIGHT + 2 * h) * OW + w;
    float2 p = at[0], q = at[OW], r = at[HEIGHT * OW], s = at[HEIGHT * OW + OW];
    y[(size_t(d) * OH + h) * OW + w] = 0.125f * (p.x + p.y + q.x + q.y + r.x + r.y + s.x + s.y);
}

__global__ void k290g(const float2 *x, float *y)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y * blockDim.y + threadIdx.y, d = blockIdx.z;
    const float2 *at = x + (size_t(2 * d) * HEIGHT + 2 * h) * OW + w;
    float2 p = __ldg(at), q = __ldg(at + OW), r = __ldg(at + HEIGHT * OW), s = __ldg(at + HEIGHT * OW + OW);
    y[(size_t(d) * OH + h) * OW + w] = 0.125f * (p.x + p.y + q.x + q.y + r.x + r.y + s.x + s.y);
}

int main()
{
    {
        size_t n = size_t(ROWS) * LENGTH;
        float *x = input<float>(n, 1, 0, 1), *y = output<float>(n);
        k290a<<<ROWS / 128, 128>>>(x, y);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(y, n), source = on_host(x, n);
        for (size_t row = 0; row < ROWS; row += 1013) {
            double sum = 0;
            for (int k = LENGTH - 1; k >= 0; k--) {
                sum += source[row * LENGTH + k];
                agree("sum", want[row * LENGTH + k], sum, 1e-4);
            }
        }
        MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
        k290b<<<ROWS / 32 / WARPS, dim3(32, WARPS)>>>(x, y);
        check("k290b", y, want, 1e-5);
        MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
        k290c<<<ROWS / 32 / WARPS, dim3(32, WARPS)>>>(x, y);
        check("k290c", y, want, 1e-5);
        cudaFree(x), cudaFree(y);
    }
    size_t n = size_t(PLANES) * DEPTH * HEIGHT * WIDTH;
    float *x = input<float>(n, 2, -1, 1), *y = output<float>(n / 8);
    const float2 *x2 = reinterpret_cast<float2 *>(x);
    dim3 block(32, 8), grid(2, 8, PLANES * OD);
    k290d<<<grid, block>>>(x2, y);
    MUST(cudaDeviceSynchronize());
    std::vector<float> want = on_host(y, n / 8), source = on_host(x, n);
    for (size_t i = 0; i < n / 8; i += 499) {
        size_t w = i % OW, h = i / OW % OH, d = i / OW / OH;
        double sum = 0;
        for (int k = 0; k < 8; k++)
            sum += source[((2 * d + k / 4) * HEIGHT + 2 * h + k / 2 % 2) * WIDTH + 2 * w + k % 2];
        agree("mean", want[i], sum / 8, 1e-5);
    }
    auto launch = [&](const char *name, auto kernel) {
        MUST(cudaMemset(y, 0xA5, n / 8 * sizeof(float)));
        kernel<<<grid, block>>>(x2, y);
        check(name, y, want, 1e-6);
    };
    launch("k290e", k290e);
    launch("k290f", k290f);
    launch("k290g", k290g);
    return 0;
}
