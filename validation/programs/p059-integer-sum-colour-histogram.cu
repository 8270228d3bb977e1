// The sum of an array of integers, and the histograms of the three channels of an image.
#include "../harness.h"

const int BLOCK = 256;

__global__ void k59a(const int *in, int *out, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(out, in[i]);
}

__global__ void k59b(const int *in, int *out, size_t n)
{
    __shared__ int part[BLOCK];
    int t = threadIdx.x;
    part[t] = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
        part[t] += in[i];
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s)
            part[t] += part[t + s];
    }
    if (t == 0)
        atomicAdd(out, part[0]);
}

// The sum over the block, in thread 0.
__device__ int block_sum(int v)
{
    __shared__ int part[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_down_sync(0xffffffffu, v, offset);
    if (lane == 0)
        part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < (int)blockDim.x / 32 ? part[lane] : 0;
        for (int offset = 16; offset > 0; offset /= 2)
            v += __shfl_down_sync(0xffffffffu, v, offset);
    }
    return v;
}

__global__ void k59c(const int *in, int *out, size_t n)
{
    int v = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        v += in[i];
    v = block_sum(v);
    if (threadIdx.x == 0)
        atomicAdd(out, v);
}

// n is a multiple of four.
__global__ void k59d(const int *in, int *out, size_t n)
{
    const int4 *in4 = reinterpret_cast<const int4 *>(in);
    int v = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        int4 q = in4[i];
        v += q.x + q.y + q.z + q.w;
    }
    v = block_sum(v);
    if (threadIdx.x == 0)
        atomicAdd(out, v);
}

const int BINS = 256, ALL = 3 * BINS;

// Each block counts the pixels it visits in its own ALL numbers of out.
__global__ void k59e(const uchar4 *in, int width, int height, unsigned *out)
{
    int x0 = blockIdx.x * blockDim.x + threadIdx.x, nx = blockDim.x * gridDim.x;
    int y0 = blockIdx.y * blockDim.y + threadIdx.y, ny = blockDim.y * gridDim.y;
    int t = threadIdx.x + threadIdx.y * blockDim.x, nt = blockDim.x * blockDim.y;
    unsigned *mine = out + (size_t)(blockIdx.x + blockIdx.y * gridDim.x) * ALL;

    for (int i = t; i < ALL; i += nt)
        mine[i] = 0;
    __syncthreads();
    for (int x = x0; x < width; x += nx)
        for (int y = y0; y < height; y += ny) {
            uchar4 p = in[y * width + x];
            atomicAdd(&mine[p.x], 1u);
            atomicAdd(&mine[BINS + p.y], 1u);
            atomicAdd(&mine[2 * BINS + p.z], 1u);
        }
}

__device__ __forceinline__ void count_in_shared(const uchar4 *in, int width, int height, unsigned *out)
{
    __shared__ unsigned local[ALL];
    int x0 = blockIdx.x * blockDim.x + threadIdx.x, nx = blockDim.x * gridDim.x;
    int y0 = blockIdx.y * blockDim.y + threadIdx.y, ny = blockDim.y * gridDim.y;
    int t = threadIdx.x + threadIdx.y * blockDim.x, nt = blockDim.x * blockDim.y;
    unsigned *mine = out + (size_t)(blockIdx.x + blockIdx.y * gridDim.x) * ALL;

    for (int i = t; i < ALL; i += nt)
        local[i] = 0;
    __syncthreads();
    for (int x = x0; x < width; x += nx)
        for (int y = y0; y < height; y += ny) {
            uchar4 p = in[y * width + x];
            atomicAdd(&local[p.x], 1u);
            atomicAdd(&local[BINS + p.y], 1u);
            atomicAdd(&local[2 * BINS + p.z], 1u);
        }
    __syncthreads();
    for (int i = t; i < ALL; i += nt)
        mine[i] = local[i];
}

__global__ void k59f(const uchar4 *in, int width, int height, unsigned *out)
{
    count_in_shared(in, width, height, out);
}

__global__ void k59g(const uchar4 *in, int width, int height, unsigned *out)
{
    count_in_shared(in, width, height, out);
}

const int WARPS = 4;

