// Bits set in a bitmap index, and Hamming distances between binary descriptors of 256 bits.
#include "../harness.h"

__device__ inline void add_up(unsigned count, unsigned long long *total)
{
    for (int s = 16; s > 0; s >>= 1)
        count += __shfl_down_sync(0xffffffffu, count, s);
    if ((threadIdx.x & 31) == 0)
        atomicAdd(total, (unsigned long long)count);
}

__global__ void k15a(const unsigned *__restrict__ bitmap, unsigned long long *total, unsigned n)
{
    unsigned count = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned w = bitmap[i];
        for (int b = 0; b < 32; b++) {
            if (w & 1)
                count++;
            w >>= 1;
        }
    }
    add_up(count, total);
}

__global__ void k15b(const unsigned *__restrict__ bitmap, unsigned long long *total, unsigned n)
{
    unsigned count = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        count += __popc(bitmap[i]);
    add_up(count, total);
}

__global__ void k15c(const unsigned *__restrict__ bitmap, unsigned long long *total, unsigned n)
{
    const unsigned threads = gridDim.x * blockDim.x;
    unsigned count = 0, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 7 * threads < n; i += 8 * threads) {
        unsigned w[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            w[k] = bitmap[i + k * threads];
#pragma unroll
        for (int k = 0; k < 8; k++)
            count += __popc(w[k]);
    }
    for (; i < n; i += threads)
        count += __popc(bitmap[i]);
    add_up(count, total);
}

typedef unsigned long long u64;

__global__ void k15d(const u64 *__restrict__ base, const u64 *__restrict__ query, unsigned short *__restrict__ dist,
                     int n, int queries)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int q = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || q >= queries)
        return;
    int d = 0;
    for (int k = 0; k < 4; k++)
        d += __popcll(base[i * 4 + k] ^ query[q * 4 + k]);
    dist[(size_t)q * n + i] = (unsigned short)d;
}

__global__ void k15e(const u64 *__restrict__ base, const u64 *__restrict__ query, unsigned short *__restrict__ dist,
                     int n, int per_block)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const u64 b0 = base[i * 4], b1 = base[i * 4 + 1], b2 = base[i * 4 + 2], b3 = base[i * 4 + 3];
    const int first = blockIdx.y * per_block;
    for (int q = first; q < first + per_block; q++) {
        const u64 *c = query + q * 4;
        int d = __popcll(b0 ^ c[0]) + __popcll(b1 ^ c[1]) + __popcll(b2 ^ c[2]) + __popcll(b3 ^ c[3]);
        dist[(size_t)q * n + i] = (unsigned short)d;
    }
}

__device__ __forceinline__ void sum3(unsigned a, unsigned b, unsigned c, unsigned &one, unsigned &two)
{
    one = a ^ b ^ c;
    two = (a & b) | (c & (a | b));
}

__global__ void k15f(const u64 *__restrict__ base, const u64 *__restrict__ query, unsigned short *__restrict__ dist,
                     int n, int per_block)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const u64 b0 = base[i * 4], b1 = base[i * 4 + 1], b2 = base[i * 4 + 2], b3 = base[i * 4 + 3];
    const int first = blockIdx.y * per_block;
    for (int q = first; q < first + per_block; q++) {
        const u64 *c = query + q * 4;
        const u64 x0 = b0 ^ c[0], x1 = b1 ^ c[1], x2 = b2 ^ c[2], x3 = b3 ^ c[3];
        unsigned s0, s1, s2, t0, t1, t2, u, f;
        sum3((unsigned)x0, (unsigned)(x0 >> 32), (unsigned)x1, s0, t0);
        sum3((unsigned)(x1 >> 32), (unsigned)x2, (unsigned)(x2 >> 32), s1, t1);
        sum3(s0, s1, (unsigned)x3, s2, t2);
        sum3(t0, t1, t2, u, f);
        int d = __popc(s2) + __popc((unsigned)(x3 >> 32)) + 2 * __popc(u) + 4 * __popc(f);
        dist[(size_t)q * n + i] = (unsigned short)d;
    }
}

int main()
{
    {
        const unsigned n = 100000007;
        unsigned *bitmap = input<unsigned>(n, 1, 0.0, 4294967296.0);
        u64 *total = zeroed<u64>(3);
        std::vector<unsigned> host = on_host(bitmap, n);
        u64 bits = 0;
        for (unsigned w : host)
            bits += __builtin_popcount(w);
        std::vector<u64> want = {bits};
        k15a<<<132 * 8, 256>>>(bitmap, total, n);
        check("k15a", total, want, 0.0);
        k15b<<<132 * 8, 256>>>(bitmap, total + 1, n);
        check("k15b", total + 1, want, 0.0);
        k15c<<<132 * 8, 256>>>(bitmap, total + 2, n);
        check("k15c", total + 2, want, 0.0);
        MUST(cudaFree(bitmap));
    }
    const int n = 100000, queries = 400;
    unsigned *base = input<unsigned>((size_t)n * 8, 2, 0.0, 4294967296.0);
    unsigned *query = input<unsigned>((size_t)queries * 8, 3, 0.0, 4294967296.0);
    unsigned short *dist = output<unsigned short>((size_t)n * queries);
    std::vector<unsigned> hb = on_host(base, (size_t)n * 8), hq = on_host(query, (size_t)queries * 8);
    std::vector<unsigned short> sample, got, want;
    for (int q = 0; q < queries; q += 57)
        for (int i = 0; i < n; i++) {
            int d = 0;
            for (int k = 0; k < 8; k++)
                d += __builtin_popcount(hb[(size_t)i * 8 + k] ^ hq[q * 8 + k]);
            sample.push_back((unsigned short)d);
        }
    const u64 *b = reinterpret_cast<const u64 *>(base), *c = reinterpret_cast<const u64 *>(query);
    k15d<<<dim3((n + 31) / 32, queries / 8), dim3(32, 8)>>>(b, c, dist, n, queries);
    MUST(cudaGetLastError());
    want = on_host(dist, (size_t)n * queries);
    for (int q = 0; q < queries; q += 57)
        got.insert(got.end(), want.begin() + (size_t)q * n, want.begin() + (size_t)(q + 1) * n);
    check("k15d", on_device(got), sample, 0.0);
    MUST(cudaMemset(dist, 0xA5, want.size() * sizeof(unsigned short)));
    k15e<<<dim3((n + 127) / 128, 8), 128>>>(b, c, dist, n, queries / 8);
    check("k15e", dist, want, 0.0);
    MUST(cudaMemset(dist, 0xA5, want.size() * sizeof(unsigned short)));
    k15f<<<dim3((n + 127) / 128, 8), 128>>>(b, c, dist, n, queries / 8);
    check("k15f", dist, want, 0.0);
    return 0;
}
