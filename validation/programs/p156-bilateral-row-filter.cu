// Bilateral filter of a grey image (11 x 11 window), and the row pass of a separable filter of 17 taps.
#include "../harness.h"

const int RADIUS = 5, SPAN = 2 * RADIUS + 1, TX = 32, TY = 8;
const int REACH = 8, TAPS = 2 * REACH + 1;

__constant__ float space[SPAN * SPAN];
__constant__ float space_log[SPAN * SPAN];
__constant__ float taps[TAPS];

__global__ void k156a(float *out, const float *in, int width, int height, int radius, float sigma_s, float sigma_r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float center = in[y * width + x];
    float sum = 0.0f, norm = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int xx = min(max(x + dx, 0), width - 1);
            int yy = min(max(y + dy, 0), height - 1);
            float v = in[yy * width + xx];
            float d = v - center;
            float ws = expf(-(dx * dx + dy * dy) / (2.0f * sigma_s * sigma_s));
            float wr = expf(-(d * d) / (2.0f * sigma_r * sigma_r));
            sum += v * ws * wr;
            norm += ws * wr;
        }
    out[y * width + x] = sum / norm;
}

// inv_s, inv_r: 1 / (2 sigma^2)
__global__ void k156b(float *out, const float *in, int width, int height, int radius, float inv_s, float inv_r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float center = in[y * width + x];
    float sum = 0.0f, norm = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int xx = min(max(x + dx, 0), width - 1);
            int yy = min(max(y + dy, 0), height - 1);
            float v = in[yy * width + xx];
            float d = v - center;
            float ws = __expf(-(dx * dx + dy * dy) * inv_s);
            float wr = __expf(-(d * d) * inv_r);
            sum += v * ws * wr;
            norm += ws * wr;
        }
    out[y * width + x] = __fdividef(sum, norm);
}

__global__ void k156c(float *out, const float *in, int width, int height, int radius, float inv_r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const int span = 2 * radius + 1;
    float center = in[y * width + x];
    float sum = 0.0f, norm = 0.0f;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            int xx = min(max(x + dx, 0), width - 1);
            int yy = min(max(y + dy, 0), height - 1);
            float v = in[yy * width + xx];
            float d = v - center;
            float w = space[(dy + radius) * span + dx + radius] * __expf(-(d * d) * inv_r);
            sum += v * w;
            norm += w;
        }
    out[y * width + x] = __fdividef(sum, norm);
}

__global__ void k156d(float *__restrict__ out, const float *__restrict__ in, int width, int height, float inv_r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float center = in[y * width + x];
    float sum = 0.0f, norm = 0.0f;
#pragma unroll
    for (int dy = -RADIUS; dy <= RADIUS; dy++) {
        const float *row = in + min(max(y + dy, 0), height - 1) * width;
#pragma unroll
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            float v = row[min(max(x + dx, 0), width - 1)];
            float d = v - center;
            float w = space[(dy + RADIUS) * SPAN + dx + RADIUS] * __expf(-(d * d) * inv_r);
            sum += v * w;
            norm += w;
        }
    }
    out[y * width + x] = __fdividef(sum, norm);
}

__device__ inline void load_tile(float (*tile)[TX + 2 * RADIUS], const float *in, int width, int height)
{
    int x0 = blockIdx.x * TX - RADIUS, y0 = blockIdx.y * TY - RADIUS;
    for (int r = threadIdx.y; r < TY + 2 * RADIUS; r += TY) {
        const float *row = in + min(max(y0 + r, 0), height - 1) * width;
        for (int c = threadIdx.x; c < TX + 2 * RADIUS; c += TX)
            tile[r][c] = row[min(max(x0 + c, 0), width - 1)];
    }
    __syncthreads();
}

__global__ void k156e(float *__restrict__ out, const float *__restrict__ in, int width, int height, float inv_r)
{
    __shared__ float tile[TY + 2 * RADIUS][TX + 2 * RADIUS];
    load_tile(tile, in, width, height);
    float center = tile[threadIdx.y + RADIUS][threadIdx.x + RADIUS];
    float sum = 0.0f, norm = 0.0f;
#pragma unroll
    for (int dy = 0; dy < SPAN; dy++)
#pragma unroll
        for (int dx = 0; dx < SPAN; dx++) {
            float v = tile[threadIdx.y + dy][threadIdx.x + dx];
            float d = v - center;
            float w = space[dy * SPAN + dx] * __expf(-(d * d) * inv_r);
            sum += v * w;
            norm += w;
        }
    out[(blockIdx.y * TY + threadIdx.y) * width + blockIdx.x * TX + threadIdx.x] = __fdividef(sum, norm);
}

