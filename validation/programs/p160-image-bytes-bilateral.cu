// Pre-processing of a batch of camera images for a network (bytes BGR, pixel after pixel, to normalised planes RGB in
// half precision), and a bilateral filter of a grey image.
#include "../harness.h"

#include <algorithm>
#include <functional>

const int IMAGES = 128, HEIGHT = 640, WIDTH = 640, PLANE = HEIGHT * WIDTH;

__global__ void k160a(half *out, const unsigned char *in, const float *mean, const float *deviation, int height, int width, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    int x = i % width;
    int y = i / width % height;
    int c = i / (width * height) % 3;
    int image = i / (width * height * 3);
    int from = ((image * height + y) * width + x) * 3 + 2 - c;
    double value = in[from] / 255.0;
    out[i] = __float2half(float((value - mean[c]) / deviation[c]));
}

__global__ void k160b(half *out, const unsigned char *in, const float *scale, const float *shift, int height, int width, int total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total)
        return;
    int x = i % width;
    int y = i / width % height;
    int c = i / (width * height) % 3;
    int image = i / (width * height * 3);
    int from = ((image * height + y) * width + x) * 3 + 2 - c;
    out[i] = __float2half(in[from] * scale[c] + shift[c]);
}

__global__ void k160c(half *__restrict__ out, const unsigned char *__restrict__ in, float3 scale, float3 shift, int plane)
{
    int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= plane)
        return;
    const unsigned char *bgr = in + (size_t)(blockIdx.y * plane + pixel) * 3;
    half *to = out + (size_t)blockIdx.y * 3 * plane + pixel;
    to[0] = __float2half(bgr[2] * scale.x + shift.x);
    to[plane] = __float2half(bgr[1] * scale.y + shift.y);
    to[2 * plane] = __float2half(bgr[0] * scale.z + shift.z);
}

struct alignas(8) Bytes {
    unsigned char b[24];
};
struct alignas(16) Halves {
    half2 v[4];
};

// Eight pixels: plane number c of them, made from every third byte.
__device__ inline Halves eight(const Bytes &bytes, int first, float scale, float shift)
{
    Halves h;
#pragma unroll
    for (int i = 0; i < 4; i++)
        h.v[i] = __floats2half2_rn(bytes.b[6 * i + first] * scale + shift, bytes.b[6 * i + 3 + first] * scale + shift);
    return h;
}

__device__ inline Bytes fetch(const unsigned char *from)
{
    const uint2 *p = reinterpret_cast<const uint2 *>(from);
    uint2 part[3] = {p[0], p[1], p[2]};
    Bytes bytes;
#pragma unroll
    for (int i = 0; i < 3; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            bytes.b[8 * i + j] = part[i].x >> 8 * j & 255;
            bytes.b[8 * i + 4 + j] = part[i].y >> 8 * j & 255;
        }
    return bytes;
}

__global__ void k160d(half *__restrict__ out, const unsigned char *__restrict__ in, float3 scale, float3 shift, int plane)
{
    int pixel = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (pixel >= plane)
        return;
    Bytes bytes = fetch(in + (size_t)(blockIdx.y * plane + pixel) * 3);
    half *to = out + (size_t)blockIdx.y * 3 * plane + pixel;
    *reinterpret_cast<Halves *>(to) = eight(bytes, 2, scale.x, shift.x);
    *reinterpret_cast<Halves *>(to + plane) = eight(bytes, 1, scale.y, shift.y);
    *reinterpret_cast<Halves *>(to + 2 * plane) = eight(bytes, 0, scale.z, shift.z);
}

// Blocks of 256 threads take 2048 pixels; a plane holds a whole number of those.
__global__ void k160e(half *__restrict__ out, const unsigned char *__restrict__ in, float3 scale, float3 shift, int plane)
{
    __shared__ uint4 staged[2048 * 3 / 16];
    const uint4 *from = reinterpret_cast<const uint4 *>(in + ((size_t)blockIdx.y * plane + blockIdx.x * 2048) * 3);
    for (int i = threadIdx.x; i < 2048 * 3 / 16; i += 256)
        staged[i] = from[i];
    __syncthreads();
    Bytes bytes = fetch(reinterpret_cast<const unsigned char *>(staged) + threadIdx.x * 24);
    half *to = out + (size_t)blockIdx.y * 3 * plane + blockIdx.x * 2048 + threadIdx.x * 8;
    *reinterpret_cast<Halves *>(to) = eight(bytes, 2, scale.x, shift.x);
    *reinterpret_cast<Halves *>(to + plane) = eight(bytes, 1, scale.y, shift.y);
    *reinterpret_cast<Halves *>(to + 2 * plane) = eight(bytes, 0, scale.z, shift.z);
}

const int SIDE = 2048, R = 5, TAPS = (2 * R + 1) * (2 * R + 1);
__constant__ float space[TAPS], space_log2[TAPS];

