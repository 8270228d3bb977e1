// Prices of European call and put options, and the product of a tall dense matrix with a vector.
#include "../harness.h"

#include <functional>

const int OPTIONS = 1 << 25;
const float RATE = 0.02f, VOLATILITY = 0.30f;

__device__ inline float normal_a(float d)
{
    const double a1 = 0.31938153, a2 = -0.356563782, a3 = 1.781477937, a4 = -1.821255978, a5 = 1.330274429;
    float k = 1.0 / (1.0 + 0.2316419 * fabs(d));
    float c = 0.39894228040143267794 * exp(-0.5 * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    if (d > 0)
        c = 1.0 - c;
    return c;
}

__global__ void k120a(float *call, float *put, const float *spot, const float *strike, const float *years, float r,
                      float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = spot[i], x = strike[i], t = years[i];
        float root = sqrt(t);
        float d1 = (log(s / x) + (r + 0.5 * v * v) * t) / (v * root);
        float d2 = d1 - v * root;
        float n1 = normal_a(d1), n2 = normal_a(d2);
        float discount = exp(-1.0 * r * t);
        call[i] = s * n1 - x * discount * n2;
        put[i] = x * discount * (1.0 - n2) - s * (1.0 - n1);
    }
}

__device__ inline float normal_b(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    if (d > 0)
        c = 1.0f - c;
    return c;
}

__global__ void k120b(float *call, float *put, const float *spot, const float *strike, const float *years, float r,
                      float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = spot[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root);
        float d2 = d1 - v * root;
        float n1 = normal_b(d1), n2 = normal_b(d2);
        float discount = expf(-r * t);
        call[i] = s * n1 - x * discount * n2;
        put[i] = x * discount * (1.0f - n2) - s * (1.0f - n1);
    }
}

__device__ inline float normal_c(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267794f * __expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - c : c;
}

__device__ inline void price(float &call, float &put, float s, float x, float t, float r, float v)
{
    float inverse = rsqrtf(t);
    float width = v * t * inverse;
    float d1 = __fdividef(__logf(__fdividef(s, x)) + (r + 0.5f * v * v) * t, width);
    float d2 = d1 - width;
    float n1 = normal_c(d1), n2 = normal_c(d2);
    float discount = __expf(-r * t);
    call = s * n1 - x * discount * n2;
    put = x * discount * (1.0f - n2) - s * (1.0f - n1);
}

__global__ void k120c(float *__restrict__ call, float *__restrict__ put, const float *__restrict__ spot,
                      const float *__restrict__ strike, const float *__restrict__ years, float r, float v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float c, p;
        price(c, p, spot[i], strike[i], years[i], r, v);
        call[i] = c;
        put[i] = p;
    }
}

__global__ void k120d(float4 *__restrict__ call, float4 *__restrict__ put, const float4 *__restrict__ spot,
                      const float4 *__restrict__ strike, const float4 *__restrict__ years, float r, float v, int quads)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < quads) {
        float4 s = spot[i], x = strike[i], t = years[i], c, p;
        price(c.x, p.x, s.x, x.x, t.x, r, v);
        price(c.y, p.y, s.y, x.y, t.y, r, v);
        price(c.z, p.z, s.z, x.z, t.z, r, v);
        price(c.w, p.w, s.w, x.w, t.w, r, v);
        call[i] = c;
        put[i] = p;
    }
}

const int ROWS = 262144, COLUMNS = 512;

__global__ void k120e(float *y, const float *a, const float *x, int rows, int columns)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int j = 0; j < columns; j++)
            sum += a[(size_t)row * columns + j] * x[j];
        y[row] = sum;
    }
}

// rows is a multiple of the block.
__global__ void k120f(float *y, const float *a, const float *x, int rows, int columns)
{
    __shared__ float part[256];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int from = 0; from < columns; from += 256) {
        part[threadIdx.x] = x[from + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 256; j++)
            sum += a[(size_t)row * columns + from + j] * part[j];
        __syncthreads();
    }
    y[row] = sum;
}

