// Pieces of training: the backward pass of the Mish activation on half-precision numbers, the triplet margin loss of
// embeddings, and low-rank adapters of rank 16 merged into a weight matrix.
#include "../harness.h"

#include <functional>

const size_t NUMBERS = 64 << 20;
const int TRIPLETS = 262144, DIM = 256;
const int OUTS = 8192, INS = 8192, RANK = 16;

// Applies f(x, dy) to eight numbers.
template <class F> __device__ inline uint4 eight(uint4 x, uint4 dy, F f)
{
    uint4 made;
    const __half2 *xs = reinterpret_cast<const __half2 *>(&x), *dys = reinterpret_cast<const __half2 *>(&dy);
    __half2 *out = reinterpret_cast<__half2 *>(&made);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 a = __half22float2(xs[i]), b = __half22float2(dys[i]);
        out[i] = __floats2half2_rn(f(a.x, b.x), f(a.y, b.y));
    }
    return made;
}

// mish(x) = x * tanh(log(1 + exp(x))).
__global__ void k204a(uint4 *dx, const uint4 *x, const uint4 *dy)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    dx[i] = eight(x[i], dy[i], [](float v, float d) {
        double t = tanh(log1p(exp((double)v)));
        double s = 1.0 / (1.0 + exp(-(double)v));
        return float(d * (t + v * s * (1.0 - t * t)));
    });
}

__global__ void k204b(uint4 *dx, const uint4 *x, const uint4 *dy)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    dx[i] = eight(x[i], dy[i], [](float v, float d) {
        float t = tanhf(log1pf(expf(v)));
        float s = 1.0f / (1.0f + expf(-v));
        return d * (t + v * s * (1.0f - t * t));
    });
}

__global__ void k204c(uint4 *dx, const uint4 *x, const uint4 *dy)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    dx[i] = eight(x[i], dy[i], [](float v, float d) {
        float e = __expf(fminf(v, 20.0f)), w = e * (e + 2.0f), below = w + 2.0f;
        return d * __fdividef(w * below + 4.0f * v * e * (1.0f + e), below * below);
    });
}

// loss = max(0, |anchor - positive| - |anchor - negative| + margin).
__global__ void k204d(float *loss, const float *anchor, const float *positive, const float *negative, int rows, int dim,
                      float margin)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float near = 0.0f, far = 0.0f;
    for (int d = 0; d < dim; d++) {
        float a = anchor[row * dim + d], p = a - positive[row * dim + d], n = a - negative[row * dim + d];
        near += p * p;
        far += n * n;
    }
    loss[row] = fmaxf(0.0f, sqrtf(near) - sqrtf(far) + margin);
}

__global__ void k204e(float *__restrict__ loss, const float *__restrict__ anchor, const float *__restrict__ positive,
                      const float *__restrict__ negative, int rows, float margin)
{
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float near = 0.0f, far = 0.0f;
#pragma unroll
    for (int d = 0; d < DIM; d += 32) {
        int at = row * DIM + d + lane;
        float a = anchor[at], p = a - positive[at], n = a - negative[at];
        near += p * p;
        far += n * n;
    }
#pragma unroll
    for (int s = 16; s > 0; s /= 2) {
        near += __shfl_xor_sync(0xffffffffu, near, s);
        far += __shfl_xor_sync(0xffffffffu, far, s);
    }
    if (lane == 0)
        loss[row] = fmaxf(0.0f, sqrtf(near) - sqrtf(far) + margin);
}

// merged = weight + scale * up * down; up has RANK columns, down has RANK rows.
__global__ void k204f(float *__restrict__ merged, const float *__restrict__ weight, const float *__restrict__ up,
                      const float *__restrict__ down, float scale, int outs, int ins)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= outs || column >= ins)
        return;
    float sum = 0.0f;
    for (int r = 0; r < RANK; r++)
        sum += up[row * RANK + r] * down[r * ins + column];
    merged[row * ins + column] = weight[row * ins + column] + scale * sum;
}

