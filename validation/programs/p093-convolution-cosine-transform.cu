// Forward pass of a convolution layer (16 maps of 34x34 from 4 channels of 40x40, 7x7 weights), and the two-dimensional
// cosine transform of every 8x8 block of an image.
#include "../harness.h"

#include <functional>

const int BATCH = 1000, MAPS = 16, CHANNELS = 4, SIDE = 40, K = 7, OUT = SIDE - K + 1;
const int WEIGHTS = MAPS * CHANNELS * K * K;

__constant__ float weight_const[WEIGHTS];

#define Y(b, m, h, w) y[(((b) * maps + (m)) * out + (h)) * out + (w)]
#define X(b, c, h, w) x[(((b) * channels + (c)) * side + (h)) * side + (w)]

__global__ void k93a(float *y, const float *x, const float *weight, int maps, int channels, int side, int k)
{
    const int out = side - k + 1;
    const int tiles = (out + 15) / 16;
    int m = blockIdx.x, b = blockIdx.z;
    int h = blockIdx.y / tiles * 16 + threadIdx.y;
    int w = blockIdx.y % tiles * 16 + threadIdx.x;
    if (h < out && w < out) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++)
            for (int p = 0; p < k; p++)
                for (int q = 0; q < k; q++)
                    sum += X(b, c, h + p, w + q) * weight[((m * channels + c) * k + p) * k + q];
        Y(b, m, h, w) = sum;
    }
}

__global__ void k93b(float *y, const float *x, int maps, int channels, int side, int k)
{
    const int out = side - k + 1;
    const int tiles = (out + 15) / 16;
    int m = blockIdx.x, b = blockIdx.z;
    int h = blockIdx.y / tiles * 16 + threadIdx.y;
    int w = blockIdx.y % tiles * 16 + threadIdx.x;
    if (h < out && w < out) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++)
            for (int p = 0; p < k; p++)
                for (int q = 0; q < k; q++)
                    sum += X(b, c, h + p, w + q) * weight_const[((m * channels + c) * k + p) * k + q];
        Y(b, m, h, w) = sum;
    }
}

__global__ void k93c(float *__restrict__ y, const float *__restrict__ x, int maps, int channels, int side)
{
    const int out = side - K + 1;
    const int tiles = (out + 15) / 16;
    int m = blockIdx.x, b = blockIdx.z;
    int h = blockIdx.y / tiles * 16 + threadIdx.y;
    int w = blockIdx.y % tiles * 16 + threadIdx.x;
    if (h < out && w < out) {
        float sum = 0.0f;
        for (int c = 0; c < channels; c++)
#pragma unroll
            for (int p = 0; p < K; p++)
#pragma unroll
                for (int q = 0; q < K; q++)
                    sum += X(b, c, h + p, w + q) * weight_const[((m * channels + c) * K + p) * K + q];
        Y(b, m, h, w) = sum;
    }
}

__global__ void k93d(float *__restrict__ y, const float *__restrict__ x, int maps, int channels, int side)
{
    const int out = side - K + 1;
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    int m = blockIdx.y, b = blockIdx.z;
    if (pixel < out * out) {
        int h = pixel / out, w = pixel % out;
        float sum = 0.0f;
        for (int c = 0; c < channels; c++)
#pragma unroll
            for (int p = 0; p < K; p++)
#pragma unroll
                for (int q = 0; q < K; q++)
                    sum += X(b, c, h + p, w + q) * weight_const[((m * channels + c) * K + p) * K + q];
        Y(b, m, h, w) = sum;
    }
}

__global__ void k93e(float *__restrict__ y, const float *__restrict__ x)
{
    const int maps = MAPS, channels = CHANNELS, side = SIDE, out = OUT;
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    int b = blockIdx.y;
    if (pixel >= out * out)
        return;
    int h = pixel / out, w = pixel % out;
    float sum[MAPS];
#pragma unroll
    for (int m = 0; m < maps; m++)
        sum[m] = 0.0f;
#pragma unroll 1
    for (int c = 0; c < channels; c++)
#pragma unroll
        for (int p = 0; p < K; p++)
#pragma unroll
            for (int q = 0; q < K; q++) {
                float v = X(b, c, h + p, w + q);
#pragma unroll
                for (int m = 0; m < maps; m++)
                    sum[m] += v * weight_const[((m * channels + c) * K + p) * K + q];
            }
#pragma unroll
    for (int m = 0; m < maps; m++)
        Y(b, m, h, w) = sum[m];
}

const int PIXELS = 256, QUADS = (OUT / 2) * (OUT / 2);

