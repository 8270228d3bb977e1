// Sums by key of a table of sales, and sums of consecutive segments.
#include "../harness.h"

__global__ void k26a(const int *key, const int *quantity, int *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&total[key[i]], quantity[i]);
}

__global__ void k26b(const int *key, const int *quantity, int *total, int n, int groups)
{
    extern __shared__ int local[];
    for (int g = threadIdx.x; g < groups; g += blockDim.x)
        local[g] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[key[i]], quantity[i]);
    __syncthreads();
    for (int g = threadIdx.x; g < groups; g += blockDim.x)
        atomicAdd(&total[g], local[g]);
}

__global__ void k26c(const int4 *key, const int4 *quantity, int *total, int n, int groups)
{
    extern __shared__ int local[];
    for (int g = threadIdx.x; g < groups; g += blockDim.x)
        local[g] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int4 k = key[i], q = quantity[i];
        atomicAdd(&local[k.x], q.x);
        atomicAdd(&local[k.y], q.y);
        atomicAdd(&local[k.z], q.z);
        atomicAdd(&local[k.w], q.w);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < groups; g += blockDim.x)
        atomicAdd(&total[g], local[g]);
}

__global__ void k26d(const double *__restrict__ value, const int *__restrict__ start, double *__restrict__ sum,
                     int segments)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= segments)
        return;
    double acc = 0.0;
    for (int i = start[s]; i < start[s + 1]; i++)
        acc += value[i];
    sum[s] = acc;
}

template <int LANES>
__device__ void sum_segment(const double *__restrict__ value, const int *__restrict__ start, double *__restrict__ sum,
                            int segments)
{
    int s = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    int lane = threadIdx.x % LANES;
    double acc = 0.0;
    if (s < segments) {
        int end = start[s + 1];
        for (int i = start[s] + lane; i < end; i += LANES)
            acc += value[i];
    }
    for (int offset = LANES / 2; offset > 0; offset /= 2)
        acc += __shfl_down_sync(0xffffffffu, acc, offset, LANES);
    if (s < segments && lane == 0)
        sum[s] = acc;
}

__global__ void k26e(const double *__restrict__ value, const int *__restrict__ start, double *__restrict__ sum,
                     int segments)
{
    sum_segment<32>(value, start, sum, segments);
}

__global__ void k26f(const double *__restrict__ value, const int *__restrict__ start, double *__restrict__ sum,
                     int segments)
{
    sum_segment<8>(value, start, sum, segments);
}

int main()
{
    const int n = 24000000, groups = 1000;
    int *key = input<int>(n, 261, 0, groups), *quantity = input<int>(n, 262, 0, 100);
    std::vector<int> want(groups, 0);
    {
        std::vector<int> k = on_host(key, n), q = on_host(quantity, n);
        for (int i = 0; i < n; i++)
            want[k[i]] += q[i];
    }
    int *total = zeroed<int>(groups);
    k26a<<<(n + 255) / 256, 256>>>(key, quantity, total, n);
    check("k26a", total, want, 0.0);

    total = zeroed<int>(groups);
    k26b<<<132 * 8, 256, groups * sizeof(int)>>>(key, quantity, total, n, groups);
    check("k26b", total, want, 0.0);

    total = zeroed<int>(groups);
    k26c<<<132 * 8, 256, groups * sizeof(int)>>>(reinterpret_cast<int4 *>(key), reinterpret_cast<int4 *>(quantity),
                                                 total, n / 4, groups);
    check("k26c", total, want, 0.0);

    const int segments = 400000;
    std::vector<int> bounds(segments + 1, 0);
    for (int s = 0; s < segments; s++)
        bounds[s + 1] = bounds[s] + 20 + int(scrambled(s, 263) % 81);
    int *start = on_device(bounds);
    double *value = input<double>(bounds[segments], 264, -1.0, 1.0);
    std::vector<double> sums(segments, 0.0);
    {
        std::vector<double> v = on_host(value, bounds[segments]);
        for (int s = 0; s < segments; s++)
            for (int i = bounds[s]; i < bounds[s + 1]; i++)
                sums[s] += v[i];
    }
    double *sum = output<double>(segments);
    k26d<<<(segments + 127) / 128, 128>>>(value, start, sum, segments);
    check("k26d", sum, sums, 1e-12);

    sum = output<double>(segments);
    k26e<<<(segments + 7) / 8, 256>>>(value, start, sum, segments);
    check("k26e", sum, sums, 1e-12);

    sum = output<double>(segments);
    k26f<<<(segments + 31) / 32, 256>>>(value, start, sum, segments);
    check("k26f", sum, sums, 1e-12);
    return 0;
}
