// Video: NV12 frames to RGB, motion search by blocks, and the brightest value of every pixel over time.
#include "../harness.h"

// NV12 (limited range, BT.601) to packed 24-bit RGB. One plane of Y, then one of interleaved U and V at half the resolution.
__device__ inline unsigned char clip(double v)
{
    return (unsigned char)fmin(fmax(v, 0.0), 255.0);
}

__global__ void k239a(const unsigned char *luma, const unsigned char *chroma, unsigned char *rgb, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    size_t p = (size_t)y * width + x, c = (size_t)(y / 2) * width + x / 2 * 2;
    double l = 1.164 * (luma[p] - 16), u = chroma[c] - 128, v = chroma[c + 1] - 128;
    rgb[3 * p] = clip(l + 1.596 * v + 0.5);
    rgb[3 * p + 1] = clip(l - 0.813 * v - 0.391 * u + 0.5);
    rgb[3 * p + 2] = clip(l + 2.018 * u + 0.5);
}

__device__ inline unsigned clip(float v)
{
    return (unsigned)fminf(fmaxf(v, 0.0f), 255.0f);
}

__global__ void k239b(const unsigned char *luma, const unsigned char *chroma, unsigned char *rgb, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    size_t p = (size_t)y * width + x, c = (size_t)(y / 2) * width + x / 2 * 2;
    float l = 1.164f * (luma[p] - 16), u = chroma[c] - 128, v = chroma[c + 1] - 128;
    rgb[3 * p] = clip(l + 1.596f * v + 0.5f);
    rgb[3 * p + 1] = clip(l - 0.813f * v - 0.391f * u + 0.5f);
    rgb[3 * p + 2] = clip(l + 2.018f * u + 0.5f);
}

// Twelve bytes of four neighbouring pixels; r, g and b are the chroma terms of the two pairs
__device__ inline void four_pixels(uchar4 y, float2 r, float2 g, float2 b, unsigned *rgb)
{
    float l0 = 1.164f * (y.x - 16), l1 = 1.164f * (y.y - 16), l2 = 1.164f * (y.z - 16), l3 = 1.164f * (y.w - 16);
    rgb[0] = clip(l0 + r.x) | clip(l0 + g.x) << 8 | clip(l0 + b.x) << 16 | clip(l1 + r.x) << 24;
    rgb[1] = clip(l1 + g.x) | clip(l1 + b.x) << 8 | clip(l2 + r.y) << 16 | clip(l2 + g.y) << 24;
    rgb[2] = clip(l2 + b.y) | clip(l3 + r.y) << 8 | clip(l3 + g.y) << 16 | clip(l3 + b.y) << 24;
}

// Four by two pixels per thread; width is a multiple of 4, height of 2
__global__ void k239c(const uchar4 *luma, const uchar4 *chroma, unsigned *rgb, int width4, int height2)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width4 || y >= height2)
        return;
    uchar4 c = chroma[(size_t)y * width4 + x];
    size_t top = (size_t)(2 * y) * width4 + x, bottom = top + width4;
    uchar4 y0 = luma[top], y1 = luma[bottom];
    float u0 = c.x - 128, v0 = c.y - 128, u1 = c.z - 128, v1 = c.w - 128;
    float2 r = {1.596f * v0 + 0.5f, 1.596f * v1 + 0.5f};
    float2 g = {0.5f - 0.813f * v0 - 0.391f * u0, 0.5f - 0.813f * v1 - 0.391f * u1};
    float2 b = {2.018f * u0 + 0.5f, 2.018f * u1 + 0.5f};
    four_pixels(y0, r, g, b, rgb + 3 * top);
    four_pixels(y1, r, g, b, rgb + 3 * bottom);
}

// Full search: the displacement of at most 8 pixels with the smallest sum of absolute differences, for each block of
// 16 x 16 pixels. The reference has a border of 8 pixels all around. One block per macroblock, one thread per candidate.
// The result is (sum << 9 | candidate).
constexpr int CANDIDATES = 17 * 17, PITCH = 36;

