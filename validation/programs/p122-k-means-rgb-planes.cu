// The nearest of 512 centres for points with 32 coordinates (assignment step of k-means), and the conversion of packed
// RGB bytes to planes of luma and two chromas.
#include "../harness.h"

#include <functional>

const int POINTS = 202752, DIMS = 32, CENTRES = 512, TILE = 128;

// Coordinate d of point i is points[d * n + i], of centre c centres[c * dims + d].
__global__ void k122a(int *label, const float *points, const float *centres, int n, int k, int dims)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float best = 3.0e38f;
    int nearest = 0;
    for (int c = 0; c < k; c++) {
        float sum = 0.0f;
        for (int d = 0; d < dims; d++) {
            float diff = points[d * n + i] - centres[c * dims + d];
            sum += diff * diff;
        }
        if (sum < best) {
            best = sum;
            nearest = c;
        }
    }
    label[i] = nearest;
}

// n is a multiple of the block, k of TILE.
__global__ void k122b(int *__restrict__ label, const float *__restrict__ points, const float *__restrict__ centres, int n,
                      int k)
{
    __shared__ __align__(16) float tile[TILE * DIMS];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float p[DIMS];
#pragma unroll
    for (int d = 0; d < DIMS; d++)
        p[d] = points[d * n + i];
    float best = 3.0e38f;
    int nearest = 0;
    for (int first = 0; first < k; first += TILE) {
        for (int j = threadIdx.x; j < TILE * DIMS; j += blockDim.x)
            tile[j] = centres[first * DIMS + j];
        __syncthreads();
        for (int c = 0; c < TILE; c++) {
            float sum = 0.0f;
#pragma unroll
            for (int d = 0; d < DIMS; d++) {
                float diff = p[d] - tile[c * DIMS + d];
                sum += diff * diff;
            }
            if (sum < best) {
                best = sum;
                nearest = first + c;
            }
        }
        __syncthreads();
    }
    label[i] = nearest;
}

// half_norm[c] is half of the square of centre c's length.
__global__ void k122c(int *__restrict__ label, const float *__restrict__ points, const float *__restrict__ centres,
                      const float *__restrict__ half_norm, int n, int k)
{
    __shared__ __align__(16) float tile[TILE * DIMS];
    __shared__ float start[TILE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float p[DIMS];
#pragma unroll
    for (int d = 0; d < DIMS; d++)
        p[d] = points[d * n + i];
    float best = 3.0e38f;
    int nearest = 0;
    for (int first = 0; first < k; first += TILE) {
        for (int j = threadIdx.x; j < TILE * DIMS; j += blockDim.x)
            tile[j] = centres[first * DIMS + j];
        if (threadIdx.x < TILE)
            start[threadIdx.x] = half_norm[first + threadIdx.x];
        __syncthreads();
        for (int c = 0; c < TILE; c++) {
            float sum = start[c];
#pragma unroll
            for (int d = 0; d < DIMS; d++)
                sum -= p[d] * tile[c * DIMS + d];
            if (sum < best) {
                best = sum;
                nearest = first + c;
            }
        }
        __syncthreads();
    }
    label[i] = nearest;
}

const int PER = 4;

// A block of 128 threads takes 512 points.
__global__ void __launch_bounds__(128, 3) k122d(int *__restrict__ label, const float *__restrict__ points,
                                                const float *__restrict__ centres, const float *__restrict__ half_norm,
                                                int n, int k)
{
    __shared__ float4 tile[TILE * DIMS / 4];
    __shared__ float start[TILE];
    int i = blockIdx.x * 128 * PER + threadIdx.x;
    float p[PER][DIMS];
#pragma unroll
    for (int d = 0; d < DIMS; d++)
#pragma unroll
        for (int q = 0; q < PER; q++)
            p[q][d] = points[d * n + i + q * 128];
    float best[PER];
    int nearest[PER];
#pragma unroll
    for (int q = 0; q < PER; q++) {
        best[q] = 3.0e38f;
        nearest[q] = 0;
    }
    for (int first = 0; first < k; first += TILE) {
        const float4 *from = reinterpret_cast<const float4 *>(centres + first * DIMS);
        for (int j = threadIdx.x; j < TILE * DIMS / 4; j += 128)
            tile[j] = from[j];
        start[threadIdx.x] = half_norm[first + threadIdx.x];
        __syncthreads();
#pragma unroll 2
        for (int c = 0; c < TILE; c++) {
            float sum[PER];
#pragma unroll
            for (int q = 0; q < PER; q++)
                sum[q] = start[c];
#pragma unroll
            for (int d = 0; d < DIMS / 4; d++) {
                float4 v = tile[c * (DIMS / 4) + d];
#pragma unroll
                for (int q = 0; q < PER; q++) {
                    sum[q] -= p[q][4 * d] * v.x;
                    sum[q] -= p[q][4 * d + 1] * v.y;
                    sum[q] -= p[q][4 * d + 2] * v.z;
                    sum[q] -= p[q][4 * d + 3] * v.w;
                }
            }
#pragma unroll
            for (int q = 0; q < PER; q++)
                if (sum[q] < best[q]) {
                    best[q] = sum[q];
                    nearest[q] = first + c;
                }
        }
        __syncthreads();
    }
#pragma unroll
    for (int q = 0; q < PER; q++)
        label[i + q * 128] = nearest[q];
}

__global__ void fill_norms(float *half_norm, const float *centres)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < CENTRES) {
        float sum = 0.0f;
        for (int d = 0; d < DIMS; d++)
            sum += centres[c * DIMS + d] * centres[c * DIMS + d];
        half_norm[c] = 0.5f * sum;
    }
}

