// Patches of 3x3 pixels of all channels as rows of a matrix (the first half of a convolution by a matrix product), and
// the three sums of the Dice loss of segmentation masks.
#include "../harness.h"

#include <functional>

const int IMAGES = 128, CHANNELS = 64, H = 56, W = 56, K = 3;
const int ROW = CHANNELS * K * K, PIXELS = H * W;

__device__ inline float pixel(const float *x, int n, int c, int y, int xx)
{
    return y >= 0 && y < H && xx >= 0 && xx < W ? x[((n * CHANNELS + c) * H + y) * W + xx] : 0.0f;
}

// One thread for each patch.
__global__ void k202a(float *__restrict__ rows, const float *__restrict__ x)
{
    int patch = blockIdx.x * blockDim.x + threadIdx.x;
    if (patch >= IMAGES * PIXELS)
        return;
    int n = patch / PIXELS, oh = patch % PIXELS / W, ow = patch % W;
    float *to = rows + (size_t)patch * ROW;
    for (int c = 0; c < CHANNELS; c++)
        for (int kh = 0; kh < K; kh++)
            for (int kw = 0; kw < K; kw++)
                to[(c * K + kh) * K + kw] = pixel(x, n, c, oh + kh - 1, ow + kw - 1);
}

// One thread for each number of the matrix.
__global__ void k202b(float *__restrict__ rows, const float *__restrict__ x)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= IMAGES * PIXELS * ROW)
        return;
    int patch = at / ROW, r = at % ROW;
    int n = patch / PIXELS, oh = patch % PIXELS / W, ow = patch % W;
    int c = r / (K * K), kh = r % (K * K) / K, kw = r % K;
    rows[at] = pixel(x, n, c, oh + kh - 1, ow + kw - 1);
}

// One block for each row of an image.
__global__ void k202c(float *__restrict__ rows, const float *__restrict__ x)
{
    const int wide = W + 2;
    __shared__ float strip[CHANNELS * K * wide];
    int n = blockIdx.x / H, oh = blockIdx.x % H;
    for (int i = threadIdx.x; i < CHANNELS * K * wide; i += blockDim.x) {
        int line = i / wide;
        strip[i] = pixel(x, n, line / K, oh + line % K - 1, i % wide - 1);
    }
    __syncthreads();
    int r = threadIdx.x;
    const float *from = &strip[r / K * wide + r % K];
    float *to = rows + (size_t)(n * PIXELS + oh * W) * ROW + r;
#pragma unroll 8
    for (int ow = 0; ow < W; ow++)
        to[(size_t)ow * ROW] = from[ow];
}

const int THREADS = 256;

// partial[(3 * image + which) * blocks + block]: the sums of p * t, of p and of t over a block's pixels.
__global__ void k202d(float *partial, const float *p, const float *t, int pixels)
{
    __shared__ float both[THREADS], one[THREADS], other[THREADS];
    int tid = threadIdx.x, image = blockIdx.y;
    size_t at = (size_t)image * pixels + blockIdx.x * blockDim.x + tid;
    both[tid] = p[at] * t[at];
    one[tid] = p[at];
    other[tid] = t[at];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            both[tid] += both[tid + s];
            one[tid] += one[tid + s];
            other[tid] += other[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[(3 * image) * gridDim.x + blockIdx.x] = both[0];
        partial[(3 * image + 1) * gridDim.x + blockIdx.x] = one[0];
        partial[(3 * image + 2) * gridDim.x + blockIdx.x] = other[0];
    }
}

__global__ void k202e(float *partial, const float *p, const float *t, int pixels)
{
    __shared__ float both[THREADS], one[THREADS], other[THREADS];
    int tid = threadIdx.x, image = blockIdx.y;
    size_t at = (size_t)image * pixels + blockIdx.x * blockDim.x + tid;
    both[tid] = p[at] * t[at];
    one[tid] = p[at];
    other[tid] = t[at];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            both[tid] += both[tid + s];
            one[tid] += one[tid + s];
            other[tid] += other[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        partial[(3 * image) * gridDim.x + blockIdx.x] = both[0];
        partial[(3 * image + 1) * gridDim.x + blockIdx.x] = one[0];
        partial[(3 * image + 2) * gridDim.x + blockIdx.x] = other[0];
    }
}

__device__ inline float warp_sum(float v)
{
    for (int s = 16; s > 0; s /= 2)
        v += __shfl_down_sync(0xffffffffu, v, s);
    return v;
}

// The sums of a block, written by its first three threads.
__device__ inline void finish(float *partial, float both, float one, float other)
{
    __shared__ float warps[3][THREADS / 32];
    both = warp_sum(both);
    one = warp_sum(one);
    other = warp_sum(other);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) {
        warps[0][warp] = both;
        warps[1][warp] = one;
        warps[2][warp] = other;
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        float sum = 0.0f;
        for (int w = 0; w < THREADS / 32; w++)
            sum += warps[threadIdx.x][w];
        partial[(3 * blockIdx.y + threadIdx.x) * gridDim.x + blockIdx.x] = sum;
    }
}

__global__ void k202f(float *partial, const float *p, const float *t, int pixels)
{
    size_t at = (size_t)blockIdx.y * pixels + blockIdx.x * blockDim.x + threadIdx.x;
    float a = p[at], b = t[at];
    finish(partial, a * b, a, b);
}

