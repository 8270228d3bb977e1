// Scaled attention scores S = Q K^T / 8 of 96 heads (1024 positions, depth 64, keys stored transposed), and a vector
// times a matrix of 8-bit weights with a scale for each row.
#include "../harness.h"

#include <mma.h>

const int HEADS = 96, T = 1024, D = 64;
const int ROWS = 28672, COLUMNS = 8192;

// q: (head, t, d), k: (head, d, t), s: (head, t, t).
__global__ void k105a(float *s, const float *q, const float *k, int length, int depth, float scale)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    q += (size_t)blockIdx.z * length * depth;
    k += (size_t)blockIdx.z * length * depth;
    s += (size_t)blockIdx.z * length * length;
    if (row < length && col < length) {
        float sum = 0.0f;
        for (int d = 0; d < depth; d++)
            sum += q[row * depth + d] * k[d * length + col];
        s[row * length + col] = sum * scale;
    }
}

__global__ void k105b(float *s, const float *q, const float *k, int length, int depth, float scale)
{
    __shared__ float qs[32][32], ks[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    q += (size_t)blockIdx.z * length * depth;
    k += (size_t)blockIdx.z * length * depth;
    s += (size_t)blockIdx.z * length * length;
    float sum = 0.0f;
    for (int d0 = 0; d0 < depth; d0 += 32) {
        qs[ty][tx] = q[row * depth + d0 + tx];
        ks[ty][tx] = k[(d0 + ty) * length + col];
        __syncthreads();
#pragma unroll
        for (int d = 0; d < 32; d++)
            sum += qs[ty][d] * ks[d][tx];
        __syncthreads();
    }
    s[row * length + col] = sum * scale;
}

__device__ inline float4 four(const float *p) { return *reinterpret_cast<const float4 *>(p); }

// 128 x 128 scores of a block, 2 x 2 pieces of 4 x 4 for each thread.
__global__ void __launch_bounds__(256, 2)
    k105c(float *__restrict__ s, const float *__restrict__ q, const float *__restrict__ k, int length, int depth,
          float scale)
{
    __shared__ __align__(16) float qs[16][132], ks[16][128];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    int row = warp / 4 * 64 + lane / 4 * 4, col = warp % 4 * 32 + lane % 4 * 4;
    int q_row = tid / 4, q_col = tid % 4 * 4, k_row = tid / 32, k_col = tid % 32 * 4;
    q += (size_t)blockIdx.z * length * depth + blockIdx.y * 128 * depth;
    k += (size_t)blockIdx.z * length * depth + blockIdx.x * 128;
    s += (size_t)blockIdx.z * length * length + blockIdx.y * 128 * length + blockIdx.x * 128;
    float sum[8][8] = {{0.0f}};
    for (int d0 = 0; d0 < depth; d0 += 16) {
        for (int half = 0; half < 2; half++) {
            float4 v = four(&q[(q_row + half * 64) * depth + d0 + q_col]);
            qs[q_col + 0][q_row + half * 64] = v.x;
            qs[q_col + 1][q_row + half * 64] = v.y;
            qs[q_col + 2][q_row + half * 64] = v.z;
            qs[q_col + 3][q_row + half * 64] = v.w;
            *reinterpret_cast<float4 *>(&ks[k_row + half * 8][k_col]) = four(&k[(d0 + k_row + half * 8) * length + k_col]);
        }
        __syncthreads();
#pragma unroll
        for (int d = 0; d < 16; d++) {
            float a[8], b[8];
            *reinterpret_cast<float4 *>(&a[0]) = four(&qs[d][row]);
            *reinterpret_cast<float4 *>(&a[4]) = four(&qs[d][row + 32]);
            *reinterpret_cast<float4 *>(&b[0]) = four(&ks[d][col]);
            *reinterpret_cast<float4 *>(&b[4]) = four(&ks[d][col + 16]);
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float *dst = &s[(row + i % 4 + i / 4 * 32) * length + col];
        *reinterpret_cast<float4 *>(dst) =
            make_float4(sum[i][0] * scale, sum[i][1] * scale, sum[i][2] * scale, sum[i][3] * scale);
        *reinterpret_cast<float4 *>(dst + 16) =
            make_float4(sum[i][4] * scale, sum[i][5] * scale, sum[i][6] * scale, sum[i][7] * scale);
    }
}

// 64 x 128 scores of a block, 32 x 32 for each warp; queries and keys in half precision.
__global__ void __launch_bounds__(256, 3)
    k105d(float *__restrict__ s, const __half *__restrict__ q, const __half *__restrict__ k, int length, float scale)
{
    using namespace nvcuda;
    const int Q_PITCH = D + 8, K_PITCH = 128 + 8;
    __shared__ __align__(32) __half qs[64 * Q_PITCH], ks[D * K_PITCH];
    int tid = threadIdx.x, warp = tid / 32;
    q += (size_t)blockIdx.z * length * D + blockIdx.y * 64 * D;
    k += (size_t)blockIdx.z * length * D + blockIdx.x * 128;
    s += (size_t)blockIdx.z * length * length + blockIdx.y * 64 * length + blockIdx.x * 128;
#pragma unroll
    for (int i = tid; i < 64 * D / 8; i += 256)
        *reinterpret_cast<uint4 *>(&qs[i / 8 * Q_PITCH + i % 8 * 8]) =
            *reinterpret_cast<const uint4 *>(&q[i / 8 * D + i % 8 * 8]);
#pragma unroll
    for (int i = tid; i < D * 128 / 8; i += 256)
        *reinterpret_cast<uint4 *>(&ks[i / 16 * K_PITCH + i % 16 * 8]) =
            *reinterpret_cast<const uint4 *>(&k[i / 16 * length + i % 16 * 8]);
    __syncthreads();

    int row = warp / 4 * 32, col = warp % 4 * 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
#pragma unroll
    for (int i = 0; i < 4; i++)
        wmma::fill_fragment(sum[i / 2][i % 2], 0.0f);
#pragma unroll
    for (int d = 0; d < D; d += 16) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[2];
        wmma::load_matrix_sync(b[0], &ks[d * K_PITCH + col], K_PITCH);
        wmma::load_matrix_sync(b[1], &ks[d * K_PITCH + col + 16], K_PITCH);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            wmma::load_matrix_sync(a, &qs[(row + i * 16) * Q_PITCH + d], Q_PITCH);
            wmma::mma_sync(sum[i][0], a, b[0], sum[i][0]);
            wmma::mma_sync(sum[i][1], a, b[1], sum[i][1]);
        }
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++) {
#pragma unroll
            for (int e = 0; e < sum[i][j].num_elements; e++)
                sum[i][j].x[e] *= scale;
            wmma::store_matrix_sync(&s[(row + i * 16) * length + col + j * 16], sum[i][j], length, wmma::mem_row_major);
        }
}

