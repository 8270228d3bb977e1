// From the PolyBench family: y = alpha A x + beta B x (8192 x 8192), s = A^T r, and the covariance of 4096 centred columns
// with 1024 observations each.
#include "../harness.h"

#include <functional>

const int N = 8192, CHUNK = 128;
const int COLUMNS = 4096, OBSERVATIONS = 1024;

__global__ void k114a(int n, float alpha, float beta, const float *a, const float *b, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float first = 0.0f, second = 0.0f;
        for (int j = 0; j < n; j++) {
            first += a[i * n + j] * x[j];
            second += b[i * n + j] * x[j];
        }
        y[i] = alpha * first + beta * second;
    }
}

__global__ void k114b(int n, float alpha, float beta, const float *__restrict__ a, const float *__restrict__ b,
                      const float *__restrict__ x, float *__restrict__ y)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float first = 0.0f, second = 0.0f;
#pragma unroll 8
    for (int j = lane; j < n; j += 32) {
        float v = x[j];
        first += a[i * n + j] * v;
        second += b[i * n + j] * v;
    }
    float sum = alpha * first + beta * second;
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[i] = sum;
}

__global__ void k114c(int n, float alpha, float beta, const float *__restrict__ a, const float *__restrict__ b,
                      const float *__restrict__ x, float *__restrict__ y)
{
    __shared__ float held[N];
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        held[j] = x[j];
    __syncthreads();
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float first = 0.0f, second = 0.0f;
#pragma unroll 8
    for (int j = lane; j < n; j += 32) {
        float v = held[j];
        first += a[i * n + j] * v;
        second += b[i * n + j] * v;
    }
    float sum = alpha * first + beta * second;
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[i] = sum;
}

__global__ void k114d(int n, const float *a, const float *r, float *s)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += a[i * n + j] * r[i];
        s[j] = sum;
    }
}

// s starts from zero.
__global__ void k114e(int n, const float *__restrict__ a, const float *__restrict__ r, float *__restrict__ s)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * CHUNK;
    if (j < n) {
        float sum = 0.0f;
#pragma unroll 16
        for (int i = first; i < first + CHUNK; i++)
            sum += a[i * n + j] * r[i];
        atomicAdd(&s[j], sum);
    }
}

__global__ void k114f(int columns, int rows, const float *data, float *cov)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < i || j >= columns)
        return;
    float sum = 0.0f;
    for (int k = 0; k < rows; k++)
        sum += data[k * columns + i] * data[k * columns + j];
    sum /= rows - 1;
    cov[i * columns + j] = sum;
    cov[j * columns + i] = sum;
}

__global__ void k114g(int columns, int rows, const float *data, float *cov)
{
    __shared__ float left[32][32], right[32][32];
    if (blockIdx.x < blockIdx.y)
        return;
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * 32 + ty, j = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int k = 0; k < rows; k += 32) {
        left[ty][tx] = data[(k + ty) * columns + blockIdx.y * 32 + tx];
        right[ty][tx] = data[(k + ty) * columns + j];
        __syncthreads();
        for (int kk = 0; kk < 32; kk++)
            sum += left[kk][ty] * right[kk][tx];
        __syncthreads();
    }
    sum /= rows - 1;
    cov[i * columns + j] = sum;
    cov[j * columns + i] = sum;
}

// 16 x 16 threads for 64 x 64 results.
__global__ void k114h(int columns, int rows, const float *data, float *cov)
{
    __shared__ float left[16][64], right[16][64];
    if (blockIdx.x < blockIdx.y)
        return;
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    float sum[4][4] = {};
    for (int k = 0; k < rows; k += 16) {
#pragma unroll
        for (int l = t; l < 16 * 64; l += 256) {
            const float *row = data + (k + l / 64) * columns + l % 64;
            left[l / 64][l % 64] = row[blockIdx.y * 64];
            right[l / 64][l % 64] = row[blockIdx.x * 64];
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 16; kk++) {
            float a[4], b[4];
#pragma unroll
            for (int m = 0; m < 4; m++) {
                a[m] = left[kk][ty + 16 * m];
                b[m] = right[kk][tx + 16 * m];
            }
#pragma unroll
            for (int m = 0; m < 4; m++)
#pragma unroll
                for (int n = 0; n < 4; n++)
                    sum[m][n] += a[m] * b[n];
        }
        __syncthreads();
    }
    float scale = 1.0f / (rows - 1);
#pragma unroll
    for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++) {
            int i = blockIdx.y * 64 + ty + 16 * m, j = blockIdx.x * 64 + tx + 16 * n;
            cov[i * columns + j] = sum[m][n] * scale;
            cov[j * columns + i] = sum[m][n] * scale;
        }
}

