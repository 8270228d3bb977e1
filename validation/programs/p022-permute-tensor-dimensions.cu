// Permuting the dimensions of tensors: images from NCHW to NHWC, and attention heads from
// [batch][token][head][d] to [batch][head][token][d].
#include "../harness.h"

__global__ void k22a(const float *src, float *dst, int C, int HW)
{
    int c = threadIdx.x;
    int p = blockIdx.x * blockDim.y + threadIdx.y;
    size_t image = (size_t)blockIdx.y * C * HW;
    if (p < HW)
        dst[image + (size_t)p * C + c] = src[image + (size_t)c * HW + p];
}

const int TILE = 32;

__global__ void k22b(const float *src, float *dst, int C, int HW)
{
    __shared__ float tile[TILE][TILE];
    size_t image = (size_t)blockIdx.z * C * HW;
    int p0 = blockIdx.x * TILE, c0 = blockIdx.y * TILE;
    for (int r = threadIdx.y; r < TILE; r += blockDim.y)
        if (c0 + r < C && p0 + threadIdx.x < HW)
            tile[r][threadIdx.x] = src[image + (size_t)(c0 + r) * HW + p0 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < TILE; r += blockDim.y)
        if (p0 + r < HW && c0 + threadIdx.x < C)
            dst[image + (size_t)(p0 + r) * C + c0 + threadIdx.x] = tile[threadIdx.x][r];
}

__global__ void k22c(const float *src, float *dst, int C, int HW)
{
    __shared__ float tile[TILE][TILE + 1];
    size_t image = (size_t)blockIdx.z * C * HW;
    int p0 = blockIdx.x * TILE, c0 = blockIdx.y * TILE;
    for (int r = threadIdx.y; r < TILE; r += blockDim.y)
        if (c0 + r < C && p0 + threadIdx.x < HW)
            tile[r][threadIdx.x] = src[image + (size_t)(c0 + r) * HW + p0 + threadIdx.x];
    __syncthreads();
    for (int r = threadIdx.y; r < TILE; r += blockDim.y)
        if (p0 + r < HW && c0 + threadIdx.x < C)
            dst[image + (size_t)(p0 + r) * C + c0 + threadIdx.x] = tile[threadIdx.x][r];
}

struct Shape {
    long long batch, tokens, heads, d;
};

__global__ void k22d(const __half *src, __half *dst, Shape s)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= s.batch * s.tokens * s.heads * s.d)
        return;
    long long x = i % s.d;
    long long token = (i / s.d) % s.tokens;
    long long head = (i / (s.d * s.tokens)) % s.heads;
    long long b = i / (s.d * s.tokens * s.heads);
    dst[i] = src[((b * s.tokens + token) * s.heads + head) * s.d + x];
}

// A block takes four heads of one token.
__global__ void k22e(const __half *src, __half *dst, int tokens, int heads, int d)
{
    int x = threadIdx.x;
    int token = blockIdx.x;
    int head = blockIdx.y * blockDim.y + threadIdx.y;
    int b = blockIdx.z;
    dst[(((size_t)b * heads + head) * tokens + token) * d + x] =
        src[(((size_t)b * tokens + token) * heads + head) * d + x];
}

// Eight numbers per thread; a block takes all heads of one token.
__global__ void k22f(const uint4 *src, uint4 *dst, int tokens, int heads, int pieces)
{
    int x = threadIdx.x;
    int token = blockIdx.x;
    int head = threadIdx.y;
    int b = blockIdx.y;
    dst[(((size_t)b * heads + head) * tokens + token) * pieces + x] =
        src[(((size_t)b * tokens + token) * heads + head) * pieces + x];
}

int main()
{
    const int N = 24, C = 96, HW = 112 * 112;
    const size_t size = (size_t)N * C * HW;
    float *src = input<float>(size, 221, 0.0, 1.0);
    float *dst = output<float>(size);
    k22a<<<dim3((HW + 1) / 2, N), dim3(C, 2)>>>(src, dst, C, HW);
    std::vector<float> first = on_host(dst, size), got, want;
    for (size_t i = 0; i < size; i += 4999) {
        size_t c = i % C, p = i / C % HW, n = i / C / HW;
        got.push_back(first[i]);
        want.push_back(float(scrambled((n * C + c) * HW + p, 221) / 4294967296.0));
    }
    check("k22a", on_device(got), want, 0.0);

    dim3 grid((HW + TILE - 1) / TILE, (C + TILE - 1) / TILE, N);
    MUST(cudaMemset(dst, 0xA5, size * sizeof(float)));
    k22b<<<grid, dim3(TILE, 8)>>>(src, dst, C, HW);
    check("k22b", dst, first, 0.0);

    MUST(cudaMemset(dst, 0xA5, size * sizeof(float)));
    k22c<<<grid, dim3(TILE, 8)>>>(src, dst, C, HW);
    check("k22c", dst, first, 0.0);
    MUST(cudaFree(src));
    MUST(cudaFree(dst));

    const int batch = 16, tokens = 2048, heads = 24, d = 64;
    const size_t count = (size_t)batch * tokens * heads * d;
    __half *q = input<__half>(count, 222, -1.0, 1.0);
    __half *r = output<__half>(count);
    const unsigned short *bits = reinterpret_cast<unsigned short *>(r);
    std::vector<unsigned short> before = on_host(reinterpret_cast<unsigned short *>(q), count), after(count);
    for (size_t b = 0; b < batch; b++)
        for (size_t head = 0; head < heads; head++)
            for (size_t token = 0; token < tokens; token++)
                for (size_t x = 0; x < d; x++)
                    after[((b * heads + head) * tokens + token) * d + x] =
                        before[((b * tokens + token) * heads + head) * d + x];

    Shape shape = {batch, tokens, heads, d};
    k22d<<<(unsigned)((count + 255) / 256), 256>>>(q, r, shape);
    check("k22d", bits, after, 0.0);

    MUST(cudaMemset(r, 0xA5, count * sizeof(__half)));
    k22e<<<dim3(tokens, heads / 4, batch), dim3(d, 4)>>>(q, r, tokens, heads, d);
    check("k22e", bits, after, 0.0);

    MUST(cudaMemset(r, 0xA5, count * sizeof(__half)));
    k22f<<<dim3(tokens, batch), dim3(d / 8, heads)>>>(reinterpret_cast<const uint4 *>(q), reinterpret_cast<uint4 *>(r),
                                                      tokens, heads, d / 8);
    check("k22f", bits, after, 0.0);
    return 0;
}
