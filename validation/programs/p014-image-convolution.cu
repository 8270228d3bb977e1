// Convolution of an image with a small Gaussian. The float image comes with a frame of R pixels on every side, the
// 8-bit one is extended by its last pixel.
#include "../harness.h"

#define R 2
#define TX 32
#define TY 8
#define ROWS 8

__constant__ float gauss[25];

__global__ void k14a(const float *in, const float *filter, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += filter[dy * 5 + dx] * in[(y + dy) * (width + 2 * R) + x + dx];
    out[y * width + x] = sum;
}

__global__ void k14b(const float *in, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += gauss[dy * 5 + dx] * in[(y + dy) * (width + 2 * R) + x + dx];
    out[y * width + x] = sum;
}

__global__ void k14c(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TY + 2 * R][TX + 2 * R];
    int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
    for (int i = threadIdx.y * TX + threadIdx.x; i < (TY + 2 * R) * (TX + 2 * R); i += TX * TY) {
        int ty = i / (TX + 2 * R), tx = i % (TX + 2 * R);
        if (x0 + tx < width + 2 * R && y0 + ty < height + 2 * R)
            tile[ty][tx] = in[(y0 + ty) * (width + 2 * R) + x0 + tx];
    }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++)
            sum += gauss[dy * 5 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * width + x] = sum;
}

__global__ void k14d(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TY * ROWS + 2 * R][TX + 2 * R];
    int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY * ROWS;
    for (int i = threadIdx.y * TX + threadIdx.x; i < (TY * ROWS + 2 * R) * (TX + 2 * R); i += TX * TY) {
        int ty = i / (TX + 2 * R), tx = i % (TX + 2 * R);
        if (x0 + tx < width + 2 * R && y0 + ty < height + 2 * R)
            tile[ty][tx] = in[(y0 + ty) * (width + 2 * R) + x0 + tx];
    }
    __syncthreads();
    int x = x0 + threadIdx.x, y = y0 + threadIdx.y * ROWS;
    if (x >= width)
        return;
    float sum[ROWS] = {};
#pragma unroll
    for (int row = 0; row < ROWS + 2 * R; row++) {
        float v[5];
#pragma unroll
        for (int dx = 0; dx < 5; dx++)
            v[dx] = tile[threadIdx.y * ROWS + row][threadIdx.x + dx];
#pragma unroll
        for (int o = 0; o < ROWS; o++)
            if (row - o >= 0 && row - o < 5)
#pragma unroll
                for (int dx = 0; dx < 5; dx++)
                    sum[o] += gauss[(row - o) * 5 + dx] * v[dx];
    }
#pragma unroll
    for (int o = 0; o < ROWS; o++)
        if (y + o < height)
            out[(y + o) * width + x] = sum[o];
}

// 3 x 3 (1 2 1), 8-bit grey.
__global__ void k14e(const unsigned char *__restrict__ in, unsigned char *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int l = max(x - 1, 0), r = min(x + 1, width - 1);
    const unsigned char *a = in + max(y - 1, 0) * width;
    const unsigned char *b = in + y * width;
    const unsigned char *c = in + min(y + 1, height - 1) * width;
    int sum = a[l] + 2 * a[x] + a[r] + 2 * (b[l] + 2 * b[x] + b[r]) + c[l] + 2 * c[x] + c[r];
    out[y * width + x] = (unsigned char)((sum + 8) >> 4);
}

// One row of four pixels, weighed 1 2 1: pixels 0 and 2 in .x, 1 and 3 in .y, 16 bits each.
__device__ __forceinline__ uint2 weigh(const unsigned char *row, int x, int l, int r)
{
    unsigned word = *reinterpret_cast<const unsigned *>(row + x);
    unsigned before = row[l], behind = row[r];
    unsigned even = word & 0x00ff00ffu, odd = (word >> 8) & 0x00ff00ffu;
    return make_uint2((odd << 16 | before) + 2 * even + odd, even + 2 * odd + (even >> 16 | behind << 16));
}

