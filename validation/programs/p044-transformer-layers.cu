// Layers of a transformer: softmax of rows, layer normalisation, lookup of embeddings, rotary position embedding.
#include "../harness.h"

#include <algorithm>
#include <cfloat>

__device__ __forceinline__ float warp_sum(float v)
{
#pragma unroll
    for (int d = 16; d >= 1; d /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

__device__ __forceinline__ float warp_max(float v)
{
#pragma unroll
    for (int d = 16; d >= 1; d /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

template <int THREADS> __device__ float block_sum(float v)
{
    constexpr int WARPS = THREADS / 32;
    __shared__ float part[WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    v = warp_sum(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    return warp_sum(lane < WARPS ? part[lane] : 0.0f);
}

template <int THREADS> __device__ float block_max(float v)
{
    constexpr int WARPS = THREADS / 32;
    __shared__ float part[WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    v = warp_max(v);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    return warp_max(lane < WARPS ? part[lane] : -FLT_MAX);
}

__global__ void k44a(const float *x, float *y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : -FLT_MAX;
    float top = block_max<256>(v);
    float e = i < n ? expf(v - top) : 0.0f;
    float sum = block_sum<256>(e);
    if (i < n)
        y[i] = e / sum;
}

const int COLS = 256, PACKS = COLS / 32 / 2;

__global__ void k44b(const float *x, float *y, int rows)
{
    const int lane = threadIdx.x;
    float v[2 * PACKS];
    for (int row = blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += gridDim.x * blockDim.y) {
        const float2 *from = reinterpret_cast<const float2 *>(x + (size_t)row * COLS);
        float2 *to = reinterpret_cast<float2 *>(y + (size_t)row * COLS);
        float top = -FLT_MAX;
#pragma unroll
        for (int p = 0; p < PACKS; p++) {
            float2 pair = from[p * 32 + lane];
            v[2 * p] = pair.x;
            v[2 * p + 1] = pair.y;
            top = fmaxf(top, fmaxf(pair.x, pair.y));
        }
        top = warp_max(top);
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < 2 * PACKS; i++) {
            v[i] = expf(v[i] - top);
            sum += v[i];
        }
        sum = warp_sum(sum);
#pragma unroll
        for (int p = 0; p < PACKS; p++)
            to[p * 32 + lane] = make_float2(v[2 * p] / sum, v[2 * p + 1] / sum);
    }
}

__global__ void k44c(const half *x, half *y, float g, float b, int n, int k)
{
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ float mean, scale;
    float v = i < n * k ? __half2float(x[i]) : 0.0f;
    float sum = block_sum<1024>(v);
    if (t == 0)
        mean = sum / k;
    __syncthreads();
    float square = (v - mean) * (v - mean);
    square = block_sum<1024>(square);
    if (t == 0)
        scale = rsqrtf(square / k + 1e-5f);
    __syncthreads();
    if (i < n * k)
        y[i] = __float2half(fmaf((v - mean) * scale, g, b));
}

__global__ void k44d(const half *x, half *y, float g, float b, int n, int k)
{
    const int t = threadIdx.x;
    const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    __shared__ float mean, scale;
    __align__(16) half in[8];
    __align__(16) half out[8];
    *reinterpret_cast<float4 *>(in) = *reinterpret_cast<const float4 *>(&x[i]);
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; j++)
        sum += i + j < n * k ? __half2float(in[j]) : 0.0f;
    sum = block_sum<128>(sum);
    if (t == 0)
        mean = sum / k;
    __syncthreads();
    float square = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; j++) {
        float v = __half2float(in[j]) - mean;
        square += i + j < n * k ? v * v : 0.0f;
    }
    square = block_sum<128>(square);
    if (t == 0)
        scale = rsqrtf(square / k + 1e-5f);
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 8; j++)
        out[j] = __float2half(fmaf((__half2float(in[j]) - mean) * scale, g, b));
    if (i + 7 < n * k)
        *reinterpret_cast<float4 *>(&y[i]) = *reinterpret_cast<float4 *>(out);
}

__global__ void k44e(const int *token, half *table, half *y, int size)
{
    int t = threadIdx.x * 8;
    int from = token[blockIdx.x] * size;
    int to = blockIdx.x * size;
    y[to + t] = table[from + t];
    y[to + t + 1] = table[from + t + 1];
    y[to + t + 2] = table[from + t + 2];
    y[to + t + 3] = table[from + t + 3];
    y[to + t + 4] = table[from + t + 4];
    y[to + t + 5] = table[from + t + 5];
    y[to + t + 6] = table[from + t + 6];
    y[to + t + 7] = table[from + t + 7];
}

__global__ void k44f(const int *token, half *table, half *y, int size)
{
    int t = threadIdx.x * 8;
    int from = token[blockIdx.x] * size;
    int to = blockIdx.x * size;
    *reinterpret_cast<float4 *>(&y[to + t]) = *reinterpret_cast<float4 *>(&table[from + t]);
}

const float BASE = 10000.0f;

__global__ void k44g(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float u = x[i * 2];
    float v = x[i * 2 + 1];
    int position = i / n;
    int pair = i % n;
    float frequency = 1.0f / powf(BASE, 2 * pair / (n * 2.0f));
    float s = sinf(position * frequency);
    float c = cosf(position * frequency);
    y[i * 2] = u * c - v * s;
    y[i * 2 + 1] = u * s + v * c;
}

__global__ void k44h(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float u = x[i * 2];
    float v = x[i * 2 + 1];
    int position = i / n;
    int pair = i % n;
    float frequency = __fdividef(1.0f, __powf(BASE, __fdividef(2 * pair, n * 2.0f)));
    float s = __sinf(position * frequency);
    float c = __cosf(position * frequency);
    y[i * 2] = u * c - v * s;
    y[i * 2 + 1] = u * s + v * c;
}

// Rows 0, step, 2 step ... of the result.
template <class T>
void check_rows(const char *kernel, const T *y, int rows, int width, int step, const std::vector<T> &want,
                double tolerance)
{
    const int count = (rows + step - 1) / step;
    T *picked = output<T>((size_t)count * width);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(picked, width * sizeof(T), y, (size_t)step * width * sizeof(T), width * sizeof(T), count,
                      cudaMemcpyDeviceToDevice));
    check(kernel, picked, want, tolerance);
    MUST(cudaFree(picked));
}

template <class T> std::vector<T> some_rows(const T *x, int rows, int width, int step)
{
    const int count = (rows + step - 1) / step;
    std::vector<T> host((size_t)count * width);
    MUST(cudaMemcpy2D(host.data(), width * sizeof(T), x, (size_t)step * width * sizeof(T), width * sizeof(T), count,
                      cudaMemcpyDeviceToHost));
    return host;
}

int main()
{
    {
        const int rows = 131072, step = 37;
        const size_t n = (size_t)rows * COLS;
        float *x = input<float>(n, 441, -4.0, 4.0);
        std::vector<float> want = some_rows(x, rows, COLS, step);
        for (size_t r = 0; r < want.size() / COLS; r++) {
            float *line = &want[r * COLS];
            float top = *std::max_element(line, line + COLS);
            double sum = 0.0;
            for (int j = 0; j < COLS; j++)
                sum += std::exp(double(line[j]) - top);
            for (int j = 0; j < COLS; j++)
                line[j] = float(std::exp(double(line[j]) - top) / sum);
        }
        float *y = output<float>(n);
        k44a<<<rows, COLS>>>(x, y, int(n));
        check_rows("k44a", y, rows, COLS, step, want, 1e-7);

        y = output<float>(n);
        k44b<<<rows / 4, dim3(32, 4)>>>(x, y, rows);
        check_rows("k44b", y, rows, COLS, step, want, 1e-7);
    }
    {
        const int rows = 65536, k = 1024, step = 51;
        const float g = 1.25f, b = 0.5f;
        const size_t n = (size_t)rows * k;
        half *x = input<half>(n, 442, -1.0, 1.0);
        std::vector<half> want = some_rows(x, rows, k, step);
        for (size_t r = 0; r < want.size() / k; r++) {
            half *line = &want[r * k];
            double sum = 0.0, square = 0.0;
            for (int j = 0; j < k; j++)
                sum += __half2float(line[j]);
            const double mean = sum / k;
            for (int j = 0; j < k; j++)
                square += (__half2float(line[j]) - mean) * (__half2float(line[j]) - mean);
            const double scale = 1.0 / std::sqrt(square / k + 1e-5);
            for (int j = 0; j < k; j++)
                line[j] = __float2half(float((__half2float(line[j]) - mean) * scale * g + b));
        }
        half *y = output<half>(n);
        k44c<<<rows, k>>>(x, y, g, b, rows, k);
        check_rows("k44c", y, rows, k, step, want, 3e-3);

        y = output<half>(n);
        k44d<<<rows, k / 8>>>(x, y, g, b, rows, k);
        check_rows("k44d", y, rows, k, step, want, 3e-3);
    }
    {
        const int tokens = 65536, words = 32000, size = 1024, step = 51;
        half *table = input<half>((size_t)words * size, 443, -1.0, 1.0);
        int *token = input<int>(tokens, 444, 0, words);
        std::vector<half> rows = on_host(table, (size_t)words * size), want;
        std::vector<int> chosen = on_host(token, tokens);
        for (int r = 0; r < tokens; r += step)
            want.insert(want.end(), rows.begin() + (size_t)chosen[r] * size,
                        rows.begin() + (size_t)(chosen[r] + 1) * size);
        half *y = output<half>((size_t)tokens * size);
        k44e<<<tokens, size / 8>>>(token, table, y, size);
        check_rows("k44e", y, tokens, size, step, want, 0.0);

        y = output<half>((size_t)tokens * size);
        k44f<<<tokens, size / 8>>>(token, table, y, size);
        check_rows("k44f", y, tokens, size, step, want, 0.0);
    }
    {
        const int tokens = 16384, pairs = 1024, step = 43;
        float *x = input<float>((size_t)tokens * pairs * 2, 445, -1.0, 1.0);
        std::vector<float> want = some_rows(x, tokens, pairs * 2, step);
        std::vector<double> frequency(pairs);
        for (int p = 0; p < pairs; p++)
            frequency[p] = std::pow(double(BASE), -double(p) / pairs);
        for (size_t r = 0; r < want.size() / (2 * pairs); r++)
            for (int p = 0; p < pairs; p++) {
                float *at = &want[(r * pairs + p) * 2];
                const double angle = double(r * step) * frequency[p], u = at[0], v = at[1];
                at[0] = float(u * std::cos(angle) - v * std::sin(angle));
                at[1] = float(u * std::sin(angle) + v * std::cos(angle));
            }
        float *y = output<float>((size_t)tokens * pairs * 2);
        k44g<<<tokens * pairs / 256, 256>>>(x, y, pairs);
        check_rows("k44g", y, tokens, pairs * 2, step, want, 3e-2);

        y = output<float>((size_t)tokens * pairs * 2);
        k44h<<<tokens * pairs / 256, 256>>>(x, y, pairs);
        check_rows("k44h", y, tokens, pairs * 2, step, want, 5e-2);
    }
    return 0;
}
