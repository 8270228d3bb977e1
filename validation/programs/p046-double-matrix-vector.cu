// Dense matrix-vector products in double precision: w = alpha A x along the rows, v = beta B^T y + z along the columns.
#include "../harness.h"

__global__ void k46a(int rows, int cols, double alpha, double *A, double *x, double *w)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        w[i] = 0.0;
        for (int j = 0; j < cols; j++)
            w[i] += alpha * A[(size_t)i * cols + j] * x[j];
    }
}

const int STAGE_ROWS = 128, STAGE_COLS = 8;

// cols is a multiple of STAGE_COLS; one thread for each row of the block.
__global__ void k46b(int rows, int cols, double alpha, const double *A, const double *x, double *w)
{
    __shared__ double stage[STAGE_ROWS * STAGE_COLS];
    int first = blockIdx.x * STAGE_ROWS;
    int row = first + threadIdx.x;
    int here = min(STAGE_ROWS, rows - first);

    double sum = 0.0;
    for (int col = 0; col < cols; col += STAGE_COLS) {
        for (int slot = threadIdx.x; slot < here * STAGE_COLS; slot += blockDim.x) {
            int r = slot / STAGE_COLS, c = slot % STAGE_COLS;
            stage[r * STAGE_COLS + c] = A[(size_t)(first + r) * cols + col + c];
        }
        __syncthreads();
        if (row < rows)
            for (int c = 0; c < STAGE_COLS; c++)
                sum += stage[threadIdx.x * STAGE_COLS + c] * x[col + c];
        __syncthreads();
    }
    if (row < rows)
        w[row] = alpha * sum;
}

__global__ void k46c(int rows, int cols, double alpha, const double *A, const double *x, double *w)
{
    __shared__ double stage[STAGE_ROWS][STAGE_COLS + 1];
    int first = blockIdx.x * STAGE_ROWS;
    int row = first + threadIdx.x;
    int here = min(STAGE_ROWS, rows - first);

    double sum = 0.0;
    for (int col = 0; col < cols; col += STAGE_COLS) {
        for (int slot = threadIdx.x; slot < here * STAGE_COLS; slot += blockDim.x) {
            int r = slot / STAGE_COLS, c = slot % STAGE_COLS;
            stage[r][c] = A[(size_t)(first + r) * cols + col + c];
        }
        __syncthreads();
        if (row < rows)
            for (int c = 0; c < STAGE_COLS; c++)
                sum += stage[threadIdx.x][c] * x[col + c];
        __syncthreads();
    }
    if (row < rows)
        w[row] = alpha * sum;
}

__global__ void k46d(int rows, int cols, double alpha, const double *__restrict__ A, const double *__restrict__ x,
                     double *__restrict__ w)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;

    const double *line = A + (size_t)row * cols;
    double sum = 0.0;
    for (int j = lane; j < cols; j += 32)
        sum += line[j] * x[j];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        w[row] = alpha * sum;
}

const int MAX_COLS = 2048;

__global__ void k46e(int rows, int cols, double alpha, const double *__restrict__ A, const double *__restrict__ x,
                     double *__restrict__ w)
{
    __shared__ double sx[MAX_COLS];
    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        sx[j] = x[j];
    __syncthreads();

    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;

    const double *line = A + (size_t)row * cols;
    double sum = 0.0;
    for (int j = lane; j < cols; j += 32)
        sum += line[j] * sx[j];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (lane == 0)
        w[row] = alpha * sum;
}

__global__ void k46f(int rows, int cols, double beta, const double *B, const double *y, const double *z, double *v)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < cols; i += gridDim.x * blockDim.x) {
        for (int j = 0; j < rows; j++)
            v[i] = v[i] + beta * B[(size_t)j * cols + i] * y[j];
        v[i] = v[i] + z[i];
    }
}

const int ACCS = 4;

