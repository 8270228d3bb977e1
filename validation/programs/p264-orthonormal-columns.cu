// Orthonormal columns of many 64 x 16 matrices (stored by columns): modified Gram-Schmidt.
#include "../harness.h"

constexpr int MATRICES = 49152, ROWS = 64, COLUMNS = 16;

__device__ __forceinline__ double tree_dot(float x, float y, double *part)
{
    int t = threadIdx.x;
    part[t] = double(x) * double(y);
    __syncthreads();
    for (int s = ROWS / 2; s > 0; s >>= 1) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    double dot = part[0];
    __syncthreads();
    return dot;
}

__global__ void k264a(const float *a, float *q)
{
    __shared__ double part[ROWS];
    const float *from = a + size_t(blockIdx.x) * ROWS * COLUMNS + threadIdx.x;
    float *to = q + size_t(blockIdx.x) * ROWS * COLUMNS + threadIdx.x;
    float v[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        v[j] = from[j * ROWS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        v[j] *= 1.0f / sqrtf(float(tree_dot(v[j], v[j], part)));
#pragma unroll
        for (int k = j + 1; k < COLUMNS; k++)
            v[k] -= float(tree_dot(v[j], v[k], part)) * v[j];
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        to[j * ROWS] = v[j];
}

__device__ __forceinline__ double shuffle_dot(float x, float y, double *part)
{
    double sum = double(x) * double(y);
#pragma unroll
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, s);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    double dot = part[0] + part[1];
    __syncthreads();
    return dot;
}

__global__ void k264b(const float *a, float *q)
{
    __shared__ double part[2];
    const float *from = a + size_t(blockIdx.x) * ROWS * COLUMNS + threadIdx.x;
    float *to = q + size_t(blockIdx.x) * ROWS * COLUMNS + threadIdx.x;
    float v[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        v[j] = from[j * ROWS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        v[j] *= 1.0f / sqrtf(float(shuffle_dot(v[j], v[j], part)));
#pragma unroll
        for (int k = j + 1; k < COLUMNS; k++)
            v[k] -= float(shuffle_dot(v[j], v[k], part)) * v[j];
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        to[j * ROWS] = v[j];
}

// a warp for each matrix, two rows for each lane
template <class Sum> __device__ __forceinline__ Sum warp_dot(float2 x, float2 y)
{
    Sum sum = Sum(x.x) * Sum(y.x) + Sum(x.y) * Sum(y.y);
#pragma unroll
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, s);
    return sum;
}

template <class Sum> __device__ __forceinline__ void warp_columns(const float *a, float *q)
{
    int matrix = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float *from = a + size_t(matrix) * ROWS * COLUMNS + lane;
    float *to = q + size_t(matrix) * ROWS * COLUMNS + lane;
    float2 v[COLUMNS];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
        v[j] = make_float2(from[j * ROWS], from[j * ROWS + 32]);
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        float scale = 1.0f / sqrtf(float(warp_dot<Sum>(v[j], v[j])));
        v[j].x *= scale;
        v[j].y *= scale;
#pragma unroll
        for (int k = j + 1; k < COLUMNS; k++) {
            float r = float(warp_dot<Sum>(v[j], v[k]));
            v[k].x -= r * v[j].x;
            v[k].y -= r * v[j].y;
        }
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        to[j * ROWS] = v[j].x;
        to[j * ROWS + 32] = v[j].y;
    }
}

__global__ void k264c(const float *a, float *q) { warp_columns<double>(a, q); }

__global__ void k264d(const float *a, float *q) { warp_columns<float>(a, q); }

// eight lanes for each matrix, eight rows for each lane
__device__ __forceinline__ float group_dot(const float (&x)[8], const float (&y)[8])
{
    float even = x[0] * y[0], odd = x[1] * y[1];
#pragma unroll
    for (int i = 2; i < 8; i += 2) {
        even += x[i] * y[i];
        odd += x[i + 1] * y[i + 1];
    }
    float sum = even + odd;
#pragma unroll
    for (int s = 4; s > 0; s >>= 1)
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, s);
    return sum;
}

