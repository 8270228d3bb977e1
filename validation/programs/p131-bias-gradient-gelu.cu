// Gradient of the bias of a linear layer (the sum of every column of a matrix of 32768 x 3072), and bias plus GELU on
// halves of the same shape.
#include "../harness.h"

#include <functional>

const int ROWS = 32768, COLUMNS = 3072;

// One block per column.
__global__ void k131a(float *dbias, const float *dout, int rows, int columns)
{
    __shared__ float part[256];
    const int tid = threadIdx.x, column = blockIdx.x;
    float sum = 0.0f;
    for (int r = tid; r < rows; r += blockDim.x)
        sum += dout[(size_t)r * columns + column];
    part[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        dbias[column] = part[0];
}

// One block of 32x32 threads for 32 columns.
__global__ void k131b(float *dbias, const float *dout, int rows, int columns)
{
    __shared__ float part[32][33];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 32 + tx;
    float sum = 0.0f;
    for (int r = ty; r < rows; r += 32)
        sum += dout[(size_t)r * columns + column];
    part[ty][tx] = sum;
    __syncthreads();
    sum = part[tx][ty];
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_down_sync(0xffffffff, sum, s);
    if (tx == 0)
        dbias[blockIdx.x * 32 + ty] = sum;
}

const int STRIP = 1024, HIGH = 8;

// A block of 32x8 threads adds a strip of 1024 rows.
__global__ void __launch_bounds__(256) k131c(float *__restrict__ dbias, const float *__restrict__ dout)
{
    __shared__ float part[HIGH][32];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 32 + tx;
    const float *from = dout + ((size_t)blockIdx.y * STRIP + ty) * COLUMNS + column;
    float sum[8] = {};
#pragma unroll 1
    for (int r = 0; r < STRIP; r += HIGH * 8)
#pragma unroll
        for (int u = 0; u < 8; u++)
            sum[u] += from[(size_t)(r + u * HIGH) * COLUMNS];
    part[ty][tx] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    __syncthreads();
    if (ty == 0) {
        float all = 0.0f;
#pragma unroll
        for (int i = 0; i < HIGH; i++)
            all += part[i][tx];
        atomicAdd(&dbias[column], all);
    }
}

__global__ void __launch_bounds__(256) k131d(float *__restrict__ dbias, const float *__restrict__ dout)
{
    __shared__ float part[HIGH][128];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 128 + tx * 4;
    const float *from = dout + ((size_t)blockIdx.y * STRIP + ty) * COLUMNS + column;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int r = 0; r < STRIP; r += HIGH * 4) {
        float4 v[4];
#pragma unroll
        for (int u = 0; u < 4; u++)
            v[u] = *reinterpret_cast<const float4 *>(from + (size_t)(r + u * HIGH) * COLUMNS);
        sum.x += (v[0].x + v[1].x) + (v[2].x + v[3].x);
        sum.y += (v[0].y + v[1].y) + (v[2].y + v[3].y);
        sum.z += (v[0].z + v[1].z) + (v[2].z + v[3].z);
        sum.w += (v[0].w + v[1].w) + (v[2].w + v[3].w);
    }
    part[ty][tx * 4] = sum.x;
    part[ty][tx * 4 + 1] = sum.y;
    part[ty][tx * 4 + 2] = sum.z;
    part[ty][tx * 4 + 3] = sum.w;
    __syncthreads();
    const int tid = ty * 32 + tx;
    if (tid < 128) {
        float all = 0.0f;
#pragma unroll
        for (int i = 0; i < HIGH; i++)
            all += part[i][tid];
        atomicAdd(&dbias[blockIdx.x * 128 + tid], all);
    }
}

const float ROOT = 0.7978845608f;

__global__ void k131e(__half *out, const __half *x, const __half *bias, int columns, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __half2float(x[i]) + __half2float(bias[i % columns]);
        out[i] = __float2half(0.5f * v * (1.0f + tanhf(ROOT * (v + 0.044715f * powf(v, 3.0f)))));
    }
}

__global__ void k131f(__half *out, const __half *x, const __half *bias, int columns, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = __half2float(x[i]) + __half2float(bias[i % columns]);
        out[i] = __float2half(0.5f * v * (1.0f + tanhf(ROOT * (v + 0.044715f * v * v * v))));
    }
}

union Pack {
    uint4 all;
    __half2 pair[4];
};

__device__ float gelu(float v)
{
    return 0.5f * v * (1.0f + tanhf(ROOT * (v + 0.044715f * v * v * v)));
}

// A block takes four rows, a thread eight columns.
const int LANES = COLUMNS / 8, DEEP = 4;

