// Gradient magnitude of an 8-bit image with two 3x3 masks, and bytes written as hexadecimal text.
#include "../harness.h"

#include <functional>

const int WIDTH = 8192, HEIGHT = 8192, SIZE = 3;

__constant__ float mask_const[2 * SIZE * SIZE];

__global__ void k194a(const unsigned char *in, float *out, const float *mask_x, const float *mask_y, int size,
                      int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int r = size / 2;
    if (x >= width || y >= height)
        return;
    float gx = 0.0f, gy = 0.0f;
    if (x >= r && y >= r && x < width - r && y < height - r)
        for (int j = 0; j < size; j++)
            for (int i = 0; i < size; i++) {
                float v = in[(y + j - r) * width + x + i - r];
                gx += v * mask_x[j * size + i];
                gy += v * mask_y[j * size + i];
            }
    out[y * width + x] = sqrtf(gx * gx + gy * gy);
}

__global__ void k194b(const unsigned char *in, float *out, int size, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int r = size / 2;
    if (x >= width || y >= height)
        return;
    float gx = 0.0f, gy = 0.0f;
    if (x >= r && y >= r && x < width - r && y < height - r)
        for (int j = 0; j < size; j++)
            for (int i = 0; i < size; i++) {
                float v = in[(y + j - r) * width + x + i - r];
                gx += v * mask_const[j * size + i];
                gy += v * mask_const[(size + j) * size + i];
            }
    out[y * width + x] = sqrtf(gx * gx + gy * gy);
}

__global__ void k194c(const unsigned char *__restrict__ in, float *__restrict__ out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float gx = 0.0f, gy = 0.0f;
    if (x >= 1 && y >= 1 && x < width - 1 && y < height - 1) {
#pragma unroll
        for (int j = 0; j < SIZE; j++)
#pragma unroll
            for (int i = 0; i < SIZE; i++) {
                float v = in[(y + j - 1) * width + x + i - 1];
                gx += v * mask_const[j * SIZE + i];
                gy += v * mask_const[(SIZE + j) * SIZE + i];
            }
    }
    out[y * width + x] = sqrtf(gx * gx + gy * gy);
}

const int ROWS = 8;

// Sums across (1 2 1) and differences across (-1 0 1) for four neighbouring columns of one row.
__device__ inline void across(const unsigned char *row, int x, int width, int *sum, int *diff)
{
    uchar4 v = *reinterpret_cast<const uchar4 *>(row + x);
    int left = x > 0 ? row[x - 1] : 0, right = x + 4 < width ? row[x + 4] : 0;
    int p[6] = {left, v.x, v.y, v.z, v.w, right};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        sum[i] = p[i] + 2 * p[i + 1] + p[i + 2];
        diff[i] = p[i + 2] - p[i];
    }
}

__global__ void k194d(const unsigned char *__restrict__ in, float *__restrict__ out, int width, int height)
{
    int x = 4 * (blockIdx.x * blockDim.x + threadIdx.x), top = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    if (x >= width || top >= height)
        return;
    int sum[3][4], diff[3][4];
    across(in + (size_t)max(top - 1, 0) * width, x, width, sum[0], diff[0]);
    across(in + (size_t)top * width, x, width, sum[1], diff[1]);
#pragma unroll
    for (int k = 0; k < ROWS; k++) {
        int y = top + k;
        const int a = k % 3, b = (k + 1) % 3, c = (k + 2) % 3;
        across(in + (size_t)min(y + 1, height - 1) * width, x, width, sum[c], diff[c]);
        bool inside = y > 0 && y < height - 1;
        float g[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int gx = diff[a][i] + 2 * diff[b][i] + diff[c][i], gy = sum[c][i] - sum[a][i];
            g[i] = inside ? sqrtf(float(gx * gx + gy * gy)) : 0.0f;
        }
        if (x == 0)
            g[0] = 0.0f;
        if (x + 4 == width)
            g[3] = 0.0f;
        *reinterpret_cast<float4 *>(out + (size_t)y * width + x) = make_float4(g[0], g[1], g[2], g[3]);
    }
}

__constant__ char digit_const[16];

__global__ void k194e(const unsigned char *in, char *out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        unsigned char byte = in[i];
        out[2 * i] = digit_const[byte >> 4];
        out[2 * i + 1] = digit_const[byte & 15];
    }
}

__global__ void k194f(const unsigned char *in, char *out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        int high = in[i] >> 4, low = in[i] & 15;
        out[2 * i] = char(high + (high < 10 ? '0' : 'a' - 10));
        out[2 * i + 1] = char(low + (low < 10 ? '0' : 'a' - 10));
    }
}

// Four digits from the lower two bytes.
__device__ inline unsigned four_digits(unsigned two)
{
    unsigned v = (two & 0xFF) | (two & 0xFF00) << 8;
    unsigned d = (v >> 4 & 0x000F000F) | (v & 0x000F000F) << 8;
    return d + 0x30303030u + ((d + 0x06060606u) >> 4 & 0x01010101u) * ('a' - 10 - '0');
}

