// Sparse matrix times vector in compressed rows: a finite-element matrix with long rows, and a 7-point matrix with short ones.
#include "../harness.h"

#include <algorithm>

__global__ void k08a(int rows, const int *__restrict__ row_ptr, const int *__restrict__ cols,
                     const float *__restrict__ vals, const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float dot = 0.0f;
        int end = row_ptr[row + 1];
        for (int j = row_ptr[row]; j < end; ++j)
            dot += vals[j] * x[cols[j]];
        y[row] = dot;
    }
}

__global__ void k08b(int rows, const int *__restrict__ row_ptr, const int *__restrict__ cols,
                     const float *__restrict__ vals, const float *__restrict__ x, float *__restrict__ y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float dot = 0.0f;
    int end = row_ptr[row + 1];
    for (int j = row_ptr[row] + lane; j < end; j += 32)
        dot += vals[j] * x[cols[j]];
    for (int d = 16; d > 0; d /= 2)
        dot += __shfl_down_sync(0xffffffff, dot, d);
    if (lane == 0)
        y[row] = dot;
}

__global__ void k08c(int rows, const int *__restrict__ row_ptr, const int *__restrict__ cols,
                     const float *__restrict__ vals, cudaTextureObject_t x, float *__restrict__ y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float dot = 0.0f;
    int end = row_ptr[row + 1];
    for (int j = row_ptr[row] + lane; j < end; j += 32)
        dot += vals[j] * tex1Dfetch<float>(x, cols[j]);
    for (int d = 16; d > 0; d /= 2)
        dot += __shfl_down_sync(0xffffffff, dot, d);
    if (lane == 0)
        y[row] = dot;
}

// The 7-point matrix.
__global__ void k08d(int rows, const int *__restrict__ row_ptr, const int *__restrict__ cols,
                     const float *__restrict__ vals, const float *__restrict__ x, float *__restrict__ y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    float dot = 0.0f;
    int end = row_ptr[row + 1];
    for (int j = row_ptr[row] + lane; j < end; j += 32)
        dot += vals[j] * x[cols[j]];
    for (int d = 16; d > 0; d /= 2)
        dot += __shfl_down_sync(0xffffffff, dot, d);
    if (lane == 0)
        y[row] = dot;
}

// rows is a multiple of 32.
__global__ void k08e(int rows, const int *__restrict__ row_ptr, const int *__restrict__ cols,
                     const float *__restrict__ vals, const float *__restrict__ x, float *__restrict__ y)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    int lane = threadIdx.x % 8;
    if (row >= rows)
        return;
    float dot = 0.0f;
    int end = row_ptr[row + 1];
    for (int j = row_ptr[row] + lane; j < end; j += 8)
        dot += vals[j] * x[cols[j]];
    for (int d = 4; d > 0; d /= 2)
        dot += __shfl_down_sync(0xffffffff, dot, d, 8);
    if (lane == 0)
        y[row] = dot;
}

// The k-th entries of all rows stand together; short rows end with zeros.
__global__ void k08f(int rows, const int *__restrict__ cols, const float *__restrict__ vals,
                     const float *__restrict__ x, float *__restrict__ y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float dot = 0.0f;
#pragma unroll
    for (int k = 0; k < 7; ++k) {
        size_t j = (size_t)k * rows + row;
        dot += vals[j] * x[cols[j]];
    }
    y[row] = dot;
}

static float value(size_t j, unsigned seed)
{
    return scrambled(j, seed) / 4294967296.0f - 0.5f;
}

static std::vector<float> multiply(const std::vector<int> &row_ptr, const std::vector<int> &cols,
                                   const std::vector<float> &vals, const std::vector<float> &x)
{
    std::vector<float> y(row_ptr.size() - 1);
    for (size_t r = 0; r < y.size(); ++r) {
        double dot = 0;
        for (int j = row_ptr[r]; j < row_ptr[r + 1]; ++j)
            dot += (double)vals[j] * x[cols[j]];
        y[r] = (float)dot;
    }
    return y;
}

