// Batch norm statistics of 128 x 128 x 64 x 64 activations in NCHW order, and the running sum along rows of 1024.
#include "../harness.h"

#include <functional>

const int BATCH = 128, CHANNELS = 128, HW = 64 * 64, SPLIT = 16;
const int ROWS = 32768, COLS = 1024;

// Leaves the block's sum with all threads; 256 threads.
__device__ inline float block_sum(float v, float *shared)
{
    int tid = threadIdx.x;
    shared[tid] = v;
    __syncthreads();
    for (int stride = 128; stride > 0; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    float sum = shared[0];
    __syncthreads();
    return sum;
}

__global__ void k142a(float *mean, float *var, const float *x, int batch, int channels, int hw)
{
    __shared__ float shared[256];
    int c = blockIdx.x;
    float sum = 0.0f;
    for (int n = 0; n < batch; n++)
        for (int i = threadIdx.x; i < hw; i += blockDim.x)
            sum += x[((size_t)n * channels + c) * hw + i];
    float m = block_sum(sum, shared) / (batch * hw);

    float square = 0.0f;
    for (int n = 0; n < batch; n++)
        for (int i = threadIdx.x; i < hw; i += blockDim.x) {
            float d = x[((size_t)n * channels + c) * hw + i] - m;
            square += d * d;
        }
    square = block_sum(square, shared);
    if (threadIdx.x == 0) {
        mean[c] = m;
        var[c] = square / (batch * hw);
    }
}

__global__ void k142b(float *mean, float *var, const float *x, int batch, int channels, int hw)
{
    __shared__ float shared[256];
    int c = blockIdx.x;
    float sum = 0.0f, square = 0.0f;
    for (int n = 0; n < batch; n++)
        for (int i = threadIdx.x; i < hw; i += blockDim.x) {
            float v = x[((size_t)n * channels + c) * hw + i];
            sum += v;
            square += v * v;
        }
    float m = block_sum(sum, shared) / (batch * hw);
    square = block_sum(square, shared);
    if (threadIdx.x == 0) {
        mean[c] = m;
        var[c] = square / (batch * hw) - m * m;
    }
}

__device__ inline void take(float4 v, float &sum, float &square)
{
    sum += (v.x + v.y) + (v.z + v.w);
    square += (v.x * v.x + v.y * v.y) + (v.z * v.z + v.w * v.w);
}

__global__ void k142c(float *mean, float *var, const float4 *x, int batch, int channels)
{
    __shared__ float shared[256];
    const int quads = HW / 4;
    int c = blockIdx.x;
    float sum = 0.0f, square = 0.0f;
    for (int n = 0; n < batch; n++) {
        const float4 *p = x + ((size_t)n * channels + c) * quads;
#pragma unroll
        for (int i = 0; i < quads; i += 256)
            take(p[i + threadIdx.x], sum, square);
    }
    float m = block_sum(sum, shared) / (batch * HW);
    square = block_sum(square, shared);
    if (threadIdx.x == 0) {
        mean[c] = m;
        var[c] = square / (batch * HW) - m * m;
    }
}

// Block y takes batch / SPLIT images; the totals start at zero.
__global__ void k142d(float *total, float *total_square, const float4 *x, int batch, int channels)
{
    __shared__ float shared[256];
    const int quads = HW / 4;
    int c = blockIdx.x, share = batch / SPLIT;
    float sum = 0.0f, square = 0.0f;
    for (int n = blockIdx.y * share; n < (blockIdx.y + 1) * share; n++) {
        const float4 *p = x + ((size_t)n * channels + c) * quads;
#pragma unroll
        for (int i = 0; i < quads; i += 256)
            take(p[i + threadIdx.x], sum, square);
    }
    sum = block_sum(sum, shared);
    square = block_sum(square, shared);
    if (threadIdx.x == 0) {
        atomicAdd(&total[c], sum);
        atomicAdd(&total_square[c], square);
    }
}

__global__ void finish_statistics(float *mean, float *var, const float *total, const float *total_square, int channels,
                                  float count)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < channels) {
        float m = total[c] / count;
        mean[c] = m;
        var[c] = total_square[c] / count - m * m;
    }
}

__global__ void k142e(float *out, const float *in, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = 0; i < cols; i++) {
        sum += in[(size_t)row * cols + i];
        out[(size_t)row * cols + i] = sum;
    }
}

// A block of COLS threads per row.
__global__ void k142f(float *out, const float *in)
{
    __shared__ float data[COLS];
    int tid = threadIdx.x;
    data[tid] = in[(size_t)blockIdx.x * COLS + tid];
    __syncthreads();
    for (int offset = 1; offset < COLS; offset *= 2) {
        float left = tid >= offset ? data[tid - offset] : 0.0f;
        __syncthreads();
        data[tid] += left;
        __syncthreads();
    }
    out[(size_t)blockIdx.x * COLS + tid] = data[tid];
}

__device__ inline float warp_scan(float v, int lane)
{
#pragma unroll
    for (int o = 1; o < 32; o *= 2) {
        float left = __shfl_up_sync(0xFFFFFFFFu, v, o);
        if (lane >= o)
            v += left;
    }
    return v;
}

