// Seismic traces with gain sorted into time slices, and linear prediction coefficients of many traces by the
// Levinson-Durbin recursion.
#include "../harness.h"

constexpr int TRACES = 8192, TIMES = 4096;
constexpr float RATE = 2.0f / TIMES; // of the exponential gain, per sample

// traces: [trace][time], slices: [time][trace]
__global__ void k251a(const float *__restrict__ traces, float *__restrict__ slices)
{
    __shared__ float tile[32][32];
    int time = blockIdx.x * 32 + threadIdx.x, trace = blockIdx.y * 32;
    float gain = expf(RATE * time);
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        tile[threadIdx.y + r][threadIdx.x] = gain * traces[(size_t)(trace + threadIdx.y + r) * TIMES + time];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        slices[(size_t)(blockIdx.x * 32 + threadIdx.y + r) * TRACES + trace + threadIdx.x] =
            tile[threadIdx.x][threadIdx.y + r];
}

__global__ void k251b(const float *__restrict__ traces, float *__restrict__ slices)
{
    __shared__ float tile[32][32];
    int time = blockIdx.x * 32 + threadIdx.x, trace = blockIdx.y * 32;
    float gain = __expf(RATE * time);
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        tile[threadIdx.y + r][threadIdx.x] = gain * traces[(size_t)(trace + threadIdx.y + r) * TIMES + time];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        slices[(size_t)(blockIdx.x * 32 + threadIdx.y + r) * TRACES + trace + threadIdx.x] =
            tile[threadIdx.x][threadIdx.y + r];
}

__global__ void k251c(const float *__restrict__ traces, float *__restrict__ slices)
{
    __shared__ float tile[32][33];
    int time = blockIdx.x * 32 + threadIdx.x, trace = blockIdx.y * 32;
    float gain = expf(RATE * time);
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        tile[threadIdx.y + r][threadIdx.x] = gain * traces[(size_t)(trace + threadIdx.y + r) * TIMES + time];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        slices[(size_t)(blockIdx.x * 32 + threadIdx.y + r) * TRACES + trace + threadIdx.x] =
            tile[threadIdx.x][threadIdx.y + r];
}

__global__ void k251d(const float *__restrict__ traces, float *__restrict__ slices)
{
    __shared__ float tile[32][33];
    int time = blockIdx.x * 32 + threadIdx.x, trace = blockIdx.y * 32;
    float gain = __expf(RATE * time);
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        tile[threadIdx.y + r][threadIdx.x] = gain * traces[(size_t)(trace + threadIdx.y + r) * TIMES + time];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < 32; r += 8)
        slices[(size_t)(blockIdx.x * 32 + threadIdx.y + r) * TRACES + trace + threadIdx.x] =
            tile[threadIdx.x][threadIdx.y + r];
}

constexpr int ORDER = 8, MOST = 16;

// Autocorrelations of a window with what the acquisition says of it.
struct Window {
    float header[16];
    float lag[MOST];
};

// coefficients: [order][window]
__global__ void k251e(const Window *__restrict__ windows, int order, float *__restrict__ coefficients, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float r[MOST], a[MOST], b[MOST];
    for (int k = 0; k <= order; k++)
        r[k] = windows[i].lag[k];
    float error = r[0];
    for (int m = 0; m < order; m++) {
        float sum = r[m + 1];
        for (int k = 0; k < m; k++)
            sum -= a[k] * r[m - k];
        float reflection = sum / error;
        for (int k = 0; k < m; k++)
            b[k] = a[k] - reflection * a[m - 1 - k];
        for (int k = 0; k < m; k++)
            a[k] = b[k];
        a[m] = reflection;
        error *= 1.0f - reflection * reflection;
    }
    for (int k = 0; k < order; k++)
        coefficients[(size_t)k * count + i] = a[k];
}

// lags: [lag][window]
__global__ void k251f(const float *__restrict__ lags, int order, float *__restrict__ coefficients, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float r[MOST], a[MOST], b[MOST];
    for (int k = 0; k <= order; k++)
        r[k] = lags[(size_t)k * count + i];
    float error = r[0];
    for (int m = 0; m < order; m++) {
        float sum = r[m + 1];
        for (int k = 0; k < m; k++)
            sum -= a[k] * r[m - k];
        float reflection = sum / error;
        for (int k = 0; k < m; k++)
            b[k] = a[k] - reflection * a[m - 1 - k];
        for (int k = 0; k < m; k++)
            a[k] = b[k];
        a[m] = reflection;
        error *= 1.0f - reflection * reflection;
    }
    for (int k = 0; k < order; k++)
        coefficients[(size_t)k * count + i] = a[k];
}

