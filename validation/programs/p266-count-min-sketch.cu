// Count-min sketch (4 rows of 2048 counters) of the source addresses of network flows.
#include "../harness.h"

constexpr int FLOWS = 1 << 25, ROWS = 4, COUNTERS = 2048, TOTAL = ROWS * COUNTERS;

struct Flow {
    unsigned source, destination, ports, protocol, packets, bytes, first, last;
};

__host__ __device__ __forceinline__ unsigned long long hash64(unsigned key)
{
    unsigned long long h = key * 0x9E3779B97F4A7C15ull;
    h ^= h >> 29;
    return h * 0xBF58476D1CE4E5B9ull;
}

// counter of row r: (h1 + r h2) mod width
__device__ __forceinline__ void places_by_modulo(unsigned key, unsigned long long width, unsigned (&place)[ROWS])
{
    unsigned long long h = hash64(key);
    unsigned w = unsigned(width), h1 = unsigned((h >> 8) % width), h2 = unsigned(h >> 32) % w;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        place[r] = r * w + (h1 + r * h2) % w;
}

__device__ __forceinline__ void places_by_mask(unsigned key, unsigned width, unsigned (&place)[ROWS])
{
    unsigned long long h = hash64(key);
    unsigned mask = width - 1, h1 = unsigned(h >> 8), h2 = unsigned(h >> 32);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        place[r] = r * width + ((h1 + r * h2) & mask);
}

__global__ void k266a(const Flow *flows, unsigned *sketch, int n, unsigned long long width)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned place[ROWS];
        places_by_modulo(flows[i].source, width, place);
        for (int r = 0; r < ROWS; r++)
            atomicAdd(&sketch[place[r]], 1u);
    }
}

__device__ __forceinline__ void clear(unsigned *own)
{
    for (int c = threadIdx.x; c < TOTAL; c += blockDim.x)
        own[c] = 0;
    __syncthreads();
}

__device__ __forceinline__ void merge(const unsigned *own, unsigned *sketch)
{
    __syncthreads();
    for (int c = threadIdx.x; c < TOTAL; c += blockDim.x)
        if (own[c])
            atomicAdd(&sketch[c], own[c]);
}

__global__ void k266b(const Flow *flows, unsigned *sketch, int n, unsigned long long width)
{
    __shared__ unsigned own[TOTAL];
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned place[ROWS];
        places_by_modulo(flows[i].source, width, place);
        for (int r = 0; r < ROWS; r++)
            atomicAdd(&own[place[r]], 1u);
    }
    merge(own, sketch);
}

__global__ void k266c(const Flow *flows, unsigned *sketch, int n, unsigned width)
{
    __shared__ unsigned own[TOTAL];
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned place[ROWS];
        places_by_mask(flows[i].source, width, place);
        for (int r = 0; r < ROWS; r++)
            atomicAdd(&own[place[r]], 1u);
    }
    merge(own, sketch);
}

__device__ __forceinline__ void count_sources(const unsigned *source, unsigned *sketch, int n, unsigned width)
{
    __shared__ unsigned own[TOTAL];
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned place[ROWS];
        places_by_mask(source[i], width, place);
        for (int r = 0; r < ROWS; r++)
            atomicAdd(&own[place[r]], 1u);
    }
    merge(own, sketch);
}

__global__ void k266d(const unsigned *source, unsigned *sketch, int n, unsigned width)
{
    count_sources(source, sketch, n, width);
}

__global__ void k266e(const unsigned *source, unsigned *sketch, int n, unsigned width)
{
    count_sources(source, sketch, n, width);
}

template <bool CACHED>
__device__ __forceinline__ void count_fours(const uint4 *source, unsigned *sketch, int n, unsigned width)
{
    __shared__ unsigned own[TOTAL];
    clear(own);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        uint4 four = CACHED ? __ldg(source + i) : source[i];
        unsigned key[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            unsigned place[ROWS];
            places_by_mask(key[k], width, place);
            for (int r = 0; r < ROWS; r++)
                atomicAdd(&own[place[r]], 1u);
        }
    }
    merge(own, sketch);
}

__global__ void k266f(const uint4 *source, unsigned *sketch, int n, unsigned width)
{
    count_fours<false>(source, sketch, n, width);
}

__global__ void k266g(const uint4 *source, unsigned *sketch, int n, unsigned width)
{
    count_fours<true>(source, sketch, n, width);
}

int main()
{
    Flow *flows = reinterpret_cast<Flow *>(input<unsigned>(size_t(FLOWS) * 8, 1, 0, 4294967296.0));
    unsigned *source = output<unsigned>(FLOWS);
    MUST(cudaMemcpy2D(source, 4, flows, sizeof(Flow), 4, FLOWS, cudaMemcpyDeviceToDevice));
    unsigned *sketch = zeroed<unsigned>(TOTAL);

    std::vector<unsigned> keys = on_host(source, FLOWS), expected(TOTAL, 0);
    for (unsigned key : keys) {
        unsigned long long h = hash64(key);
        unsigned h1 = unsigned(h >> 8), h2 = unsigned(h >> 32);
        for (int r = 0; r < ROWS; r++)
            expected[r * COUNTERS + (h1 + r * h2) % COUNTERS]++;
    }

    const int many = FLOWS / (256 * 8), few = 132 * 7;
    k266a<<<many, 256>>>(flows, sketch, FLOWS, COUNTERS);
    check("k266a", sketch, expected, 0);
    MUST(cudaMemset(sketch, 0, TOTAL * sizeof(unsigned)));
    k266b<<<many, 256>>>(flows, sketch, FLOWS, COUNTERS);
    check("k266b", sketch, expected, 0);
    MUST(cudaMemset(sketch, 0, TOTAL * sizeof(unsigned)));
    k266c<<<many, 256>>>(flows, sketch, FLOWS, COUNTERS);
    check("k266c", sketch, expected, 0);
    MUST(cudaMemset(sketch, 0, TOTAL * sizeof(unsigned)));
    k266d<<<many, 256>>>(source, sketch, FLOWS, COUNTERS);
    check("k266d", sketch, expected, 0);
    MUST(cudaMemset(sketch, 0, TOTAL * sizeof(unsigned)));
    k266e<<<few, 256>>>(source, sketch, FLOWS, COUNTERS);
    check("k266e", sketch, expected, 0);
    MUST(cudaMemset(sketch, 0, TOTAL * sizeof(unsigned)));
    k266f<<<few, 256>>>(reinterpret_cast<const uint4 *>(source), sketch, FLOWS, COUNTERS);
    check("k266f", sketch, expected, 0);
    MUST(cudaMemset(sketch, 0, TOTAL * sizeof(unsigned)));
    k266g<<<few, 256>>>(reinterpret_cast<const uint4 *>(source), sketch, FLOWS, COUNTERS);
    check("k266g", sketch, expected, 0);
}
