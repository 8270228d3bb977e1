// Three pieces of a decoding step: an int8 matrix times an int8 vector (28672 x 8192), the greedy choice of a token from
// bfloat16 logits (256 x 262144), and the attention scores of one new query per head against a bfloat16 key cache with
// four query heads to a key head.
#include "../harness.h"

#include <functional>

typedef __nv_bfloat16 bf16;
typedef signed char int8;
typedef unsigned long long Key;

struct alignas(16) Pack {
    __nv_bfloat162 v[4];
};

// y[r] = scale[r] * x_scale * sum over k of w[r][k] * x[k]

__global__ void k118a(float *y, const int8 *w, const int8 *x, const float *scale, float x_scale, int rows, int K)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        int sum = 0;
        for (int k = 0; k < K; k++)
            sum += int(w[(size_t)r * K + k]) * int(x[k]);
        y[r] = sum * scale[r] * x_scale;
    }
}

__global__ void k118b(float *y, const int8 *w, const int8 *x, const float *scale, float x_scale, int rows, int K)
{
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (r < rows) {
        int sum = 0;
        for (int k = lane; k < K; k += 32)
            sum += int(w[(size_t)r * K + k]) * int(x[k]);
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0)
            y[r] = sum * scale[r] * x_scale;
    }
}

__global__ void k118c(float *__restrict__ y, const int8 *__restrict__ w, const int8 *__restrict__ x,
                      const float *__restrict__ scale, float x_scale, int rows, int K)
{
    int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (r < rows) {
        const int4 *wr = reinterpret_cast<const int4 *>(w + (size_t)r * K);
        const int4 *xr = reinterpret_cast<const int4 *>(x);
        int sum = 0;
#pragma unroll 4
        for (int k = lane; k < K / 16; k += 32) {
            int4 a = wr[k], b = xr[k];
            sum = __dp4a(a.x, b.x, sum);
            sum = __dp4a(a.y, b.y, sum);
            sum = __dp4a(a.z, b.z, sum);
            sum = __dp4a(a.w, b.w, sum);
        }
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (lane == 0)
            y[r] = sum * scale[r] * x_scale;
    }
}

// The index of the largest logit in each row; of equal ones the first.

__global__ void k118d(int *choice, const bf16 *logits, int V)
{
    __shared__ float s_value[256];
    __shared__ int s_index[256];
    int tid = threadIdx.x;
    const bf16 *row = logits + (size_t)blockIdx.x * V;
    float best = -INFINITY;
    int index = 0;
    for (int i = tid; i < V; i += blockDim.x) {
        float v = __bfloat162float(row[i]);
        if (v > best) {
            best = v;
            index = i;
        }
    }
    s_value[tid] = best;
    s_index[tid] = index;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) {
            float v = s_value[tid + stride];
            int i = s_index[tid + stride];
            if (v > s_value[tid] || (v == s_value[tid] && i < s_index[tid])) {
                s_value[tid] = v;
                s_index[tid] = i;
            }
        }
        __syncthreads();
    }
    if (tid == 0)
        choice[blockIdx.x] = s_index[0];
}

// Larger for a larger value, and for a smaller index among equal values.
__device__ inline Key make_key(float value, int index)
{
    unsigned bits = __float_as_uint(value);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return Key(bits) << 32 | (0xffffffffu - unsigned(index));
}

__device__ inline void offer(Key *to, Key key)
{
    __shared__ Key s_key[8];
    for (int offset = 16; offset > 0; offset /= 2) {
        Key other = __shfl_down_sync(0xffffffffu, key, offset);
        key = other > key ? other : key;
    }
    if (threadIdx.x % 32 == 0)
        s_key[threadIdx.x / 32] = key;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; i++)
            key = s_key[i] > key ? s_key[i] : key;
        atomicMax(to, key);
    }
}

// gridDim.y blocks for each row; keys start at zero.
__global__ void k118e(Key *keys, const bf16 *logits, int V)
{
    int part = V / gridDim.y, first = blockIdx.y * part;
    const bf16 *row = logits + (size_t)blockIdx.x * V;
    float best = -INFINITY;
    int index = 0;
    for (int i = first + threadIdx.x; i < first + part; i += blockDim.x) {
        float v = __bfloat162float(row[i]);
        if (v > best) {
            best = v;
            index = i;
        }
    }
    offer(&keys[blockIdx.x], make_key(best, index));
}

