// Sum of many floats, one partial sum per block, and a half-precision matrix times a vector with float results.
#include "../harness.h"

#include <functional>

__global__ void k222a(const float *in, float *out)
{
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = sdata[0];
}

__global__ void k222b(const float *in, float *out)
{
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned index = 2 * s * tid;
        if (index < blockDim.x)
            sdata[index] += sdata[index + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = sdata[0];
}

__global__ void k222c(const float *in, float *out)
{
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = sdata[0];
}

__global__ void k222d(const float *in, float *out)
{
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = sdata[0];
}

__device__ inline float of_warp(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void k222e(const float *in, float *out)
{
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        float v = of_warp(sdata[tid] + sdata[tid + 32]);
        if (tid == 0)
            out[blockIdx.x] = v;
    }
}

template <unsigned size> __device__ void reduce_block(const float *in, float *out, float *sdata)
{
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (size * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + size];
    __syncthreads();
    if (size >= 512) {
        if (tid < 256)
            sdata[tid] += sdata[tid + 256];
        __syncthreads();
    }
    if (size >= 256) {
        if (tid < 128)
            sdata[tid] += sdata[tid + 128];
        __syncthreads();
    }
    if (size >= 128) {
        if (tid < 64)
            sdata[tid] += sdata[tid + 64];
        __syncthreads();
    }
    if (tid < 32) {
        float v = of_warp(sdata[tid] + sdata[tid + 32]);
        if (tid == 0)
            out[blockIdx.x] = v;
    }
}

__global__ void k222f(const float *in, float *out)
{
    extern __shared__ float sdata[];
    reduce_block<256>(in, out, sdata);
}

__global__ void k222g(const float4 *__restrict__ in, float *__restrict__ out, unsigned n4)
{
    __shared__ float part[8];
    const unsigned stride = gridDim.x * blockDim.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (; i + 3 * stride < n4; i += 4 * stride) {
        float4 a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
        s0 += (a.x + a.y) + (a.z + a.w);
        s1 += (b.x + b.y) + (b.z + b.w);
        s2 += (c.x + c.y) + (c.z + c.w);
        s3 += (d.x + d.y) + (d.z + d.w);
    }
    for (; i < n4; i += stride) {
        float4 a = in[i];
        s0 += (a.x + a.y) + (a.z + a.w);
    }
    float v = of_warp((s0 + s1) + (s2 + s3));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = of_warp(threadIdx.x < 8 ? part[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0)
            out[blockIdx.x] = v;
    }
}

__global__ void k222h(float *y, const __half *A, const __half *x, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int c = 0; c < cols; c++)
            sum += __half2float(A[row * cols + c]) * __half2float(x[c]);
        y[row] = sum;
    }
}

__global__ void k222i(float *y, const __half *A, const __half *x, int rows, int cols)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        float sum = 0.0f;
        for (int c = lane; c < cols; c += 32)
            sum += __half2float(A[row * cols + c]) * __half2float(x[c]);
        sum = of_warp(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

union Eight {
    uint4 all;
    __half2 pair[4];
};

__global__ void k222j(float *__restrict__ y, const __half *__restrict__ A, const __half *__restrict__ x, int rows, int cols)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row < rows) {
        const uint4 *a8 = reinterpret_cast<const uint4 *>(A + row * cols);
        const uint4 *x8 = reinterpret_cast<const uint4 *>(x);
        float sum = 0.0f;
#pragma unroll 4
        for (int c = lane; c < cols / 8; c += 32) {
            Eight a, b;
            a.all = a8[c];
            b.all = x8[c];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float2 v = __half22float2(a.pair[j]), w = __half22float2(b.pair[j]);
                sum += v.x * w.x;
                sum += v.y * w.y;
            }
        }
        sum = of_warp(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

int main()
{
    const unsigned n = 1u << 27;
    const int threads = 256;
    const size_t shared = threads * sizeof(float);
    float *in = input<float>(n, 2221, 0.0, 1.0);
    const unsigned blocks = n / threads;
    float *sums = output<float>(blocks);
    std::vector<float> by256(blocks), by512(blocks / 2);
    double total = 0;
    {
        std::vector<float> h = on_host(in, n);
        for (unsigned b = 0; b < blocks; b++) {
            double s[4] = {0, 0, 0, 0};
            for (int i = 0; i < threads; i += 4)
                for (int j = 0; j < 4; j++)
                    s[j] += h[(size_t)b * threads + i + j];
            double sum = (s[0] + s[1]) + (s[2] + s[3]);
            by256[b] = float(sum);
            total += sum;
        }
        for (unsigned b = 0; b < blocks / 2; b++)
            by512[b] = by256[2 * b] + by256[2 * b + 1];
    }
    auto reduce = [&](const char *name, const std::vector<float> &want, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0xA5, blocks * sizeof(float)));
        launch();
        check(name, sums, want, 1e-5);
    };
    reduce("k222a", by256, [&] { k222a<<<blocks, threads, shared>>>(in, sums); });
    reduce("k222b", by256, [&] { k222b<<<blocks, threads, shared>>>(in, sums); });
    reduce("k222c", by256, [&] { k222c<<<blocks, threads, shared>>>(in, sums); });
    reduce("k222d", by512, [&] { k222d<<<blocks / 2, threads, shared>>>(in, sums); });
    reduce("k222e", by512, [&] { k222e<<<blocks / 2, threads, shared>>>(in, sums); });
    reduce("k222f", by512, [&] { k222f<<<blocks / 2, threads, shared>>>(in, sums); });

    const int few = 132 * 8;
    auto reduce_all = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0xA5, blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        double sum = 0;
        for (float part : on_host(sums, few))
            sum += part;
        std::vector<float> got(1, float(sum)), want(1, float(total));
        check(name, on_device(got), want, 1e-5);
    };
    reduce_all("k222g", [&] { k222g<<<few, threads>>>(reinterpret_cast<const float4 *>(in), sums, n / 4); });

    const int rows = 32768, cols = 8192;
    __half *A = input<__half>((size_t)rows * cols, 2222, -1.0, 1.0), *x = input<__half>(cols, 2223, -1.0, 1.0);
    float *y = output<float>(rows), *picked = output<float>(rows);
    // Every 31st row of the first result is made on the host.
    const int every = 31, chosen = (rows - 1) / every + 1;
    std::vector<float> some(chosen), all;
    std::vector<__half> hx = on_host(x, cols);
    for (int r = 0; r < chosen; r++) {
        std::vector<__half> line = on_host(A + (size_t)r * every * cols, cols);
        double dot = 0;
        for (int c = 0; c < cols; c++)
            dot += double(float(line[c])) * double(float(hx[c]));
        some[r] = float(dot);
    }
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, rows * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (all.empty()) {
            const size_t word = sizeof(float);
            MUST(cudaMemcpy2D(picked, word, y, every * word, word, chosen, cudaMemcpyDeviceToDevice));
            check(name, picked, some, 1e-3);
            all = on_host(y, rows);
        } else {
            check(name, y, all, 1e-3);
        }
    };
    multiply("k222h", [&] { k222h<<<rows / 256, 256>>>(y, A, x, rows, cols); });
    multiply("k222i", [&] { k222i<<<rows / 8, 256>>>(y, A, x, rows, cols); });
    multiply("k222j", [&] { k222j<<<rows / 8, 256>>>(y, A, x, rows, cols); });
    return 0;
}