__global__ void k160f(float *out, const float *in, int width, int height, int radius, float sigma_space, float sigma_grey)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float centre = in[y * width + x], sum = 0.0f, weights = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int px = min(max(x + dx, 0), width - 1), py = min(max(y + dy, 0), height - 1);
            float value = in[py * width + px], d = value - centre;
            float near = expf(-(float)(dx * dx + dy * dy) / (2.0f * sigma_space * sigma_space));
            float w = near * expf(-(d * d) / (2.0f * sigma_grey * sigma_grey));
            sum += w * value;
            weights += w;
        }
    out[y * width + x] = sum / weights;
}

__global__ void k160g(float *out, const float *in, int width, int height, int radius, float sigma_grey)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float centre = in[y * width + x], sum = 0.0f, weights = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int px = min(max(x + dx, 0), width - 1), py = min(max(y + dy, 0), height - 1);
            float value = in[py * width + px], d = value - centre;
            float w = space[(dy + radius) * (2 * radius + 1) + dx + radius] * expf(-(d * d) / (2.0f * sigma_grey * sigma_grey));
            sum += w * value;
            weights += w;
        }
    out[y * width + x] = sum / weights;
}

__global__ void k160h(float *out, const float *in, int width, int height, int radius, float factor)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float centre = in[y * width + x], sum = 0.0f, weights = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int px = min(max(x + dx, 0), width - 1), py = min(max(y + dy, 0), height - 1);
            float value = in[py * width + px], d = value - centre;
            float w = space[(dy + radius) * (2 * radius + 1) + dx + radius] * __expf(d * d * factor);
            sum += w * value;
            weights += w;
        }
    out[y * width + x] = __fdividef(sum, weights);
}

// Blocks of 32 x 8 threads; the sides of the image are multiples of those.
__global__ void k160i(float *out, const float *in, int width, int height, int radius, float factor)
{
    extern __shared__ float tile[];
    const int pitch = 32 + 2 * radius, rows = 8 + 2 * radius;
    for (int r = threadIdx.y; r < rows; r += 8)
        for (int c = threadIdx.x; c < pitch; c += 32) {
            int px = min(max((int)blockIdx.x * 32 + c - radius, 0), width - 1);
            int py = min(max((int)blockIdx.y * 8 + r - radius, 0), height - 1);
            tile[r * pitch + c] = in[py * width + px];
        }
    __syncthreads();
    float centre = tile[(threadIdx.y + radius) * pitch + threadIdx.x + radius], sum = 0.0f, weights = 0.0f;
    for (int dy = 0; dy <= 2 * radius; dy++)
        for (int dx = 0; dx <= 2 * radius; dx++) {
            float value = tile[(threadIdx.y + dy) * pitch + threadIdx.x + dx], d = value - centre;
            float w = space[dy * (2 * radius + 1) + dx] * __expf(d * d * factor);
            sum += w * value;
            weights += w;
        }
    out[(blockIdx.y * 8 + threadIdx.y) * width + blockIdx.x * 32 + threadIdx.x] = __fdividef(sum, weights);
}

__device__ inline float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__global__ void k160j(float *__restrict__ out, const float *__restrict__ in, int width, int height, float factor)
{
    __shared__ float tile[8 + 2 * R][32 + 2 * R];
    for (int r = threadIdx.y; r < 8 + 2 * R; r += 8)
        for (int c = threadIdx.x; c < 32 + 2 * R; c += 32) {
            int px = min(max((int)blockIdx.x * 32 + c - R, 0), width - 1);
            int py = min(max((int)blockIdx.y * 8 + r - R, 0), height - 1);
            tile[r][c] = in[py * width + px];
        }
    __syncthreads();
    float centre = tile[threadIdx.y + R][threadIdx.x + R], sum = 0.0f, weights = 0.0f;
#pragma unroll
    for (int dy = 0; dy <= 2 * R; dy++)
#pragma unroll
        for (int dx = 0; dx <= 2 * R; dx++) {
            float value = tile[threadIdx.y + dy][threadIdx.x + dx], d = value - centre;
            float w = power_of_two(d * d * factor + space_log2[dy * (2 * R + 1) + dx]);
            sum += w * value;
            weights += w;
        }
    out[(blockIdx.y * 8 + threadIdx.y) * width + blockIdx.x * 32 + threadIdx.x] = __fdividef(sum, weights);
}

