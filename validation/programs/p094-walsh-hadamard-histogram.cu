// The Walsh-Hadamard transform of every row of 2048 numbers, and a histogram of numbers from 0 to 4095.
#include "../harness.h"

#include <functional>

const int LENGTH = 2048;

__global__ void k94a(float *out, const float *in)
{
    __shared__ float s[LENGTH];
    const float *src = in + (size_t)blockIdx.x * LENGTH;
    float *dst = out + (size_t)blockIdx.x * LENGTH;
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        s[i] = src[i];

    const int t = threadIdx.x;
    for (int stride = LENGTH / 2; stride > 0; stride >>= 1) {
        __syncthreads();
        int low = t & (stride - 1);
        int i0 = ((t - low) << 1) + low;
        int i1 = i0 + stride;
        float a = s[i0], b = s[i1];
        s[i0] = a + b;
        s[i1] = a - b;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        dst[i] = s[i];
}

__global__ void k94b(float *out, const float *in)
{
    __shared__ float s[LENGTH];
    const float *src = in + (size_t)blockIdx.x * LENGTH;
    float *dst = out + (size_t)blockIdx.x * LENGTH;
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        s[i] = src[i];

    const int t = threadIdx.x;
    for (int stride = LENGTH / 4; stride > 1; stride >>= 2) {
        int low = t & (stride - 1);
        int i0 = ((t - low) << 2) + low;
        int i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
        __syncthreads();
        float a = s[i0], b = s[i1], c = s[i2], d = s[i3];
        float ac = a + c, bd = b + d, a_c = a - c, b_d = b - d;
        s[i0] = ac + bd;
        s[i1] = ac - bd;
        s[i2] = a_c + b_d;
        s[i3] = a_c - b_d;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < LENGTH / 2; i += blockDim.x) {
        float a = s[2 * i], b = s[2 * i + 1];
        s[2 * i] = a + b;
        s[2 * i + 1] = a - b;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x)
        dst[i] = s[i];
}

const int ROW_THREADS = 256, CHUNKS = LENGTH / (4 * ROW_THREADS), WARPS = ROW_THREADS / 32;

__device__ inline void butterfly(float &a, float &b)
{
    float t = a;
    a = t + b;
    b = t - b;
}

template <int LANES> __device__ inline void across_lanes(float (&x)[CHUNKS][4])
{
#pragma unroll
    for (int mask = 1; mask < LANES; mask *= 2) {
        float sign = threadIdx.x & mask ? -1.0f : 1.0f;
#pragma unroll
        for (int c = 0; c < CHUNKS; c++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                x[c][e] = sign * x[c][e] + __shfl_xor_sync(0xffffffffu, x[c][e], mask);
    }
}

__global__ void k94c(float *out, const float *in)
{
    __shared__ float4 s[CHUNKS][WARPS * 33];
    const int t = threadIdx.x;
    const float4 *src = reinterpret_cast<const float4 *>(in + (size_t)blockIdx.x * LENGTH);
    float4 *dst = reinterpret_cast<float4 *>(out + (size_t)blockIdx.x * LENGTH);
    float x[CHUNKS][4];
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        float4 v = src[c * ROW_THREADS + t];
        x[c][0] = v.x, x[c][1] = v.y, x[c][2] = v.z, x[c][3] = v.w;
    }

#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        butterfly(x[c][0], x[c][1]);
        butterfly(x[c][2], x[c][3]);
        butterfly(x[c][0], x[c][2]);
        butterfly(x[c][1], x[c][3]);
    }
    across_lanes<32>(x);

    const int mine = t / 32 * 33 + t % 32, turned = t % WARPS * 33 + t / WARPS;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        s[c][mine] = make_float4(x[c][0], x[c][1], x[c][2], x[c][3]);
    __syncthreads();
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        float4 v = s[c][turned];
        x[c][0] = v.x, x[c][1] = v.y, x[c][2] = v.z, x[c][3] = v.w;
    }
    across_lanes<WARPS>(x);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        s[c][turned] = make_float4(x[c][0], x[c][1], x[c][2], x[c][3]);
    __syncthreads();
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        float4 v = s[c][mine];
        x[c][0] = v.x, x[c][1] = v.y, x[c][2] = v.z, x[c][3] = v.w;
    }
