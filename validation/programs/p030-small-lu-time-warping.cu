// LU factors of many 16 x 16 matrices, nearest neighbours, and dynamic time warping against a template.
#include "../harness.h"

const int D = 16;

// One matrix per block, one entry per thread; L (unit diagonal) and U replace A.
__global__ void k30a(const float *A, float *LU)
{
    __shared__ float m[D][D + 1];
    int j = threadIdx.x, i = threadIdx.y;
    size_t at = (size_t)blockIdx.x * D * D + i * D + j;
    m[i][j] = A[at];
    __syncthreads();
    for (int k = 0; k < D - 1; k++) {
        if (j == k && i > k)
            m[i][k] /= m[k][k];
        __syncthreads();
        if (i > k && j > k)
            m[i][j] -= m[i][k] * m[k][j];
        __syncthreads();
    }
    LU[at] = m[i][j];
}

// Two matrices per warp, one column per thread.
__global__ void k30b(const float *A, float *LU, int matrices)
{
    int j = threadIdx.x % D;
    int which = (blockIdx.x * blockDim.x + threadIdx.x) / D;
    size_t at = (size_t)min(which, matrices - 1) * D * D + j;
    float column[D];
#pragma unroll
    for (int i = 0; i < D; i++)
        column[i] = A[at + i * D];
#pragma unroll
    for (int k = 0; k < D - 1; k++) {
        float inverse = 1.0f / column[k];
#pragma unroll
        for (int i = k + 1; i < D; i++) {
            float factor = __shfl_sync(0xffffffffu, column[i] * inverse, k, D);
            if (j == k)
                column[i] = factor;
            else if (j > k)
                column[i] -= factor * column[k];
        }
    }
    if (which < matrices)
#pragma unroll
        for (int i = 0; i < D; i++)
            LU[at + i * D] = column[i];
}

// The nearest of the points first to last - 1: the squared distance in the upper, the number in the lower half.
__device__ unsigned long long nearest(const float4 *points, int first, int last, float3 q)
{
    __shared__ float4 tile[256];
    float best = 1e30f;
    int number = -1;
    for (int base = first; base < last; base += 256) {
        tile[threadIdx.x] = points[base + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int p = 0; p < 256; p++) {
            float dx = tile[p].x - q.x, dy = tile[p].y - q.y, dz = tile[p].z - q.z;
            float d = dx * dx + dy * dy + dz * dz;
            if (d < best) {
                best = d;
                number = base + p;
            }
        }
        __syncthreads();
    }
    return (unsigned long long)__float_as_uint(best) << 32 | (unsigned)number;
}

// The number of points is a multiple of 256.
__global__ void k30c(const float4 *points, int count, const float *queries, unsigned long long *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int own = min(i, n - 1);
    float3 q = make_float3(queries[own], queries[n + own], queries[2 * n + own]);
    unsigned long long found = nearest(points, 0, count, q);
    if (i < n)
        result[i] = found;
}

__global__ void k30d(const float4 *points, int part, const float *queries, unsigned long long *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int own = min(i, n - 1);
    float3 q = make_float3(queries[own], queries[n + own], queries[2 * n + own]);
    unsigned long long found = nearest(points, blockIdx.y * part, (blockIdx.y + 1) * part, q);
    if (i < n)
        atomicMin(&result[i], found);
}

#define MAX_SAMPLES 400
__constant__ int pattern[MAX_SAMPLES];

// Each thread warps its own series, series[i * count + thread], onto the pattern.
__device__ int warp_distance(const unsigned char *series, int samples, int count, int own, unsigned short *row)
{
    for (int j = 0; j < samples; j++)
        row[j * blockDim.x] = 60000;
    int last = 0;
    for (int i = 0; i < samples; i++) {
        int s = series[(size_t)i * count + own];
        int diagonal = i == 0 ? 0 : 60000, left = 60000;
        for (int j = 0; j < samples; j++) {
            int up = row[j * blockDim.x];
            left = min(min(left, up), diagonal) + abs(s - pattern[j]);
            row[j * blockDim.x] = left;
            diagonal = up;
        }
        last = left;
    }
    return last;
}

__global__ void k30e(const unsigned char *series, int samples, int count, int *distance)
{
    extern __shared__ unsigned short rows[];
    int own = blockIdx.x * blockDim.x + threadIdx.x;
    if (own < count)
        distance[own] = warp_distance(series, samples, count, own, rows + threadIdx.x);
}

__global__ void k30f(const unsigned char *series, int samples, int count, int *distance)
{
    extern __shared__ unsigned short rows[];
    int own = blockIdx.x * blockDim.x + threadIdx.x;
    if (own < count)
        distance[own] = warp_distance(series, samples, count, own, rows + threadIdx.x);
}

