// Camera pipeline: correction of lens distortion of an RGBA image, and bilinear demosaicing of a raw RGGB frame.
#include "../harness.h"
#include <algorithm>

struct Lens {
    float cx, cy, focal, k1, k2, k3;
};

__device__ inline unsigned char lerp4(unsigned char a, unsigned char b, unsigned char c, unsigned char d, float fx, float fy)
{
    float top = a + fx * (float(b) - float(a)), low = c + fx * (float(d) - float(c));
    return static_cast<unsigned char>(top + fy * (low - top) + 0.5f);
}

__device__ inline uchar4 bilinear(const uchar4 *image, int width, int height, float x, float y)
{
    float x0 = floorf(x), y0 = floorf(y), fx = x - x0, fy = y - y0;
    int l = min(max(int(x0), 0), width - 1), r = min(max(int(x0) + 1, 0), width - 1);
    int t = min(max(int(y0), 0), height - 1), b = min(max(int(y0) + 1, 0), height - 1);
    uchar4 p = image[t * width + l], q = image[t * width + r], u = image[b * width + l], v = image[b * width + r];
    return make_uchar4(lerp4(p.x, q.x, u.x, v.x, fx, fy), lerp4(p.y, q.y, u.y, v.y, fx, fy),
                       lerp4(p.z, q.z, u.z, v.z, fx, fy), lerp4(p.w, q.w, u.w, v.w, fx, fy));
}

__global__ void k253a(const uchar4 *image, uchar4 *out, int width, int height, Lens lens)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float u = (x - lens.cx) / lens.focal, v = (y - lens.cy) / lens.focal;
    float r = sqrtf(u * u + v * v);
    float scale = 1.0f + lens.k1 * powf(r, 2.0f) + lens.k2 * powf(r, 4.0f) + lens.k3 * powf(r, 6.0f);
    out[y * width + x] = bilinear(image, width, height, u * scale * lens.focal + lens.cx, v * scale * lens.focal + lens.cy);
}

__global__ void k253b(const uchar4 *image, uchar4 *out, int width, int height, Lens lens)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float inverse = 1.0f / lens.focal;
    float u = (x - lens.cx) * inverse, v = (y - lens.cy) * inverse;
    float r2 = u * u + v * v;
    float scale = 1.0f + r2 * (lens.k1 + r2 * (lens.k2 + r2 * lens.k3));
    out[y * width + x] = bilinear(image, width, height, u * scale * lens.focal + lens.cx, v * scale * lens.focal + lens.cy);
}

__global__ void k253c(cudaTextureObject_t image, uchar4 *out, int width, int height, Lens lens)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float inverse = 1.0f / lens.focal;
    float u = (x - lens.cx) * inverse, v = (y - lens.cy) * inverse;
    float r2 = u * u + v * v;
    float scale = 1.0f + r2 * (lens.k1 + r2 * (lens.k2 + r2 * lens.k3));
    float4 p = tex2D<float4>(image, u * scale * lens.focal + lens.cx + 0.5f, v * scale * lens.focal + lens.cy + 0.5f);
    out[y * width + x] = make_uchar4(static_cast<unsigned char>(p.x * 255.0f + 0.5f), static_cast<unsigned char>(p.y * 255.0f + 0.5f),
                                     static_cast<unsigned char>(p.z * 255.0f + 0.5f), static_cast<unsigned char>(p.w * 255.0f + 0.5f));
}

typedef unsigned short u16;

// Colours of one pixel of the mosaic R G / G B; reflected at the edges.
__device__ inline void demosaic(const u16 *raw, u16 *rgb, int width, int height, int x, int y)
{
    int l = x == 0 ? 1 : x - 1, r = x == width - 1 ? width - 2 : x + 1;
    int n = y == 0 ? 1 : y - 1, s = y == height - 1 ? height - 2 : y + 1;
    const u16 *up = raw + size_t(n) * width, *row = raw + size_t(y) * width, *down = raw + size_t(s) * width;
    size_t at = size_t(y) * width + x, plane = size_t(width) * height;
    int red, green, blue;
    if (((x ^ y) & 1) == 0) {
        int own = row[x], cross = (up[x] + down[x] + row[l] + row[r]) >> 2;
        int corners = (up[l] + up[r] + down[l] + down[r]) >> 2;
        red = y & 1 ? corners : own;
        blue = y & 1 ? own : corners;
        green = cross;
    } else {
        int across = (row[l] + row[r]) >> 1, along = (up[x] + down[x]) >> 1;
        green = row[x];
        red = y & 1 ? along : across;
        blue = y & 1 ? across : along;
    }
    rgb[at] = red;
    rgb[plane + at] = green;
    rgb[2 * plane + at] = blue;
}