// 256 threads for 128 x 128 results, eight by eight in each.
__global__ void __launch_bounds__(256, 2) k114i(int columns, int rows, const float *__restrict__ data,
                                                float *__restrict__ cov)
{
    __shared__ __align__(16) float left[2][16][128], right[2][16][128];
    if (blockIdx.x < blockIdx.y)
        return;
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int lr = threadIdx.x / 32, lc = threadIdx.x % 32 * 4;
    const float *from_left = data + lr * columns + blockIdx.y * 128 + lc;
    const float *from_right = data + lr * columns + blockIdx.x * 128 + lc;
    const int lower = 8 * columns;
    float sum[8][8] = {};
    float4 l0 = *reinterpret_cast<const float4 *>(from_left), l1 = *reinterpret_cast<const float4 *>(from_left + lower);
    float4 r0 = *reinterpret_cast<const float4 *>(from_right), r1 = *reinterpret_cast<const float4 *>(from_right + lower);
    *reinterpret_cast<float4 *>(&left[0][lr][lc]) = l0;
    *reinterpret_cast<float4 *>(&left[0][lr + 8][lc]) = l1;
    *reinterpret_cast<float4 *>(&right[0][lr][lc]) = r0;
    *reinterpret_cast<float4 *>(&right[0][lr + 8][lc]) = r1;
    __syncthreads();
    for (int k = 0; k < rows; k += 16) {
        int now = k / 16 & 1;
        if (k + 16 < rows) {
            from_left += 2 * lower;
            from_right += 2 * lower;
            l0 = *reinterpret_cast<const float4 *>(from_left);
            l1 = *reinterpret_cast<const float4 *>(from_left + lower);
            r0 = *reinterpret_cast<const float4 *>(from_right);
            r1 = *reinterpret_cast<const float4 *>(from_right + lower);
        }
#pragma unroll
        for (int kk = 0; kk < 16; kk++) {
            float4 a0 = *reinterpret_cast<const float4 *>(&left[now][kk][ty * 4]);
            float4 a1 = *reinterpret_cast<const float4 *>(&left[now][kk][64 + ty * 4]);
            float4 b0 = *reinterpret_cast<const float4 *>(&right[now][kk][tx * 4]);
            float4 b1 = *reinterpret_cast<const float4 *>(&right[now][kk][64 + tx * 4]);
            float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int m = 0; m < 8; m++)
#pragma unroll
                for (int n = 0; n < 8; n++)
                    sum[m][n] += a[m] * b[n];
        }
        if (k + 16 < rows) {
            *reinterpret_cast<float4 *>(&left[now ^ 1][lr][lc]) = l0;
            *reinterpret_cast<float4 *>(&left[now ^ 1][lr + 8][lc]) = l1;
            *reinterpret_cast<float4 *>(&right[now ^ 1][lr][lc]) = r0;
            *reinterpret_cast<float4 *>(&right[now ^ 1][lr + 8][lc]) = r1;
        }
        __syncthreads();
    }
    float scale = 1.0f / (rows - 1);
#pragma unroll
    for (int m = 0; m < 8; m++)
#pragma unroll
        for (int n = 0; n < 8; n++)
            sum[m][n] *= scale;
#pragma unroll
    for (int m = 0; m < 8; m++) {
        int i = blockIdx.y * 128 + m / 4 * 64 + ty * 4 + m % 4;
#pragma unroll
        for (int n = 0; n < 8; n += 4) {
            int j = blockIdx.x * 128 + n / 4 * 64 + tx * 4;
            *reinterpret_cast<float4 *>(&cov[i * columns + j]) =
                make_float4(sum[m][n], sum[m][n + 1], sum[m][n + 2], sum[m][n + 3]);
        }
    }