__global__ void k194g(const uint2 *in, uint4 *out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        uint2 v = in[i];
        out[i] = make_uint4(four_digits(v.x), four_digits(v.x >> 16), four_digits(v.y), four_digits(v.y >> 16));
    }
}

__global__ void k194h(const uint2 *__restrict__ in, uint4 *__restrict__ out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) {
        uint2 v = __ldg(in + i);
        out[i] = make_uint4(four_digits(v.x), four_digits(v.x >> 16), four_digits(v.y), four_digits(v.y >> 16));
    }
}

template <class T> __global__ void fill_samples(T *picked, const T *all, size_t count, size_t step)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < count)
        picked[i] = all[i * step];
}

int main()
{
    const size_t pixels = (size_t)WIDTH * HEIGHT;
    unsigned char *image = input<unsigned char>(pixels, 1941, 0, 256);
    float *grad = output<float>(pixels);
    std::vector<float> masks = {-1, 0, 1, -2, 0, 2, -1, 0, 1, -1, -2, -1, 0, 0, 0, 1, 2, 1};
    float *mask = on_device(masks);
    MUST(cudaMemcpyToSymbol(mask_const, masks.data(), masks.size() * sizeof(float)));
    std::vector<unsigned char> hi = on_host(image, pixels);

    // Whole bands of rows at the top, in the middle and at the bottom.
    const int band = 96;
    const int starts[3] = {0, HEIGHT / 2 - 37, HEIGHT - band};
    std::vector<float> want((size_t)3 * band * WIDTH);
    for (int s = 0; s < 3; s++)
        for (int r = 0; r < band; r++)
            for (int x = 0; x < WIDTH; x++) {
                int y = starts[s] + r, gx = 0, gy = 0;
                if (x > 0 && y > 0 && x < WIDTH - 1 && y < HEIGHT - 1) {
                    const unsigned char *p = &hi[(size_t)y * WIDTH + x];
                    const unsigned char *u = p - WIDTH, *d = p + WIDTH;
                    gx = u[1] - u[-1] + 2 * (p[1] - p[-1]) + d[1] - d[-1];
                    gy = d[-1] + 2 * d[0] + d[1] - u[-1] - 2 * u[0] - u[1];
                }
                want[((size_t)s * band + r) * WIDTH + x] = std::sqrt(float(gx * gx + gy * gy));
            }
    float *bands = output<float>(want.size());
    auto edges = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(grad, 0xA5, pixels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (int s = 0; s < 3; s++)
            MUST(cudaMemcpy(bands + (size_t)s * band * WIDTH, grad + (size_t)starts[s] * WIDTH,
                            (size_t)band * WIDTH * sizeof(float), cudaMemcpyDeviceToDevice));
        check(name, bands, want, 1e-5);
    };
    dim3 square(16, 16), by_pixel(WIDTH / 16, HEIGHT / 16), strip(32, 4), by_strip(WIDTH / 128, HEIGHT / (4 * ROWS));
    edges("k194a", [&] { k194a<<<by_pixel, square>>>(image, grad, mask, mask + 9, SIZE, WIDTH, HEIGHT); });
    edges("k194b", [&] { k194b<<<by_pixel, square>>>(image, grad, SIZE, WIDTH, HEIGHT); });
    edges("k194c", [&] { k194c<<<by_pixel, square>>>(image, grad, WIDTH, HEIGHT); });
    edges("k194d", [&] { k194d<<<by_strip, strip>>>(image, grad, WIDTH, HEIGHT); });

    const size_t n = 128u << 20, step = 33, count = (2 * n - 1) / step + 1;
    unsigned char *bytes = input<unsigned char>(n, 1942, 0, 256);
    char *text = output<char>(2 * n), *some = output<char>(count);
    const char digits[] = "0123456789abcdef";
    MUST(cudaMemcpyToSymbol(digit_const, digits, 16));
    std::vector<unsigned char> hb = on_host(bytes, n);
    std::vector<char> letters(count);
    for (size_t i = 0; i < count; i++) {
        size_t at = i * step;
        letters[i] = digits[at % 2 ? hb[at / 2] & 15 : hb[at / 2] >> 4];
    }
    auto hex = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(text, 0xA5, 2 * n));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_samples<<<unsigned((count + 255) / 256), 256>>>(some, text, count, step);
        check(name, some, letters, 0.0);
    };
    const unsigned single = unsigned(n / 256), eight = unsigned(n / 8 / 256);
    const uint2 *in8 = reinterpret_cast<const uint2 *>(bytes);
    uint4 *out16 = reinterpret_cast<uint4 *>(text);
    hex("k194e", [&] { k194e<<<single, 256>>>(bytes, text, n); });
    hex("k194f", [&] { k194f<<<single, 256>>>(bytes, text, n); });
    hex("k194g", [&] { k194g<<<eight, 256>>>(in8, out16, n / 8); });
    hex("k194h", [&] { k194h<<<eight, 256>>>(in8, out16, n / 8); });
    return 0;
}
