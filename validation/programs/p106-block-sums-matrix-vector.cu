// Sum of an array of integers in partial sums per block, and the product of a matrix and a vector.
#include "../harness.h"

#include <functional>

const int N = 1 << 26, BLOCK = 256;
const int CHUNK = 8 * BLOCK, GRID = 132 * 8;
const int ROWS = 32768, COLUMNS = 2048;

__global__ void k106a(int *out, const int *in)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    part[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

__global__ void k106b(int *out, const int *in)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    part[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        int index = 2 * s * tid;
        if (index < blockDim.x)
            part[index] += part[index + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

__global__ void k106c(int *out, const int *in)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    part[tid] = in[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

__global__ void k106d(int *out, const int *in)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x * 2 + tid;
    part[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = part[0];
}

// The first warp adds the last 64 numbers.
__device__ inline void finish(int *out, int *part, int tid)
{
    for (int s = BLOCK / 2; s > 32; s /= 2) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        int sum = part[tid] + part[tid + 32];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (tid == 0)
            out[blockIdx.x] = sum;
    }
}

__global__ void k106e(int *out, const int *in)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x * 2 + tid;
    part[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    finish(out, part, tid);
}

__global__ void k106f(int *out, const int *__restrict__ in, int n)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    int sum = 0;
    for (int base = blockIdx.x * CHUNK; base < n; base += gridDim.x * CHUNK) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += in[base + k * BLOCK + tid];
    }
    part[tid] = sum;
    __syncthreads();
    finish(out, part, tid);
}

__global__ void k106g(int *out, const int *__restrict__ in, int n)
{
    __shared__ int part[BLOCK];
    int tid = threadIdx.x;
    int sum = 0;
    for (int base = blockIdx.x * CHUNK; base < n; base += gridDim.x * CHUNK) {
        const int4 *quads = reinterpret_cast<const int4 *>(in + base);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            int4 v = quads[k * BLOCK + tid];
            sum += v.x + v.y + v.z + v.w;
        }
    }
    part[tid] = sum;
    __syncthreads();
    finish(out, part, tid);
}

__global__ void k106h(float *y, const float *a, const float *x, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = 0; j < columns; j++)
            sum += a[(size_t)row * columns + j] * x[j];
        y[row] = sum;
    }
}

__global__ void k106i(float *__restrict__ y, const float *__restrict__ a, const float *__restrict__ x, int rows,
                      int columns)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float *line = a + (size_t)row * columns;
    float sum = 0.0f;
#pragma unroll 8
    for (int j = lane; j < columns; j += 32)
        sum += line[j] * x[j];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

int main()
{
    int *in = input<int>(N, 1061, 0, 16);
    int *out = output<int>(N / BLOCK);
    std::vector<int> by_256(N / BLOCK), by_512(N / BLOCK / 2), by_grid(GRID);
    {
        std::vector<int> numbers = on_host(in, N);
        for (int b = 0; b < N / BLOCK; b++) {
            int sum = 0;
            for (int i = 0; i < BLOCK; i++)
                sum += numbers[b * BLOCK + i];
            by_256[b] = sum;
            by_512[b / 2] += sum;
            by_grid[b / (CHUNK / BLOCK) % GRID] += sum;
        }
    }
    auto add = [&](const char *name, const std::vector<int> &want, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, N / BLOCK * sizeof(int)));
        launch();
        check(name, out, want, 0.0);
    };
    add("k106a", by_256, [&] { k106a<<<N / BLOCK, BLOCK>>>(out, in); });
    add("k106b", by_256, [&] { k106b<<<N / BLOCK, BLOCK>>>(out, in); });
    add("k106c", by_256, [&] { k106c<<<N / BLOCK, BLOCK>>>(out, in); });
    add("k106d", by_512, [&] { k106d<<<N / BLOCK / 2, BLOCK>>>(out, in); });
    add("k106e", by_512, [&] { k106e<<<N / BLOCK / 2, BLOCK>>>(out, in); });
    add("k106f", by_grid, [&] { k106f<<<GRID, BLOCK>>>(out, in, N); });
    add("k106g", by_grid, [&] { k106g<<<GRID, BLOCK>>>(out, in, N); });
    MUST(cudaFree(in));

    const size_t entries = (size_t)ROWS * COLUMNS;
    float *a = input<float>(entries, 1062, -1.0, 1.0), *x = input<float>(COLUMNS, 1063, -1.0, 1.0);
    float *y = output<float>(ROWS);
    std::vector<float> want(ROWS);
    {
        std::vector<float> ha = on_host(a, entries), hx = on_host(x, COLUMNS);
        for (int row = 0; row < ROWS; row++) {
            const float *line = &ha[(size_t)row * COLUMNS];
            double sum[4] = {0.0, 0.0, 0.0, 0.0};
            for (int j = 0; j < COLUMNS; j += 4)
                for (int k = 0; k < 4; k++)
                    sum[k] += double(line[j + k]) * hx[j + k];
            want[row] = float(sum[0] + sum[1] + sum[2] + sum[3]);
        }
    }
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        check(name, y, want, 1e-4);
    };
    multiply("k106h", [&] { k106h<<<ROWS / BLOCK, BLOCK>>>(y, a, x, ROWS, COLUMNS); });
    multiply("k106i", [&] { k106i<<<ROWS / (BLOCK / 32), BLOCK>>>(y, a, x, ROWS, COLUMNS); });
    return 0;
}
