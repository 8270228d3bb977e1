// A step of particle motion, the positive elements of an array moved together, and a matrix (262144 x 512) times a vector.
#include "../harness.h"

#include <functional>

const int PARTICLES = 1 << 23;

struct Particle {
    float x, y, z, vx, vy, vz, mass, charge, age, kind;
};

__global__ void k147a(Particle *p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].x += p[i].vx * dt;
        p[i].y += p[i].vy * dt;
        p[i].z += p[i].vz * dt;
    }
}

__global__ void k147b(float *__restrict__ x, float *__restrict__ y, float *__restrict__ z, const float *__restrict__ vx,
                      const float *__restrict__ vy, const float *__restrict__ vz, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] += vx[i] * dt;
        y[i] += vy[i] * dt;
        z[i] += vz[i] * dt;
    }
}

__global__ void fill_particles(Particle *p, const float *state, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Particle q = {state[i],         state[n + i],     state[2 * n + i], state[3 * n + i], state[4 * n + i],
                      state[5 * n + i], float(i % 7 + 1), float(i % 3 - 1), 0.0f,             float(i % 5)};
        p[i] = q;
    }
}

__global__ void take_positions(float *position, const Particle *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        position[i] = p[i].x;
        position[n + i] = p[i].y;
        position[2 * n + i] = p[i].z;
    }
}

// ---- positive elements of src to dst, in any order ----

const int ELEMENTS = 1 << 25;

__global__ void k147c(int *dst, int *count, const int *src, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && src[i] > 0)
        dst[atomicAdd(count, 1)] = src[i];
}

__global__ void k147d(int *dst, int *count, const int *src, int n)
{
    __shared__ int kept;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        kept = 0;
    __syncthreads();
    int v = 0, pos = 0;
    if (i < n) {
        v = src[i];
        if (v > 0)
            pos = atomicAdd(&kept, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        kept = atomicAdd(count, kept);
    __syncthreads();
    if (v > 0)
        dst[kept + pos] = v;
}

const int EACH = 16;

__global__ void __launch_bounds__(256) k147e(int *__restrict__ dst, int *count, const int *__restrict__ src, int n)
{
    __shared__ int kept;
    int lane = threadIdx.x % 32;
    int first = blockIdx.x * 256 * EACH + threadIdx.x;
    if (threadIdx.x == 0)
        kept = 0;
    int v[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++)
        v[e] = first + e * 256 < n ? src[first + e * 256] : 0;
    unsigned votes[EACH];
    int mine = 0;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        votes[e] = __ballot_sync(0xffffffff, v[e] > 0);
        mine += __popc(votes[e]);
    }
    __syncthreads();
    int at = 0;
    if (lane == 0)
        at = atomicAdd(&kept, mine);
    at = __shfl_sync(0xffffffff, at, 0);
    __syncthreads();
    if (threadIdx.x == 0)
        kept = atomicAdd(count, kept);
    __syncthreads();
    at += kept;
    unsigned below = (1u << lane) - 1;
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        if (v[e] > 0)
            dst[at + __popc(votes[e] & below)] = v[e];
        at += __popc(votes[e]);
    }
}

// ---- y = A * x, A row by row ----

const int ROWS = 262144, COLS = 512;

__global__ void k147f(float *y, const float *A, const float *x, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int k = 0; k < cols; k++)
            sum += A[(size_t)row * cols + k] * x[k];
        y[row] = sum;
    }
}

__global__ void k147g(float *y, const float *A, const float *x, int cols)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    const float *row = A + (size_t)blockIdx.x * cols;
    float sum = 0.0f;
    for (int k = t; k < cols; k += blockDim.x)
        sum += row[k] * x[k];
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = part[0];
}

__device__ inline float product(float4 a, float4 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

__device__ inline float warp_sum(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffff, v, offset);
    return v;
}

__global__ void k147h(float *__restrict__ y, const float4 *__restrict__ A, const float4 *__restrict__ x, int rows)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    const float4 *from = A + (size_t)row * (COLS / 4);
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < COLS / 4; k += 32)
        sum += product(from[k + lane], x[k + lane]);
    sum = warp_sum(sum);
    if (lane == 0)
        y[row] = sum;
}