__global__ void k120g(float *y, const float *a, const float *x, int rows, int columns)
{
    __shared__ float part[256];
    int row = blockIdx.x, tid = threadIdx.x;
    float sum = 0.0f;
    for (int j = tid; j < columns; j += blockDim.x)
        sum += a[(size_t)row * columns + j] * x[j];
    part[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            part[tid] += part[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        y[row] = part[0];
}

__global__ void k120h(float *__restrict__ y, const float *__restrict__ a, const float *__restrict__ x, int rows,
                      int columns)
{
    int lane = threadIdx.x % 32;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows)
        return;
    const float4 *line = reinterpret_cast<const float4 *>(a + (size_t)row * columns);
    const float4 *vec = reinterpret_cast<const float4 *>(x);
    float sum = 0.0f;
#pragma unroll 4
    for (int j = lane; j < columns / 4; j += 32) {
        float4 u = line[j], w = vec[j];
        sum += u.x * w.x + u.y * w.y + u.z * w.z + u.w * w.w;
    }
    for (int s = 16; s > 0; s >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (lane == 0)
        y[row] = sum;
}

// Every step-th number, counted from the end.
__global__ void pick_every(float *dst, const float *src, int count, int step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        dst[i] = src[n - 1 - i * step];
}

int main()
{
    {
        const int n = OPTIONS, step = 61, count = (n - 1) / step + 1, grid = (count + 255) / 256;
        float *spot = input<float>(n, 1201, 5.0, 30.0), *strike = input<float>(n, 1202, 1.0, 100.0);
        float *years = input<float>(n, 1203, 0.25, 10.0);
        float *call = output<float>(n), *put = output<float>(n), *some = output<float>(count);
        auto picked = [&](const float *from) {
            pick_every<<<grid, 256>>>(some, from, count, step, n);
            MUST(cudaGetLastError());
            return on_host(some, count);
        };
        std::vector<float> hs = picked(spot), hx = picked(strike), ht = picked(years), calls(count), puts(count);
        auto normal = [](double d) { return 0.5 * std::erfc(-d * 0.70710678118654752440); };
        for (int i = 0; i < count; i++) {
            double s = hs[i], x = hx[i], t = ht[i], v = VOLATILITY, r = RATE, root = std::sqrt(t);
            double d1 = (std::log(s / x) + (r + 0.5 * v * v) * t) / (v * root), d2 = d1 - v * root;
            double discount = std::exp(-r * t), n1 = normal(d1), n2 = normal(d2);
            calls[i] = float(s * n1 - x * discount * n2);
            puts[i] = float(x * discount * (1 - n2) - s * (1 - n1));
        }
        auto options = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(call, 0xA5, n * sizeof(float)));
            MUST(cudaMemset(put, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            pick_every<<<grid, 256>>>(some, call, count, step, n);
            check(name, some, calls, 1e-3);
            pick_every<<<grid, 256>>>(some, put, count, step, n);
            check(name, some, puts, 1e-3);
        };
        options("k120a", [&] { k120a<<<n / 256, 256>>>(call, put, spot, strike, years, RATE, VOLATILITY, n); });
        options("k120b", [&] { k120b<<<n / 256, 256>>>(call, put, spot, strike, years, RATE, VOLATILITY, n); });
        options("k120c", [&] { k120c<<<n / 256, 256>>>(call, put, spot, strike, years, RATE, VOLATILITY, n); });
        options("k120d", [&] {
            k120d<<<n / 1024, 256>>>((float4 *)call, (float4 *)put, (const float4 *)spot, (const float4 *)strike,
                                     (const float4 *)years, RATE, VOLATILITY, n / 4);
        });
        for (float *p : {spot, strike, years, call, put, some})
            MUST(cudaFree(p));
    }

    const int rows = ROWS, columns = COLUMNS, step = 61, count = (rows - 1) / step + 1;
    float *a = input<float>((size_t)rows * columns, 1204, -1.0, 1.0), *x = input<float>(columns, 1205, -1.0, 1.0);
    float *y = output<float>(rows), *some = output<float>(count);
    std::vector<float> hx = on_host(x, columns), sampled((size_t)count * columns), want(count), all;
    // Row i of the sample is row (rows - 1) % step + i * step of the matrix.
    const int first = (rows - 1) % step;
    const size_t line = columns * sizeof(float);
    MUST(cudaMemcpy2D(sampled.data(), line, a + (size_t)first * columns, step * line, line, count,
                      cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++)
            sum += double(sampled[(size_t)i * columns + j]) * hx[j];
        want[count - 1 - i] = float(sum);
    }
    auto product = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, rows * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        pick_every<<<(count + 255) / 256, 256>>>(some, y, count, step, rows);
        check(name, some, want, 1e-4);
        if (all.empty())
            all = on_host(y, rows);
        check(name, y, all, 1e-4);
    };
    product("k120e", [&] { k120e<<<rows / 256, 256>>>(y, a, x, rows, columns); });
    product("k120f", [&] { k120f<<<rows / 256, 256>>>(y, a, x, rows, columns); });
    product("k120g", [&] { k120g<<<rows, 256>>>(y, a, x, rows, columns); });
    product("k120h", [&] { k120h<<<rows / 8, 256>>>(y, a, x, rows, columns); });
    return 0;
}