__global__ void __launch_bounds__(320, 2) k93f(float *__restrict__ y, const float *__restrict__ x)
{
    const int maps = MAPS, channels = CHANNELS, side = SIDE, out = OUT;
    int b = blockIdx.x;
    if (threadIdx.x >= QUADS)
        return;
    int h = threadIdx.x / (out / 2) * 2, w = threadIdx.x % (out / 2) * 2;
    float sum[MAPS][4];
#pragma unroll
    for (int m = 0; m < maps; m++)
        sum[m][0] = sum[m][1] = sum[m][2] = sum[m][3] = 0.0f;
#pragma unroll 1
    for (int c = 0; c < channels; c++) {
        float upper[K + 1], lower[K + 1];
#pragma unroll
        for (int q = 0; q <= K; q++)
            lower[q] = X(b, c, h, w + q);
#pragma unroll 1
        for (int p = 0; p < K; p++) {
#pragma unroll
            for (int q = 0; q <= K; q++) {
                upper[q] = lower[q];
                lower[q] = X(b, c, h + p + 1, w + q);
            }
#pragma unroll
            for (int q = 0; q < K; q++)
#pragma unroll
                for (int m = 0; m < maps; m++) {
                    float weight = weight_const[((m * channels + c) * K + p) * K + q];
                    sum[m][0] += upper[q] * weight;
                    sum[m][1] += upper[q + 1] * weight;
                    sum[m][2] += lower[q] * weight;
                    sum[m][3] += lower[q + 1] * weight;
                }
        }
    }
#pragma unroll
    for (int m = 0; m < maps; m++) {
        *reinterpret_cast<float2 *>(&Y(b, m, h, w)) = make_float2(sum[m][0], sum[m][1]);
        *reinterpret_cast<float2 *>(&Y(b, m, h + 1, w)) = make_float2(sum[m][2], sum[m][3]);
    }
}

__constant__ float cosines[64];

__global__ void k93g(float *out, const float *in, int width)
{
    __shared__ float block[64], half[64];
    int tx = threadIdx.x, ty = threadIdx.y;
    int at = (blockIdx.y * 8 + ty) * width + blockIdx.x * 8 + tx;
    block[ty * 8 + tx] = in[at];
    __syncthreads();

    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += cosines[ty * 8 + i] * block[i * 8 + tx];
    half[ty * 8 + tx] = sum;
    __syncthreads();

    sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sum += half[ty * 8 + i] * cosines[tx * 8 + i];
    out[at] = sum;
}

__device__ inline void eight(float *v, int stride)
{
    float s0 = v[0] + v[7 * stride], d0 = v[0] - v[7 * stride];
    float s1 = v[stride] + v[6 * stride], d1 = v[stride] - v[6 * stride];
    float s2 = v[2 * stride] + v[5 * stride], d2 = v[2 * stride] - v[5 * stride];
    float s3 = v[3 * stride] + v[4 * stride], d3 = v[3 * stride] - v[4 * stride];
    const float n = 0.35355339f, u = 0.46193977f, t = 0.19134172f;
    const float a = 0.49039264f, b = 0.41573481f, g = 0.27778512f, h = 0.09754516f;
    v[0] = n * ((s0 + s3) + (s1 + s2));
    v[4 * stride] = n * ((s0 + s3) - (s1 + s2));
    v[2 * stride] = u * (s0 - s3) + t * (s1 - s2);
    v[6 * stride] = t * (s0 - s3) - u * (s1 - s2);
    v[stride] = a * d0 + b * d1 + g * d2 + h * d3;
    v[3 * stride] = b * d0 - h * d1 - a * d2 - g * d3;
    v[5 * stride] = g * d0 - a * d1 + h * d2 + b * d3;
    v[7 * stride] = h * d0 - g * d1 + b * d2 - a * d3;
}

// A block of 8 x 4 x 2 threads transforms 4 x 2 blocks of pixels.
__global__ void k93h(float *out, const float *in, int width)
{
    __shared__ float tile[16][33];
    int column = threadIdx.y * 8 + threadIdx.x, top = threadIdx.z * 8;
    const float *src = in + (blockIdx.y * 16 + top) * width + blockIdx.x * 32 + column;
#pragma unroll
    for (int i = 0; i < 8; i++)
        tile[top + i][column] = src[i * width];
    eight(&tile[top][column], 33);
    __syncthreads();
    eight(&tile[top + threadIdx.x][threadIdx.y * 8], 1);
    __syncthreads();
    float *dst = out + (blockIdx.y * 16 + top) * width + blockIdx.x * 32 + column;
#pragma unroll
    for (int i = 0; i < 8; i++)
        dst[i * width] = tile[top + i][column];
}

