// A general 17 x 17 filter, colour pixels to grey, and a box filter along the columns.
#include "../harness.h"

#include <functional>

const int R = 8, SPAN = 2 * R + 1, TAPS = SPAN * SPAN;
const int SIDE = 4096, PITCH = SIDE + 32, LINES = SIDE + 2 * R;

__constant__ float taps_const[TAPS];

__global__ void k108a(float *out, const float *in, const float *taps)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int p = 0; p < SPAN; p++)
        for (int q = 0; q < SPAN; q++)
            sum += in[(y + p) * PITCH + x + q] * taps[p * SPAN + q];
    out[y * SIDE + x] = sum;
}

__global__ void k108b(float *out, const float *in)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int p = 0; p < SPAN; p++)
        for (int q = 0; q < SPAN; q++)
            sum += in[(y + p) * PITCH + x + q] * taps_const[p * SPAN + q];
    out[y * SIDE + x] = sum;
}

// A thread makes `HIGH` pixels of a column.
template <int HIGH> __device__ inline void column_of(float *out, const float *in)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * HIGH;
    float sum[HIGH];
#pragma unroll
    for (int j = 0; j < HIGH; j++)
        sum[j] = 0.0f;
#pragma unroll 1
    for (int q = 0; q < SPAN; q++) {
        const float *from = in + y * PITCH + x + q;
        float tap[SPAN];
#pragma unroll
        for (int p = 0; p < SPAN; p++)
            tap[p] = taps_const[p * SPAN + q];
#pragma unroll
        for (int r = 0; r < HIGH + SPAN - 1; r++) {
            float v = from[r * PITCH];
#pragma unroll
            for (int j = 0; j < HIGH; j++)
                if (r - j >= 0 && r - j < SPAN)
                    sum[j] += v * tap[r - j];
        }
    }
#pragma unroll
    for (int j = 0; j < HIGH; j++)
        out[(y + j) * SIDE + x] = sum[j];
}

__global__ void __launch_bounds__(256) k108c(float *__restrict__ out, const float *__restrict__ in)
{
    column_of<4>(out, in);
}

__global__ void __launch_bounds__(256) k108d(float *__restrict__ out, const float *__restrict__ in)
{
    column_of<16>(out, in);
}

const int WIDE = 16384, HIGH = 8192, PIXELS = WIDE * HIGH;

__host__ __device__ inline unsigned grey(unsigned r, unsigned g, unsigned b)
{
    return (77 * r + 150 * g + 29 * b + 128) >> 8;
}

__global__ void k108e(unsigned char *out, const unsigned char *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = grey(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

// Four pixels lie in three words: r0 g0 b0 r1, g1 b1 r2 g2, b2 r3 g3 b3.
__device__ inline unsigned four_grey(unsigned u, unsigned v, unsigned w)
{
    unsigned g0 = grey(u & 255, u >> 8 & 255, u >> 16 & 255);
    unsigned g1 = grey(u >> 24, v & 255, v >> 8 & 255);
    unsigned g2 = grey(v >> 16 & 255, v >> 24, w & 255);
    unsigned g3 = grey(w >> 8 & 255, w >> 16 & 255, w >> 24);
    return g0 | g1 << 8 | g2 << 16 | g3 << 24;
}

__global__ void k108f(unsigned *__restrict__ out, const unsigned *__restrict__ in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = four_grey(in[3 * i], in[3 * i + 1], in[3 * i + 2]);
}

__global__ void k108g(unsigned *__restrict__ out, const unsigned *__restrict__ in, int n)
{
    __shared__ unsigned words[768];
    int first = blockIdx.x * 256, tid = threadIdx.x;
    for (int k = tid; k < 768; k += 256)
        if (3 * first + k < 3 * n)
            words[k] = in[3 * first + k];
    __syncthreads();
    if (first + tid < n)
        out[first + tid] = four_grey(words[3 * tid], words[3 * tid + 1], words[3 * tid + 2]);
}

const int BOX_SIDE = 8192, SEGMENT = 128;

__global__ void k108h(float *__restrict__ out, const float *__restrict__ in, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < SPAN; p++)
        sum += in[(y + p) * width + x];
    out[y * width + x] = sum * (1.0f / SPAN);
}

__global__ void k108i(float *__restrict__ out, const float *__restrict__ in, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    const float *from = in + blockIdx.y * SEGMENT * width + x;
    float *to = out + blockIdx.y * SEGMENT * width + x;
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < SPAN - 1; p++)
        sum += from[p * width];
#pragma unroll 4
    for (int y = 0; y < SEGMENT; y++) {
        sum += from[(y + SPAN - 1) * width];
        to[y * width] = sum * (1.0f / SPAN);
        sum -= from[y * width];
    }
}