int main()
{
    const int matrices = 160000;
    const size_t size = (size_t)matrices * D * D;
    std::vector<float> A(size);
    for (size_t e = 0; e < size; e++)
        A[e] = scrambled(e, 301) / 4294967296.0f - 0.5f + (e % D == e / D % D ? 10.0f : 0.0f);
    float *a = on_device(A), *lu = output<float>(size);
    k30a<<<matrices, dim3(D, D)>>>(a, lu);
    std::vector<float> first = on_host(lu, size), got, want;
    for (size_t b = 0; b < matrices; b += 401) {
        double m[D][D];
        for (int e = 0; e < D * D; e++)
            m[e / D][e % D] = A[b * D * D + e];
        for (int k = 0; k < D; k++)
            for (int i = k + 1; i < D; i++) {
                m[i][k] /= m[k][k];
                for (int j = k + 1; j < D; j++)
                    m[i][j] -= m[i][k] * m[k][j];
            }
        for (int e = 0; e < D * D; e++) {
            got.push_back(first[b * D * D + e]);
            want.push_back(float(m[e / D][e % D]));
        }
    }
    check("k30a", on_device(got), want, 1e-4);

    lu = output<float>(size);
    k30b<<<(matrices + 15) / 16, 256>>>(a, lu, matrices);
    check("k30b", lu, first, 1e-4);

    const int count = 16384, n = 20000;
    float *points = input<float>(4 * count, 302, -1.0, 1.0);
    float *queries = input<float>(3 * n, 303, -1.0, 1.0);
    std::vector<float> hp = on_host(points, 4 * count), hq = on_host(queries, 3 * n);
    unsigned long long *result = output<unsigned long long>(n);
    auto distances = [&]() {
        std::vector<unsigned long long> packed = on_host(result, n);
        std::vector<float> d(n);
        for (int i = 0; i < n; i++) {
            int p = int(packed[i] & 0xffffffffu);
            if (p < 0 || p >= count) {
                d[i] = -1.0f;
                continue;
            }
            float dx = hp[4 * p] - hq[i], dy = hp[4 * p + 1] - hq[n + i], dz = hp[4 * p + 2] - hq[2 * n + i];
            d[i] = dx * dx + dy * dy + dz * dz;
        }
        return d;
    };
    k30c<<<(n + 255) / 256, 256>>>(reinterpret_cast<float4 *>(points), count, queries, result, n);
    std::vector<float> all = distances();
    got.clear();
    want.clear();
    for (int i = 0; i < n; i += 67) {
        float best = 1e30f;
        for (int p = 0; p < count; p++) {
            float dx = hp[4 * p] - hq[i], dy = hp[4 * p + 1] - hq[n + i], dz = hp[4 * p + 2] - hq[2 * n + i];
            best = std::fmin(best, dx * dx + dy * dy + dz * dz);
        }
        got.push_back(all[i]);
        want.push_back(best);
    }
    check("k30c", on_device(got), want, 1e-5);

    const int parts = 8;
    MUST(cudaMemset(result, 0xFF, n * sizeof(unsigned long long)));
    k30d<<<dim3((n + 255) / 256, parts), 256>>>(reinterpret_cast<float4 *>(points), count / parts, queries, result, n);
    check("k30d", on_device(distances()), all, 1e-5);

    const int samples = 96, series = 100000, threads = 128;
    std::vector<int> shape(MAX_SAMPLES);
    for (int j = 0; j < MAX_SAMPLES; j++)
        shape[j] = int(50.0 + 45.0 * std::sin(0.13 * j));
    MUST(cudaMemcpyToSymbol(pattern, shape.data(), MAX_SAMPLES * sizeof(int)));
    unsigned char *recorded = input<unsigned char>((size_t)samples * series, 304, 0, 100);
    std::vector<unsigned char> hr = on_host(recorded, (size_t)samples * series);
    int *distance = output<int>(series);
    size_t room = MAX_SAMPLES * threads * sizeof(unsigned short);
    MUST(cudaFuncSetAttribute(k30e, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room));
    k30e<<<(series + threads - 1) / threads, threads, room>>>(recorded, samples, series, distance);
    std::vector<int> firsts = on_host(distance, series), some, right;
    for (int own = 0; own < series; own += 199) {
        std::vector<int> row(samples, 60000);
        for (int i = 0; i < samples; i++) {
            int diagonal = i == 0 ? 0 : 60000, left = 60000;
            for (int j = 0; j < samples; j++) {
                int up = row[j];
                left = std::min(std::min(left, up), diagonal) +
                       std::abs(int(hr[(size_t)i * series + own]) - shape[j]);
                row[j] = left;
                diagonal = up;
            }
        }
        some.push_back(firsts[own]);
        right.push_back(row[samples - 1]);
    }
    check("k30e", on_device(some), right, 0.0);

    distance = output<int>(series);
    room = samples * threads * sizeof(unsigned short);
    k30f<<<(series + threads - 1) / threads, threads, room>>>(recorded, samples, series, distance);
    check("k30f", distance, firsts, 0.0);
    return 0;
}
