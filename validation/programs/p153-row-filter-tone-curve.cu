// Row pass of a separable 17-tap Gaussian on an image of 8192 x 8192 floats, and a tone curve (look-up table of 256
// entries) for an 8-bit image of 16384 x 16384 pixels.
#include "../harness.h"

#include <cuda_pipeline.h>
#include <functional>

const int W = 8192, H = 8192, RADIUS = 8, TAPS = 2 * RADIUS + 1;

__constant__ float taps_const[TAPS];

__global__ void k153a(float *dst, const float *src, const float *taps, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = x + k;
        if (at >= 0 && at < width)
            sum += src[y * width + at] * taps[radius - k];
    }
    dst[y * width + x] = sum;
}

__global__ void k153b(float *dst, const float *src, int width, int height, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int k = -radius; k <= radius; k++) {
        int at = x + k;
        if (at >= 0 && at < width)
            sum += src[y * width + at] * taps_const[radius - k];
    }
    dst[y * width + x] = sum;
}

const int TX = 64, TY = 4;

__global__ void k153c(float *dst, const float *src, int width)
{
    __shared__ float tile[TY][TX + 2 * RADIUS];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * TX + tx;
    int y = blockIdx.y * TY + ty;
    const float *line = src + y * width;
    tile[ty][RADIUS + tx] = line[x];
    if (tx < RADIUS)
        tile[ty][tx] = x >= RADIUS ? line[x - RADIUS] : 0.0f;
    if (tx >= TX - RADIUS)
        tile[ty][tx + 2 * RADIUS] = x + RADIUS < width ? line[x + RADIUS] : 0.0f;
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += tile[ty][RADIUS + tx + k] * taps_const[RADIUS - k];
    dst[y * width + x] = sum;
}

const int STRIP = 1024, QUADS = (STRIP + 2 * RADIUS) / 4;

__device__ inline float4 four(const float4 *tile, int tid)
{
    float v[20], sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < 5; i++) {
        float4 q = tile[tid + i];
        v[4 * i] = q.x;
        v[4 * i + 1] = q.y;
        v[4 * i + 2] = q.z;
        v[4 * i + 3] = q.w;
    }
