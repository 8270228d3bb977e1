// Long causal depthwise convolution over time of a sequence model (B, C, T), and a width-4 causal convolution with SiLU on
// (B, D, L) in bfloat16.
#include "../harness.h"

#include <functional>

const int STEPS = 768;
const int GROUP = 8;

// out[b][c][t] = eps + sum over u <= t of w[c][STEPS - 1 - t + u] * k[b][c][u]
__global__ void k86a(const float *__restrict__ w, const float *__restrict__ k, float *__restrict__ out, float eps, int C)
{
    int row = blockIdx.x;
    int t = threadIdx.x;
    const float *wr = w + (size_t)(row % C) * STEPS + (STEPS - 1) - t;
    const float *kr = k + (size_t)row * STEPS;
    float sum = eps;
    for (int u = 0; u <= t; u++)
        sum += wr[u] * kr[u];
    out[(size_t)row * STEPS + t] = sum;
}

__global__ void k86b(const float *__restrict__ w, const float *__restrict__ k, float *__restrict__ out, float eps, int C)
{
    __shared__ float ws[STEPS];
    __shared__ float ks[STEPS];
    int row = blockIdx.x;
    int t = threadIdx.x;
    ws[t] = w[(size_t)(row % C) * STEPS + t];
    ks[t] = k[(size_t)row * STEPS + t];
    __syncthreads();

    const float *wr = ws + (STEPS - 1) - t;
    float sum = eps;
    for (int u = 0; u <= t; u++)
        sum += wr[u] * ks[u];
    out[(size_t)row * STEPS + t] = sum;
}

__global__ void k86c(const float *__restrict__ w, const float *__restrict__ k, float *__restrict__ out, float eps, int C)
{
    __shared__ __align__(16) float ws[STEPS];
    __shared__ __align__(16) float ks[STEPS];
    int row = blockIdx.x;
    int t = threadIdx.x * 4;
    *(float4 *)(ws + t) = *(const float4 *)(w + (size_t)(row % C) * STEPS + t);
    *(float4 *)(ks + t) = *(const float4 *)(k + (size_t)row * STEPS + t);
    __syncthreads();

    float4 sum = make_float4(eps, eps, eps, eps);
    const float *wr = ws + STEPS - 4 - t;
    for (int u = 0; u <= t; u++) {
        float v = ks[u];
        sum.x += wr[u + 3] * v;
        sum.y += wr[u + 2] * v;
        sum.z += wr[u + 1] * v;
        sum.w += wr[u] * v;
    }
    float k1 = ks[t + 1], k2 = ks[t + 2], k3 = ks[t + 3];
    sum.y += wr[t + 3] * k1;
    sum.z += wr[t + 2] * k1 + wr[t + 3] * k2;
    sum.w += wr[t + 1] * k1 + wr[t + 2] * k2 + wr[t + 3] * k3;
    *(float4 *)(out + (size_t)row * STEPS + t) = sum;
}

// rows is B * C; B is a multiple of GROUP.
__global__ void k86d(const float *__restrict__ w, const float *__restrict__ k, float *__restrict__ out, float eps, int C,
                     int rows)
{
    __shared__ __align__(16) float ws[STEPS];
    __shared__ __align__(16) float ks[STEPS * GROUP];
    int row = blockIdx.x;
    int t = threadIdx.x * 4;
    size_t at = (size_t)row * STEPS + t;
    size_t hop = (size_t)(rows / GROUP) * STEPS;
    *(float4 *)(ws + t) = *(const float4 *)(w + (size_t)(row % C) * STEPS + t);
#pragma unroll
    for (int j = 0; j < GROUP; j++)
        *(float4 *)(ks + j * STEPS + t) = *(const float4 *)(k + at + hop * j);
    __syncthreads();

    float4 sum[GROUP];
#pragma unroll
    for (int j = 0; j < GROUP; j++)
        sum[j] = make_float4(eps, eps, eps, eps);
    for (int u = 0; u <= t; u++) {
        const float *wr = ws + STEPS - 4 - t + u;
#pragma unroll
        for (int j = 0; j < GROUP; j++) {
            float v = ks[j * STEPS + u];
            sum[j].x += wr[3] * v;
            sum[j].y += wr[2] * v;
            sum[j].z += wr[1] * v;
            sum[j].w += wr[0] * v;
        }
    }
    float w1 = ws[STEPS - 3], w2 = ws[STEPS - 2], w3 = ws[STEPS - 1];
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
        const float *kr = ks + j * STEPS + t;
        sum[j].y += w3 * kr[1];
        sum[j].z += w2 * kr[1] + w3 * kr[2];
        sum[j].w += w1 * kr[1] + w2 * kr[2] + w3 * kr[3];
        *(float4 *)(out + at + hop * j) = sum[j];
    }
}

