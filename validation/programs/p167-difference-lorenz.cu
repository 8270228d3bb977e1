// Largest difference of two arrays (the test of convergence of an iteration), and many Lorenz systems integrated by a
// Runge-Kutta method in double precision.
#include "../harness.h"

#include <algorithm>
#include <functional>

const int BLOCK = 256;

// Each thread takes the next chunk of the arrays; a result per block.
__global__ void k167a(float *largest, const float *a, const float *b, int chunk)
{
    __shared__ float s[BLOCK];
    int t = threadIdx.x;
    int first = (blockIdx.x * blockDim.x + t) * chunk;
    float m = 0.0f;
    for (int i = first; i < first + chunk; i++)
        m = fmaxf(m, fabsf(a[i] - b[i]));
    s[t] = m;
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0)
            s[t] = fmaxf(s[t], s[t + stride]);
        __syncthreads();
    }
    if (t == 0)
        largest[blockIdx.x] = s[0];
}

__global__ void k167b(float *largest, const float *a, const float *b)
{
    __shared__ float s[BLOCK];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    s[t] = fabsf(a[i] - b[i]);
    __syncthreads();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (t % (2 * stride) == 0)
            s[t] = fmaxf(s[t], s[t + stride]);
        __syncthreads();
    }
    if (t == 0)
        largest[blockIdx.x] = s[0];
}

__device__ __forceinline__ float block_max(float m)
{
    __shared__ float of_warp[BLOCK / 32];
    int t = threadIdx.x;
    for (int d = 16; d > 0; d /= 2)
        m = fmaxf(m, __shfl_down_sync(0xFFFFFFFFu, m, d));
    if (t % 32 == 0)
        of_warp[t / 32] = m;
    __syncthreads();
    if (t < 32) {
        m = t < BLOCK / 32 ? of_warp[t] : 0.0f;
        for (int d = BLOCK / 64; d > 0; d /= 2)
            m = fmaxf(m, __shfl_down_sync(0xFFFFFFFFu, m, d));
    }
    return m;
}

__global__ void k167c(float *largest, const float *a, const float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float m = block_max(fabsf(a[i] - b[i]));
    if (threadIdx.x == 0)
        largest[blockIdx.x] = m;
}

__global__ void k167d(float *__restrict__ largest, const float4 *__restrict__ a, const float4 *__restrict__ b, int n4)
{
    float m = 0.0f;
#pragma unroll 2
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 p = a[i], q = b[i];
        m = fmaxf(m, fmaxf(fmaxf(fabsf(p.x - q.x), fabsf(p.y - q.y)), fmaxf(fabsf(p.z - q.z), fabsf(p.w - q.w))));
    }
    m = block_max(m);
    if (threadIdx.x == 0)
        largest[blockIdx.x] = m;
}

const int MAX_STAGES = 6;

__constant__ double table_a[MAX_STAGES][MAX_STAGES], table_b[MAX_STAGES];

__host__ __device__ inline void lorenz(const double *y, double *dy)
{
    const double sigma = 10.0, rho = 28.0, beta = 8.0 / 3.0;
    dy[0] = sigma * (y[1] - y[0]);
    dy[1] = y[0] * (rho - y[2]) - y[1];
    dy[2] = y[0] * y[1] - beta * y[2];
}

// Any explicit method, given by its table.
__global__ void k167e(double *out, const double *in, int n, int stages, int steps, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double y[3] = {in[i], in[n + i], in[2 * n + i]}, at[3], k[MAX_STAGES][3];
    for (int step = 0; step < steps; step++) {
        for (int s = 0; s < stages; s++) {
            for (int c = 0; c < 3; c++) {
                at[c] = y[c];
                for (int j = 0; j < s; j++)
                    at[c] += dt * table_a[s][j] * k[j][c];
            }
            lorenz(at, k[s]);
        }
        for (int c = 0; c < 3; c++)
            for (int s = 0; s < stages; s++)
                y[c] += dt * table_b[s] * k[s][c];
    }
    for (int c = 0; c < 3; c++)
        out[c * n + i] = y[c];
}

__global__ void k167f(double *out, const double *in, int n, int steps, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double y[3] = {in[i], in[n + i], in[2 * n + i]}, at[3], k1[3], k2[3], k3[3], k4[3];
    for (int step = 0; step < steps; step++) {
        lorenz(y, k1);
        for (int c = 0; c < 3; c++)
            at[c] = y[c] + dt * k1[c] / 2.0;
        lorenz(at, k2);
        for (int c = 0; c < 3; c++)
            at[c] = y[c] + dt * k2[c] / 2.0;
        lorenz(at, k3);
        for (int c = 0; c < 3; c++)
            at[c] = y[c] + dt * k3[c];
        lorenz(at, k4);
        for (int c = 0; c < 3; c++)
            y[c] += dt * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]) / 6.0;
    }
    for (int c = 0; c < 3; c++)
        out[c * n + i] = y[c];
}