__global__ void k204g(float *__restrict__ merged, const float *__restrict__ weight, const float *__restrict__ up,
                      const float *__restrict__ down, float scale, int outs, int ins)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= outs || column >= ins)
        return;
    float sum = 0.0f;
    for (int r = 0; r < RANK; r++)
        sum += up[row * RANK + r] * down[r * ins + column];
    merged[row * ins + column] = weight[row * ins + column] + scale * sum;
}

const int TILE = 64;

// A block of 256 threads makes 64 x 64 numbers, a thread 4 x 4.
__global__ void k204h(float *__restrict__ merged, const float *__restrict__ weight, const float *__restrict__ up,
                      const float *__restrict__ down, float scale, int ins)
{
    __shared__ __align__(16) float us[RANK][TILE + 4], ds[RANK][TILE];
    int tid = threadIdx.x, tx = tid % 16 * 4, ty = tid / 16 * 4;
    int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
    float4 w[4];
#pragma unroll
    for (int m = 0; m < 4; m++)
        w[m] = *reinterpret_cast<const float4 *>(&weight[(top + ty + m) * ins + left + tx]);
    int u_row = tid / 4, u_at = tid % 4 * 4, d_row = tid / 16;
    float4 u = *reinterpret_cast<const float4 *>(&up[(top + u_row) * RANK + u_at]);
    us[u_at][u_row] = scale * u.x;
    us[u_at + 1][u_row] = scale * u.y;
    us[u_at + 2][u_row] = scale * u.z;
    us[u_at + 3][u_row] = scale * u.w;
    *reinterpret_cast<float4 *>(&ds[d_row][tx]) = *reinterpret_cast<const float4 *>(&down[d_row * ins + left + tx]);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < RANK; r++) {
        float4 a = *reinterpret_cast<const float4 *>(&us[r][ty]), b = *reinterpret_cast<const float4 *>(&ds[r][tx]);
        float each[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int m = 0; m < 4; m++) {
            w[m].x += each[m] * b.x;
            w[m].y += each[m] * b.y;
            w[m].z += each[m] * b.z;
            w[m].w += each[m] * b.w;
        }
    }
#pragma unroll
    for (int m = 0; m < 4; m++)
        *reinterpret_cast<float4 *>(&merged[(top + ty + m) * ins + left + tx]) = w[m];
}

// count pieces of size numbers, one from every step, as an array of its own.
template <class T> void pick(T *to, const T *from, size_t size, size_t step, size_t count)
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(to, size * sizeof(T), from, step * sizeof(T), size * sizeof(T), count, cudaMemcpyDeviceToDevice));
}

template <class T> std::vector<T> picked(const T *from, size_t size, size_t step, size_t count)
{
    T *some = output<T>(size * count);
    pick(some, from, size, step, count);
    std::vector<T> host = on_host(some, size * count);
    MUST(cudaFree(some));
    return host;
}

