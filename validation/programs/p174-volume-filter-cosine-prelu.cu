// A 5 x 5 x 5 filter of a volume (valid part), cosine similarity of pairs of embeddings, and the parametric ReLU with a
// slope per channel.
#include "../harness.h"

#include <cuda_pipeline.h>
#include <functional>

const int K = 5, DEPTH = 192, HEIGHT = 512, WIDTH = 512;
const int IN_D = DEPTH + K - 1, IN_H = HEIGHT + K - 1, IN_W = WIDTH + K - 1;

__constant__ float filter[K * K * K];

// out is (depth, height, width), in is larger by k - 1 along each.
__global__ void k174a(float *out, const float *in, const float *weight, int depth, int height, int width, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height || z >= depth)
        return;
    int ih = height + k - 1, iw = width + k - 1;
    float sum = 0.0f;
    for (int p = 0; p < k; p++)
        for (int q = 0; q < k; q++)
            for (int r = 0; r < k; r++)
                sum += in[((z + p) * ih + y + q) * iw + x + r] * weight[(p * k + q) * k + r];
    out[(z * height + y) * width + x] = sum;
}

__global__ void k174b(float *out, const float *in, int depth, int height, int width, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height || z >= depth)
        return;
    int ih = height + k - 1, iw = width + k - 1;
    float sum = 0.0f;
    for (int p = 0; p < k; p++)
        for (int q = 0; q < k; q++)
            for (int r = 0; r < k; r++)
                sum += in[((z + p) * ih + y + q) * iw + x + r] * filter[(p * k + q) * k + r];
    out[(z * height + y) * width + x] = sum;
}

__global__ void k174c(float *__restrict__ out, const float *__restrict__ in, int depth, int height, int width)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= width || y >= height || z >= depth)
        return;
    int ih = height + K - 1, iw = width + K - 1;
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < K; p++)
#pragma unroll
        for (int q = 0; q < K; q++)
#pragma unroll
            for (int r = 0; r < K; r++)
                sum += in[((z + p) * ih + y + q) * iw + x + r] * filter[(p * K + q) * K + r];
    out[(z * height + y) * width + x] = sum;
}

// A block of 32 x 8 threads goes down through SLAB planes of 32 x 64 outputs, two planes at a time; a thread holds 8 rows
// of 6 open planes.
const int SLAB = 32, ROWS = 8, SIDE = 32 + K - 1, TILE = SIDE * (8 * ROWS + K - 1), PARTS = (TILE + 255) / 256;

__global__ void __launch_bounds__(256, 2) k174d(float *__restrict__ out, const float *__restrict__ in)
{
    __shared__ float tile[2][2][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 32 + tx;
    int x0 = blockIdx.x * 32, y0 = blockIdx.y * 8 * ROWS, z0 = blockIdx.z * SLAB;
    int from[PARTS];
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        int at = min(t + 256 * i, TILE - 1);
        from[i] = at / SIDE * IN_W + at % SIDE;
    }
    const float *plane = in + ((size_t)z0 * IN_H + y0) * IN_W + x0;
    auto fetch = [&](int which) {
#pragma unroll
        for (int b = 0; b < 2; b++)
#pragma unroll
            for (int i = 0; i < PARTS; i++)
                if (t + 256 * i < TILE)
                    __pipeline_memcpy_async(&tile[which][b][t + 256 * i], plane + b * IN_H * IN_W + from[i], 4);
        __pipeline_commit();
    };
    fetch(0);

    float sum[ROWS][K + 1];
#pragma unroll
    for (int a = 0; a < ROWS; a++)
#pragma unroll
        for (int j = 0; j <= K; j++)
            sum[a][j] = 0.0f;

    const int steps = (SLAB + K - 1) / 2;
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        __pipeline_wait_prior(0);
        __syncthreads();
        if (step + 1 < steps) {
            plane += 2 * IN_H * IN_W;
            fetch((step + 1) % 2);
        }
        const float *upper = &tile[step % 2][0][ty * ROWS * SIDE + tx], *lower = upper + TILE;
#pragma unroll
        for (int r = 0; r < K; r++)
#pragma unroll
            for (int row = 0; row < ROWS + K - 1; row++) {
                float u = upper[row * SIDE + r], v = lower[row * SIDE + r];
#pragma unroll
                for (int a = 0; a < ROWS; a++)
                    if (row >= a && row - a < K) {
#pragma unroll
                        for (int p = 0; p < K; p++) {
                            float w = filter[(p * K + row - a) * K + r];
                            sum[a][K - 1 - p] += u * w;
                            sum[a][K - p] += v * w;
                        }
                    }
            }
        if (step >= (K - 1) / 2) {
            int z = z0 + 2 * step - (K - 1);
            float *to = out + ((size_t)z * HEIGHT + y0 + ty * ROWS) * WIDTH + x0 + tx;
#pragma unroll
            for (int a = 0; a < ROWS; a++) {
                to[a * WIDTH] = sum[a][0];
                to[(HEIGHT + a) * WIDTH] = sum[a][1];
            }
        }
#pragma unroll
        for (int a = 0; a < ROWS; a++) {
#pragma unroll
            for (int j = 0; j < K - 1; j++)
                sum[a][j] = sum[a][j + 2];
            sum[a][K - 1] = sum[a][K] = 0.0f;
        }
    }
}