#pragma unroll
    for (int e = 0; e < 4; e++)
        butterfly(x[0][e], x[1][e]);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
        dst[c * ROW_THREADS + t] = make_float4(x[c][0], x[c][1], x[c][2], x[c][3]);
}

const int BINS = 4096;

__global__ void k94d(const unsigned *in, unsigned *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&bins[in[i]], 1u);
}

__global__ void k94e(const unsigned *in, unsigned *bins, int n)
{
    __shared__ unsigned mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&mine[in[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&bins[b], mine[b]);
}

__global__ void k94f(const unsigned *in, unsigned *bins, int n)
{
    __shared__ unsigned mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&mine[in[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&bins[b], mine[b]);
}

__global__ void k94g(const uint4 *in, unsigned *bins, int n)
{
    __shared__ unsigned mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        uint4 v = in[i];
        atomicAdd(&mine[v.x], 1u);
        atomicAdd(&mine[v.y], 1u);
        atomicAdd(&mine[v.z], 1u);
        atomicAdd(&mine[v.w], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&bins[b], mine[b]);
}

// Even and odd warps count apart.
__global__ void k94h(const uint4 *in, unsigned *bins, int n)
{
    __shared__ unsigned copies[2][BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        copies[0][b] = copies[1][b] = 0;
    __syncthreads();
    unsigned *mine = copies[threadIdx.x / 32 % 2];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        uint4 v = in[i];
        atomicAdd(&mine[v.x], 1u);
        atomicAdd(&mine[v.y], 1u);
        atomicAdd(&mine[v.z], 1u);
        atomicAdd(&mine[v.w], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        atomicAdd(&bins[b], copies[0][b] + copies[1][b]);
}

int main()
{
    const int rows = 16384;
    const size_t total = (size_t)rows * LENGTH;
    float *in = input<float>(total, 941, -1.0, 1.0), *out = output<float>(total);
    // Every 43rd row: 0, 43, ..., 16383.
    const int every = 43, chosen = (rows - 1) / every + 1;
    const size_t bytes = LENGTH * sizeof(float);
    float *picked = output<float>((size_t)chosen * LENGTH);
    MUST(cudaMemcpy2D(picked, bytes, in, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
    std::vector<float> want = on_host(picked, (size_t)chosen * LENGTH);
    for (int r = 0; r < chosen; r++) {
        float *v = &want[(size_t)r * LENGTH];
        for (int stride = 1; stride < LENGTH; stride *= 2)
            for (int i = 0; i < LENGTH; i++)
                if (!(i & stride)) {
                    float a = v[i], b = v[i + stride];
                    v[i] = a + b;
                    v[i + stride] = a - b;
                }
    }
    auto transform = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, total * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-4);
    };
    transform("k94a", [&] { k94a<<<rows, LENGTH / 2>>>(out, in); });
    transform("k94b", [&] { k94b<<<rows, LENGTH / 4>>>(out, in); });
    transform("k94c", [&] { k94c<<<rows, ROW_THREADS>>>(out, in); });

    const int n = 1 << 25;
    unsigned *numbers = input<unsigned>(n, 942, 0, BINS);
    std::vector<unsigned> counts(BINS, 0);
    {
        std::vector<unsigned> host = on_host(numbers, n);
        for (unsigned v : host)
            counts[v]++;
    }
    unsigned *bins = output<unsigned>(BINS);
    auto count = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(bins, 0, BINS * sizeof(unsigned)));
        launch();
        check(name, bins, counts, 0.0);
    };
    const int block = 512;
    count("k94d", [&] { k94d<<<(n + block - 1) / block, block>>>(numbers, bins, n); });
    count("k94e", [&] { k94e<<<30, block>>>(numbers, bins, n); });
    count("k94f", [&] { k94f<<<132 * 4, block>>>(numbers, bins, n); });
    count("k94g", [&] { k94g<<<132 * 4, block>>>(reinterpret_cast<uint4 *>(numbers), bins, n / 4); });
    count("k94h", [&] { k94h<<<132 * 4, block>>>(reinterpret_cast<uint4 *>(numbers), bins, n / 4); });
    return 0;
}
