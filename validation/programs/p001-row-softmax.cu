// Softmax over the rows of a matrix: y[r][c] = exp(x[r][c] - max of the row) / sum of the row.
#include "../harness.h"

#include <algorithm>
#include <cfloat>

static const int ROWS = 4096;
static const int COLS = 12000;

template <int THREADS> __device__ float block_max(float value, float *scratch)
{
    int tid = threadIdx.x;
    scratch[tid] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s)
            scratch[tid] = fmaxf(scratch[tid], scratch[tid + s]);
        __syncthreads();
    }
    float result = scratch[0];
    __syncthreads();
    return result;
}

template <int THREADS> __device__ float block_sum(float value, float *scratch)
{
    int tid = threadIdx.x;
    scratch[tid] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s >>= 1) {
        if (tid < s)
            scratch[tid] += scratch[tid + s];
        __syncthreads();
    }
    float result = scratch[0];
    __syncthreads();
    return result;
}

// One block for each row.
__global__ void k01a(const float *x, float *y, int cols)
{
    __shared__ float scratch[256];
    const float *row = x + (size_t)blockIdx.x * cols;
    float *out = y + (size_t)blockIdx.x * cols;
    int per_thread = (cols + blockDim.x - 1) / blockDim.x;
    int begin = threadIdx.x * per_thread;
    int end = min(begin + per_thread, cols);

    float m = -FLT_MAX;
    for (int c = begin; c < end; c++)
        m = fmaxf(m, row[c]);
    m = block_max<256>(m, scratch);

    float sum = 0.0f;
    for (int c = begin; c < end; c++)
        sum += expf(row[c] - m);
    sum = block_sum<256>(sum, scratch);

    float inv = 1.0f / sum;
    for (int c = begin; c < end; c++)
        out[c] = expf(row[c] - m) * inv;
}

__global__ void k01b(const float *x, float *y, int cols)
{
    __shared__ float scratch[256];
    const float *row = x + (size_t)blockIdx.x * cols;
    float *out = y + (size_t)blockIdx.x * cols;

    float m = -FLT_MAX;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        m = fmaxf(m, row[c]);
    m = block_max<256>(m, scratch);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        sum += expf(row[c] - m);
    sum = block_sum<256>(sum, scratch);

    float inv = 1.0f / sum;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[c] = expf(row[c] - m) * inv;
}

__global__ void k01c(const float *x, float *y, int cols)
{
    extern __shared__ float4 dynamic[];
    __shared__ float scratch[512];
    float *values = (float *)dynamic;
    const float *row = x + (size_t)blockIdx.x * cols;
    float *out = y + (size_t)blockIdx.x * cols;

    float m = -FLT_MAX;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float v = row[c];
        values[c] = v;
        m = fmaxf(m, v);
    }
    m = block_max<512>(m, scratch);

    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        float e = expf(values[c] - m);
        values[c] = e;
        sum += e;
    }
    sum = block_sum<512>(sum, scratch);

    float inv = 1.0f / sum;
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        out[c] = values[c] * inv;
}

__global__ void k01d(const float *x, float *y, int cols)
{
    extern __shared__ float4 dynamic[];
    __shared__ float scratch[512];
    const float4 *row = (const float4 *)(x + (size_t)blockIdx.x * cols);
    float4 *out = (float4 *)(y + (size_t)blockIdx.x * cols);
    int quads = cols / 4;

    float m = -FLT_MAX;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        float4 v = row[q];
        dynamic[q] = v;
        m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    m = block_max<512>(m, scratch);

    float sum = 0.0f;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        float4 v = dynamic[q];
        v.x = expf(v.x - m);
        v.y = expf(v.y - m);
        v.z = expf(v.z - m);
        v.w = expf(v.w - m);
        dynamic[q] = v;
        sum += (v.x + v.y) + (v.z + v.w);
    }
    sum = block_sum<512>(sum, scratch);

    float inv = 1.0f / sum;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        float4 v = dynamic[q];
        out[q] = make_float4(v.x * inv, v.y * inv, v.z * inv, v.w * inv);
    }
}

__global__ void k01e(const float *x, float *y, int cols)
{
    extern __shared__ float4 dynamic[];
    __shared__ float scratch[512];
    const float4 *row = (const float4 *)(x + (size_t)blockIdx.x * cols);
    float4 *out = (float4 *)(y + (size_t)blockIdx.x * cols);
    int quads = cols / 4;

    float m = -FLT_MAX;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        float4 v = row[q];
        dynamic[q] = v;
        m = fmaxf(m, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    m = block_max<512>(m, scratch);

    float sum = 0.0f;
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        float4 v = dynamic[q];
        v.x = __expf(v.x - m);
        v.y = __expf(v.y - m);
        v.z = __expf(v.z - m);
        v.w = __expf(v.w - m);
        dynamic[q] = v;
        sum += (v.x + v.y) + (v.z + v.w);
    }
    sum = block_sum<512>(sum, scratch);

    float inv = __fdividef(1.0f, sum);
    for (int q = threadIdx.x; q < quads; q += blockDim.x) {
        float4 v = dynamic[q];
        out[q] = make_float4(v.x * inv, v.y * inv, v.z * inv, v.w * inv);
    }
}

int main()
{
    const size_t n = (size_t)ROWS * COLS;
    float *x = input<float>(n, 1, -6.0, 6.0);
    float *y = output<float>(n);

    // The rows that are looked at, and what they should be.
    std::vector<int> rows;
    for (int r = 0; r < ROWS; r += 101)
        rows.push_back(r);
    rows.push_back(ROWS - 1);
    float *picked = output<float>(rows.size() * COLS);
    std::vector<float> want(rows.size() * COLS);
    for (size_t k = 0; k < rows.size(); k++) {
        std::vector<float> row = on_host(x + (size_t)rows[k] * COLS, COLS);
        double m = *std::max_element(row.begin(), row.end()), sum = 0;
        for (int c = 0; c < COLS; c++)
            sum += std::exp(row[c] - m);
        for (int c = 0; c < COLS; c++)
            want[k * COLS + c] = float(std::exp(row[c] - m) / sum);
    }
    auto verify = [&](const char *kernel) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (size_t k = 0; k < rows.size(); k++)
            MUST(cudaMemcpy(picked + k * COLS, y + (size_t)rows[k] * COLS, COLS * sizeof(float), cudaMemcpyDeviceToDevice));
        check(kernel, picked, want, 1e-7);
        MUST(cudaMemset(y, 0xA5, n * sizeof(float)));
    };

    const int bytes = COLS * sizeof(float);
    MUST(cudaFuncSetAttribute(k01c, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    MUST(cudaFuncSetAttribute(k01d, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    MUST(cudaFuncSetAttribute(k01e, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));

    k01a<<<ROWS, 256>>>(x, y, COLS);
    verify("k01a");
    k01b<<<ROWS, 256>>>(x, y, COLS);
    verify("k01b");
    k01c<<<ROWS, 512, bytes>>>(x, y, COLS);
    verify("k01c");
    k01d<<<ROWS, 512, bytes>>>(x, y, COLS);
    verify("k01d");
    k01e<<<ROWS, 512, bytes>>>(x, y, COLS);
    verify("k01e");
    return 0;
}
