// Bollinger bands (mean and two standard deviations of the last 20 closing prices) of 16384 shares over 4096 days, and
// the smallest and the largest value of every zone of 1024 rows of a database column.
#include "../harness.h"

#include <algorithm>
#include <climits>
#include <functional>

const int DAYS = 4096, SHARES = 16384, WINDOW = 20;

__global__ void k187a(float *upper, float *lower, const float *price, int days, int window)
{
    int day = blockIdx.x * blockDim.x + threadIdx.x;
    int at = blockIdx.y * days + day;
    if (day >= days)
        return;
    float high = 0.0f, low = 0.0f;
    if (day >= window - 1) {
        float sum = 0.0f, squares = 0.0f;
        for (int j = 0; j < window; j++)
            sum += price[at - j];
        float mean = sum / window;
        for (int j = 0; j < window; j++) {
            float d = price[at - j] - mean;
            squares += d * d;
        }
        float sd = sqrtf(squares / window);
        high = mean + 2.0f * sd;
        low = mean - 2.0f * sd;
    }
    upper[at] = high;
    lower[at] = low;
}

const int LONGEST = 64;

__global__ void k187b(float *upper, float *lower, const float *price, int days, int window)
{
    __shared__ float tile[256 + LONGEST];
    int day = blockIdx.x * 256 + threadIdx.x;
    int at = blockIdx.y * days + day;
    int here = threadIdx.x + LONGEST;
    tile[here] = price[at];
    if (threadIdx.x < LONGEST)
        tile[threadIdx.x] = day >= LONGEST ? price[at - LONGEST] : 0.0f;
    __syncthreads();
    float high = 0.0f, low = 0.0f;
    if (day >= window - 1) {
        float sum = 0.0f, squares = 0.0f;
        for (int j = 0; j < window; j++)
            sum += tile[here - j];
        float mean = sum / window;
        for (int j = 0; j < window; j++) {
            float d = tile[here - j] - mean;
            squares += d * d;
        }
        float sd = sqrtf(squares / window);
        high = mean + 2.0f * sd;
        low = mean - 2.0f * sd;
    }
    upper[at] = high;
    lower[at] = low;
}

// Four days for each thread.
__global__ void __launch_bounds__(256) k187c(float *upper, float *lower, const float *price, int days)
{
    __shared__ __align__(16) float tile[WINDOW + 1024];
    int tid = threadIdx.x, first = blockIdx.x * 1024;
    size_t at = (size_t)blockIdx.y * days + first + tid * 4;
    *reinterpret_cast<float4 *>(&tile[WINDOW + tid * 4]) = *reinterpret_cast<const float4 *>(&price[at]);
    if (tid < WINDOW / 4) {
        float4 before = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (first > 0)
            before = *reinterpret_cast<const float4 *>(&price[at - WINDOW]);
        *reinterpret_cast<float4 *>(&tile[tid * 4]) = before;
    }
    __syncthreads();
    float v[WINDOW + 4], high[4], low[4];
#pragma unroll
    for (int j = 0; j < WINDOW + 4; j += 4)
        *reinterpret_cast<float4 *>(&v[j]) = *reinterpret_cast<const float4 *>(&tile[tid * 4 + j]);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float sum = 0.0f, squares = 0.0f;
#pragma unroll
        for (int j = 1; j <= WINDOW; j++)
            sum += v[i + j];
        float mean = sum * (1.0f / WINDOW);
#pragma unroll
        for (int j = 1; j <= WINDOW; j++) {
            float d = v[i + j] - mean;
            squares += d * d;
        }
        float sd = sqrtf(squares * (1.0f / WINDOW));
        bool full = first + tid * 4 + i >= WINDOW - 1;
        high[i] = full ? mean + 2.0f * sd : 0.0f;
        low[i] = full ? mean - 2.0f * sd : 0.0f;
    }
    *reinterpret_cast<float4 *>(&upper[at]) = make_float4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<float4 *>(&lower[at]) = make_float4(low[0], low[1], low[2], low[3]);
}

const int ZONE = 1024;

__global__ void k187d(int2 *zones, const int *column, int count)
{
    int z = blockIdx.x * blockDim.x + threadIdx.x;
    if (z >= count)
        return;
    int low = INT_MAX, high = INT_MIN;
    for (int r = 0; r < ZONE; r++) {
        int value = column[z * ZONE + r];
        low = min(low, value);
        high = max(high, value);
    }
    zones[z] = make_int2(low, high);
}

__global__ void k187e(int2 *zones, const int *column)
{
    __shared__ int lows[256], highs[256];
    int tid = threadIdx.x, z = blockIdx.x;
    int low = INT_MAX, high = INT_MIN;
    for (int r = tid; r < ZONE; r += 256) {
        int value = column[z * ZONE + r];
        low = min(low, value);
        high = max(high, value);
    }
    lows[tid] = low;
    highs[tid] = high;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0) {
            lows[tid] = min(lows[tid], lows[tid + s]);
            highs[tid] = max(highs[tid], highs[tid + s]);
        }
        __syncthreads();
    }
    if (tid == 0)
        zones[z] = make_int2(lows[0], highs[0]);
}

__global__ void k187f(int2 *zones, const int *column)
{
    __shared__ int lows[256], highs[256];
    int tid = threadIdx.x, z = blockIdx.x;
    int low = INT_MAX, high = INT_MIN;
    for (int r = tid; r < ZONE; r += 256) {
        int value = column[z * ZONE + r];
        low = min(low, value);
        high = max(high, value);
    }
    lows[tid] = low;
    highs[tid] = high;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s) {
            lows[tid] = min(lows[tid], lows[tid + s]);
            highs[tid] = max(highs[tid], highs[tid + s]);
        }
        __syncthreads();
    }
    if (tid == 0)
        zones[z] = make_int2(lows[0], highs[0]);
}

