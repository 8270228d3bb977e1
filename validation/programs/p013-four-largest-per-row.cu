// The four largest values of every row of a score matrix, in descending order.
#include "../harness.h"
#include <algorithm>
#include <functional>

#define K 4

template <int COLS> __global__ void k13a(const float *scores, float *best)
{
    __shared__ float row[COLS];
    __shared__ float value[256];
    __shared__ int where[256];
    const float *src = scores + (size_t)blockIdx.x * COLS;
    const int tid = threadIdx.x;
    for (int c = tid; c < COLS; c += 256)
        row[c] = src[c];
    __syncthreads();

    for (int round = 0; round < K; round++) {
        float top = -INFINITY;
        int at = tid;
        for (int c = tid; c < COLS; c += 256)
            if (row[c] > top) {
                top = row[c];
                at = c;
            }
        value[tid] = top;
        where[tid] = at;
        __syncthreads();
        for (int s = 128; s > 0; s >>= 1) {
            if (tid < s && value[tid + s] > value[tid]) {
                value[tid] = value[tid + s];
                where[tid] = where[tid + s];
            }
            __syncthreads();
        }
        if (tid == 0) {
            best[(size_t)blockIdx.x * K + round] = value[0];
            row[where[0]] = -INFINITY;
        }
        __syncthreads();
    }
}

template <int COLS> __global__ void k13b(const float *scores, float *best)
{
    __shared__ float row[COLS];
    __shared__ float value[8];
    __shared__ int where[8];
    const float *src = scores + (size_t)blockIdx.x * COLS;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    for (int c = tid; c < COLS; c += 256)
        row[c] = src[c];
    __syncthreads();

    for (int round = 0; round < K; round++) {
        float top = -INFINITY;
        int at = tid;
        for (int c = tid; c < COLS; c += 256)
            if (row[c] > top) {
                top = row[c];
                at = c;
            }
        for (int s = 16; s > 0; s >>= 1) {
            float other = __shfl_down_sync(0xffffffffu, top, s);
            int other_at = __shfl_down_sync(0xffffffffu, at, s);
            if (other > top) {
                top = other;
                at = other_at;
            }
        }
        if (lane == 0) {
            value[warp] = top;
            where[warp] = at;
        }
        __syncthreads();
        if (tid == 0) {
            for (int w = 1; w < 8; w++)
                if (value[w] > top) {
                    top = value[w];
                    at = where[w];
                }
            best[(size_t)blockIdx.x * K + round] = top;
            row[at] = -INFINITY;
        }
        __syncthreads();
    }
}

__device__ __forceinline__ void push(float (&list)[K], float v)
{
#pragma unroll
    for (int j = 0; j < K; j++) {
        float hi = fmaxf(list[j], v);
        v = fminf(list[j], v);
        list[j] = hi;
    }
}

template <int COLS> __global__ void k13c(const float *__restrict__ scores, float *__restrict__ best, int rows)
{
    const int lane = threadIdx.x & 31;
    const int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
    if (r >= rows)
        return;
    const float *src = scores + (size_t)r * COLS;
    float list[K];
    for (int j = 0; j < K; j++)
        list[j] = -INFINITY;
#pragma unroll 8
    for (int c = lane; c < COLS; c += 32)
        push(list, src[c]);

    for (int round = 0; round < K; round++) {
        float top = list[0];
        for (int s = 16; s > 0; s >>= 1)
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, s));
        int owner = __ffs(__ballot_sync(0xffffffffu, list[0] == top)) - 1;
        if (lane == owner) {
            for (int j = 0; j + 1 < K; j++)
                list[j] = list[j + 1];
            list[K - 1] = -INFINITY;
        }
        if (lane == 0)
            best[(size_t)r * K + round] = top;
    }
}

// Many short rows.
__global__ void k13d(const float *__restrict__ scores, float *__restrict__ best, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float list[K] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int c = 0; c < cols; c++)
        push(list, scores[(size_t)r * cols + c]);
    for (int j = 0; j < K; j++)
        best[(size_t)j * rows + r] = list[j];
}

// The same with the scores stored column by column.
__global__ void k13e(const float *__restrict__ scores, float *__restrict__ best, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float list[K] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    for (int c = 0; c < cols; c++)
        push(list, scores[(size_t)c * rows + r]);
    for (int j = 0; j < K; j++)
        best[(size_t)j * rows + r] = list[j];
}

int main()
{
    {
        const int rows = 20000, cols = 4096;
        float *scores = input<float>((size_t)rows * cols, 1, -10.0, 10.0);
        float *best = output<float>((size_t)rows * K);
        const int sampled = 1000; // every 20th row
        std::vector<float> some((size_t)sampled * cols), want;
        MUST(cudaMemcpy2D(some.data(), cols * sizeof(float), scores, (size_t)20 * cols * sizeof(float),
                          cols * sizeof(float), sampled, cudaMemcpyDeviceToHost));
        for (int r = 0; r < sampled; r++) {
            auto row = some.begin() + (size_t)r * cols;
            std::partial_sort(row, row + K, row + cols, std::greater<float>());
            want.insert(want.end(), row, row + K);
        }
        k13a<4096><<<rows, 256>>>(scores, best);
        MUST(cudaGetLastError());
        std::vector<float> all = on_host(best, (size_t)rows * K), got;
        for (int r = 0; r < sampled; r++)
            got.insert(got.end(), all.begin() + (size_t)r * 20 * K, all.begin() + (size_t)r * 20 * K + K);
        check("k13a", on_device(got), want, 0.0);

        MUST(cudaMemset(best, 0xA5, all.size() * sizeof(float)));
        k13b<4096><<<rows, 256>>>(scores, best);
        check("k13b", best, all, 0.0);

        MUST(cudaMemset(best, 0xA5, all.size() * sizeof(float)));
        k13c<4096><<<(rows + 7) / 8, 256>>>(scores, best, rows);
        check("k13c", best, all, 0.0);
        MUST(cudaFree(scores));
        MUST(cudaFree(best));
    }
    const int rows = 200000, cols = 200;
    float *scores = input<float>((size_t)rows * cols, 2, -10.0, 10.0);
    float *best = output<float>((size_t)rows * K);
    std::vector<float> host = on_host(scores, (size_t)rows * cols), columns(host.size()), want((size_t)rows * K);
    for (int r0 = 0; r0 < rows; r0 += 32)
        for (int c = 0; c < cols; c++)
            for (int r = r0; r < r0 + 32; r++)
                columns[(size_t)c * rows + r] = host[(size_t)r * cols + c];
    for (int r = 0; r < rows; r++) {
        float top[K] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
        for (int c = 0; c < cols; c++) {
            float v = host[(size_t)r * cols + c];
            if (v > top[K - 1]) {
                int j = K - 1;
                for (; j > 0 && top[j - 1] < v; j--)
                    top[j] = top[j - 1];
                top[j] = v;
            }
        }
        for (int j = 0; j < K; j++)
            want[(size_t)j * rows + r] = top[j];
    }
    k13d<<<(rows + 127) / 128, 128>>>(scores, best, rows, cols);
    check("k13d", best, want, 0.0);
    MUST(cudaMemset(best, 0xA5, want.size() * sizeof(float)));
    float *by_column = on_device(columns);
    k13e<<<(rows + 127) / 128, 128>>>(by_column, best, rows, cols);
    check("k13e", best, want, 0.0);
    return 0;
}
