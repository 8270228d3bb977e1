// Product of a matrix with a transposed matrix, c = a * b^T: a is m x k and b is n x k, both stored by rows.
#include "../harness.h"

#include <functional>

__global__ void k51a(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int i = 0; i < k; i++)
            sum += a[row * k + i] * b[col * k + i];
        c[row * n + col] = sum;
    }
}

const int TILE = 32;

__global__ void k51b(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;

    float sum = 0.0f;
    for (int phase = 0; phase < (k + TILE - 1) / TILE; phase++) {
        if (row < m && phase * TILE + tx < k)
            as[ty][tx] = a[row * k + phase * TILE + tx];
        else
            as[ty][tx] = 0.0f;
        if (col < n && phase * TILE + ty < k)
            bs[ty][tx] = b[col * k + phase * TILE + ty];
        else
            bs[ty][tx] = 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

template <int WIDTH>
__device__ __forceinline__ void tiled(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    int line = blockIdx.x * TILE + ty;

    float sum = 0.0f;
    for (int phase = 0; phase < (k + TILE - 1) / TILE; phase++) {
        bool inside = phase * TILE + tx < k;
        as[ty][tx] = row < m && inside ? a[row * k + phase * TILE + tx] : 0.0f;
        bs[tx][ty] = line < n && inside ? b[line * k + phase * TILE + tx] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        c[row * n + col] = sum;
}

__global__ void k51c(const float *a, const float *b, float *c, int m, int n, int k)
{
    tiled<TILE>(a, b, c, m, n, k);
}

__global__ void k51d(const float *a, const float *b, float *c, int m, int n, int k)
{
    tiled<TILE + 1>(a, b, c, m, n, k);
}

const int COLUMNS = 4;

__global__ void k51e(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int first = blockIdx.x * TILE * COLUMNS;

    float sum[COLUMNS];
    for (int s = 0; s < COLUMNS; s++)
        sum[s] = 0.0f;

    for (int phase = 0; phase < (k + TILE - 1) / TILE; phase++) {
        bool inside = phase * TILE + tx < k;
        as[ty][tx] = row < m && inside ? a[row * k + phase * TILE + tx] : 0.0f;
        for (int s = 0; s < COLUMNS; s++) {
            int line = first + s * TILE + ty;
            bs[tx][ty] = line < n && inside ? b[line * k + phase * TILE + tx] : 0.0f;
            __syncthreads();
            for (int i = 0; i < TILE; i++)
                sum[s] += as[ty][i] * bs[i][tx];
            __syncthreads();
        }
    }
    for (int s = 0; s < COLUMNS; s++) {
        int col = first + s * TILE + tx;
        if (row < m && col < n)
            c[row * n + col] = sum[s];
    }
}

// m and n are multiples of 64, k of 16.
__global__ void k51f(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int SIDE = 64, DEPTH = 16;
    __shared__ __align__(16) float as[DEPTH][SIDE + 4];
    __shared__ __align__(16) float bs[DEPTH][SIDE + 4];
    int tx = threadIdx.x, ty = threadIdx.y;
    int id = ty * 16 + tx;
    int depth = id % DEPTH, line = id / DEPTH;
    a += (size_t)blockIdx.y * SIDE * k;
    b += (size_t)blockIdx.x * SIDE * k;

    float sum[4][4] = {};
    for (int start = 0; start < k; start += DEPTH) {
        for (int s = 0; s < SIDE; s += 256 / DEPTH) {
            as[depth][line + s] = a[(line + s) * k + start + depth];
            bs[depth][line + s] = b[(line + s) * k + start + depth];
        }
        __syncthreads();
        for (int i = 0; i < DEPTH; i++) {
            float4 u = *reinterpret_cast<float4 *>(&as[i][ty * 4]);
            float4 v = *reinterpret_cast<float4 *>(&bs[i][tx * 4]);
            float left[4] = {u.x, u.y, u.z, u.w}, right[4] = {v.x, v.y, v.z, v.w};
            for (int p = 0; p < 4; p++)
                for (int q = 0; q < 4; q++)
                    sum[p][q] += left[p] * right[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 4; p++) {
        size_t at = (size_t)(blockIdx.y * SIDE + ty * 4 + p) * n + blockIdx.x * SIDE + tx * 4;
        *reinterpret_cast<float4 *>(&c[at]) = make_float4(sum[p][0], sum[p][1], sum[p][2], sum[p][3]);
    }
}

// m and n are multiples of 128, k of 8.
__global__ void k51g(const float *a, const float *b, float *c, int m, int n, int k)
{
    const int SIDE = 128, DEPTH = 8;
    __shared__ __align__(16) float as[DEPTH][SIDE + 4];
    __shared__ __align__(16) float bs[DEPTH][SIDE + 4];
    int tx = threadIdx.x, ty = threadIdx.y;
    int id = ty * 16 + tx;
    int depth = id % DEPTH, line = id / DEPTH;
    a += (size_t)blockIdx.y * SIDE * k;
    b += (size_t)blockIdx.x * SIDE * k;

    float sum[8][8] = {};
    for (int start = 0; start < k; start += DEPTH) {
        for (int s = 0; s < SIDE; s += 256 / DEPTH) {
            as[depth][line + s] = a[(line + s) * k + start + depth];
            bs[depth][line + s] = b[(line + s) * k + start + depth];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            float left[8], right[8];
            for (int h = 0; h < 2; h++) {
                float4 u = *reinterpret_cast<float4 *>(&as[i][h * 64 + ty * 4]);
                float4 v = *reinterpret_cast<float4 *>(&bs[i][h * 64 + tx * 4]);
                left[h * 4] = u.x, left[h * 4 + 1] = u.y, left[h * 4 + 2] = u.z, left[h * 4 + 3] = u.w;
                right[h * 4] = v.x, right[h * 4 + 1] = v.y, right[h * 4 + 2] = v.z, right[h * 4 + 3] = v.w;
            }
            for (int p = 0; p < 8; p++)
                for (int q = 0; q < 8; q++)
                    sum[p][q] += left[p] * right[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 8; p++) {
        int row = blockIdx.y * SIDE + p / 4 * 64 + ty * 4 + p % 4;
        for (int h = 0; h < 2; h++) {
            size_t at = (size_t)row * n + blockIdx.x * SIDE + h * 64 + tx * 4;
            *reinterpret_cast<float4 *>(&c[at]) =
                make_float4(sum[p][h * 4], sum[p][h * 4 + 1], sum[p][h * 4 + 2], sum[p][h * 4 + 3]);
        }
    }
}

int main()
{
    const int m = 2048, n = 2048, k = 256;
    float *a = input<float>((size_t)m * k, 511, -1.0, 1.0), *b = input<float>((size_t)n * k, 512, -1.0, 1.0);
    float *c = output<float>((size_t)m * n);
    std::vector<float> want;

    auto launch_and_check = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(c, 0xA5, (size_t)m * n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (want.empty()) {
            // Some rows come from the host, the others from the first launch.
            want = on_host(c, (size_t)m * n);
            std::vector<float> ha = on_host(a, (size_t)m * k), hb = on_host(b, (size_t)n * k);
            for (int row : {0, 1, 63, 777, 1024, m - 1})
                for (int col = 0; col < n; col++) {
                    double sum = 0.0;
                    for (int i = 0; i < k; i++)
                        sum += double(ha[(size_t)row * k + i]) * hb[(size_t)col * k + i];
                    want[(size_t)row * n + col] = float(sum);
                }
        }
        check(name, c, want, 1e-4);
    };

    dim3 square(TILE, TILE), grid(n / TILE, m / TILE), wide(n / (TILE * COLUMNS), m / TILE), threads(16, 16);
    launch_and_check("k51a", [&] { k51a<<<grid, square>>>(a, b, c, m, n, k); });
    launch_and_check("k51b", [&] { k51b<<<grid, square>>>(a, b, c, m, n, k); });
    launch_and_check("k51c", [&] { k51c<<<grid, square>>>(a, b, c, m, n, k); });
    launch_and_check("k51d", [&] { k51d<<<grid, square>>>(a, b, c, m, n, k); });
    launch_and_check("k51e", [&] { k51e<<<wide, square>>>(a, b, c, m, n, k); });
    launch_and_check("k51f", [&] { k51f<<<dim3(n / 64, m / 64), threads>>>(a, b, c, m, n, k); });
    launch_and_check("k51g", [&] { k51g<<<dim3(n / 128, m / 128), threads>>>(a, b, c, m, n, k); });
    return 0;
}
