// Inverses of two million 4 x 4 matrices, and the diagonal of the product of two large matrices.
#include "../harness.h"

#include <functional>

const int MATRICES = 7813 * 256, MOST = 4;

__global__ void k208a(float *out, const float *in, int n)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x, width = 2 * n;
    const float *m = in + id * n * n;
    float *inverse = out + id * n * n;
    float work[2 * MOST * MOST];
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            work[r * width + c] = m[r * n + c];
            work[r * width + n + c] = r == c ? 1.0f : 0.0f;
        }
    for (int p = 0; p < n; p++) {
        int best = p;
        for (int r = p + 1; r < n; r++)
            if (fabsf(work[r * width + p]) > fabsf(work[best * width + p]))
                best = r;
        if (best != p)
            for (int c = 0; c < width; c++) {
                float t = work[p * width + c];
                work[p * width + c] = work[best * width + c];
                work[best * width + c] = t;
            }
        float scale = 1.0f / work[p * width + p];
        for (int c = 0; c < width; c++)
            work[p * width + c] *= scale;
        for (int r = 0; r < n; r++)
            if (r != p) {
                float factor = work[r * width + p];
                for (int c = 0; c < width; c++)
                    work[r * width + c] -= factor * work[p * width + c];
            }
    }
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++)
            inverse[r * n + c] = work[r * width + n + c];
}

// The adjugate of a and, as the result, its determinant.
__host__ __device__ inline float adjugate(float *b, const float *a)
{
    float s0 = a[0] * a[5] - a[4] * a[1], s1 = a[0] * a[6] - a[4] * a[2], s2 = a[0] * a[7] - a[4] * a[3];
    float s3 = a[1] * a[6] - a[5] * a[2], s4 = a[1] * a[7] - a[5] * a[3], s5 = a[2] * a[7] - a[6] * a[3];
    float c5 = a[10] * a[15] - a[14] * a[11], c4 = a[9] * a[15] - a[13] * a[11], c3 = a[9] * a[14] - a[13] * a[10];
    float c2 = a[8] * a[15] - a[12] * a[11], c1 = a[8] * a[14] - a[12] * a[10], c0 = a[8] * a[13] - a[12] * a[9];
    b[0] = a[5] * c5 - a[6] * c4 + a[7] * c3;
    b[1] = -a[1] * c5 + a[2] * c4 - a[3] * c3;
    b[2] = a[13] * s5 - a[14] * s4 + a[15] * s3;
    b[3] = -a[9] * s5 + a[10] * s4 - a[11] * s3;
    b[4] = -a[4] * c5 + a[6] * c2 - a[7] * c1;
    b[5] = a[0] * c5 - a[2] * c2 + a[3] * c1;
    b[6] = -a[12] * s5 + a[14] * s2 - a[15] * s1;
    b[7] = a[8] * s5 - a[10] * s2 + a[11] * s1;
    b[8] = a[4] * c4 - a[5] * c2 + a[7] * c0;
    b[9] = -a[0] * c4 + a[1] * c2 - a[3] * c0;
    b[10] = a[12] * s4 - a[13] * s2 + a[15] * s0;
    b[11] = -a[8] * s4 + a[9] * s2 - a[11] * s0;
    b[12] = -a[4] * c3 + a[5] * c1 - a[6] * c0;
    b[13] = a[0] * c3 - a[1] * c1 + a[2] * c0;
    b[14] = -a[12] * s3 + a[13] * s1 - a[14] * s0;
    b[15] = a[8] * s3 - a[9] * s1 + a[10] * s0;
    return s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0;
}

__global__ void k208b(float *out, const float *in)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16], b[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        a[k] = in[id * 16 + k];
    float scale = 1.0f / adjugate(b, a);
#pragma unroll
    for (int k = 0; k < 16; k++)
        out[id * 16 + k] = b[k] * scale;
}

