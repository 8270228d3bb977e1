// Similarity scores of embeddings: S[m][n] = sum over k of Q[m][k] * D[n][k].
#include "../harness.h"
#include <mma.h>

using namespace nvcuda;

constexpr int DIM = 96;
constexpr int TILE = 16;

__global__ void k19a(const float *q, const float *d, float *s, int n)
{
    __shared__ float qs[TILE][TILE], ds[TILE][TILE + 1];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < DIM; k0 += TILE) {
        qs[ty][tx] = q[row * DIM + k0 + tx];
        ds[ty][tx] = d[(blockIdx.x * TILE + ty) * DIM + k0 + tx];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += qs[ty][k] * ds[tx][k];
        __syncthreads();
    }
    s[(size_t)row * n + col] = sum;
}

__global__ void k19b(const float *q, const float *d, float *s, int n)
{
    __shared__ __align__(16) float qs[TILE][64 + 4], ds[TILE][64 + 4];
    const int tx = threadIdx.x, ty = threadIdx.y, tid = ty * 16 + tx;
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    const int lr = tid / 4, lk = tid % 4 * 4;
    float acc[4][4] = {};
    for (int k0 = 0; k0 < DIM; k0 += TILE) {
        float4 a = *reinterpret_cast<const float4 *>(q + (row0 + lr) * DIM + k0 + lk);
        float4 b = *reinterpret_cast<const float4 *>(d + (col0 + lr) * DIM + k0 + lk);
        qs[lk][lr] = a.x;
        qs[lk + 1][lr] = a.y;
        qs[lk + 2][lr] = a.z;
        qs[lk + 3][lr] = a.w;
        ds[lk][lr] = b.x;
        ds[lk + 1][lr] = b.y;
        ds[lk + 2][lr] = b.z;
        ds[lk + 3][lr] = b.w;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++) {
            float4 u = *reinterpret_cast<const float4 *>(&qs[k][ty * 4]);
            float4 v = *reinterpret_cast<const float4 *>(&ds[k][tx * 4]);
            const float ur[4] = {u.x, u.y, u.z, u.w}, vc[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    acc[i][j] += ur[i] * vc[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        *reinterpret_cast<float4 *>(s + (size_t)(row0 + ty * 4 + i) * n + col0 + tx * 4) =
            make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
}

typedef wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> FragQ;
typedef wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> FragD;
typedef wmma::fragment<wmma::accumulator, 16, 16, 16, float> FragS;

__global__ void k19c(const __half *q, const __half *d, float *s, int n)
{
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * 16, col = (blockIdx.x * 4 + warp) * 16;
    FragQ fq;
    FragD fd;
    FragS fs;
    wmma::fill_fragment(fs, 0.0f);
    for (int k = 0; k < DIM; k += 16) {
        wmma::load_matrix_sync(fq, q + row * DIM + k, DIM);
        wmma::load_matrix_sync(fd, d + col * DIM + k, DIM);
        wmma::mma_sync(fs, fq, fd, fs);
    }
    wmma::store_matrix_sync(s + (size_t)row * n + col, fs, n, wmma::mem_row_major);
}

// A warp makes 32 x 64 scores, a block of four warps 64 x 128.
__global__ void k19d(const __half *q, const __half *d, float *s, int n)
{
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * 64 + warp / 2 * 32, col = blockIdx.x * 128 + warp % 2 * 64;
    FragQ fq[2];
    FragD fd;
    FragS fs[2][4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::fill_fragment(fs[i][j], 0.0f);
#pragma unroll
    for (int k = 0; k < DIM; k += 16) {
        for (int i = 0; i < 2; i++)
            wmma::load_matrix_sync(fq[i], q + (row + i * 16) * DIM + k, DIM);
        for (int j = 0; j < 4; j++) {
            wmma::load_matrix_sync(fd, d + (col + j * 16) * DIM + k, DIM);
            for (int i = 0; i < 2; i++)
                wmma::mma_sync(fs[i][j], fq[i], fd, fs[i][j]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::store_matrix_sync(s + (size_t)(row + i * 16) * n + col + j * 16, fs[i][j], n, wmma::mem_row_major);
}

__global__ void k19e(const __half *q, const __half *d, float *s, int n)
{
    constexpr int LD = DIM + 8;
    __shared__ __align__(128) __half qs[64 * LD], ds[128 * LD];
    const int warp = threadIdx.x / 32;
    const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 128;
    for (int i = threadIdx.x; i < 64 * (DIM / 8); i += 128) {
        int r = i / (DIM / 8), c = i % (DIM / 8) * 8;
        *reinterpret_cast<int4 *>(qs + r * LD + c) = *reinterpret_cast<const int4 *>(q + (row0 + r) * DIM + c);
    }
    for (int i = threadIdx.x; i < 128 * (DIM / 8); i += 128) {
        int r = i / (DIM / 8), c = i % (DIM / 8) * 8;
        *reinterpret_cast<int4 *>(ds + r * LD + c) = *reinterpret_cast<const int4 *>(d + (col0 + r) * DIM + c);
    }
    __syncthreads();
    const int row = warp / 2 * 32, col = warp % 2 * 64;
    FragQ fq[2];
    FragD fd;
    FragS fs[2][4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::fill_fragment(fs[i][j], 0.0f);
#pragma unroll
    for (int k = 0; k < DIM; k += 16) {
        for (int i = 0; i < 2; i++)
            wmma::load_matrix_sync(fq[i], qs + (row + i * 16) * LD + k, LD);
        for (int j = 0; j < 4; j++) {
            wmma::load_matrix_sync(fd, ds + (col + j * 16) * LD + k, LD);
            for (int i = 0; i < 2; i++)
                wmma::mma_sync(fs[i][j], fq[i], fd, fs[i][j]);
        }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::store_matrix_sync(s + (size_t)(row0 + row + i * 16) * n + col0 + col + j * 16, fs[i][j], n,
                                    wmma::mem_row_major);
}

int main()
{
    const int m = 8192, n = 8192;
    __half *q = input<__half>((size_t)m * DIM, 1, -1.0, 1.0), *d = input<__half>((size_t)n * DIM, 2, -1.0, 1.0);
    std::vector<__half> hq = on_host(q, (size_t)m * DIM), hd = on_host(d, (size_t)n * DIM);
    std::vector<float> q32(hq.size()), d32(hd.size());
    for (size_t i = 0; i < hq.size(); i++)
        q32[i] = __half2float(hq[i]);
    for (size_t i = 0; i < hd.size(); i++)
        d32[i] = __half2float(hd[i]);
    float *qf = on_device(q32), *df = on_device(d32), *s = output<float>((size_t)m * n);

    std::vector<float> sample, got, want;
    for (int r = 0; r < m; r += 517)
        for (int c = 0; c < n; c++) {
            float sum = 0.0f;
            for (int k = 0; k < DIM; k++)
                sum += q32[r * DIM + k] * d32[c * DIM + k];
            sample.push_back(sum);
        }
    k19a<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(qf, df, s, n);
    MUST(cudaGetLastError());
    want = on_host(s, (size_t)m * n);
    for (int r = 0; r < m; r += 517)
        got.insert(got.end(), want.begin() + (size_t)r * n, want.begin() + (size_t)(r + 1) * n);
    check("k19a", on_device(got), sample, 1e-4);

    auto again = [&] { MUST(cudaMemset(s, 0xA5, (size_t)m * n * sizeof(float))); };
    again();
    k19b<<<dim3(n / 64, m / 64), dim3(16, 16)>>>(qf, df, s, n);
    check("k19b", s, want, 1e-4);
    again();
    k19c<<<dim3(n / 64, m / 16), 128>>>(q, d, s, n);
    check("k19c", s, want, 1e-3);
    again();
    k19d<<<dim3(n / 128, m / 64), 128>>>(q, d, s, n);
    check("k19d", s, want, 1e-3);
    again();
    k19e<<<dim3(n / 128, m / 64), 128>>>(q, d, s, n);
    check("k19e", s, want, 1e-3);
    return 0;
}
