// Single precision matrix product C = A B (2048 x 2048 x 512), and one AdamW step over 32 million parameters.
#include "../harness.h"

#include <functional>

const int M = 2048, N = 2048, K = 512;

__global__ void k140a(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}

__global__ void k140b(const float *A, const float *B, float *C, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}

__global__ void k140c(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float As[32][32], Bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < k; k0 += 32) {
        As[ty][tx] = A[row * k + k0 + tx];
        Bs[ty][tx] = B[(k0 + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < 32; i++)
            sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// 64 x 64 of C per block of 512 threads.
__global__ void k140d(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 64, BN = 64, BK = 8, TM = 8;
    __shared__ float As[BM * BK], Bs[BK * BN];
    int tid = threadIdx.x;
    int col = tid % BN, group = tid / BN;
    int a_row = tid / BK, a_col = tid % BK, b_row = tid / BN, b_col = tid % BN;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[TM] = {0.0f};
    for (int k0 = 0; k0 < k; k0 += BK) {
        As[a_row * BK + a_col] = A[a_row * k + k0 + a_col];
        Bs[b_row * BN + b_col] = B[(k0 + b_row) * n + b_col];
        __syncthreads();
        for (int i = 0; i < BK; i++) {
            float b = Bs[i * BN + col];
            for (int r = 0; r < TM; r++)
                sum[r] += As[(group * TM + r) * BK + i] * b;
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        C[(group * TM + r) * n + col] = sum[r];
}

// 128 x 128 of C per block of 256 threads.
__global__ void k140e(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ float As[BM * BK], Bs[BK * BN];
    int tid = threadIdx.x;
    int tx = tid % (BN / TN), ty = tid / (BN / TN);
    int a_row = tid / BK, a_col = tid % BK, b_row = tid / BN, b_col = tid % BN;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[TM][TN] = {{0.0f}}, ra[TM], rb[TN];
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int o = 0; o < BM; o += 256 / BK)
            As[(a_row + o) * BK + a_col] = A[(a_row + o) * k + k0 + a_col];
        for (int o = 0; o < BK; o += 256 / BN)
            Bs[(b_row + o) * BN + b_col] = B[(k0 + b_row + o) * n + b_col];
        __syncthreads();
        for (int i = 0; i < BK; i++) {
            for (int r = 0; r < TM; r++)
                ra[r] = As[(ty * TM + r) * BK + i];
            for (int c = 0; c < TN; c++)
                rb[c] = Bs[i * BN + tx * TN + c];
            for (int r = 0; r < TM; r++)
                for (int c = 0; c < TN; c++)
                    sum[r][c] += ra[r] * rb[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            C[(ty * TM + r) * n + tx * TN + c] = sum[r][c];
}

__device__ inline float4 load4(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__device__ inline void store4(float *p, float4 v) { *reinterpret_cast<float4 *>(p) = v; }

// Rows ty * 4 + 0..3 and 64 + ty * 4 + 0..3, columns likewise.
__device__ inline void store_tile(float *C, int n, int tx, int ty, const float (&sum)[8][8])
{
#pragma unroll
    for (int r = 0; r < 8; r++) {
        float *to = C + ((r / 4) * 64 + ty * 4 + r % 4) * n + tx * 4;
        store4(to, make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]));
        store4(to + 64, make_float4(sum[r][4], sum[r][5], sum[r][6], sum[r][7]));
    }
}

__global__ void __launch_bounds__(256) k140f(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 128, BN = 128, BK = 8, LD = BM + 4;
    __shared__ __align__(16) float As[BK * LD];
    __shared__ __align__(16) float Bs[BK * BN];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    int a_row = tid / 2, a_col = tid % 2 * 4, b_row = tid / 32, b_col = tid % 32 * 4;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[8][8] = {{0.0f}};
    for (int k0 = 0; k0 < k; k0 += BK) {
        float4 a = load4(A + a_row * k + k0 + a_col);
        As[(a_col + 0) * LD + a_row] = a.x;
        As[(a_col + 1) * LD + a_row] = a.y;
        As[(a_col + 2) * LD + a_row] = a.z;
        As[(a_col + 3) * LD + a_row] = a.w;
        store4(&Bs[b_row * BN + b_col], load4(B + (k0 + b_row) * n + b_col));
        __syncthreads();
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float4 a0 = load4(&As[i * LD + ty * 4]), a1 = load4(&As[i * LD + 64 + ty * 4]);
            float4 b0 = load4(&Bs[i * BN + tx * 4]), b1 = load4(&Bs[i * BN + 64 + tx * 4]);
            float ra[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float rb[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    sum[r][c] += ra[r] * rb[c];
        }
        __syncthreads();
    }
    store_tile(C, n, tx, ty, sum);
}

__global__ void __launch_bounds__(256, 2) k140g(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 128, BN = 128, BK = 8, LD = BM + 4;
    __shared__ __align__(16) float As[2][BK * LD];
    __shared__ __align__(16) float Bs[2][BK * BN];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    int a_row = tid / 2, a_col = tid % 2 * 4, b_row = tid / 32, b_col = tid % 32 * 4;
    A += blockIdx.y * BM * k + a_row * k + a_col;
    B += blockIdx.x * BN + b_row * n + b_col;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[8][8] = {{0.0f}};
    float4 a = load4(A), b = load4(B);
    int now = 0;
    for (int k0 = 0; k0 < k; k0 += BK) {
        As[now][(a_col + 0) * LD + a_row] = a.x;
        As[now][(a_col + 1) * LD + a_row] = a.y;
        As[now][(a_col + 2) * LD + a_row] = a.z;
        As[now][(a_col + 3) * LD + a_row] = a.w;
        store4(&Bs[now][b_row * BN + b_col], b);
        __syncthreads();
        if (k0 + BK < k) {
            a = load4(A + k0 + BK);
            b = load4(B + (k0 + BK) * n);
        }
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float4 a0 = load4(&As[now][i * LD + ty * 4]), a1 = load4(&As[now][i * LD + 64 + ty * 4]);
            float4 b0 = load4(&Bs[now][i * BN + tx * 4]), b1 = load4(&Bs[now][i * BN + 64 + tx * 4]);
            float ra[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float rb[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    sum[r][c] += ra[r] * rb[c];
        }
        now ^= 1;
    }
    store_tile(C, n, tx, ty, sum);
}

__global__ void k140h(float *param, const float *grad, float *m, float *v, size_t n, double lr, double beta1,
                      double beta2, double eps, double decay, int t)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double g = grad[i];
    m[i] = beta1 * m[i] + (1.0 - beta1) * g;
    v[i] = beta2 * v[i] + (1.0 - beta2) * g * g;
    double m_hat = m[i] / (1.0 - pow(beta1, (double)t));
    double v_hat = v[i] / (1.0 - pow(beta2, (double)t));
    param[i] -= lr * (m_hat / (sqrt(v_hat) + eps) + decay * param[i]);
}

__device__ inline void update(float &p, float g, float &m, float &v, float lr, float beta1, float beta2, float scale1,
                              float scale2, float eps, float decay)
{
    m = beta1 * m + (1.0f - beta1) * g;
    v = beta2 * v + (1.0f - beta2) * g * g;
    p -= lr * (m * scale1 / (sqrtf(v * scale2) + eps) + decay * p);
}

__global__ void k140i(float *param, const float *grad, float *m, float *v, size_t n, float lr, float beta1, float beta2,
                      float scale1, float scale2, float eps, float decay)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float p = param[i], mi = m[i], vi = v[i];
    update(p, grad[i], mi, vi, lr, beta1, beta2, scale1, scale2, eps, decay);
    param[i] = p;
    m[i] = mi;
    v[i] = vi;
}

__global__ void k140j(float4 *param, const float4 *grad, float4 *m, float4 *v, size_t quads, float lr, float beta1,
                      float beta2, float scale1, float scale2, float eps, float decay)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= quads)
        return;
    float4 p = param[i], g = grad[i], mi = m[i], vi = v[i];
    update(p.x, g.x, mi.x, vi.x, lr, beta1, beta2, scale1, scale2, eps, decay);
    update(p.y, g.y, mi.y, vi.y, lr, beta1, beta2, scale1, scale2, eps, decay);
    update(p.z, g.z, mi.z, vi.z, lr, beta1, beta2, scale1, scale2, eps, decay);
    update(p.w, g.w, mi.w, vi.w, lr, beta1, beta2, scale1, scale2, eps, decay);
    param[i] = p;
    m[i] = mi;
    v[i] = vi;
}

// Every stride-th parameter with its two moments.
__global__ void pick(float *to, const float *p, const float *m, const float *v, size_t stride, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        to[3 * i] = p[i * stride];
        to[3 * i + 1] = m[i * stride];
        to[3 * i + 2] = v[i * stride];
    }
}

int main()
{
    float *A = input<float>((size_t)M * K, 1401, -1.0, 1.0), *B = input<float>((size_t)K * N, 1402, -1.0, 1.0);
    float *C = output<float>((size_t)M * N);
    std::vector<float> ha = on_host(A, (size_t)M * K), hb = on_host(B, (size_t)K * N), want, whole;
    const int every = 31, chosen = (M - 1) / every + 1;
    float *picked = output<float>((size_t)chosen * N);
    want.assign((size_t)chosen * N, 0.0f);
    for (int r = 0; r < chosen; r++)
        for (int i = 0; i < K; i++) {
            float a = ha[(size_t)r * every * K + i];
            for (int c = 0; c < N; c++)
                want[(size_t)r * N + c] += a * hb[(size_t)i * N + c];
        }
    auto product = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(C, 0xA5, sizeof(float) * M * N));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!whole.empty()) {
            check(name, C, whole, 1e-4);
            return;
        }
        MUST(cudaMemcpy2D(picked, N * sizeof(float), C, (size_t)every * N * sizeof(float), N * sizeof(float), chosen,
                          cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-4);
        whole = on_host(C, (size_t)M * N);
    };
    dim3 square(32, 32), t64(N / 64, M / 64), t128(N / 128, M / 128);
    product("k140a", [&] { k140a<<<dim3(M / 32, N / 32), square>>>(A, B, C, M, N, K); });
    product("k140b", [&] { k140b<<<dim3(N / 32, M / 32), square>>>(A, B, C, M, N, K); });
    product("k140c", [&] { k140c<<<dim3(N / 32, M / 32), square>>>(A, B, C, M, N, K); });
    product("k140d", [&] { k140d<<<t64, 512>>>(A, B, C, M, N, K); });
    product("k140e", [&] { k140e<<<t128, 256>>>(A, B, C, M, N, K); });
    product("k140f", [&] { k140f<<<t128, 256>>>(A, B, C, M, N, K); });
    product("k140g", [&] { k140g<<<t128, 256>>>(A, B, C, M, N, K); });

    const size_t n = 1 << 25, bytes = n * sizeof(float), stride = 331;
    const int count = (n - 1) / stride + 1, t = 10;
    const double lr = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 0.01;
    const double fix1 = 1.0 / (1.0 - std::pow(beta1, t)), fix2 = 1.0 / (1.0 - std::pow(beta2, t));
    float *p0 = input<float>(n, 1403, -1.0, 1.0), *g = input<float>(n, 1404, -1.0, 1.0);
    float *m0 = input<float>(n, 1405, -0.5, 0.5), *v0 = input<float>(n, 1406, 0.1, 1.0);
    float *p = output<float>(n), *m = output<float>(n), *v = output<float>(n), *sample = output<float>(3 * count);
    std::vector<float> hp = on_host(p0, n), hg = on_host(g, n), hm = on_host(m0, n), hv = on_host(v0, n);
    std::vector<float> after(3 * (size_t)count);
    for (int i = 0; i < count; i++) {
        double pi = hp[i * stride], gi = hg[i * stride], mi = hm[i * stride], vi = hv[i * stride];
        mi = beta1 * mi + (1.0 - beta1) * gi;
        vi = beta2 * vi + (1.0 - beta2) * gi * gi;
        after[3 * i] = float(pi - lr * (mi * fix1 / (std::sqrt(vi * fix2) + eps) + decay * pi));
        after[3 * i + 1] = float(mi);
        after[3 * i + 2] = float(vi);
    }
    auto adam = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemcpy(p, p0, bytes, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(m, m0, bytes, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(v, v0, bytes, cudaMemcpyDeviceToDevice));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick<<<(count + 255) / 256, 256>>>(sample, p, m, v, stride, count);
        check(name, sample, after, 2e-6);
    };
    const float lr_ = lr, beta1_ = beta1, beta2_ = beta2, eps_ = eps, decay_ = decay, s1 = fix1, s2 = fix2;
    auto p4 = (float4 *)p, m4 = (float4 *)m, v4 = (float4 *)v;
    auto g4 = (const float4 *)g;
    const unsigned blocks = n / 256, quads = n / 4;
    adam("k140h", [&] { k140h<<<blocks, 256>>>(p, g, m, v, n, lr, beta1, beta2, eps, decay, t); });
    adam("k140i", [&] { k140i<<<blocks, 256>>>(p, g, m, v, n, lr_, beta1_, beta2_, s1, s2, eps_, decay_); });
    adam("k140j", [&] { k140j<<<quads / 256, 256>>>(p4, g4, m4, v4, quads, lr_, beta1_, beta2_, s1, s2, eps_, decay_); });
    return 0;
}
