// A Gaussian kernel density estimate, the two best experts of 64 for every token, and nearest-neighbour enlargement of
// feature maps by two.
#include "../harness.h"

#include <algorithm>
#include <functional>

// score[i] = sum over j of exp(-((q[i] - x[j]) / h)^2 / 2)
__global__ void k173a(float *score, const float *q, const float *x, int queries, int points, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries)
        return;
    float sum = 0.0f;
    for (int j = 0; j < points; j++) {
        float u = (q[i] - x[j]) / h;
        sum += expf(-u * u / 2.0f);
    }
    score[i] = sum;
}

__global__ void k173b(float *score, const float *q, const float *x, int queries, int points, float h)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries)
        return;
    float at = q[i], sum = 0.0f;
    float scale = -0.5f / (h * h);
    for (int j = 0; j < points; j++) {
        float d = at - x[j];
        sum += expf(d * d * scale);
    }
    score[i] = sum;
}

__device__ inline float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// s is sqrt(log2(e) / 2) / h; the points x are already multiplied by it.
__global__ void k173c(float *__restrict__ score, const float *__restrict__ q, const float *__restrict__ x, int queries,
                      int points, float s)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= queries)
        return;
    float at = q[i] * s, sum = 0.0f;
#pragma unroll 8
    for (int j = 0; j < points; j++) {
        float d = at - x[j];
        sum += power_of_two(-d * d);
    }
    score[i] = sum;
}

__global__ void k173d(float *__restrict__ score, const float *__restrict__ q, const float *__restrict__ x, int queries,
                      int points, float s)
{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float at = i < queries ? q[i] * s : 0.0f, sum = 0.0f;
    for (int base = 0; base < points; base += 256) {
        tile[threadIdx.x] = base + threadIdx.x < points ? x[base + threadIdx.x] : 1e18f;
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 256; j++) {
            float d = at - tile[j];
            sum += power_of_two(-d * d);
        }
        __syncthreads();
    }
    if (i < queries)
        score[i] = sum;
}

struct Best {
    float first, second;
    int i, j;
};

__device__ inline void insert(Best &b, float v, int at)
{
    bool top = v > b.first, next = v > b.second;
    b.second = top ? b.first : next ? v : b.second;
    b.j = top ? b.i : next ? at : b.j;
    b.first = top ? v : b.first;
    b.i = top ? at : b.i;
}

__device__ inline bool ahead(float v, int at, float w, int other)
{
    return v > w || (v == w && at < other);
}

// The best two of the lanes whose numbers differ in the bits below "lanes".
__device__ inline void merge(Best &b, int lanes)
{
    for (int step = 1; step < lanes; step *= 2) {
        float first = __shfl_xor_sync(0xffffffffu, b.first, step), second = __shfl_xor_sync(0xffffffffu, b.second, step);
        int i = __shfl_xor_sync(0xffffffffu, b.i, step), j = __shfl_xor_sync(0xffffffffu, b.j, step);
        if (ahead(first, i, b.first, b.i)) {
            bool mine = ahead(b.first, b.i, second, j);
            b.second = mine ? b.first : second;
            b.j = mine ? b.i : j;
            b.first = first;
            b.i = i;
        } else if (ahead(first, i, b.second, b.j)) {
            b.second = first;
            b.j = i;
        }
    }
}

__device__ inline void store(float2 *weight, int2 *expert, int token, const Best &b)
{
    float e = expf(b.second - b.first);
    weight[token] = make_float2(1.0f / (1.0f + e), e / (1.0f + e));
    expert[token] = make_int2(b.i, b.j);
}

const int EXPERTS = 64;

__global__ void k173e(float2 *weight, int2 *expert, const float *logits, int tokens)
{
    int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= tokens)
        return;
    const float *row = logits + (size_t)token * EXPERTS;
    Best b = {-INFINITY, -INFINITY, 0, 0};
    for (int k = 0; k < EXPERTS; k++)
        insert(b, row[k], k);
    store(weight, expert, token, b);
}