template <class T> void pick_rows(T *picked, const T *from, size_t width, int every, int count)
{
    const size_t bytes = width * sizeof(T);
    MUST(cudaMemcpy2D(picked, bytes, from, every * bytes, bytes, count, cudaMemcpyDeviceToDevice));
}

int main()
{
    const size_t n = (size_t)SIDE * SIDE, padded = (size_t)PITCH * LINES;
    float *image = input<float>(padded, 1081, 0.0, 1.0), *taps = input<float>(TAPS, 1082, -0.5, 0.5);
    float *out = output<float>(n);
    MUST(cudaMemcpyToSymbol(taps_const, taps, TAPS * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    // Rows 0, 65, 130, ... of the result.
    const int every = 65, rows = (SIDE - 1) / every + 1;
    std::vector<float> want((size_t)rows * SIDE, 0.0f);
    {
        std::vector<float> pixels = on_host(image, padded), weights = on_host(taps, TAPS);
        for (int r = 0; r < rows; r++)
            for (int p = 0; p < SPAN; p++)
                for (int q = 0; q < SPAN; q++) {
                    const float *from = &pixels[(size_t)(r * every + p) * PITCH + q];
                    float *to = &want[(size_t)r * SIDE], weight = weights[p * SPAN + q];
                    for (int x = 0; x < SIDE; x++)
                        to[x] += from[x] * weight;
                }
    }
    float *some = output<float>(want.size());
    auto filter = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some, out, SIDE, every, rows);
        check(name, some, want, 1e-4);
    };
    const dim3 block(32, 8);
    filter("k108a", [&] { k108a<<<dim3(SIDE / 32, SIDE / 8), block>>>(out, image, taps); });
    filter("k108b", [&] { k108b<<<dim3(SIDE / 32, SIDE / 8), block>>>(out, image); });
    filter("k108c", [&] { k108c<<<dim3(SIDE / 32, SIDE / 32), block>>>(out, image); });
    filter("k108d", [&] { k108d<<<dim3(SIDE / 32, SIDE / 128), block>>>(out, image); });

    unsigned char *colours = input<unsigned char>((size_t)3 * PIXELS, 1083, 0.0, 256.0);
    unsigned char *greys = output<unsigned char>(PIXELS);
    // Rows 0, 37, 74, ... of the picture.
    const int skip = 37, taken = (HIGH - 1) / skip + 1;
    const size_t sample = (size_t)taken * WIDE;
    unsigned char *some_colours = output<unsigned char>(3 * sample), *some_greys = output<unsigned char>(sample);
    pick_rows(some_colours, colours, (size_t)3 * WIDE, skip, taken);
    std::vector<unsigned char> rgb = on_host(some_colours, 3 * sample), expected(sample);
    for (size_t i = 0; i < sample; i++)
        expected[i] = grey(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
    auto convert = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(greys, 0xA5, PIXELS));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some_greys, greys, WIDE, skip, taken);
        check(name, some_greys, expected, 0.0);
    };
    unsigned *words_out = reinterpret_cast<unsigned *>(greys);
    const unsigned *words_in = reinterpret_cast<const unsigned *>(colours);
    const int words = PIXELS / 4;
    convert("k108e", [&] { k108e<<<PIXELS / 256, 256>>>(greys, colours, PIXELS); });
    convert("k108f", [&] { k108f<<<words / 256, 256>>>(words_out, words_in, words); });
    convert("k108g", [&] { k108g<<<words / 256, 256>>>(words_out, words_in, words); });

    const int width = BOX_SIDE;
    const size_t box = (size_t)width * width, tall = (size_t)width * (width + 2 * R);
    float *field = input<float>(tall, 1084, 0.0, 1.0), *mean = output<float>(box);
    // Rows 0, 61, 122, ... of the result.
    const int step = 61, means = (width - 1) / step + 1;
    std::vector<float> average((size_t)means * width, 0.0f);
    {
        std::vector<float> pixels = on_host(field, tall);
        for (int r = 0; r < means; r++) {
            float *to = &average[(size_t)r * width];
            for (int p = 0; p < SPAN; p++)
                for (int x = 0; x < width; x++)
                    to[x] += pixels[(size_t)(r * step + p) * width + x];
            for (int x = 0; x < width; x++)
                to[x] /= SPAN;
        }
    }
    float *some_means = output<float>(average.size());
    auto smooth = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(mean, 0xA5, box * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick_rows(some_means, mean, width, step, means);
        check(name, some_means, average, 1e-5);
    };
    smooth("k108h", [&] { k108h<<<dim3(width / 32, width / 8), block>>>(mean, field, width); });
    smooth("k108i", [&] { k108i<<<dim3(width / 256, width / SEGMENT), 256>>>(mean, field, width); });
    return 0;
}