// V is a multiple of 8192 times the number of parts.
__global__ void k118f(Key *__restrict__ keys, const bf16 *__restrict__ logits, int V)
{
    int part = V / 8 / gridDim.y, first = blockIdx.y * part;
    const Pack *row = reinterpret_cast<const Pack *>(logits + (size_t)blockIdx.x * V);
    float best = -INFINITY;
    int index = 0;
    for (int i = first + threadIdx.x; i < first + part; i += 4 * blockDim.x) {
        Pack p[4];
#pragma unroll
        for (int j = 0; j < 4; j++)
            p[j] = row[i + j * blockDim.x];
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                float2 v = __bfloat1622float2(p[j].v[k]);
                int at = (i + j * blockDim.x) * 8 + 2 * k;
                if (v.x > best) {
                    best = v.x;
                    index = at;
                }
                if (v.y > best) {
                    best = v.y;
                    index = at + 1;
                }
            }
    }
    offer(&keys[blockIdx.x], make_key(best, index));
}

// scores[b][h][t] = scale * sum over d of q[b][h][d] * keys[b][h / 4][t][d]

const int HS = 128, GROUP = 4, SPAN = 512;

__global__ void k118g(float *scores, const float *q, const bf16 *cache, float scale, int NH, int T)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y, b = blockIdx.z;
    if (t < T) {
        const float *qh = q + (b * NH + h) * HS;
        const bf16 *k = cache + ((size_t)(b * (NH / GROUP) + h / GROUP) * T + t) * HS;
        float sum = 0.0f;
        for (int d = 0; d < HS; d++)
            sum += qh[d] * __bfloat162float(k[d]);
        scores[(size_t)(b * NH + h) * T + t] = sum * scale;
    }
}

// Sixteen lanes to a key, eight dimensions each; a block takes SPAN keys.
__global__ void k118h(float *__restrict__ scores, const float *__restrict__ q, const bf16 *__restrict__ cache,
                      float scale, int NH, int T)
{
    int part = threadIdx.x % 16, worker = threadIdx.x / 16;
    int h = blockIdx.y, b = blockIdx.z;
    float qr[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        qr[i] = q[(b * NH + h) * HS + part * 8 + i] * scale;
    const Pack *k = reinterpret_cast<const Pack *>(cache + (size_t)(b * (NH / GROUP) + h / GROUP) * T * HS) + part;
    float *out = scores + (size_t)(b * NH + h) * T;
    int t0 = blockIdx.x * SPAN + worker;
#pragma unroll 4
    for (int t = t0; t < t0 + SPAN; t += 16) {
        Pack p = k[(size_t)t * (HS / 8)];
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 f = __bfloat1622float2(p.v[i]);
            sum += qr[2 * i] * f.x + qr[2 * i + 1] * f.y;
        }
#pragma unroll
        for (int offset = 8; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, offset);
        if (part == 0)
            out[t] = sum;
    }
}

__global__ void k118i(float *__restrict__ scores, const float *__restrict__ q, const bf16 *__restrict__ cache,
                      float scale, int NH, int T)
{
    int part = threadIdx.x % 16, worker = threadIdx.x / 16;
    int kv = blockIdx.y, b = blockIdx.z;
    float qr[GROUP][8];
#pragma unroll
    for (int g = 0; g < GROUP; g++)
#pragma unroll
        for (int i = 0; i < 8; i++)
            qr[g][i] = q[(b * NH + kv * GROUP + g) * HS + part * 8 + i] * scale;
    const Pack *k = reinterpret_cast<const Pack *>(cache + (size_t)(b * (NH / GROUP) + kv) * T * HS) + part;
    // Lanes 0 to 3 of sixteen end with the sums of heads 0, 2, 1 and 3.
    bool odd = part & 1, upper = part & 2;
    float *out = scores + (size_t)(b * NH + kv * GROUP + 2 * odd + upper) * T;
    int t0 = blockIdx.x * SPAN + worker;
#pragma unroll 4
    for (int t = t0; t < t0 + SPAN; t += 16) {
        Pack p = k[(size_t)t * (HS / 8)];
        float sum[GROUP] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 f = __bfloat1622float2(p.v[i]);
#pragma unroll
            for (int g = 0; g < GROUP; g++)
                sum[g] += qr[g][2 * i] * f.x + qr[g][2 * i + 1] * f.y;
        }
        float first = (odd ? sum[2] : sum[0]) + __shfl_xor_sync(0xffffffffu, odd ? sum[0] : sum[2], 1);
        float second = (odd ? sum[3] : sum[1]) + __shfl_xor_sync(0xffffffffu, odd ? sum[1] : sum[3], 1);
        float mine = (upper ? second : first) + __shfl_xor_sync(0xffffffffu, upper ? first : second, 2);
        mine += __shfl_xor_sync(0xffffffffu, mine, 4);
        mine += __shfl_xor_sync(0xffffffffu, mine, 8);
        if (part < 4)
            out[t] = mine;
    }
}

