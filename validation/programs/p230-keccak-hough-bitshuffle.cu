// Three problems: SHA3-256 of many messages of 64 bytes, the accumulator of a Hough transform for lines, and the
// transposition of the bits of groups of 32 words (as bit-shuffling compressors do).
#include "../harness.h"

typedef unsigned long long u64;

// ---- SHA3-256, one message of 64 bytes per thread ----
__constant__ u64 round_constant[24] = {
    0x0000000000000001ull, 0x0000000000008082ull, 0x800000000000808aull, 0x8000000080008000ull, 0x000000000000808bull,
    0x0000000080000001ull, 0x8000000080008081ull, 0x8000000000008009ull, 0x000000000000008aull, 0x0000000000000088ull,
    0x0000000080008009ull, 0x000000008000000aull, 0x000000008000808bull, 0x800000000000008bull, 0x8000000000008089ull,
    0x8000000000008003ull, 0x8000000000008002ull, 0x8000000000000080ull, 0x000000000000800aull, 0x800000008000000aull,
    0x8000000080008081ull, 0x8000000000008080ull, 0x0000000080000001ull, 0x8000000080008008ull};
__constant__ int rotation[24] = {1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44};
__constant__ int lane_order[24] = {10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1};

__device__ inline u64 rotl(u64 x, int n)
{
    return x << n | x >> (64 - n);
}

__global__ void k230a(const u64 *__restrict__ messages, u64 *__restrict__ digests, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count)
        return;
    u64 st[25], bc[5];
    for (int i = 0; i < 25; i++)
        st[i] = i < 8 ? messages[(size_t)id * 8 + i] : 0;
    st[8] ^= 0x06;
    st[16] ^= 0x8000000000000000ull;
    for (int r = 0; r < 24; r++) {
        for (int i = 0; i < 5; i++)
            bc[i] = st[i] ^ st[i + 5] ^ st[i + 10] ^ st[i + 15] ^ st[i + 20];
        for (int i = 0; i < 5; i++) {
            u64 t = bc[(i + 4) % 5] ^ rotl(bc[(i + 1) % 5], 1);
            for (int j = 0; j < 25; j += 5)
                st[j + i] ^= t;
        }
        u64 t = st[1];
        for (int i = 0; i < 24; i++) {
            int j = lane_order[i];
            u64 next = st[j];
            st[j] = rotl(t, rotation[i]);
            t = next;
        }
        for (int j = 0; j < 25; j += 5) {
            for (int i = 0; i < 5; i++)
                bc[i] = st[j + i];
            for (int i = 0; i < 5; i++)
                st[j + i] ^= ~bc[(i + 1) % 5] & bc[(i + 2) % 5];
        }
        st[0] ^= round_constant[r];
    }
    for (int i = 0; i < 4; i++)
        digests[(size_t)id * 4 + i] = st[i];
}

__device__ __forceinline__ void keccak_round(u64 (&st)[25], u64 constant)
{
    constexpr int rot[24] = {1,  3,  6,  10, 15, 21, 28, 36, 45, 55, 2,  14,
                             27, 41, 56, 8,  25, 43, 62, 18, 39, 61, 20, 44};
    constexpr int order[24] = {10, 7,  11, 17, 18, 3, 5,  16, 8,  21, 24, 4,
                               15, 23, 19, 13, 12, 2, 20, 14, 22, 9,  6,  1};
    u64 bc[5];
#pragma unroll
    for (int i = 0; i < 5; i++)
        bc[i] = st[i] ^ st[i + 5] ^ st[i + 10] ^ st[i + 15] ^ st[i + 20];
#pragma unroll
    for (int i = 0; i < 5; i++) {
        u64 t = bc[(i + 4) % 5] ^ rotl(bc[(i + 1) % 5], 1);
#pragma unroll
        for (int j = 0; j < 25; j += 5)
            st[j + i] ^= t;
    }
    u64 t = st[1];
#pragma unroll
    for (int i = 0; i < 24; i++) {
        u64 next = st[order[i]];
        st[order[i]] = rotl(t, rot[i]);
        t = next;
    }
#pragma unroll
    for (int j = 0; j < 25; j += 5) {
#pragma unroll
        for (int i = 0; i < 5; i++)
            bc[i] = st[j + i];
#pragma unroll
        for (int i = 0; i < 5; i++)
            st[j + i] ^= ~bc[(i + 1) % 5] & bc[(i + 2) % 5];
    }
    st[0] ^= constant;
}

