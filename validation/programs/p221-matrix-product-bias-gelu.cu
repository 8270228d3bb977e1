// Single-precision product C = A B of row-major matrices, and the activation of a hidden layer (bias, then GELU) in half precision.
#include "../harness.h"

#include <functional>

const int M = 2048, N = 2048, K = 1024;

__global__ void k221a(int m, int n, int k, const float *A, const float *B, float *C)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < m && y < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += A[x * k + i] * B[i * n + y];
        C[x * n + y] = sum;
    }
}

__global__ void k221b(int m, int n, int k, const float *A, const float *B, float *C)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += A[row * k + i] * B[i * n + col];
        C[row * n + col] = sum;
    }
}

#define SIDE 32

__global__ void k221c(int m, int n, int k, const float *A, const float *B, float *C)
{
    __shared__ float As[SIDE][SIDE], Bs[SIDE][SIDE];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * SIDE + ty, col = blockIdx.x * SIDE + tx;
    float sum = 0.0f;
    for (int t = 0; t < k; t += SIDE) {
        As[ty][tx] = A[row * k + t + tx];
        Bs[ty][tx] = B[(t + ty) * n + col];
        __syncthreads();
        for (int i = 0; i < SIDE; i++)
            sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

// 64x64 of C per block of 512 threads.
__global__ void k221d(int m, int n, int k, const float *A, const float *B, float *C)
{
    const int BM = 64, BN = 64, BK = 8, TM = 8;
    __shared__ float As[BM * BK], Bs[BK * BN];
    const int tid = threadIdx.x;
    const int threadCol = tid % BN, threadRow = tid / BN;
    const int aRow = tid / BK, aCol = tid % BK;
    const int bRow = tid / BN, bCol = tid % BN;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;

    float sums[TM] = {0.0f};
    for (int t = 0; t < k; t += BK) {
        As[aRow * BK + aCol] = A[aRow * k + aCol];
        Bs[bRow * BN + bCol] = B[bRow * n + bCol];
        __syncthreads();
        A += BK;
        B += BK * n;
        for (int i = 0; i < BK; i++) {
            float b = Bs[i * BN + threadCol];
            for (int r = 0; r < TM; r++)
                sums[r] += As[(threadRow * TM + r) * BK + i] * b;
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        C[(threadRow * TM + r) * n + threadCol] = sums[r];
}

// 128x128 of C per block of 256 threads.
__global__ void __launch_bounds__(256) k221e(int m, int n, int k, const float *A, const float *B, float *C)
{
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ float As[BM * BK], Bs[BK * BN];
    const int tid = threadIdx.x;
    const int threadCol = tid % (BN / TN), threadRow = tid / (BN / TN);
    const int aRow = tid / BK, aCol = tid % BK;
    const int bRow = tid / BN, bCol = tid % BN;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;

    float sums[TM][TN] = {{0.0f}};
    float a[TM], b[TN];
    for (int t = 0; t < k; t += BK) {
        for (int r = 0; r < BM; r += 256 / BK)
            As[(aRow + r) * BK + aCol] = A[(aRow + r) * k + aCol];
        for (int r = 0; r < BK; r += 256 / BN)
            Bs[(bRow + r) * BN + bCol] = B[(bRow + r) * n + bCol];
        __syncthreads();
        A += BK;
        B += BK * n;
        for (int i = 0; i < BK; i++) {
            for (int r = 0; r < TM; r++)
                a[r] = As[(threadRow * TM + r) * BK + i];
            for (int c = 0; c < TN; c++)
                b[c] = Bs[i * BN + threadCol * TN + c];
            for (int r = 0; r < TM; r++)
                for (int c = 0; c < TN; c++)
                    sums[r][c] += a[r] * b[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c++)
            C[(threadRow * TM + r) * n + threadCol * TN + c] = sums[r][c];
}

__global__ void __launch_bounds__(256) k221f(int m, int n, int k, const float *A, const float *B, float *C)
{
    const int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ __align__(16) float As[BK * BM], Bs[BK * BN];
    const int tid = threadIdx.x;
    const int threadCol = tid % (BN / TN), threadRow = tid / (BN / TN);
    const int aRow = tid / (BK / 4), aCol = tid % (BK / 4) * 4;
    const int bRow = tid / (BN / 4), bCol = tid % (BN / 4) * 4;
    A += blockIdx.y * BM * k;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;

    float sums[TM][TN] = {{0.0f}};
    float a[TM], b[TN];
    for (int t = 0; t < k; t += BK) {
        float4 v = *reinterpret_cast<const float4 *>(&A[aRow * k + aCol]);
        As[(aCol + 0) * BM + aRow] = v.x;
        As[(aCol + 1) * BM + aRow] = v.y;
        As[(aCol + 2) * BM + aRow] = v.z;
        As[(aCol + 3) * BM + aRow] = v.w;
        *reinterpret_cast<float4 *>(&Bs[bRow * BN + bCol]) = *reinterpret_cast<const float4 *>(&B[bRow * n + bCol]);
        __syncthreads();
        A += BK;
        B += BK * n;
        for (int i = 0; i < BK; i++) {
            for (int r = 0; r < TM; r++)
                a[r] = As[i * BM + threadRow * TM + r];
            for (int c = 0; c < TN; c++)
                b[c] = Bs[i * BN + threadCol * TN + c];
            for (int r = 0; r < TM; r++)
                for (int c = 0; c < TN; c++)
                    sums[r][c] += a[r] * b[c];
        }
        __syncthreads();
    }
    for (int r = 0; r < TM; r++)
        for (int c = 0; c < TN; c += 4)
            *reinterpret_cast<float4 *>(&C[(threadRow * TM + r) * n + threadCol * TN + c]) =
                make_float4(sums[r][c], sums[r][c + 1], sums[r][c + 2], sums[r][c + 3]);
}

__global__ void __launch_bounds__(256, 2)
    k221g(int m, int n, int k, const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C)
{
    const int BM = 128, BN = 128, BK = 8, LA = BM + 4;
    __shared__ __align__(16) float As[2][BK][LA];
    __shared__ __align__(16) float Bs[2][BK][BN];
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int aRow = tid / 2, aCol = tid % 2 * 4;
    const int bRow = tid / 32, bCol = tid % 32 * 4;
    // A warp makes 64x32, a thread 2x2 pieces of 4x4 of it.
    const int row = warp / 4 * 64 + lane / 4 * 4, col = warp % 4 * 32 + lane % 4 * 4;
    A += (blockIdx.y * BM + aRow) * k + aCol;
    B += bRow * n + blockIdx.x * BN + bCol;
    C += blockIdx.y * BM * n + blockIdx.x * BN;

    float4 va = *reinterpret_cast<const float4 *>(A);
    float4 vb = *reinterpret_cast<const float4 *>(B);
    As[0][aCol + 0][aRow] = va.x;
    As[0][aCol + 1][aRow] = va.y;
    As[0][aCol + 2][aRow] = va.z;
    As[0][aCol + 3][aRow] = va.w;
    *reinterpret_cast<float4 *>(&Bs[0][bRow][bCol]) = vb;
    __syncthreads();

    float sums[8][8] = {{0.0f}};
    int now = 0;
    for (int t = BK; t <= k; t += BK) {
        if (t < k) {
            va = *reinterpret_cast<const float4 *>(A + t);
            vb = *reinterpret_cast<const float4 *>(B + t * n);
        }
#pragma unroll
        for (int i = 0; i < BK; i++) {
            float a[8], b[8];
            *reinterpret_cast<float4 *>(&a[0]) = *reinterpret_cast<const float4 *>(&As[now][i][row]);
            *reinterpret_cast<float4 *>(&a[4]) = *reinterpret_cast<const float4 *>(&As[now][i][row + 32]);
            *reinterpret_cast<float4 *>(&b[0]) = *reinterpret_cast<const float4 *>(&Bs[now][i][col]);
            *reinterpret_cast<float4 *>(&b[4]) = *reinterpret_cast<const float4 *>(&Bs[now][i][col + 16]);
#pragma unroll
            for (int r = 0; r < 8; r++)
#pragma unroll
                for (int c = 0; c < 8; c++)
                    sums[r][c] += a[r] * b[c];
        }
        if (t < k) {
            now ^= 1;
            As[now][aCol + 0][aRow] = va.x;
            As[now][aCol + 1][aRow] = va.y;
            As[now][aCol + 2][aRow] = va.z;
            As[now][aCol + 3][aRow] = va.w;
            *reinterpret_cast<float4 *>(&Bs[now][bRow][bCol]) = vb;
            __syncthreads();
        }
    }
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int c = 0; c < 8; c += 4)
            *reinterpret_cast<float4 *>(&C[(row + r / 4 * 32 + r % 4) * n + col + c * 4]) =
                make_float4(sums[r][c], sums[r][c + 1], sums[r][c + 2], sums[r][c + 3]);
}

#define GELU_SCALE 0.7978845608f

__device__ inline float gelu(float x)
{
    float cube = 0.044715f * x * x * x;
    return 0.5f * x * (1.0f + tanhf(GELU_SCALE * (x + cube)));
}

__device__ inline float gelu_by_exp(float x)
{
    float u = x * (GELU_SCALE + GELU_SCALE * 0.044715f * x * x);
    return __fdividef(x, 1.0f + __expf(-2.0f * u));
}

__global__ void k221h(__half *out, const __half *in, const __half *bias, int n, int width)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = __half2float(in[i]) + __half2float(bias[i % width]);
        out[i] = __float2half(gelu(x));
    }
}

union Eight {
    uint4 all;
    __half2 pair[4];
};

__global__ void k221i(__half *out, const __half *in, const __half *bias, int n, int width)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) {
        Eight x, b, y;
        x.all = *reinterpret_cast<const uint4 *>(in + i);
        b.all = *reinterpret_cast<const uint4 *>(bias + i % width);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float2 v = __half22float2(x.pair[j]), w = __half22float2(b.pair[j]);
            y.pair[j] = __floats2half2_rn(gelu(v.x + w.x), gelu(v.y + w.y));
        }
        *reinterpret_cast<uint4 *>(out + i) = y.all;
    }
}

