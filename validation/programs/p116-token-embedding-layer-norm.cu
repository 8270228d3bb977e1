// Two layers of a transformer's forward pass in bfloat16: the scaled token embedding (vocabulary of 128256, width 1024)
// and the layer norm over rows of 768 with its mean and reciprocal deviation.
#include "../harness.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <functional>

namespace cg = cooperative_groups;
typedef __nv_bfloat16 bf16;

struct alignas(16) Pack {
    __nv_bfloat162 v[4];
};

// out[t][c] = wte[tokens[t]][c] * scale

__global__ void k116a(bf16 *out, const int *tokens, const bf16 *wte, float scale, int count, int C)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t < count) {
        const bf16 *row = wte + (size_t)tokens[t] * C;
        bf16 *dst = out + (size_t)t * C;
        for (int c = 0; c < C; c++)
            dst[c] = __float2bfloat16(__bfloat162float(row[c]) * scale);
    }
}

__global__ void k116b(bf16 *out, const int *tokens, const bf16 *wte, float scale, int count, int C)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < count * C) {
        int t = idx / C;
        int c = idx % C;
        out[idx] = __float2bfloat16(__bfloat162float(wte[(size_t)tokens[t] * C + c]) * scale);
    }
}

__global__ void k116c(bf16 *out, const int *tokens, const bf16 *wte, float scale, int count, int C)
{
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (idx < count * C) {
        int t = idx / C;
        int c = idx % C;
        Pack p = *reinterpret_cast<const Pack *>(wte + (size_t)tokens[t] * C + c);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 f = __bfloat1622float2(p.v[i]);
            p.v[i] = __floats2bfloat162_rn(f.x * scale, f.y * scale);
        }
        *reinterpret_cast<Pack *>(out + idx) = p;
    }
}

// out = (inp - mean) * rstd * weight + bias, row by row

__global__ void k116d(bf16 *out, float *mean, float *rstd, const bf16 *inp, const bf16 *weight, const bf16 *bias, int N,
                      int C)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < N) {
        const bf16 *x = inp + (size_t)idx * C;
        float m = 0.0f;
        for (int i = 0; i < C; i++)
            m += __bfloat162float(x[i]);
        m = m / C;
        float v = 0.0f;
        for (int i = 0; i < C; i++) {
            float xshift = __bfloat162float(x[i]) - m;
            v += xshift * xshift;
        }
        v = v / C;
        float s = 1.0f / sqrtf(v + 1e-5f);
        bf16 *o = out + (size_t)idx * C;
        for (int i = 0; i < C; i++) {
            float n = s * (__bfloat162float(x[i]) - m);
            o[i] = __float2bfloat16(n * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
        }
        mean[idx] = m;
        rstd[idx] = s;
    }
}

// A block of 256 threads for each row.
__global__ void k116e(bf16 *out, float *mean, float *rstd, const bf16 *inp, const bf16 *weight, const bf16 *bias, int C)
{
    __shared__ float shared[256];
    int tid = threadIdx.x;
    const bf16 *x = inp + (size_t)blockIdx.x * C;
    bf16 *o = out + (size_t)blockIdx.x * C;

    float sum = 0.0f;
    for (int i = tid; i < C; i += blockDim.x)
        sum += __bfloat162float(x[i]);
    shared[tid] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    float m = shared[0] / C;
    __syncthreads();

    sum = 0.0f;
    for (int i = tid; i < C; i += blockDim.x) {
        float diff = __bfloat162float(x[i]) - m;
        sum += diff * diff;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride >= 1; stride /= 2) {
        if (tid < stride)
            shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    float s = rsqrtf(shared[0] / C + 1e-5f);

    for (int i = tid; i < C; i += blockDim.x) {
        float n = s * (__bfloat162float(x[i]) - m);
        o[i] = __float2bfloat16(n * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
    }
    if (tid == 0) {
        mean[blockIdx.x] = m;
        rstd[blockIdx.x] = s;
    }
}

__global__ void k116f(bf16 *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                      const bf16 *__restrict__ inp, const bf16 *__restrict__ weight, const bf16 *__restrict__ bias,
                      int N, int C)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int idx = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (idx >= N)
        return;
    const bf16 *x = inp + (size_t)idx * C;

    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size())
        sum += __bfloat162float(x[i]);
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    float m = sum / C;

    sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) {
        float diff = __bfloat162float(x[i]) - m;
        sum += diff * diff;
    }
    sum = cg::reduce(warp, sum, cg::plus<float>{});
    float s = rsqrtf(sum / C + 1e-5f);

    bf16 *o = out + (size_t)idx * C;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) {
        float n = s * (__bfloat162float(x[i]) - m);
        o[i] = __float2bfloat16(n * __bfloat162float(weight[i]) + __bfloat162float(bias[i]));
    }
    if (warp.thread_rank() == 0) {
        mean[idx] = m;
        rstd[idx] = s;
    }
}

