// Softmax of rows of 1024, and the cross-entropy loss of rows of 50304 logits.
#include "../harness.h"

const int ROWS = 32768, WIDTH = 1024;
const int TOKENS = 4096, VOCAB = 50304;

// One thread for a row.
__global__ void k102a(float *out, const float *in, int rows, int width)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    const float *x = in + (size_t)row * width;
    float *y = out + (size_t)row * width;
    float top = -INFINITY;
    for (int i = 0; i < width; i++)
        top = fmaxf(top, x[i]);
    float sum = 0.0f;
    for (int i = 0; i < width; i++) {
        float e = expf(x[i] - top);
        y[i] = e;
        sum += e;
    }
    float scale = 1.0f / sum;
    for (int i = 0; i < width; i++)
        y[i] *= scale;
}

// One block for a row.
__global__ void k102b(float *out, const float *in, int width)
{
    __shared__ float shared[256];
    int tid = threadIdx.x;
    const float *x = in + (size_t)blockIdx.x * width;
    float *y = out + (size_t)blockIdx.x * width;
    float top = -INFINITY;
    for (int i = tid; i < width; i += blockDim.x)
        top = fmaxf(top, x[i]);
    shared[tid] = top;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride)
            shared[tid] = fmaxf(shared[tid], shared[tid + stride]);
        __syncthreads();
    }
    top = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = tid; i < width; i += blockDim.x) {
        float e = expf(x[i] - top);
        y[i] = e;
        sum += e;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    float scale = 1.0f / shared[0];
    for (int i = tid; i < width; i += blockDim.x)
        y[i] *= scale;
}

__device__ inline float warp_max(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
}

__device__ inline float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void k102c(float *out, const float *in, int width)
{
    __shared__ float tops[8], sums[8];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const float *x = in + (size_t)blockIdx.x * width;
    float *y = out + (size_t)blockIdx.x * width;
    float top = -INFINITY;
    for (int i = tid; i < width; i += blockDim.x)
        top = fmaxf(top, x[i]);
    top = warp_max(top);
    if (lane == 0)
        tops[warp] = top;
    __syncthreads();
    top = tops[0];
    for (int w = 1; w < 8; w++)
        top = fmaxf(top, tops[w]);
    float sum = 0.0f;
    for (int i = tid; i < width; i += blockDim.x) {
        float e = expf(x[i] - top);
        y[i] = e;
        sum += e;
    }
    sum = warp_sum(sum);
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int w = 0; w < 8; w++)
        sum += sums[w];
    float scale = 1.0f / sum;
    for (int i = tid; i < width; i += blockDim.x)
        y[i] *= scale;
}

// One warp for a row.
__global__ void k102d(float *__restrict__ out, const float *__restrict__ in)
{
    const int per_lane = WIDTH / 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *x = in + (size_t)row * WIDTH + lane;
    float *y = out + (size_t)row * WIDTH + lane;
    float v[per_lane], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < per_lane; i++)
        v[i] = x[i * 32];
#pragma unroll
    for (int i = 0; i < per_lane; i++)
        top = fmaxf(top, v[i]);
    top = warp_max(top);
#pragma unroll
    for (int i = 0; i < per_lane; i++) {
        v[i] = expf(v[i] - top);
        sum += v[i];
    }
    float scale = 1.0f / warp_sum(sum);
#pragma unroll
    for (int i = 0; i < per_lane; i++)
        y[i * 32] = v[i] * scale;
}

__global__ void k102e(float *__restrict__ out, const float *__restrict__ in)
{
    const int per_lane = WIDTH / 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    const float *x = in + (size_t)row * WIDTH + lane;
    float *y = out + (size_t)row * WIDTH + lane;
    float v[per_lane], top = -INFINITY, sum = 0.0f;
#pragma unroll
    for (int i = 0; i < per_lane; i++)
        v[i] = x[i * 32];
#pragma unroll
    for (int i = 0; i < per_lane; i++)
        top = fmaxf(top, v[i]);
    top = warp_max(top);
#pragma unroll
    for (int i = 0; i < per_lane; i++) {
        v[i] = __expf(v[i] - top);
        sum += v[i];
    }
    float scale = __fdividef(1.0f, warp_sum(sum));
#pragma unroll
    for (int i = 0; i < per_lane; i++)
        y[i * 32] = v[i] * scale;
}

// Loss of a token: log of the sum of exponentials less the logit of the target.
__global__ void __launch_bounds__(256)
    k102f(float *__restrict__ losses, const float *__restrict__ logits, const int *__restrict__ targets, int vocab)
{
    __shared__ float tops[8], sums[8];
    int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const float *x = logits + (size_t)blockIdx.x * vocab;
    float top = -INFINITY;
    for (int i = tid; i < vocab; i += 256)
        top = fmaxf(top, x[i]);
    top = warp_max(top);
    if (lane == 0)
        tops[warp] = top;
    __syncthreads();
    top = tops[0];
    for (int w = 1; w < 8; w++)
        top = fmaxf(top, tops[w]);
    float sum = 0.0f;
    for (int i = tid; i < vocab; i += 256)
        sum += expf(x[i] - top);
    sum = warp_sum(sum);
    if (lane == 0)
        sums[warp] = sum;
    __syncthreads();
    if (tid == 0) {
        sum = 0.0f;
        for (int w = 0; w < 8; w++)
            sum += sums[w];
        losses[blockIdx.x] = top + logf(sum) - x[targets[blockIdx.x]];
    }
}

