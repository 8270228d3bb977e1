// Radar detection: each cell of a range profile against the mean of its neighbours (cell averaging CFAR), the level in
// decibels of 8-bit complex samples, and the box around a cloud of points.
#include "../harness.h"

#include <functional>

const int GUARD = 2, TRAIN = 16, REACH = GUARD + TRAIN;

__global__ void k181a(float *ratio, const float2 *profile, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float2 *x = profile + (size_t)blockIdx.y * n;
    float result = 0.0f;
    if (i >= REACH && i < n - REACH) {
        float sum = 0.0f;
        for (int k = GUARD + 1; k <= REACH; k++) {
            float2 l = x[i - k], r = x[i + k];
            sum += l.x * l.x + l.y * l.y + r.x * r.x + r.y * r.y;
        }
        result = (x[i].x * x[i].x + x[i].y * x[i].y) * (2 * TRAIN) / sum;
    }
    ratio[(size_t)blockIdx.y * n + i] = result;
}

__global__ void k181b(float *__restrict__ ratio, const float2 *__restrict__ profile, int n)
{
    __shared__ float power[256 + 2 * REACH];
    int first = blockIdx.x * 256, i = first + threadIdx.x;
    const float2 *x = profile + (size_t)blockIdx.y * n;
    for (int t = threadIdx.x; t < 256 + 2 * REACH; t += 256) {
        int at = first - REACH + t;
        float2 v = at >= 0 && at < n ? x[at] : make_float2(0.0f, 0.0f);
        power[t] = v.x * v.x + v.y * v.y;
    }
    __syncthreads();
    float result = 0.0f;
    if (i >= REACH && i < n - REACH) {
        float sum = 0.0f;
#pragma unroll
        for (int k = GUARD + 1; k <= REACH; k++)
            sum += power[threadIdx.x + REACH - k] + power[threadIdx.x + REACH + k];
        result = power[threadIdx.x + REACH] * (2 * TRAIN) / sum;
    }
    ratio[(size_t)blockIdx.y * n + i] = result;
}

const int TILE = 1024;

__global__ void __launch_bounds__(256, 4)
    k181c(float *__restrict__ ratio, const float2 *__restrict__ profile, int n)
{
    __shared__ __align__(16) float power[TILE + 2 * REACH];
    int first = blockIdx.x * TILE;
    const float2 *x = profile + (size_t)blockIdx.y * n;
#pragma unroll
    for (int t = threadIdx.x; t < (TILE + 2 * REACH) / 2; t += 256) {
        int at = first - REACH + 2 * t;
        float4 v = at >= 0 && at < n ? *reinterpret_cast<const float4 *>(x + at) : make_float4(0, 0, 0, 0);
        *reinterpret_cast<float2 *>(power + 2 * t) = make_float2(v.x * v.x + v.y * v.y, v.z * v.z + v.w * v.w);
    }
    __syncthreads();
    float p[2 * REACH + 4];
#pragma unroll
    for (int q = 0; q < 2 * REACH + 4; q += 4) {
        float4 v = *reinterpret_cast<const float4 *>(power + 4 * threadIdx.x + q);
        p[q] = v.x;
        p[q + 1] = v.y;
        p[q + 2] = v.z;
        p[q + 3] = v.w;
    }
    float sum = 0.0f, result[4];
#pragma unroll
    for (int k = 0; k < TRAIN; k++)
        sum += p[k] + p[REACH + GUARD + 1 + k];
#pragma unroll
    for (int c = 0; c < 4; c++) {
        int i = first + 4 * threadIdx.x + c;
        result[c] = i >= REACH && i < n - REACH ? __fdividef(p[REACH + c] * (2 * TRAIN), sum) : 0.0f;
        if (c < 3)
            sum += (p[c + TRAIN] - p[c]) + (p[c + 2 * REACH + 1] - p[c + REACH + GUARD + 1]);
    }
    *reinterpret_cast<float4 *>(ratio + (size_t)blockIdx.y * n + first + 4 * threadIdx.x) =
        make_float4(result[0], result[1], result[2], result[3]);
}

__global__ void k181d(float *level, const uchar2 *samples, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        double re = samples[i].x - 127.5, im = samples[i].y - 127.5;
        level[i] = 20.0 * log10(sqrt(re * re + im * im));
    }
}

__device__ inline float decibels(unsigned re, unsigned im)
{
    float x = float(re) - 127.5f, y = float(im) - 127.5f;
    return 3.01029996f * __log2f(x * x + y * y);
}

__global__ void k181e(float *level, const uchar2 *samples, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uchar2 s = samples[i];
        level[i] = decibels(s.x, s.y);
    }
}