__global__ void k142g(float *out, const float *in)
{
    __shared__ float totals[32];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    float v = warp_scan(in[(size_t)blockIdx.x * COLS + tid], lane);
    if (lane == 31)
        totals[warp] = v;
    __syncthreads();
    if (warp == 0)
        totals[lane] = warp_scan(totals[lane], lane);
    __syncthreads();
    if (warp > 0)
        v += totals[warp - 1];
    out[(size_t)blockIdx.x * COLS + tid] = v;
}

// 256 threads with four numbers each.
__device__ inline float4 scan_four(float4 v)
{
    __shared__ float totals[8];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v.y += v.x;
    v.z += v.y;
    v.w += v.z;
    float up_to = warp_scan(v.w, lane);
    if (lane == 31)
        totals[warp] = up_to;
    __syncthreads();
    float before = up_to - v.w;
#pragma unroll
    for (int i = 0; i < 7; i++)
        before += i < warp ? totals[i] : 0.0f;
    return make_float4(v.x + before, v.y + before, v.z + before, v.w + before);
}

__global__ void k142h(float4 *out, const float4 *in)
{
    size_t at = (size_t)blockIdx.x * (COLS / 4) + threadIdx.x;
    out[at] = scan_four(in[at]);
}

__global__ void k142i(float4 *__restrict__ out, const float4 *__restrict__ in)
{
    size_t at = (size_t)blockIdx.x * (COLS / 4) + threadIdx.x;
    out[at] = scan_four(__ldg(&in[at]));
}

int main()
{
    const size_t n = (size_t)BATCH * CHANNELS * HW;
    float *x = input<float>(n, 1421, -1.0, 2.0);
    float *mean_var = output<float>(2 * CHANNELS), *totals = zeroed<float>(2 * CHANNELS);
    float *mean = mean_var, *var = mean_var + CHANNELS;
    std::vector<float> hx = on_host(x, n), statistics(2 * CHANNELS);
    for (int c = 0; c < CHANNELS; c++) {
        double sum = 0.0, square = 0.0;
        for (int b = 0; b < BATCH; b++) {
            const float *p = &hx[((size_t)b * CHANNELS + c) * HW];
            double s[4] = {0.0}, q[4] = {0.0};
            for (int i = 0; i < HW; i += 4)
                for (int j = 0; j < 4; j++) {
                    double v = p[i + j];
                    s[j] += v;
                    q[j] += v * v;
                }
            sum += s[0] + s[1] + s[2] + s[3];
            square += q[0] + q[1] + q[2] + q[3];
        }
        double m = sum / (double(BATCH) * HW);
        statistics[c] = float(m);
        statistics[CHANNELS + c] = float(square / (double(BATCH) * HW) - m * m);
    }
    auto norm = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(mean_var, 0xA5, 2 * CHANNELS * sizeof(float)));
        launch();
        check(name, mean_var, statistics, 2e-5);
    };
    auto x4 = (const float4 *)x;
    dim3 parts(CHANNELS, SPLIT);
    norm("k142a", [&] { k142a<<<CHANNELS, 256>>>(mean, var, x, BATCH, CHANNELS, HW); });
    norm("k142b", [&] { k142b<<<CHANNELS, 256>>>(mean, var, x, BATCH, CHANNELS, HW); });
    norm("k142c", [&] { k142c<<<CHANNELS, 256>>>(mean, var, x4, BATCH, CHANNELS); });
    norm("k142d", [&] {
        k142d<<<parts, 256>>>(totals, totals + CHANNELS, x4, BATCH, CHANNELS);
        finish_statistics<<<1, CHANNELS>>>(mean, var, totals, totals + CHANNELS, CHANNELS, float(BATCH) * HW);
    });

    const size_t cells = (size_t)ROWS * COLS;
    float *in = input<float>(cells, 1422, -0.5, 1.0), *out = output<float>(cells);
    std::vector<float> hi = on_host(in, cells);
    // Every third row.
    const int every = 3, chosen = (ROWS - 1) / every + 1;
    float *picked = output<float>((size_t)chosen * COLS);
    std::vector<float> want((size_t)chosen * COLS);
    for (int r = 0; r < chosen; r++) {
        double sum = 0.0;
        for (int i = 0; i < COLS; i++) {
            sum += hi[(size_t)r * every * COLS + i];
            want[(size_t)r * COLS + i] = float(sum);
        }
    }
    auto scan = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, cells * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = COLS * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 5e-5);
    };
    auto in4 = (const float4 *)in;
    auto out4 = (float4 *)out;
    scan("k142e", [&] { k142e<<<ROWS / 128, 128>>>(out, in, ROWS, COLS); });
    scan("k142f", [&] { k142f<<<ROWS, COLS>>>(out, in); });
    scan("k142g", [&] { k142g<<<ROWS, COLS>>>(out, in); });
    scan("k142h", [&] { k142h<<<ROWS, COLS / 4>>>(out4, in4); });
    scan("k142i", [&] { k142i<<<ROWS, COLS / 4>>>(out4, in4); });
    return 0;
}
