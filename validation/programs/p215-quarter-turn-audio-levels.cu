// An RGBA picture turned by a quarter to the right, and level (root mean square) and peak of every frame of 512 audio
// samples.
#include "../harness.h"

#include <functional>

const int SIDE = 8192, TILE = 64;

__global__ void k215a(uchar4 *out, const uchar4 *in, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        out[(size_t)x * height + height - 1 - y] = in[(size_t)y * width + x];
}

// Blocks of 64 x 8 threads; sides are multiples of 64.
__global__ void k215b(uchar4 *out, const uchar4 *in, int width, int height)
{
    __shared__ uchar4 tile[TILE][TILE];
    int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
#pragma unroll
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y0 + threadIdx.y + j) * width + x0 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; j += 8)
        out[(size_t)(x0 + threadIdx.y + j) * height + height - TILE - y0 + threadIdx.x] =
            tile[TILE - 1 - threadIdx.x][threadIdx.y + j];
}

__global__ void k215c(uchar4 *out, const uchar4 *in, int width, int height)
{
    __shared__ uchar4 tile[TILE][TILE + 1];
    int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE;
#pragma unroll
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y0 + threadIdx.y + j) * width + x0 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; j += 8)
        out[(size_t)(x0 + threadIdx.y + j) * height + height - TILE - y0 + threadIdx.x] =
            tile[TILE - 1 - threadIdx.x][threadIdx.y + j];
}

// For pictures as wide as high.
__global__ void k215d(uchar4 *out, const uchar4 *in, int width, int height)
{
    __shared__ uchar4 tile[TILE][TILE + 1];
    int x0 = (blockIdx.x + blockIdx.y) % gridDim.x * TILE, y0 = blockIdx.x * TILE;
#pragma unroll
    for (int j = 0; j < TILE; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y0 + threadIdx.y + j) * width + x0 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; j += 8)
        out[(size_t)(x0 + threadIdx.y + j) * height + height - TILE - y0 + threadIdx.x] =
            tile[TILE - 1 - threadIdx.x][threadIdx.y + j];
}

const int FRAME = 512;

__global__ void k215e(float2 *level, const float *sample, int frame, int frames)
{
    int f = blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= frames)
        return;
    const float *x = sample + (size_t)f * frame;
    float sum = 0.0f, peak = 0.0f;
    for (int i = 0; i < frame; i++) {
        sum += x[i] * x[i];
        peak = fmaxf(peak, fabsf(x[i]));
    }
    level[f] = make_float2(sqrtf(sum / frame), peak);
}

// A block of 128 threads per frame.
__global__ void k215f(float2 *level, const float *sample, int frame)
{
    __shared__ float sums[128], peaks[128];
    const float *x = sample + (size_t)blockIdx.x * frame;
    float sum = 0.0f, peak = 0.0f;
    for (int i = threadIdx.x; i < frame; i += blockDim.x) {
        sum += x[i] * x[i];
        peak = fmaxf(peak, fabsf(x[i]));
    }
    sums[threadIdx.x] = sum;
    peaks[threadIdx.x] = peak;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) {
            sums[threadIdx.x] += sums[threadIdx.x + s];
            peaks[threadIdx.x] = fmaxf(peaks[threadIdx.x], peaks[threadIdx.x + s]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        level[blockIdx.x] = make_float2(sqrtf(sums[0] / frame), peaks[0]);
}

__global__ void k215g(float2 *level, const float *sample, int frame)
{
    __shared__ float sums[4], peaks[4];
    const float *x = sample + (size_t)blockIdx.x * frame;
    float sum = 0.0f, peak = 0.0f;
    for (int i = threadIdx.x; i < frame; i += blockDim.x) {
        sum += x[i] * x[i];
        peak = fmaxf(peak, fabsf(x[i]));
    }
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_down_sync(~0u, sum, s);
        peak = fmaxf(peak, __shfl_down_sync(~0u, peak, s));
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = sum;
        peaks[threadIdx.x / 32] = peak;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        peak = fmaxf(fmaxf(peaks[0], peaks[1]), fmaxf(peaks[2], peaks[3]));
        level[blockIdx.x] = make_float2(sqrtf(sum / frame), peak);
    }
}

