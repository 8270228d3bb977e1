// Quantised networks: sum of two int8 feature maps with scales per channel, and a linear layer of binary weights.
#include "../harness.h"
#include <algorithm>

typedef signed char i8;

__device__ inline int requantise(int a, int b, float sa, float sb, float inverse)
{
    int q = __float2int_rn(fmaf(float(a), sa, b * sb) * inverse);
    return min(max(q, -128), 127);
}

__global__ void k256a(const i8 *a, const i8 *b, i8 *out, const float *sa, const float *sb, float inverse, int channels, int area,
                      int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    int channel = i / area % channels;
    out[i] = requantise(a[i], b[i], sa[channel], sb[channel], inverse);
}

__global__ void k256b(const i8 *a, const i8 *b, i8 *out, const float *sa, const float *sb, float inverse, int channels, int area)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
    if (x >= area)
        return;
    int i = (blockIdx.z * channels + channel) * area + x;
    out[i] = requantise(a[i], b[i], sa[channel], sb[channel], inverse);
}

__device__ inline int four(int a, int b, float sa, float sb, float inverse)
{
    int out = 0;
#pragma unroll
    for (int s = 0; s < 32; s += 8)
        out |= (requantise(i8(a >> s), i8(b >> s), sa, sb, inverse) & 255) << s;
    return out;
}

__global__ void k256c(const int4 *a, const int4 *b, int4 *out, const float *sa, const float *sb, float inverse, int channels,
                      int vectors)
{
    int channel = blockIdx.y, i = (blockIdx.z * channels + channel) * vectors + threadIdx.x;
    float ka = sa[channel], kb = sb[channel];
    int4 p = a[i], q = b[i];
    out[i] = make_int4(four(p.x, q.x, ka, kb, inverse), four(p.y, q.y, ka, kb, inverse), four(p.z, q.z, ka, kb, inverse),
                       four(p.w, q.w, ka, kb, inverse));
}

__global__ void k256d(const int4 *a, const int4 *b, int4 *out, const float *sa, const float *sb, float inverse, int channels,
                      int vectors)
{
    int channel = blockIdx.y * blockDim.y + threadIdx.y, i = (blockIdx.z * channels + channel) * vectors + threadIdx.x;
    float ka = sa[channel], kb = sb[channel];
    int4 p = a[i], q = b[i];
    out[i] = make_int4(four(p.x, q.x, ka, kb, inverse), four(p.y, q.y, ka, kb, inverse), four(p.z, q.z, ka, kb, inverse),
                       four(p.w, q.w, ka, kb, inverse));
}

// Binary layer: inputs and weights are signs, 32 to a word; out[m][n] = bits - 2 * differing signs.
constexpr int words = 56, chunk = 28;