const int EACH = 128;

__global__ void k202g(float *partial, const float *p, const float *t, int pixels)
{
    float both = 0.0f, one = 0.0f, other = 0.0f;
    size_t first = (size_t)blockIdx.y * pixels + blockIdx.x * (THREADS * EACH) + threadIdx.x;
    p += first;
    t += first;
#pragma unroll 8
    for (int i = 0; i < EACH * THREADS; i += THREADS) {
        float a = p[i], b = t[i];
        both += a * b;
        one += a;
        other += b;
    }
    finish(partial, both, one, other);
}

__global__ void k202h(float *__restrict__ partial, const float *__restrict__ p, const float *__restrict__ t, int pixels)
{
    float both = 0.0f, one = 0.0f, other = 0.0f;
    size_t first = (size_t)blockIdx.y * pixels + blockIdx.x * (THREADS * EACH) + threadIdx.x;
    p += first;
    t += first;
#pragma unroll 8
    for (int i = 0; i < EACH * THREADS; i += THREADS) {
        float a = __ldg(p + i), b = __ldg(t + i);
        both += a * b;
        one += a;
        other += b;
    }
    finish(partial, both, one, other);
}

// Adds the partial sums of each of the 3 * masks sums; one block for each.
__global__ void fill_sums(float *sums, const float *partial, int blocks)
{
    __shared__ double part[THREADS];
    double sum = 0.0;
    for (int i = threadIdx.x; i < blocks; i += THREADS)
        sum += partial[(size_t)blockIdx.x * blocks + i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if ((int)threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = float(part[0]);
}

int main()
{
    const size_t inputs = (size_t)IMAGES * CHANNELS * PIXELS, image_rows = (size_t)PIXELS * ROW;
    float *x = input<float>(inputs, 2021, -1.0, 1.0), *rows = output<float>(IMAGES * image_rows);
    // Every 21st image: 0, 21, ..., 126.
    const int every = 21, chosen = (IMAGES - 1) / every + 1;
    std::vector<float> want(chosen * image_rows);
    for (int i = 0; i < chosen; i++) {
        std::vector<float> image = on_host(x + (size_t)i * every * CHANNELS * PIXELS, (size_t)CHANNELS * PIXELS);
        float *to = &want[i * image_rows];
        for (int oh = 0; oh < H; oh++)
            for (int ow = 0; ow < W; ow++)
                for (int c = 0; c < CHANNELS; c++)
                    for (int kh = oh - 1; kh <= oh + 1; kh++)
                        for (int kw = ow - 1; kw <= ow + 1; kw++)
                            *to++ = kh < 0 || kh >= H || kw < 0 || kw >= W ? 0.0f : image[(c * H + kh) * W + kw];
    }
    float *some = output<float>(want.size());
    auto patches = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(rows, 0xA5, IMAGES * image_rows * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = image_rows * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, rows, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 0.0);
    };
    patches("k202a", [&] { k202a<<<IMAGES * PIXELS / 256, 256>>>(rows, x); });
    patches("k202b", [&] { k202b<<<IMAGES * PIXELS / 256 * ROW, 256>>>(rows, x); });
    patches("k202c", [&] { k202c<<<IMAGES * H, ROW>>>(rows, x); });

    const int masks = 32, pixels = 1 << 21, most = pixels / THREADS, few = most / EACH;
    const size_t all = (size_t)masks * pixels;
    float *p = input<float>(all, 2022, 0.0, 1.0), *t = input<float>(all, 2023, -0.2, 1.2);
    float *partial = output<float>((size_t)3 * masks * most), *sums = output<float>(3 * masks);
    std::vector<float> expected(3 * masks);
    for (int m = 0; m < masks; m++) {
        std::vector<float> hp = on_host(p + (size_t)m * pixels, pixels), ht = on_host(t + (size_t)m * pixels, pixels);
        double both = 0, one = 0, other = 0;
        for (int i = 0; i < pixels; i++) {
            both += double(hp[i]) * ht[i];
            one += hp[i];
            other += ht[i];
        }
        expected[3 * m] = float(both);
        expected[3 * m + 1] = float(one);
        expected[3 * m + 2] = float(other);
    }
    auto dice = [&](const char *name, int blocks, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, (size_t)3 * masks * most * sizeof(float)));
        MUST(cudaMemset(sums, 0xA5, 3 * masks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        fill_sums<<<3 * masks, THREADS>>>(sums, partial, blocks);
        check(name, sums, expected, 1e-5);
    };
    dim3 each(most, masks), long_runs(few, masks);
    dice("k202d", most, [&] { k202d<<<each, THREADS>>>(partial, p, t, pixels); });
    dice("k202e", most, [&] { k202e<<<each, THREADS>>>(partial, p, t, pixels); });
    dice("k202f", most, [&] { k202f<<<each, THREADS>>>(partial, p, t, pixels); });
    dice("k202g", few, [&] { k202g<<<long_runs, THREADS>>>(partial, p, t, pixels); });
    dice("k202h", few, [&] { k202h<<<long_runs, THREADS>>>(partial, p, t, pixels); });
    return 0;
}
