// Float matrix products of uncommon shapes: a tall matrix times a small one, C = A B with A of 480000 x 40 and B of
// 40 x 32; and the Gram matrix G = X' X of 100000 samples with 128 features.
#include "../harness.h"

__global__ void k23a(const float *A, const float *B, float *C, int M, int N, int K)
{
    int col = threadIdx.x;
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= M || col >= N)
        return;
    float acc = 0.0f;
    for (int k = 0; k < K; k++)
        acc += A[(size_t)row * K + k] * B[k * N + col];
    C[(size_t)row * N + col] = acc;
}

// 8 x 16 threads compute 64 rows of 32 columns; M is a multiple of 64.
__global__ void k23b(const float *A, const float *B, float *C, int K)
{
    const int N = 32;
    int row = blockIdx.x * 64 + threadIdx.y * 4;
    float acc[4][4] = {};
    for (int k = 0; k < K; k++) {
        float a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            a[i] = A[(size_t)(row + i) * K + k];
            b[i] = B[k * N + threadIdx.x + 8 * i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                acc[i][j] += a[i] * b[j];
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            C[(size_t)(row + i) * N + threadIdx.x + 8 * j] = acc[i][j];
}

// K is a multiple of 4.
__global__ void k23c(const float *A, const float *B, float *C, int K)
{
    const int N = 32;
    int row = blockIdx.x * 64 + threadIdx.y * 4;
    float acc[4][4] = {};
    for (int k = 0; k < K; k += 4) {
        float4 a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            a[i] = *reinterpret_cast<const float4 *>(A + (size_t)(row + i) * K + k);
            b[i] = *reinterpret_cast<const float4 *>(B + (k + i) * N + threadIdx.x * 4);
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float ak[4] = {a[i].x, a[i].y, a[i].z, a[i].w};
#pragma unroll
            for (int j = 0; j < 4; j++) {
                acc[i][0] += ak[j] * b[j].x;
                acc[i][1] += ak[j] * b[j].y;
                acc[i][2] += ak[j] * b[j].z;
                acc[i][3] += ak[j] * b[j].w;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        *reinterpret_cast<float4 *>(C + (size_t)(row + i) * N + threadIdx.x * 4) =
            make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

const int F = 128; // features
const int DEPTH = 16;

// 64 x 32 entries of G from the samples first to last - 1, by 16 x 8 threads with 4 x 4 entries each.
__device__ void gram_tile(const float *X, int first, int last, int i0, int j0, float (&acc)[4][4])
{
    __shared__ float4 left[DEPTH][16];
    __shared__ float4 right[DEPTH][8];
    int tid = threadIdx.y * 16 + threadIdx.x;
    for (int s = first; s < last; s += DEPTH) {
        for (int t = tid; t < DEPTH * 16; t += 128) {
            int r = t / 16, c = t % 16;
            left[r][c] = s + r < last ? *reinterpret_cast<const float4 *>(X + (size_t)(s + r) * F + i0 + c * 4)
                                      : make_float4(0, 0, 0, 0);
        }
        int r = tid / 8, c = tid % 8;
        right[r][c] = s + r < last ? *reinterpret_cast<const float4 *>(X + (size_t)(s + r) * F + j0 + c * 4)
                                   : make_float4(0, 0, 0, 0);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float4 u = left[k][threadIdx.x], v = right[k][threadIdx.y];
            float a[4] = {u.x, u.y, u.z, u.w}, b[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
}

__global__ void k23d(const float *X, float *G, int samples)
{
    float acc[4][4] = {};
    int i0 = blockIdx.x * 64, j0 = blockIdx.y * 32;
    gram_tile(X, 0, samples, i0, j0, acc);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            G[(i0 + threadIdx.x * 4 + i) * F + j0 + threadIdx.y * 4 + j] = acc[i][j];
}

__global__ void k23e(const float *X, float *G, int samples, int part)
{
    float acc[4][4] = {};
    int i0 = blockIdx.x * 64, j0 = blockIdx.y * 32;
    int first = blockIdx.z * part;
    gram_tile(X, first, min(first + part, samples), i0, j0, acc);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            atomicAdd(&G[(i0 + threadIdx.x * 4 + i) * F + j0 + threadIdx.y * 4 + j], acc[i][j]);
}

// All 128 x 128 entries of G by 16 x 16 threads with 8 x 8 entries each.
__global__ void __launch_bounds__(256, 2) k23f(const float *X, float *G, int samples, int part)
{
    __shared__ float4 xs[DEPTH][F / 4];
    float acc[8][8] = {};
    int tid = threadIdx.y * 16 + threadIdx.x;
    int first = blockIdx.x * part;
    int last = min(first + part, samples);
    for (int s = first; s < last; s += DEPTH) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            int t = tid + h * 256;
            int r = t / 32, c = t % 32;
            xs[r][c] = s + r < last ? *reinterpret_cast<const float4 *>(X + (size_t)(s + r) * F + c * 4)
                                    : make_float4(0, 0, 0, 0);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float4 a0 = xs[k][threadIdx.y], a1 = xs[k][16 + threadIdx.y];
            float4 b0 = xs[k][threadIdx.x], b1 = xs[k][16 + threadIdx.x];
            float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) {
            int row = (i / 4) * 64 + threadIdx.y * 4 + i % 4;
            int col = (j / 4) * 64 + threadIdx.x * 4 + j % 4;
            atomicAdd(&G[row * F + col], acc[i][j]);
        }
}

int main()
{
    const int M = 480000, N = 32, K = 40;
    float *A = input<float>((size_t)M * K, 231, -1.0, 1.0);
    float *B = input<float>(K * N, 232, -1.0, 1.0);
    float *C = output<float>((size_t)M * N);
    std::vector<float> hB = on_host(B, K * N);
    auto entry = [](size_t i, unsigned seed) { return float(-1.0 + 2.0 * (scrambled(i, seed) / 4294967296.0)); };

    k23a<<<M / 8, dim3(32, 8)>>>(A, B, C, M, N, K);
    std::vector<float> first = on_host(C, (size_t)M * N), got, want;
    for (size_t i = 0; i < (size_t)M * N; i += 1777) {
        double sum = 0.0;
        for (int k = 0; k < K; k++)
            sum += double(entry(i / N * K + k, 231)) * hB[k * N + i % N];
        got.push_back(first[i]);
        want.push_back(float(sum));
    }
    check("k23a", on_device(got), want, 1e-4);

    C = output<float>((size_t)M * N);
    k23b<<<M / 64, dim3(8, 16)>>>(A, B, C, K);
    check("k23b", C, first, 1e-4);

    C = output<float>((size_t)M * N);
    k23c<<<M / 64, dim3(8, 16)>>>(A, B, C, K);
    check("k23c", C, first, 1e-4);

    const int samples = 100000;
    float *X = input<float>((size_t)samples * F, 233, -1.0, 1.0);
    float *G = output<float>(F * F);
    k23d<<<dim3(F / 64, F / 32), dim3(16, 8)>>>(X, G, samples);
    first = on_host(G, F * F);
    got.clear();
    want.clear();
    for (int e = 0; e < 40; e++) {
        int i = e * 37 % F, j = e % 4 == 0 ? i : e * 53 % F;
        double sum = 0.0;
        for (size_t s = 0; s < samples; s++)
            sum += double(entry(s * F + i, 233)) * entry(s * F + j, 233);
        got.push_back(first[i * F + j]);
        want.push_back(float(sum));
    }
    check("k23d", on_device(got), want, 1e-2);

    int part = 1520;
    G = zeroed<float>(F * F);
    k23e<<<dim3(F / 64, F / 32, (samples + part - 1) / part), dim3(16, 8)>>>(X, G, samples, part);
    check("k23e", G, first, 1e-2);

    part = 384;
    G = zeroed<float>(F * F);
    k23f<<<(samples + part - 1) / part, dim3(16, 16)>>>(X, G, samples, part);
    check("k23f", G, first, 1e-2);
    return 0;
}