__global__ void k173f(float2 *weight, int2 *expert, const float *logits, int tokens)
{
    int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (token >= tokens)
        return;
    const float *row = logits + (size_t)token * EXPERTS;
    Best b = {-INFINITY, -INFINITY, EXPERTS, EXPERTS};
    for (int k = lane; k < EXPERTS; k += 32)
        insert(b, row[k], k);
    merge(b, 32);
    if (lane == 0)
        store(weight, expert, token, b);
}

__global__ void k173g(float2 *__restrict__ weight, int2 *__restrict__ expert, const float *__restrict__ logits, int tokens)
{
    int token = (blockIdx.x * blockDim.x + threadIdx.x) / 4, lane = threadIdx.x % 4;
    if (token >= tokens)
        return;
    const float4 *row = reinterpret_cast<const float4 *>(logits + (size_t)token * EXPERTS);
    float4 v[EXPERTS / 16];
#pragma unroll
    for (int k = 0; k < EXPERTS / 16; k++)
        v[k] = row[k * 4 + lane];
    Best b = {-INFINITY, -INFINITY, EXPERTS, EXPERTS};
#pragma unroll
    for (int k = 0; k < EXPERTS / 16; k++) {
        int at = (k * 4 + lane) * 4;
        insert(b, v[k].x, at);
        insert(b, v[k].y, at + 1);
        insert(b, v[k].z, at + 2);
        insert(b, v[k].w, at + 3);
    }
    merge(b, 4);
    if (lane == 0)
        store(weight, expert, token, b);
}

__global__ void k173h(float *out, const float *in, int planes, int h, int w, int oh, int ow)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * oh * ow)
        return;
    int x = i % ow;
    int y = i / ow % oh;
    int plane = i / ow / oh;
    int sx = x * w / ow;
    int sy = y * h / oh;
    out[i] = in[(plane * h + sy) * w + sx];
}

__global__ void k173i(float *out, const float *in, int h, int w)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y, plane = blockIdx.z;
    if (x < 2 * w)
        out[(plane * 2 * h + y) * 2 * w + x] = in[(plane * h + (y >> 1)) * w + (x >> 1)];
}

// A thread takes two pixels and writes four in each of two rows.
__global__ void k173j(float *__restrict__ out, const float *__restrict__ in, int h, int w)
{
    int x = threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y, plane = blockIdx.y;
    if (y >= h || x >= w / 2)
        return;
    float2 v = reinterpret_cast<const float2 *>(in + (size_t)(plane * h + y) * w)[x];
    float4 wide = make_float4(v.x, v.x, v.y, v.y);
    float4 *row = reinterpret_cast<float4 *>(out + (size_t)(plane * h + y) * 4 * w);
    row[x] = wide;
    row[w / 2 + x] = wide;
}

__global__ void fill_joint(float4 *joint, const float2 *weight, const int2 *expert, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        joint[i] = make_float4(weight[i].x, weight[i].y, (float)expert[i].x, (float)expert[i].y);
}

__global__ void fill_scaled(float *y, const float *x, float s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * s;
}