__device__ inline float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// scale: -log2(e) / (2 sigma^2)
__global__ void k156f(float *__restrict__ out, const float *__restrict__ in, int width, int height, float scale)
{
    __shared__ float tile[TY + 2 * RADIUS][TX + 2 * RADIUS];
    load_tile(tile, in, width, height);
    float center = tile[threadIdx.y + RADIUS][threadIdx.x + RADIUS];
    float sum = 0.0f, norm = 0.0f;
#pragma unroll
    for (int dy = 0; dy < SPAN; dy++)
#pragma unroll
        for (int dx = 0; dx < SPAN; dx++) {
            float v = tile[threadIdx.y + dy][threadIdx.x + dx];
            float d = v - center;
            float w = power_of_two(d * d * scale + space_log[dy * SPAN + dx]);
            sum += v * w;
            norm += w;
        }
    out[(blockIdx.y * TY + threadIdx.y) * width + blockIdx.x * TX + threadIdx.x] = __fdividef(sum, norm);
}

__global__ void k156g(float *out, const float *in, const float *filter, int width, int reach)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    float sum = 0.0f;
    for (int k = -reach; k <= reach; k++) {
        int at = x + k;
        if (at >= 0 && at < width)
            sum += in[y * width + at] * filter[reach - k];
    }
    out[y * width + x] = sum;
}

__global__ void k156h(float *__restrict__ out, const float *__restrict__ in, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    const float *row = in + blockIdx.y * width;
    float sum = 0.0f;
#pragma unroll
    for (int k = -REACH; k <= REACH; k++) {
        int at = x + k;
        float v = at >= 0 && at < width ? row[at] : 0.0f;
        sum += v * taps[REACH - k];
    }
    out[blockIdx.y * width + x] = sum;
}

// values[0] lies REACH to the left of the first of four results.
__device__ inline float4 four_results(const float *values)
{
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < TAPS; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            sum[i] += values[i + k] * taps[TAPS - 1 - k];
    return make_float4(sum[0], sum[1], sum[2], sum[3]);
}

__global__ void k156i(float *__restrict__ out, const float *__restrict__ in, int width)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    const float *row = in + blockIdx.y * width;
    float values[4 + 2 * REACH];
#pragma unroll
    for (int q = 0; q < 1 + REACH / 2; q++) {
        int at = x - REACH + 4 * q;
        float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (at >= 0 && at < width)
            v = *reinterpret_cast<const float4 *>(row + at);
        values[4 * q] = v.x;
        values[4 * q + 1] = v.y;
        values[4 * q + 2] = v.z;
        values[4 * q + 3] = v.w;
    }
    *reinterpret_cast<float4 *>(out + blockIdx.y * width + x) = four_results(values);
}

const int WIDE = 256;