// The squared distance of each point to the centre that its label names.
__global__ void fill_distances(float *distance, const int *label, const float *points, const float *centres)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= POINTS)
        return;
    int c = label[i];
    double sum = c >= 0 && c < CENTRES ? 0.0 : -1.0;
    if (sum == 0.0)
        for (int d = 0; d < DIMS; d++) {
            double diff = double(points[d * POINTS + i]) - centres[c * DIMS + d];
            sum += diff * diff;
        }
    distance[i] = float(sum);
}

typedef unsigned char byte;

__global__ void k122e(byte *luma, byte *blue, byte *red, const byte *rgb, int width, int height)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) {
        int at = row * width + col;
        double r = rgb[3 * at], g = rgb[3 * at + 1], b = rgb[3 * at + 2];
        double y = 0.299 * r + 0.587 * g + 0.114 * b;
        double cb = 128.0 - 0.168736 * r - 0.331264 * g + 0.5 * b;
        double cr = 128.0 + 0.5 * r - 0.418688 * g - 0.081312 * b;
        luma[at] = (byte)(int)(fmin(fmax(y, 0.0), 255.0) + 0.5);
        blue[at] = (byte)(int)(fmin(fmax(cb, 0.0), 255.0) + 0.5);
        red[at] = (byte)(int)(fmin(fmax(cr, 0.0), 255.0) + 0.5);
    }
}

__global__ void k122f(byte *luma, byte *blue, byte *red, const byte *rgb, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) {
        int at = row * width + col;
        double r = rgb[3 * at], g = rgb[3 * at + 1], b = rgb[3 * at + 2];
        double y = 0.299 * r + 0.587 * g + 0.114 * b;
        double cb = 128.0 - 0.168736 * r - 0.331264 * g + 0.5 * b;
        double cr = 128.0 + 0.5 * r - 0.418688 * g - 0.081312 * b;
        luma[at] = (byte)(int)(fmin(fmax(y, 0.0), 255.0) + 0.5);
        blue[at] = (byte)(int)(fmin(fmax(cb, 0.0), 255.0) + 0.5);
        red[at] = (byte)(int)(fmin(fmax(cr, 0.0), 255.0) + 0.5);
    }
}