#pragma unroll
    for (int k = 0; k < TAPS; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[i] += v[i + k] * taps_const[TAPS - 1 - k];
    return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

// 256 threads for a strip of 1024 pixels of a row.
__global__ void k153d(float4 *__restrict__ dst, const float4 *__restrict__ src, int quads)
{
    __shared__ float4 tile[QUADS];
    int tid = threadIdx.x, first = blockIdx.x * (STRIP / 4), y = blockIdx.y;
    const float4 *line = src + y * quads;
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    tile[tid + 2] = line[first + tid];
    if (tid < 4) {
        int at = first + (tid < 2 ? tid - 2 : STRIP / 4 + tid - 2);
        tile[tid < 2 ? tid : STRIP / 4 + tid] = at >= 0 && at < quads ? line[at] : zero;
    }
    __syncthreads();
    dst[y * quads + first + tid] = four(tile, tid);
}

__global__ void k153e(float4 *__restrict__ dst, const float4 *__restrict__ src, int quads)
{
    __shared__ float4 tile[QUADS];
    int tid = threadIdx.x, first = blockIdx.x * (STRIP / 4), y = blockIdx.y;
    const float4 *line = src + y * quads;
    __pipeline_memcpy_async(&tile[tid + 2], &line[first + tid], sizeof(float4));
    if (tid < 4) {
        int at = first + (tid < 2 ? tid - 2 : STRIP / 4 + tid - 2);
        float4 *to = &tile[tid < 2 ? tid : STRIP / 4 + tid];
        if (at >= 0 && at < quads)
            __pipeline_memcpy_async(to, &line[at], sizeof(float4));
        else
            *to = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    dst[y * quads + first + tid] = four(tile, tid);
}

typedef unsigned char Pixel;
const int SIDE = 16384;

__constant__ Pixel curve_const[256];

__global__ void k153f(Pixel *out, const Pixel *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = curve_const[in[i]];
}

__global__ void k153g(Pixel *out, const Pixel *in, const Pixel *curve, int n)
{
    __shared__ Pixel table[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Pixel pixel = i < n ? in[i] : 0;
    table[threadIdx.x] = curve[threadIdx.x];
    __syncthreads();
    if (i < n)
        out[i] = table[pixel];
}

__device__ inline unsigned mapped(const Pixel *table, unsigned four)
{
    return table[four & 255] | table[four >> 8 & 255] << 8 | table[four >> 16 & 255] << 16 |
           unsigned(table[four >> 24]) << 24;
}

__global__ void k153h(uint4 *__restrict__ out, const uint4 *__restrict__ in, const Pixel *__restrict__ curve, int words)
{
    __shared__ Pixel table[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 v = i < words ? in[i] : make_uint4(0, 0, 0, 0);
    table[threadIdx.x] = curve[threadIdx.x];
    __syncthreads();
    if (i < words)
        out[i] = make_uint4(mapped(table, v.x), mapped(table, v.y), mapped(table, v.z), mapped(table, v.w));
}

// Rows 0, every, 2 every, ... of an image.
template <class T> void pick(T *some, const T *data, int width, int every, int count)
{
    const size_t bytes = width * sizeof(T);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, data, every * bytes, bytes, count, cudaMemcpyDeviceToDevice));
}

int main()
{
    const size_t n = (size_t)W * H;
    float *src = input<float>(n, 1531, 0.0, 1.0), *dst = output<float>(n);
    std::vector<float> taps(TAPS);
    float total = 0.0f;
    for (int k = 0; k < TAPS; k++) {
        // Not quite symmetric, so that a reversed order would show.
        taps[k] = std::exp(-0.5f * (k - 7.6f) * (k - 7.6f) / 9.0f);
        total += taps[k];
    }
    for (float &t : taps)
        t /= total;
    float *taps_global = on_device(taps);
    MUST(cudaMemcpyToSymbol(taps_const, taps.data(), TAPS * sizeof(float)));

    const int every = 97, lines = (H - 1) / every + 1;
    float *some = output<float>((size_t)lines * W);
    pick(some, src, W, every, lines);
    const std::vector<float> rows = on_host(some, (size_t)lines * W);
    std::vector<float> want((size_t)lines * W);
    for (int t = 0; t < lines; t++)
        for (int x = 0; x < W; x++) {
            double sum = 0;
            for (int k = -RADIUS; k <= RADIUS; k++)
                if (x + k >= 0 && x + k < W)
                    sum += double(rows[(size_t)t * W + x + k]) * taps[RADIUS - k];
            want[(size_t)t * W + x] = float(sum);
        }
    auto filter = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(dst, 0xA5, n * sizeof(float)));
        launch();
        pick(some, dst, W, every, lines);
        check(name, some, want, 1e-5);
    };
    const float4 *src4 = reinterpret_cast<const float4 *>(src);
    float4 *dst4 = reinterpret_cast<float4 *>(dst);
    dim3 block(32, 8), grid(W / 32, H / 8), strips(W / STRIP, H);
    filter("k153a", [&] { k153a<<<grid, block>>>(dst, src, taps_global, W, H, RADIUS); });
    filter("k153b", [&] { k153b<<<grid, block>>>(dst, src, W, H, RADIUS); });
    filter("k153c", [&] { k153c<<<dim3(W / TX, H / TY), dim3(TX, TY)>>>(dst, src, W); });
    filter("k153d", [&] { k153d<<<strips, STRIP / 4>>>(dst4, src4, W / 4); });
    filter("k153e", [&] { k153e<<<strips, STRIP / 4>>>(dst4, src4, W / 4); });

    const int pixels = SIDE * SIDE, step = 97, taken = (SIDE - 1) / step + 1;
    Pixel *image = input<Pixel>(pixels, 1532, 0.0, 256.0), *toned = output<Pixel>(pixels);
    std::vector<Pixel> curve(256);
    for (int v = 0; v < 256; v++)
        curve[v] = Pixel(255.0 * std::pow(v / 255.0, 0.6) + 0.5);
    Pixel *curve_global = on_device(curve);
    MUST(cudaMemcpyToSymbol(curve_const, curve.data(), 256));
    Pixel *part = output<Pixel>((size_t)taken * SIDE);
    pick(part, image, SIDE, step, taken);
    std::vector<Pixel> right = on_host(part, (size_t)taken * SIDE);
    for (Pixel &v : right)
        v = curve[v];
    auto tone = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(toned, 0xA5, pixels));
        launch();
        pick(part, toned, SIDE, step, taken);
        check(name, part, right, 1e-6);
    };
    const uint4 *image16 = reinterpret_cast<const uint4 *>(image);
    uint4 *toned16 = reinterpret_cast<uint4 *>(toned);
    const int words = pixels / 16;
    tone("k153f", [&] { k153f<<<pixels / 256, 256>>>(toned, image, pixels); });
    tone("k153g", [&] { k153g<<<pixels / 256, 256>>>(toned, image, curve_global, pixels); });
    tone("k153h", [&] { k153h<<<words / 256, 256>>>(toned16, image16, curve_global, words); });
    return 0;
}