int main()
{
    const size_t values = (size_t)IMAGES * 3 * PLANE;
    unsigned char *photos = input<unsigned char>(values, 1601, 0.0, 256.0);
    half *planes = output<half>(values);
    const std::vector<float> mean = {0.485f, 0.456f, 0.406f}, deviation = {0.229f, 0.224f, 0.225f};
    std::vector<float> scale(3), shift(3);
    for (int c = 0; c < 3; c++) {
        scale[c] = 1.0f / (255.0f * deviation[c]);
        shift[c] = -mean[c] / deviation[c];
    }
    float *d_mean = on_device(mean), *d_deviation = on_device(deviation), *d_scale = on_device(scale), *d_shift = on_device(shift);
    float3 scale3 = make_float3(scale[0], scale[1], scale[2]), shift3 = make_float3(shift[0], shift[1], shift[2]);

    // The first and the last image.
    const size_t one = 3 * PLANE, step = (IMAGES - 1) * one;
    std::vector<unsigned char> bytes(2 * one);
    std::vector<half> want(2 * one);
    MUST(cudaMemcpy2D(bytes.data(), one, photos, step, one, 2, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < PLANE; p++)
            for (int c = 0; c < 3; c++)
                want[i * one + c * PLANE + p] = __float2half((bytes[i * one + p * 3 + 2 - c] / 255.0f - mean[c]) / deviation[c]);
    half *picked = output<half>(2 * one);
    auto prepare = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(planes, 0xA5, values * sizeof(half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, one * 2, planes, step * 2, one * 2, 2, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-3);
    };
    const int total = (int)values, each = (total + 255) / 256;
    prepare("k160a", [&] { k160a<<<each, 256>>>(planes, photos, d_mean, d_deviation, HEIGHT, WIDTH, total); });
    prepare("k160b", [&] { k160b<<<each, 256>>>(planes, photos, d_scale, d_shift, HEIGHT, WIDTH, total); });
    prepare("k160c", [&] { k160c<<<dim3(PLANE / 256, IMAGES), 256>>>(planes, photos, scale3, shift3, PLANE); });
    prepare("k160d", [&] { k160d<<<dim3(PLANE / 2048, IMAGES), 256>>>(planes, photos, scale3, shift3, PLANE); });
    prepare("k160e", [&] { k160e<<<dim3(PLANE / 2048, IMAGES), 256>>>(planes, photos, scale3, shift3, PLANE); });

    const size_t pixels = (size_t)SIDE * SIDE;
    const float sigma_space = 3.0f, sigma_grey = 60.0f, factor = -0.5f / (sigma_grey * sigma_grey);
    float *grey = input<float>(pixels, 1602, 0.0, 255.0), *smooth = output<float>(pixels);
    std::vector<float> host = on_host(grey, pixels), table(TAPS), logs(TAPS);
    for (int dy = -R; dy <= R; dy++)
        for (int dx = -R; dx <= R; dx++) {
            double e = -(dx * dx + dy * dy) / (2.0 * sigma_space * sigma_space);
            table[(dy + R) * (2 * R + 1) + dx + R] = float(std::exp(e));
            logs[(dy + R) * (2 * R + 1) + dx + R] = float(e * 1.4426950408889634);
        }
    MUST(cudaMemcpyToSymbol(space, table.data(), TAPS * sizeof(float)));
    MUST(cudaMemcpyToSymbol(space_log2, logs.data(), TAPS * sizeof(float)));
    // Rows 0, 23, ..., 2047.
    const int every = 23, rows = (SIDE - 1) / every + 1;
    std::vector<float> smoothed((size_t)rows * SIDE);
    for (int r = 0; r < rows; r++)
        for (int x = 0; x < SIDE; x++) {
            float centre = host[(size_t)r * every * SIDE + x], sum = 0.0f, weights = 0.0f;
            for (int dy = -R; dy <= R; dy++)
                for (int dx = -R; dx <= R; dx++) {
                    int px = std::min(std::max(x + dx, 0), SIDE - 1), py = std::min(std::max(r * every + dy, 0), SIDE - 1);
                    float value = host[(size_t)py * SIDE + px], d = value - centre;
                    float w = table[(dy + R) * (2 * R + 1) + dx + R] * std::exp(d * d * factor);
                    sum += w * value;
                    weights += w;
                }
            smoothed[(size_t)r * SIDE + x] = sum / weights;
        }
    float *some = output<float>(smoothed.size());
    auto filter = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(smooth, 0xA5, pixels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t line = SIDE * sizeof(float);
        MUST(cudaMemcpy2D(some, line, smooth, every * line, line, rows, cudaMemcpyDeviceToDevice));
        check(name, some, smoothed, 1e-4);
    };
    dim3 grid(SIDE / 32, SIDE / 8), block(32, 8);
    const size_t room = (32 + 2 * R) * (8 + 2 * R) * sizeof(float);
    const float factor2 = factor * 1.4426950408889634f;
    filter("k160f", [&] { k160f<<<grid, block>>>(smooth, grey, SIDE, SIDE, R, sigma_space, sigma_grey); });
    filter("k160g", [&] { k160g<<<grid, block>>>(smooth, grey, SIDE, SIDE, R, sigma_grey); });
    filter("k160h", [&] { k160h<<<grid, block>>>(smooth, grey, SIDE, SIDE, R, factor); });
    filter("k160i", [&] { k160i<<<grid, block, room>>>(smooth, grey, SIDE, SIDE, R, factor); });
    filter("k160j", [&] { k160j<<<grid, block>>>(smooth, grey, SIDE, SIDE, factor2); });
    return 0;
}
