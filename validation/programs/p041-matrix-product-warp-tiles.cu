// C = alpha A B + beta C with row-major matrices of floats.
#include "../harness.h"

#include <algorithm>
#include <functional>

__global__ void k41a(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++)
            sum += a[row * k + p] * b[p * n + col];
        c[row * n + col] = alpha * sum + beta * c[row * n + col];
    }
}

template <int SIDE>
__device__ void one_each(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    const int row = blockIdx.x * SIDE + threadIdx.x / SIDE;
    const int col = blockIdx.y * SIDE + threadIdx.x % SIDE;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++)
            sum += a[row * k + p] * b[p * n + col];
        c[row * n + col] = alpha * sum + beta * c[row * n + col];
    }
}

__global__ void k41b(int m, int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    one_each<32>(m, n, k, alpha, a, b, beta, c);
}

template <int SIDE>
__device__ void square_tiles(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    __shared__ float ta[SIDE * SIDE];
    __shared__ float tb[SIDE * SIDE];

    const int x = threadIdx.x % SIDE;
    const int y = threadIdx.x / SIDE;
    a += blockIdx.x * SIDE * k;
    b += blockIdx.y * SIDE;
    c += blockIdx.x * SIDE * n + blockIdx.y * SIDE;

    float sum = 0.0f;
    for (int start = 0; start < k; start += SIDE) {
        ta[y * SIDE + x] = a[y * k + x];
        tb[y * SIDE + x] = b[y * n + x];
        __syncthreads();
        a += SIDE;
        b += SIDE * n;
        for (int p = 0; p < SIDE; p++)
            sum += ta[y * SIDE + p] * tb[p * SIDE + x];
        __syncthreads();
    }
    c[y * n + x] = alpha * sum + beta * c[y * n + x];
}

__global__ void k41c(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    square_tiles<32>(n, k, alpha, a, b, beta, c);
}

template <int BM, int BN, int BK, int TM>
__device__ void columns(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    __shared__ float ta[BM * BK];
    __shared__ float tb[BK * BN];

    const int x = threadIdx.x % BN;
    const int y = threadIdx.x / BN;
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;

    const int a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const int b_row = threadIdx.x / BN, b_col = threadIdx.x % BN;

    float sum[TM] = {0.0f};
    for (int start = 0; start < k; start += BK) {
        ta[a_row * BK + a_col] = a[a_row * k + a_col];
        tb[b_row * BN + b_col] = b[b_row * n + b_col];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int p = 0; p < BK; p++) {
            float right = tb[p * BN + x];
            for (int i = 0; i < TM; i++)
                sum[i] += ta[(y * TM + i) * BK + p] * right;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) {
        float *to = &c[(y * TM + i) * n + x];
        *to = alpha * sum[i] + beta * *to;
    }
}

__global__ void k41d(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    columns<64, 64, 8, 8>(n, k, alpha, a, b, beta, c);
}