__device__ inline void take(int &low, int &high, int4 v)
{
    low = min(low, min(min(v.x, v.y), min(v.z, v.w)));
    high = max(high, max(max(v.x, v.y), max(v.z, v.w)));
}

__global__ void k187g(int2 *zones, const int4 *column, int count)
{
    int z = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (z >= count)
        return;
    int4 v[ZONE / 128];
#pragma unroll
    for (int r = 0; r < ZONE / 128; r++)
        v[r] = column[z * (ZONE / 4) + r * 32 + lane];
    int low = INT_MAX, high = INT_MIN;
#pragma unroll
    for (int r = 0; r < ZONE / 128; r++)
        take(low, high, v[r]);
    low = __reduce_min_sync(0xffffffffu, low);
    high = __reduce_max_sync(0xffffffffu, high);
    if (lane == 0)
        zones[z] = make_int2(low, high);
}

__global__ void k187h(int2 *zones, const int4 *__restrict__ column, int count)
{
    int z = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (z >= count)
        return;
    int4 v[ZONE / 128];
#pragma unroll
    for (int r = 0; r < ZONE / 128; r++)
        v[r] = __ldg(&column[z * (ZONE / 4) + r * 32 + lane]);
    int low = INT_MAX, high = INT_MIN;
#pragma unroll
    for (int r = 0; r < ZONE / 128; r++)
        take(low, high, v[r]);
    low = __reduce_min_sync(0xffffffffu, low);
    high = __reduce_max_sync(0xffffffffu, high);
    if (lane == 0)
        zones[z] = make_int2(low, high);
}

int main()
{
    const size_t n = (size_t)DAYS * SHARES;
    float *price = input<float>(n, 1871, 90.0, 110.0), *upper = output<float>(n), *lower = output<float>(n);
    // Every 131st share.
    const int every = 131, chosen = (SHARES - 1) / every + 1;
    const size_t row = DAYS * sizeof(float), picked = (size_t)chosen * DAYS;
    float *some = output<float>(2 * picked);
    MUST(cudaMemcpy2D(some, row, price, every * row, row, chosen, cudaMemcpyDeviceToDevice));
    std::vector<float> series = on_host(some, picked), want(2 * picked, 0.0f);
    for (int s = 0; s < chosen; s++)
        for (int day = WINDOW - 1; day < DAYS; day++) {
            const float *now = &series[(size_t)s * DAYS + day];
            double sum = 0, squares = 0;
            for (int j = 0; j < WINDOW; j++)
                sum += now[-j];
            double mean = sum / WINDOW;
            for (int j = 0; j < WINDOW; j++)
                squares += (now[-j] - mean) * (now[-j] - mean);
            double sd = std::sqrt(squares / WINDOW);
            want[(size_t)s * DAYS + day] = float(mean + 2 * sd);
            want[picked + (size_t)s * DAYS + day] = float(mean - 2 * sd);
        }
    auto bands = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(upper, 0xA5, n * sizeof(float)));
        MUST(cudaMemset(lower, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, row, upper, every * row, row, chosen, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy2D(some + picked, row, lower, every * row, row, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-5);
    };
    dim3 single(DAYS / 256, SHARES), fours(DAYS / 1024, SHARES);
    bands("k187a", [&] { k187a<<<single, 256>>>(upper, lower, price, DAYS, WINDOW); });
    bands("k187b", [&] { k187b<<<single, 256>>>(upper, lower, price, DAYS, WINDOW); });
    bands("k187c", [&] { k187c<<<fours, 256>>>(upper, lower, price, DAYS); });

    const int rows = 128 << 20, count = rows / ZONE, skip = 61, taken = (count - 1) / skip + 1;
    int *column = input<int>(rows, 1872, -1e9, 1e9), *bounds = output<int>((size_t)count * 2);
    int *sample = output<int>((size_t)taken * ZONE), *part = output<int>((size_t)taken * 2);
    const size_t zone_bytes = ZONE * sizeof(int);
    MUST(cudaMemcpy2D(sample, zone_bytes, column, skip * zone_bytes, zone_bytes, taken, cudaMemcpyDeviceToDevice));
    std::vector<int> values = on_host(sample, (size_t)taken * ZONE), limits((size_t)taken * 2);
    for (int z = 0; z < taken; z++) {
        auto both = std::minmax_element(values.begin() + (size_t)z * ZONE, values.begin() + (size_t)(z + 1) * ZONE);
        limits[z * 2] = *both.first;
        limits[z * 2 + 1] = *both.second;
    }
    auto bound = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(bounds, 0xA5, (size_t)count * 8));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(part, 8, bounds, skip * 8, 8, taken, cudaMemcpyDeviceToDevice));
        check(name, part, limits, 0.0);
    };
    int2 *zones = reinterpret_cast<int2 *>(bounds);
    const int4 *fourfold = reinterpret_cast<const int4 *>(column);
    bound("k187d", [&] { k187d<<<count / 256, 256>>>(zones, column, count); });
    bound("k187e", [&] { k187e<<<count, 256>>>(zones, column); });
    bound("k187f", [&] { k187f<<<count, 256>>>(zones, column); });
    bound("k187g", [&] { k187g<<<count / 8, 256>>>(zones, fourfold, count); });
    bound("k187h", [&] { k187h<<<count / 8, 256>>>(zones, fourfold, count); });
    return 0;
}