const int WIDTH = 768, PACKS = WIDTH / (8 * 32);

__device__ inline float warp_sum(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

__device__ inline Pack norm(const float *x, float m, float s, const Pack &w, const Pack &b)
{
    Pack p;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float2 fw = __bfloat1622float2(w.v[k]), fb = __bfloat1622float2(b.v[k]);
        p.v[k] = __floats2bfloat162_rn(s * (x[2 * k] - m) * fw.x + fb.x, s * (x[2 * k + 1] - m) * fw.y + fb.y);
    }
    return p;
}

// Mean and reciprocal deviation of the row that a warp reads, 24 values to a lane.
__device__ inline float2 load_row(float (*x)[8], const Pack *row, int lane)
{
    Pack in[PACKS];
#pragma unroll
    for (int j = 0; j < PACKS; j++)
        in[j] = row[j * 32 + lane];
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < PACKS; j++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float2 f = __bfloat1622float2(in[j].v[k]);
            x[j][2 * k] = f.x;
            x[j][2 * k + 1] = f.y;
            sum += f.x + f.y;
        }
    float m = warp_sum(sum) * (1.0f / WIDTH);
    sum = 0.0f;
#pragma unroll
    for (int j = 0; j < PACKS; j++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            sum += (x[j][k] - m) * (x[j][k] - m);
    return make_float2(m, rsqrtf(warp_sum(sum) * (1.0f / WIDTH) + 1e-5f));
}

__global__ void k116g(bf16 *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                      const bf16 *__restrict__ inp, const bf16 *__restrict__ weight, const bf16 *__restrict__ bias,
                      int N)
{
    int lane = threadIdx.x % 32;
    int idx = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (idx >= N)
        return;
    const Pack *w = reinterpret_cast<const Pack *>(weight), *b = reinterpret_cast<const Pack *>(bias);
    float x[PACKS][8];
    float2 stats = load_row(x, reinterpret_cast<const Pack *>(inp + (size_t)idx * WIDTH), lane);
    Pack *o = reinterpret_cast<Pack *>(out + (size_t)idx * WIDTH);
#pragma unroll
    for (int j = 0; j < PACKS; j++)
        o[j * 32 + lane] = norm(x[j], stats.x, stats.y, w[j * 32 + lane], b[j * 32 + lane]);
    if (lane == 0) {
        mean[idx] = stats.x;
        rstd[idx] = stats.y;
    }
}

__global__ void k116h(bf16 *__restrict__ out, float *__restrict__ mean, float *__restrict__ rstd,
                      const bf16 *__restrict__ inp, const bf16 *__restrict__ weight, const bf16 *__restrict__ bias,
                      int N)
{
    __shared__ Pack s_weight[WIDTH / 8], s_bias[WIDTH / 8];
    for (int i = threadIdx.x; i < WIDTH / 8; i += blockDim.x) {
        s_weight[i] = reinterpret_cast<const Pack *>(weight)[i];
        s_bias[i] = reinterpret_cast<const Pack *>(bias)[i];
    }
    __syncthreads();
    int lane = threadIdx.x % 32;
    int idx = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (idx >= N)
        return;
    float x[PACKS][8];
    float2 stats = load_row(x, reinterpret_cast<const Pack *>(inp + (size_t)idx * WIDTH), lane);
    Pack *o = reinterpret_cast<Pack *>(out + (size_t)idx * WIDTH);
#pragma unroll
    for (int j = 0; j < PACKS; j++)
        o[j * 32 + lane] = norm(x[j], stats.x, stats.y, s_weight[j * 32 + lane], s_bias[j * 32 + lane]);
    if (lane == 0) {
        mean[idx] = stats.x;
        rstd[idx] = stats.y;
    }
}

// Every n-th row as floats, for the comparison.
__global__ void pick_rows(float *to, const bf16 *from, int every, int C)
{
    for (int c = threadIdx.x; c < C; c += blockDim.x)
        to[(size_t)blockIdx.x * C + c] = __bfloat162float(from[(size_t)blockIdx.x * every * C + c]);
}

