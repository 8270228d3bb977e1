// Symmetric part of a square matrix, the vector updates of a conjugate gradient step with the new residual norm, and the
// sums of magnitudes of the rows of a matrix (for its infinity norm).
#include "../harness.h"

#include <functional>

const int N = 8192, TILE = 32, STEP = 8;

__global__ void k189a(float *s, const float *a, int n)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < n && col < n)
        s[row * n + col] = 0.5f * (a[row * n + col] + a[col * n + row]);
}

__global__ void k189b(float *s, const float *a, int n)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int tx = blockIdx.y * TILE + threadIdx.x, ty = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += STEP)
        tile[threadIdx.y + i][threadIdx.x] = a[(ty + i) * n + tx];
    __syncthreads();
    for (int i = 0; i < TILE; i += STEP)
        s[(y + i) * n + x] = 0.5f * (a[(y + i) * n + x] + tile[threadIdx.x][threadIdx.y + i]);
}

__global__ void k189c(float *s, const float *a, int n)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int tx = blockIdx.y * TILE + threadIdx.x, ty = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += STEP)
        tile[threadIdx.y + i][threadIdx.x] = a[(ty + i) * n + tx];
    __syncthreads();
    for (int i = 0; i < TILE; i += STEP)
        s[(y + i) * n + x] = 0.5f * (a[(y + i) * n + x] + tile[threadIdx.x][threadIdx.y + i]);
}

// Blocks below the diagonal have nothing to do.
__global__ void k189d(float *__restrict__ s, const float *__restrict__ a, int n)
{
    __shared__ float upper[TILE][TILE + 1], lower[TILE][TILE + 1];
    if (blockIdx.x < blockIdx.y)
        return;
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    int tx = blockIdx.y * TILE + threadIdx.x, ty = blockIdx.x * TILE + threadIdx.y;
    float u[TILE / STEP], l[TILE / STEP];
#pragma unroll
    for (int i = 0; i < TILE / STEP; i++) {
        u[i] = a[(y + i * STEP) * n + x];
        l[i] = a[(ty + i * STEP) * n + tx];
    }
#pragma unroll
    for (int i = 0; i < TILE / STEP; i++) {
        upper[threadIdx.y + i * STEP][threadIdx.x] = u[i];
        lower[threadIdx.y + i * STEP][threadIdx.x] = l[i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE / STEP; i++) {
        s[(y + i * STEP) * n + x] = 0.5f * (u[i] + lower[threadIdx.x][threadIdx.y + i * STEP]);
        if (blockIdx.x != blockIdx.y)
            s[(ty + i * STEP) * n + tx] = 0.5f * (l[i] + upper[threadIdx.x][threadIdx.y + i * STEP]);
    }
}

const int LENGTH = 1 << 22, UPDATE_BLOCKS = 132 * 8;

__global__ void k189e(double *x, double *r, const double *p, const double *q, double alpha, double *norm, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += alpha * p[i];
        double v = r[i] - alpha * q[i];
        r[i] = v;
        atomicAdd(norm, v * v);
    }
}

// Sum over a block of 256 threads, valid in thread 0.
__device__ inline double block_sum(double sum)
{
    __shared__ double warps[8];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < 8; w++)
            sum += warps[w];
    return sum;
}

__global__ void k189f(double *__restrict__ x, double *__restrict__ r, const double *__restrict__ p,
                      const double *__restrict__ q, double alpha, double *norm, int n)
{
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        x[i] += alpha * p[i];
        double v = r[i] - alpha * q[i];
        r[i] = v;
        sum += v * v;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(norm, sum);
}

__global__ void k189g(double2 *__restrict__ x, double2 *__restrict__ r, const double2 *__restrict__ p,
                      const double2 *__restrict__ q, double alpha, double *norm, int n)
{
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += gridDim.x * blockDim.x) {
        double2 xx = x[i], pp = p[i], v = r[i], qq = q[i];
        xx.x += alpha * pp.x;
        xx.y += alpha * pp.y;
        v.x -= alpha * qq.x;
        v.y -= alpha * qq.y;
        x[i] = xx;
        r[i] = v;
        sum += v.x * v.x + v.y * v.y;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(norm, sum);
}

const int ROWS = 32768, COLS = 2048;

__global__ void k189h(float *sums, const float *a, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++)
        sum += fabsf(a[row * cols + j]);
    sums[row] = sum;
}

