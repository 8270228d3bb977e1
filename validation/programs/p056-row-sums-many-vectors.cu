// Sums of the rows of a matrix, and the products of one matrix with many vectors.
#include "../harness.h"

const int BLOCK = 256;

__global__ void k56a(const float *a, float *sum, size_t n)
{
    size_t row = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (row < n) {
        float s = 0.0f;
        for (size_t i = 0; i < n; i++)
            s += a[row * n + i];
        sum[row] = s;
    }
}

__global__ void k56b(const float *a, float *sum, size_t n)
{
    __shared__ float part[BLOCK];
    size_t row = blockIdx.x;
    int t = threadIdx.x;
    part[t] = 0.0f;
    for (size_t i = t; i < n; i += blockDim.x)
        part[t] += a[row * n + i];
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s)
            part[t] += part[t + s];
    }
    if (t == 0)
        sum[row] = part[0];
}

__device__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    return v;
}

// The sum over the block, in thread 0.
__device__ float block_sum(float v)
{
    __shared__ float part[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < (int)blockDim.x / 32 ? part[lane] : 0.0f;
        v = warp_sum(v);
    }
    return v;
}

__global__ void k56c(const float *a, float *sum, size_t n)
{
    size_t row = blockIdx.x;
    float s = 0.0f;
    for (size_t i = threadIdx.x; i < n; i += blockDim.x)
        s += a[row * n + i];
    s = block_sum(s);
    if (threadIdx.x == 0)
        sum[row] = s;
}

__global__ void k56d(const float *a, float *sum, size_t n)
{
    size_t row = blockIdx.x;
    const float4 *line = reinterpret_cast<const float4 *>(a + row * n);
    float s = 0.0f;
    for (size_t i = threadIdx.x; i < n / 4; i += blockDim.x) {
        float4 v = line[i];
        s += v.x + v.y + v.z + v.w;
    }
    s = block_sum(s);
    if (threadIdx.x == 0)
        sum[row] = s;
}

const int L = 1024;

// y[i][k] = sum over j of m[i][j] x[k][j], i and j below L, k below sets.
__global__ void k56e(const float *__restrict__ m, const float *__restrict__ x, float *__restrict__ y, int sets)
{
    __shared__ float part[L];
    int id = threadIdx.y * 32 + threadIdx.x;
    int k = blockIdx.x;
    float mine = x[k * L + id];
    for (int i = 0; i < L; i++) {
        __syncthreads();
        part[id] = mine * m[i * L + id];
        for (int s = L / 2; s > 0; s /= 2) {
            __syncthreads();
            if (id < s)
                part[id] += part[id + s];
        }
        if (id == 0)
            y[i * sets + k] = part[0];
    }
}

__global__ void k56f(const float *__restrict__ m, const float *__restrict__ x, float *__restrict__ y, int sets)
{
    __shared__ float part[32];
    int lane = threadIdx.x, warp = threadIdx.y;
    int id = warp * 32 + lane;
    int k = blockIdx.x;
    float mine = x[k * L + id];
    for (int i = 0; i < L; i++) {
        float v = warp_sum(mine * m[i * L + id]);
        if (lane == 0)
            part[warp] = v;
        __syncthreads();
        if (warp == 0) {
            v = warp_sum(part[lane]);
            if (lane == 0)
                y[i * sets + k] = v;
        }
        __syncthreads();
    }
}

__global__ void k56g(const float *__restrict__ m, const float *__restrict__ x, float *__restrict__ y, int sets)
{
    __shared__ float sx[L];
    int lane = threadIdx.x, warp = threadIdx.y;
    int id = warp * 32 + lane;
    int k = blockIdx.x;
    sx[id] = x[k * L + id];
    __syncthreads();
    for (int i = warp; i < L; i += 32) {
        float v = 0.0f;
        for (int j = lane; j < L; j += 32)
            v += m[i * L + j] * sx[j];
        v = warp_sum(v);
        if (lane == 0)
            y[i * sets + k] = v;
    }
}

