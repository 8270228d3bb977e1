// Hurricane records: distance of every record from a place, and the record nearest to a place.
#include "../harness.h"
#include <algorithm>
#include <cstring>

struct Record {
    int number;
    short year, month;
    float lat, lng;
    float wind, pressure;
    int name[2];
};

constexpr size_t N = 32 << 20;
typedef unsigned long long Key; // bits of the distance, then the record's number

__global__ void make_records(Record *records, const float *lat, const float *lng)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < N; i += (size_t)gridDim.x * blockDim.x)
        records[i] = Record{(int)i, (short)(1950 + i % 70), (short)(1 + i % 12), lat[i], lng[i], 60.f, 1000.f, {0, 0}};
}

__device__ float distance_to(float lat, float lng, float2 place)
{
    float dy = lat - place.x, dx = lng - place.y;
    return sqrtf(dy * dy + dx * dx);
}

// Each thread takes four records, a grid's width apart.
__global__ void k279a(const Record *__restrict__ records, float *__restrict__ out, float2 place)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++)
        out[i + k * (N / 4)] = distance_to(records[i + k * (N / 4)].lat, records[i + k * (N / 4)].lng, place);
}

__global__ void k279b(const float *__restrict__ lat, const float *__restrict__ lng, float *__restrict__ out, float2 place)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 4; k++)
        out[i + k * (N / 4)] = distance_to(lat[i + k * (N / 4)], lng[i + k * (N / 4)], place);
}

__global__ void k279c(const float4 *__restrict__ lat, const float4 *__restrict__ lng, float4 *__restrict__ out, float2 place)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    float4 y = lat[i], x = lng[i];
    out[i] = make_float4(distance_to(y.x, x.x, place), distance_to(y.y, x.y, place), distance_to(y.z, x.z, place),
                         distance_to(y.w, x.w, place));
}

__device__ Key key_of(float lat, float lng, float2 place, size_t i)
{
    return (Key)__float_as_uint(distance_to(lat, lng, place)) << 32 | (unsigned)i;
}

__device__ void block_tree(Key mine, Key *nearest)
{
    __shared__ Key keys[256];
    keys[threadIdx.x] = mine;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            keys[threadIdx.x] = min(keys[threadIdx.x], keys[threadIdx.x + s]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicMin(nearest, keys[0]);
}

__global__ void k279d(const float *__restrict__ lat, const float *__restrict__ lng, float2 place, Key *nearest)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    block_tree(key_of(lat[i], lng[i], place, i), nearest);
}

constexpr int EACH = 64;

__global__ void k279e(const float *__restrict__ lat, const float *__restrict__ lng, float2 place, Key *nearest)
{
    size_t i0 = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * EACH;
    Key best = ~0ull;
#pragma unroll 8
    for (int k = 0; k < EACH; k++)
        best = min(best, key_of(lat[i0 + k], lng[i0 + k], place, i0 + k));
    block_tree(best, nearest);
}

__global__ void k279f(const float *__restrict__ lat, const float *__restrict__ lng, float2 place, Key *nearest)
{
    size_t i0 = blockIdx.x * (size_t)blockDim.x * EACH + threadIdx.x;
    Key best = ~0ull;
#pragma unroll 8
    for (int k = 0; k < EACH; k++)
        best = min(best, key_of(lat[i0 + k * 256], lng[i0 + k * 256], place, i0 + k * 256));
    block_tree(best, nearest);
}

__global__ void k279g(const float *__restrict__ lat, const float *__restrict__ lng, float2 place, Key *nearest)
{
    __shared__ Key keys[8];
    size_t i0 = blockIdx.x * (size_t)blockDim.x * EACH + threadIdx.x;
    Key best = ~0ull;
#pragma unroll 8
    for (int k = 0; k < EACH; k++)
        best = min(best, key_of(lat[i0 + k * 256], lng[i0 + k * 256], place, i0 + k * 256));
    for (int s = 16; s > 0; s /= 2)
        best = min(best, __shfl_xor_sync(0xffffffffu, best, s));
    if (threadIdx.x % 32 == 0)
        keys[threadIdx.x / 32] = best;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            best = min(best, keys[w]);
        atomicMin(nearest, best);
    }
}

int main()
{
    float *lat = input<float>(N, 1, 7, 70), *lng = input<float>(N, 2, 0, 358), *out = output<float>(N);
    Record *records = output<Record>(N);
    make_records<<<1056, 256>>>(records, lat, lng);
    MUST(cudaDeviceSynchronize());
    float2 place = make_float2(30.f, 90.f);
    std::vector<float> y = on_host(lat, N), x = on_host(lng, N);

    k279a<<<N / 1024, 256>>>(records, out, place);
    MUST(cudaDeviceSynchronize());
    std::vector<float> first = on_host(out, N);
    for (size_t i = 0; i < N; i += 101) {
        double want = std::hypot((double)y[i] - place.x, (double)x[i] - place.y);
        if (std::fabs(first[i] - want) > 1e-4 * (1 + want))
            return std::printf("k279a: record %zu is %g, not %g\n", i, first[i], want), 2;
    }
    check("k279a", out, first, 0);
    MUST(cudaMemset(out, 0xA5, N * 4));
    k279b<<<N / 1024, 256>>>(lat, lng, out, place);
    check("k279b", out, first, 1e-6);
    MUST(cudaMemset(out, 0xA5, N * 4));
    k279c<<<N / 1024, 256>>>((const float4 *)lat, (const float4 *)lng, (float4 *)out, place);
    check("k279c", out, first, 1e-6);

    size_t at = std::min_element(first.begin(), first.end()) - first.begin();
    float least = first[at];
    unsigned bits;
    memcpy(&bits, &least, 4);
    std::vector<Key> want{(Key)bits << 32 | at};
    Key *nearest = output<Key>(1);
    auto reset = [&] { MUST(cudaMemset(nearest, 0xFF, sizeof(Key))); };
    auto verify = [&](const char *name) {
        check(name, nearest, want, 1e-7);
        if (on_host(nearest, 1)[0] != want[0])
            std::printf("%s: another record\n", name), std::exit(2);
    };
    reset();
    k279d<<<N / 256, 256>>>(lat, lng, place, nearest);
    verify("k279d");
    reset();
    k279e<<<N / (256 * EACH), 256>>>(lat, lng, place, nearest);
    verify("k279e");
    reset();
    k279f<<<N / (256 * EACH), 256>>>(lat, lng, place, nearest);
    verify("k279f");
    reset();
    k279g<<<N / (256 * EACH), 256>>>(lat, lng, place, nearest);
    verify("k279g");
}