template <bool FAST> __device__ __forceinline__ void group_columns(const float *a, float *q)
{
    int matrix = blockIdx.x * (blockDim.x / 8) + threadIdx.x / 8, lane = threadIdx.x % 8;
    const float4 *from = reinterpret_cast<const float4 *>(a + size_t(matrix) * ROWS * COLUMNS) + lane;
    float4 *to = reinterpret_cast<float4 *>(q + size_t(matrix) * ROWS * COLUMNS) + lane;
    float v[COLUMNS][8];
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 four = from[j * (ROWS / 4) + h * 8];
            v[j][h * 4] = four.x;
            v[j][h * 4 + 1] = four.y;
            v[j][h * 4 + 2] = four.z;
            v[j][h * 4 + 3] = four.w;
        }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++) {
        float square = group_dot(v[j], v[j]);
        float scale = FAST ? rsqrtf(square) : 1.0f / sqrtf(square);
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[j][i] *= scale;
#pragma unroll
        for (int k = j + 1; k < COLUMNS; k++) {
            float r = group_dot(v[j], v[k]);
#pragma unroll
            for (int i = 0; i < 8; i++)
                v[k][i] -= r * v[j][i];
        }
    }
#pragma unroll
    for (int j = 0; j < COLUMNS; j++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            to[j * (ROWS / 4) + h * 8] =
                make_float4(v[j][h * 4], v[j][h * 4 + 1], v[j][h * 4 + 2], v[j][h * 4 + 3]);
}

__global__ void __launch_bounds__(128) k264e(const float *a, float *q) { group_columns<false>(a, q); }

__global__ void __launch_bounds__(128) k264f(const float *a, float *q) { group_columns<true>(a, q); }

int main()
{
    size_t n = size_t(MATRICES) * ROWS * COLUMNS;
    float *a = input<float>(n, 1, -1, 1), *first = output<float>(n), *other = output<float>(n);

    const int samples = 64;
    std::vector<float> part = on_host(a, samples * ROWS * COLUMNS), sample(part.size());
    for (int m = 0; m < samples; m++) {
        std::vector<double> v(part.begin() + m * ROWS * COLUMNS, part.begin() + (m + 1) * ROWS * COLUMNS);
        auto dot = [&](int j, int k) {
            double sum = 0;
            for (int i = 0; i < ROWS; i++)
                sum += v[j * ROWS + i] * v[k * ROWS + i];
            return sum;
        };
        for (int j = 0; j < COLUMNS; j++) {
            double scale = 1 / std::sqrt(dot(j, j));
            for (int i = 0; i < ROWS; i++)
                v[j * ROWS + i] *= scale;
            for (int k = j + 1; k < COLUMNS; k++) {
                double r = dot(j, k);
                for (int i = 0; i < ROWS; i++)
                    v[k * ROWS + i] -= r * v[j * ROWS + i];
            }
        }
        for (int i = 0; i < ROWS * COLUMNS; i++)
            sample[m * ROWS * COLUMNS + i] = float(v[i]);
    }

    k264a<<<MATRICES, 64>>>(a, first);
    check("k264a, samples", first, sample, 1e-4);
    std::vector<float> want = on_host(first, n);
    check("k264a", first, want, 1e-4);
    k264b<<<MATRICES, 64>>>(a, other);
    check("k264b", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k264c<<<MATRICES / 4, 128>>>(a, other);
    check("k264c", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k264d<<<MATRICES / 4, 128>>>(a, other);
    check("k264d", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k264e<<<MATRICES / 16, 128>>>(a, other);
    check("k264e", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, n * sizeof(float)));
    k264f<<<MATRICES / 16, 128>>>(a, other);
    check("k264f", other, want, 1e-4);
}