__global__ void k147i(float *__restrict__ y, const float4 *__restrict__ A, const float4 *__restrict__ x, int rows)
{
    __shared__ float4 x_s[COLS / 4];
    for (int k = threadIdx.x; k < COLS / 4; k += blockDim.x)
        x_s[k] = x[k];
    __syncthreads();
    int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        const float4 *from = A + (size_t)row * (COLS / 4);
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < COLS / 4; k += 32)
            sum += product(from[k + lane], x_s[k + lane]);
        sum = warp_sum(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

int main()
{
    {
        const int n = PARTICLES;
        const float dt = 0.125f;
        float *state = input<float>((size_t)6 * n, 1471, -1.0, 1.0), *position = output<float>((size_t)3 * n);
        std::vector<float> h = on_host(state, (size_t)6 * n), moved((size_t)3 * n);
        for (size_t i = 0; i < moved.size(); i++)
            moved[i] = h[i] + h[i + (size_t)3 * n] * dt;
        Particle *p = output<Particle>(n);
        fill_particles<<<n / 256, 256>>>(p, state, n);
        MUST(cudaDeviceSynchronize());
        auto move = [&](const char *name, bool structures, std::function<void()> launch) {
            launch();
            MUST(cudaGetLastError());
            if (structures)
                take_positions<<<n / 256, 256>>>(position, p, n);
            check(name, structures ? position : state, moved, 1e-6);
        };
        float *x = state, *y = x + n, *z = y + n, *vx = z + n, *vy = vx + n, *vz = vy + n;
        move("k147a", true, [&] { k147a<<<n / 256, 256>>>(p, dt, n); });
        move("k147b", false, [&] { k147b<<<n / 256, 256>>>(x, y, z, vx, vy, vz, dt, n); });
        MUST(cudaFree(state));
        MUST(cudaFree(position));
        MUST(cudaFree(p));
    }
    {
        const int n = ELEMENTS;
        int *src = input<int>(n, 1472, -1000000000.0, 1000000000.0), *dst = output<int>(n), *count = zeroed<int>(1);
        // How many there are, and sums over them that do not depend on the order.
        auto summary = [](const std::vector<int> &values, size_t length) {
            unsigned long long mixed = 0;
            double sum = 0;
            for (size_t i = 0; i < length; i++)
                if (values[i] > 0) {
                    mixed += scrambled(values[i], 1473);
                    sum += values[i] % 1024;
                }
            return std::vector<double>{double(length), sum, double(mixed & ((1ull << 52) - 1))};
        };
        std::vector<int> positive;
        for (int v : on_host(src, n))
            if (v > 0)
                positive.push_back(v);
        const std::vector<double> want = summary(positive, positive.size());
        auto compact = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(dst, 0xA5, n * sizeof(int)));
            MUST(cudaMemset(count, 0, sizeof(int)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            int found = on_host(count, 1)[0];
            if (found < 0 || found > n)
                found = 0;
            double *got = on_device(summary(on_host(dst, n), found));
            check(name, got, want, 0.0);
            MUST(cudaFree(got));
        };
        compact("k147c", [&] { k147c<<<n / 256, 256>>>(dst, count, src, n); });
        compact("k147d", [&] { k147d<<<n / 256, 256>>>(dst, count, src, n); });
        compact("k147e", [&] { k147e<<<n / 256 / EACH, 256>>>(dst, count, src, n); });
        MUST(cudaFree(src));
        MUST(cudaFree(dst));
    }
    float *A = input<float>((size_t)ROWS * COLS, 1474, -1.0, 1.0), *x = input<float>(COLS, 1475, -1.0, 1.0);
    float *y = output<float>(ROWS);
    std::vector<float> hA = on_host(A, (size_t)ROWS * COLS), hx = on_host(x, COLS), want(ROWS);
    for (int row = 0; row < ROWS; row++) {
        float sum[8] = {};
        const float *a = &hA[(size_t)row * COLS];
        for (int k = 0; k < COLS; k += 8)
            for (int u = 0; u < 8; u++)
                sum[u] += a[k + u] * hx[k + u];
        want[row] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    }
    const float4 *A4 = reinterpret_cast<const float4 *>(A), *x4 = reinterpret_cast<const float4 *>(x);
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        check(name, y, want, 1e-4);
    };
    multiply("k147f", [&] { k147f<<<ROWS / 256, 256>>>(y, A, x, ROWS, COLS); });
    multiply("k147g", [&] { k147g<<<ROWS, 256>>>(y, A, x, COLS); });
    multiply("k147h", [&] { k147h<<<ROWS / 8, 256>>>(y, A4, x4, ROWS); });
    multiply("k147i", [&] { k147i<<<132 * 4, 512>>>(y, A4, x4, ROWS); });
    return 0;
}
