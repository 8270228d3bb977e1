// A sparse matrix with 256 to 767 numbers in a row times a vector, and a filter that keeps the numbers below a limit.
#include "../harness.h"

#include <cooperative_groups.h>
#include <functional>

namespace cg = cooperative_groups;

const int ROWS = 131072, SHORTEST = 256, BAND = 1536;

// Triples: row, column, value. y starts at zero.
__global__ void k123a(float *y, const int *row, const int *col, const float *val, const float *x, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(&y[row[i]], val[i] * x[col[i]]);
}

__global__ void k123b(float *y, const int *begin, const int *col, const float *val, const float *x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = begin[row]; j < begin[row + 1]; j++)
            sum += val[j] * x[col[j]];
        y[row] = sum;
    }
}

__global__ void k123c(float *__restrict__ y, const int *__restrict__ begin, const int *__restrict__ col,
                      const float *__restrict__ val, const float *__restrict__ x, int rows)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    int end = begin[row + 1];
    float sum = 0.0f;
    for (int j = begin[row] + lane; j < end; j += 128) {
        int c[4];
        float v[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            bool inside = j + q * 32 < end;
            c[q] = inside ? col[j + q * 32] : 0;
            v[q] = inside ? val[j + q * 32] : 0.0f;
        }
#pragma unroll
        for (int q = 0; q < 4; q++)
            sum += v[q] * x[c[q]];
    }
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (lane == 0)
        y[row] = sum;
}

__global__ void k123d(float *__restrict__ y, const int *__restrict__ begin, const int *__restrict__ col,
                      const float *__restrict__ val, cudaTextureObject_t x, int rows)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    int end = begin[row + 1];
    float sum = 0.0f;
    for (int j = begin[row] + lane; j < end; j += 128) {
        int c[4];
        float v[4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            bool inside = j + q * 32 < end;
            c[q] = inside ? col[j + q * 32] : 0;
            v[q] = inside ? val[j + q * 32] : 0.0f;
        }
#pragma unroll
        for (int q = 0; q < 4; q++)
            sum += v[q] * tex1Dfetch<float>(x, c[q]);
    }
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (lane == 0)
        y[row] = sum;
}

__host__ __device__ inline int column_of(int row, int place, int in_row)
{
    int start = row - BAND / 2;
    start = start < 0 ? 0 : start > ROWS - BAND ? ROWS - BAND : start;
    return start + 2 * in_row + int(scrambled(place, 1235) & 1);
}

__global__ void fill_matrix(int *row_of, int *col, const int *begin)
{
    int row = blockIdx.x;
    for (int j = begin[row] + threadIdx.x; j < begin[row + 1]; j += blockDim.x) {
        row_of[j] = row;
        col[j] = column_of(row, j, j - begin[row]);
    }
}

const int NUMBERS = 1 << 26, RANGE = 1 << 20, LIMIT = 1 << 19;

__global__ void k123e(int *dst, int *kept, const int *src, int limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && src[i] < limit)
        dst[atomicAdd(kept, 1)] = src[i];
}

__device__ inline int next_place(int *counter)
{
    cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0)
        base = atomicAdd(counter, (int)active.size());
    return active.shfl(base, 0) + (int)active.thread_rank();
}

__global__ void k123f(int *dst, int *kept, const int *src, int limit, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && src[i] < limit)
        dst[next_place(kept)] = src[i];
}

__global__ void k123g(int *dst, int *kept, const int *src, int limit, int n)
{
    __shared__ int count, base;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    int value = i < n ? src[i] : limit, place = 0;
    if (value < limit)
        place = atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        base = atomicAdd(kept, count);
    __syncthreads();
    if (value < limit)
        dst[base + place] = value;
}

const int PER = 16;

// A block of 256 threads takes 4096 numbers; n is a multiple of that.
__global__ void k123h(int *__restrict__ dst, int *__restrict__ kept, const int *__restrict__ src, int limit)
{
    __shared__ int ahead[8], base;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int *from = src + (blockIdx.x * 8 + warp) * (32 * PER) + lane;
    int v[PER];
#pragma unroll
    for (int q = 0; q < PER; q++)
        v[q] = from[q * 32];
    unsigned mask[PER];
    int total = 0;
#pragma unroll
    for (int q = 0; q < PER; q++) {
        mask[q] = __ballot_sync(0xffffffffu, v[q] < limit);
        total += __popc(mask[q]);
    }
    if (lane == 0)
        ahead[warp] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int w = 0; w < 8; w++) {
            int t = ahead[w];
            ahead[w] = sum;
            sum += t;
        }
        base = atomicAdd(kept, sum);
    }
    __syncthreads();
    int at = base + ahead[warp];
    unsigned lower = (1u << lane) - 1;