__global__ void k14f(const unsigned char *__restrict__ in, unsigned char *__restrict__ out, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    int y = (blockIdx.y * blockDim.y + threadIdx.y) * 4;
    if (x >= width || y >= height)
        return;
    int l = max(x - 1, 0), r = min(x + 4, width - 1);
    uint2 row[6];
#pragma unroll
    for (int k = 0; k < 6; k++)
        row[k] = weigh(in + min(max(y + k - 1, 0), height - 1) * width, x, l, r);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        unsigned even = row[k].x + 2 * row[k + 1].x + row[k + 2].x + 0x00080008u;
        unsigned odd = row[k].y + 2 * row[k + 1].y + row[k + 2].y + 0x00080008u;
        unsigned word = ((even >> 4) & 0x00ff00ffu) | ((odd >> 4) & 0x00ff00ffu) << 8;
        if (y + k < height)
            *reinterpret_cast<unsigned *>(out + (y + k) * width + x) = word;
    }
}

int main()
{
    {
        const int width = 7680, height = 4320;
        const size_t n = (size_t)width * height;
        const float line[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
        std::vector<float> filter(25);
        for (int i = 0; i < 25; i++)
            filter[i] = line[i / 5] * line[i % 5] * (1.0f + 0.01f * i);
        MUST(cudaMemcpyToSymbol(gauss, filter.data(), 25 * sizeof(float)));
        float *in = input<float>((size_t)(width + 2 * R) * (height + 2 * R), 1, 0.0, 1.0);
        float *weights = on_device(filter), *out = output<float>(n);

        std::vector<float> image = on_host(in, (size_t)(width + 2 * R) * (height + 2 * R)), want;
        std::vector<int> lines = {0, 1, 2, 63, 64, 65, 2159, 4287, 4288, 4317, 4318, 4319};
        std::vector<float> sample;
        for (int y : lines)
            for (int x = 0; x < width; x++) {
                float sum = 0.0f;
                for (int k = 0; k < 25; k++)
                    sum += filter[k] * image[(size_t)(y + k / 5) * (width + 2 * R) + x + k % 5];
                sample.push_back(sum);
            }

        dim3 block(TX, TY), grid((width + TX - 1) / TX, (height + TY - 1) / TY);
        k14a<<<grid, block>>>(in, weights, out, width, height);
        MUST(cudaGetLastError());
        want = on_host(out, n);
        std::vector<float> got;
        for (int y : lines)
            got.insert(got.end(), want.begin() + (size_t)y * width, want.begin() + (size_t)(y + 1) * width);
        check("k14a", on_device(got), sample, 1e-5);

        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k14b<<<grid, block>>>(in, out, width, height);
        check("k14b", out, want, 1e-5);

        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        k14c<<<grid, block>>>(in, out, width, height);
        check("k14c", out, want, 1e-5);

        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        dim3 few(grid.x, (height + TY * ROWS - 1) / (TY * ROWS));
        k14d<<<few, block>>>(in, out, width, height);
        check("k14d", out, want, 1e-5);
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    const int width = 12000, height = 9000;
    const size_t n = (size_t)width * height;
    unsigned char *in = input<unsigned char>(n, 2, 0.0, 256.0), *out = output<unsigned char>(n);
    std::vector<unsigned char> image = on_host(in, n), want(n);
    for (int y = 0; y < height; y++) {
        const unsigned char *a = &image[(size_t)(y ? y - 1 : 0) * width], *b = &image[(size_t)y * width];
        const unsigned char *c = &image[(size_t)(y + 1 < height ? y + 1 : y) * width];
        for (int x = 0; x < width; x++) {
            int l = x ? x - 1 : 0, r = x + 1 < width ? x + 1 : x;
            int sum = a[l] + 2 * a[x] + a[r] + 2 * (b[l] + 2 * b[x] + b[r]) + c[l] + 2 * c[x] + c[r];
            want[(size_t)y * width + x] = (unsigned char)((sum + 8) / 16);
        }
    }
    dim3 block(64, 4);
    k14e<<<dim3((width + 63) / 64, (height + 3) / 4), block>>>(in, out, width, height);
    check("k14e", out, want, 0.0);
    MUST(cudaMemset(out, 0xA5, n));
    k14f<<<dim3((width / 4 + 63) / 64, (height / 4 + 3) / 4), block>>>(in, out, width, height);
    check("k14f", out, want, 0.0);
    return 0;
}