__global__ void k208c(float *out, const float *in, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16], b[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        a[k] = in[k * count + id];
    float scale = 1.0f / adjugate(b, a);
#pragma unroll
    for (int k = 0; k < 16; k++)
        out[k * count + id] = b[k] * scale;
}

__global__ void k208d(float *out, const float *in, int count)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    float a[16], b[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        a[k] = in[k * count + id];
    float scale = __fdividef(1.0f, adjugate(b, a));
#pragma unroll
    for (int k = 0; k < 16; k++)
        out[k * count + id] = b[k] * scale;
}

__global__ void k208e(float *diagonal, const float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < n; j++)
        sum += a[i * n + j] * b[j * n + i];
    diagonal[i] = sum;
}

__global__ void k208f(float *diagonal, const float *a, const float *b, int n, int span)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * span;
    float sum = 0.0f;
    for (int j = first; j < first + span; j++)
        sum += a[i * n + j] * b[j * n + i];
    atomicAdd(&diagonal[i], sum);
}

__global__ void k208g(float *diagonal, const float *a, const float *b, int n, int span)
{
    __shared__ float tile[32][32], part[8][32];
    int tx = threadIdx.x, ty = threadIdx.y, i0 = blockIdx.x * 32, first = blockIdx.y * span;
    float sum = 0.0f;
    for (int j0 = first; j0 < first + span; j0 += 32) {
        float right[4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            right[r] = b[(j0 + ty + 8 * r) * n + i0 + tx];
            tile[ty + 8 * r][tx] = a[(i0 + ty + 8 * r) * n + j0 + tx];
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++)
            sum += tile[tx][ty + 8 * r] * right[r];
        __syncthreads();
    }
    part[ty][tx] = sum;
    __syncthreads();
    if (ty == 0) {
        for (int k = 1; k < 8; k++)
            sum += part[k][tx];
        atomicAdd(&diagonal[i0 + tx], sum);
    }
}

__global__ void k208h(float *diagonal, const float *a, const float *b, int n, int span)
{
    __shared__ float tile[32][33], part[8][32];
    int tx = threadIdx.x, ty = threadIdx.y, i0 = blockIdx.x * 32, first = blockIdx.y * span;
    float sum = 0.0f;
    for (int j0 = first; j0 < first + span; j0 += 32) {
        float right[4];
#pragma unroll
        for (int r = 0; r < 4; r++) {
            right[r] = b[(j0 + ty + 8 * r) * n + i0 + tx];
            tile[ty + 8 * r][tx] = a[(i0 + ty + 8 * r) * n + j0 + tx];
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; r++)
            sum += tile[tx][ty + 8 * r] * right[r];
        __syncthreads();
    }
    part[ty][tx] = sum;
    __syncthreads();
    if (ty == 0) {
        for (int k = 1; k < 8; k++)
            sum += part[k][tx];
        atomicAdd(&diagonal[i0 + tx], sum);
    }
}

__global__ void fill_diagonal(float *matrices)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 4; k++)
        matrices[id * 16 + k * 5] += 4.0f;
}

// Element k of every matrix side by side, and back.
__global__ void fill_by_element(float *to, const float *from)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++)
        to[k * MATRICES + id] = from[id * 16 + k];
}

__global__ void fill_by_matrix(float *to, const float *from)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 16; k++)
        to[id * 16 + k] = from[k * MATRICES + id];
}

static void inverted(float *out, const float *in)
{
    double w[4][8];
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 8; c++)
            w[r][c] = c < 4 ? in[r * 4 + c] : double(c - 4 == r);
    for (int p = 0; p < 4; p++) {
        int best = p;
        for (int r = p + 1; r < 4; r++)
            best = std::fabs(w[r][p]) > std::fabs(w[best][p]) ? r : best;
        for (int c = 0; c < 8; c++)
            std::swap(w[p][c], w[best][c]);
        double pivot = w[p][p];
        for (int c = 0; c < 8; c++)
            w[p][c] /= pivot;
        for (int r = 0; r < 4; r++) {
            double factor = r == p ? 0.0 : w[r][p];
            for (int c = 0; c < 8; c++)
                w[r][c] -= factor * w[p][c];
        }
    }
    for (int k = 0; k < 16; k++)
        out[k] = float(w[k / 4][4 + k % 4]);
}