__global__ void __launch_bounds__(LANES)
    k131g(uint4 *__restrict__ out, const uint4 *__restrict__ x, const uint4 *__restrict__ bias)
{
    const int first = blockIdx.x * DEEP * LANES + threadIdx.x;
    Pack b, v[DEEP];
#pragma unroll
    for (int r = 0; r < DEEP; r++)
        v[r].all = x[first + r * LANES];
    b.all = bias[threadIdx.x];
#pragma unroll
    for (int r = 0; r < DEEP; r++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float2 p = __half22float2(v[r].pair[k]), q = __half22float2(b.pair[k]);
            v[r].pair[k] = __floats2half2_rn(gelu(p.x + q.x), gelu(p.y + q.y));
        }
        out[first + r * LANES] = v[r].all;
    }
}

__device__ float tanh_unit(float v)
{
    float t;
    asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(v));
    return t;
}

__device__ float gelu_unit(float v)
{
    float half = 0.5f * v;
    return half + half * tanh_unit(v * (ROOT + ROOT * 0.044715f * (v * v)));
}

__global__ void __launch_bounds__(LANES)
    k131h(uint4 *__restrict__ out, const uint4 *__restrict__ x, const uint4 *__restrict__ bias)
{
    const int first = blockIdx.x * DEEP * LANES + threadIdx.x;
    Pack b, v[DEEP];
#pragma unroll
    for (int r = 0; r < DEEP; r++)
        v[r].all = x[first + r * LANES];
    b.all = bias[threadIdx.x];
#pragma unroll
    for (int r = 0; r < DEEP; r++) {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float2 p = __half22float2(v[r].pair[k]), q = __half22float2(b.pair[k]);
            v[r].pair[k] = __floats2half2_rn(gelu_unit(p.x + q.x), gelu_unit(p.y + q.y));
        }
        out[first + r * LANES] = v[r].all;
    }
}

int main()
{
    const int n = ROWS * COLUMNS;
    float *dout = input<float>(n, 1311, -0.5, 1.0), *dbias = output<float>(COLUMNS);
    std::vector<double> totals(COLUMNS, 0.0);
    std::vector<float> hd = on_host(dout, n), want(COLUMNS);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            totals[c] += hd[(size_t)r * COLUMNS + c];
    for (int c = 0; c < COLUMNS; c++)
        want[c] = float(totals[c]);
    // The kernels that add to their output start from zeros.
    auto gradient = [&](const char *name, int start, std::function<void()> launch) {
        MUST(cudaMemset(dbias, start, COLUMNS * sizeof(float)));
        launch();
        check(name, dbias, want, 2e-5);
    };
    gradient("k131a", 0xA5, [&] { k131a<<<COLUMNS, 256>>>(dbias, dout, ROWS, COLUMNS); });
    gradient("k131b", 0xA5, [&] { k131b<<<COLUMNS / 32, dim3(32, 32)>>>(dbias, dout, ROWS, COLUMNS); });
    gradient("k131c", 0, [&] { k131c<<<dim3(COLUMNS / 32, ROWS / STRIP), dim3(32, HIGH)>>>(dbias, dout); });
    gradient("k131d", 0, [&] { k131d<<<dim3(COLUMNS / 128, ROWS / STRIP), dim3(32, HIGH)>>>(dbias, dout); });

    __half *x = input<__half>(n, 1312, -4.0, 4.0), *bias = input<__half>(COLUMNS, 1313, -1.0, 1.0);
    __half *out = output<__half>(n);
    // Rows 0, 61, 122, ...
    const int step = 61, taken = (ROWS - 1) / step + 1;
    const size_t bytes = COLUMNS * sizeof(__half), some = (size_t)taken * COLUMNS;
    __half *room = output<__half>(some);
    MUST(cudaMemcpy2D(room, bytes, x, step * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
    std::vector<__half> hx = on_host(room, some), hb = on_host(bias, COLUMNS), active(some);
    for (size_t i = 0; i < some; i++) {
        double v = double(__half2float(hx[i])) + __half2float(hb[i % COLUMNS]);
        active[i] = __float2half(float(0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))));
    }
    auto activate = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(__half)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(room, bytes, out, step * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, room, active, 2e-3);
    };
    const uint4 *x8 = reinterpret_cast<const uint4 *>(x), *bias8 = reinterpret_cast<const uint4 *>(bias);
    uint4 *out8 = reinterpret_cast<uint4 *>(out);
    activate("k131e", [&] { k131e<<<n / 256, 256>>>(out, x, bias, COLUMNS, n); });
    activate("k131f", [&] { k131f<<<n / 256, 256>>>(out, x, bias, COLUMNS, n); });
    activate("k131g", [&] { k131g<<<ROWS / DEEP, LANES>>>(out8, x8, bias8); });
    activate("k131h", [&] { k131h<<<ROWS / DEEP, LANES>>>(out8, x8, bias8); });
    return 0;
}
