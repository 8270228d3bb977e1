// Sum of 2^25 integers: every block adds up its stretch and leaves one partial sum, which the host adds up.
#include "../harness.h"

const int THREADS = 512;

__global__ void k36a(int *data, int *partial, unsigned n)
{
    unsigned tid = threadIdx.x;
    unsigned idx = blockIdx.x * blockDim.x + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x;
    if (idx >= n)
        return;

    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0)
            mine[tid] += mine[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = mine[0];
}

__global__ void k36b(int *data, int *partial, unsigned n)
{
    unsigned tid = threadIdx.x;
    unsigned idx = blockIdx.x * blockDim.x + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x;
    if (idx >= n)
        return;

    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        int at = 2 * stride * tid;
        if (at < blockDim.x)
            mine[at] += mine[at + stride];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = mine[0];
}

__global__ void k36c(int *data, int *partial, unsigned n)
{
    unsigned tid = threadIdx.x;
    unsigned idx = blockIdx.x * blockDim.x + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x;
    if (idx >= n)
        return;

    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            mine[tid] += mine[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = mine[0];
}

__global__ void k36d(int *data, int *partial, unsigned n)
{
    unsigned tid = threadIdx.x;
    unsigned idx = blockIdx.x * blockDim.x * 2 + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x * 2;

    if (idx + blockDim.x < n)
        data[idx] += data[idx + blockDim.x];
    __syncthreads();

    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            mine[tid] += mine[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = mine[0];
}

__device__ int eight(const int *data, unsigned idx, unsigned n)
{
    int sum = 0;
    if (idx + 7 * blockDim.x < n) {
        int a0 = data[idx];
        int a1 = data[idx + blockDim.x];
        int a2 = data[idx + 2 * blockDim.x];
        int a3 = data[idx + 3 * blockDim.x];
        int a4 = data[idx + 4 * blockDim.x];
        int a5 = data[idx + 5 * blockDim.x];
        int a6 = data[idx + 6 * blockDim.x];
        int a7 = data[idx + 7 * blockDim.x];
        sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
    }
    return sum;
}

__global__ void k36e(int *data, int *partial, unsigned n)
{
    unsigned tid = threadIdx.x;
    unsigned idx = blockIdx.x * blockDim.x * 8 + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x * 8;

    data[idx] = eight(data, idx, n);
    __syncthreads();

    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride)
            mine[tid] += mine[tid + stride];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = mine[0];
}

// The sum of 64 numbers by the first warp; the result is right in lane 0.
__device__ int last_64(int *mine, unsigned tid)
{
    int sum = mine[tid] + mine[tid + 32];
    mine[tid] = sum;
    __syncwarp();
    sum += mine[tid + 16];
    __syncwarp();
    mine[tid] = sum;
    __syncwarp();
    sum += mine[tid + 8];
    __syncwarp();
    mine[tid] = sum;
    __syncwarp();
    sum += mine[tid + 4];
    __syncwarp();
    mine[tid] = sum;
    __syncwarp();
    sum += mine[tid + 2];
    __syncwarp();
    mine[tid] = sum;
    __syncwarp();
    sum += mine[tid + 1];
    return sum;
}

__global__ void k36f(int *data, int *partial, unsigned n)
{
    unsigned tid = threadIdx.x;
    unsigned idx = blockIdx.x * blockDim.x * 8 + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x * 8;

    data[idx] = eight(data, idx, n);
    __syncthreads();

    for (int stride = blockDim.x / 2; stride > 32; stride >>= 1) {
        if (tid < stride)
            mine[tid] += mine[tid + stride];
        __syncthreads();
    }
    if (tid < 32) {
        int sum = last_64(mine, tid);
        if (tid == 0)
            partial[blockIdx.x] = sum;
    }
}

template <unsigned SIZE> __device__ void tree(int *mine, int *partial, unsigned tid)
{
    if (SIZE >= 1024 && tid < 512)
        mine[tid] += mine[tid + 512];
    __syncthreads();
    if (SIZE >= 512 && tid < 256)
        mine[tid] += mine[tid + 256];
    __syncthreads();
    if (SIZE >= 256 && tid < 128)
        mine[tid] += mine[tid + 128];
    __syncthreads();
    if (SIZE >= 128 && tid < 64)
        mine[tid] += mine[tid + 64];
    __syncthreads();
    if (tid < 32) {
        int sum = last_64(mine, tid);
        if (tid == 0)
            *partial = sum;
    }
}

__global__ void k36g(int *data, int *partial, unsigned n)
{
    unsigned idx = blockIdx.x * blockDim.x * 8 + threadIdx.x;
    int *mine = data + blockIdx.x * blockDim.x * 8;

    data[idx] = eight(data, idx, n);
    __syncthreads();
    tree<THREADS>(mine, partial + blockIdx.x, threadIdx.x);
}

__global__ void k36h(int *data, int *partial, unsigned n)
{
    __shared__ int mine[THREADS];
    unsigned idx = blockIdx.x * blockDim.x * 8 + threadIdx.x;

    mine[threadIdx.x] = eight(data, idx, n);
    __syncthreads();
    tree<THREADS>(mine, partial + blockIdx.x, threadIdx.x);
}

int main()
{
    const unsigned n = 1u << 25;
    int *source = input<int>(n, 361, 0, 60);
    int *data = output<int>(n);
    std::vector<int> want(1, 0);
    {
        std::vector<int> host = on_host(source, n);
        for (unsigned i = 0; i < n; i++)
            want[0] += host[i];
    }

    auto run = [&](const char *name, void (*kernel)(int *, int *, unsigned), int per_thread) {
        const unsigned blocks = n / (THREADS * per_thread);
        MUST(cudaMemcpy(data, source, n * sizeof(int), cudaMemcpyDeviceToDevice));
        int *partial = output<int>(blocks);
        kernel<<<blocks, THREADS>>>(data, partial, n);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        std::vector<int> parts = on_host(partial, blocks), total(1, 0);
        for (unsigned b = 0; b < blocks; b++)
            total[0] += parts[b];
        int *sum = on_device(total);
        check(name, sum, want, 0.0);
        MUST(cudaFree(sum));
        MUST(cudaFree(partial));
    };

    run("k36a", k36a, 1);
    run("k36b", k36b, 1);
    run("k36c", k36c, 1);
    run("k36d", k36d, 2);
    run("k36e", k36e, 8);
    run("k36f", k36f, 8);
    run("k36g", k36g, 8);
    run("k36h", k36h, 8);
    return 0;
}
