// y = A x for a dense matrix of 128 columns, and for a sparse matrix whose rows are compressed.
#include "../harness.h"

#include <algorithm>

__global__ void k43a(const float *a, const float *x, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m) {
        float sum = 0.0f;
        for (int col = 0; col < n; col++)
            sum += a[row * n + col] * x[col];
        y[row] = sum;
    }
}

template <int LANES> __device__ __forceinline__ float over_lanes(float sum)
{
    if (LANES >= 32)
        sum += __shfl_down_sync(0xffffffffu, sum, 16);
    if (LANES >= 16)
        sum += __shfl_down_sync(0xffffffffu, sum, 8);
    if (LANES >= 8)
        sum += __shfl_down_sync(0xffffffffu, sum, 4);
    if (LANES >= 4)
        sum += __shfl_down_sync(0xffffffffu, sum, 2);
    if (LANES >= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, 1);
    return sum;
}

__global__ void k43b(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int m, int n)
{
    int lane = threadIdx.x % 32;
    int row = blockDim.y * blockIdx.x + threadIdx.y;
    if (row < m) {
        float sum = 0.0f;
        int trips = n / 32;
#pragma unroll
        for (int i = 0; i < trips; i++) {
            int col = i * 32 + lane;
            sum += a[row * n + col] * x[col];
        }
        sum = over_lanes<32>(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

__global__ void k43c(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int m, int n)
{
    int lane = threadIdx.x % 32;
    int row = blockDim.y * blockIdx.x + threadIdx.y;
    if (row < m) {
        float sum = 0.0f;
        int trips = n / 32 / 4;
        const float4 *line = reinterpret_cast<const float4 *>(&a[row * n]);
        const float4 *with = reinterpret_cast<const float4 *>(x);
#pragma unroll
        for (int i = 0; i < trips; i++) {
            float4 u = line[i * 32 + lane];
            float4 v = with[i * 32 + lane];
            sum += u.x * v.x;
            sum += u.y * v.y;
            sum += u.z * v.z;
            sum += u.w * v.w;
        }
        sum = over_lanes<32>(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

__global__ void k43d(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        int end = start[row + 1];
        for (int i = start[row]; i < end; i++)
            sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}

// The number of rows is a multiple of that of the vectors of the grid.
template <int VECTORS, int LANES>
__device__ void row_by_vector(int rows, const int *start, const int *column, const float *value, const float *x,
                              float *y)
{
    __shared__ volatile float part[VECTORS * LANES + LANES / 2];
    __shared__ volatile int ends[VECTORS][2];

    const int t = threadIdx.x;
    const int lane = t & (LANES - 1);
    const int mine = t / LANES;
    const int vectors = VECTORS * gridDim.x;

    for (int row = (VECTORS * LANES * blockIdx.x + t) / LANES; row < rows; row += vectors) {
        if (lane < 2)
            ends[mine][lane] = start[row + lane];
        __syncwarp();
        const int begin = ends[mine][0];
        const int end = ends[mine][1];

        float sum = 0.0f;
        if (LANES == 32 && end - begin > 32) {
            int i = begin - (begin & (LANES - 1)) + lane;
            if (i >= begin && i < end)
                sum += value[i] * x[column[i]];
            for (i += LANES; i < end; i += LANES)
                sum += value[i] * x[column[i]];
        } else {
            for (int i = begin + lane; i < end; i += LANES)
                sum += value[i] * x[column[i]];
        }

        part[t] = sum;
        __syncwarp();
        if (LANES > 16) {
            sum += part[t + 16];
            __syncwarp();
            part[t] = sum;
            __syncwarp();
        }
        if (LANES > 8) {
            sum += part[t + 8];
            __syncwarp();
            part[t] = sum;
            __syncwarp();
        }
        if (LANES > 4) {
            sum += part[t + 4];
            __syncwarp();
            part[t] = sum;
            __syncwarp();
        }
        if (LANES > 2) {
            sum += part[t + 2];
            __syncwarp();
            part[t] = sum;
            __syncwarp();
        }
        if (LANES > 1) {
            sum += part[t + 1];
            __syncwarp();
            part[t] = sum;
            __syncwarp();
        }
        if (lane == 0)
            y[row] = part[t];
    }
}

__global__ void k43e(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    row_by_vector<4, 32>(rows, start, column, value, x, y);
}

__global__ void k43f(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    row_by_vector<16, 8>(rows, start, column, value, x, y);
}

__global__ void k43g(int rows, const int *start, const int *column, const float *value, const float *x, float *y)
{
    const int LANES = 8;
    int lane = threadIdx.x & (LANES - 1);
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    if (row < rows) {
        int begin = start[row];
        int end = start[row + 1];
        float sum = 0.0f;
        for (int i = begin + lane; i < end; i += LANES)
            sum += value[i] * x[column[i]];
        sum = over_lanes<LANES>(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

int main()
{
    {
        const int m = 262144, n = 128;
        float *a = input<float>((size_t)m * n, 431, -1.0, 1.0), *x = input<float>(n, 432, -1.0, 1.0);
        std::vector<float> want(m);
        {
            std::vector<float> ha = on_host(a, (size_t)m * n), hx = on_host(x, n);
            for (int r = 0; r < m; r++) {
                double sum = 0.0;
                for (int j = 0; j < n; j++)
                    sum += double(ha[(size_t)r * n + j]) * hx[j];
                want[r] = float(sum);
            }
        }
        float *y = output<float>(m);
        k43a<<<m / 256, 256>>>(a, x, y, m, n);
        check("k43a", y, want, 2e-5);

        y = output<float>(m);
        k43b<<<m / 4, dim3(32, 4)>>>(a, x, y, m, n);
        check("k43b", y, want, 2e-5);

        y = output<float>(m);
        k43c<<<m / 4, dim3(32, 4)>>>(a, x, y, m, n);
        check("k43c", y, want, 2e-5);
    }

    // 8 to 40 numbers in a row, all in a band around the diagonal.
    const int rows = 1024 * 1024;
    std::vector<int> first(rows + 1, 0);
    for (int r = 0; r < rows; r++)
        first[r + 1] = first[r] + 8 + int(scrambled(r, 433) % 33);
    const int count = first[rows];
    std::vector<int> columns(count);
    for (int r = 0; r < rows; r++) {
        int col = std::min(std::max(r - 400, 0), rows - 1400);
        for (int i = first[r]; i < first[r + 1]; i++) {
            columns[i] = col;
            col += 1 + int(scrambled(i, 434) % 34);
        }
    }
    int *start = on_device(first), *column = on_device(columns);
    float *value = input<float>(count, 435, -1.0, 1.0), *x = input<float>(rows, 436, -1.0, 1.0);
    std::vector<float> want(rows);
    {
        std::vector<float> hv = on_host(value, count), hx = on_host(x, rows);
        for (int r = 0; r < rows; r++) {
            double sum = 0.0;
            for (int i = first[r]; i < first[r + 1]; i++)
                sum += double(hv[i]) * hx[columns[i]];
            want[r] = float(sum);
        }
    }
    float *y = output<float>(rows);
    k43d<<<rows / 256, 256>>>(rows, start, column, value, x, y);
    check("k43d", y, want, 1e-5);

    y = output<float>(rows);
    k43e<<<std::min(rows / 4, 16 * 1024), 128>>>(rows, start, column, value, x, y);
    check("k43e", y, want, 1e-5);

    y = output<float>(rows);
    k43f<<<std::min(rows / 16, 16 * 1024), 128>>>(rows, start, column, value, x, y);
    check("k43f", y, want, 1e-5);

    y = output<float>(rows);
    k43g<<<rows / 16, 128>>>(rows, start, column, value, x, y);
    check("k43g", y, want, 1e-5);
    return 0;
}