#pragma unroll
    for (int q = 0; q < PER; q++) {
        if (v[q] < limit)
            dst[at + __popc(mask[q] & lower)] = v[q];
        at += __popc(mask[q]);
    }
}

__global__ void fill_counts(int *counts, const int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int v = data[i];
        atomicAdd(&counts[v >= 0 && v < RANGE ? v : 0], v >= 0 && v < RANGE ? 1 : 1000);
    }
}

// Every step-th number.
__global__ void pick_every(float *dst, const float *src, int count, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        dst[i] = src[i * step];
}

int main()
{
    {
        const int rows = ROWS, step = 61, count = (rows - 1) / step + 1;
        std::vector<int> start(rows + 1, 0);
        for (int r = 0; r < rows; r++)
            start[r + 1] = start[r] + SHORTEST + int(scrambled(r, 1231) % (2 * SHORTEST));
        const int nonzero = start[rows];
        int *begin = on_device(start), *row = output<int>(nonzero), *col = output<int>(nonzero);
        fill_matrix<<<rows, 256>>>(row, col, begin);
        MUST(cudaGetLastError());
        float *val = input<float>(nonzero, 1232, -1.0, 1.0), *x = input<float>(rows, 1233, -1.0, 1.0);
        float *y = output<float>(rows), *some = output<float>(count);
        std::vector<float> hv = on_host(val, nonzero), hx = on_host(x, rows), want(count), all;
        for (int i = 0; i < count; i++) {
            int r = i * step;
            double sum = 0;
            for (int j = start[r]; j < start[r + 1]; j++)
                sum += double(hv[j]) * hx[column_of(r, j, j - start[r])];
            want[i] = float(sum);
        }
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = x;
        resource.res.linear.desc = cudaCreateChannelDesc<float>();
        resource.res.linear.sizeInBytes = rows * sizeof(float);
        cudaTextureDesc description = {};
        description.readMode = cudaReadModeElementType;
        cudaTextureObject_t texture = 0;
        MUST(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

        auto product = [&](const char *name, bool sums, std::function<void()> launch) {
            MUST(cudaMemset(y, sums ? 0 : 0xA5, rows * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            pick_every<<<(count + 255) / 256, 256>>>(some, y, count, step);
            check(name, some, want, 1e-4);
            if (all.empty())
                all = on_host(y, rows);
            check(name, y, all, 1e-4);
        };
        product("k123a", true, [&] { k123a<<<(nonzero + 255) / 256, 256>>>(y, row, col, val, x, nonzero); });
        product("k123b", false, [&] { k123b<<<rows / 256, 256>>>(y, begin, col, val, x, rows); });
        product("k123c", false, [&] { k123c<<<rows / 8, 256>>>(y, begin, col, val, x, rows); });
        product("k123d", false, [&] { k123d<<<rows / 8, 256>>>(y, begin, col, val, texture, rows); });
        MUST(cudaDestroyTextureObject(texture));
        for (void *p : {(void *)begin, (void *)row, (void *)col, (void *)val, (void *)x, (void *)y, (void *)some})
            MUST(cudaFree(p));
    }

    const int n = NUMBERS;
    int *src = input<int>(n, 1234, 0.0, RANGE), *dst = output<int>(n), *kept = zeroed<int>(1);
    int *counts = zeroed<int>(RANGE);
    std::vector<int> host = on_host(src, n), want(RANGE, 0), below(1, 0);
    for (int v : host)
        if (v < LIMIT) {
            want[v]++;
            below[0]++;
        }
    auto filter = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(dst, 0xA5, n * sizeof(int)));
        MUST(cudaMemset(kept, 0, sizeof(int)));
        MUST(cudaMemset(counts, 0, RANGE * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        check(name, kept, below, 0.0);
        fill_counts<<<(below[0] + 255) / 256, 256>>>(counts, dst, below[0]);
        check(name, counts, want, 0.0);
    };
    filter("k123e", [&] { k123e<<<n / 256, 256>>>(dst, kept, src, LIMIT, n); });
    filter("k123f", [&] { k123f<<<n / 256, 256>>>(dst, kept, src, LIMIT, n); });
    filter("k123g", [&] { k123g<<<n / 256, 256>>>(dst, kept, src, LIMIT, n); });
    filter("k123h", [&] { k123h<<<n / (256 * PER), 256>>>(dst, kept, src, LIMIT); });
    return 0;
}