__global__ void k181f(float4 *__restrict__ level, const uint2 *__restrict__ samples, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        uint2 s = samples[i];
        float4 r;
        r.x = decibels(s.x & 255u, s.x >> 8 & 255u);
        r.y = decibels(s.x >> 16 & 255u, s.x >> 24);
        r.z = decibels(s.y & 255u, s.y >> 8 & 255u);
        r.w = decibels(s.y >> 16 & 255u, s.y >> 24);
        level[i] = r;
    }
}

const int THREADS = 256;

__global__ void k181g(float *boxes, const float *points, int n)
{
    __shared__ float low[3][THREADS], high[3][THREADS];
    int p = blockIdx.x * THREADS + threadIdx.x, tid = threadIdx.x;
    for (int d = 0; d < 3; d++) {
        low[d][tid] = p < n ? points[3 * p + d] : 1e30f;
        high[d][tid] = p < n ? points[3 * p + d] : -1e30f;
    }
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            for (int d = 0; d < 3; d++) {
                low[d][tid] = fminf(low[d][tid], low[d][tid + s]);
                high[d][tid] = fmaxf(high[d][tid], high[d][tid + s]);
            }
        __syncthreads();
    }
    if (tid < 3) {
        boxes[6 * blockIdx.x + tid] = low[tid][0];
        boxes[6 * blockIdx.x + 3 + tid] = high[tid][0];
    }
}

__global__ void k181h(float *boxes, const float *points, int n)
{
    __shared__ float low[3][THREADS], high[3][THREADS];
    int p = blockIdx.x * THREADS + threadIdx.x, tid = threadIdx.x;
    for (int d = 0; d < 3; d++) {
        low[d][tid] = p < n ? points[3 * p + d] : 1e30f;
        high[d][tid] = p < n ? points[3 * p + d] : -1e30f;
    }
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s)
            for (int d = 0; d < 3; d++) {
                low[d][tid] = fminf(low[d][tid], low[d][tid + s]);
                high[d][tid] = fmaxf(high[d][tid], high[d][tid + s]);
            }
        __syncthreads();
    }
    if (tid < 3) {
        boxes[6 * blockIdx.x + tid] = low[tid][0];
        boxes[6 * blockIdx.x + 3 + tid] = high[tid][0];
    }
}

__global__ void __launch_bounds__(THREADS, 8) k181i(float *__restrict__ boxes, const float *__restrict__ points, int n)
{
    __shared__ float low[3][THREADS], high[3][THREADS];
    int tid = threadIdx.x, stride = gridDim.x * THREADS, p = blockIdx.x * THREADS + tid;
    float l[3] = {1e30f, 1e30f, 1e30f}, h[3] = {-1e30f, -1e30f, -1e30f};
    for (; p + stride < n; p += 2 * stride) {
        float a[3], b[3];
#pragma unroll
        for (int d = 0; d < 3; d++) {
            a[d] = points[3 * p + d];
            b[d] = points[3 * (p + stride) + d];
        }
#pragma unroll
        for (int d = 0; d < 3; d++) {
            l[d] = fminf(l[d], fminf(a[d], b[d]));
            h[d] = fmaxf(h[d], fmaxf(a[d], b[d]));
        }
    }
    if (p < n)
        for (int d = 0; d < 3; d++) {
            l[d] = fminf(l[d], points[3 * p + d]);
            h[d] = fmaxf(h[d], points[3 * p + d]);
        }
    for (int d = 0; d < 3; d++) {
        low[d][tid] = l[d];
        high[d][tid] = h[d];
    }
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s)
            for (int d = 0; d < 3; d++) {
                low[d][tid] = fminf(low[d][tid], low[d][tid + s]);
                high[d][tid] = fmaxf(high[d][tid], high[d][tid + s]);
            }
        __syncthreads();
    }
    if (tid < 3) {
        boxes[6 * blockIdx.x + tid] = low[tid][0];
        boxes[6 * blockIdx.x + 3 + tid] = high[tid][0];
    }
}

// Rows 0, every, 2 * every, ... of a table of floats, one after the other.
std::vector<float> some_rows(const float *from, int width, int every, int rows)
{
    std::vector<float> to((size_t)width * rows);
    const size_t bytes = width * sizeof(float);
    MUST(cudaMemcpy2D(to.data(), bytes, from, every * bytes, bytes, rows, cudaMemcpyDeviceToHost));
    return to;
}