int main()
{
    const int queries = 256 << 10, points = 4096;
    const float h = 1.7f, s = std::sqrt(0.5f * 1.44269504f) / h;
    float *q = input<float>(queries, 1731, 0.0, 100.0), *x = input<float>(points, 1732, 0.0, 100.0);
    float *scaled = output<float>(points), *score = output<float>(queries);
    fill_scaled<<<points / 256, 256>>>(scaled, x, s, points);
    std::vector<float> hq = on_host(q, queries), hx = on_host(x, points);
    // Every 1021st query, on the host; the later kernels are compared with the first.
    const int every = 1021, some = (queries - 1) / every + 1;
    float *picked = output<float>(some);
    std::vector<float> want(some);
    for (int i = 0; i < some; i++) {
        double sum = 0;
        for (int j = 0; j < points; j++) {
            double u = (double(hq[(size_t)i * every]) - hx[j]) / h;
            sum += std::exp(-u * u / 2);
        }
        want[i] = float(sum);
    }
    std::vector<float> first;
    auto density = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(score, 0xA5, queries * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t one = sizeof(float);
        if (first.empty()) {
            MUST(cudaMemcpy2D(picked, one, score, every * one, one, some, cudaMemcpyDeviceToDevice));
            check(name, picked, want, 1e-4);
            first = on_host(score, queries);
        } else
            check(name, score, first, 2e-4);
    };
    density("k173a", [&] { k173a<<<queries / 256, 256>>>(score, q, x, queries, points, h); });
    density("k173b", [&] { k173b<<<queries / 256, 256>>>(score, q, x, queries, points, h); });
    density("k173c", [&] { k173c<<<queries / 256, 256>>>(score, q, scaled, queries, points, s); });
    density("k173d", [&] { k173d<<<queries / 256, 256>>>(score, q, scaled, queries, points, s); });

    const int tokens = 1 << 20;
    float *logits = input<float>((size_t)tokens * EXPERTS, 1733, -4.0, 4.0);
    float2 *weight = output<float2>(tokens);
    int2 *expert = output<int2>(tokens);
    float4 *joint = output<float4>(tokens);
    std::vector<float> hl = on_host(logits, (size_t)tokens * EXPERTS), choice((size_t)tokens * 4);
    for (int t = 0; t < tokens; t++) {
        const float *row = &hl[(size_t)t * EXPERTS];
        int i = 0, j = -1;
        for (int k = 1; k < EXPERTS; k++)
            if (row[k] > row[i]) {
                j = i;
                i = k;
            } else if (j < 0 || row[k] > row[j])
                j = k;
        float e = std::exp(row[j] - row[i]);
        choice[(size_t)t * 4] = 1 / (1 + e);
        choice[(size_t)t * 4 + 1] = e / (1 + e);
        choice[(size_t)t * 4 + 2] = float(i);
        choice[(size_t)t * 4 + 3] = float(j);
    }
    auto gate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(weight, 0xA5, tokens * sizeof(float2)));
        MUST(cudaMemset(expert, 0xA5, tokens * sizeof(int2)));
        launch();
        MUST(cudaGetLastError());
        fill_joint<<<tokens / 256, 256>>>(joint, weight, expert, tokens);
        check(name, reinterpret_cast<float *>(joint), choice, 1e-5);
    };
    gate("k173e", [&] { k173e<<<tokens / 256, 256>>>(weight, expert, logits, tokens); });
    gate("k173f", [&] { k173f<<<tokens / 8, 256>>>(weight, expert, logits, tokens); });
    gate("k173g", [&] { k173g<<<tokens / 64, 256>>>(weight, expert, logits, tokens); });

    const int planes = 256, rows = 256, columns = 256;
    const size_t pixels = (size_t)planes * rows * columns;
    float *map = input<float>(pixels, 1734, -1.0, 1.0), *large = output<float>(pixels * 4);
    std::vector<float> hm = on_host(map, pixels), enlarged(pixels * 4);
    for (int r = 0; r < planes * rows * 2; r++)
        for (int c = 0; c < columns * 2; c++)
            enlarged[(size_t)r * columns * 2 + c] = hm[(size_t)(r / 2) * columns + c / 2];
    auto enlarge = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(large, 0xA5, pixels * 4 * sizeof(float)));
        launch();
        check(name, large, enlarged, 0.0);
    };
    enlarge("k173h", [&] {
        k173h<<<(int)(pixels * 4 / 256), 256>>>(large, map, planes, rows, columns, 2 * rows, 2 * columns);
    });
    dim3 by_row(columns * 2 / 256, rows * 2, planes), pairs(columns / 2, 2), by_pair(rows / 2, planes);
    enlarge("k173i", [&] { k173i<<<by_row, 256>>>(large, map, rows, columns); });
    enlarge("k173j", [&] { k173j<<<by_pair, pairs>>>(large, map, rows, columns); });
    return 0;
}