__global__ void k239d(const unsigned char *current, const unsigned char *reference, unsigned *best, int width)
{
    __shared__ unsigned smallest;
    __shared__ unsigned char window[32][PITCH], block[16][16];
    int t = threadIdx.x, dx = t % 17, dy = t / 17, rpitch = width + 16;
    if (t == 0)
        smallest = 0xffffffffu;
    const unsigned char *c = current + (size_t)blockIdx.y * 16 * width + blockIdx.x * 16;
    const unsigned char *r = reference + (size_t)blockIdx.y * 16 * rpitch + blockIdx.x * 16;
    for (int i = t; i < 32 * 32; i += blockDim.x)
        window[i / 32][i % 32] = r[(size_t)(i / 32) * rpitch + i % 32];
    if (t < 256)
        block[t / 16][t % 16] = c[(size_t)(t / 16) * width + t % 16];
    __syncthreads();
    if (t < CANDIDATES) {
        int sad = 0;
        for (int y = 0; y < 16; y++)
            for (int x = 0; x < 16; x++)
                sad += abs(int(block[y][x]) - int(window[dy + y][dx + x]));
        atomicMin(&smallest, unsigned(sad) << 9 | t);
    }
    __syncthreads();
    if (t == 0)
        best[blockIdx.y * gridDim.x + blockIdx.x] = smallest;
}

__global__ void k239e(const unsigned char *current, const unsigned char *reference, unsigned *best, int width)
{
    __shared__ unsigned smallest;
    __shared__ unsigned window[32][PITCH / 4];
    __shared__ uint4 block[16];
    int t = threadIdx.x, dx = t % 17, dy = t / 17, rpitch = width + 16;
    if (t == 0)
        smallest = 0xffffffffu;
    const unsigned char *c = current + (size_t)blockIdx.y * 16 * width + blockIdx.x * 16;
    const unsigned char *r = reference + (size_t)blockIdx.y * 16 * rpitch + blockIdx.x * 16;
    if (t < 256)
        window[t / 8][t % 8] = *(const unsigned *)(r + (size_t)(t / 8) * rpitch + t % 8 * 4);
    else if (t < 272)
        block[t - 256] = *(const uint4 *)(c + (size_t)(t - 256) * width);
    else if (t < 304)
        window[t - 272][8] = 0;
    __syncthreads();
    if (t < CANDIDATES) {
        unsigned sad = 0, shift = dx % 4 * 8;
        int first = dx / 4;
#pragma unroll
        for (int y = 0; y < 16; y++) {
            const unsigned *w = window[dy + y] + first;
            unsigned w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4];
            uint4 b = block[y];
            sad += __vsadu4(b.x, __funnelshift_r(w0, w1, shift));
            sad += __vsadu4(b.y, __funnelshift_r(w1, w2, shift));
            sad += __vsadu4(b.z, __funnelshift_r(w2, w3, shift));
            sad += __vsadu4(b.w, __funnelshift_r(w3, w4, shift));
        }
        atomicMin(&smallest, sad << 9 | t);
    }
    __syncthreads();
    if (t == 0)
        best[blockIdx.y * gridDim.x + blockIdx.x] = smallest;
}

// Brightest value of every pixel in a sequence of frames (star trails)
__global__ void k239f(const unsigned char *frames, unsigned char *brightest, int pixels, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels)
        return;
    int m = 0;
#pragma unroll 8
    for (int f = 0; f < count; f++)
        m = max(m, int(frames[(size_t)f * pixels + i]));
    brightest[i] = m;
}

__global__ void k239g(const unsigned *frames, unsigned *brightest, int pixels4, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels4)
        return;
    unsigned m = 0;
#pragma unroll 8
    for (int f = 0; f < count; f++)
        m = __vmaxu4(m, frames[(size_t)f * pixels4 + i]);
    brightest[i] = m;
}

