// Sum of a hundred million floats, counting up to a square root, and a block cipher of 64 bits.
#include "../harness.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

const int BLOCK = 128;

__global__ void k40a(const float *x, float *y, int n)
{
    __shared__ float part[BLOCK];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    part[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();

    for (int offset = blockDim.x >> 1; offset > 0; offset >>= 1) {
        if (tid < offset)
            part[tid] += part[tid + offset];
        __syncthreads();
    }
    if (tid == 0)
        y[blockIdx.x] = part[0];
}

__global__ void k40b(const float *x, float *y, int n)
{
    __shared__ float part[BLOCK];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    part[tid] = i < n ? x[i] : 0.0f;
    __syncthreads();

    for (int offset = blockDim.x >> 1; offset >= 32; offset >>= 1) {
        if (tid < offset)
            part[tid] += part[tid + offset];
        __syncthreads();
    }
    float sum = part[tid];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (tid == 0)
        y[blockIdx.x] = sum;
}

__global__ void k40c(const float *x, float *y, int n)
{
    __shared__ float part[BLOCK];
    const int tid = threadIdx.x;
    const int stride = blockDim.x * gridDim.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += stride)
        sum += x[i];
    part[tid] = sum;
    __syncthreads();

    for (int offset = blockDim.x >> 1; offset >= 32; offset >>= 1) {
        if (tid < offset)
            part[tid] += part[tid + offset];
        __syncthreads();
    }
    sum = part[tid];
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    for (int offset = warp.size() >> 1; offset > 0; offset >>= 1)
        sum += warp.shfl_down(sum, offset);
    if (tid == 0)
        y[blockIdx.x] = sum;
}

template <class real> __device__ void count_up(real *x, real limit, int n)
{
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) {
        real value = x[i];
        while (sqrt(value) < limit)
            ++value;
        x[i] = value;
    }
}

__global__ void k40d(double *x, double limit, int n)
{
    count_up<double>(x, limit, n);
}

__global__ void k40e(float *x, float limit, int n)
{
    count_up<float>(x, limit, n);
}

const int KEYS = 52, CHUNK = 8;
__constant__ int keys[KEYS];

__host__ __device__ inline long times(long a, long b)
{
    return (a * b % 0x10001L) & 0xffff;
}

__host__ __device__ inline void cipher(const signed char *plain, signed char *crypt, const int *key)
{
    long x1 = (plain[0] & 0xff) | (plain[1] & 0xff) << 8;
    long x2 = (plain[2] & 0xff) | (plain[3] & 0xff) << 8;
    long x3 = (plain[4] & 0xff) | (plain[5] & 0xff) << 8;
    long x4 = (plain[6] & 0xff) | (plain[7] & 0xff) << 8;
    long at = 0, rounds = 8;
    do {
        x1 = times(x1, key[at++]);
        x2 = (x2 + key[at++]) & 0xffff;
        x3 = (x3 + key[at++]) & 0xffff;
        x4 = times(x4, key[at++]);
        long t2 = times(x1 ^ x3, key[at++]);
        long t1 = times((t2 + (x2 ^ x4)) & 0xffff, key[at++]);
        t2 = (t1 + t2) & 0xffff;
        x1 ^= t1;
        x4 ^= t2;
        t2 ^= x2;
        x2 = x3 ^ t1;
        x3 = t2;
    } while (--rounds != 0);
    x1 = times(x1, key[at++]);
    x3 = (x3 + key[at++]) & 0xffff;
    x2 = (x2 + key[at++]) & 0xffff;
    x4 = times(x4, key[at++]);

    crypt[0] = (signed char)x1;
    crypt[1] = (signed char)(x1 >> 8);
    crypt[2] = (signed char)x3;
    crypt[3] = (signed char)(x3 >> 8);
    crypt[4] = (signed char)x2;
    crypt[5] = (signed char)(x2 >> 8);
    crypt[6] = (signed char)x4;
    crypt[7] = (signed char)(x4 >> 8);
}

__global__ void k40f(const signed char *plain, signed char *crypt, int chunks)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < chunks; i += blockDim.x * gridDim.x)
        cipher(plain + i * CHUNK, crypt + i * CHUNK, keys);
}

// The product of two numbers of 16 bits modulo 65,537 by the difference of its halves.
__device__ inline unsigned halves(unsigned a, unsigned b)
{
    unsigned product = a * b;
    unsigned low = product & 0xffff, high = product >> 16;
    return (low - high + (low < high)) & 0xffff;
}

__device__ inline void eight_rounds(unsigned &x1, unsigned &x2, unsigned &x3, unsigned &x4)
{
#pragma unroll
    for (int round = 0; round < 8; round++) {
        const int *key = keys + 6 * round;
        x1 = halves(x1, key[0]);
        x2 = (x2 + key[1]) & 0xffff;
        x3 = (x3 + key[2]) & 0xffff;
        x4 = halves(x4, key[3]);
        unsigned t2 = halves(x1 ^ x3, key[4]);
        unsigned t1 = halves((t2 + (x2 ^ x4)) & 0xffff, key[5]);
        t2 = (t1 + t2) & 0xffff;
        x1 ^= t1;
        x4 ^= t2;
        t2 ^= x2;
        x2 = x3 ^ t1;
        x3 = t2;
    }
    x1 = halves(x1, keys[48]);
    x3 = (x3 + keys[49]) & 0xffff;
    x2 = (x2 + keys[50]) & 0xffff;
    x4 = halves(x4, keys[51]);
}