// The pair (largest so far, sum of exponentials relative to it) of the whole block, valid in thread 0.
__device__ inline void block_merge(float &top, float &sum)
{
    __shared__ float tops[8], sums[8];
    float all = warp_max(top);
    sum = warp_sum(sum * expf(top - all));
    if (threadIdx.x % 32 == 0) {
        tops[threadIdx.x / 32] = all;
        sums[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    top = tops[0];
    for (int w = 1; w < 8; w++)
        top = fmaxf(top, tops[w]);
    sum = 0.0f;
    for (int w = 0; w < 8; w++)
        sum += sums[w] * expf(tops[w] - top);
}

__global__ void __launch_bounds__(256)
    k102g(float *__restrict__ losses, const float *__restrict__ logits, const int *__restrict__ targets, int vocab)
{
    const float *x = logits + (size_t)blockIdx.x * vocab;
    float top = -INFINITY, sum = 0.0f;
    for (int i = threadIdx.x; i < vocab; i += 256) {
        float v = x[i];
        float larger = fmaxf(top, v);
        sum = sum * expf(top - larger) + expf(v - larger);
        top = larger;
    }
    block_merge(top, sum);
    if (threadIdx.x == 0)
        losses[blockIdx.x] = top + logf(sum) - x[targets[blockIdx.x]];
}

__global__ void __launch_bounds__(256)
    k102h(float *__restrict__ losses, const float *__restrict__ logits, const int *__restrict__ targets, int vocab)
{
    const float *x = logits + (size_t)blockIdx.x * vocab;
    const float4 *x4 = reinterpret_cast<const float4 *>(x);
    float top = -INFINITY, sum = 0.0f;
#pragma unroll 2
    for (int i = threadIdx.x; i < vocab / 4; i += 256) {
        float4 v = x4[i];
        float larger = fmaxf(fmaxf(top, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
        sum = sum * expf(top - larger) + ((expf(v.x - larger) + expf(v.y - larger)) +
                                          (expf(v.z - larger) + expf(v.w - larger)));
        top = larger;
    }
    block_merge(top, sum);
    if (threadIdx.x == 0)
        losses[blockIdx.x] = top + logf(sum) - x[targets[blockIdx.x]];
}

// Rows 0, every, 2 * every, ... of a matrix.
__global__ void fill_picked(float *dst, const float *src, size_t width, size_t every, size_t total)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total; i += (size_t)gridDim.x * blockDim.x)
        dst[i] = src[i / width * every * width + i % width];
}

int main()
{
    const size_t n = (size_t)ROWS * WIDTH;
    float *in = input<float>(n, 1021, -10.0, 10.0), *out = output<float>(n);
    const int every = 37, chosen = (ROWS - 1) / every + 1;
    const size_t sampled = (size_t)chosen * WIDTH;
    float *picked = output<float>(sampled);
    fill_picked<<<264, 256>>>(picked, in, WIDTH, every, sampled);
    std::vector<float> rows = on_host(picked, sampled), want(sampled);
    std::vector<double> e(WIDTH);
    for (int r = 0; r < chosen; r++) {
        const float *x = &rows[(size_t)r * WIDTH];
        double top = x[0], sum = 0;
        for (int i = 1; i < WIDTH; i++)
            top = std::fmax(top, double(x[i]));
        for (int i = 0; i < WIDTH; i++)
            sum += e[i] = std::exp(x[i] - top);
        for (int i = 0; i < WIDTH; i++)
            want[(size_t)r * WIDTH + i] = float(e[i] / sum);
    }
    auto softmax = [&](const char *name, auto launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_picked<<<264, 256>>>(picked, out, WIDTH, every, sampled);
        check(name, picked, want, 3e-7);
    };
    softmax("k102a", [&] { k102a<<<ROWS / 128, 128>>>(out, in, ROWS, WIDTH); });
    softmax("k102b", [&] { k102b<<<ROWS, 256>>>(out, in, WIDTH); });
    softmax("k102c", [&] { k102c<<<ROWS, 256>>>(out, in, WIDTH); });
    softmax("k102d", [&] { k102d<<<ROWS / 8, 256>>>(out, in); });
    softmax("k102e", [&] { k102e<<<ROWS / 8, 256>>>(out, in); });

    float *logits = input<float>((size_t)TOKENS * VOCAB, 1022, -10.0, 10.0), *losses = output<float>(TOKENS);
    int *targets = input<int>(TOKENS, 1023, 0, VOCAB);
    const int skip = 41, taken = (TOKENS - 1) / skip + 1;
    const size_t some = (size_t)taken * VOCAB;
    float *lines = output<float>(some);
    fill_picked<<<264, 256>>>(lines, logits, VOCAB, skip, some);
    std::vector<float> hl = on_host(lines, some), loss(taken);
    std::vector<int> ht = on_host(targets, TOKENS);
    for (int r = 0; r < taken; r++) {
        const float *x = &hl[(size_t)r * VOCAB];
        double sum = 0;
        for (int i = 0; i < VOCAB; i++)
            sum += std::exp(double(x[i]));
        loss[r] = float(std::log(sum) - x[ht[r * skip]]);
    }
    auto entropy = [&](const char *name, auto launch) {
        MUST(cudaMemset(losses, 0xA5, TOKENS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_picked<<<1, 256>>>(picked, losses, 1, skip, taken);
        check(name, picked, loss, 1e-5);
    };
    entropy("k102f", [&] { k102f<<<TOKENS, 256>>>(losses, logits, targets, VOCAB); });
    entropy("k102g", [&] { k102g<<<TOKENS, 256>>>(losses, logits, targets, VOCAB); });
    entropy("k102h", [&] { k102h<<<TOKENS, 256>>>(losses, logits, targets, VOCAB); });
    return 0;
}