const int SETS = 4;

// sets is a multiple of SETS.
__global__ void k56h(const float *__restrict__ m, const float *__restrict__ x, float *__restrict__ y, int sets)
{
    __shared__ float sx[SETS][L];
    int lane = threadIdx.x, warp = threadIdx.y;
    int id = warp * 32 + lane;
    int k = blockIdx.x * SETS;
    for (int q = 0; q < SETS; q++)
        sx[q][id] = x[(k + q) * L + id];
    __syncthreads();
    for (int i = warp; i < L; i += 32) {
        float v[SETS] = {};
        for (int j = lane; j < L; j += 32) {
            float w = m[i * L + j];
#pragma unroll
            for (int q = 0; q < SETS; q++)
                v[q] += w * sx[q][j];
        }
#pragma unroll
        for (int q = 0; q < SETS; q++) {
            v[q] = warp_sum(v[q]);
            if (lane == 0)
                y[i * sets + k + q] = v[q];
        }
    }
}

int main()
{
    const size_t n = 16384;
    float *a = input<float>(n * n, 561, 0.0, 1.0);
    float *sum = output<float>(n);
    std::vector<float> want;

    // Every 67th row on the host, and then all rows against the first kernel.
    k56a<<<n / BLOCK, BLOCK>>>(a, sum, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    {
        std::vector<float> all = on_host(sum, n), got;
        for (size_t r = 0; r < n; r += 67) {
            std::vector<float> v = on_host(a + r * n, n);
            double s = 0.0;
            for (float e : v)
                s += e;
            want.push_back(float(s));
            got.push_back(all[r]);
        }
        check("k56a", on_device(got), want, 2e-4);
        want = all;
    }

    MUST(cudaMemset(sum, 0xA5, n * sizeof(float)));
    k56b<<<n, BLOCK>>>(a, sum, n);
    check("k56b", sum, want, 2e-4);

    MUST(cudaMemset(sum, 0xA5, n * sizeof(float)));
    k56c<<<n, BLOCK>>>(a, sum, n);
    check("k56c", sum, want, 2e-4);

    MUST(cudaMemset(sum, 0xA5, n * sizeof(float)));
    k56d<<<n, BLOCK>>>(a, sum, n);
    check("k56d", sum, want, 2e-4);

    const int sets = 1024;
    const size_t out = (size_t)L * sets;
    float *m = input<float>((size_t)L * L, 562, 0.0, 1.0);
    float *x = input<float>((size_t)L * sets, 563, 0.0, 1.0);
    float *y = output<float>(out);
    dim3 square(32, 32);

    // Every 73rd vector on the host, and then all against the first kernel.
    k56e<<<sets, square>>>(m, x, y, sets);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    {
        std::vector<float> all = on_host(y, out), got, hm = on_host(m, (size_t)L * L), hx = on_host(x, (size_t)L * sets);
        want.clear();
        for (int k = 0; k < sets; k += 73)
            for (int i = 0; i < L; i++) {
                double s = 0.0;
                for (int j = 0; j < L; j++)
                    s += double(hm[(size_t)i * L + j]) * hx[(size_t)k * L + j];
                want.push_back(float(s));
                got.push_back(all[(size_t)i * sets + k]);
            }
        check("k56e", on_device(got), want, 1e-4);
        want = all;
    }

    MUST(cudaMemset(y, 0xA5, out * sizeof(float)));
    k56f<<<sets, square>>>(m, x, y, sets);
    check("k56f", y, want, 1e-4);

    MUST(cudaMemset(y, 0xA5, out * sizeof(float)));
    k56g<<<sets, square>>>(m, x, y, sets);
    check("k56g", y, want, 1e-4);

    MUST(cudaMemset(y, 0xA5, out * sizeof(float)));
    k56h<<<sets / SETS, square>>>(m, x, y, sets);
    check("k56h", y, want, 1e-4);
    return 0;
}
