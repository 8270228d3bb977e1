// A batch of 16384 products of 32x32 matrices in single precision, and the squared norm of a gradient of 2^26 numbers
// (as for gradient clipping), left as one partial sum for each block.
#include "../harness.h"

#include <functional>

const int S = 32;

// C[i] = A[i] * B[i] for each matrix i of the batch; a block for each product.

__global__ void k119a(float *C, const float *A, const float *B, int n)
{
    const float *a = A + (size_t)blockIdx.x * n * n, *b = B + (size_t)blockIdx.x * n * n;
    float *c = C + (size_t)blockIdx.x * n * n;
    int row = threadIdx.x;
    int col = threadIdx.y;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++)
            sum += a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}

__global__ void k119b(float *C, const float *A, const float *B, int n)
{
    const float *a = A + (size_t)blockIdx.x * n * n, *b = B + (size_t)blockIdx.x * n * n;
    float *c = C + (size_t)blockIdx.x * n * n;
    int row = threadIdx.y;
    int col = threadIdx.x;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++)
            sum += a[row * n + k] * b[k * n + col];
        c[row * n + col] = sum;
    }
}

__global__ void k119c(float *C, const float *A, const float *B)
{
    __shared__ float As[S][S], Bs[S][S];
    int row = threadIdx.y, col = threadIdx.x;
    size_t at = (size_t)blockIdx.x * S * S + row * S + col;
    As[row][col] = A[at];
    Bs[row][col] = B[at];
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < S; k++)
        sum += As[row][k] * Bs[k][col];
    C[at] = sum;
}