__global__ void k230b(const u64 *__restrict__ messages, u64 *__restrict__ digests, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= count)
        return;
    u64 st[25];
#pragma unroll
    for (int i = 0; i < 25; i++)
        st[i] = i < 8 ? messages[(size_t)id * 8 + i] : 0;
    st[8] ^= 0x06;
    st[16] ^= 0x8000000000000000ull;
#pragma unroll 2
    for (int r = 0; r < 24; r++)
        keccak_round(st, round_constant[r]);
#pragma unroll
    for (int i = 0; i < 4; i++)
        digests[(size_t)id * 4 + i] = st[i];
}

// blocks of 256 threads, count a multiple of 256
__global__ void k230c(const u64 *__restrict__ messages, u64 *__restrict__ digests)
{
    __shared__ u64 stage[256 * 9];
    const u64 *from = messages + (size_t)blockIdx.x * 256 * 8;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        int i = k * 256 + threadIdx.x;
        stage[i / 8 * 9 + i % 8] = from[i];
    }
    __syncthreads();
    u64 st[25];
#pragma unroll
    for (int i = 0; i < 25; i++)
        st[i] = i < 8 ? stage[threadIdx.x * 9 + i] : 0;
    st[8] ^= 0x06;
    st[16] ^= 0x8000000000000000ull;
#pragma unroll 2
    for (int r = 0; r < 24; r++)
        keccak_round(st, round_constant[r]);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++)
        stage[threadIdx.x * 5 + i] = st[i];
    __syncthreads();
    u64 *to = digests + (size_t)blockIdx.x * 256 * 4;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int i = k * 256 + threadIdx.x;
        to[i] = stage[i / 4 * 5 + i % 4];
    }
}

// ---- Hough transform: every edge pixel votes in 180 directions ----
constexpr int side = 4096, directions = 180, reach = 5793, bins = 2 * reach;

__device__ inline int distance_bin(ushort2 p, float c, float s)
{
    return __float2int_rn(__fmaf_rn(p.x, c, __fmul_rn(p.y, s))) + reach;
}

__global__ void k230d(const ushort2 *__restrict__ points, int count, int *__restrict__ votes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    ushort2 p = points[i];
    for (int t = 0; t < directions; t++) {
        float angle = t * 0.01745329252f;
        atomicAdd(&votes[t * bins + distance_bin(p, cosf(angle), sinf(angle))], 1);
    }
}

__global__ void k230e(const ushort2 *__restrict__ points, int count, int *__restrict__ votes)
{
    __shared__ int local[bins];
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    float angle = blockIdx.x * 0.01745329252f;
    float c = cosf(angle), s = sinf(angle);
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        atomicAdd(&local[distance_bin(points[i], c, s)], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (local[b])
            atomicAdd(&votes[blockIdx.x * bins + b], local[b]);
}

__global__ void k230f(const ushort2 *__restrict__ points, int count, int *__restrict__ votes)
{
    __shared__ int local[bins];
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        local[b] = 0;
    __syncthreads();
    float angle = blockIdx.x * 0.01745329252f;
    float c = cosf(angle), s = sinf(angle);
    for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < count; i += gridDim.y * blockDim.x)
        atomicAdd(&local[distance_bin(points[i], c, s)], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < bins; b += blockDim.x)
        if (local[b])
            atomicAdd(&votes[blockIdx.x * bins + b], local[b]);
}

// ---- word k of a group's output holds bit k of each of the 32 words of the group ----
__global__ void k230g(const unsigned *__restrict__ in, unsigned *__restrict__ out, int words)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= words)
        return;
    int bit = i % 32;
    const unsigned *group = in + (i - bit);
    unsigned result = 0;
    for (int j = 0; j < 32; j++)
        result |= (group[j] >> bit & 1u) << j;
    out[i] = result;
}