__global__ void __launch_bounds__(256) k256e(const unsigned *x, const unsigned *w, int *out, int n)
{
    int m0 = blockIdx.y * 64 + threadIdx.y, n0 = blockIdx.x * 64 + threadIdx.x;
    int differ[4][4] = {};
    for (int k = 0; k < words; k++) {
        unsigned a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            a[i] = x[(m0 + 16 * i) * words + k];
            b[i] = w[(n0 + 16 * i) * words + k];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                differ[i][j] += __popc(a[i] ^ b[j]);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            out[(m0 + 16 * i) * n + n0 + 16 * j] = 32 * words - 2 * differ[i][j];
}

__device__ inline void load_tiles(const unsigned *x, const unsigned *w, unsigned (*xs)[chunk + 1], unsigned (*ws)[chunk + 1], int k0)
{
    for (int i = threadIdx.y * 16 + threadIdx.x; i < 64 * chunk; i += 256) {
        int r = i / chunk, c = i % chunk;
        xs[r][c] = x[(blockIdx.y * 64 + r) * words + k0 + c];
        ws[r][c] = w[(blockIdx.x * 64 + r) * words + k0 + c];
    }
}

__global__ void __launch_bounds__(256) k256f(const unsigned *x, const unsigned *w, int *out, int n)
{
    __shared__ unsigned xs[64][chunk + 1], ws[64][chunk + 1];
    int m0 = blockIdx.y * 64 + threadIdx.y, n0 = blockIdx.x * 64 + threadIdx.x;
    int differ[4][4] = {};
    for (int k0 = 0; k0 < words; k0 += chunk) {
        load_tiles(x, w, xs, ws, k0);
        __syncthreads();
#pragma unroll 7
        for (int k = 0; k < chunk; k++) {
            unsigned a[4], b[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i] = xs[threadIdx.y + 16 * i][k];
                b[i] = ws[threadIdx.x + 16 * i][k];
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    differ[i][j] += __popc(a[i] ^ b[j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            out[(m0 + 16 * i) * n + n0 + 16 * j] = 32 * words - 2 * differ[i][j];
}

__device__ inline unsigned majority(unsigned a, unsigned b, unsigned c)
{
    return (a & b) | (c & (a | b));
}

// Bits set in seven words by carry-save addition.
__device__ inline int bits_of_seven(const unsigned (&v)[7])
{
    unsigned s1 = v[0] ^ v[1] ^ v[2], c1 = majority(v[0], v[1], v[2]);
    unsigned s2 = v[3] ^ v[4] ^ v[5], c2 = majority(v[3], v[4], v[5]);
    unsigned ones = s1 ^ s2 ^ v[6], c3 = majority(s1, s2, v[6]);
    unsigned twos = c1 ^ c2 ^ c3, fours = majority(c1, c2, c3);
    return __popc(ones) + 2 * __popc(twos) + 4 * __popc(fours);
}

__global__ void __launch_bounds__(256) k256g(const unsigned *x, const unsigned *w, int *out, int n)
{
    __shared__ unsigned xs[64][chunk + 1], ws[64][chunk + 1];
    int m0 = blockIdx.y * 64 + threadIdx.y, n0 = blockIdx.x * 64 + threadIdx.x;
    int differ[4][4] = {};
    for (int k0 = 0; k0 < words; k0 += chunk) {
        load_tiles(x, w, xs, ws, k0);
        __syncthreads();
        for (int k = 0; k < chunk; k += 7) {
            unsigned a[4][7], b[7];
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int c = 0; c < 7; c++)
                    a[i][c] = xs[threadIdx.y + 16 * i][k + c];
#pragma unroll
            for (int j = 0; j < 4; j++) {
#pragma unroll
                for (int c = 0; c < 7; c++)
                    b[c] = ws[threadIdx.x + 16 * j][k + c];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    unsigned v[7];
#pragma unroll
                    for (int c = 0; c < 7; c++)
                        v[c] = a[i][c] ^ b[c];
                    differ[i][j] += bits_of_seven(v);
                }
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            out[(m0 + 16 * i) * n + n0 + 16 * j] = 32 * words - 2 * differ[i][j];
}

int main()
{
    {
        const int batch = 128, channels = 256, area = 56 * 56, total = batch * channels * area;
        i8 *a = input<i8>(total, 1, -128, 128), *b = input<i8>(total, 2, -128, 128), *out = output<i8>(total);
        float *sa = input<float>(channels, 3, 0.005, 0.02), *sb = input<float>(channels, 4, 0.005, 0.02);
        const int4 *va = reinterpret_cast<const int4 *>(a), *vb = reinterpret_cast<const int4 *>(b);
        int4 *vout = reinterpret_cast<int4 *>(out);
        const float inverse = 1 / 0.025f;
        k256a<<<(total + 255) / 256, 256>>>(a, b, out, sa, sb, inverse, channels, area, total);
        MUST(cudaDeviceSynchronize());
        std::vector<i8> want = on_host(out, total), ha = on_host(a, total), hb = on_host(b, total);
        std::vector<float> fa = on_host(sa, channels), fb = on_host(sb, channels);
        for (int s = 0; s < 100000; s++) {
            int i = scrambled(s, 5) % total, c = i / area % channels;
            double v = (double(ha[i]) * fa[c] + double(hb[i]) * fb[c]) * inverse;
            if (std::fabs(std::min(std::max(v, -128.0), 127.0) - want[i]) > 0.501) {
                std::printf("k256a: element %d is wrong\n", i);
                return 2;
            }
        }
        check("k256a", out, want, 0);
        MUST(cudaMemset(out, 0xA5, total));
        k256b<<<dim3((area + 255) / 256, channels, batch), 256>>>(a, b, out, sa, sb, inverse, channels, area);
        check("k256b", out, want, 0);
        MUST(cudaMemset(out, 0xA5, total));
        k256c<<<dim3(1, channels, batch), area / 16>>>(va, vb, vout, sa, sb, inverse, channels, area / 16);
        check("k256c", out, want, 0);
        MUST(cudaMemset(out, 0xA5, total));
        k256d<<<dim3(1, channels / 2, batch), dim3(area / 16, 2)>>>(va, vb, vout, sa, sb, inverse, channels, area / 16);
        check("k256d", out, want, 0);
        for (void *p : {static_cast<void *>(a), static_cast<void *>(b), static_cast<void *>(out)})
            MUST(cudaFree(p));
    }
    const int m = 4096, n = 4096;
    unsigned *x = input<unsigned>(m * words, 6, 0, 4294967296.0), *w = input<unsigned>(n * words, 7, 0, 4294967296.0);
    int *out = output<int>(m * n);
    dim3 block(16, 16), grid(n / 64, m / 64);
    k256e<<<grid, block>>>(x, w, out, n);
    MUST(cudaDeviceSynchronize());
    std::vector<int> want = on_host(out, m * n);
    std::vector<unsigned> hx = on_host(x, m * words), hw = on_host(w, n * words);
    for (int s = 0; s < 50000; s++) {
        int i = scrambled(s, 8) % m, j = scrambled(s, 9) % n, differ = 0;
        for (int k = 0; k < words; k++)
            for (unsigned v = hx[i * words + k] ^ hw[j * words + k]; v; v &= v - 1)
                differ++;
        if (want[i * n + j] != 32 * words - 2 * differ) {
            std::printf("k256e: output %d %d is wrong\n", i, j);
            return 2;
        }
    }
    check("k256e", out, want, 0);
    MUST(cudaMemset(out, 0xA5, 4 * size_t(m) * n));
    k256f<<<grid, block>>>(x, w, out, n);
    check("k256f", out, want, 0);
    MUST(cudaMemset(out, 0xA5, 4 * size_t(m) * n));
    k256g<<<grid, block>>>(x, w, out, n);
    check("k256g", out, want, 0);
}
