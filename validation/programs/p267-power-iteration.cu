// Largest eigenvalue of many positive 32 x 32 matrices by power iteration.
#include "../harness.h"

constexpr int MATRICES = 40960, N = 32, STEPS = 24;

__global__ void k267a(const float *matrices, float *eigenvalue)
{
    __shared__ float part[N][N + 1], x[N], y[N];
    int row = threadIdx.x / N, column = threadIdx.x % N;
    float a = matrices[size_t(blockIdx.x) * N * N + threadIdx.x], norm = 0.0f;
    if (row == 0)
        x[column] = rsqrtf(float(N));
    __syncthreads();
    for (int step = 0; step < STEPS; step++) {
        part[row][column] = a * x[column];
        __syncthreads();
        for (int s = N / 2; s > 0; s >>= 1) {
            if (column < s)
                part[row][column] += part[row][column + s];
            __syncthreads();
        }
        if (row == 0) {
            y[column] = part[column][0];
            part[0][column] = part[column][0] * part[column][0];
        }
        __syncthreads();
        for (int s = N / 2; s > 0; s >>= 1) {
            if (row == 0 && column < s)
                part[0][column] += part[0][column + s];
            __syncthreads();
        }
        norm = sqrtf(part[0][0]);
        if (row == 0)
            x[column] = y[column] / norm;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        eigenvalue[blockIdx.x] = norm;
}

__device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int s = 16; s > 0; s >>= 1)
        v += __shfl_xor_sync(0xFFFFFFFF, v, s);
    return v;
}

__global__ void k267b(const float *matrices, float *eigenvalue)
{
    __shared__ float y[N];
    int row = threadIdx.x / N, column = threadIdx.x % N;
    float a = matrices[size_t(blockIdx.x) * N * N + threadIdx.x], norm = 0.0f;
    float x = rsqrtf(float(N));
    for (int step = 0; step < STEPS; step++) {
        float sum = warp_sum(a * x);
        if (column == 0)
            y[row] = sum;
        __syncthreads();
        float mine = y[column];
        norm = sqrtf(warp_sum(mine * mine));
        x = mine / norm;
        __syncthreads();
    }
    if (threadIdx.x == 0)
        eigenvalue[blockIdx.x] = norm;
}

// a warp for each matrix, a row for each lane
__global__ void k267c(const float *matrices, float *eigenvalue)
{
    int matrix = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *from = reinterpret_cast<const float4 *>(matrices + size_t(matrix) * N * N + lane * N);
    float a[N], x = rsqrtf(float(N)), norm = 0.0f;
#pragma unroll
    for (int j = 0; j < N; j += 4) {
        float4 four = from[j / 4];
        a[j] = four.x;
        a[j + 1] = four.y;
        a[j + 2] = four.z;
        a[j + 3] = four.w;
    }
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
        float sum[4] = {};
#pragma unroll
        for (int j = 0; j < N; j++)
            sum[j % 4] += a[j] * __shfl_sync(0xFFFFFFFF, x, j);
        float y = (sum[0] + sum[1]) + (sum[2] + sum[3]);
        norm = sqrtf(warp_sum(y * y));
        x = y / norm;
    }
    if (lane == 0)
        eigenvalue[matrix] = norm;
}

// a warp for each matrix, 4 rows and 8 columns for each lane
struct Part {
    float a[4][8];

    __device__ __forceinline__ void load(const float *matrix, int lane)
    {
        int rows = lane / 4 * 4, columns = lane % 4 * 4;
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                float4 four = *reinterpret_cast<const float4 *>(matrix + (rows + i) * N + h * 16 + columns);
                a[i][h * 4] = four.x;
                a[i][h * 4 + 1] = four.y;
                a[i][h * 4 + 2] = four.z;
                a[i][h * 4 + 3] = four.w;
            }
    }

    // element `lane` of the matrix times the vector
    __device__ __forceinline__ float times(const float *vector, int lane) const
    {
        float x[8], y[4];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 four = *reinterpret_cast<const float4 *>(vector + h * 16 + lane % 4 * 4);
            x[h * 4] = four.x;
            x[h * 4 + 1] = four.y;
            x[h * 4 + 2] = four.z;
            x[h * 4 + 3] = four.w;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            y[i] = a[i][0] * x[0];
#pragma unroll
            for (int j = 1; j < 8; j++)
                y[i] += a[i][j] * x[j];
        }
        bool upper = lane & 2, odd = lane & 1;
        float p = (upper ? y[2] : y[0]) + __shfl_xor_sync(0xFFFFFFFF, upper ? y[0] : y[2], 2);
        float q = (upper ? y[3] : y[1]) + __shfl_xor_sync(0xFFFFFFFF, upper ? y[1] : y[3], 2);
        return (odd ? q : p) + __shfl_xor_sync(0xFFFFFFFF, odd ? p : q, 1);
    }
};