__global__ void k156j(float *__restrict__ out, const float *__restrict__ in, int width)
{
    __shared__ float4 segment[WIDE + REACH / 2];
    const float *row = in + blockIdx.y * width;
    int left = blockIdx.x * WIDE * 4 - REACH;
    for (int q = threadIdx.x; q < WIDE + REACH / 2; q += WIDE) {
        int at = left + 4 * q;
        segment[q] = at >= 0 && at < width ? *reinterpret_cast<const float4 *>(row + at)
                                           : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    __syncthreads();
    float values[4 + 2 * REACH];
#pragma unroll
    for (int q = 0; q < 1 + REACH / 2; q++) {
        float4 v = segment[threadIdx.x + q];
        values[4 * q] = v.x;
        values[4 * q + 1] = v.y;
        values[4 * q + 2] = v.z;
        values[4 * q + 3] = v.w;
    }
    int x = (blockIdx.x * WIDE + threadIdx.x) * 4;
    *reinterpret_cast<float4 *>(out + blockIdx.y * width + x) = four_results(values);
}

int main()
{
    const int width = 2048, height = 2048;
    const size_t n = (size_t)width * height;
    const float sigma_s = 3.0f, sigma_r = 0.15f;
    float *image = input<float>(n, 1561, 0.0, 1.0), *out = output<float>(n);
    std::vector<float> host = on_host(image, n), weight(SPAN * SPAN), log_weight(SPAN * SPAN);
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++) {
            double e = -(dx * dx + dy * dy) / (2.0 * sigma_s * sigma_s);
            weight[(dy + RADIUS) * SPAN + dx + RADIUS] = float(std::exp(e));
            log_weight[(dy + RADIUS) * SPAN + dx + RADIUS] = float(e * 1.4426950408889634);
        }
    MUST(cudaMemcpyToSymbol(space, weight.data(), weight.size() * sizeof(float)));
    MUST(cudaMemcpyToSymbol(space_log, log_weight.data(), weight.size() * sizeof(float)));

    // Rows 0, 37, 74, ... on the host; the first kernel's image serves the others.
    const int skip = 37, rows = (height - 1) / skip + 1;
    std::vector<float> want((size_t)rows * width);
    for (int r = 0; r < rows; r++)
        for (int x = 0; x < width; x++) {
            int y = r * skip;
            float center = host[(size_t)y * width + x], sum = 0.0f, norm = 0.0f;
            for (int dy = -RADIUS; dy <= RADIUS; dy++)
                for (int dx = -RADIUS; dx <= RADIUS; dx++) {
                    int xx = std::min(std::max(x + dx, 0), width - 1), yy = std::min(std::max(y + dy, 0), height - 1);
                    float v = host[(size_t)yy * width + xx], d = v - center;
                    float w = weight[(dy + RADIUS) * SPAN + dx + RADIUS] * std::exp(-d * d / (2.0f * sigma_r * sigma_r));
                    sum += v * w;
                    norm += w;
                }
            want[(size_t)r * width + x] = sum / norm;
        }
    float *picked = output<float>(want.size());
    std::vector<float> full;
    auto filtered = [&](const char *name, auto launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!full.empty())
            return check(name, out, full, 1e-3);
        MUST(cudaMemcpy2D(picked, width * sizeof(float), out, (size_t)skip * width * sizeof(float),
                          width * sizeof(float), rows, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-3);
        full = on_host(out, n);
    };
    dim3 threads(TX, TY), blocks(width / TX, height / TY);
    const float inv_s = 1.0f / (2.0f * sigma_s * sigma_s), inv_r = 1.0f / (2.0f * sigma_r * sigma_r);
    const float scale = -inv_r * 1.44269504f;
    filtered("k156a", [&] { k156a<<<blocks, threads>>>(out, image, width, height, RADIUS, sigma_s, sigma_r); });
    filtered("k156b", [&] { k156b<<<blocks, threads>>>(out, image, width, height, RADIUS, inv_s, inv_r); });
    filtered("k156c", [&] { k156c<<<blocks, threads>>>(out, image, width, height, RADIUS, inv_r); });
    filtered("k156d", [&] { k156d<<<blocks, threads>>>(out, image, width, height, inv_r); });
    filtered("k156e", [&] { k156e<<<blocks, threads>>>(out, image, width, height, inv_r); });
    filtered("k156f", [&] { k156f<<<blocks, threads>>>(out, image, width, height, scale); });

    const int columns = 8192, lines = 8192;
    const size_t pixels = (size_t)columns * lines;
    float *plane = input<float>(pixels, 1562, -1.0, 1.0), *smooth = output<float>(pixels);
    float *filter = input<float>(TAPS, 1563, 0.0, 0.2);
    std::vector<float> f = on_host(filter, TAPS);
    MUST(cudaMemcpyToSymbol(taps, f.data(), TAPS * sizeof(float)));
    const int step = 41, taken = (lines - 1) / step + 1;
    float *some = output<float>((size_t)taken * columns);
    auto pick = [&](const float *from) {
        MUST(cudaMemcpy2D(some, columns * sizeof(float), from, (size_t)step * columns * sizeof(float),
                          columns * sizeof(float), taken, cudaMemcpyDeviceToDevice));
    };
    pick(plane);
    std::vector<float> line = on_host(some, (size_t)taken * columns), result(line.size());
    for (int r = 0; r < taken; r++)
        for (int x = 0; x < columns; x++) {
            float sum = 0.0f;
            for (int k = -REACH; k <= REACH; k++)
                if (x + k >= 0 && x + k < columns)
                    sum += line[(size_t)r * columns + x + k] * f[REACH - k];
            result[(size_t)r * columns + x] = sum;
        }
    auto smoothed = [&](const char *name, auto launch) {
        MUST(cudaMemset(smooth, 0xA5, pixels * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        pick(smooth);
        check(name, some, result, 1e-4);
    };
    dim3 each(columns / 256, lines), by_four(columns / 4 / WIDE, lines);
    smoothed("k156g", [&] { k156g<<<each, 256>>>(smooth, plane, filter, columns, REACH); });
    smoothed("k156h", [&] { k156h<<<each, 256>>>(smooth, plane, columns); });
    smoothed("k156i", [&] { k156i<<<by_four, WIDE>>>(smooth, plane, columns); });
    smoothed("k156j", [&] { k156j<<<by_four, WIDE>>>(smooth, plane, columns); });
    return 0;
}