__device__ inline void convert(int r, int g, int b, unsigned &y, unsigned &cb, unsigned &cr)
{
    y = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16;
    cb = (-11059 * r - 21709 * g + 32768 * b + (128 << 16) + 32767) >> 16;
    cr = (32768 * r - 27439 * g - 5329 * b + (128 << 16) + 32767) >> 16;
}

__global__ void k122g(byte *luma, byte *blue, byte *red, const byte *rgb, int width, int height)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < height && col < width) {
        int at = row * width + col;
        unsigned y, cb, cr;
        convert(rgb[3 * at], rgb[3 * at + 1], rgb[3 * at + 2], y, cb, cr);
        luma[at] = (byte)y;
        blue[at] = (byte)cb;
        red[at] = (byte)cr;
    }
}

// Sixteen pixels, 48 bytes in twelve words, become four words for each plane.
__device__ inline void sixteen(const uint4 &a, const uint4 &b, const uint4 &c, uint4 &luma, uint4 &blue, uint4 &red)
{
    unsigned w[12] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w}, out[3][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        out[0][i] = out[1][i] = out[2][i] = 0;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int at = 3 * (4 * i + j);
            unsigned y, cb, cr;
            convert(w[at / 4] >> at % 4 * 8 & 255, w[(at + 1) / 4] >> (at + 1) % 4 * 8 & 255,
                    w[(at + 2) / 4] >> (at + 2) % 4 * 8 & 255, y, cb, cr);
            out[0][i] |= y << 8 * j;
            out[1][i] |= cb << 8 * j;
            out[2][i] |= cr << 8 * j;
        }
    }
    luma = make_uint4(out[0][0], out[0][1], out[0][2], out[0][3]);
    blue = make_uint4(out[1][0], out[1][1], out[1][2], out[1][3]);
    red = make_uint4(out[2][0], out[2][1], out[2][2], out[2][3]);
}

__global__ void k122h(uint4 *__restrict__ luma, uint4 *__restrict__ blue, uint4 *__restrict__ red,
                      const uint4 *__restrict__ rgb, int groups)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < groups) {
        uint4 y, cb, cr;
        sixteen(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], y, cb, cr);
        luma[i] = y;
        blue[i] = cb;
        red[i] = cr;
    }
}

// The number of groups is a multiple of the block of 256.
__global__ void k122i(uint4 *__restrict__ luma, uint4 *__restrict__ blue, uint4 *__restrict__ red,
                      const uint4 *__restrict__ rgb)
{
    __shared__ uint4 tile[3 * 256];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
#pragma unroll
    for (int j = 0; j < 3; j++)
        tile[j * 256 + t] = rgb[blockIdx.x * 768 + j * 256 + t];
    __syncthreads();
    uint4 y, cb, cr;
    sixteen(tile[3 * t], tile[3 * t + 1], tile[3 * t + 2], y, cb, cr);
    luma[i] = y;
    blue[i] = cb;
    red[i] = cr;
}

// Every step-th byte, counted from the end, as a number above 1000.
__global__ void pick_every(float *dst, const byte *src, int count, int step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        dst[i] = 1000.0f + src[n - 1 - i * step];
}

