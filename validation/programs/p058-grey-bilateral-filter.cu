// Grey values of an RGBA image, and a bilateral filter of a grey image.
#include "../harness.h"

#include <cstdint>

// Multiples of 1/256, so that every sum is exact.
__constant__ float c_weight[4] = {0.2109375f, 0.71484375f, 0.07421875f, 0.0f};

// Widths are in pixels, pitches in bytes.
__device__ __forceinline__ void grey_pixel(const uint8_t *in, uint8_t *out, int width, int height, int in_pitch, int out_pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        int at = y * in_pitch + x * 4;
        float grey = c_weight[0] * in[at] + c_weight[1] * in[at + 1] + c_weight[2] * in[at + 2] + c_weight[3] * in[at + 3];
        out[y * out_pitch + x] = static_cast<uint8_t>(grey);
    }
}

__global__ void k58a(const uint8_t *__restrict__ in, uint8_t *__restrict__ out, int width, int height, int in_pitch,
                     int out_pitch)
{
    grey_pixel(in, out, width, height, in_pitch, out_pitch);
}

__global__ void k58b(const uint8_t *__restrict__ in, uint8_t *__restrict__ out, int width, int height, int in_pitch,
                     int out_pitch)
{
    grey_pixel(in, out, width, height, in_pitch, out_pitch);
}

template <int COUNT>
__device__ __forceinline__ void grey_pixels(const uint8_t *__restrict__ in, uint8_t *__restrict__ out, int width, int height,
                                            int in_pitch, int out_pitch)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * COUNT;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (y >= height)
        return;
    for (int i = 0; i < COUNT; i++)
        if (x + i < width) {
            int at = y * in_pitch + (x + i) * 4;
            float grey =
                c_weight[0] * in[at] + c_weight[1] * in[at + 1] + c_weight[2] * in[at + 2] + c_weight[3] * in[at + 3];
            out[y * out_pitch + x + i] = static_cast<uint8_t>(grey);
        }
}

__global__ void k58c(const uint8_t *__restrict__ in, uint8_t *__restrict__ out, int width, int height, int in_pitch,
                     int out_pitch)
{
    grey_pixels<4>(in, out, width, height, in_pitch, out_pitch);
}

// The pitches are in elements here, and the width is a multiple of four pixels.
__global__ void k58d(const uint4 *__restrict__ in, uchar4 *__restrict__ out, int width, int height, int in_pitch,
                     int out_pitch)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x * 4 >= width || y >= height)
        return;
    union {
        uint4 word;
        uint8_t byte[16];
    } source;
    union {
        uchar4 word;
        uint8_t byte[4];
    } result;
    source.word = in[y * in_pitch + x];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float grey = c_weight[0] * source.byte[4 * i] + c_weight[1] * source.byte[4 * i + 1] +
                     c_weight[2] * source.byte[4 * i + 2] + c_weight[3] * source.byte[4 * i + 3];
        result.byte[i] = static_cast<uint8_t>(grey);
    }
    out[y * out_pitch + x] = result.word;
}

__global__ void k58e(const float *in, float *out, int width, int height, int radius, float space, float range)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float centre = in[y * width + x];
    float total = 0.0f, weights = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int nx = min(max(x + dx, 0), width - 1);
            int ny = min(max(y + dy, 0), height - 1);
            float value = in[ny * width + nx];
            float difference = value - centre;
            float w = exp(-0.5 * (dx * dx + dy * dy) / (space * space)) *
                      exp(-0.5 * difference * difference / (range * range));
            total += w * value;
            weights += w;
        }
    out[y * width + x] = total / weights;
}

__global__ void k58f(const float *in, float *out, int width, int height, int radius, float space, float range)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float centre = in[y * width + x];
    float total = 0.0f, weights = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int nx = min(max(x + dx, 0), width - 1);
            int ny = min(max(y + dy, 0), height - 1);
            float value = in[ny * width + nx];
            float difference = value - centre;
            float w = expf(-0.5f * (dx * dx + dy * dy) / (space * space)) *
                      expf(-0.5f * difference * difference / (range * range));
            total += w * value;
            weights += w;
        }
    out[y * width + x] = total / weights;
}

__constant__ float c_gauss[64];