int main()
{
    const size_t elements = (size_t)MATRICES * 16, bytes = elements * sizeof(float);
    const int blocks = MATRICES / 256;
    float *in = input<float>(elements, 2081, -1.0, 1.0), *in_by_element = output<float>(elements);
    fill_diagonal<<<blocks, 256>>>(in);
    fill_by_element<<<blocks, 256>>>(in_by_element, in);
    MUST(cudaGetLastError());
    float *out = output<float>(elements), *turned = output<float>(elements);

    // Every 97th matrix.
    const int every = 97, chosen = (MATRICES - 1) / every + 1;
    const size_t one = 16 * sizeof(float);
    std::vector<float> some((size_t)chosen * 16), want(some.size());
    MUST(cudaMemcpy2D(some.data(), one, in, every * one, one, chosen, cudaMemcpyDeviceToHost));
    for (int c = 0; c < chosen; c++)
        inverted(&want[(size_t)c * 16], &some[(size_t)c * 16]);
    float *picked = output<float>(want.size());
    auto invert = [&](const char *name, bool by_element, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, bytes));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (by_element)
            fill_by_matrix<<<blocks, 256>>>(turned, out);
        MUST(cudaMemcpy2D(picked, one, by_element ? turned : out, every * one, one, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 2e-4);
    };
    invert("k208a", false, [&] { k208a<<<blocks, 256>>>(out, in, 4); });
    invert("k208b", false, [&] { k208b<<<blocks, 256>>>(out, in); });
    invert("k208c", true, [&] { k208c<<<blocks, 256>>>(out, in_by_element, MATRICES); });
    invert("k208d", true, [&] { k208d<<<blocks, 256>>>(out, in_by_element, MATRICES); });

    const int n = 8192, span = 128, strip = 256;
    const size_t square = (size_t)n * n;
    float *a = input<float>(square, 2082, -1.0, 1.0), *b = input<float>(square, 2083, -1.0, 1.0);
    float *diagonal = output<float>(n);
    // The first 64 entries on the host; all entries of the later kernels against the first one.
    const int tried = 64;
    std::vector<float> rows = on_host(a, (size_t)tried * n), columns((size_t)n * tried), entries(tried), all;
    MUST(cudaMemcpy2D(columns.data(), tried * sizeof(float), b, n * sizeof(float), tried * sizeof(float), n,
                      cudaMemcpyDeviceToHost));
    for (int i = 0; i < tried; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++)
            sum += double(rows[(size_t)i * n + j]) * columns[(size_t)j * tried + i];
        entries[i] = float(sum);
    }
    auto product = [&](const char *name, int poison, std::function<void()> launch) {
        MUST(cudaMemset(diagonal, poison, n * sizeof(float)));
        launch();
        check(name, diagonal, entries, 1e-3);
        if (all.empty())
            all = on_host(diagonal, n);
        else
            check(name, diagonal, all, 1e-3);
    };
    const dim3 split(n / 256, n / span), tiled(n / 32, n / strip), square_block(32, 8);
    product("k208e", 0xA5, [&] { k208e<<<n / 64, 64>>>(diagonal, a, b, n); });
    product("k208f", 0, [&] { k208f<<<split, 256>>>(diagonal, a, b, n, span); });
    product("k208g", 0, [&] { k208g<<<tiled, square_block>>>(diagonal, a, b, n, strip); });
    product("k208h", 0, [&] { k208h<<<tiled, square_block>>>(diagonal, a, b, n, strip); });
    return 0;
}
