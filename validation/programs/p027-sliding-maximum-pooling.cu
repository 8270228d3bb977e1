// Sliding maximum over time of many series, and max pooling of NHWC images.
#include "../harness.h"

#define WINDOW 32

// out[t][s] = max of in[t][s] ... in[t + WINDOW - 1][s]
__global__ void k27a(const float *in, float *out, int steps, int series)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    int t = blockIdx.y * blockDim.y + threadIdx.y;
    if (s >= series || t >= steps)
        return;
    float best = in[(size_t)t * series + s];
    for (int k = 1; k < WINDOW; k++)
        best = fmaxf(best, in[(size_t)(t + k) * series + s]);
    out[(size_t)t * series + s] = best;
}

// A thread makes WINDOW consecutive results from the maxima of the ends of one block of values and the beginnings of
// the next.
__global__ void k27b(const float *in, float *out, int series)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= series)
        return;
    size_t t0 = (size_t)blockIdx.y * WINDOW;
    const float *p = in + t0 * series + s;
    float *q = out + t0 * series + s;
    float tail[WINDOW];
#pragma unroll
    for (int j = 0; j < WINDOW; j++)
        tail[j] = p[(size_t)j * series];
#pragma unroll
    for (int j = WINDOW - 2; j >= 0; j--)
        tail[j] = fmaxf(tail[j], tail[j + 1]);
    q[0] = tail[0];
    float head = tail[WINDOW - 1];
#pragma unroll
    for (int j = 1; j < WINDOW; j++) {
        head = fmaxf(head, p[(size_t)(WINDOW + j - 1) * series]);
        q[(size_t)j * series] = fmaxf(tail[j], head);
    }
}

struct Pool {
    int n, h, w, c, oh, ow;
};

// Windows of 3 x 3, stride 2. One output pixel per thread.
__global__ void k27c(const __half *in, __half *out, Pool s)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= s.n * s.oh * s.ow)
        return;
    int x = pixel % s.ow, y = pixel / s.ow % s.oh, image = pixel / (s.ow * s.oh);
    for (int c = 0; c < s.c; c++) {
        const __half *p = in + (((size_t)image * s.h + 2 * y) * s.w + 2 * x) * s.c + c;
        __half best = *p;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                best = __hmax(best, p[((size_t)i * s.w + j) * s.c]);
        out[(size_t)pixel * s.c + c] = best;
    }
}

// One channel of an output pixel per thread.
__global__ void k27d(const __half *in, __half *out, Pool s)
{
    int c = threadIdx.x;
    int pixel = blockIdx.x * blockDim.y + threadIdx.y;
    if (pixel >= s.n * s.oh * s.ow)
        return;
    int x = pixel % s.ow, y = pixel / s.ow % s.oh, image = pixel / (s.ow * s.oh);
    const __half *p = in + (((size_t)image * s.h + 2 * y) * s.w + 2 * x) * s.c + c;
    __half best = *p;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            best = __hmax(best, p[((size_t)i * s.w + j) * s.c]);
    out[(size_t)pixel * s.c + c] = best;
}

__device__ inline unsigned max2(unsigned a, unsigned b)
{
    __half2 m = __hmax2(*reinterpret_cast<__half2 *>(&a), *reinterpret_cast<__half2 *>(&b));
    return *reinterpret_cast<unsigned *>(&m);
}

// Eight channels of an output pixel per thread.
__global__ void k27e(const uint4 *in, uint4 *out, Pool s)
{
    int pixel = blockIdx.x * blockDim.y + threadIdx.y;
    if (pixel >= s.n * s.oh * s.ow)
        return;
    int pieces = s.c / 8;
    int x = pixel % s.ow, y = pixel / s.ow % s.oh, image = pixel / (s.ow * s.oh);
    const uint4 *p = in + (((size_t)image * s.h + 2 * y) * s.w + 2 * x) * pieces + threadIdx.x;
    uint4 best = *p;
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 3; j++) {
            uint4 v = p[(i * s.w + j) * pieces];
            best.x = max2(best.x, v.x);
            best.y = max2(best.y, v.y);
            best.z = max2(best.z, v.z);
            best.w = max2(best.w, v.w);
        }
    out[(size_t)pixel * pieces + threadIdx.x] = best;
}

int main()
{
    const int steps = 8192, series = 4000;
    const size_t size = (size_t)(steps + WINDOW - 1) * series, results = (size_t)steps * series;
    float *in = input<float>(size, 271, -100.0, 100.0);
    float *out = output<float>(results);
    k27a<<<dim3((series + 31) / 32, steps / 8), dim3(32, 8)>>>(in, out, steps, series);
    std::vector<float> first = on_host(out, results), got, want;
    for (size_t i = 0; i < results; i += 3511) {
        float best = -1000.0f;
        for (size_t k = 0; k < WINDOW; k++)
            best = std::fmax(best, float(-100.0 + 200.0 * (scrambled(i + k * series, 271) / 4294967296.0)));
        got.push_back(first[i]);
        want.push_back(best);
    }
    check("k27a", on_device(got), want, 1e-6);

    out = output<float>(results);
    k27b<<<dim3((series + 127) / 128, steps / WINDOW), 128>>>(in, out, series);
    check("k27b", out, first, 0.0);

    Pool s = {96, 113, 113, 64, 56, 56};
    const size_t pixels = (size_t)s.n * s.oh * s.ow, outputs = pixels * s.c;
    const size_t inputs = (size_t)s.n * s.h * s.w * s.c;
    __half *image = input<__half>(inputs, 272, 0.0, 8.0);
    __half *pooled = output<__half>(outputs);
    k27c<<<(unsigned)((pixels + 127) / 128), 128>>>(image, pooled, s);
    std::vector<unsigned short> bits = on_host(reinterpret_cast<unsigned short *>(pooled), outputs);
    {
        // Positive halves are ordered as their bits are.
        std::vector<unsigned short> source = on_host(reinterpret_cast<unsigned short *>(image), inputs), some, right;
        for (size_t i = 0; i < outputs; i += 4999) {
            size_t c = i % s.c, pixel = i / s.c;
            size_t x = pixel % s.ow, y = pixel / s.ow % s.oh, n = pixel / (s.ow * s.oh);
            unsigned short best = 0;
            for (size_t a = 0; a < 3; a++)
                for (size_t b = 0; b < 3; b++) {
                    unsigned short v = source[((n * s.h + 2 * y + a) * s.w + 2 * x + b) * s.c + c];
                    best = v > best ? v : best;
                }
            some.push_back(bits[i]);
            right.push_back(best);
        }
        check("k27c", on_device(some), right, 0.0);
    }

    pooled = output<__half>(outputs);
    k27d<<<(unsigned)((pixels + 3) / 4), dim3(s.c, 4)>>>(image, pooled, s);
    check("k27d", reinterpret_cast<unsigned short *>(pooled), bits, 0.0);

    pooled = output<__half>(outputs);
    k27e<<<(unsigned)((pixels + 31) / 32), dim3(s.c / 8, 32)>>>(reinterpret_cast<uint4 *>(image),
                                                               reinterpret_cast<uint4 *>(pooled), s);
    check("k27e", reinterpret_cast<unsigned short *>(pooled), bits, 0.0);
    return 0;
}