int main()
{
    const int every = 13;
    {
        const int vocabulary = 128256, C = 1024, count = 65536, n = count * C;
        const float scale = 32.0f;
        bf16 *wte = input<bf16>((size_t)vocabulary * C, 1161, -0.1, 0.1), *out = output<bf16>(n);
        int *tokens = input<int>(count, 1162, 0, vocabulary);
        std::vector<int> ht = on_host(tokens, count);
        const int picked = (count - 1) / every + 1;
        float *some = output<float>((size_t)picked * C);
        std::vector<float> want((size_t)picked * C);
        for (int r = 0; r < picked; r++)
            for (int c = 0; c < C; c++) {
                size_t at = (size_t)ht[r * every] * C + c;
                float w = __bfloat162float(bf16(-0.1 + 0.2 * (scrambled(at, 1161) / 4294967296.0)));
                want[(size_t)r * C + c] = w * scale;
            }
        auto embed = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(bf16)));
            launch();
            MUST(cudaGetLastError());
            pick_rows<<<picked, 256>>>(some, out, every, C);
            check(name, some, want, 3e-3);
        };
        embed("k116a", [&] { k116a<<<count / 128, 128>>>(out, tokens, wte, scale, count, C); });
        embed("k116b", [&] { k116b<<<n / 256, 256>>>(out, tokens, wte, scale, count, C); });
        embed("k116c", [&] { k116c<<<n / 8 / 256, 256>>>(out, tokens, wte, scale, count, C); });
        MUST(cudaFree(wte));
        MUST(cudaFree(out));
    }

    const int N = 65536, C = WIDTH;
    bf16 *inp = input<bf16>((size_t)N * C, 1163, -2.0, 3.0), *out = output<bf16>((size_t)N * C);
    bf16 *weight = input<bf16>(C, 1164, 0.5, 1.5), *bias = input<bf16>(C, 1165, -0.5, 0.5);
    float *mean = output<float>(N), *rstd = output<float>(N);
    const int picked = (N - 1) / every + 1;
    std::vector<bf16> hw = on_host(weight, C), hb = on_host(bias, C), hx = on_host(inp, (size_t)N * C);
    // The picked rows, then every mean and every reciprocal deviation.
    const size_t rows = (size_t)picked * C;
    std::vector<float> want(rows + 2 * N);
    for (int r = 0; r < N; r++) {
        const bf16 *x = &hx[(size_t)r * C];
        float row[WIDTH];
        float sum = 0, square = 0;
        for (int c = 0; c < C; c++) {
            row[c] = __bfloat162float(x[c]);
            sum += row[c];
        }
        float m = sum / C;
        for (int c = 0; c < C; c++)
            square += (row[c] - m) * (row[c] - m);
        float s = 1.0f / std::sqrt(square / C + 1e-5f);
        want[rows + r] = m;
        want[rows + N + r] = s;
        if (r % every == 0)
            for (int c = 0; c < C; c++)
                want[(size_t)(r / every) * C + c] = (row[c] - m) * s * __bfloat162float(hw[c]) + __bfloat162float(hb[c]);
    }
    float *some = output<float>(want.size());
    auto layer = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, (size_t)N * C * sizeof(bf16)));
        MUST(cudaMemset(mean, 0xA5, N * sizeof(float)));
        MUST(cudaMemset(rstd, 0xA5, N * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_rows<<<picked, 256>>>(some, out, every, C);
        MUST(cudaMemcpy(some + rows, mean, N * sizeof(float), cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(some + rows + N, rstd, N * sizeof(float), cudaMemcpyDeviceToDevice));
        check(name, some, want, 4e-3);
    };
    layer("k116d", [&] { k116d<<<N / 128, 128>>>(out, mean, rstd, inp, weight, bias, N, C); });
    layer("k116e", [&] { k116e<<<N, 256>>>(out, mean, rstd, inp, weight, bias, C); });
    layer("k116f", [&] { k116f<<<N / 8, 256>>>(out, mean, rstd, inp, weight, bias, N, C); });
    layer("k116g", [&] { k116g<<<N / 8, 256>>>(out, mean, rstd, inp, weight, bias, N); });
    layer("k116h", [&] { k116h<<<N / 8, 256>>>(out, mean, rstd, inp, weight, bias, N); });
    return 0;
}