__device__ inline unsigned exchange(unsigned v, int step, unsigned low, bool upper)
{
    unsigned other = __shfl_xor_sync(0xffffffffu, v, step);
    return upper ? (v & ~low) | (other >> step & low) : (v & low) | (other << step & ~low);
}

// four groups per warp; words is a multiple of 1024
__global__ void k230h(const unsigned *__restrict__ in, unsigned *__restrict__ out)
{
    int lane = threadIdx.x % 32;
    size_t first = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32 * 128 + lane;
    unsigned v[4];
#pragma unroll
    for (int g = 0; g < 4; g++)
        v[g] = in[first + g * 32];
#pragma unroll
    for (int g = 0; g < 4; g++) {
        v[g] = exchange(v[g], 16, 0x0000ffffu, lane & 16);
        v[g] = exchange(v[g], 8, 0x00ff00ffu, lane & 8);
        v[g] = exchange(v[g], 4, 0x0f0f0f0fu, lane & 4);
        v[g] = exchange(v[g], 2, 0x33333333u, lane & 2);
        v[g] = exchange(v[g], 1, 0x55555555u, lane & 1);
    }
#pragma unroll
    for (int g = 0; g < 4; g++)
        out[first + g * 32] = v[g];
}

int main()
{
    {
        const int count = 1 << 20;
        u64 *messages = (u64 *)input<unsigned>((size_t)count * 16, 1, 0, 4294967295.0);
        u64 *digests = output<u64>((size_t)count * 4);
        k230a<<<count / 128, 128>>>(messages, digests, count);
        MUST(cudaDeviceSynchronize());
        // compared as 32-bit words, which a double holds exactly
        std::vector<unsigned> want = on_host((unsigned *)digests, (size_t)count * 8);
        check("k230a", (unsigned *)digests, want, 0);
        MUST(cudaFree(digests));
        digests = output<u64>((size_t)count * 4);
        k230b<<<count / 128, 128>>>(messages, digests, count);
        check("k230b", (unsigned *)digests, want, 0);
        MUST(cudaFree(digests));
        digests = output<u64>((size_t)count * 4);
        k230c<<<count / 256, 256>>>(messages, digests);
        check("k230c", (unsigned *)digests, want, 0);
        MUST(cudaFree(digests));
        MUST(cudaFree(messages));
    }
    {
        const int count = 1 << 20;
        std::vector<ushort2> list(count);
        for (int i = 0; i < count; i++)
            list[i] = make_ushort2(scrambled(i, 5) % side, (unsigned)((long long)i * side / count));
        ushort2 *points = on_device(list);
        int *votes = zeroed<int>(directions * bins);
        k230d<<<(count + 255) / 256, 256>>>(points, count, votes);
        MUST(cudaDeviceSynchronize());
        std::vector<int> want = on_host(votes, directions * bins);
        check("k230d", votes, want, 0);
        MUST(cudaFree(votes));
        votes = zeroed<int>(directions * bins);
        k230e<<<directions, 1024>>>(points, count, votes);
        check("k230e", votes, want, 0);
        MUST(cudaFree(votes));
        votes = zeroed<int>(directions * bins);
        k230f<<<dim3(directions, 10), 1024>>>(points, count, votes);
        check("k230f", votes, want, 0);
        MUST(cudaFree(votes));
        MUST(cudaFree(points));
    }
    {
        const int words = 1 << 26;
        unsigned *in = input<unsigned>(words, 3, 0, 4294967295.0);
        unsigned *out = output<unsigned>(words);
        k230g<<<words / 256, 256>>>(in, out, words);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned> want = on_host(out, words);
        check("k230g", out, want, 0);
        MUST(cudaFree(out));
        out = output<unsigned>(words);
        k230h<<<words / 1024, 256>>>(in, out);
        check("k230h", out, want, 0);
    }
    return 0;
}