#pragma unroll
    for (int n = 0; n < 8; n++) {
        int j = blockIdx.x * 128 + n / 4 * 64 + tx * 4 + n % 4;
#pragma unroll
        for (int m = 0; m < 8; m += 4) {
            int i = blockIdx.y * 128 + m / 4 * 64 + ty * 4;
            *reinterpret_cast<float4 *>(&cov[j * columns + i]) =
                make_float4(sum[m][n], sum[m + 1][n], sum[m + 2][n], sum[m + 3][n]);
        }
    }
}

int main()
{
    const size_t n2 = (size_t)N * N;
    const float alpha = 1.5f, beta = 0.5f;
    float *a = input<float>(n2, 1141, 0.0, 1.0), *b = input<float>(n2, 1142, 0.0, 1.0);
    float *x = input<float>(N, 1143, 0.0, 1.0), *y = output<float>(N);
    std::vector<float> ha = on_host(a, n2), hb = on_host(b, n2), hx = on_host(x, N), want(N), turned(N);
    std::vector<double> down(N, 0.0);
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) {
            size_t at = (size_t)i * N + j;
            sum += double(alpha * ha[at] + beta * hb[at]) * hx[j];
            down[j] += double(ha[at]) * hx[i];
        }
        want[i] = float(sum);
    }
    for (int j = 0; j < N; j++)
        turned[j] = float(down[j]);
    auto times = [&](const char *name, const std::vector<float> &right, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, N * sizeof(float)));
        launch();
        check(name, y, right, 3e-5);
    };
    times("k114a", want, [&] { k114a<<<N / 64, 64>>>(N, alpha, beta, a, b, x, y); });
    times("k114b", want, [&] { k114b<<<N / 16, 512>>>(N, alpha, beta, a, b, x, y); });
    times("k114c", want, [&] { k114c<<<N / 16, 512>>>(N, alpha, beta, a, b, x, y); });
    times("k114d", turned, [&] { k114d<<<N / 256, 256>>>(N, a, x, y); });
    times("k114e", turned, [&] {
        MUST(cudaMemset(y, 0, N * sizeof(float)));
        k114e<<<dim3(N / 256, N / CHUNK), 256>>>(N, a, x, y);
    });
    MUST(cudaFree(a));
    MUST(cudaFree(b));

    const size_t numbers = (size_t)OBSERVATIONS * COLUMNS, pairs = (size_t)COLUMNS * COLUMNS;
    float *data = input<float>(numbers, 1144, -1.0, 1.0), *cov = output<float>(pairs);
    std::vector<float> hd = on_host(data, numbers), all;
    // Rows 0, 129, 258, ... on the host; the rest is held against the first kernel.
    const int every = 129, chosen = (COLUMNS - 1) / every + 1;
    std::vector<float> rows((size_t)chosen * COLUMNS, 0.0f);
    for (int c = 0; c < chosen; c++) {
        std::vector<double> sum(COLUMNS, 0.0);
        for (int k = 0; k < OBSERVATIONS; k++) {
            const float *row = &hd[(size_t)k * COLUMNS];
            double v = row[c * every];
            for (int j = 0; j < COLUMNS; j++)
                sum[j] += v * row[j];
        }
        for (int j = 0; j < COLUMNS; j++)
            rows[(size_t)c * COLUMNS + j] = float(sum[j] / (OBSERVATIONS - 1));
    }
    float *picked = output<float>(rows.size());
    auto covariance = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(cov, 0xA5, pairs * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (all.empty()) {
            const size_t bytes = COLUMNS * sizeof(float);
            MUST(cudaMemcpy2D(picked, bytes, cov, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
            check(name, picked, rows, 2e-6);
            all = on_host(cov, pairs);
        } else
            check(name, cov, all, 2e-6);
    };
    dim3 full(32, 32), wide(32, 8), square(16, 16);
    covariance("k114f", [&] { k114f<<<dim3(COLUMNS / 32, COLUMNS / 8), wide>>>(COLUMNS, OBSERVATIONS, data, cov); });
    covariance("k114g", [&] { k114g<<<dim3(COLUMNS / 32, COLUMNS / 32), full>>>(COLUMNS, OBSERVATIONS, data, cov); });
    covariance("k114h", [&] { k114h<<<dim3(COLUMNS / 64, COLUMNS / 64), square>>>(COLUMNS, OBSERVATIONS, data, cov); });
    covariance("k114i", [&] { k114i<<<dim3(COLUMNS / 128, COLUMNS / 128), 256>>>(COLUMNS, OBSERVATIONS, data, cov); });
    return 0;
}