// rows is a multiple of ACCS.
__global__ void k46g(int rows, int cols, double beta, const double *B, const double *y, const double *z, double *v)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < cols; i += gridDim.x * blockDim.x) {
        double part[ACCS] = {0.0};
        for (int j = 0; j < rows; j += ACCS)
            for (int a = 0; a < ACCS; a++)
                part[a] += B[(size_t)(j + a) * cols + i] * y[j + a];
        for (int a = 1; a < ACCS; a++)
            part[0] += part[a];
        v[i] += beta * part[0] + z[i];
    }
}

// v is zero at the start; rows is a multiple of ACCS * gridDim.y.
__global__ void k46h(int rows, int cols, double beta, const double *B, const double *y, const double *z, double *v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cols)
        return;
    int count = rows / gridDim.y;
    int first = blockIdx.y * count;

    double part[ACCS] = {0.0};
    for (int j = first; j < first + count; j += ACCS)
        for (int a = 0; a < ACCS; a++)
            part[a] += B[(size_t)(j + a) * cols + i] * y[j + a];
    for (int a = 1; a < ACCS; a++)
        part[0] += part[a];
    double term = beta * part[0];
    if (blockIdx.y == 0)
        term += z[i];
    atomicAdd(&v[i], term);
}

int main()
{
    const int nx = 32768, ny = 2048;
    const int mx = 4096, my = 16384;
    const size_t n = (size_t)nx * ny;
    const double alpha = 1.5, beta = 1.2;
    double *A = input<double>(n, 461, -1.0, 1.0);
    double *x = input<double>(ny, 462, -1.0, 1.0);
    double *y = input<double>(mx, 463, -1.0, 1.0);
    double *z = input<double>(my, 464, -1.0, 1.0);
    double *w = output<double>(nx);
    double *v = output<double>(my);

    std::vector<double> want_w(nx), want_v(my, 0.0);
    {
        std::vector<double> ha = on_host(A, n), hx = on_host(x, ny), hy = on_host(y, mx), hz = on_host(z, my);
        for (int i = 0; i < nx; i++) {
            const double *line = &ha[(size_t)i * ny];
            double sum[4] = {0.0, 0.0, 0.0, 0.0};
            for (int j = 0; j < ny; j += 4)
                for (int a = 0; a < 4; a++)
                    sum[a] += line[j + a] * hx[j + a];
            want_w[i] = alpha * (sum[0] + sum[1] + sum[2] + sum[3]);
        }
        for (int j = 0; j < mx; j++) {
            const double *line = &ha[(size_t)j * my];
            for (int i = 0; i < my; i++)
                want_v[i] += line[i] * hy[j];
        }
        for (int i = 0; i < my; i++)
            want_v[i] = beta * want_v[i] + hz[i];
    }
    auto poison = [&] { MUST(cudaMemset(w, 0xA5, nx * sizeof(double))); };
    auto clear = [&] { MUST(cudaMemset(v, 0, my * sizeof(double))); };

    poison();
    k46a<<<nx / 256, 256>>>(nx, ny, alpha, A, x, w);
    check("k46a", w, want_w, 1e-10);
    poison();
    k46b<<<nx / STAGE_ROWS, STAGE_ROWS>>>(nx, ny, alpha, A, x, w);
    check("k46b", w, want_w, 1e-10);
    poison();
    k46c<<<nx / STAGE_ROWS, STAGE_ROWS>>>(nx, ny, alpha, A, x, w);
    check("k46c", w, want_w, 1e-10);
    poison();
    k46d<<<nx / 8, 256>>>(nx, ny, alpha, A, x, w);
    check("k46d", w, want_w, 1e-10);
    poison();
    k46e<<<nx / 8, 256>>>(nx, ny, alpha, A, x, w);
    check("k46e", w, want_w, 1e-10);

    clear();
    k46f<<<my / 64, 64>>>(mx, my, beta, A, y, z, v);
    check("k46f", v, want_v, 1e-10);
    clear();
    k46g<<<my / 64, 64>>>(mx, my, beta, A, y, z, v);
    check("k46g", v, want_v, 1e-10);
    clear();
    k46h<<<dim3(my / 256, 32), 256>>>(mx, my, beta, A, y, z, v);
    check("k46h", v, want_v, 1e-10);
    return 0;
}
