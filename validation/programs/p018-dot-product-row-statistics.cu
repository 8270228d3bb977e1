// Dot product of two long vectors, and mean and variance of long rows.
#include "../harness.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void k18a(const float *a, const float *b, double *result, int n)
{
    __shared__ float cache[512];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    cache[threadIdx.x] = i < n ? a[i] * b[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            cache[threadIdx.x] += cache[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(result, (double)cache[0]);
}

__global__ void k18b(const float *a, const float *b, double *result, int n)
{
    __shared__ float cache[512];
    float sum = 0.0f;
    const int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step)
        sum += a[i] * b[i] + a[i + step] * b[i + step] + a[i + 2 * step] * b[i + 2 * step] +
               a[i + 3 * step] * b[i + 3 * step];
    for (; i < n; i += step)
        sum += a[i] * b[i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            cache[threadIdx.x] += cache[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(result, (double)cache[0]);
}

__global__ void k18c(const float *a, const float *b, double *result, int n)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    __shared__ float cache[16];
    float sum = 0.0f;
    const int step = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * step < n; i += 4 * step)
        sum += a[i] * b[i] + a[i + step] * b[i + step] + a[i + 2 * step] * b[i + 2 * step] +
               a[i + 3 * step] * b[i + 3 * step];
    for (; i < n; i += step)
        sum += a[i] * b[i];
    sum = cg::reduce(warp, sum, cg::plus<float>());
    if (warp.thread_rank() == 0)
        cache[warp.meta_group_rank()] = sum;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        sum = cg::reduce(warp, warp.thread_rank() < 16 ? cache[warp.thread_rank()] : 0.0f, cg::plus<float>());
        if (warp.thread_rank() == 0)
            atomicAdd(result, (double)sum);
    }
}

// The sum over the block, in every thread.
__device__ float block_sum(float v)
{
    __shared__ float part[32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int s = 16; s > 0; s >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, s);
    __syncthreads();
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    v = lane < (blockDim.x >> 5) ? part[lane] : 0.0f;
    for (int s = 16; s > 0; s >>= 1)
        v += __shfl_xor_sync(0xffffffffu, v, s);
    return v;
}

__global__ __launch_bounds__(1024, 2) void k18d(const float *__restrict__ x, float2 *__restrict__ stats, int cols)
{
    const float *row = x + (size_t)blockIdx.x * cols;
    float sum = 0.0f;
    int c = threadIdx.x;
    for (; c + 3 * 1024 < cols; c += 4 * 1024)
        sum += row[c] + row[c + 1024] + row[c + 2048] + row[c + 3072];
    for (; c < cols; c += 1024)
        sum += row[c];
    const float mean = block_sum(sum) / cols;
    float sq = 0.0f;
    for (c = threadIdx.x; c + 3 * 1024 < cols; c += 4 * 1024) {
        float d0 = row[c] - mean, d1 = row[c + 1024] - mean, d2 = row[c + 2048] - mean, d3 = row[c + 3072] - mean;
        sq += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3;
    }
    for (; c < cols; c += 1024)
        sq += (row[c] - mean) * (row[c] - mean);
    sq = block_sum(sq);
    if (threadIdx.x == 0)
        stats[blockIdx.x] = make_float2(mean, sq / cols);
}

__global__ __launch_bounds__(1024, 2) void k18e(const float *__restrict__ x, float2 *__restrict__ stats, int cols)
{
    const float *row = x + (size_t)blockIdx.x * cols;
    const float shift = row[0];
    float sum = 0.0f, sq = 0.0f;
    int c = threadIdx.x;
    for (; c + 3 * 1024 < cols; c += 4 * 1024) {
        float d0 = row[c] - shift, d1 = row[c + 1024] - shift, d2 = row[c + 2048] - shift, d3 = row[c + 3072] - shift;
        sum += d0 + d1 + d2 + d3;
        sq += d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3;
    }
    for (; c < cols; c += 1024) {
        float d = row[c] - shift;
        sum += d;
        sq += d * d;
    }
    sum = block_sum(sum) / cols;
    sq = block_sum(sq) / cols;
    if (threadIdx.x == 0)
        stats[blockIdx.x] = make_float2(shift + sum, sq - sum * sum);
}

int main()
{
    {
        const int n = 48000005;
        float *a = input<float>(n, 1, 0.0, 1.0), *b = input<float>(n, 2, 0.0, 1.0);
        double *result = zeroed<double>(3);
        std::vector<float> ha = on_host(a, n), hb = on_host(b, n);
        double dot = 0.0;
        for (int i = 0; i < n; i++)
            dot += (double)ha[i] * hb[i];
        const std::vector<double> want = {dot};
        k18a<<<(n + 511) / 512, 512>>>(a, b, result, n);
        check("k18a", result, want, 1e-4);
        k18b<<<132 * 4, 512>>>(a, b, result + 1, n);
        check("k18b", result + 1, want, 1e-4);
        k18c<<<132 * 4, 512>>>(a, b, result + 2, n);
        check("k18c", result + 2, want, 1e-4);
        MUST(cudaFree(a));
        MUST(cudaFree(b));
    }
    const int rows = 264, cols = 300000;
    float *x = input<float>((size_t)rows * cols, 3, -1.0, 3.0);
    float *stats = output<float>(rows * 2);
    std::vector<float> want;
    std::vector<float> host = on_host(x, (size_t)rows * cols);
    for (int r = 0; r < rows; r++) {
        double sum = 0.0, sq = 0.0;
        for (int c = 0; c < cols; c++) {
            double v = host[(size_t)r * cols + c];
            sum += v;
            sq += v * v;
        }
        want.push_back((float)(sum / cols));
        want.push_back((float)(sq / cols - sum / cols * (sum / cols)));
    }
    k18d<<<rows, 1024>>>(x, reinterpret_cast<float2 *>(stats), cols);
    check("k18d", stats, want, 1e-4);
    MUST(cudaMemset(stats, 0xA5, rows * 2 * sizeof(float)));
    k18e<<<rows, 1024>>>(x, reinterpret_cast<float2 *>(stats), cols);
    check("k18e", stats, want, 1e-4);
    return 0;
}