__device__ inline float cosine(float dot, float aa, float bb)
{
    return dot / fmaxf(sqrtf(aa) * sqrtf(bb), 1e-8f);
}

__global__ void k174e(float *y, const float *a, const float *b, int rows, int dim)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float dot = 0.0f, aa = 0.0f, bb = 0.0f;
    for (int i = 0; i < dim; i++) {
        float u = a[(size_t)row * dim + i], v = b[(size_t)row * dim + i];
        dot += u * v;
        aa += u * u;
        bb += v * v;
    }
    y[row] = cosine(dot, aa, bb);
}

__device__ inline float block_sum(float v, float *part)
{
    int t = threadIdx.x;
    part[t] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    float sum = part[0];
    __syncthreads();
    return sum;
}

__global__ void k174f(float *y, const float *a, const float *b, int dim)
{
    __shared__ float part[256];
    int row = blockIdx.x;
    float dot = 0.0f, aa = 0.0f, bb = 0.0f;
    for (int i = threadIdx.x; i < dim; i += blockDim.x) {
        float u = a[(size_t)row * dim + i], v = b[(size_t)row * dim + i];
        dot += u * v;
        aa += u * u;
        bb += v * v;
    }
    dot = block_sum(dot, part);
    aa = block_sum(aa, part);
    bb = block_sum(bb, part);
    if (threadIdx.x == 0)
        y[row] = cosine(dot, aa, bb);
}

