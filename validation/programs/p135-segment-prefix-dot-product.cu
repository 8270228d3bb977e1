// Exclusive prefix sums of segments of 1024 integers, and the dot product of two long vectors.
#include "../harness.h"

#include <functional>

const int SEGMENT = 1024, SEGMENTS = 65536, N = SEGMENT * SEGMENTS;

__global__ void k135a(int *out, const int *in)
{
    __shared__ int temp[2 * SEGMENT];
    int tid = threadIdx.x, base = blockIdx.x * SEGMENT;
    int to = 0, from = 1;
    temp[tid] = tid > 0 ? in[base + tid - 1] : 0;
    __syncthreads();

    for (int offset = 1; offset < SEGMENT; offset *= 2) {
        to = 1 - to;
        from = 1 - to;
        if (tid >= offset)
            temp[to * SEGMENT + tid] = temp[from * SEGMENT + tid] + temp[from * SEGMENT + tid - offset];
        else
            temp[to * SEGMENT + tid] = temp[from * SEGMENT + tid];
        __syncthreads();
    }
    out[base + tid] = temp[to * SEGMENT + tid];
}

// Half as many threads as numbers, up and down a tree.
__global__ void k135b(int *out, const int *in)
{
    __shared__ int temp[SEGMENT];
    int tid = threadIdx.x, base = blockIdx.x * SEGMENT;
    int offset = 1;
    temp[2 * tid] = in[base + 2 * tid];
    temp[2 * tid + 1] = in[base + 2 * tid + 1];

    for (int d = SEGMENT / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int ai = offset * (2 * tid + 1) - 1;
            int bi = offset * (2 * tid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (tid == 0)
        temp[SEGMENT - 1] = 0;
    for (int d = 1; d < SEGMENT; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int ai = offset * (2 * tid + 1) - 1;
            int bi = offset * (2 * tid + 2) - 1;
            int t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    out[base + 2 * tid] = temp[2 * tid];
    out[base + 2 * tid + 1] = temp[2 * tid + 1];
}

__device__ inline int place(int i)
{
    return i + (i >> 5);
}

__global__ void k135c(int *out, const int *in)
{
    __shared__ int temp[SEGMENT + SEGMENT / 32];
    int tid = threadIdx.x, base = blockIdx.x * SEGMENT;
    int offset = 1;
    temp[place(tid)] = in[base + tid];
    temp[place(tid + SEGMENT / 2)] = in[base + tid + SEGMENT / 2];

    for (int d = SEGMENT / 2; d > 0; d >>= 1) {
        __syncthreads();
        if (tid < d) {
            int ai = place(offset * (2 * tid + 1) - 1);
            int bi = place(offset * (2 * tid + 2) - 1);
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (tid == 0)
        temp[place(SEGMENT - 1)] = 0;
    for (int d = 1; d < SEGMENT; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (tid < d) {
            int ai = place(offset * (2 * tid + 1) - 1);
            int bi = place(offset * (2 * tid + 2) - 1);
            int t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    __syncthreads();
    out[base + tid] = temp[place(tid)];
    out[base + tid + SEGMENT / 2] = temp[place(tid + SEGMENT / 2)];
}

// Four numbers per thread, a block of 256 threads per segment.
__global__ void k135d(int4 *out, const int4 *in)
{
    __shared__ int of_warp[SEGMENT / 128];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at = blockIdx.x * (SEGMENT / 4) + threadIdx.x;
    int4 v = in[at];
    int four = v.x + v.y + v.z + v.w, upto = four;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
        int other = __shfl_up_sync(0xffffffffu, upto, offset);
        if (lane >= offset)
            upto += other;
    }
    if (lane == 31)
        of_warp[warp] = upto;
    __syncthreads();

    int before = upto - four;
#pragma unroll
    for (int w = 0; w < SEGMENT / 128; w++)
        before += w < warp ? of_warp[w] : 0;
    out[at] = make_int4(before, before + v.x, before + v.x + v.y, before + v.x + v.y + v.z);
}

const int THREADS = 256, LENGTH = 1 << 26;

// The sum of one number of each thread of the block.
__device__ inline void block_sum(float mine, float *partial)
{
    __shared__ float cache[THREADS];
    cache[threadIdx.x] = mine;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        partial[blockIdx.x] = cache[0];
}

__global__ void k135e(float *partial, const float *a, const float *b, int n)
{
    int each = n / (gridDim.x * blockDim.x);
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
    float sum = 0.0f;
    for (int i = first; i < first + each; i++)
        sum += a[i] * b[i];
    block_sum(sum, partial);
}

__global__ void k135f(float *partial, const float *a, const float *b, int n)
{
    float sum = 0.0f;
#pragma unroll 8
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += a[i] * b[i];
    block_sum(sum, partial);
}

__global__ void k135g(float *partial, const float *a, const float *b, int n)
{
    float sum = 0.0f;
#pragma unroll 8
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += a[i] * b[i];
    block_sum(sum, partial);
}

__global__ void k135h(float *partial, const float *__restrict__ a, const float *__restrict__ b, int n)
{
    float sum = 0.0f;
#pragma unroll 8
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += __ldg(&a[i]) * __ldg(&b[i]);
    block_sum(sum, partial);
}

// Whole numbers from 0 to 3: the partial sums are exact in any order.
__global__ void fill_small(float *data, int n, unsigned seed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = float(scrambled(i, seed) >> 30);
}

__global__ void fill_total(double *total, const float *partial, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(total, double(partial[i]));
}

int main()
{
    int *in = input<int>(N, 1351, 0.0, 100.0), *out = output<int>(N);
    std::vector<int> want(N);
    {
        std::vector<int> h = on_host(in, N);
        for (int s = 0; s < SEGMENTS; s++) {
            int sum = 0;
            for (int i = s * SEGMENT; i < (s + 1) * SEGMENT; i++) {
                want[i] = sum;
                sum += h[i];
            }
        }
    }
    auto scan = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, N * sizeof(int)));
        launch();
        check(name, out, want, 0.0);
    };
    int4 *out4 = reinterpret_cast<int4 *>(out);
    const int4 *in4 = reinterpret_cast<int4 *>(in);
    scan("k135a", [&] { k135a<<<SEGMENTS, SEGMENT>>>(out, in); });
    scan("k135b", [&] { k135b<<<SEGMENTS, SEGMENT / 2>>>(out, in); });
    scan("k135c", [&] { k135c<<<SEGMENTS, SEGMENT / 2>>>(out, in); });
    scan("k135d", [&] { k135d<<<SEGMENTS, SEGMENT / 4>>>(out4, in4); });

    float *a = output<float>(LENGTH), *b = output<float>(LENGTH);
    fill_small<<<LENGTH / 256, 256>>>(a, LENGTH, 1352);
    fill_small<<<LENGTH / 256, 256>>>(b, LENGTH, 1353);
    MUST(cudaDeviceSynchronize());
    std::vector<double> dot_want(1, 0.0);
    {
        std::vector<float> ha = on_host(a, LENGTH), hb = on_host(b, LENGTH);
        long long sum = 0;
        for (int i = 0; i < LENGTH; i++)
            sum += (long long)(ha[i] * hb[i]);
        dot_want[0] = double(sum);
    }
    const int few = 32, resident = 132 * 8, chunks = 1024;
    float *partial = output<float>(resident);
    double *total = output<double>(1);
    auto dot = [&](const char *name, int blocks, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, resident * sizeof(float)));
        MUST(cudaMemset(total, 0, sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_total<<<(blocks + 255) / 256, 256>>>(total, partial, blocks);
        check(name, total, dot_want, 0.0);
    };
    dot("k135e", chunks, [&] { k135e<<<chunks, THREADS>>>(partial, a, b, LENGTH); });
    dot("k135f", few, [&] { k135f<<<few, THREADS>>>(partial, a, b, LENGTH); });
    dot("k135g", resident, [&] { k135g<<<resident, THREADS>>>(partial, a, b, LENGTH); });
    dot("k135h", resident, [&] { k135h<<<resident, THREADS>>>(partial, a, b, LENGTH); });
    return 0;
}
