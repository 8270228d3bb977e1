// A program that launches a lot: ten kernels in 25 configurations, 1,000 launches by default, as a time-stepping loop
// makes them. transpose_columns has an obvious defect, a column of a shared tile per warp; scatter writes with a stride.
// The grids of add and sums do not show how much data they process.
//
//     many_launches [LAUNCHES [KERNELS]]      only the first KERNELS of the ten, in turn; a single transpose is checked
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));                       \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

const int SIDE = 2048;
const int N = SIDE * SIDE;
const int TILE = 32;
const int ROWS = 8;
const int STRIDE = 32;

__global__ void transpose_columns(float *out, const float *in, int n)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void add(float *out, const float *a, const float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = a[i] + b[i];
}

__global__ void scale(float *out, const float *in, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = factor * in[i];
}

__global__ void scatter(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[(i % (n / STRIDE)) * STRIDE + i / (n / STRIDE)] = in[i];
}

__global__ void stencil(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

__global__ void sums(float *out, const float *in, int n)
{
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
    for (int lanes = 16; lanes > 0; lanes /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, lanes);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, sum);
}

__global__ void polynomial(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = in[i], y = 0;
    for (int term = 0; term < 64; term++)
        y = y * x + 0.5f;
    out[i] = y;
}

__global__ void odd_even(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    if (i % 2)
        out[i] = sinf(in[i]);
    else
        out[i] = sqrtf(in[i]);
}

__global__ void histogram(unsigned *bins, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(bins + int(in[i] * 255.0f), 1u);
}

__global__ void clear(unsigned *bins)
{
    bins[threadIdx.x] = 0;
}

int blocks(int n)
{
    return (n + 255) / 256;
}

// Rounds of a loop: each kernel once, at one of up to three sizes.
void launch(int which, int round, float *a, float *b, float *c, unsigned *bins)
{
    int n = N >> 2 * (round % 3);
    int side = SIDE >> round % 3;
    switch (which) {
    case 0:
        transpose_columns<<<dim3(side / TILE, side / TILE), dim3(TILE, ROWS)>>>(b, a, side);
        break;
    case 1:
        add<<<round % 2 ? 264 : 1056, 256>>>(c, a, b, n);
        break;
    case 2:
        scale<<<blocks(n), 256>>>(b, a, 1.5f, n);
        break;
    case 3:
        scatter<<<blocks(n), 256>>>(b, a, n);
        break;
    case 4:
        stencil<<<blocks(n), 256>>>(b, a, n);
        break;
    case 5:
        sums<<<264, 256>>>(c, a, n);
        break;
    case 6:
        polynomial<<<blocks(n), 256>>>(b, a, n);
        break;
    case 7:
        odd_even<<<blocks(n), 256>>>(b, a, n);
        break;
    case 8:
        histogram<<<blocks(n), 256>>>(bins, a, n);
        break;
    default:
        clear<<<1, 256>>>(bins);
    }
}

int check_transposed(const float *device, const std::vector<float> &in)
{
    std::vector<float> out(N);
    MUST(cudaMemcpy(out.data(), device, N * sizeof(float), cudaMemcpyDeviceToHost));
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            if (out[x * SIDE + y] != in[y * SIDE + x]) {
                std::fprintf(stderr, "wrong at %d, %d\n", x, y);
                return 3;
            }
    return 0;
}

int main(int count, char **words)
{
    int launches = count > 1 ? std::atoi(words[1]) : 1000;
    int kernels = count > 2 ? std::atoi(words[2]) : 10;
    if (launches < 1 || kernels < 1 || kernels > 10) {
        std::fprintf(stderr, "many_launches [LAUNCHES [KERNELS, 1 to 10]]\n");
        return 2;
    }
    float *a, *b, *c;
    unsigned *bins;
    MUST(cudaMalloc(&a, N * sizeof(float)));
    MUST(cudaMalloc(&b, N * sizeof(float)));
    MUST(cudaMalloc(&c, N * sizeof(float)));
    MUST(cudaMalloc(&bins, 256 * sizeof(unsigned)));
    std::vector<float> host(N);
    for (int i = 0; i < N; i++)
        host[i] = (i % 1021) / 1021.0f;
    MUST(cudaMemcpy(a, host.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    for (int i = 0; i < launches; i++)
        launch(i % kernels, i / kernels, a, b, c, bins);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    return launches == 1 ? check_transposed(b, host) : 0;
}
