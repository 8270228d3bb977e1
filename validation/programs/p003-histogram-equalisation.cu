/* Histogram equalisation of a grey image: count the 256 levels, form the cumulative table, map every pixel. */
#include "../harness.h"

typedef unsigned char uchar;
typedef unsigned int uint;

__global__ void k03a(const uchar *image, uint *hist, uint pixels)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        atomicAdd(&hist[image[i]], 1u);
}

__global__ void k03b(const uchar *image, uint *hist, uint pixels)
{
    __shared__ uint bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();

    uint step = gridDim.x * blockDim.x;
    for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += step)
        atomicAdd(&bins[image[i]], 1u);
    __syncthreads();

    atomicAdd(&hist[threadIdx.x], bins[threadIdx.x]);
}

__device__ void count4(uint *bins, uint four)
{
    atomicAdd(&bins[four & 0xff], 1u);
    atomicAdd(&bins[(four >> 8) & 0xff], 1u);
    atomicAdd(&bins[(four >> 16) & 0xff], 1u);
    atomicAdd(&bins[four >> 24], 1u);
}

__global__ void k03c(const uint4 *image, uint *hist, uint groups)
{
    __shared__ uint bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();

    uint step = gridDim.x * blockDim.x;
    for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < groups; i += step) {
        uint4 v = image[i];
        count4(bins, v.x);
        count4(bins, v.y);
        count4(bins, v.z);
        count4(bins, v.w);
    }
    __syncthreads();

    atomicAdd(&hist[threadIdx.x], bins[threadIdx.x]);
}

__global__ void k03d(const uint4 *image, uint *hist, uint groups)
{
    __shared__ uint bins[8][256];
    for (int w = 0; w < 8; w++)
        bins[w][threadIdx.x] = 0;
    __syncthreads();

    uint *mine = bins[threadIdx.x / 32];
    uint step = gridDim.x * blockDim.x;
    for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < groups; i += step) {
        uint4 v = image[i];
        count4(mine, v.x);
        count4(mine, v.y);
        count4(mine, v.z);
        count4(mine, v.w);
    }
    __syncthreads();

    uint sum = 0;
    for (int w = 0; w < 8; w++)
        sum += bins[w][threadIdx.x];
    atomicAdd(&hist[threadIdx.x], sum);
}

__global__ void k03e(const uchar *__restrict__ image, const uchar *__restrict__ table, uchar *__restrict__ result,
                     uint pixels)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < pixels)
        result[i] = table[image[i]];
}

__device__ uint map4(const uchar *__restrict__ table, uint four)
{
    uint a = table[four & 0xff];
    uint b = table[(four >> 8) & 0xff];
    uint c = table[(four >> 16) & 0xff];
    uint d = table[four >> 24];
    return a | b << 8 | c << 16 | d << 24;
}

__global__ void k03f(const uint4 *__restrict__ image, const uchar *__restrict__ table, uint4 *__restrict__ result,
                     uint groups)
{
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < groups) {
        uint4 v = image[i];
        v.x = map4(table, v.x);
        v.y = map4(table, v.y);
        v.z = map4(table, v.z);
        v.w = map4(table, v.w);
        result[i] = v;
    }
}

int main()
{
    const int width = 10000, height = 6000;
    const uint pixels = width * height;
    const uint groups = pixels / 16;

    /* a bright spot on a dark ground, with noise */
    std::vector<uchar> picture(pixels);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float dx = (x - width / 2) * (2.0f / width), dy = (y - height / 2) * (2.0f / height);
            float level = 20.0f + 150.0f / (1.0f + 4.0f * (dx * dx + dy * dy));
            uint noise = scrambled((size_t)y * width + x, 5);
            picture[(size_t)y * width + x] = uchar(level + (noise & 31) + (noise >> 8 & 31));
        }

    std::vector<uint> want(256, 0);
    for (uint i = 0; i < pixels; i++)
        want[picture[i]]++;
    std::vector<uchar> table(256);
    double below = 0;
    for (int level = 0; level < 256; level++) {
        below += want[level];
        table[level] = uchar(255.0 * below / pixels);
    }

    uchar *image = on_device(picture);
    uchar *lut = on_device(table);
    uint *hist = zeroed<uint>(256);
    uchar *result = output<uchar>(pixels);
    for (uint i = 0; i < pixels; i++)
        picture[i] = table[picture[i]];

    const int threads = 256, blocks = 132 * 8;

    k03a<<<(pixels + threads - 1) / threads, threads>>>(image, hist, pixels);
    check("k03a", hist, want, 0);

    MUST(cudaMemset(hist, 0, 256 * sizeof(uint)));
    k03b<<<blocks, threads>>>(image, hist, pixels);
    check("k03b", hist, want, 0);

    MUST(cudaMemset(hist, 0, 256 * sizeof(uint)));
    k03c<<<blocks, threads>>>((const uint4 *)image, hist, groups);
    check("k03c", hist, want, 0);

    MUST(cudaMemset(hist, 0, 256 * sizeof(uint)));
    k03d<<<blocks, threads>>>((const uint4 *)image, hist, groups);
    check("k03d", hist, want, 0);

    k03e<<<(pixels + threads - 1) / threads, threads>>>(image, lut, result, pixels);
    check("k03e", result, picture, 0);

    MUST(cudaMemset(result, 0xA5, pixels));
    k03f<<<(groups + threads - 1) / threads, threads>>>((const uint4 *)image, lut, (uint4 *)result, groups);
    check("k03f", result, picture, 0);
    return 0;
}