__global__ void k189i(float *__restrict__ sums, const float4 *__restrict__ a)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < COLS / 128; j++) {
        float4 v = a[row * (COLS / 4) + j * 32 + lane];
        sum += (fabsf(v.x) + fabsf(v.y)) + (fabsf(v.z) + fabsf(v.w));
    }
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (lane == 0)
        sums[row] = sum;
}

int main()
{
    {
        const size_t n = (size_t)N * N;
        float *a = input<float>(n, 1891, -1.0, 1.0), *s = output<float>(n);
        std::vector<float> ha = on_host(a, n), want(n);
        for (int by = 0; by < N; by += 64)
            for (int bx = 0; bx < N; bx += 64)
                for (int y = by; y < by + 64; y++)
                    for (int x = bx; x < bx + 64; x++)
                        want[(size_t)y * N + x] = 0.5f * (ha[(size_t)y * N + x] + ha[(size_t)x * N + y]);
        auto symmetric = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(s, 0xA5, n * sizeof(float)));
            launch();
            check(name, s, want, 1e-6);
        };
        const dim3 tiles(N / TILE, N / TILE), square(TILE, TILE), slab(TILE, STEP);
        symmetric("k189a", [&] { k189a<<<tiles, square>>>(s, a, N); });
        symmetric("k189b", [&] { k189b<<<tiles, slab>>>(s, a, N); });
        symmetric("k189c", [&] { k189c<<<tiles, slab>>>(s, a, N); });
        symmetric("k189d", [&] { k189d<<<tiles, slab>>>(s, a, N); });
        MUST(cudaFree(a));
        MUST(cudaFree(s));
    }
    {
        const size_t bytes = LENGTH * sizeof(double);
        const double alpha = 0.375;
        double *x0 = input<double>(LENGTH, 1892, -1.0, 1.0), *r0 = input<double>(LENGTH, 1893, -1.0, 1.0);
        double *p = input<double>(LENGTH, 1894, -1.0, 1.0), *q = input<double>(LENGTH, 1895, -1.0, 1.0);
        double *x = output<double>(LENGTH), *r = output<double>(LENGTH), *norm = output<double>(1);
        std::vector<double> wx = on_host(x0, LENGTH), wr = on_host(r0, LENGTH), wn(1, 0.0);
        std::vector<double> hp = on_host(p, LENGTH), hq = on_host(q, LENGTH);
        for (int i = 0; i < LENGTH; i++) {
            wx[i] += alpha * hp[i];
            wr[i] -= alpha * hq[i];
            wn[0] += wr[i] * wr[i];
        }
        auto update = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemcpy(x, x0, bytes, cudaMemcpyDeviceToDevice));
            MUST(cudaMemcpy(r, r0, bytes, cudaMemcpyDeviceToDevice));
            MUST(cudaMemset(norm, 0, sizeof(double)));
            MUST(cudaDeviceSynchronize());
            launch();
            check(name, x, wx, 1e-12);
            check(name, r, wr, 1e-12);
            check(name, norm, wn, 1e-9);
        };
        update("k189e", [&] { k189e<<<LENGTH / 256, 256>>>(x, r, p, q, alpha, norm, LENGTH); });
        update("k189f", [&] { k189f<<<UPDATE_BLOCKS, 256>>>(x, r, p, q, alpha, norm, LENGTH); });
        update("k189g", [&] {
            k189g<<<UPDATE_BLOCKS, 256>>>((double2 *)x, (double2 *)r, (const double2 *)p, (const double2 *)q, alpha, norm,
                                          LENGTH);
        });
    }
    const size_t n = (size_t)ROWS * COLS;
    float *a = input<float>(n, 1896, -1.0, 1.0), *sums = output<float>(ROWS);
    std::vector<float> ha = on_host(a, n), want(ROWS);
    for (size_t row = 0; row < ROWS; row++) {
        double part[4] = {};
        for (size_t j = 0; j < COLS; j++)
            part[j % 4] += std::fabs(ha[row * COLS + j]);
        want[row] = float(part[0] + part[1] + part[2] + part[3]);
    }
    auto magnitudes = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0xA5, ROWS * sizeof(float)));
        launch();
        check(name, sums, want, 1e-5);
    };
    magnitudes("k189h", [&] { k189h<<<ROWS / 256, 256>>>(sums, a, ROWS, COLS); });
    magnitudes("k189i", [&] { k189i<<<ROWS / 8, 256>>>(sums, (const float4 *)a); });
    return 0;
}