__global__ void keys_to_indices(int *choice, const Key *keys, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        choice[r] = int(0xffffffffu - unsigned(keys[r]));
}

int main()
{
    {
        const int rows = 28672, K = 8192;
        const float x_scale = 0.01f;
        int8 *w = input<int8>((size_t)rows * K, 1181, -127.0, 128.0), *x = input<int8>(K, 1182, -127.0, 128.0);
        float *scale = input<float>(rows, 1183, 0.001, 0.002), *y = output<float>(rows);
        std::vector<int8> hw = on_host(w, (size_t)rows * K), hx = on_host(x, K);
        std::vector<float> hs = on_host(scale, rows), want(rows);
        for (int r = 0; r < rows; r++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += int(hw[(size_t)r * K + k]) * int(hx[k]);
            want[r] = sum * hs[r] * x_scale;
        }
        auto multiply = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(y, 0xA5, rows * sizeof(float)));
            launch();
            check(name, y, want, 1e-5);
        };
        multiply("k118a", [&] { k118a<<<rows / 128, 128>>>(y, w, x, scale, x_scale, rows, K); });
        multiply("k118b", [&] { k118b<<<rows / 8, 256>>>(y, w, x, scale, x_scale, rows, K); });
        multiply("k118c", [&] { k118c<<<rows / 8, 256>>>(y, w, x, scale, x_scale, rows, K); });
        MUST(cudaFree(w));
    }
    {
        const int rows = 256, V = 262144, parts = 8;
        bf16 *logits = input<bf16>((size_t)rows * V, 1184, -8.0, 8.0);
        int *choice = output<int>(rows);
        Key *keys = output<Key>(rows);
        std::vector<bf16> h = on_host(logits, (size_t)rows * V);
        std::vector<int> want(rows);
        for (int r = 0; r < rows; r++) {
            float best = -INFINITY;
            for (int i = 0; i < V; i++) {
                float v = __bfloat162float(h[(size_t)r * V + i]);
                if (v > best) {
                    best = v;
                    want[r] = i;
                }
            }
        }
        auto choose = [&](const char *name, bool by_key, std::function<void()> launch) {
            MUST(cudaMemset(choice, 0xA5, rows * sizeof(int)));
            MUST(cudaMemset(keys, 0, rows * sizeof(Key)));
            launch();
            MUST(cudaGetLastError());
            if (by_key)
                keys_to_indices<<<1, rows>>>(choice, keys, rows);
            check(name, choice, want, 0.0);
        };
        choose("k118d", false, [&] { k118d<<<rows, 256>>>(choice, logits, V); });
        choose("k118e", true, [&] { k118e<<<dim3(rows, parts), 256>>>(keys, logits, V); });
        choose("k118f", true, [&] { k118f<<<dim3(rows, parts), 256>>>(keys, logits, V); });
        MUST(cudaFree(logits));
    }

    const int B = 32, NH = 32, NKV = NH / GROUP, T = 4096, every = 7;
    const float scale = 0.088388348f;
    bf16 *cache = input<bf16>((size_t)B * NKV * T * HS, 1185, -1.0, 1.0);
    float *q = input<float>(B * NH * HS, 1186, -1.0, 1.0), *scores = output<float>((size_t)B * NH * T);
    std::vector<float> hq = on_host(q, B * NH * HS);
    std::vector<bf16> hk = on_host(cache, (size_t)B * NKV * T * HS);
    // Every seventh head of the batch: 0, 7, ..., 1022.
    const int picked = (B * NH - 1) / every + 1;
    std::vector<float> want((size_t)picked * T);
    for (int p = 0; p < picked; p++) {
        int bh = p * every;
        for (int t = 0; t < T; t++) {
            const bf16 *k = &hk[((size_t)(bh / GROUP) * T + t) * HS];
            float sum = 0.0f;
            for (int d = 0; d < HS; d++)
                sum += hq[bh * HS + d] * __bfloat162float(k[d]);
            want[(size_t)p * T + t] = sum * scale;
        }
    }
    float *some = output<float>((size_t)picked * T);
    auto attend = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(scores, 0xA5, (size_t)B * NH * T * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        const size_t bytes = T * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, scores, every * bytes, bytes, picked, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-4);
    };
    attend("k118g", [&] { k118g<<<dim3(T / 256, NH, B), 256>>>(scores, q, cache, scale, NH, T); });
    attend("k118h", [&] { k118h<<<dim3(T / SPAN, NH, B), 256>>>(scores, q, cache, scale, NH, T); });
    attend("k118i", [&] { k118i<<<dim3(T / SPAN, NKV, B), 256>>>(scores, q, cache, scale, NH, T); });
    return 0;
}