// Blocks of 64 threads; a thread makes four columns of the rows ty, ty + 8, ty + 16 and ty + 24.
__global__ void __launch_bounds__(64, 12)
    k119d(float *__restrict__ C, const float *__restrict__ A, const float *__restrict__ B)
{
    const int QUADS = S / 4;
    __shared__ float4 As[S][QUADS + 1], Bs[S][QUADS];
    int tx = threadIdx.x % 8, ty = threadIdx.x / 8;
    const float4 *a4 = reinterpret_cast<const float4 *>(A + (size_t)blockIdx.x * S * S);
    const float4 *b4 = reinterpret_cast<const float4 *>(B + (size_t)blockIdx.x * S * S);
    float4 *c4 = reinterpret_cast<float4 *>(C + (size_t)blockIdx.x * S * S);
    float4 in[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        in[i] = a4[(ty + 8 * i) * QUADS + tx];
        in[4 + i] = b4[(ty + 8 * i) * QUADS + tx];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        As[ty + 8 * i][tx] = in[i];
        Bs[ty + 8 * i][tx] = in[4 + i];
    }
    __syncthreads();

    float4 sum[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        sum[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int q = 0; q < QUADS; q++) {
        float a[4][4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float4 v = As[ty + 8 * i][q];
            a[i][0] = v.x;
            a[i][1] = v.y;
            a[i][2] = v.z;
            a[i][3] = v.w;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            float4 b = Bs[q * 4 + k][tx];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                sum[i].x += a[i][k] * b.x;
                sum[i].y += a[i][k] * b.y;
                sum[i].z += a[i][k] * b.z;
                sum[i].w += a[i][k] * b.w;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        c4[(ty + 8 * i) * QUADS + tx] = sum[i];
}

// partial[block] = sum of squares of the block's share of the gradient; blocks of 256 threads.

__global__ void k119e(float *partial, const float *grad, int n)
{
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float g = i < n ? grad[i] : 0.0f;
    sdata[tid] = g * g;
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

__global__ void k119f(float *partial, const float *grad, int n)
{
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float g = i < n ? grad[i] : 0.0f;
    sdata[tid] = g * g;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

__device__ inline float own_squares(const float *__restrict__ grad, int n)
{
    float sum = 0.0f;
    int stride = gridDim.x * blockDim.x;
#pragma unroll 8
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        sum += grad[i] * grad[i];
    return sum;
}

__global__ void k119g(float *__restrict__ partial, const float *__restrict__ grad, int n)
{
    __shared__ float sdata[256];
    int tid = threadIdx.x;
    sdata[tid] = own_squares(grad, n);
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            sdata[tid] += sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = sdata[0];
}

__global__ void k119h(float *__restrict__ partial, const float *__restrict__ grad, int n)
{
    __shared__ float sdata[8];
    float sum = own_squares(grad, n);
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0)
        sdata[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? sdata[threadIdx.x] : 0.0f;
#pragma unroll
        for (int offset = 4; offset > 0; offset /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (threadIdx.x == 0)
            partial[blockIdx.x] = sum;
    }
}

int main()
{
    {
        const int batch = 16384, every = 7, area = S * S;
        const size_t n = (size_t)batch * area;
        float *A = input<float>(n, 1191, -1.0, 1.0), *B = input<float>(n, 1192, -1.0, 1.0), *C = output<float>(n);
        std::vector<float> ha = on_host(A, n), hb = on_host(B, n);
        // Every seventh product: 0, 7, ..., 16380.
        const int picked = (batch - 1) / every + 1;
        std::vector<float> want((size_t)picked * area);
        for (int p = 0; p < picked; p++) {
            const float *a = &ha[(size_t)p * every * area], *b = &hb[(size_t)p * every * area];
            float *c = &want[(size_t)p * area];
            for (int i = 0; i < S; i++) {
                float row[S] = {};
                for (int k = 0; k < S; k++)
                    for (int j = 0; j < S; j++)
                        row[j] += a[i * S + k] * b[k * S + j];
                for (int j = 0; j < S; j++)
                    c[i * S + j] = row[j];
            }
        }
        float *some = output<float>((size_t)picked * area);
        auto multiply = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(C, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            const size_t bytes = area * sizeof(float);
            MUST(cudaMemcpy2D(some, bytes, C, every * bytes, bytes, picked, cudaMemcpyDeviceToDevice));
            check(name, some, want, 1e-4);
        };
        dim3 square(S, S);
        multiply("k119a", [&] { k119a<<<batch, square>>>(C, A, B, S); });
        multiply("k119b", [&] { k119b<<<batch, square>>>(C, A, B, S); });
        multiply("k119c", [&] { k119c<<<batch, square>>>(C, A, B); });
        multiply("k119d", [&] { k119d<<<batch, 64>>>(C, A, B); });
        MUST(cudaFree(A));
        MUST(cudaFree(B));
        MUST(cudaFree(C));
    }

    const int n = 1 << 26, blocks = n / 256, few = 132 * 8;
    float *grad = input<float>(n, 1193, -1.0, 1.0), *partial = output<float>(blocks);
    std::vector<float> h = on_host(grad, n);
    // The sums of the blocks' shares, for one element to a thread and for a grid that strides.
    std::vector<float> want_all(blocks), want_few(few);
    std::vector<double> shares(few, 0.0);
    for (int b = 0; b < blocks; b++) {
        double sum = 0.0;
        for (int i = 0; i < 256; i++)
            sum += double(h[(size_t)b * 256 + i]) * h[(size_t)b * 256 + i];
        want_all[b] = float(sum);
        shares[b % few] += sum;
    }
    for (int b = 0; b < few; b++)
        want_few[b] = float(shares[b]);
    auto norm = [&](const char *name, const std::vector<float> &want, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, blocks * sizeof(float)));
        launch();
        check(name, partial, want, 1e-5);
    };
    norm("k119e", want_all, [&] { k119e<<<blocks, 256>>>(partial, grad, n); });
    norm("k119f", want_all, [&] { k119f<<<blocks, 256>>>(partial, grad, n); });
    norm("k119g", want_few, [&] { k119g<<<few, 256>>>(partial, grad, n); });
    norm("k119h", want_few, [&] { k119h<<<few, 256>>>(partial, grad, n); });
    return 0;
}