const int WIDTH = 4;

__device__ inline float silu(float v)
{
    return v / (1.0f + __expf(-v));
}

__global__ void k86e(const __nv_bfloat16 *__restrict__ x, const float *__restrict__ weight, const float *__restrict__ bias,
                     __nv_bfloat16 *__restrict__ out, int D, int L)
{
    int l = blockIdx.x * blockDim.x + threadIdx.x;
    int d = blockIdx.y;
    int b = blockIdx.z;
    if (l >= L)
        return;
    size_t base = ((size_t)b * D + d) * L;
    float acc = bias[d];
    for (int i = 0; i < WIDTH; i++) {
        int from = l - (WIDTH - 1) + i;
        if (from >= 0)
            acc += weight[d * WIDTH + i] * __bfloat162float(x[base + from]);
    }
    out[base + l] = __float2bfloat16(silu(acc));
}

union Eight {
    uint4 raw;
    __nv_bfloat16 v[8];
    __device__ Eight() {}
};

// L is a multiple of 8 * 128.
__global__ void __launch_bounds__(128) k86f(const __nv_bfloat16 *__restrict__ x, const float *__restrict__ weight,
                                            const float *__restrict__ bias, __nv_bfloat16 *__restrict__ out, int D, int L)
{
    __shared__ uint4 tail[128];
    int tid = threadIdx.x;
    int d = blockIdx.x;
    size_t base = ((size_t)blockIdx.y * D + d) * L;
    float wr[WIDTH];
#pragma unroll
    for (int i = 0; i < WIDTH; i++)
        wr[i] = weight[d * WIDTH + i];
    float start = bias[d];
    if (tid == 0)
        tail[127] = make_uint4(0, 0, 0, 0);

    for (int chunk = 0; chunk < L; chunk += 8 * 128) {
        Eight now, before;
        now.raw = *(const uint4 *)(x + base + chunk + tid * 8);
        __syncthreads();
        if (tid < 127)
            tail[tid] = now.raw;
        __syncthreads();
        before.raw = tail[tid > 0 ? tid - 1 : 127];
        __syncthreads();
        if (tid == 127)
            tail[127] = now.raw;

        float window[8 + WIDTH - 1];
#pragma unroll
        for (int i = 0; i < WIDTH - 1; i++)
            window[i] = __bfloat162float(before.v[8 - (WIDTH - 1) + i]);
#pragma unroll
        for (int i = 0; i < 8; i++)
            window[WIDTH - 1 + i] = __bfloat162float(now.v[i]);
        Eight result;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float acc = start;
#pragma unroll
            for (int j = 0; j < WIDTH; j++)
                acc += wr[j] * window[i + j];
            result.v[i] = __float2bfloat16(silu(acc));
        }
        *(uint4 *)(out + base + chunk + tid * 8) = result.raw;
    }
}

__global__ void widen(const __nv_bfloat16 *from, float *to, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = __bfloat162float(from[i]);
}