__global__ void k58g(const float *in, float *out, int width, int height, int radius, float factor)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;

    float centre = in[y * width + x];
    float total = 0.0f, weights = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int nx = min(max(x + dx, 0), width - 1);
            int ny = min(max(y + dy, 0), height - 1);
            float value = in[ny * width + nx];
            float difference = value - centre;
            float w = c_gauss[dy + radius] * c_gauss[dx + radius] * __expf(difference * difference * factor);
            total += w * value;
            weights += w;
        }
    out[y * width + x] = total / weights;
}

int main()
{
    {
        const int width = 7680, height = 4320;
        const size_t pixels = (size_t)width * height;
        uint8_t *in = input<uint8_t>(pixels * 4, 581, 0.0, 256.0);
        uint8_t *out = output<uint8_t>(pixels);
        std::vector<uint8_t> want(pixels);
        {
            std::vector<uint8_t> v = on_host(in, pixels * 4);
            for (size_t i = 0; i < pixels; i++)
                want[i] = uint8_t((54 * v[4 * i] + 183 * v[4 * i + 1] + 19 * v[4 * i + 2]) / 256);
        }
        auto grid = [&](dim3 block, int count) {
            int across = block.x * count;
            return dim3((width + across - 1) / across, (height + block.y - 1) / block.y);
        };

        dim3 block(1, 256);
        k58a<<<grid(block, 1), block>>>(in, out, width, height, width * 4, width);
        check("k58a", out, want, 0.0);

        MUST(cudaMemset(out, 0xA5, pixels));
        block = dim3(256);
        k58b<<<grid(block, 1), block>>>(in, out, width, height, width * 4, width);
        check("k58b", out, want, 0.0);

        MUST(cudaMemset(out, 0xA5, pixels));
        block = dim3(32, 8);
        k58c<<<grid(block, 4), block>>>(in, out, width, height, width * 4, width);
        check("k58c", out, want, 0.0);

        MUST(cudaMemset(out, 0xA5, pixels));
        k58d<<<grid(block, 4), block>>>(reinterpret_cast<uint4 *>(in), reinterpret_cast<uchar4 *>(out), width, height,
                                        width / 4, width / 4);
        check("k58d", out, want, 0.0);
    }

    const int width = 1920, height = 1080, radius = 5;
    const float space = 3.0f, range = 0.25f;
    const size_t pixels = (size_t)width * height;
    float *in = input<float>(pixels, 582, 0.0, 1.0);
    float *out = output<float>(pixels);
    std::vector<float> gauss(2 * radius + 1);
    for (int d = -radius; d <= radius; d++)
        gauss[d + radius] = float(std::exp(-0.5 * d * d / (space * space)));
    MUST(cudaMemcpyToSymbol(c_gauss, gauss.data(), gauss.size() * sizeof(float)));

    // Every 60th row and the last one on the host; then all rows against the first kernel.
    std::vector<int> chosen;
    for (int y = 0; y < height; y += 60)
        chosen.push_back(y);
    chosen.push_back(height - 1);
    dim3 block(16, 16), blocks((width + 15) / 16, (height + 15) / 16);
    k58e<<<blocks, block>>>(in, out, width, height, radius, space, range);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> all = on_host(out, pixels);
    {
        std::vector<float> v = on_host(in, pixels), got, want;
        for (int y : chosen)
            for (int x = 0; x < width; x++) {
                double centre = v[(size_t)y * width + x], total = 0.0, weights = 0.0;
                for (int dy = -radius; dy <= radius; dy++)
                    for (int dx = -radius; dx <= radius; dx++) {
                        int nx = std::min(std::max(x + dx, 0), width - 1);
                        int ny = std::min(std::max(y + dy, 0), height - 1);
                        double value = v[(size_t)ny * width + nx];
                        double e = 0.5 * (dx * dx + dy * dy) / (space * space) +
                                   0.5 * (value - centre) * (value - centre) / (range * range);
                        double w = std::exp(-e);
                        total += w * value;
                        weights += w;
                    }
                want.push_back(float(total / weights));
                got.push_back(all[(size_t)y * width + x]);
            }
        check("k58e", on_device(got), want, 1e-5);
    }

    MUST(cudaMemset(out, 0xA5, pixels * sizeof(float)));
    k58f<<<blocks, block>>>(in, out, width, height, radius, space, range);
    check("k58f", out, all, 2e-5);

    MUST(cudaMemset(out, 0xA5, pixels * sizeof(float)));
    k58g<<<blocks, block>>>(in, out, width, height, radius, -0.5f / (range * range));
    check("k58g", out, all, 2e-5);
    return 0;
}