__device__ __forceinline__ void one_step(double *y, double dt, double half, double sixth)
{
    double at[3], k[3], sum[3];
    lorenz(y, k);
    for (int c = 0; c < 3; c++) {
        sum[c] = k[c];
        at[c] = y[c] + half * k[c];
    }
    lorenz(at, k);
    for (int c = 0; c < 3; c++) {
        sum[c] += 2.0 * k[c];
        at[c] = y[c] + half * k[c];
    }
    lorenz(at, k);
    for (int c = 0; c < 3; c++) {
        sum[c] += 2.0 * k[c];
        at[c] = y[c] + dt * k[c];
    }
    lorenz(at, k);
    for (int c = 0; c < 3; c++)
        y[c] += sixth * (sum[c] + k[c]);
}

__global__ void k167g(double *out, const double *in, int n, int steps, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double y[3] = {in[i], in[n + i], in[2 * n + i]};
    double half = dt / 2.0, sixth = dt / 6.0;
#pragma unroll 1
    for (int step = 0; step < steps; step++)
        one_step(y, dt, half, sixth);
    for (int c = 0; c < 3; c++)
        out[c * n + i] = y[c];
}

__global__ void k167h(double *out, const double *in, int n, int steps, double dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double y[3] = {in[i], in[n + i], in[2 * n + i]};
    double half = dt / 2.0, sixth = dt / 6.0;
#pragma unroll 5
    for (int step = 0; step < steps; step++)
        one_step(y, dt, half, sixth);
    for (int c = 0; c < 3; c++)
        out[c * n + i] = y[c];
}

__global__ void pick_every(double *picked, const double *all, size_t count, size_t step)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        picked[i] = all[i * step];
}

int main()
{
    const int n = 1 << 26, chunk = 256, groups = n / BLOCK, wide = 1056;
    float *a = input<float>(n, 1671, -1.0, 1.0), *b = input<float>(n, 1672, -1.0, 1.0);
    float *largest = output<float>(groups);
    // Largest difference of every 256 numbers, and of what a block of the other kernels covers.
    std::vector<float> of_group(groups), of_chunks(n / chunk / BLOCK, 0.0f), of_strided(wide, 0.0f);
    {
        std::vector<float> ha = on_host(a, n), hb = on_host(b, n);
        for (int g = 0; g < groups; g++) {
            float m = 0.0f;
            for (int i = g * BLOCK; i < (g + 1) * BLOCK; i++)
                m = std::max(m, std::fabs(ha[i] - hb[i]));
            of_group[g] = m;
            float &c = of_chunks[g / chunk], &s = of_strided[g / 4 % wide];
            c = std::max(c, m);
            s = std::max(s, m);
        }
    }
    auto difference = [&](const char *name, const std::vector<float> &want, std::function<void()> launch) {
        MUST(cudaMemset(largest, 0xA5, groups * sizeof(float)));
        launch();
        check(name, largest, want, 0.0);
    };
    difference("k167a", of_chunks, [&] { k167a<<<n / chunk / BLOCK, BLOCK>>>(largest, a, b, chunk); });
    difference("k167b", of_group, [&] { k167b<<<groups, BLOCK>>>(largest, a, b); });
    difference("k167c", of_group, [&] { k167c<<<groups, BLOCK>>>(largest, a, b); });
    difference("k167d", of_strided, [&] {
        k167d<<<wide, BLOCK>>>(largest, (const float4 *)a, (const float4 *)b, n / 4);
    });

    const int systems = 1 << 20, steps = 50, stages = 4, block = 128;
    const double dt = 0.01;
    const double ta[MAX_STAGES][MAX_STAGES] = {{0}, {0.5}, {0, 0.5}, {0, 0, 1}};
    const double tb[MAX_STAGES] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
    MUST(cudaMemcpyToSymbol(table_a, ta, sizeof(ta)));
    MUST(cudaMemcpyToSymbol(table_b, tb, sizeof(tb)));
    const size_t values = 3 * (size_t)systems, skip = 1009, few = (values - 1) / skip + 1;
    double *start = input<double>(values, 1673, -10.0, 20.0), *end = output<double>(values);
    double *picked = output<double>(few);
    std::vector<double> hs = on_host(start, values), want(few);
    for (size_t p = 0; p < few; p++) {
        size_t i = p * skip % systems, component = p * skip / systems;
        double y[3] = {hs[i], hs[systems + i], hs[2 * (size_t)systems + i]}, at[3], k[4][3];
        for (int step = 0; step < steps; step++) {
            lorenz(y, k[0]);
            for (int s = 1; s < 4; s++) {
                for (int c = 0; c < 3; c++)
                    at[c] = y[c] + dt * ta[s][s - 1] * k[s - 1][c];
                lorenz(at, k[s]);
            }
            for (int c = 0; c < 3; c++)
                y[c] += dt / 6 * (k[0][c] + 2 * k[1][c] + 2 * k[2][c] + k[3][c]);
        }
        want[p] = y[component];
    }
    auto integrate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(end, 0xA5, values * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<64, 256>>>(picked, end, few, skip);
        check(name, picked, want, 1e-9);
    };
    const int blocks = systems / block;
    integrate("k167e", [&] { k167e<<<blocks, block>>>(end, start, systems, stages, steps, dt); });
    integrate("k167f", [&] { k167f<<<blocks, block>>>(end, start, systems, steps, dt); });
    integrate("k167g", [&] { k167g<<<blocks, block>>>(end, start, systems, steps, dt); });
    integrate("k167h", [&] { k167h<<<blocks, block>>>(end, start, systems, steps, dt); });
    return 0;
}
