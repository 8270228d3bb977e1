// Sum of an array, and products of a sparse matrix with a vector.
#include "../harness.h"

#include <algorithm>
#include <numeric>

const int BLOCK = 512, PIECES = 8;

__global__ void k54a(float *in, float *sum)
{
    unsigned segment = 2 * blockDim.x * blockIdx.x;
    unsigned i = segment + 2 * threadIdx.x;
    for (unsigned stride = 1; stride <= blockDim.x; stride *= 2) {
        if (threadIdx.x % stride == 0)
            in[i] += in[i + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, in[i]);
}

__global__ void k54b(float *in, float *sum)
{
    unsigned segment = 2 * blockDim.x * blockIdx.x;
    unsigned i = segment + threadIdx.x;
    for (unsigned stride = blockDim.x; stride >= 1; stride /= 2) {
        if (threadIdx.x < stride)
            in[i] += in[i + stride];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        atomicAdd(sum, in[i]);
}

__global__ void k54c(const float *in, float *sum)
{
    __shared__ float s[BLOCK];
    unsigned t = threadIdx.x;
    unsigned i = 2 * BLOCK * blockIdx.x + t;
    s[t] = in[i] + in[i + BLOCK];
    for (unsigned stride = BLOCK / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride)
            s[t] += s[t + stride];
    }
    if (t == 0)
        atomicAdd(sum, s[0]);
}

__global__ void k54d(const float *in, float *sum)
{
    __shared__ float s[BLOCK];
    unsigned t = threadIdx.x;
    unsigned i = 2 * PIECES * BLOCK * blockIdx.x + t;
    float own = in[i];
    for (int piece = 1; piece < 2 * PIECES; piece++)
        own += in[i + piece * BLOCK];
    s[t] = own;
    for (unsigned stride = BLOCK / 2; stride >= 1; stride /= 2) {
        __syncthreads();
        if (t < stride)
            s[t] += s[t + stride];
    }
    if (t == 0)
        atomicAdd(sum, s[0]);
}

__global__ void k54e(const int *row, const int *col, const float *value, const float *x, float *y, int entries)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < entries)
        atomicAdd(&y[row[i]], x[col[i]] * value[i]);
}

__global__ void k54f(const int *start, const int *col, const float *value, const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int i = start[row]; i < start[row + 1]; i++)
            sum += x[col[i]] * value[i];
        y[row] = sum;
    }
}

__global__ void k54g(const int *length, const int *col, const float *value, const float *x, float *y, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float sum = 0.0f;
        for (int t = 0; t < length[row]; t++) {
            int i = t * rows + row;
            sum += x[col[i]] * value[i];
        }
        y[row] = sum;
    }
}

__global__ void k54h(const int *start, const int *order, const int *col, const float *value, const float *x, float *y,
                     int rows, int longest)
{
    int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < rows) {
        float sum = 0.0f;
        for (int t = 0; t < longest; t++) {
            int i = start[t] + id;
            if (i >= start[t + 1])
                break;
            sum += x[col[i]] * value[i];
        }
        y[order[id]] = sum;
    }
}

int main()
{
    const unsigned n = 1u << 25;
    float *source = input<float>(n, 541, 0.0, 1.0);
    std::vector<float> total(1);
    {
        std::vector<float> v = on_host(source, n);
        total[0] = float(std::accumulate(v.begin(), v.end(), 0.0));
    }
    float *work = output<float>(n);
    float *sum = zeroed<float>(1);
    MUST(cudaMemcpy(work, source, n * sizeof(float), cudaMemcpyDeviceToDevice));
    k54a<<<n / (2 * BLOCK), BLOCK>>>(work, sum);
    check("k54a", sum, total, 2e-5);

    sum = zeroed<float>(1);
    MUST(cudaMemcpy(work, source, n * sizeof(float), cudaMemcpyDeviceToDevice));
    k54b<<<n / (2 * BLOCK), BLOCK>>>(work, sum);
    check("k54b", sum, total, 2e-5);

    sum = zeroed<float>(1);
    k54c<<<n / (2 * BLOCK), BLOCK>>>(source, sum);
    check("k54c", sum, total, 2e-5);

    sum = zeroed<float>(1);
    k54d<<<n / (2 * BLOCK * PIECES), BLOCK>>>(source, sum);
    check("k54d", sum, total, 2e-5);

    // Most rows have a few entries, one in sixteen has many.
    const int rows = 500000;
    std::vector<int> length(rows), start(rows + 1, 0);
    int longest = 0;
    for (int r = 0; r < rows; r++) {
        unsigned u = scrambled(r, 542);
        length[r] = u % 16 == 0 ? 16 + int(u / 16 % 81) : 2 + int(u / 16 % 12);
        longest = std::max(longest, length[r]);
        start[r + 1] = start[r] + length[r];
    }
    const int entries = start[rows];
    std::vector<int> row(entries), col(entries);
    std::vector<float> value(entries);
    std::vector<int> wide_col((size_t)longest * rows, 0);
    std::vector<float> wide_value((size_t)longest * rows, 0.0f);
    for (int r = 0; r < rows; r++)
        for (int i = start[r]; i < start[r + 1]; i++) {
            row[i] = r;
            col[i] = int(scrambled(i, 543) % rows);
            value[i] = float(scrambled(i, 544) / 2147483648.0 - 1.0);
            wide_col[(size_t)(i - start[r]) * rows + r] = col[i];
            wide_value[(size_t)(i - start[r]) * rows + r] = value[i];
        }

    std::vector<int> order(rows), cut(longest + 1, 0), jagged_col(entries);
    std::vector<float> jagged_value(entries);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int p, int q) { return length[p] > length[q]; });
    int filled = 0;
    for (int t = 0; t < longest; t++) {
        cut[t] = filled;
        for (int p = 0; p < rows && length[order[p]] > t; p++) {
            jagged_col[filled] = col[start[order[p]] + t];
            jagged_value[filled] = value[start[order[p]] + t];
            filled++;
        }
    }
    cut[longest] = filled;

    float *x = input<float>(rows, 545, -1.0, 1.0);
    std::vector<float> factors = on_host(x, rows), want(rows);
    for (int r = 0; r < rows; r++) {
        double product = 0.0;
        for (int i = start[r]; i < start[r + 1]; i++)
            product += double(factors[col[i]]) * value[i];
        want[r] = float(product);
    }

    const int blocks = (rows + 255) / 256;
    int *d_row = on_device(row), *d_col = on_device(col), *d_start = on_device(start), *d_length = on_device(length);
    float *d_value = on_device(value);
    float *y = zeroed<float>(rows);
    k54e<<<(entries + 255) / 256, 256>>>(d_row, d_col, d_value, x, y, entries);
    check("k54e", y, want, 1e-4);

    y = output<float>(rows);
    k54f<<<blocks, 256>>>(d_start, d_col, d_value, x, y, rows);
    check("k54f", y, want, 1e-4);

    int *d_wide_col = on_device(wide_col);
    float *d_wide_value = on_device(wide_value);
    y = output<float>(rows);
    k54g<<<blocks, 256>>>(d_length, d_wide_col, d_wide_value, x, y, rows);
    check("k54g", y, want, 1e-4);

    int *d_cut = on_device(cut), *d_order = on_device(order), *d_jagged_col = on_device(jagged_col);
    float *d_jagged_value = on_device(jagged_value);
    y = output<float>(rows);
    k54h<<<blocks, 256>>>(d_cut, d_order, d_jagged_col, d_jagged_value, x, y, rows, longest);
    check("k54h", y, want, 1e-4);
    return 0;
}