__global__ void k221j(__half *out, const __half *in, const __half *bias, int n, int width)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (i < n) {
        Eight x, b, y;
        x.all = *reinterpret_cast<const uint4 *>(in + i);
        b.all = *reinterpret_cast<const uint4 *>(bias + i % width);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float2 v = __half22float2(x.pair[j]), w = __half22float2(b.pair[j]);
            y.pair[j] = __floats2half2_rn(gelu_by_exp(v.x + w.x), gelu_by_exp(v.y + w.y));
        }
        *reinterpret_cast<uint4 *>(out + i) = y.all;
    }
}

int main()
{
    const size_t elements = (size_t)M * N;
    float *A = input<float>((size_t)M * K, 2211, -0.5, 0.5), *B = input<float>((size_t)K * N, 2212, -0.5, 0.5);
    float *C = output<float>(elements);
    std::vector<float> ha = on_host(A, (size_t)M * K), hb = on_host(B, (size_t)K * N), product;

    // Every 97th row of the first kernel's product is made on the host.
    const int every = 97, chosen = (M - 1) / every + 1;
    std::vector<float> rows((size_t)chosen * N);
    for (int r = 0; r < chosen; r++) {
        std::vector<double> sum(N, 0.0);
        for (int i = 0; i < K; i++) {
            double a = ha[(size_t)r * every * K + i];
            for (int c = 0; c < N; c++)
                sum[c] += a * hb[(size_t)i * N + c];
        }
        for (int c = 0; c < N; c++)
            rows[(size_t)r * N + c] = float(sum[c]);
    }
    float *picked = output<float>(rows.size());
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(C, 0xA5, elements * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (product.empty()) {
            const size_t bytes = N * sizeof(float);
            MUST(cudaMemcpy2D(picked, bytes, C, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
            check(name, picked, rows, 1e-4);
            product = on_host(C, elements);
        } else {
            check(name, C, product, 1e-4);
        }
    };
    dim3 square(32, 32);
    multiply("k221a", [&] { k221a<<<dim3(M / 32, N / 32), square>>>(M, N, K, A, B, C); });
    multiply("k221b", [&] { k221b<<<dim3(N / 32, M / 32), square>>>(M, N, K, A, B, C); });
    multiply("k221c", [&] { k221c<<<dim3(N / 32, M / 32), square>>>(M, N, K, A, B, C); });
    multiply("k221d", [&] { k221d<<<dim3(N / 64, M / 64), 512>>>(M, N, K, A, B, C); });
    multiply("k221e", [&] { k221e<<<dim3(N / 128, M / 128), 256>>>(M, N, K, A, B, C); });
    multiply("k221f", [&] { k221f<<<dim3(N / 128, M / 128), 256>>>(M, N, K, A, B, C); });
    multiply("k221g", [&] { k221g<<<dim3(N / 128, M / 128), 256>>>(M, N, K, A, B, C); });

    const int tokens = 65536, width = 3072, n = tokens * width;
    __half *in = input<__half>(n, 2213, -4.0, 4.0), *bias = input<__half>(width, 2214, -1.0, 1.0);
    __half *out = output<__half>(n);
    const int step = 101, taken = (tokens - 1) / step + 1;
    const size_t line = width * sizeof(__half);
    __half *some = output<__half>((size_t)taken * width);
    MUST(cudaMemcpy2D(some, line, in, step * line, line, taken, cudaMemcpyDeviceToDevice));
    std::vector<__half> hidden = on_host(some, (size_t)taken * width), hbias = on_host(bias, width), want(hidden.size());
    for (size_t i = 0; i < want.size(); i++) {
        float x = float(hidden[i]) + float(hbias[i % width]);
        want[i] = __half(0.5f * x * (1.0f + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))));
    }
    auto activate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, line, out, step * line, line, taken, cudaMemcpyDeviceToDevice));
        check(name, some, want, 2e-3);
    };
    activate("k221h", [&] { k221h<<<n / 256, 256>>>(out, in, bias, n, width); });
    activate("k221i", [&] { k221i<<<n / 2048, 256>>>(out, in, bias, n, width); });
    activate("k221j", [&] { k221j<<<n / 2048, 256>>>(out, in, bias, n, width); });
    return 0;
}