template <int order> __device__ __forceinline__ void levinson(const float (&r)[order + 1], float (&a)[order])
{
    float b[order], error = r[0];
#pragma unroll
    for (int m = 0; m < order; m++) {
        float sum = r[m + 1];
#pragma unroll
        for (int k = 0; k < m; k++)
            sum -= a[k] * r[m - k];
        float reflection = sum / error;
#pragma unroll
        for (int k = 0; k < m; k++)
            b[k] = a[k] - reflection * a[m - 1 - k];
#pragma unroll
        for (int k = 0; k < m; k++)
            a[k] = b[k];
        a[m] = reflection;
        error *= 1.0f - reflection * reflection;
    }
}

__global__ void k251g(const float *__restrict__ lags, float *__restrict__ coefficients, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float r[ORDER + 1], a[ORDER];
#pragma unroll
    for (int k = 0; k <= ORDER; k++)
        r[k] = lags[(size_t)k * count + i];
    levinson<ORDER>(r, a);
#pragma unroll
    for (int k = 0; k < ORDER; k++)
        coefficients[(size_t)k * count + i] = a[k];
}

int main()
{
    const size_t n = (size_t)TRACES * TIMES;
    float *traces = input<float>(n, 1, -1.0, 1.0), *slices = output<float>(n);
    std::vector<float> host = on_host(traces, n), first(4 * TRACES);
    for (int time = 0; time < 4; time++)
        for (int trace = 0; trace < TRACES; trace++)
            first[time * TRACES + trace] = expf(RATE * time) * host[(size_t)trace * TIMES + time];
    dim3 grid(TIMES / 32, TRACES / 32), block(32, 8);
    auto poison = [&] { MUST(cudaMemset(slices, 0xA5, n * sizeof(float))); };
    k251a<<<grid, block>>>(traces, slices);
    check("k251a", slices, first, 1e-5);
    host = on_host(slices, n);
    poison();
    k251b<<<grid, block>>>(traces, slices);
    check("k251b", slices, host, 1e-5);
    poison();
    k251c<<<grid, block>>>(traces, slices);
    check("k251c", slices, host, 1e-5);
    poison();
    k251d<<<grid, block>>>(traces, slices);
    check("k251d", slices, host, 1e-5);
    MUST(cudaFree(traces));
    MUST(cudaFree(slices));

    const int count = 1 << 22;
    float *raw = input<float>((size_t)count * 32, 2, -0.08, 0.08);
    std::vector<float> records = on_host(raw, (size_t)count * 32);
    for (size_t i = 0; i < (size_t)count; i++)
        records[32 * i + 16] = 1.0f; // lag 0 of the normalised autocorrelation
    MUST(cudaMemcpy(raw, records.data(), records.size() * sizeof(float), cudaMemcpyHostToDevice));
    std::vector<float> by_lag((size_t)(ORDER + 1) * count);
    for (int i = 0; i < count; i++)
        for (int k = 0; k <= ORDER; k++)
            by_lag[(size_t)k * count + i] = records[32 * (size_t)i + 16 + k];
    float *lags = on_device(by_lag);
    // the first coefficient of some windows, from the normal equations
    float *coefficients = output<float>((size_t)ORDER * count);
    std::vector<float> some(1000);
    for (int i = 0; i < 1000; i++) {
        const float *r = &records[32 * (size_t)i + 16];
        double m[ORDER][ORDER + 1];
        for (int p = 0; p < ORDER; p++) {
            for (int q = 0; q < ORDER; q++)
                m[p][q] = r[abs(p - q)];
            m[p][ORDER] = r[p + 1];
        }
        for (int p = 0; p < ORDER; p++)
            for (int q = 0; q < ORDER; q++)
                if (q != p) {
                    double f = m[q][p] / m[p][p];
                    for (int s = p; s <= ORDER; s++)
                        m[q][s] -= f * m[p][s];
                }
        some[i] = float(m[0][ORDER] / m[0][0]);
    }
    const Window *windows = reinterpret_cast<const Window *>(raw);
    auto again = [&] { MUST(cudaMemset(coefficients, 0xA5, (size_t)ORDER * count * sizeof(float))); };
    k251e<<<count / 256, 256>>>(windows, ORDER, coefficients, count);
    check("k251e", coefficients, some, 1e-4);
    host = on_host(coefficients, (size_t)ORDER * count);
    again();
    k251f<<<count / 256, 256>>>(lags, ORDER, coefficients, count);
    check("k251f", coefficients, host, 1e-4);
    again();
    k251g<<<count / 256, 256>>>(lags, coefficients, count);
    check("k251g", coefficients, host, 1e-4);
}
