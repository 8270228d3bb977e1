// Compressed data: BC1 texture blocks to RGBA pixels, and base and bit width of frames of 128 integers.
#include "../harness.h"

__host__ __device__ inline unsigned expand565(unsigned c)
{
    unsigned r = c >> 11, g = c >> 5 & 63, b = c & 31;
    return (r << 3 | r >> 2) | (g << 2 | g >> 4) << 8 | (b << 3 | b >> 2) << 16 | 0xFF000000u;
}

__host__ __device__ inline unsigned mix(unsigned a, unsigned b, unsigned wa, unsigned wb, unsigned divisor3)
{
    unsigned out = 0xFF000000u;
    for (int s = 0; s < 24; s += 8) {
        unsigned v = wa * (a >> s & 255) + wb * (b >> s & 255);
        out |= (divisor3 ? v / 3 : v / 2) << s;
    }
    return out;
}

struct Palette {
    unsigned p0, p1, p2, p3;
    __host__ __device__ explicit Palette(unsigned ends)
    {
        unsigned c0 = ends & 0xFFFF, c1 = ends >> 16;
        p0 = expand565(c0);
        p1 = expand565(c1);
        bool four = c0 > c1;
        p2 = four ? mix(p0, p1, 2, 1, 1) : mix(p0, p1, 1, 1, 0);
        p3 = four ? mix(p0, p1, 1, 2, 1) : 0;
    }
    __host__ __device__ unsigned operator[](unsigned code) const
    {
        unsigned even = code & 2 ? p2 : p0, odd = code & 2 ? p3 : p1;
        return code & 1 ? odd : even;
    }
};

__device__ inline void decode_block(uint2 block, unsigned *pixels, int width)
{
    Palette palette(block.x);
#pragma unroll
    for (int y = 0; y < 4; y++) {
        unsigned codes = block.y >> 8 * y;
        *reinterpret_cast<uint4 *>(pixels + size_t(y) * width) =
            make_uint4(palette[codes & 3], palette[codes >> 2 & 3], palette[codes >> 4 & 3], palette[codes >> 6 & 3]);
    }
}

__global__ void k254a(const uint2 *blocks, unsigned *pixels, int columns)
{
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x), row = blockIdx.y * blockDim.y + threadIdx.y;
    for (int c = first; c < first + 8; c++)
        decode_block(blocks[size_t(row) * columns + c], pixels + size_t(row) * 16 * columns + 4 * c, 4 * columns);
}

__global__ void k254b(const uint2 *blocks, unsigned *pixels, int columns)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    uint2 block = blocks[size_t(y / 4) * columns + x / 4];
    Palette palette(block.x);
    pixels[size_t(y) * 4 * columns + x] = palette[block.y >> 2 * (4 * (y & 3) + (x & 3)) & 3];
}

__global__ void k254c(const uint2 *blocks, unsigned *pixels, int columns)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    decode_block(blocks[size_t(row) * columns + c], pixels + size_t(row) * 16 * columns + 4 * c, 4 * columns);
}

// Frame of reference: smallest value of 128 and the bits that the largest difference needs.
__global__ void k254d(const int *values, int2 *frames)
{
    __shared__ int low[128], high[128];
    int t = threadIdx.x;
    low[t] = high[t] = values[size_t(blockIdx.x) * 128 + t];
    __syncthreads();
    for (int step = 64; step > 0; step >>= 1) {
        if (t < step) {
            low[t] = min(low[t], low[t + step]);
            high[t] = max(high[t], high[t + step]);
        }
        __syncthreads();
    }
    if (t == 0)
        frames[blockIdx.x] = make_int2(low[0], 32 - __clz(high[0] - low[0]));
}

__global__ void k254e(const int *values, int2 *frames)
{
    __shared__ int low[4], high[4];
    int t = threadIdx.x, a = values[size_t(blockIdx.x) * 128 + t], b = a;
    for (int step = 16; step > 0; step >>= 1) {
        a = min(a, __shfl_xor_sync(~0u, a, step));
        b = max(b, __shfl_xor_sync(~0u, b, step));
    }
    if (t % 32 == 0) {
        low[t / 32] = a;
        high[t / 32] = b;
    }
    __syncthreads();
    if (t == 0) {
        a = min(min(low[0], low[1]), min(low[2], low[3]));
        b = max(max(high[0], high[1]), max(high[2], high[3]));
        frames[blockIdx.x] = make_int2(a, 32 - __clz(b - a));
    }
}

