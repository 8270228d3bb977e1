// Graphs and factorisation: scores of edges (dot products of node features), and normal matrices of alternating least squares.
#include "../harness.h"

constexpr int dims = 64;

__global__ void __launch_bounds__(256) k259a(const float *features, const int *from, const int *to, float *score, int edges)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges)
        return;
    const float *a = features + size_t(from[e]) * dims, *b = features + size_t(to[e]) * dims;
    float sum = 0;
#pragma unroll 8
    for (int d = 0; d < dims; d++)
        sum += a[d] * b[d];
    score[e] = sum;
}

__device__ inline float over_eight_lanes(float sum)
{
    sum += __shfl_xor_sync(~0u, sum, 4);
    sum += __shfl_xor_sync(~0u, sum, 2);
    return sum + __shfl_xor_sync(~0u, sum, 1);
}

// Eight lanes per edge.
__global__ void __launch_bounds__(256) k259b(const float4 *features, const int *from, const int *to, float *score, int edges)
{
    int e = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    const float4 *a = features + size_t(from[e]) * (dims / 4) + lane, *b = features + size_t(to[e]) * (dims / 4) + lane;
    float4 p = a[0], q = a[8], r = b[0], s = b[8];
    float sum = p.x * r.x + p.y * r.y + p.z * r.z + p.w * r.w + q.x * s.x + q.y * s.y + q.z * s.z + q.w * s.w;
    sum = over_eight_lanes(sum);
    if (lane == 0 && e < edges)
        score[e] = sum;
}

__device__ inline float dot_pair(unsigned a, unsigned b)
{
    float2 p = __half22float2(*reinterpret_cast<__half2 *>(&a)), q = __half22float2(*reinterpret_cast<__half2 *>(&b));
    return p.x * q.x + p.y * q.y;
}

__device__ inline float edge_score(const uint4 *features, int from, int to, int lane)
{
    uint4 p = features[size_t(from) * (dims / 8) + lane], r = features[size_t(to) * (dims / 8) + lane];
    return over_eight_lanes(dot_pair(p.x, r.x) + dot_pair(p.y, r.y) + dot_pair(p.z, r.z) + dot_pair(p.w, r.w));
}

__global__ void __launch_bounds__(256) k259c(const uint4 *features, const int *from, const int *to, float *score, int edges)
{
    int e = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = edge_score(features, from[e], to[e], lane);
    if (lane == 0 && e < edges)
        score[e] = sum;
}

__global__ void __launch_bounds__(128) k259d(const uint4 *features, const int *from, const int *to, float *score, int edges)
{
    int e = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
    float sum = edge_score(features, from[e], to[e], lane);
    if (lane == 0 && e < edges)
        score[e] = sum;
}

// Per user: sum over the last 16 items of v v^T, rank 64.
constexpr int rank = 64, history = 16;

__global__ void __launch_bounds__(256) k259e(const float *vectors, const int *items, float *matrices)
{
    const int *mine = items + size_t(blockIdx.x) * history;
    float *matrix = matrices + size_t(blockIdx.x) * rank * rank;
    for (int o = threadIdx.x; o < rank * rank; o += 256) {
        int i = o / rank, j = o % rank;
        float sum = 0;
        for (int n = 0; n < history; n++)
            sum += vectors[size_t(mine[n]) * rank + i] * vectors[size_t(mine[n]) * rank + j];
        matrix[o] = sum;
    }
}

__global__ void __launch_bounds__(256) k259f(const float *vectors, const int *items, float *matrices)
{
    __shared__ float v[history][rank];
    const int *mine = items + size_t(blockIdx.x) * history;
    float *matrix = matrices + size_t(blockIdx.x) * rank * rank;
    for (int k = threadIdx.x; k < history * rank; k += 256)
        v[k / rank][k % rank] = vectors[size_t(mine[k / rank]) * rank + k % rank];
    __syncthreads();
    for (int o = threadIdx.x; o < rank * rank; o += 256) {
        int i = o / rank, j = o % rank;
        float sum = 0;
        for (int n = 0; n < history; n++)
            sum += v[n][i] * v[n][j];
        matrix[o] = sum;
    }
}