__global__ void __launch_bounds__(128) k267d(const float *matrices, float *eigenvalue)
{
    __shared__ __align__(16) float vectors[4][2][N];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, matrix = blockIdx.x * 4 + warp;
    Part part;
    part.load(matrices + size_t(matrix) * N * N, lane);
    float norm = 0.0f;
    vectors[warp][0][lane] = rsqrtf(float(N));
    __syncwarp();
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
        float y = part.times(vectors[warp][step & 1], lane);
        norm = sqrtf(warp_sum(y * y));
        vectors[warp][~step & 1][lane] = y / norm;
        __syncwarp();
    }
    if (lane == 0)
        eigenvalue[matrix] = norm;
}

template <bool FAST> __device__ __forceinline__ void seldom_scaled(const float *matrices, float *eigenvalue)
{
    __shared__ __align__(16) float vectors[4][2][N];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, matrix = blockIdx.x * 4 + warp;
    Part part;
    part.load(matrices + size_t(matrix) * N * N, lane);
    vectors[warp][0][lane] = rsqrtf(float(N));
    __syncwarp();
    float y = 0.0f;
#pragma unroll 1
    for (int step = 0; step < STEPS; step++) {
        y = part.times(vectors[warp][step & 1], lane);
        float scaled = y;
        if (step % 4 == 2) {
            float square = warp_sum(y * y);
            scaled = FAST ? y * rsqrtf(square) : y / sqrtf(square);
        }
        vectors[warp][~step & 1][lane] = scaled;
        __syncwarp();
    }
    float norm = sqrtf(warp_sum(y * y));
    if (lane == 0)
        eigenvalue[matrix] = norm;
}

__global__ void __launch_bounds__(128) k267e(const float *matrices, float *eigenvalue)
{
    seldom_scaled<false>(matrices, eigenvalue);
}

__global__ void __launch_bounds__(128) k267f(const float *matrices, float *eigenvalue)
{
    seldom_scaled<true>(matrices, eigenvalue);
}

int main()
{
    float *matrices = input<float>(size_t(MATRICES) * N * N, 1, 0, 1);
    float *first = output<float>(MATRICES), *other = output<float>(MATRICES);

    const int samples = 256;
    std::vector<float> a = on_host(matrices, samples * N * N), sample(samples);
    for (int m = 0; m < samples; m++) {
        std::vector<double> x(N, std::sqrt(1.0 / N)), y(N);
        double norm = 0;
        for (int step = 0; step < STEPS; step++) {
            norm = 0;
            for (int i = 0; i < N; i++) {
                y[i] = 0;
                for (int j = 0; j < N; j++)
                    y[i] += a[(m * N + i) * N + j] * x[j];
                norm += y[i] * y[i];
            }
            norm = std::sqrt(norm);
            for (int i = 0; i < N; i++)
                x[i] = y[i] / norm;
        }
        sample[m] = float(norm);
    }

    k267a<<<MATRICES, N * N>>>(matrices, first);
    check("k267a, samples", first, sample, 1e-4);
    std::vector<float> want = on_host(first, MATRICES);
    check("k267a", first, want, 1e-4);
    k267b<<<MATRICES, N * N>>>(matrices, other);
    check("k267b", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, MATRICES * sizeof(float)));
    k267c<<<MATRICES / 4, 128>>>(matrices, other);
    check("k267c", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, MATRICES * sizeof(float)));
    k267d<<<MATRICES / 4, 128>>>(matrices, other);
    check("k267d", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, MATRICES * sizeof(float)));
    k267e<<<MATRICES / 4, 128>>>(matrices, other);
    check("k267e", other, want, 1e-4);
    MUST(cudaMemset(other, 0xA5, MATRICES * sizeof(float)));
    k267f<<<MATRICES / 4, 128>>>(matrices, other);
    check("k267f", other, want, 1e-4);
}
