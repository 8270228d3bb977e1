// Ranking model: dense features to 256 quantile buckets, and sixteen logistic heads over 64 features per candidate.
#include "../harness.h"
#include <algorithm>

constexpr int edges = 255;

__device__ inline int bucket_scan(const float *edge, float x)
{
    int bucket = 0;
#pragma unroll 15
    for (int i = 0; i < edges; i++)
        bucket += x >= edge[i];
    return bucket;
}

__device__ inline int bucket_search(const float *edge, float x)
{
    int bucket = 0;
#pragma unroll
    for (int step = 128; step > 0; step >>= 1)
        bucket += x >= edge[bucket + step - 1] ? step : 0;
    return bucket;
}

// Edges in the order of a complete tree: children of node k are 2k and 2k + 1.
__device__ inline int bucket_tree(const float *node, float x)
{
    int k = 1;
#pragma unroll
    for (int level = 0; level < 8; level++)
        k = 2 * k + (x >= node[k]);
    return k - 256;
}

__global__ void __launch_bounds__(256) k257a(const float4 *values, int4 *buckets, const float *edge, int groups)
{
    __shared__ float local[256];
    if (threadIdx.x < edges)
        local[threadIdx.x] = edge[threadIdx.x];
    __syncthreads();
    for (int g = blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += gridDim.x * blockDim.x) {
        float4 v = values[g];
        buckets[g] = make_int4(bucket_scan(local, v.x), bucket_scan(local, v.y), bucket_scan(local, v.z), bucket_scan(local, v.w));
    }
}

__global__ void __launch_bounds__(256) k257b(const float4 *values, int4 *buckets, const float *edge, int groups)
{
    __shared__ float local[256];
    if (threadIdx.x < edges)
        local[threadIdx.x] = edge[threadIdx.x];
    __syncthreads();
    for (int g = blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += gridDim.x * blockDim.x) {
        float4 v = values[g];
        buckets[g] =
            make_int4(bucket_search(local, v.x), bucket_search(local, v.y), bucket_search(local, v.z), bucket_search(local, v.w));
    }
}

__global__ void __launch_bounds__(256) k257c(const float4 *values, int4 *buckets, const float *tree, int groups)
{
    __shared__ float local[256];
    local[threadIdx.x] = tree[threadIdx.x];
    __syncthreads();
    for (int g = blockIdx.x * blockDim.x + threadIdx.x; g < groups; g += gridDim.x * blockDim.x) {
        float4 v = values[g];
        buckets[g] = make_int4(bucket_tree(local, v.x), bucket_tree(local, v.y), bucket_tree(local, v.z), bucket_tree(local, v.w));
    }
}

constexpr int features = 64, heads = 16;
__constant__ float head_weights[features * heads];

__device__ inline float sigmoid(float x)
{
    return 1.0f / (1.0f + __expf(-x));
}

__global__ void __launch_bounds__(256) k257d(const float *x, const float *w, float *probability, int n)
{
    int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= n)
        return;
    float sum[heads] = {};
#pragma unroll 8
    for (int f = 0; f < features; f++) {
        float v = x[size_t(item) * features + f];
#pragma unroll
        for (int h = 0; h < heads; h++)
            sum[h] += v * w[f * heads + h];
    }
#pragma unroll
    for (int h = 0; h < heads; h++)
        probability[size_t(h) * n + item] = sigmoid(sum[h]);
}

__global__ void __launch_bounds__(256) k257e(const float *x, const float *w, float *probability, int n)
{
    int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= n)
        return;
    float sum[heads] = {};
#pragma unroll 8
    for (int f = 0; f < features; f++) {
        float v = x[size_t(f) * n + item];
#pragma unroll
        for (int h = 0; h < heads; h++)
            sum[h] += v * w[f * heads + h];
    }
#pragma unroll
    for (int h = 0; h < heads; h++)
        probability[size_t(h) * n + item] = sigmoid(sum[h]);
}

__global__ void __launch_bounds__(256) k257f(const float *x, float *probability, int n)
{
    int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= n)
        return;
    float sum[heads] = {};
#pragma unroll
    for (int f = 0; f < features; f++) {
        float v = x[size_t(f) * n + item];
#pragma unroll
        for (int h = 0; h < heads; h++)
            sum[h] += v * head_weights[f * heads + h];
    }
#pragma unroll
    for (int h = 0; h < heads; h++)
        probability[size_t(h) * n + item] = sigmoid(sum[h]);
}