__global__ void __launch_bounds__(256) k259g(const float *vectors, const int *items, float *matrices)
{
    __shared__ __align__(16) float v[history][rank];
    const int *mine = items + size_t(blockIdx.x) * history;
    float *matrix = matrices + size_t(blockIdx.x) * rank * rank;
    for (int k = threadIdx.x; k < history * rank; k += 256)
        v[k / rank][k % rank] = vectors[size_t(mine[k / rank]) * rank + k % rank];
    __syncthreads();
    int i = threadIdx.x / 16 * 4, j = threadIdx.x % 16 * 4;
    float4 sum[4] = {};
#pragma unroll
    for (int n = 0; n < history; n++) {
        float4 a = *reinterpret_cast<const float4 *>(&v[n][i]), b = *reinterpret_cast<const float4 *>(&v[n][j]);
        float rows[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int r = 0; r < 4; r++) {
            sum[r].x += rows[r] * b.x;
            sum[r].y += rows[r] * b.y;
            sum[r].z += rows[r] * b.z;
            sum[r].w += rows[r] * b.w;
        }
    }
#pragma unroll
    for (int r = 0; r < 4; r++)
        *reinterpret_cast<float4 *>(matrix + (i + r) * rank + j) = sum[r];
}

int main()
{
    {
        const int nodes = 1 << 20, edges = 1 << 22;
        float *features = input<float>(size_t(nodes) * dims, 1, -1, 1), *score = output<float>(edges);
        // The same numbers as halves: rounded from the same scrambled values.
        __half *halves = input<__half>(size_t(nodes) * dims, 1, -1, 1);
        int *from = input<int>(edges, 2, 0, nodes), *to = input<int>(edges, 3, 0, nodes);
        const float4 *wide = reinterpret_cast<const float4 *>(features);
        const uint4 *packed = reinterpret_cast<const uint4 *>(halves);
        k259a<<<edges / 256, 256>>>(features, from, to, score, edges);
        MUST(cudaDeviceSynchronize());
        std::vector<float> want = on_host(score, edges), host = on_host(features, size_t(nodes) * dims);
        std::vector<int> hf = on_host(from, edges), ht = on_host(to, edges);
        for (int s = 0; s < 50000; s++) {
            int e = scrambled(s, 4) % edges;
            double sum = 0;
            for (int d = 0; d < dims; d++)
                sum += double(host[size_t(hf[e]) * dims + d]) * host[size_t(ht[e]) * dims + d];
            if (std::fabs(sum - want[e]) > 1e-4) {
                std::printf("k259a: edge %d is wrong\n", e);
                return 2;
            }
        }
        check("k259a", score, want, 0);
        MUST(cudaMemset(score, 0xA5, 4 * size_t(edges)));
        k259b<<<edges / 32, 256>>>(wide, from, to, score, edges);
        check("k259b", score, want, 1e-4);
        MUST(cudaMemset(score, 0xA5, 4 * size_t(edges)));
        k259c<<<edges / 32, 256>>>(packed, from, to, score, edges);
        check("k259c", score, want, 1e-2);
        MUST(cudaMemset(score, 0xA5, 4 * size_t(edges)));
        k259d<<<edges / 16, 128>>>(packed, from, to, score, edges);
        check("k259d", score, want, 1e-2);
        for (void *p : {static_cast<void *>(features), static_cast<void *>(halves), static_cast<void *>(score)})
            MUST(cudaFree(p));
    }
    const int users = 16384, items = 50000;
    float *vectors = input<float>(size_t(items) * rank, 5, -1, 1), *matrices = output<float>(size_t(users) * rank * rank);
    int *histories = input<int>(users * history, 6, 0, items);
    k259e<<<users, 256>>>(vectors, histories, matrices);
    MUST(cudaDeviceSynchronize());
    std::vector<float> want = on_host(matrices, size_t(users) * rank * rank), host = on_host(vectors, size_t(items) * rank);
    std::vector<int> hh = on_host(histories, users * history);
    for (int s = 0; s < 100000; s++) {
        int u = scrambled(s, 7) % users, i = scrambled(s, 8) % rank, j = scrambled(s, 9) % rank;
        double sum = 0;
        for (int n = 0; n < history; n++) {
            const float *v = &host[size_t(hh[u * history + n]) * rank];
            sum += double(v[i]) * v[j];
        }
        if (std::fabs(sum - want[(size_t(u) * rank + i) * rank + j]) > 1e-4) {
            std::printf("k259e: user %d is wrong\n", u);
            return 2;
        }
    }
    check("k259e", matrices, want, 0);
    MUST(cudaMemset(matrices, 0xA5, want.size() * 4));
    k259f<<<users, 256>>>(vectors, histories, matrices);
    check("k259f", matrices, want, 1e-5);
    MUST(cudaMemset(matrices, 0xA5, want.size() * 4));
    k259g<<<users, 256>>>(vectors, histories, matrices);
    check("k259g", matrices, want, 1e-5);
}