static void long_rows()
{
    const int rows = 160000;
    std::vector<int> row_ptr(rows + 1, 0), cols;
    std::vector<float> vals, x(rows);
    cols.reserve((size_t)rows * 200);
    vals.reserve((size_t)rows * 200);
    for (int r = 0; r < rows; ++r) {
        int length = 128 + scrambled(r, 11) % 129;
        int start = std::min(std::max(r - length, 0), rows - 2 * length);
        for (int k = 0; k < length; ++k) {
            unsigned u = scrambled(cols.size(), 12);
            cols.push_back(start + 2 * k + (u & 1));
            vals.push_back((u >> 8) * (1.0f / 16777216.0f) - 0.5f);
        }
        row_ptr[r + 1] = (int)cols.size();
        x[r] = value(r, 13);
    }
    const std::vector<float> want = multiply(row_ptr, cols, vals, x);
    int *d_row_ptr = on_device(row_ptr), *d_cols = on_device(cols);
    float *d_vals = on_device(vals), *d_x = on_device(x), *d_y = output<float>(rows);

    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = d_x;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = rows * sizeof(float);
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture = 0;
    MUST(cudaCreateTextureObject(&texture, &resource, &description, nullptr));

    k08a<<<(rows + 127) / 128, 128>>>(rows, d_row_ptr, d_cols, d_vals, d_x, d_y);
    check("k08a", d_y, want, 1e-4);
    MUST(cudaMemset(d_y, 0xA5, rows * sizeof(float)));
    k08b<<<(rows + 7) / 8, 256>>>(rows, d_row_ptr, d_cols, d_vals, d_x, d_y);
    check("k08b", d_y, want, 1e-4);
    MUST(cudaMemset(d_y, 0xA5, rows * sizeof(float)));
    k08c<<<(rows + 7) / 8, 256>>>(rows, d_row_ptr, d_cols, d_vals, texture, d_y);
    check("k08c", d_y, want, 1e-4);

    MUST(cudaDestroyTextureObject(texture));
    MUST(cudaFree(d_row_ptr));
    MUST(cudaFree(d_cols));
    MUST(cudaFree(d_vals));
    MUST(cudaFree(d_x));
    MUST(cudaFree(d_y));
}

static void short_rows()
{
    const int side = 160, rows = side * side * side;
    std::vector<int> row_ptr(rows + 1, 0), cols, ell_cols((size_t)7 * rows);
    std::vector<float> vals, x(rows), ell_vals((size_t)7 * rows, 0.0f);
    cols.reserve((size_t)rows * 7);
    vals.reserve((size_t)rows * 7);
    int r = 0;
    for (int k = 0; k < side; ++k)
        for (int j = 0; j < side; ++j)
            for (int i = 0; i < side; ++i, ++r) {
                const int neighbours[7] = {k > 0 ? r - side * side : -1, j > 0 ? r - side : -1, i > 0 ? r - 1 : -1, r,
                                           i < side - 1 ? r + 1 : -1,    j < side - 1 ? r + side : -1,
                                           k < side - 1 ? r + side * side : -1};
                int entries = 0;
                for (int c : neighbours)
                    if (c >= 0) {
                        float v = value(cols.size(), 14);
                        ell_cols[(size_t)entries * rows + r] = c;
                        ell_vals[(size_t)entries * rows + r] = v;
                        ++entries;
                        cols.push_back(c);
                        vals.push_back(v);
                    }
                for (; entries < 7; ++entries)
                    ell_cols[(size_t)entries * rows + r] = r;
                row_ptr[r + 1] = (int)cols.size();
                x[r] = value(r, 15);
            }
    const std::vector<float> want = multiply(row_ptr, cols, vals, x);
    int *d_row_ptr = on_device(row_ptr), *d_cols = on_device(cols), *d_ell_cols = on_device(ell_cols);
    float *d_vals = on_device(vals), *d_ell_vals = on_device(ell_vals), *d_x = on_device(x), *d_y = output<float>(rows);

    k08d<<<rows / 8, 256>>>(rows, d_row_ptr, d_cols, d_vals, d_x, d_y);
    check("k08d", d_y, want, 1e-5);
    MUST(cudaMemset(d_y, 0xA5, rows * sizeof(float)));
    k08e<<<rows / 32, 256>>>(rows, d_row_ptr, d_cols, d_vals, d_x, d_y);
    check("k08e", d_y, want, 1e-5);
    MUST(cudaMemset(d_y, 0xA5, rows * sizeof(float)));
    k08f<<<rows / 256, 256>>>(rows, d_ell_cols, d_ell_vals, d_x, d_y);
    check("k08f", d_y, want, 1e-5);
}

int main()
{
    long_rows();
    short_rows();
    return 0;
}
