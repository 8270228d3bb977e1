// Matrix times vector (many short rows), transposed matrix times vector (second half of A^T A x), and a dot product.
#include "../harness.h"

#include <functional>

const int ROWS = 131072, COLS = 512; // tall matrix
const int SIDE = 8192;               // the same numbers seen as a square matrix
const size_t COUNT = (size_t)ROWS * COLS;
const unsigned FULL = 0xffffffffu;

__device__ inline float warp_total(float v)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        v += __shfl_down_sync(FULL, v, offset);
    return v;
}

__device__ inline float product(float4 p, float4 q)
{
    return p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
}

// ---- y = A x, A of 131072 x 512

__global__ void k124a(const float *a, const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = 0; j < cols; j++)
            sum += a[row * cols + j] * x[j];
        y[row] = sum;
    }
}

// A block for a row.
__global__ void k124b(const float *a, const float *x, float *y)
{
    __shared__ float partial[128];
    int row = blockIdx.x, t = threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < COLS; j += 128)
        sum += a[row * COLS + j + t] * x[j + t];
    partial[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[row] = partial[0];
}

// A warp for a row.
__global__ void k124c(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int rows)
{
    const float4 *a4 = reinterpret_cast<const float4 *>(a), *x4 = reinterpret_cast<const float4 *>(x);
    int lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < COLS / 128; j++)
            sum += product(a4[row * (COLS / 4) + j * 32 + lane], x4[j * 32 + lane]);
        sum = warp_total(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

__global__ void k124d(const float *__restrict__ a, const float *__restrict__ x, float *__restrict__ y, int rows)
{
    __shared__ float4 vector[COLS / 4];
    const float4 *a4 = reinterpret_cast<const float4 *>(a), *x4 = reinterpret_cast<const float4 *>(x);
    for (int j = threadIdx.x; j < COLS / 4; j += blockDim.x)
        vector[j] = x4[j];
    __syncthreads();
    int lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < COLS / 128; j++)
            sum += product(a4[row * (COLS / 4) + j * 32 + lane], vector[j * 32 + lane]);
        sum = warp_total(sum);
        if (lane == 0)
            y[row] = sum;
    }
}

// ---- z = A^T t, A of 8192 x 8192

__global__ void k124e(const float *a, const float *t, float *z, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n) {
        float sum = 0.0f;
        for (int i = 0; i < n; i++)
            sum += a[i * n + j] * t[i];
        z[j] = sum;
    }
}

const int BAND = 128;

__global__ void k124f(const float *__restrict__ a, const float *__restrict__ t, float *__restrict__ z, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * BAND;
    float sum = 0.0f;
#pragma unroll 8
    for (int i = first; i < first + BAND; i++)
        sum += a[i * n + j] * t[i];
    atomicAdd(&z[j], sum);
}

// ---- dot product of 67 million numbers; a sum for each block, added up on the host

__global__ void k124g(const float *p, const float *q, float *sums)
{
    __shared__ float partial[256];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + t;
    partial[t] = p[i] * q[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (t % (2 * s) == 0)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

__global__ void k124h(const float *p, const float *q, float *sums)
{
    __shared__ float partial[256];
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + t;
    partial[t] = p[i] * q[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        sums[blockIdx.x] = partial[0];
}

__global__ void k124i(const float4 *__restrict__ p, const float4 *__restrict__ q, float *__restrict__ sums, int quads)
{
    __shared__ float partial[8];
    float sum = 0.0f;
    const int stride = gridDim.x * blockDim.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + stride < quads; i += 2 * stride)
        sum += product(p[i], q[i]) + product(p[i + stride], q[i + stride]);
    if (i < quads)
        sum += product(p[i], q[i]);
    sum = warp_total(sum);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? partial[threadIdx.x] : 0.0f;
        sum = warp_total(sum);
        if (threadIdx.x == 0)
            sums[blockIdx.x] = sum;
    }
}

int main()
{
    float *a = input<float>(COUNT, 1241, 0.0, 1.0);
    std::vector<float> ha = on_host(a, COUNT);

    // A x
    float *x = input<float>(COLS, 1242, -1.0, 1.0), *y = output<float>(ROWS);
    std::vector<float> hx = on_host(x, COLS), want(ROWS);
    for (int i = 0; i < ROWS; i++) {
        const float *row = &ha[(size_t)i * COLS];
        double sum[4] = {0, 0, 0, 0};
        for (int j = 0; j < COLS; j += 4)
            for (int k = 0; k < 4; k++)
                sum[k] += double(row[j + k]) * hx[j + k];
        want[i] = float(sum[0] + sum[1] + sum[2] + sum[3]);
    }
    auto rows = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, ROWS * sizeof(float)));
        launch();
        check(name, y, want, 2e-4);
    };
    rows("k124a", [&] { k124a<<<ROWS / 256, 256>>>(a, x, y, ROWS, COLS); });
    rows("k124b", [&] { k124b<<<ROWS, 128>>>(a, x, y); });
    rows("k124c", [&] { k124c<<<132 * 6, 256>>>(a, x, y, ROWS); });
    rows("k124d", [&] { k124d<<<132 * 6, 256>>>(a, x, y, ROWS); });

    // A^T t
    float *t = input<float>(SIDE, 1243, -1.0, 1.0), *z = output<float>(SIDE);
    std::vector<float> ht = on_host(t, SIDE);
    std::vector<double> columns(SIDE, 0.0);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            columns[j] += double(ha[(size_t)i * SIDE + j]) * ht[i];
    std::vector<float> wanted(columns.begin(), columns.end());
    k124e<<<SIDE / 256, 256>>>(a, t, z, SIDE);
    check("k124e", z, wanted, 1e-3);
    MUST(cudaMemset(z, 0, SIDE * sizeof(float)));
    k124f<<<dim3(SIDE / 256, SIDE / BAND), 256>>>(a, t, z, SIDE);
    check("k124f", z, wanted, 1e-3);

    // dot product
    float *b = input<float>(COUNT, 1244, 0.0, 1.0);
    const int blocks = int(COUNT / 256), few = 132 * 8;
    float *sums = output<float>(blocks);
    std::vector<float> hb = on_host(b, COUNT);
    double dot[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < COUNT; i += 4)
        for (int k = 0; k < 4; k++)
            dot[k] += double(ha[i + k]) * hb[i + k];
    const std::vector<float> all(1, float(dot[0] + dot[1] + dot[2] + dot[3]));
    auto add_up = [&](const char *name, int parts, std::function<void()> launch) {
        MUST(cudaMemset(sums, 0xA5, blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<float> part = on_host(sums, parts);
        double total = 0.0;
        for (float v : part)
            total += v;
        float *one = on_device(std::vector<float>(1, float(total)));
        check(name, one, all, 1e-5);
        MUST(cudaFree(one));
    };
    const float4 *a4 = reinterpret_cast<const float4 *>(a), *b4 = reinterpret_cast<const float4 *>(b);
    add_up("k124g", blocks, [&] { k124g<<<blocks, 256>>>(a, b, sums); });
    add_up("k124h", blocks, [&] { k124h<<<blocks, 256>>>(a, b, sums); });
    add_up("k124i", few, [&] { k124i<<<few, 256>>>(a4, b4, sums, int(COUNT / 4)); });
    return 0;
}