int main()
{
    const size_t inputs = (size_t)BATCH * CHANNELS * SIDE * SIDE, image_out = (size_t)MAPS * OUT * OUT;
    float *x = input<float>(inputs, 931, 0.0, 1.0), *weight = input<float>(WEIGHTS, 932, -0.5, 0.5);
    float *y = output<float>(BATCH * image_out);
    MUST(cudaMemcpyToSymbol(weight_const, weight, WEIGHTS * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    std::vector<float> hx = on_host(x, inputs), hw = on_host(weight, WEIGHTS);

    // Every 27th image of the batch: 0, 27, ..., 999.
    const int every = 27, chosen = (BATCH - 1) / every + 1;
    float *picked = output<float>(chosen * image_out);
    std::vector<float> want(chosen * image_out);
    for (int i = 0; i < chosen; i++)
        for (int m = 0; m < MAPS; m++)
            for (int h = 0; h < OUT; h++)
                for (int w = 0; w < OUT; w++) {
                    float sum = 0.0f;
                    for (int c = 0; c < CHANNELS; c++)
                        for (int p = 0; p < K; p++)
                            for (int q = 0; q < K; q++)
                                sum += hx[(((size_t)i * every * CHANNELS + c) * SIDE + h + p) * SIDE + w + q] *
                                       hw[((m * CHANNELS + c) * K + p) * K + q];
                    want[i * image_out + (m * OUT + h) * OUT + w] = sum;
                }
    auto layer = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, BATCH * image_out * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = image_out * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, y, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-4);
    };
    const int tiles = (OUT + 15) / 16, strips = (OUT * OUT + PIXELS - 1) / PIXELS;
    dim3 by_tile(MAPS, tiles * tiles, BATCH), square(16, 16), by_strip(strips, MAPS, BATCH), all_maps(strips, BATCH);
    layer("k93a", [&] { k93a<<<by_tile, square>>>(y, x, weight, MAPS, CHANNELS, SIDE, K); });
    layer("k93b", [&] { k93b<<<by_tile, square>>>(y, x, MAPS, CHANNELS, SIDE, K); });
    layer("k93c", [&] { k93c<<<by_tile, square>>>(y, x, MAPS, CHANNELS, SIDE); });
    layer("k93d", [&] { k93d<<<by_strip, PIXELS>>>(y, x, MAPS, CHANNELS, SIDE); });
    layer("k93e", [&] { k93e<<<all_maps, PIXELS>>>(y, x); });
    layer("k93f", [&] { k93f<<<BATCH, 320>>>(y, x); });

    const int width = 4096, height = 4096, band = 8 * width;
    const size_t n = (size_t)width * height;
    float *image = input<float>(n, 933, -128.0, 128.0), *out = output<float>(n);
    std::vector<float> table(64);
    for (int u = 0; u < 8; u++)
        for (int i = 0; i < 8; i++)
            table[u * 8 + i] = float((u ? 0.5 : std::sqrt(0.125)) * std::cos((2 * i + 1) * u * 3.14159265358979323846 / 16));
    MUST(cudaMemcpyToSymbol(cosines, table.data(), 64 * sizeof(float)));
    std::vector<float> pixels = on_host(image, n);
    // Every seventh row of blocks: 0, 7, ..., 511.
    const int bands = height / 8, skip = 7, taken = (bands - 1) / skip + 1;
    std::vector<float> spectrum((size_t)taken * band);
    for (int t = 0; t < taken; t++)
        for (int bx = 0; bx < width / 8; bx++) {
            const float *src = &pixels[(size_t)t * skip * band + bx * 8];
            double mid[8][8];
            for (int u = 0; u < 8; u++)
                for (int c = 0; c < 8; c++) {
                    mid[u][c] = 0;
                    for (int i = 0; i < 8; i++)
                        mid[u][c] += double(table[u * 8 + i]) * src[i * width + c];
                }
            for (int u = 0; u < 8; u++)
                for (int v = 0; v < 8; v++) {
                    double sum = 0;
                    for (int i = 0; i < 8; i++)
                        sum += mid[u][i] * table[v * 8 + i];
                    spectrum[(size_t)t * band + u * width + bx * 8 + v] = float(sum);
                }
        }
    float *some = output<float>(spectrum.size());
    auto transform = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = band * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, out, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, some, spectrum, 1e-3);
    };
    transform("k93g", [&] { k93g<<<dim3(width / 8, height / 8), dim3(8, 8)>>>(out, image, width); });
    transform("k93h", [&] { k93h<<<dim3(width / 32, height / 16), dim3(8, 4, 2)>>>(out, image, width); });
    return 0;
}
