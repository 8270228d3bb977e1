// Speckle reduction of ultrasound images, first stage: sum and sum of squares of the extracted image exp(I / 255).
#include "../harness.h"

constexpr size_t N = 64 << 20;
constexpr int BLOCKS = 1024, THREADS = 256;

__device__ void add(float pixel, float &sum, float &squares)
{
    float j = expf(pixel * (1.0f / 255.0f));
    sum += j;
    squares += j * j;
}

__device__ void block_sums(double a, double b, double *total)
{
    __shared__ double sums[THREADS], squares[THREADS];
    int tid = threadIdx.x;
    sums[tid] = a;
    squares[tid] = b;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (tid < s) {
            sums[tid] += sums[tid + s];
            squares[tid] += squares[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(&total[0], sums[0]);
        atomicAdd(&total[1], squares[0]);
    }
}

// One pixel per thread.
__global__ void k284a(const float *__restrict__ image, double *total)
{
    float sum = 0, squares = 0;
    add(image[blockIdx.x * (size_t)blockDim.x + threadIdx.x], sum, squares);
    block_sums(sum, squares, total);
}

// Each thread takes a run of pixels.
__global__ void k284b(const float *__restrict__ image, double *total, int run)
{
    float sum = 0, squares = 0;
    size_t first = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) * run;
#pragma unroll 8
    for (int k = 0; k < run; k++)
        add(image[first + k], sum, squares);
    block_sums(sum, squares, total);
}

__global__ void k284c(const float *__restrict__ image, double *total)
{
    float sum = 0, squares = 0;
    size_t stride = (size_t)gridDim.x * blockDim.x, first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    int turns = N / stride;
#pragma unroll 8
    for (int k = 0; k < turns; k++)
        add(image[first + k * stride], sum, squares);
    atomicAdd(&total[0], (double)sum);
    atomicAdd(&total[1], (double)squares);
}

__device__ void strided_sums(const float *__restrict__ image, float &sum, float &squares)
{
    size_t stride = (size_t)gridDim.x * blockDim.x, first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    int turns = N / stride;
#pragma unroll 8
    for (int k = 0; k < turns; k++)
        add(image[first + k * stride], sum, squares);
}

// Launched with 64 blocks.
__global__ void k284d(const float *__restrict__ image, double *total)
{
    float sum = 0, squares = 0;
    strided_sums(image, sum, squares);
    block_sums(sum, squares, total);
}

__global__ void k284e(const float *__restrict__ image, double *total)
{
    double sum = 0, squares = 0;
    size_t stride = (size_t)gridDim.x * blockDim.x, first = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    int turns = N / stride;
#pragma unroll 8
    for (int k = 0; k < turns; k++) {
        double j = exp(image[first + k * stride] * (1.0 / 255.0));
        sum += j;
        squares += j * j;
    }
    block_sums(sum, squares, total);
}

__global__ void k284f(const float *__restrict__ image, double *total)
{
    float sum = 0, squares = 0;
    strided_sums(image, sum, squares);
    block_sums(sum, squares, total);
}

__global__ void k284g(const float *__restrict__ image, double *total)
{
    __shared__ double sums[THREADS / 32], all_squares[THREADS / 32];
    float sum = 0, squares = 0;
    strided_sums(image, sum, squares);
    double a = sum, b = squares;
    for (int s = 16; s > 0; s /= 2) {
        a += __shfl_xor_sync(0xffffffffu, a, s);
        b += __shfl_xor_sync(0xffffffffu, b, s);
    }
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = a;
        all_squares[threadIdx.x / 32] = b;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < THREADS / 32; w++) {
            a += sums[w];
            b += all_squares[w];
        }
        atomicAdd(&total[0], a);
        atomicAdd(&total[1], b);
    }
}

int main()
{
    float *image = input<float>(N, 1, 0, 255);
    double *total = zeroed<double>(2);
    std::vector<float> host = on_host(image, N);
    std::vector<double> want(2, 0.0);
    for (size_t i = 0; i < N; i++) {
        double j = std::exp((double)host[i] / 255);
        want[0] += j;
        want[1] += j * j;
    }
    auto clear = [&] { MUST(cudaMemset(total, 0, 2 * sizeof(double))); };
    k284a<<<N / THREADS, THREADS>>>(image, total);
    check("k284a", total, want, 1e-5);
    clear();
    size_t threads = (size_t)BLOCKS * THREADS;
    k284b<<<BLOCKS, THREADS>>>(image, total, (int)(N / threads));
    check("k284b", total, want, 1e-5);
    clear();
    k284c<<<BLOCKS, THREADS>>>(image, total);
    check("k284c", total, want, 1e-5);
    clear();
    k284d<<<64, THREADS>>>(image, total);
    check("k284d", total, want, 1e-5);
    clear();
    k284e<<<BLOCKS, THREADS>>>(image, total);
    check("k284e", total, want, 1e-5);
    clear();
    k284f<<<BLOCKS, THREADS>>>(image, total);
    check("k284f", total, want, 1e-5);
    clear();
    k284g<<<BLOCKS, THREADS>>>(image, total);
    check("k284g", total, want, 1e-5);
}
