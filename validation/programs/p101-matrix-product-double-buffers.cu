// Single-precision matrix product C = A B (2048 x 512 by 512 x 2048), and a matrix times a vector (16384 x 8192).
#include "../harness.h"

const int M = 2048, N = 2048, K = 512;
const int ROWS = 16384, COLUMNS = 8192;

__global__ void k101a(const float *A, const float *B, float *C, int m, int n, int k)
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

__global__ void k101b(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}

__global__ void k101c(const float *A, const float *B, float *C, int m, int n, int k)
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

// 64 x 64 outputs of a block of 512 threads, 8 in a column for each thread.
__global__ void k101d(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 64, BN = 64, BK = 8, TM = 8;
    __shared__ float As[BM * BK], Bs[BK * BN];
    int tid = threadIdx.x;
    int thread_col = tid % BN, thread_row = tid / BN;
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
            float b = Bs[i * BN + thread_col];
            for (int r = 0; r < TM; r++)
                sum[r] += As[(thread_row * TM + r) * BK + i] * b;
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        C[(thread_row * TM + r) * n + thread_col] = sum[r];
}

// 128 x 128 outputs of a block of 256 threads, 8 x 8 for each thread.
__global__ void __launch_bounds__(256) k101e(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ float As[BM * BK], Bs[BK * BN];
    int tid = threadIdx.x;
    int thread_col = tid % (BN / TN), thread_row = tid / (BN / TN);
    int a_row = tid / BK, a_col = tid % BK, b_row = tid / BN, b_col = tid % BN;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[TM][TN] = {{0.0f}};
    for (int k0 = 0; k0 < k; k0 += BK) {
        for (int r = 0; r < BM; r += 32)
            As[(a_row + r) * BK + a_col] = A[(a_row + r) * k + k0 + a_col];
        for (int r = 0; r < BK; r += 2)
            Bs[(b_row + r) * BN + b_col] = B[(k0 + b_row + r) * n + b_col];
        __syncthreads();
        for (int i = 0; i < BK; i++) {
            float a[TM], b[TN];
            for (int r = 0; r < TM; r++)
                a[r] = As[(thread_row * TM + r) * BK + i];
            for (int c = 0; c < TN; c++)
                b[c] = Bs[i * BN + thread_col * TN + c];
            for (int r = 0; r < TM; r++)
                for (int c = 0; c < TN; c++)
                    sum[r][c] += a[r] * b[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            C[(thread_row * TM + r) * n + thread_col * TN + c] = sum[r][c];
}

__device__ inline float4 four(const float *p) { return *reinterpret_cast<const float4 *>(p); }

__global__ void __launch_bounds__(256) k101f(const float *A, const float *B, float *C, int m, int n, int k)
{
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ __align__(16) float As[BK * BM], Bs[BK * BN];
    int tid = threadIdx.x;
    int thread_col = tid % (BN / TN), thread_row = tid / (BN / TN);
    int a_row = tid / 2, a_col = tid % 2 * 4, b_row = tid / 32, b_col = tid % 32 * 4;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[TM][TN] = {{0.0f}};
    for (int k0 = 0; k0 < k; k0 += BK) {
        float4 v = four(&A[a_row * k + k0 + a_col]);
        As[(a_col + 0) * BM + a_row] = v.x;
        As[(a_col + 1) * BM + a_row] = v.y;
        As[(a_col + 2) * BM + a_row] = v.z;
        As[(a_col + 3) * BM + a_row] = v.w;
        *reinterpret_cast<float4 *>(&Bs[b_row * BN + b_col]) = four(&B[(k0 + b_row) * n + b_col]);
        __syncthreads();
        for (int i = 0; i < BK; i++) {
            float a[TM], b[TN];
            for (int r = 0; r < TM; r += 4)
                *reinterpret_cast<float4 *>(&a[r]) = four(&As[i * BM + thread_row * TM + r]);
            for (int c = 0; c < TN; c += 4)
                *reinterpret_cast<float4 *>(&b[c]) = four(&Bs[i * BN + thread_col * TN + c]);
            for (int r = 0; r < TM; r++)
                for (int c = 0; c < TN; c++)
                    sum[r][c] += a[r] * b[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c += 4)
            *reinterpret_cast<float4 *>(&C[(thread_row * TM + r) * n + thread_col * TN + c]) =
                make_float4(sum[r][c], sum[r][c + 1], sum[r][c + 2], sum[r][c + 3]);
}

// Eight warps of 64 x 32 outputs; a thread has 2 x 2 pieces of 4 x 4.
__global__ void __launch_bounds__(256, 2)
    k101g(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int m, int n, int k)
{
    __shared__ __align__(16) float As[2][8][132], Bs[2][8][128];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row = warp / 4 * 64 + lane / 4 * 4, col = warp % 4 * 32 + lane % 4 * 4;
    int a_row = tid / 2, a_col = tid % 2 * 4, b_row = tid / 32, b_col = tid % 32 * 4;
    const float *a_src = A + (blockIdx.y * 128 + a_row) * k + a_col;
    const float *b_src = B + b_row * n + blockIdx.x * 128 + b_col;
    C += blockIdx.y * 128 * n + blockIdx.x * 128;
    float sum[8][8] = {{0.0f}};
    float4 va = four(a_src), vb = four(b_src);
    As[0][a_col + 0][a_row] = va.x;
    As[0][a_col + 1][a_row] = va.y;
    As[0][a_col + 2][a_row] = va.z;
    As[0][a_col + 3][a_row] = va.w;
    *reinterpret_cast<float4 *>(&Bs[0][b_row][b_col]) = vb;
    __syncthreads();
    int now = 0;
    for (int k0 = 8; k0 <= k; k0 += 8) {
        bool more = k0 < k;
        if (more) {
            va = four(a_src + k0);
            vb = four(b_src + k0 * n);
        }
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float a[8], b[8];
            *reinterpret_cast<float4 *>(&a[0]) = four(&As[now][i][row]);
            *reinterpret_cast<float4 *>(&a[4]) = four(&As[now][i][row + 32]);
            *reinterpret_cast<float4 *>(&b[0]) = four(&Bs[now][i][col]);
            *reinterpret_cast<float4 *>(&b[4]) = four(&Bs[now][i][col + 16]);
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    sum[r][c] += a[r] * b[c];
        }
        if (more) {
            now ^= 1;
            As[now][a_col + 0][a_row] = va.x;
            As[now][a_col + 1][a_row] = va.y;
            As[now][a_col + 2][a_row] = va.z;
            As[now][a_col + 3][a_row] = va.w;
            *reinterpret_cast<float4 *>(&Bs[now][b_row][b_col]) = vb;
            __syncthreads();
        }
    }
#pragma unroll
    for (int r = 0; r < 8; r++) {
        float *dst = &C[(row + r % 4 + r / 4 * 32) * n + col];
        *reinterpret_cast<float4 *>(dst) = make_float4(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
        *reinterpret_cast<float4 *>(dst + 16) = make_float4(sum[r][4], sum[r][5], sum[r][6], sum[r][7]);
    }
}

__global__ void k101h(const float *matrix, const float *x, float *y, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *line = matrix + (size_t)row * columns;
    float sum = 0.0f;
    for (int c = 0; c < columns; c++)
        sum += line[c] * x[c];
    y[row] = sum;
}

// One warp for a row.
__global__ void k101i(const float *__restrict__ matrix, const float *__restrict__ x, float *__restrict__ y, int rows,
                      int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *line = matrix + (size_t)row * columns;
    float sum = 0.0f;
#pragma unroll 8
    for (int c = lane; c < columns; c += 32)
        sum += line[c] * x[c];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

__global__ void k101j(const float *__restrict__ matrix, const float *__restrict__ x, float *__restrict__ y, int rows,
                      int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *line = matrix + (size_t)row * columns;
    float sum = 0.0f;
#pragma unroll 4
    for (int c = lane * 4; c < columns; c += 128) {
        float4 v = four(line + c), w = four(x + c);
        sum += v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w;
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

// Rows 0, every, 2 * every, ... of a matrix.
__global__ void fill_picked(float *dst, const float *src, size_t width, size_t every, size_t total)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x)
        dst[i] = src[i / width * every * width + i % width];
}

int main()
{
    float *A = input<float>((size_t)M * K, 1011, -1.0, 1.0), *B = input<float>((size_t)K * N, 1012, -1.0, 1.0);
    float *C = output<float>((size_t)M * N);
    std::vector<float> ha = on_host(A, (size_t)M * K), hb = on_host(B, (size_t)K * N);
    const int every = 37, chosen = (M - 1) / every + 1;
    std::vector<float> want((size_t)chosen * N);
    std::vector<double> line(N);
    for (int i = 0; i < chosen; i++) {
        for (int c = 0; c < N; c++)
            line[c] = 0;
        for (int k = 0; k < K; k++) {
            double a = ha[(size_t)i * every * K + k];
            for (int c = 0; c < N; c++)
                line[c] += a * hb[(size_t)k * N + c];
        }
        for (int c = 0; c < N; c++)
            want[(size_t)i * N + c] = float(line[c]);
    }
    float *picked = output<float>(want.size());
    auto product = [&](const char *name, auto launch) {
        MUST(cudaMemset(C, 0xA5, (size_t)M * N * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_picked<<<264, 256>>>(picked, C, N, every, want.size());
        check(name, picked, want, 1e-4);
    };
    dim3 square(32, 32);
    product("k101a", [&] { k101a<<<dim3(M / 32, N / 32), square>>>(A, B, C, M, N, K); });
    product("k101b", [&] { k101b<<<dim3(N / 32, M / 32), square>>>(A, B, C, M, N, K); });
    product("k101c", [&] { k101c<<<dim3(N / 32, M / 32), square>>>(A, B, C, M, N, K); });
    product("k101d", [&] { k101d<<<dim3(N / 64, M / 64), 512>>>(A, B, C, M, N, K); });
    product("k101e", [&] { k101e<<<dim3(N / 128, M / 128), 256>>>(A, B, C, M, N, K); });
    product("k101f", [&] { k101f<<<dim3(N / 128, M / 128), 256>>>(A, B, C, M, N, K); });
    product("k101g", [&] { k101g<<<dim3(N / 128, M / 128), 256>>>(A, B, C, M, N, K); });

    float *matrix = input<float>((size_t)ROWS * COLUMNS, 1013, -1.0, 1.0);
    float *x = input<float>(COLUMNS, 1014, -1.0, 1.0), *y = output<float>(ROWS);
    const int skip = 97, taken = (ROWS - 1) / skip + 1;
    const size_t sampled = (size_t)taken * COLUMNS;
    float *lines = output<float>(sampled);
    fill_picked<<<264, 256>>>(lines, matrix, COLUMNS, skip, sampled);
    std::vector<float> hl = on_host(lines, sampled), hx = on_host(x, COLUMNS), sums(taken);
    for (int i = 0; i < taken; i++) {
        double sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            sum += double(hl[(size_t)i * COLUMNS + c]) * hx[c];
        sums[i] = float(sum);
    }
    auto vector_product = [&](const char *name, auto launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_picked<<<1, 256>>>(picked, y, 1, skip, taken);
        check(name, picked, sums, 1e-3);
    };
    vector_product("k101h", [&] { k101h<<<ROWS / 128, 128>>>(matrix, x, y, ROWS, COLUMNS); });
    vector_product("k101i", [&] { k101i<<<ROWS / 8, 256>>>(matrix, x, y, ROWS, COLUMNS); });
    vector_product("k101j", [&] { k101j<<<ROWS / 8, 256>>>(matrix, x, y, ROWS, COLUMNS); });
    return 0;
}