__global__ void k253d(const u16 *raw, u16 *rgb, int width, int height)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        demosaic(raw, rgb, width, height, x, y);
}

__global__ void k253e(const u16 *raw, u16 *rgb, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        demosaic(raw, rgb, width, height, x, y);
}

// The four pixels of one cell of the mosaic from a window of 4 x 4 samples.
__device__ inline void cell(const int (&w)[4][4], u16 *rgb, int width, int height, int x, int y)
{
    size_t at = size_t(y) * width + x, plane = size_t(width) * height;
    ushort2 *r = reinterpret_cast<ushort2 *>(rgb + at), *g = reinterpret_cast<ushort2 *>(rgb + plane + at);
    ushort2 *b = reinterpret_cast<ushort2 *>(rgb + 2 * plane + at);
    int half = width / 2;
    r[0] = make_ushort2(w[1][1], (w[1][1] + w[1][3]) >> 1);
    g[0] = make_ushort2((w[0][1] + w[2][1] + w[1][0] + w[1][2]) >> 2, w[1][2]);
    b[0] = make_ushort2((w[0][0] + w[0][2] + w[2][0] + w[2][2]) >> 2, (w[0][2] + w[2][2]) >> 1);
    r[half] = make_ushort2((w[1][1] + w[3][1]) >> 1, (w[1][1] + w[1][3] + w[3][1] + w[3][3]) >> 2);
    g[half] = make_ushort2(w[2][1], (w[1][2] + w[3][2] + w[2][1] + w[2][3]) >> 2);
    b[half] = make_ushort2((w[2][0] + w[2][2]) >> 1, w[2][2]);
}

__global__ void k253f(const u16 *raw, u16 *rgb, int width, int height)
{
    int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x), y = 2 * (blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= width || y >= height)
        return;
    int l = x == 0 ? 1 : x - 1, r = x == width - 2 ? width - 2 : x + 2;
    int rows[4] = {y == 0 ? 1 : y - 1, y, y + 1, y == height - 2 ? height - 2 : y + 2};
    int w[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const u16 *row = raw + size_t(rows[i]) * width;
        ushort2 middle = *reinterpret_cast<const ushort2 *>(row + x);
        w[i][0] = row[l];
        w[i][1] = middle.x;
        w[i][2] = middle.y;
        w[i][3] = row[r];
    }
    cell(w, rgb, width, height, x, y);
}

__global__ void k253g(const u16 *raw, u16 *rgb, int width, int height)
{
    __shared__ u16 tile[18][68];
    int x0 = 64 * blockIdx.x, y0 = 16 * blockIdx.y;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 66; i += 256) {
        int r = i / 66, c = i % 66, x = x0 + c - 1, y = y0 + r - 1;
        x = x < 0 ? 1 : x >= width ? width - 2 : x;
        y = y < 0 ? 1 : y >= height ? height - 2 : y;
        tile[r][c] = raw[size_t(y) * width + x];
    }
    __syncthreads();
    int w[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            w[i][j] = tile[2 * threadIdx.y + i][2 * threadIdx.x + j];
    cell(w, rgb, width, height, x0 + 2 * threadIdx.x, y0 + 2 * threadIdx.y);
}

