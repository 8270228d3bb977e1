// Sum of a long array of integers (one partial sum per block), and the transpose of a large matrix.
#include "../harness.h"

#include <functional>

const int THREADS = 256, N = 1 << 27;

__global__ void k132a(const int *in, int *partial)
{
    __shared__ int sdata[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();

    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

__global__ void k132b(const int *in, int *partial)
{
    __shared__ int sdata[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();

    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        unsigned index = 2 * s * tid;
        if (index < blockDim.x)
            sdata[index] += sdata[index + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

__global__ void k132c(const int *in, int *partial)
{
    __shared__ int sdata[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sdata[tid] = in[i];
    __syncthreads();

    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

__global__ void k132d(const int *in, int *partial)
{
    __shared__ int sdata[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();

    for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

// The 64 values left in sdata, by the first warp.
__device__ inline int last_warp(int *sdata, unsigned tid)
{
    int v = sdata[tid] + sdata[tid + 32];
#pragma unroll
    for (int s = 16; s > 0; s >>= 1) {
        __syncwarp();
        sdata[tid] = v;
        __syncwarp();
        v += sdata[tid + s];
    }
    return v;
}

__global__ void k132e(const int *in, int *partial)
{
    __shared__ int sdata[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * (blockDim.x * 2) + threadIdx.x;
    sdata[tid] = in[i] + in[i + blockDim.x];
    __syncthreads();

    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        int v = last_warp(sdata, tid);
        if (tid == 0)
            partial[blockIdx.x] = v;
    }
}

__global__ void k132f(const int *in, int *partial, unsigned n)
{
    __shared__ int sdata[THREADS];
    unsigned tid = threadIdx.x;
    unsigned stride = gridDim.x * blockDim.x;
    int mine = 0;
#pragma unroll 8
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        mine += in[i];
    sdata[tid] = mine;
    __syncthreads();

    for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid < 32) {
        int v = last_warp(sdata, tid);
        if (tid == 0)
            partial[blockIdx.x] = v;
    }
}

__device__ inline int over_warp(int v)
{
#pragma unroll
    for (int s = 16; s > 0; s >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, s);
    return v;
}

__global__ void k132g(const int *in, int *partial, unsigned n)
{
    __shared__ int of_warp[THREADS / 32];
    unsigned tid = threadIdx.x;
    unsigned stride = gridDim.x * blockDim.x;
    int mine = 0;
#pragma unroll 8
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        mine += in[i];
    mine = over_warp(mine);
    if (tid % 32 == 0)
        of_warp[tid / 32] = mine;
    __syncthreads();
    if (tid < 32) {
        int v = over_warp(tid < THREADS / 32 ? of_warp[tid] : 0);
        if (tid == 0)
            partial[blockIdx.x] = v;
    }
}

const int SIDE = 8192, TILE = 32, ROWS = 8;

__global__ void k132h(float *out, const float *in, int side)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[x * side + (y + j)] = in[(y + j) * side + x];
}

__global__ void k132i(float *out, const float *in, int side)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[(y + j) * side + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k132j(float *out, const float *in, int side)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * side + x];
    __syncthreads();

    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[(y + j) * side + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void fill_total(const int *partial, int count, int *total)
{
    int mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        mine += partial[i];
    atomicAdd(total, mine);
}

int main()
{
    // From 0 to 9: the sum stays below 2^31.
    int *in = input<int>(N, 1321, 0.0, 10.0);
    const int most = N / THREADS, resident = 132 * 8;
    int *partial = output<int>(most), *total = output<int>(1);
    std::vector<int> expected(1, 0);
    {
        std::vector<int> h = on_host(in, N);
        long long sum = 0;
        for (int v : h)
            sum += v;
        expected[0] = int(sum);
    }
    auto reduce = [&](const char *name, int blocks, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, most * sizeof(int)));
        MUST(cudaMemset(total, 0, sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_total<<<64, 256>>>(partial, blocks, total);
        check(name, total, expected, 0.0);
    };
    reduce("k132a", most, [&] { k132a<<<most, THREADS>>>(in, partial); });
    reduce("k132b", most, [&] { k132b<<<most, THREADS>>>(in, partial); });
    reduce("k132c", most, [&] { k132c<<<most, THREADS>>>(in, partial); });
    reduce("k132d", most / 2, [&] { k132d<<<most / 2, THREADS>>>(in, partial); });
    reduce("k132e", most / 2, [&] { k132e<<<most / 2, THREADS>>>(in, partial); });
    reduce("k132f", resident, [&] { k132f<<<resident, THREADS>>>(in, partial, N); });
    reduce("k132g", resident, [&] { k132g<<<resident, THREADS>>>(in, partial, N); });

    const size_t n = (size_t)SIDE * SIDE;
    float *matrix = input<float>(n, 1322, -1.0, 1.0), *out = output<float>(n);
    // Every 61st row of the result: 0, 61, ..., 8174.
    const int every = 61, chosen = (SIDE - 1) / every + 1;
    std::vector<float> want((size_t)chosen * SIDE);
    {
        std::vector<float> h = on_host(matrix, n);
        for (int y = 0; y < SIDE; y++)
            for (int c = 0; c < chosen; c++)
                want[(size_t)c * SIDE + y] = h[(size_t)y * SIDE + c * every];
    }
    float *picked = output<float>(want.size());
    auto transpose = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = SIDE * sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, out, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 0.0);
    };
    const dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, ROWS);
    transpose("k132h", [&] { k132h<<<grid, block>>>(out, matrix, SIDE); });
    transpose("k132i", [&] { k132i<<<grid, block>>>(out, matrix, SIDE); });
    transpose("k132j", [&] { k132j<<<grid, block>>>(out, matrix, SIDE); });
    return 0;
}