__global__ void k239h(const uint4 *frames, uint4 *brightest, int pixels16, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pixels16)
        return;
    uint4 m = make_uint4(0, 0, 0, 0);
#pragma unroll 8
    for (int f = 0; f < count; f++) {
        uint4 v = frames[(size_t)f * pixels16 + i];
        m.x = __vmaxu4(m.x, v.x);
        m.y = __vmaxu4(m.y, v.y);
        m.z = __vmaxu4(m.z, v.z);
        m.w = __vmaxu4(m.w, v.w);
    }
    brightest[i] = m;
}

// Like check(), for bytes that may differ by one
static void check_bytes(const char *kernel, const unsigned char *got, const std::vector<unsigned char> &want)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    auto host = on_host(got, want.size());
    size_t wrong = 0;
    for (size_t i = 0; i < want.size(); i++)
        wrong += std::abs(int(host[i]) - int(want[i])) > 1;
    std::printf("%s: %zu of %zu wrong\n", kernel, wrong, want.size());
    if (wrong)
        std::exit(2);
}

int main()
{
    const int width = 3840, height = 2160;
    {
        // a clip of 8 frames, one above the other
        const int tall = height * 8;
        size_t n = (size_t)width * tall;
        auto *luma = input<unsigned char>(n, 1, 0, 256), *chroma = input<unsigned char>(n / 2, 2, 0, 256);
        auto *rgb = output<unsigned char>(3 * n);
        dim3 block(32, 8);
        k239a<<<dim3(width / 32, tall / 8), block>>>(luma, chroma, rgb, width, tall);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(rgb, 3 * n);
        check("k239a", rgb, want, 0);
        // a value on the edge between two integers may be rounded to either
        MUST(cudaMemset(rgb, 0xA5, 3 * n));
        k239b<<<dim3(width / 32, tall / 8), block>>>(luma, chroma, rgb, width, tall);
        check_bytes("k239b", rgb, want);
        MUST(cudaMemset(rgb, 0xA5, 3 * n));
        k239c<<<dim3(width / 4 / 32, (tall / 2 + 7) / 8), block>>>((uchar4 *)luma, (uchar4 *)chroma, (unsigned *)rgb,
                                                                  width / 4, tall / 2);
        check_bytes("k239c", rgb, want);
        MUST(cudaFree(luma));
        MUST(cudaFree(rgb));
    }
    {
        auto *current = input<unsigned char>((size_t)width * height, 3, 0, 256);
        auto *reference = input<unsigned char>((size_t)(width + 16) * (height + 16), 4, 0, 256);
        dim3 grid(width / 16, height / 16);
        int blocks = grid.x * grid.y;
        auto *best = output<unsigned>(blocks), *b2 = output<unsigned>(blocks);
        k239d<<<grid, 320>>>(current, reference, best, width);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(best, blocks);
        check("k239d", best, want, 0);
        k239e<<<grid, 320>>>(current, reference, b2, width);
        check("k239e", b2, want, 0);
    }
    {
        const int pixels = width * height, count = 64;
        auto *frames = input<unsigned char>((size_t)pixels * count, 5, 0, 250);
        auto *m = output<unsigned char>(pixels), *m2 = output<unsigned char>(pixels), *m3 = output<unsigned char>(pixels);
        k239f<<<pixels / 256, 256>>>(frames, m, pixels, count);
        MUST(cudaDeviceSynchronize());
        auto want = on_host(m, pixels);
        check("k239f", m, want, 0);
        k239g<<<(pixels / 4 + 255) / 256, 256>>>((unsigned *)frames, (unsigned *)m2, pixels / 4, count);
        check("k239g", m2, want, 0);
        k239h<<<(pixels / 16 + 255) / 256, 256>>>((uint4 *)frames, (uint4 *)m3, pixels / 16, count);
        check("k239h", m3, want, 0);
    }
    return 0;
}
