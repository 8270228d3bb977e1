// Matrix times vector, y = A x, with A stored by rows and with A stored by columns.
#include "../harness.h"

__global__ void k21a(const float *A, const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++)
        sum += A[(size_t)row * cols + j] * x[j];
    y[row] = sum;
}

__global__ void k21b(const float *A, const float *x, float *y, int cols)
{
    __shared__ float partial[256];
    int row = blockIdx.x;
    float sum = 0.0f;
    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        sum += A[(size_t)row * cols + j] * x[j];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            partial[threadIdx.x] += partial[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[row] = partial[0];
}

__global__ void k21c(const float *A, const float *x, float *y, int rows, int cols)
{
    int lane = threadIdx.x % 32;
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (row >= rows)
        return;
    const float *a = A + (size_t)row * cols;
    float sum = 0.0f;
    for (int j = lane; j < cols; j += 32)
        sum += a[j] * x[j];
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        y[row] = sum;
}

// From here on A is stored by columns.
__global__ void k21d(const float *A, const float *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = 0; j < cols; j++)
        sum += A[(size_t)j * rows + row] * x[j];
    y[row] = sum;
}

__global__ void k21e(const float *A, const float *x, float *y, int rows, int cols, int part)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * part;
    int last = min(first + part, cols);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = first; j < last; j++)
        sum += A[(size_t)j * rows + row] * x[j];
    atomicAdd(&y[row], sum);
}

__global__ void k21f(const float *A, const float *x, float *y, int rows, int cols, int part)
{
    extern __shared__ float xs[];
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int first = blockIdx.y * part;
    int count = min(part, cols - first);
    for (int j = threadIdx.x; j < count; j += blockDim.x)
        xs[j] = x[first + j];
    __syncthreads();
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int j = 0; j < count; j++)
        sum += A[(size_t)(first + j) * rows + row] * xs[j];
    atomicAdd(&y[row], sum);
}

int main()
{
    const int rows = 70000, cols = 1500;
    float *A = input<float>((size_t)rows * cols, 211, -1.0, 1.0);
    float *x = input<float>(cols, 212, -1.0, 1.0);
    std::vector<float> hx = on_host(x, cols);
    auto entry = [](size_t i) { return float(-1.0 + 2.0 * (scrambled(i, 211) / 4294967296.0)); };

    // Some thousand rows against the host, all rows against the first kernel.
    auto compare = [&](const char *name, const float *y, bool by_rows) {
        std::vector<float> all = on_host(y, rows), got, want;
        for (int row = 0; row < rows; row += 61) {
            double sum = 0.0;
            for (int j = 0; j < cols; j++)
                sum += double(entry(by_rows ? (size_t)row * cols + j : (size_t)j * rows + row)) * hx[j];
            got.push_back(all[row]);
            want.push_back(float(sum));
        }
        float *sample = on_device(got);
        check(name, sample, want, 1e-3);
        MUST(cudaFree(sample));
        return all;
    };

    float *y = output<float>(rows);
    k21a<<<(rows + 127) / 128, 128>>>(A, x, y, rows, cols);
    std::vector<float> want = compare("k21a", y, true);

    y = output<float>(rows);
    k21b<<<rows, 256>>>(A, x, y, cols);
    check("k21b", y, want, 1e-3);

    y = output<float>(rows);
    k21c<<<(rows + 7) / 8, 256>>>(A, x, y, rows, cols);
    check("k21c", y, want, 1e-3);

    y = output<float>(rows);
    k21d<<<(rows + 127) / 128, 128>>>(A, x, y, rows, cols);
    want = compare("k21d", y, false);

    const int part = 150;
    dim3 grid((rows + 127) / 128, (cols + part - 1) / part);
    y = zeroed<float>(rows);
    k21e<<<grid, 128>>>(A, x, y, rows, cols, part);
    check("k21e", y, want, 1e-3);

    y = zeroed<float>(rows);
    k21f<<<grid, 128, part * sizeof(float)>>>(A, x, y, rows, cols, part);
    check("k21f", y, want, 1e-3);
    return 0;
}