int main()
{
    {
        __half *x = input<__half>(NUMBERS, 2041, -8.0, 8.0), *dy = input<__half>(NUMBERS, 2042, -4.0, 4.0);
        __half *dx = output<__half>(NUMBERS);
        const size_t size = 4096, step = 61 * size, count = (NUMBERS - size) / step + 1;
        std::vector<__half> hx = picked(x, size, step, count), hdy = picked(dy, size, step, count), want(size * count);
        for (size_t i = 0; i < want.size(); i++) {
            double v = __half2float(hx[i]), t = std::tanh(std::log1p(std::exp(v)));
            want[i] = __float2half(float(__half2float(hdy[i]) * (t + v / (1 + std::exp(-v)) * (1 - t * t))));
        }
        __half *some = output<__half>(want.size());
        auto backward = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(dx, 0xA5, NUMBERS * sizeof(__half)));
            launch();
            pick(some, dx, size, step, count);
            check(name, some, want, 2e-3);
        };
        const unsigned blocks = NUMBERS / 8 / 256;
        uint4 *to = (uint4 *)dx;
        const uint4 *xs = (const uint4 *)x, *dys = (const uint4 *)dy;
        backward("k204a", [&] { k204a<<<blocks, 256>>>(to, xs, dys); });
        backward("k204b", [&] { k204b<<<blocks, 256>>>(to, xs, dys); });
        backward("k204c", [&] { k204c<<<blocks, 256>>>(to, xs, dys); });
    }
    {
        const size_t n = (size_t)TRIPLETS * DIM;
        const float margin = 1.0f;
        float *anchor = input<float>(n, 2043, -1.0, 1.0), *positive = input<float>(n, 2044, -1.0, 1.0);
        float *negative = input<float>(n, 2045, -1.0, 1.0), *loss = output<float>(TRIPLETS);
        // 64 rows of every 1024.
        const size_t size = 64, step = 1024, count = TRIPLETS / step;
        std::vector<float> ha = picked(anchor, size * DIM, step * DIM, count);
        std::vector<float> hp = picked(positive, size * DIM, step * DIM, count);
        std::vector<float> hn = picked(negative, size * DIM, step * DIM, count), want(size * count);
        for (size_t r = 0; r < want.size(); r++) {
            double near = 0, far = 0;
            for (int d = 0; d < DIM; d++) {
                double p = double(ha[r * DIM + d]) - hp[r * DIM + d], q = double(ha[r * DIM + d]) - hn[r * DIM + d];
                near += p * p;
                far += q * q;
            }
            want[r] = float(std::fmax(0.0, std::sqrt(near) - std::sqrt(far) + margin));
        }
        float *some = output<float>(want.size());
        auto triplets = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(loss, 0xA5, TRIPLETS * sizeof(float)));
            launch();
            pick(some, loss, size, step, count);
            check(name, some, want, 1e-4);
        };
        triplets("k204d", [&] {
            k204d<<<TRIPLETS / 256, 256>>>(loss, anchor, positive, negative, TRIPLETS, DIM, margin);
        });
        triplets("k204e", [&] {
            k204e<<<TRIPLETS / 8, 256>>>(loss, anchor, positive, negative, TRIPLETS, margin);
        });
    }
    const size_t n = (size_t)OUTS * INS;
    const float scale = 2.0f;
    float *weight = input<float>(n, 2046, -1.0, 1.0), *up = input<float>((size_t)OUTS * RANK, 2047, -1.0, 1.0);
    float *down = input<float>((size_t)RANK * INS, 2048, -1.0, 1.0), *merged = output<float>(n);
    // Every 61st row.
    const size_t step = 61, count = (OUTS - 1) / step + 1;
    std::vector<float> want = picked(weight, INS, step * INS, count);
    std::vector<float> hu = picked(up, RANK, step * RANK, count), hd = on_host(down, (size_t)RANK * INS);
    for (size_t i = 0; i < count; i++)
        for (int r = 0; r < RANK; r++)
            for (int c = 0; c < INS; c++)
                want[i * INS + c] += scale * hu[i * RANK + r] * hd[(size_t)r * INS + c];
    float *some = output<float>(want.size());
    auto merge = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(merged, 0xA5, n * sizeof(float)));
        launch();
        pick(some, merged, INS, step * INS, count);
        check(name, some, want, 2e-5);
    };
    dim3 square(16, 16), by_row(OUTS / 16, INS / 16), by_column(INS / 16, OUTS / 16), tiles(INS / TILE, OUTS / TILE);
    merge("k204f", [&] { k204f<<<by_row, square>>>(merged, weight, up, down, scale, OUTS, INS); });
    merge("k204g", [&] { k204g<<<by_column, square>>>(merged, weight, up, down, scale, OUTS, INS); });
    merge("k204h", [&] { k204h<<<tiles, 256>>>(merged, weight, up, down, scale, INS); });
    return 0;
}