int main()
{
    {
        const int n = 8192, pulses = 4096, every = 97, rows = (pulses - 1) / every + 1;
        const size_t cells = (size_t)n * pulses;
        float *raw = input<float>(2 * cells, 1811, -1.0, 1.0), *ratio = output<float>(cells);
        const float2 *profile = reinterpret_cast<const float2 *>(raw);
        std::vector<float> x = some_rows(raw, 2 * n, every, rows), want((size_t)rows * n, 0.0f);
        for (int r = 0; r < rows; r++) {
            std::vector<double> power(n);
            for (int i = 0; i < n; i++) {
                double re = x[((size_t)r * n + i) * 2], im = x[((size_t)r * n + i) * 2 + 1];
                power[i] = re * re + im * im;
            }
            for (int i = REACH; i < n - REACH; i++) {
                double sum = 0;
                for (int k = GUARD + 1; k <= REACH; k++)
                    sum += power[i - k] + power[i + k];
                want[(size_t)r * n + i] = float(power[i] * (2 * TRAIN) / sum);
            }
        }
        auto detect = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(ratio, 0xA5, cells * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            float *got = on_device(some_rows(ratio, n, every, rows));
            check(name, got, want, 1e-4);
            MUST(cudaFree(got));
        };
        dim3 cell_grid(n / 256, pulses), tile_grid(n / TILE, pulses);
        detect("k181a", [&] { k181a<<<cell_grid, 256>>>(ratio, profile, n); });
        detect("k181b", [&] { k181b<<<cell_grid, 256>>>(ratio, profile, n); });
        detect("k181c", [&] { k181c<<<tile_grid, 256>>>(ratio, profile, n); });
        MUST(cudaFree(raw));
        MUST(cudaFree(ratio));
    }
    {
        const int n = 1 << 27, width = 8192, every = 331, rows = (n / width - 1) / every + 1;
        unsigned char *raw = input<unsigned char>(2 * (size_t)n, 1812, 0.0, 256.0);
        float *level = output<float>(n);
        std::vector<unsigned char> x((size_t)rows * width * 2);
        MUST(cudaMemcpy2D(x.data(), 2 * width, raw, (size_t)every * 2 * width, 2 * width, rows, cudaMemcpyDeviceToHost));
        std::vector<float> want((size_t)rows * width);
        for (size_t i = 0; i < want.size(); i++) {
            double re = x[2 * i] - 127.5, im = x[2 * i + 1] - 127.5;
            want[i] = float(10 * std::log10(re * re + im * im));
        }
        auto convert = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(level, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            float *got = on_device(some_rows(level, width, every, rows));
            check(name, got, want, 1e-4);
            MUST(cudaFree(got));
        };
        const uchar2 *pairs = reinterpret_cast<const uchar2 *>(raw);
        const uint2 *quads = reinterpret_cast<const uint2 *>(raw);
        float4 *level4 = reinterpret_cast<float4 *>(level);
        convert("k181d", [&] { k181d<<<n / 256, 256>>>(level, pairs, n); });
        convert("k181e", [&] { k181e<<<n / 256, 256>>>(level, pairs, n); });
        convert("k181f", [&] { k181f<<<n / 4 / 256, 256>>>(level4, quads, n / 4); });
        MUST(cudaFree(raw));
        MUST(cudaFree(level));
    }
    const int n = 1 << 25, blocks = n / THREADS, few = 132 * 8;
    float *points = input<float>(3 * (size_t)n, 1813, 5.0, 100.0), *boxes = output<float>(6 * blocks);
    auto merge = [](const std::vector<float> &part) {
        std::vector<float> box(part.begin(), part.begin() + 6);
        for (size_t i = 0; i < part.size(); i += 6)
            for (int d = 0; d < 3; d++) {
                box[d] = std::fmin(box[d], part[i + d]);
                box[3 + d] = std::fmax(box[3 + d], part[i + 3 + d]);
            }
        return box;
    };
    std::vector<float> want = {1e30f, 1e30f, 1e30f, -1e30f, -1e30f, -1e30f};
    {
        std::vector<float> cloud = on_host(points, 3 * (size_t)n);
        for (size_t i = 0; i < cloud.size(); i += 3)
            for (int d = 0; d < 3; d++) {
                want[d] = cloud[i + d] < want[d] ? cloud[i + d] : want[d];
                want[3 + d] = cloud[i + d] > want[3 + d] ? cloud[i + d] : want[3 + d];
            }
    }
    auto enclose = [&](const char *name, int parts, std::function<void()> launch) {
        MUST(cudaMemset(boxes, 0xA5, 6 * (size_t)blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        float *got = on_device(merge(on_host(boxes, 6 * (size_t)parts)));
        check(name, got, want, 0.0);
        MUST(cudaFree(got));
    };
    enclose("k181g", blocks, [&] { k181g<<<blocks, THREADS>>>(boxes, points, n); });
    enclose("k181h", blocks, [&] { k181h<<<blocks, THREADS>>>(boxes, points, n); });
    enclose("k181i", few, [&] { k181i<<<few, THREADS>>>(boxes, points, n); });
    return 0;
}