int main()
{
    {
        const int B = 32, C = 768;
        const size_t n = (size_t)B * C * STEPS;
        const float eps = 0.1f;
        float *w = input<float>((size_t)C * STEPS, 861, -1.0, 1.0);
        float *k = input<float>(n, 862, -1.0, 1.0);
        float *out = output<float>(n);

        k86a<<<B * C, STEPS>>>(w, k, out, eps, C);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<int> chosen;
        for (int r = 0; r < B * C; r += 1009)
            chosen.push_back(r);
        chosen.push_back(B * C - 1);
        std::vector<float> want(chosen.size() * STEPS);
        float *picked = output<float>(chosen.size() * STEPS);
        for (size_t s = 0; s < chosen.size(); s++) {
            std::vector<float> wr = on_host(w + (size_t)(chosen[s] % C) * STEPS, STEPS);
            std::vector<float> kr = on_host(k + (size_t)chosen[s] * STEPS, STEPS);
            for (int t = 0; t < STEPS; t++) {
                double sum = eps;
                for (int u = 0; u <= t; u++)
                    sum += double(wr[STEPS - 1 - t + u]) * kr[u];
                want[s * STEPS + t] = float(sum);
            }
            MUST(cudaMemcpy(picked + s * STEPS, out + (size_t)chosen[s] * STEPS, STEPS * sizeof(float),
                            cudaMemcpyDeviceToDevice));
        }
        check("k86a", picked, want, 1e-4);
        std::vector<float> all = on_host(out, n);

        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
            launch();
            check(name, out, all, 1e-4);
        };
        launch_and_check("k86b", [&] { k86b<<<B * C, STEPS>>>(w, k, out, eps, C); });
        launch_and_check("k86c", [&] { k86c<<<B * C, STEPS / 4>>>(w, k, out, eps, C); });
        launch_and_check("k86d", [&] { k86d<<<B * C / GROUP, STEPS / 4>>>(w, k, out, eps, C, B * C); });
        MUST(cudaFree(w));
        MUST(cudaFree(k));
        MUST(cudaFree(out));
        MUST(cudaFree(picked));
    }
    {
        const int B = 4, D = 2048, L = 4096;
        const size_t n = (size_t)B * D * L;
        __nv_bfloat16 *x = input<__nv_bfloat16>(n, 863, -1.0, 1.0);
        float *weight = input<float>((size_t)D * WIDTH, 864, -0.5, 0.5);
        float *bias = input<float>(D, 865, -0.5, 0.5);
        __nv_bfloat16 *out = output<__nv_bfloat16>(n);
        float *wide = output<float>(n);

        k86e<<<dim3((L + 255) / 256, D, B), 256>>>(x, weight, bias, out, D, L);
        MUST(cudaGetLastError());
        widen<<<1056, 256>>>(out, wide, n);
        MUST(cudaDeviceSynchronize());
        std::vector<float> wh = on_host(weight, (size_t)D * WIDTH), bh = on_host(bias, D);
        std::vector<int> chosen;
        for (int r = 0; r < B * D; r += 331)
            chosen.push_back(r);
        chosen.push_back(B * D - 1);
        std::vector<float> want(chosen.size() * L);
        float *picked = output<float>(chosen.size() * L), *line = output<float>(L);
        for (size_t s = 0; s < chosen.size(); s++) {
            int d = chosen[s] % D;
            widen<<<16, 256>>>(x + (size_t)chosen[s] * L, line, L);
            MUST(cudaDeviceSynchronize());
            std::vector<float> xr = on_host(line, L);
            for (int l = 0; l < L; l++) {
                double acc = bh[d];
                for (int i = 0; i < WIDTH; i++)
                    if (l - (WIDTH - 1) + i >= 0)
                        acc += double(wh[d * WIDTH + i]) * xr[l - (WIDTH - 1) + i];
                want[s * L + l] = float(acc / (1.0 + std::exp(-acc)));
            }
            MUST(cudaMemcpy(picked + s * L, wide + (size_t)chosen[s] * L, L * sizeof(float), cudaMemcpyDeviceToDevice));
        }
        check("k86e", picked, want, 1e-2);
        std::vector<float> all = on_host(wide, n);

        MUST(cudaMemset(out, 0xA5, n * sizeof(__nv_bfloat16)));
        k86f<<<dim3(D, B), 128>>>(x, weight, bias, out, D, L);
        MUST(cudaGetLastError());
        widen<<<1056, 256>>>(out, wide, n);
        check("k86f", wide, all, 1e-2);
    }
    return 0;
}