template <int BM, int BN, int BK, int TM, int TN>
__device__ void patches(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    constexpr int THREADS = BM * BN / (TM * TN);
    __shared__ float ta[BM * BK];
    __shared__ float tb[BK * BN];

    const int x = threadIdx.x % (BN / TN);
    const int y = threadIdx.x / (BN / TN);
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;

    const int a_row = threadIdx.x / BK, a_col = threadIdx.x % BK;
    const int b_row = threadIdx.x / BN, b_col = threadIdx.x % BN;
    constexpr int A_STEP = THREADS / BK, B_STEP = THREADS / BN;

    float sum[TM * TN] = {0.0f};
    float left[TM], right[TN];
    for (int start = 0; start < k; start += BK) {
        for (int r = 0; r < BM; r += A_STEP)
            ta[(a_row + r) * BK + a_col] = a[(a_row + r) * k + a_col];
        for (int r = 0; r < BK; r += B_STEP)
            tb[(b_row + r) * BN + b_col] = b[(b_row + r) * n + b_col];
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int p = 0; p < BK; p++) {
            for (int i = 0; i < TM; i++)
                left[i] = ta[(y * TM + i) * BK + p];
            for (int j = 0; j < TN; j++)
                right[j] = tb[p * BN + x * TN + j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    sum[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            float *to = &c[(y * TM + i) * n + x * TN + j];
            *to = alpha * sum[i * TN + j] + beta * *to;
        }
}

__global__ void __launch_bounds__(256, 1)
    k41e(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    patches<128, 128, 8, 8, 8>(n, k, alpha, a, b, beta, c);
}

__device__ inline float4 quad(const float *from)
{
    return *reinterpret_cast<const float4 *>(from);
}

__device__ inline void update(float *to, const float *sum, float alpha, float beta)
{
    float4 old = quad(to);
    old.x = alpha * sum[0] + beta * old.x;
    old.y = alpha * sum[1] + beta * old.y;
    old.z = alpha * sum[2] + beta * old.z;
    old.w = alpha * sum[3] + beta * old.w;
    *reinterpret_cast<float4 *>(to) = old;
}

template <int BM, int BN, int BK, int TM, int TN>
__device__ void quads(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    __shared__ __align__(16) float ta[BK * BM];
    __shared__ __align__(16) float tb[BK * BN];

    const int x = threadIdx.x % (BN / TN);
    const int y = threadIdx.x / (BN / TN);
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    c += blockIdx.y * BM * n + blockIdx.x * BN;

    const int a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;

    float sum[TM * TN] = {0.0f};
    float left[TM], right[TN];
    for (int start = 0; start < k; start += BK) {
        float4 piece = quad(&a[a_row * k + a_col]);
        ta[(a_col + 0) * BM + a_row] = piece.x;
        ta[(a_col + 1) * BM + a_row] = piece.y;
        ta[(a_col + 2) * BM + a_row] = piece.z;
        ta[(a_col + 3) * BM + a_row] = piece.w;
        *reinterpret_cast<float4 *>(&tb[b_row * BN + b_col]) = quad(&b[b_row * n + b_col]);
        __syncthreads();
        a += BK;
        b += BK * n;
        for (int p = 0; p < BK; p++) {
            for (int i = 0; i < TM; i++)
                left[i] = ta[p * BM + y * TM + i];
            for (int j = 0; j < TN; j++)
                right[j] = tb[p * BN + x * TN + j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++)
                    sum[i * TN + j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4)
            update(&c[(y * TM + i) * n + x * TN + j], &sum[i * TN + j], alpha, beta);
}

__global__ void k41f(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    quads<128, 128, 8, 8, 8>(n, k, alpha, a, b, beta, c);
}

template <int BM, int BN, int BK, int WM, int WN, int PARTS, int TM, int TN, int THREADS>
__device__ void by_warps(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    constexpr int STACK = WM * WN / (32 * TM * TN * PARTS);
    constexpr int SUB_M = WM / STACK, SUB_N = WN / PARTS;
    static_assert((BM / WM) * (BN / WN) * 32 == THREADS, "one warp for each warp tile");

    __shared__ __align__(16) float ta[BK * BM];
    __shared__ __align__(16) float tb[BK * BN];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int warp_x = warp % (BN / WN), warp_y = warp / (BN / WN);
    const int x = lane % (SUB_N / TN), y = lane / (SUB_N / TN);
    a += blockIdx.y * BM * k;
    b += blockIdx.x * BN;
    c += (blockIdx.y * BM + warp_y * WM) * n + blockIdx.x * BN + warp_x * WN;

    const int a_row = threadIdx.x / (BK / 4), a_col = threadIdx.x % (BK / 4) * 4;
    const int b_row = threadIdx.x / (BN / 4), b_col = threadIdx.x % (BN / 4) * 4;
    constexpr int A_STEP = THREADS * 4 / BK, B_STEP = THREADS * 4 / BN;

    float sum[STACK * TM * PARTS * TN] = {0.0f};
    float left[STACK * TM], right[PARTS * TN];
    for (int start = 0; start < k; start += BK) {
        for (int r = 0; r < BM; r += A_STEP) {
            float4 piece = quad(&a[(a_row + r) * k + a_col]);
            ta[(a_col + 0) * BM + a_row + r] = piece.x;
            ta[(a_col + 1) * BM + a_row + r] = piece.y;
            ta[(a_col + 2) * BM + a_row + r] = piece.z;
            ta[(a_col + 3) * BM + a_row + r] = piece.w;
        }
        for (int r = 0; r < BK; r += B_STEP)
            *reinterpret_cast<float4 *>(&tb[(b_row + r) * BN + b_col]) = quad(&b[(b_row + r) * n + b_col]);
        __syncthreads();

        for (int p = 0; p < BK; p++) {
            for (int s = 0; s < STACK; s++)
                for (int i = 0; i < TM; i++)
                    left[s * TM + i] = ta[p * BM + warp_y * WM + s * SUB_M + y * TM + i];
            for (int t = 0; t < PARTS; t++)
                for (int j = 0; j < TN; j++)
                    right[t * TN + j] = tb[p * BN + warp_x * WN + t * SUB_N + x * TN + j];
            for (int s = 0; s < STACK; s++)
                for (int t = 0; t < PARTS; t++)
                    for (int i = 0; i < TM; i++)
                        for (int j = 0; j < TN; j++)
                            sum[(s * TM + i) * (PARTS * TN) + t * TN + j] += left[s * TM + i] * right[t * TN + j];
        }
        a += BK;
        b += BK * n;
        __syncthreads();
    }

    for (int s = 0; s < STACK; s++)
        for (int t = 0; t < PARTS; t++) {
            float *corner = c + s * SUB_M * n + t * SUB_N;
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j += 4)
                    update(&corner[(y * TM + i) * n + x * TN + j], &sum[(s * TM + i) * (PARTS * TN) + t * TN + j],
                           alpha, beta);
        }
}

__global__ void __launch_bounds__(128)
    k41g(int n, int k, float alpha, const float *a, const float *b, float beta, float *c)
{
    by_warps<128, 128, 16, 64, 64, 4, 8, 4, 128>(n, k, alpha, a, b, beta, c);
}

int main()
{
    const int m = 2048, n = 2048, k = 512;
    const float alpha = 0.5f, beta = 3.0f;
    float *a = input<float>((size_t)m * k, 411, -1.0, 1.0);
    float *b = input<float>((size_t)k * n, 412, -1.0, 1.0);
    float *before = input<float>((size_t)m * n, 413, -1.0, 1.0);
    float *c = output<float>((size_t)m * n);

    // Every 89th row, which the last one is.
    const int step = 89, rows = (m + step - 1) / step;
    std::vector<float> some((size_t)rows * n);
    {
        std::vector<float> ha = on_host(a, (size_t)m * k), hb = on_host(b, (size_t)k * n);
        std::vector<float> hc = on_host(before, (size_t)m * n);
        std::vector<double> line(n);
        for (int r = 0; r < rows; r++) {
            const size_t row = (size_t)r * step;
            std::fill(line.begin(), line.end(), 0.0);
            for (int p = 0; p < k; p++) {
                const double left = ha[row * k + p];
                for (int j = 0; j < n; j++)
                    line[j] += left * hb[(size_t)p * n + j];
            }
            for (int j = 0; j < n; j++)
                some[(size_t)r * n + j] = float(alpha * line[j] + beta * hc[row * n + j]);
        }
    }

    auto launch = [&](std::function<void()> kernel) {
        MUST(cudaMemcpy(c, before, (size_t)m * n * sizeof(float), cudaMemcpyDeviceToDevice));
        kernel();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
    };

    launch([&] { k41a<<<dim3(m / 32, n / 32), dim3(32, 32)>>>(m, n, k, alpha, a, b, beta, c); });
    float *picked = output<float>((size_t)rows * n);
    MUST(cudaMemcpy2D(picked, n * sizeof(float), c, (size_t)step * n * sizeof(float), n * sizeof(float), rows,
                      cudaMemcpyDeviceToDevice));
    check("k41a", picked, some, 1e-4);
    const std::vector<float> want = on_host(c, (size_t)m * n);

    launch([&] { k41b<<<dim3(m / 32, n / 32), 1024>>>(m, n, k, alpha, a, b, beta, c); });
    check("k41b", c, want, 1e-4);

    launch([&] { k41c<<<dim3(m / 32, n / 32), 1024>>>(n, k, alpha, a, b, beta, c); });
    check("k41c", c, want, 1e-4);

    launch([&] { k41d<<<dim3(n / 64, m / 64), 512>>>(n, k, alpha, a, b, beta, c); });
    check("k41d", c, want, 1e-4);

    launch([&] { k41e<<<dim3(n / 128, m / 128), 256>>>(n, k, alpha, a, b, beta, c); });
    check("k41e", c, want, 1e-4);

    launch([&] { k41f<<<dim3(n / 128, m / 128), 256>>>(n, k, alpha, a, b, beta, c); });
    check("k41f", c, want, 1e-4);

    launch([&] { k41g<<<dim3(n / 128, m / 128), 128>>>(n, k, alpha, a, b, beta, c); });
    check("k41g", c, want, 1e-4);
    return 0;
}