__global__ void k40g(const signed char *plain, signed char *crypt, int chunks)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < chunks; i += blockDim.x * gridDim.x) {
        const signed char *from = plain + i * CHUNK;
        unsigned x1 = (from[0] & 0xff) | (from[1] & 0xff) << 8;
        unsigned x2 = (from[2] & 0xff) | (from[3] & 0xff) << 8;
        unsigned x3 = (from[4] & 0xff) | (from[5] & 0xff) << 8;
        unsigned x4 = (from[6] & 0xff) | (from[7] & 0xff) << 8;
        eight_rounds(x1, x2, x3, x4);
        signed char *to = crypt + i * CHUNK;
        to[0] = (signed char)x1;
        to[1] = (signed char)(x1 >> 8);
        to[2] = (signed char)x3;
        to[3] = (signed char)(x3 >> 8);
        to[4] = (signed char)x2;
        to[5] = (signed char)(x2 >> 8);
        to[6] = (signed char)x4;
        to[7] = (signed char)(x4 >> 8);
    }
}

__global__ void k40h(const uint2 *plain, uint2 *crypt, int chunks)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < chunks; i += blockDim.x * gridDim.x) {
        uint2 chunk = plain[i];
        unsigned x1 = chunk.x & 0xffff, x2 = chunk.x >> 16, x3 = chunk.y & 0xffff, x4 = chunk.y >> 16;
        eight_rounds(x1, x2, x3, x4);
        crypt[i] = make_uint2(x1 | x3 << 16, x2 | x4 << 16);
    }
}

void sums()
{
    const int n = 100000000;
    float *x = input<float>(n, 401, 0.0, 2.46);
    std::vector<double> want(1, 0.0);
    {
        std::vector<float> host = on_host(x, n);
        for (int i = 0; i < n; i++)
            want[0] += host[i];
    }
    auto run = [&](const char *name, void (*kernel)(const float *, float *, int), int blocks) {
        float *y = output<float>(blocks);
        kernel<<<blocks, BLOCK>>>(x, y, n);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> parts = on_host(y, blocks);
        std::vector<double> total(1, 0.0);
        for (int b = 0; b < blocks; b++)
            total[0] += parts[b];
        double *sum = on_device(total);
        check(name, sum, want, 2e-7);
        MUST(cudaFree(sum));
        MUST(cudaFree(y));
    };
    run("k40a", k40a, (n + BLOCK - 1) / BLOCK);
    run("k40b", k40b, (n + BLOCK - 1) / BLOCK);
    run("k40c", k40c, 10240);
    MUST(cudaFree(x));
}

void roots()
{
    const int n = 1 << 18;
    double *d = zeroed<double>(n);
    float *f = zeroed<float>(n);
    k40d<<<n / BLOCK, BLOCK>>>(d, 100.0, n);
    check("k40d", d, std::vector<double>(n, 10000.0), 0.0);
    k40e<<<n / BLOCK, BLOCK>>>(f, 100.0f, n);
    check("k40e", f, std::vector<float>(n, 10000.0f), 0.0);
}

void ciphers()
{
    const int chunks = 1 << 22, checked = 1 << 19;
    const size_t bytes = (size_t)chunks * CHUNK;
    std::vector<int> key(KEYS);
    for (int k = 0; k < KEYS; k++)
        key[k] = scrambled(k, 402) & 0xffff;
    MUST(cudaMemcpyToSymbol(keys, key.data(), KEYS * sizeof(int)));
    signed char *plain = input<signed char>(bytes, 403, -128.0, 128.0);
    signed char *crypt = output<signed char>(bytes);

    // The first 2^19 chunks against the host, then all of the other results against the first.
    std::vector<signed char> head = on_host(plain, (size_t)checked * CHUNK), want(head.size());
    for (int i = 0; i < checked; i++)
        cipher(&head[(size_t)i * CHUNK], &want[(size_t)i * CHUNK], key.data());

    k40f<<<chunks / 512, 512>>>(plain, crypt, chunks);
    check("k40f", crypt, want, 0.0);

    std::vector<signed char> all = on_host(crypt, bytes);
    MUST(cudaMemset(crypt, 0xA5, bytes));
    k40g<<<chunks / 512, 512>>>(plain, crypt, chunks);
    check("k40g", crypt, all, 0.0);
    MUST(cudaMemset(crypt, 0xA5, bytes));
    k40h<<<chunks / 512, 512>>>(reinterpret_cast<const uint2 *>(plain), reinterpret_cast<uint2 *>(crypt), chunks);
    check("k40h", crypt, all, 0.0);
}

int main()
{
    sums();
    roots();
    ciphers();
    return 0;
}