// A block of 256 threads makes eight frames, one per warp.
__global__ void k215h(float2 *__restrict__ level, const float4 *__restrict__ sample)
{
    int f = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float4 *x = sample + (size_t)f * (FRAME / 4) + lane;
    float4 v[FRAME / 128];
#pragma unroll
    for (int i = 0; i < FRAME / 128; i++)
        v[i] = x[i * 32];
    float sum = 0.0f, peak = 0.0f;
#pragma unroll
    for (int i = 0; i < FRAME / 128; i++) {
        sum += (v[i].x * v[i].x + v[i].y * v[i].y) + (v[i].z * v[i].z + v[i].w * v[i].w);
        peak = fmaxf(peak, fmaxf(fmaxf(fabsf(v[i].x), fabsf(v[i].y)), fmaxf(fabsf(v[i].z), fabsf(v[i].w))));
    }
#pragma unroll
    for (int s = 16; s > 0; s /= 2) {
        sum += __shfl_down_sync(~0u, sum, s);
        peak = fmaxf(peak, __shfl_down_sync(~0u, peak, s));
    }
    if (lane == 0)
        level[f] = make_float2(sqrtf(sum * (1.0f / FRAME)), peak);
}

int main()
{
    {
        const size_t n = (size_t)SIDE * SIDE;
        unsigned *in = input<unsigned>(n, 2151, 0.0, 4294967295.0), *out = output<unsigned>(n);
        std::vector<unsigned> picture = on_host(in, n);
        // Every 61st row of the result: 0, 61, ..., 8174.
        const int every = 61, rows = (SIDE - 1) / every + 1;
        std::vector<unsigned> want((size_t)rows * SIDE);
        for (int y = 0; y < SIDE; y++)
            for (int r = 0; r < rows; r++)
                want[(size_t)r * SIDE + SIDE - 1 - y] = picture[(size_t)y * SIDE + r * every];
        unsigned *picked = output<unsigned>(want.size());
        uchar4 *to = reinterpret_cast<uchar4 *>(out);
        const uchar4 *from = reinterpret_cast<uchar4 *>(in);
        auto turn = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(unsigned)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            const size_t bytes = SIDE * sizeof(unsigned);
            MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 0.0);
        };
        dim3 by_pixel(SIDE / 32, SIDE / 8), small(32, 8), by_tile(SIDE / TILE, SIDE / TILE), block(TILE, 8);
        turn("k215a", [&] { k215a<<<by_pixel, small>>>(to, from, SIDE, SIDE); });
        turn("k215b", [&] { k215b<<<by_tile, block>>>(to, from, SIDE, SIDE); });
        turn("k215c", [&] { k215c<<<by_tile, block>>>(to, from, SIDE, SIDE); });
        turn("k215d", [&] { k215d<<<by_tile, block>>>(to, from, SIDE, SIDE); });
        MUST(cudaFree(in));
        MUST(cudaFree(out));
    }
    {
        const int frames = 256 << 10;
        const size_t n = (size_t)frames * FRAME;
        float *sample = input<float>(n, 2152, -1.0, 1.0);
        float2 *level = output<float2>(frames);
        // Every 37th frame.
        const int every = 37, part = (frames - 1) / every + 1;
        float *chosen = output<float>((size_t)part * FRAME);
        const size_t bytes = FRAME * sizeof(float);
        MUST(cudaMemcpy2D(chosen, bytes, sample, every * bytes, bytes, part, cudaMemcpyDeviceToDevice));
        std::vector<float> some = on_host(chosen, (size_t)part * FRAME), want((size_t)part * 2);
        for (int f = 0; f < part; f++) {
            double sum = 0.0, peak = 0.0;
            for (int i = 0; i < FRAME; i++) {
                double x = some[(size_t)f * FRAME + i];
                sum += x * x;
                peak = std::fmax(peak, std::fabs(x));
            }
            want[f * 2] = float(std::sqrt(sum / FRAME));
            want[f * 2 + 1] = float(peak);
        }
        float *picked = output<float>(want.size());
        auto levels = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(level, 0xA5, frames * sizeof(float2)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(picked, 8, level, every * 8, 8, part, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-5);
        };
        levels("k215e", [&] { k215e<<<frames / 128, 128>>>(level, sample, FRAME, frames); });
        levels("k215f", [&] { k215f<<<frames, 128>>>(level, sample, FRAME); });
        levels("k215g", [&] { k215g<<<frames, 128>>>(level, sample, FRAME); });
        levels("k215h", [&] { k215h<<<frames / 8, 256>>>(level, reinterpret_cast<float4 *>(sample)); });
    }
    return 0;
}
