// Vector search and image registration: distances of product-quantised vectors to a query, and the joint histogram of two images.
#include "../harness.h"

typedef unsigned char u8;
constexpr int parts = 16, centres = 256;

__global__ void __launch_bounds__(256) k258a(const u8 *codes, const float *table, float *distance, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int p = 0; p < parts; p++)
            sum += table[p * centres + codes[size_t(i) * parts + p]];
        distance[i] = sum;
    }
}

__device__ inline void load_table(float *local, const float *table)
{
    for (int i = threadIdx.x; i < parts * centres; i += blockDim.x)
        local[i] = table[i];
    __syncthreads();
}

__global__ void __launch_bounds__(256) k258b(const u8 *codes, const float *table, float *distance, int n)
{
    __shared__ float local[parts * centres];
    load_table(local, table);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float sum = 0;
#pragma unroll
        for (int p = 0; p < parts; p++)
            sum += local[p * centres + codes[size_t(i) * parts + p]];
        distance[i] = sum;
    }
}

__device__ inline float four(const float *table, unsigned word)
{
    return table[word & 255] + table[centres + (word >> 8 & 255)] + table[2 * centres + (word >> 16 & 255)] +
           table[3 * centres + (word >> 24)];
}

__device__ inline float sixteen(const float *table, uint4 c)
{
    return four(table, c.x) + four(table + 4 * centres, c.y) + four(table + 8 * centres, c.z) + four(table + 12 * centres, c.w);
}

__global__ void __launch_bounds__(256) k258c(const uint4 *codes, const float *table, float *distance, int n)
{
    __shared__ float local[parts * centres];
    load_table(local, table);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        distance[i] = sixteen(local, codes[i]);
}

__global__ void __launch_bounds__(256) k258d(const uint4 *codes, const float *table, float *distance, int n)
{
    __shared__ float local[parts * centres];
    load_table(local, table);
    int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * step) {
        bool second = i + step < n;
        uint4 a = codes[i], b = second ? codes[i + step] : make_uint4(0, 0, 0, 0);
        float da = sixteen(local, a), db = sixteen(local, b);
        distance[i] = da;
        if (second)
            distance[i + step] = db;
    }
}

// Joint histogram: 32 x 32 bins of the grey values of a fixed and a moving image.
constexpr int bins = 32 * 32;

__global__ void __launch_bounds__(256) k258e(const u8 *fixed, const u8 *moving, unsigned *counts, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&counts[(fixed[i] >> 3) * 32 + (moving[i] >> 3)], 1u);
}

__global__ void __launch_bounds__(256) k258f(const u8 *fixed, const u8 *moving, unsigned *counts, int n)
{
    __shared__ unsigned local[bins];
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[(fixed[i] >> 3) * 32 + (moving[i] >> 3)], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        atomicAdd(&counts[i], local[i]);
}

__device__ inline void count_four(unsigned *local, unsigned a, unsigned b)
{
#pragma unroll
    for (int s = 0; s < 32; s += 8)
        atomicAdd(&local[(a >> (s + 3) & 31) * 32 + (b >> (s + 3) & 31)], 1u);
}

__global__ void __launch_bounds__(256) k258g(const uint4 *fixed, const uint4 *moving, unsigned *counts, int n)
{
    __shared__ unsigned local[bins];
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 a = fixed[i], b = moving[i];
        count_four(local, a.x, b.x);
        count_four(local, a.y, b.y);
        count_four(local, a.z, b.z);
        count_four(local, a.w, b.w);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < bins; i += blockDim.x)
        atomicAdd(&counts[i], local[i]);
}

int main()
{
    {
        const int n = 1 << 24;
        u8 *codes = input<u8>(size_t(n) * parts, 1, 0, 256);
        float *table = input<float>(parts * centres, 2, 0, 1), *distance = output<float>(n);
        const uint4 *vectors = reinterpret_cast<const uint4 *>(codes);
        k258a<<<132 * 8, 256>>>(codes, table, distance, n);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(distance, n), ht = on_host(table, parts * centres);
        std::vector<u8> hc = on_host(codes, size_t(n) * parts);
        for (int s = 0; s < 100000; s++) {
            int i = scrambled(s, 3) % n;
            double sum = 0;
            for (int p = 0; p < parts; p++)
                sum += ht[p * centres + hc[size_t(i) * parts + p]];
            if (std::fabs(sum - want[i]) > 1e-4) {
                std::printf("k258a: vector %d is wrong\n", i);
                return 2;
            }
        }
        check("k258a", distance, want, 0);
        MUST(cudaMemset(distance, 0xA5, 4 * size_t(n)));
        k258b<<<132 * 8, 256>>>(codes, table, distance, n);
        check("k258b", distance, want, 1e-5);
        MUST(cudaMemset(distance, 0xA5, 4 * size_t(n)));
        k258c<<<132 * 8, 256>>>(vectors, table, distance, n);
        check("k258c", distance, want, 1e-5);
        MUST(cudaMemset(distance, 0xA5, 4 * size_t(n)));
        k258d<<<132 * 8, 256>>>(vectors, table, distance, n);
        check("k258d", distance, want, 1e-5);
        MUST(cudaFree(codes));
        MUST(cudaFree(distance));
    }
    const int n = 1 << 26;
    u8 *fixed = input<u8>(n, 4, 0, 256), *moving = input<u8>(n, 5, 0, 256);
    unsigned *counts = zeroed<unsigned>(bins);
    std::vector<u8> hf = on_host(fixed, n), hm = on_host(moving, n);
    std::vector<unsigned> want(bins);
    for (int i = 0; i < n; i++)
        want[(hf[i] >> 3) * 32 + (hm[i] >> 3)]++;
    k258e<<<132 * 8, 256>>>(fixed, moving, counts, n);
    check("k258e", counts, want, 0);
    MUST(cudaMemset(counts, 0, 4 * bins));
    k258f<<<132 * 8, 256>>>(fixed, moving, counts, n);
    check("k258f", counts, want, 0);
    MUST(cudaMemset(counts, 0, 4 * bins));
    k258g<<<132 * 8, 256>>>(reinterpret_cast<const uint4 *>(fixed), reinterpret_cast<const uint4 *>(moving), counts, n);
    check("k258g", counts, want, 0);
}