__global__ void __launch_bounds__(256) k257g(const float *x, float *probability, int n)
{
    __shared__ __align__(16) float local[features * heads];
    for (int i = threadIdx.x; i < features * heads; i += 256)
        local[i] = head_weights[i];
    __syncthreads();
    int item = blockIdx.x * blockDim.x + threadIdx.x;
    if (item >= n)
        return;
    float sum[heads] = {};
#pragma unroll
    for (int f = 0; f < features; f++) {
        float v = x[size_t(f) * n + item];
#pragma unroll
        for (int h = 0; h < heads; h += 4) {
            float4 w = *reinterpret_cast<const float4 *>(&local[f * heads + h]);
            sum[h] += v * w.x;
            sum[h + 1] += v * w.y;
            sum[h + 2] += v * w.z;
            sum[h + 3] += v * w.w;
        }
    }
#pragma unroll
    for (int h = 0; h < heads; h++)
        probability[size_t(h) * n + item] = sigmoid(sum[h]);
}

int main()
{
    {
        const int n = 1 << 25, groups = n / 4;
        std::vector<float> sorted(edges), nodes(256);
        for (int i = 0; i < edges; i++)
            sorted[i] = float(std::tan(1.5 * ((i + 1) / 128.0 - 1)));
        for (int k = 1, i; k < 256; k++) {
            int level = 0;
            while (k >> (level + 1))
                level++;
            i = (2 * (k - (1 << level)) + 1) << (7 - level);
            nodes[k] = sorted[i - 1];
        }
        std::vector<float> host(n);
        for (int i = 0; i < n; i++)
            host[i] = sorted[scrambled(i, 1) % edges] + scrambled(i, 2) / 4294967296.0f * 0.05f;
        float *values = on_device(host), *edge = on_device(sorted), *tree = on_device(nodes);
        int *buckets = output<int>(n);
        const float4 *in = reinterpret_cast<const float4 *>(values);
        int4 *out = reinterpret_cast<int4 *>(buckets);
        k257a<<<132 * 8, 256>>>(in, out, edge, groups);
        MUST(cudaDeviceSynchronize());
        std::vector<int> want = on_host(buckets, n);
        for (int s = 0; s < 200000; s++) {
            int i = scrambled(s, 3) % n;
            if (want[i] != std::upper_bound(sorted.begin(), sorted.end(), host[i]) - sorted.begin()) {
                std::printf("k257a: value %d is wrong\n", i);
                return 2;
            }
        }
        check("k257a", buckets, want, 0);
        MUST(cudaMemset(buckets, 0xA5, 4 * size_t(n)));
        k257b<<<132 * 8, 256>>>(in, out, edge, groups);
        check("k257b", buckets, want, 0);
        MUST(cudaMemset(buckets, 0xA5, 4 * size_t(n)));
        k257c<<<132 * 8, 256>>>(in, out, tree, groups);
        check("k257c", buckets, want, 0);
        MUST(cudaFree(values));
        MUST(cudaFree(buckets));
    }
    const int n = 1 << 20;
    float *rows = input<float>(size_t(n) * features, 4, -1, 1), *w = input<float>(features * heads, 5, -0.5, 0.5);
    std::vector<float> host = on_host(rows, size_t(n) * features), weights = on_host(w, features * heads);
    std::vector<float> turned(host.size());
    for (int base = 0; base < n; base += 64)
        for (int f = 0; f < features; f++)
            for (int i = base; i < base + 64; i++)
                turned[size_t(f) * n + i] = host[size_t(i) * features + f];
    float *columns = on_device(turned), *probability = output<float>(size_t(n) * heads);
    MUST(cudaMemcpyToSymbol(head_weights, weights.data(), weights.size() * sizeof(float)));
    k257d<<<n / 256, 256>>>(rows, w, probability, n);
    MUST(cudaDeviceSynchronize());
    std::vector<float> want = on_host(probability, size_t(n) * heads);
    for (int s = 0; s < 20000; s++) {
        int i = scrambled(s, 6) % n, h = scrambled(s, 7) % heads;
        double sum = 0;
        for (int f = 0; f < features; f++)
            sum += double(host[size_t(i) * features + f]) * weights[f * heads + h];
        if (std::fabs(1 / (1 + std::exp(-sum)) - want[size_t(h) * n + i]) > 1e-4) {
            std::printf("k257d: item %d is wrong\n", i);
            return 2;
        }
    }
    check("k257d", probability, want, 0);
    MUST(cudaMemset(probability, 0xA5, want.size() * 4));
    k257e<<<n / 256, 256>>>(columns, w, probability, n);
    check("k257e", probability, want, 1e-5);
    MUST(cudaMemset(probability, 0xA5, want.size() * 4));
    k257f<<<n / 256, 256>>>(columns, probability, n);
    check("k257f", probability, want, 1e-5);
    MUST(cudaMemset(probability, 0xA5, want.size() * 4));
    k257g<<<n / 256, 256>>>(columns, probability, n);
    check("k257g", probability, want, 1e-5);
}