// One warp for a row.
__global__ void k105e(float *__restrict__ y, const signed char *__restrict__ weight, const float *__restrict__ scales,
                      const float *__restrict__ x, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const signed char *w = weight + (size_t)row * columns;
    float sum = 0.0f;
    for (int c = lane; c < columns; c += 32)
        sum += float(w[c]) * x[c];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum * scales[row];
}

__device__ inline float four_products(int packed, float4 x)
{
    char4 w = *reinterpret_cast<char4 *>(&packed);
    return float(w.x) * x.x + float(w.y) * x.y + float(w.z) * x.z + float(w.w) * x.w;
}

__global__ void k105f(float *__restrict__ y, const signed char *__restrict__ weight, const float *__restrict__ scales,
                      const float *__restrict__ x, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const int4 *w = reinterpret_cast<const int4 *>(weight + (size_t)row * columns);
    float sum = 0.0f;
#pragma unroll 4
    for (int c = lane; c < columns / 16; c += 32) {
        int4 v = w[c];
        sum += four_products(v.x, four(&x[c * 16])) + four_products(v.y, four(&x[c * 16 + 4])) +
               four_products(v.z, four(&x[c * 16 + 8])) + four_products(v.w, four(&x[c * 16 + 12]));
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum * scales[row];
}

// The vector in 8 bits too: x = step * x8.
__global__ void k105g(float *__restrict__ y, const signed char *__restrict__ weight, const float *__restrict__ scales,
                      const int4 *__restrict__ x8, float step, int rows, int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const int4 *w = reinterpret_cast<const int4 *>(weight + (size_t)row * columns);
    int sum = 0;
#pragma unroll 8
    for (int c = lane; c < columns / 16; c += 32) {
        int4 v = w[c], u = x8[c];
        sum = __dp4a(v.x, u.x, sum);
        sum = __dp4a(v.y, u.y, sum);
        sum = __dp4a(v.z, u.z, sum);
        sum = __dp4a(v.w, u.w, sum);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = float(sum) * (step * scales[row]);
}

__global__ void k105h(float *__restrict__ y, const signed char *__restrict__ weight, const float *__restrict__ scales,
                      const int4 *__restrict__ x8, float step, int rows, int columns)
{
    __shared__ int4 xs[COLUMNS / 16];
    for (int c = threadIdx.x; c < columns / 16; c += blockDim.x)
        xs[c] = x8[c];
    __syncthreads();
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const int4 *w = reinterpret_cast<const int4 *>(weight + (size_t)row * columns);
    int sum = 0;
#pragma unroll 8
    for (int c = lane; c < columns / 16; c += 32) {
        int4 v = w[c], u = xs[c];
        sum = __dp4a(v.x, u.x, sum);
        sum = __dp4a(v.y, u.y, sum);
        sum = __dp4a(v.z, u.z, sum);
        sum = __dp4a(v.w, u.w, sum);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = float(sum) * (step * scales[row]);
}

__global__ void fill_widened(float *dst, const __half *src, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        dst[i] = __half2float(src[i]);
}

// Rows 0, every, 2 * every, ... of a matrix.
template <class N> __global__ void fill_picked(N *dst, const N *src, size_t width, size_t every, size_t total)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x)
        dst[i] = src[i / width * every * width + i % width];
}

int main()
{
    const size_t n = (size_t)HEADS * T * D, scores = (size_t)HEADS * T * T;
    __half *q16 = input<__half>(n, 1051, -1.0, 1.0), *k16 = input<__half>(n, 1052, -1.0, 1.0);
    float *q = output<float>(n), *k = output<float>(n), *s = output<float>(scores);
    fill_widened<<<264, 256>>>(q, q16, n);
    fill_widened<<<264, 256>>>(k, k16, n);
    std::vector<float> hq = on_host(q, n), hk = on_host(k, n);
    // Every 101st row of all heads.
    const int every = 101, chosen = (HEADS * T - 1) / every + 1;
    const size_t sampled = (size_t)chosen * T;
    std::vector<float> want(sampled);
    for (int i = 0; i < chosen; i++) {
        size_t row = (size_t)i * every, head = row / T;
        float *line = &want[(size_t)i * T];
        for (int c = 0; c < T; c++)
            line[c] = 0.0f;
        for (int d = 0; d < D; d++)
            for (int c = 0; c < T; c++)
                line[c] += hq[row * D + d] * hk[(head * D + d) * T + c];
        for (int c = 0; c < T; c++)
            line[c] *= 0.125f;
    }
    float *picked = output<float>(sampled);
    auto attention = [&](const char *name, auto launch) {
        MUST(cudaMemset(s, 0xA5, scores * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_picked<<<264, 256>>>(picked, s, T, every, sampled);
        check(name, picked, want, 2e-5);
    };
    attention("k105a", [&] { k105a<<<dim3(T / 32, T / 8, HEADS), dim3(32, 8)>>>(s, q, k, T, D, 0.125f); });
    attention("k105b", [&] { k105b<<<dim3(T / 32, T / 32, HEADS), dim3(32, 32)>>>(s, q, k, T, D, 0.125f); });
    attention("k105c", [&] { k105c<<<dim3(T / 128, T / 128, HEADS), 256>>>(s, q, k, T, D, 0.125f); });
    attention("k105d", [&] { k105d<<<dim3(T / 128, T / 64, HEADS), 256>>>(s, q16, k16, T, 0.125f); });

    signed char *weight = input<signed char>((size_t)ROWS * COLUMNS, 1053, -127.0, 128.0);
    float *scales = input<float>(ROWS, 1054, 0.0005, 0.002), *y = output<float>(ROWS);
    const float step = 1.0f / 64;
    std::vector<signed char> hx8(COLUMNS);
    std::vector<float> hx(COLUMNS);
    for (int c = 0; c < COLUMNS; c++) {
        hx8[c] = (signed char)((int)(scrambled(c, 1055) % 255) - 127);
        hx[c] = hx8[c] * step;
    }
    float *x = on_device(hx);
    const int4 *x8 = reinterpret_cast<const int4 *>(on_device(hx8));
    const int skip = 89, taken = (ROWS - 1) / skip + 1;
    const size_t some = (size_t)taken * COLUMNS;
    signed char *lines = output<signed char>(some);
    fill_picked<<<264, 256>>>(lines, weight, COLUMNS, skip, some);
    std::vector<signed char> hw = on_host(lines, some);
    std::vector<float> hs = on_host(scales, ROWS), sums(taken);
    for (int i = 0; i < taken; i++) {
        long long sum = 0;
        for (int c = 0; c < COLUMNS; c++)
            sum += int(hw[(size_t)i * COLUMNS + c]) * int(hx8[c]);
        sums[i] = float(double(sum) * step * hs[(size_t)i * skip]);
    }
    auto product = [&](const char *name, auto launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_picked<<<1, 256>>>(picked, y, 1, skip, taken);
        check(name, picked, sums, 1e-5);
    };
    product("k105e", [&] { k105e<<<ROWS / 8, 256>>>(y, weight, scales, x, ROWS, COLUMNS); });
    product("k105f", [&] { k105f<<<ROWS / 8, 256>>>(y, weight, scales, x, ROWS, COLUMNS); });
    product("k105g", [&] { k105g<<<ROWS / 8, 256>>>(y, weight, scales, x8, step, ROWS, COLUMNS); });
    product("k105h", [&] { k105h<<<ROWS / 8, 256>>>(y, weight, scales, x8, step, ROWS, COLUMNS); });
    return 0;
}