__global__ void k59h(const uchar4 *in, int width, int height, unsigned *out)
{
    __shared__ unsigned local[WARPS][ALL];
    int x0 = blockIdx.x * blockDim.x + threadIdx.x, nx = blockDim.x * gridDim.x;
    int y0 = blockIdx.y * blockDim.y + threadIdx.y, ny = blockDim.y * gridDim.y;
    int t = threadIdx.x + threadIdx.y * blockDim.x, nt = blockDim.x * blockDim.y;
    unsigned *mine = out + (size_t)(blockIdx.x + blockIdx.y * gridDim.x) * ALL;

    for (int i = t; i < WARPS * ALL; i += nt)
        local[i / ALL][i % ALL] = 0;
    __syncthreads();
    unsigned *counts = local[t / 32];
    for (int x = x0; x < width; x += nx)
        for (int y = y0; y < height; y += ny) {
            uchar4 p = in[y * width + x];
            atomicAdd(&counts[p.x], 1u);
            atomicAdd(&counts[BINS + p.y], 1u);
            atomicAdd(&counts[2 * BINS + p.z], 1u);
        }
    __syncthreads();
    for (int i = t; i < ALL; i += nt) {
        unsigned sum = 0;
        for (int w = 0; w < WARPS; w++)
            sum += local[w][i];
        mine[i] = sum;
    }
}

__global__ void merge(const unsigned *part, int parts, unsigned *total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ALL) {
        unsigned sum = 0;
        for (int p = 0; p < parts; p++)
            sum += part[(size_t)p * ALL + i];
        total[i] = sum;
    }
}

int main()
{
    {
        const size_t n = (size_t)1 << 26;
        int *in = input<int>(n, 591, 0.0, 4.0);
        std::vector<int> want(1, 0);
        {
            std::vector<int> v = on_host(in, n);
            for (int e : v)
                want[0] += e;
        }
        int *out = zeroed<int>(1);
        k59a<<<(unsigned)((n + BLOCK - 1) / BLOCK), BLOCK>>>(in, out, n);
        check("k59a", out, want, 0.0);

        const int blocks = 640;
        MUST(cudaMemset(out, 0, sizeof(int)));
        k59b<<<blocks, BLOCK>>>(in, out, n);
        check("k59b", out, want, 0.0);

        MUST(cudaMemset(out, 0, sizeof(int)));
        k59c<<<blocks, BLOCK>>>(in, out, n);
        check("k59c", out, want, 0.0);

        MUST(cudaMemset(out, 0, sizeof(int)));
        k59d<<<blocks, BLOCK>>>(in, out, n);
        check("k59d", out, want, 0.0);
        MUST(cudaFree(in));
    }

    const int width = 7680, height = 4320;
    const size_t pixels = (size_t)width * height;
    unsigned char *bytes = input<unsigned char>(pixels * 4, 592, 0.0, 256.0);
    const uchar4 *image = reinterpret_cast<uchar4 *>(bytes);
    std::vector<unsigned> want(ALL, 0);
    {
        std::vector<unsigned char> v = on_host(bytes, pixels * 4);
        for (size_t i = 0; i < pixels; i++)
            for (int c = 0; c < 3; c++)
                want[c * BINS + v[4 * i + c]]++;
    }

    dim3 block(32, 4), few(16, 16), many(30, 64);
    const size_t most = (size_t)many.x * many.y * ALL;
    unsigned *part = output<unsigned>(most), *total = output<unsigned>(ALL);
    auto finish = [&](const char *name, dim3 grid) {
        MUST(cudaGetLastError());
        MUST(cudaMemset(total, 0xA5, ALL * sizeof(unsigned)));
        merge<<<ALL / BINS, BINS>>>(part, grid.x * grid.y, total);
        check(name, total, want, 0.0);
        MUST(cudaMemset(part, 0xA5, most * sizeof(unsigned)));
    };

    k59e<<<few, block>>>(image, width, height, part);
    finish("k59e", few);

    k59f<<<few, block>>>(image, width, height, part);
    finish("k59f", few);

    k59g<<<many, block>>>(image, width, height, part);
    finish("k59g", many);

    k59h<<<many, block>>>(image, width, height, part);
    finish("k59h", many);
    return 0;
}