__device__ inline float warp_sum(float v)
{
    for (int step = 16; step > 0; step /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

const int DIM = 768;

__global__ void k174g(float *__restrict__ y, const float *__restrict__ a, const float *__restrict__ b, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float4 *p = reinterpret_cast<const float4 *>(a + (size_t)row * DIM);
    const float4 *q = reinterpret_cast<const float4 *>(b + (size_t)row * DIM);
    float dot = 0.0f, aa = 0.0f, bb = 0.0f;
#pragma unroll
    for (int i = 0; i < DIM / 128; i++) {
        float4 u = p[i * 32 + lane], v = q[i * 32 + lane];
        dot += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
        aa += u.x * u.x + u.y * u.y + u.z * u.z + u.w * u.w;
        bb += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    dot = warp_sum(dot);
    aa = warp_sum(aa);
    bb = warp_sum(bb);
    if (lane == 0)
        y[row] = cosine(dot, aa, bb);
}

__global__ void k174h(float *y, const float *x, const float *slope, int channels, int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, plane = blockIdx.y;
    if (i < pixels) {
        float v = x[(size_t)plane * pixels + i];
        if (v < 0.0f)
            v *= slope[plane % channels];
        y[(size_t)plane * pixels + i] = v;
    }
}

__global__ void k174i(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ slope, int channels,
                      int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, plane = blockIdx.y;
    if (i < pixels / 4) {
        float s = slope[plane % channels];
        float4 v = reinterpret_cast<const float4 *>(x + (size_t)plane * pixels)[i];
        if (v.x < 0.0f)
            v.x *= s;
        if (v.y < 0.0f)
            v.y *= s;
        if (v.z < 0.0f)
            v.z *= s;
        if (v.w < 0.0f)
            v.w *= s;
        reinterpret_cast<float4 *>(y + (size_t)plane * pixels)[i] = v;
    }
}

__global__ void k174j(float *__restrict__ y, const float *__restrict__ x, const float *__restrict__ slope, int channels,
                      int pixels)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, plane = blockIdx.y;
    if (i < pixels / 4) {
        float s = slope[plane % channels];
        float4 v = reinterpret_cast<const float4 *>(x + (size_t)plane * pixels)[i];
        v.x = fmaxf(v.x, 0.0f) + s * fminf(v.x, 0.0f);
        v.y = fmaxf(v.y, 0.0f) + s * fminf(v.y, 0.0f);
        v.z = fmaxf(v.z, 0.0f) + s * fminf(v.z, 0.0f);
        v.w = fmaxf(v.w, 0.0f) + s * fminf(v.w, 0.0f);
        reinterpret_cast<float4 *>(y + (size_t)plane * pixels)[i] = v;
    }
}

int main()
{
    const size_t voxels = (size_t)IN_D * IN_H * IN_W, outputs = (size_t)DEPTH * HEIGHT * WIDTH;
    float *volume = input<float>(voxels, 1741, 0.0, 1.0), *weight = input<float>(K * K * K, 1742, -0.5, 0.5);
    float *out = output<float>(outputs);
    MUST(cudaMemcpyToSymbol(filter, weight, sizeof filter, 0, cudaMemcpyDeviceToDevice));
    std::vector<float> hv = on_host(volume, voxels), hw = on_host(weight, K * K * K);
    // Every 1009th voxel, on the host; the later kernels are compared with the first.
    const size_t every = 1009, some = (outputs - 1) / every + 1;
    float *picked = output<float>(some);
    std::vector<float> want(some), first;
    for (size_t i = 0; i < some; i++) {
        int at = int(i * every), x = at % WIDTH, y = at / WIDTH % HEIGHT, z = at / WIDTH / HEIGHT;
        double sum = 0;
        for (int p = 0; p < K; p++)
            for (int q = 0; q < K; q++)
                for (int r = 0; r < K; r++)
                    sum += double(hv[((size_t)(z + p) * IN_H + y + q) * IN_W + x + r]) * hw[(p * K + q) * K + r];
        want[i] = float(sum);
    }
    auto volumetric = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, outputs * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t one = sizeof(float);
        if (first.empty()) {
            MUST(cudaMemcpy2D(picked, one, out, every * one, one, some, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 2e-5);
            first = on_host(out, outputs);
        } else
            check(name, out, first, 5e-5);
    };
    dim3 wide(32, 8), voxel(WIDTH / 32, HEIGHT / 8, DEPTH), slab(WIDTH / 32, HEIGHT / (8 * ROWS), DEPTH / SLAB);
    volumetric("k174a", [&] { k174a<<<voxel, wide>>>(out, volume, weight, DEPTH, HEIGHT, WIDTH, K); });
    volumetric("k174b", [&] { k174b<<<voxel, wide>>>(out, volume, DEPTH, HEIGHT, WIDTH, K); });
    volumetric("k174c", [&] { k174c<<<voxel, wide>>>(out, volume, DEPTH, HEIGHT, WIDTH); });
    volumetric("k174d", [&] { k174d<<<slab, wide>>>(out, volume); });

    const int rows = 64 << 10;
    float *a = input<float>((size_t)rows * DIM, 1743, -0.25, 1.0), *b = input<float>((size_t)rows * DIM, 1744, -0.5, 1.0);
    float *likeness = output<float>(rows);
    std::vector<float> ha = on_host(a, (size_t)rows * DIM), hb = on_host(b, (size_t)rows * DIM), cosines(rows);
    for (int row = 0; row < rows; row++) {
        double dot = 0, aa = 0, bb = 0;
        for (int i = 0; i < DIM; i++) {
            double u = ha[(size_t)row * DIM + i], v = hb[(size_t)row * DIM + i];
            dot += u * v;
            aa += u * u;
            bb += v * v;
        }
        cosines[row] = float(dot / std::sqrt(aa * bb));
    }
    auto similar = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(likeness, 0xA5, rows * sizeof(float)));
        launch();
        check(name, likeness, cosines, 1e-5);
    };
    similar("k174e", [&] { k174e<<<rows / 128, 128>>>(likeness, a, b, rows, DIM); });
    similar("k174f", [&] { k174f<<<rows, 256>>>(likeness, a, b, DIM); });
    similar("k174g", [&] { k174g<<<rows / 8, 256>>>(likeness, a, b, rows); });

    const int channels = 256, planes = 48 * channels, pixels = 64 * 64;
    const size_t n = (size_t)planes * pixels;
    float *x = input<float>(n, 1745, -1.0, 1.0), *slope = input<float>(channels, 1746, 0.0, 0.5), *y = output<float>(n);
    std::vector<float> active = on_host(x, n), hs = on_host(slope, channels);
    for (size_t i = 0; i < n; i++)
        if (active[i] < 0)
            active[i] *= hs[i / pixels % channels];
    auto activate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
        launch();
        check(name, y, active, 1e-6);
    };
    activate("k174h", [&] { k174h<<<dim3(pixels / 256, planes), 256>>>(y, x, slope, channels, pixels); });
    activate("k174i", [&] { k174i<<<dim3(pixels / 1024, planes), 256>>>(y, x, slope, channels, pixels); });
    activate("k174j", [&] { k174j<<<dim3(pixels / 1024, planes), 256>>>(y, x, slope, channels, pixels); });
    return 0;
}