__global__ void k254f(const int *values, int2 *frames)
{
    int frame = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int4 v = reinterpret_cast<const int4 *>(values)[size_t(frame) * 32 + lane];
    int a = min(min(v.x, v.y), min(v.z, v.w)), b = max(max(v.x, v.y), max(v.z, v.w));
    for (int step = 16; step > 0; step >>= 1) {
        a = min(a, __shfl_xor_sync(~0u, a, step));
        b = max(b, __shfl_xor_sync(~0u, b, step));
    }
    if (lane == 0)
        frames[frame] = make_int2(a, 32 - __clz(b - a));
}

__global__ void k254g(const int *__restrict__ values, int2 *__restrict__ frames)
{
    int frame = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int4 v = __ldg(reinterpret_cast<const int4 *>(values) + size_t(frame) * 32 + lane);
    int a = min(min(v.x, v.y), min(v.z, v.w)), b = max(max(v.x, v.y), max(v.z, v.w));
    for (int step = 16; step > 0; step >>= 1) {
        a = min(a, __shfl_xor_sync(~0u, a, step));
        b = max(b, __shfl_xor_sync(~0u, b, step));
    }
    if (lane == 0)
        frames[frame] = make_int2(a, 32 - __clz(b - a));
}

int main()
{
    {
        const int columns = 2048, rows = 2048;
        const size_t count = size_t(columns) * rows, bytes = count * 64;
        unsigned *words = input<unsigned>(2 * count, 1, 0, 4294967296.0), *pixels = output<unsigned>(16 * count);
        const uint2 *blocks = reinterpret_cast<const uint2 *>(words);
        k254a<<<dim3(columns / 8 / 64, rows / 4), dim3(64, 4)>>>(blocks, pixels, columns);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned> want = on_host(pixels, 16 * count), host = on_host(words, 2 * count);
        for (int s = 0; s < 100000; s++) {
            unsigned x = scrambled(s, 2) % (4 * columns), y = scrambled(s, 3) % (4 * rows);
            size_t b = size_t(y / 4) * columns + x / 4;
            Palette palette(host[2 * b]);
            if (palette[host[2 * b + 1] >> 2 * (4 * (y % 4) + x % 4) & 3] != want[size_t(y) * 4 * columns + x]) {
                std::printf("k254a: pixel %u %u is wrong\n", x, y);
                return 2;
            }
        }
        check("k254a", pixels, want, 0);
        MUST(cudaMemset(pixels, 0xA5, bytes));
        k254b<<<dim3(columns * 4 / 64, rows), dim3(64, 4)>>>(blocks, pixels, columns);
        check("k254b", pixels, want, 0);
        MUST(cudaMemset(pixels, 0xA5, bytes));
        k254c<<<dim3(columns / 64, rows / 4), dim3(64, 4)>>>(blocks, pixels, columns);
        check("k254c", pixels, want, 0);
        MUST(cudaFree(words));
        MUST(cudaFree(pixels));
    }
    const int count = 1 << 19;
    int *values = input<int>(size_t(count) * 128, 4, -1000000, 1000000);
    int *out = output<int>(2 * count);
    int2 *frames = reinterpret_cast<int2 *>(out);
    std::vector<int> host = on_host(values, size_t(count) * 128), want(2 * count);
    for (int f = 0; f < count; f++) {
        int a = host[size_t(f) * 128], b = a;
        for (int i = 1; i < 128; i++) {
            int v = host[size_t(f) * 128 + i];
            a = v < a ? v : a;
            b = v > b ? v : b;
        }
        int bits = 0;
        while (unsigned(b - a) >> bits)
            bits++;
        want[2 * f] = a;
        want[2 * f + 1] = bits;
    }
    k254d<<<count, 128>>>(values, frames);
    check("k254d", out, want, 0);
    MUST(cudaMemset(out, 0xA5, 8 * count));
    k254e<<<count, 128>>>(values, frames);
    check("k254e", out, want, 0);
    MUST(cudaMemset(out, 0xA5, 8 * count));
    k254f<<<count / 8, 256>>>(values, frames);
    check("k254f", out, want, 0);
    MUST(cudaMemset(out, 0xA5, 8 * count));
    k254g<<<count / 8, 256>>>(values, frames);
    check("k254g", out, want, 0);
}