int main()
{
    const int width = 8192, height = 4096;
    const size_t pixels = size_t(width) * height;
    {
        std::vector<uchar4> host(pixels);
        auto ramp = [](int v) { v %= 382; return static_cast<unsigned char>(64 + (v < 191 ? v : 382 - v)); };
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                host[size_t(y) * width + x] = make_uchar4(ramp(x + y), ramp(x + 2 * y + 50), ramp(x + 100), 255);
        uchar4 *image = on_device(host);
        Lens lens = {4095.5f, 2047.5f, 5000.0f, -0.12f, 0.03f, -0.004f};
        cudaArray_t array;
        cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
        MUST(cudaMallocArray(&array, &format, width, height));
        MUST(cudaMemcpy2DToArray(array, 0, 0, image, width * 4, width * 4, height, cudaMemcpyDeviceToDevice));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc description = {};
        description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
        description.filterMode = cudaFilterModeLinear;
        description.readMode = cudaReadModeNormalizedFloat;
        cudaTextureObject_t texture;
        MUST(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

        dim3 block(32, 8), grid(width / 32, height / 8);
        uchar4 *out = output<uchar4>(pixels);
        unsigned char *bytes = reinterpret_cast<unsigned char *>(out);
        k253a<<<grid, block>>>(image, out, width, height, lens);
        MUST(cudaDeviceSynchronize());
        std::vector<unsigned char> want = on_host(bytes, 4 * pixels);
        for (int s = 0; s < 20000; s++) {
            int x = scrambled(s, 1) % width, y = scrambled(s, 2) % height;
            double u = (x - lens.cx) / double(lens.focal), v = (y - lens.cy) / double(lens.focal), r2 = u * u + v * v;
            double scale = 1 + r2 * (lens.k1 + r2 * (lens.k2 + r2 * lens.k3));
            double sx = u * scale * lens.focal + lens.cx, sy = v * scale * lens.focal + lens.cy;
            int x0 = int(std::floor(sx)), y0 = int(std::floor(sy));
            auto red = [&](int i, int j) {
                i = std::min(std::max(i, 0), width - 1);
                j = std::min(std::max(j, 0), height - 1);
                return double(host[size_t(j) * width + i].x);
            };
            double fx = sx - x0, fy = sy - y0;
            double value = (1 - fy) * ((1 - fx) * red(x0, y0) + fx * red(x0 + 1, y0)) +
                           fy * ((1 - fx) * red(x0, y0 + 1) + fx * red(x0 + 1, y0 + 1));
            if (std::fabs(value - want[4 * (size_t(y) * width + x)]) > 1.05) {
                std::printf("k253a: pixel %d %d is wrong\n", x, y);
                return 2;
            }
        }
        check("k253a", bytes, std::vector<unsigned char>(want.begin(), want.begin() + pixels), 0);
        MUST(cudaMemset(out, 0xA5, 4 * pixels));
        k253b<<<grid, block>>>(image, out, width, height, lens);
        check("k253b", bytes, want, 0.02);
        MUST(cudaMemset(out, 0xA5, 4 * pixels));
        k253c<<<grid, block>>>(texture, out, width, height, lens);
        check("k253c", bytes, want, 0.02);
        MUST(cudaDestroyTextureObject(texture));
        MUST(cudaFreeArray(array));
        MUST(cudaFree(image));
        MUST(cudaFree(out));
    }
    u16 *raw = input<u16>(pixels, 3, 0, 16384), *rgb = output<u16>(3 * pixels);
    dim3 block(32, 8);
    k253d<<<dim3(height / 32, width / 8), block>>>(raw, rgb, width, height);
    MUST(cudaDeviceSynchronize());
    std::vector<u16> want = on_host(rgb, 3 * pixels), host = on_host(raw, pixels);
    for (int s = 0; s < 100000; s++) {
        int x = 1 + scrambled(s, 4) % (width - 2), y = 1 + scrambled(s, 5) % (height - 2);
        // Mean of the samples of each colour in the 3 x 3 window, or the own sample.
        for (int colour = 0; colour < 3; colour++) {
            auto of = [](int i, int j) { return (i & 1) + (j & 1); };
            int sum = 0, count = 0;
            for (int j = y - 1; j <= y + 1; j++)
                for (int i = x - 1; i <= x + 1; i++)
                    if (of(i, j) == colour && !(colour == 1 && of(x, y) == 1)) {
                        sum += host[size_t(j) * width + i];
                        count++;
                    }
            int value = of(x, y) == colour ? host[size_t(y) * width + x] : sum / count;
            if (value != want[colour * pixels + size_t(y) * width + x]) {
                std::printf("k253d: pixel %d %d is wrong\n", x, y);
                return 2;
            }
        }
    }
    check("k253d", rgb, std::vector<u16>(want.begin(), want.begin() + pixels), 0);
    MUST(cudaMemset(rgb, 0xA5, 6 * pixels));
    k253e<<<dim3(width / 32, height / 8), block>>>(raw, rgb, width, height);
    check("k253e", rgb, want, 0);
    MUST(cudaMemset(rgb, 0xA5, 6 * pixels));
    k253f<<<dim3(width / 64, height / 16), block>>>(raw, rgb, width, height);
    check("k253f", rgb, want, 0);
    MUST(cudaMemset(rgb, 0xA5, 6 * pixels));
    k253g<<<dim3(width / 64, height / 16), block>>>(raw, rgb, width, height);
    check("k253g", rgb, want, 0);
}