int main()
{
    {
        const int n = POINTS, k = CENTRES, dims = DIMS, step = 61;
        float *points = input<float>((size_t)n * dims, 1221, 0.0, 1.0);
        float *centres = input<float>(k * dims, 1222, 0.0, 1.0), *half_norm = output<float>(k), *distance = output<float>(n);
        int *label = output<int>(n);
        fill_norms<<<(k + 127) / 128, 128>>>(half_norm, centres);
        MUST(cudaGetLastError());
        std::vector<float> hp = on_host(points, (size_t)n * dims), hc = on_host(centres, k * dims), all, best;
        for (int i = 0; i < n; i += step) {
            double least = 1e30;
            float p[DIMS];
            for (int d = 0; d < dims; d++)
                p[d] = hp[(size_t)d * n + i];
            for (int c = 0; c < k; c++) {
                float sum = 0.0f;
                for (int d = 0; d < dims; d++)
                    sum += (p[d] - hc[c * dims + d]) * (p[d] - hc[c * dims + d]);
                least = std::fmin(least, double(sum));
            }
            best.push_back(float(least));
        }
        auto assign = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(label, 0xA5, n * sizeof(int)));
            launch();
            MUST(cudaGetLastError());
            fill_distances<<<(n + 255) / 256, 256>>>(distance, label, points, centres);
            if (all.empty()) {
                MUST(cudaDeviceSynchronize());
                all = on_host(distance, n);
                for (size_t i = 0; i < best.size(); i++)
                    if (!(std::fabs(all[i * step] - best[i]) <= 1e-5 * std::fmax(1.0, double(best[i])))) {
                        std::printf("%s: point %zu is wrong\n", name, i * step);
                        std::exit(2);
                    }
            }
            check(name, distance, all, 1e-5);
        };
        assign("k122a", [&] { k122a<<<n / 256, 256>>>(label, points, centres, n, k, dims); });
        assign("k122b", [&] { k122b<<<n / 256, 256>>>(label, points, centres, n, k); });
        assign("k122c", [&] { k122c<<<n / 256, 256>>>(label, points, centres, half_norm, n, k); });
        assign("k122d", [&] { k122d<<<n / (128 * PER), 128>>>(label, points, centres, half_norm, n, k); });
        for (float *p : {points, centres, half_norm, distance})
            MUST(cudaFree(p));
    }

    const int width = 8192, height = 8192, n = width * height, step = 61, count = (n - 1) / step + 1;
    byte *rgb = input<byte>(3 * (size_t)n, 1223, 0.0, 256.0), *planes[3];
    float *some = output<float>(count);
    std::vector<byte> h = on_host(rgb, 3 * (size_t)n);
    std::vector<float> want[3];
    const double factor[3][3] = {{0.299, 0.587, 0.114}, {-0.168736, -0.331264, 0.5}, {0.5, -0.418688, -0.081312}};
    for (int c = 0; c < 3; c++) {
        planes[c] = output<byte>(n);
        want[c].resize(count);
        for (int i = 0; i < count; i++) {
            const byte *pixel = &h[3 * (size_t)(n - 1 - i * step)];
            double v = factor[c][0] * pixel[0] + factor[c][1] * pixel[1] + factor[c][2] * pixel[2] + (c ? 128.0 : 0.0);
            want[c][i] = 1000.0f + float(int(std::fmin(v, 255.0) + 0.5));
        }
    }
    auto colours = [&](const char *name, std::function<void()> launch) {
        for (byte *plane : planes)
            MUST(cudaMemset(plane, 0xA5, n));
        launch();
        MUST(cudaGetLastError());
        // One level more or less, of 256, is allowed.
        for (int c = 0; c < 3; c++) {
            pick_every<<<(count + 255) / 256, 256>>>(some, planes[c], count, step, n);
            check(name, some, want[c], 1e-3);
        }
    };
    byte *y = planes[0], *cb = planes[1], *cr = planes[2];
    uint4 *y4 = (uint4 *)y, *cb4 = (uint4 *)cb, *cr4 = (uint4 *)cr;
    const uint4 *rgb4 = (const uint4 *)rgb;
    dim3 block(16, 16), by_row(height / 16, width / 16), grid(width / 32, height / 8);
    const int groups = n / 16;
    colours("k122e", [&] { k122e<<<by_row, block>>>(y, cb, cr, rgb, width, height); });
    colours("k122f", [&] { k122f<<<grid, dim3(32, 8)>>>(y, cb, cr, rgb, width, height); });
    colours("k122g", [&] { k122g<<<grid, dim3(32, 8)>>>(y, cb, cr, rgb, width, height); });
    colours("k122h", [&] { k122h<<<groups / 256, 256>>>(y4, cb4, cr4, rgb4, groups); });
    colours("k122i", [&] { k122i<<<groups / 256, 256>>>(y4, cb4, cr4, rgb4); });
    return 0;
}
