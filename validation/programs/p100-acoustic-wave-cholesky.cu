// One time step of the acoustic wave equation with an eighth-order Laplacian in three dimensions, and the Cholesky
// factorisation of many 8 x 8 matrices.
#include "../harness.h"

const int R = 4;
__constant__ float c_w[R + 1];

struct Field {
    int nx, ny, nz;      // the inner points
    int row, plane;      // from one row, and from one plane, to the next, halo included
};

// One point of the grid.
__device__ __forceinline__ void point(const float *__restrict__ now, const float *__restrict__ past,
                                      const float *__restrict__ speed, float *__restrict__ next, Field g, int x, int y, int z)
{
    if (x >= g.nx || y >= g.ny || z >= g.nz)
        return;
    size_t at = (size_t)(z + R) * g.plane + (size_t)(y + R) * g.row + x + R;
    float sum = 3.0f * c_w[0] * now[at];
#pragma unroll
    for (int r = 1; r <= R; r++)
        sum += c_w[r] * (now[at + r] + now[at - r] + now[at + r * g.row] + now[at - r * g.row] +
                         now[at + (size_t)r * g.plane] + now[at - (size_t)r * g.plane]);
    next[at] = 2.0f * now[at] - past[at] + speed[at] * sum;
}

__global__ void k100a(const float *__restrict__ now, const float *__restrict__ past, const float *__restrict__ speed,
                      float *__restrict__ next, Field g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    point(now, past, speed, next, g, x, y, z);
}

__global__ void k100b(const float *__restrict__ now, const float *__restrict__ past, const float *__restrict__ speed,
                      float *__restrict__ next, Field g)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    point(now, past, speed, next, g, x, y, z);
}

// Walks along z with the column in registers and the plane in shared memory; nx is a multiple of BX and ny of BY.
template <int BX, int BY>
__device__ __forceinline__ void walk(const float *__restrict__ now, const float *__restrict__ past,
                                     const float *__restrict__ speed, float *__restrict__ next, Field g)
{
    __shared__ float s[BY + 2 * R][BX + 2 * R];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * BX + tx, y = blockIdx.y * BY + ty;
    size_t at = (size_t)(y + R) * g.row + x + R;
    int sx = tx + R, sy = ty + R;

    float behind[R], front[R], here;
#pragma unroll
    for (int r = 0; r < R; r++)
        behind[r] = now[at + (size_t)(R - 1 - r) * g.plane];
    here = now[at + (size_t)R * g.plane];
#pragma unroll
    for (int r = 0; r < R; r++)
        front[r] = now[at + (size_t)(R + 1 + r) * g.plane];
    at += (size_t)R * g.plane;

    for (int z = 0; z < g.nz; z++) {
        __syncthreads();
        s[sy][sx] = here;
        if (ty < R) {
            s[ty][sx] = now[at - (size_t)R * g.row];
            s[ty + BY + R][sx] = now[at + (size_t)BY * g.row];
        }
        if (tx < R) {
            s[sy][tx] = now[at - R];
            s[sy][tx + BX + R] = now[at + BX];
        }
        __syncthreads();

        float sum = 3.0f * c_w[0] * here;
#pragma unroll
        for (int r = 1; r <= R; r++)
            sum += c_w[r] * (s[sy][sx + r] + s[sy][sx - r] + s[sy + r][sx] + s[sy - r][sx] + front[r - 1] + behind[r - 1]);
        next[at] = 2.0f * here - past[at] + speed[at] * sum;

#pragma unroll
        for (int r = R - 1; r > 0; r--)
            behind[r] = behind[r - 1];
        behind[0] = here;
        here = front[0];
#pragma unroll
        for (int r = 0; r < R - 1; r++)
            front[r] = front[r + 1];
        at += g.plane;
        if (z + 1 < g.nz)
            front[R - 1] = now[at + (size_t)R * g.plane];
    }
}

__global__ void k100c(const float *__restrict__ now, const float *__restrict__ past, const float *__restrict__ speed,
                      float *__restrict__ next, Field g)
{
    walk<16, 16>(now, past, speed, next, g);
}

__global__ void k100d(const float *__restrict__ now, const float *__restrict__ past, const float *__restrict__ speed,
                      float *__restrict__ next, Field g)
{
    walk<32, 16>(now, past, speed, next, g);
}

// The lower triangle of each matrix becomes its factor. A matrix is n x n numbers, row by row.
__global__ void k100e(double *matrices, int n, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    double *a = matrices + (size_t)b * n * n;
    for (int k = 0; k < n; k++) {
        a[k * n + k] = sqrt(a[k * n + k]);
        for (int i = k + 1; i < n; i++)
            a[i * n + k] /= a[k * n + k];
        for (int j = k + 1; j < n; j++)
            for (int i = j; i < n; i++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
}

// The same element of all the matrices is adjacent.
__global__ void k100f(double *matrices, int n, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    double *a = matrices + b;
    size_t m = batch;
    for (int k = 0; k < n; k++) {
        a[(k * n + k) * m] = sqrt(a[(k * n + k) * m]);
        for (int i = k + 1; i < n; i++)
            a[(i * n + k) * m] /= a[(k * n + k) * m];
        for (int j = k + 1; j < n; j++)
            for (int i = j; i < n; i++)
                a[(i * n + j) * m] -= a[(i * n + k) * m] * a[(j * n + k) * m];
    }
}

const int N = 8, TRIANGLE = N * (N + 1) / 2;

__host__ __device__ constexpr int packed(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

__global__ void k100g(double *matrices, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    double *a = matrices + b;
    double l[TRIANGLE];
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int j = 0; j <= i; j++)
            l[packed(i, j)] = a[(size_t)(i * N + j) * batch];
#pragma unroll
    for (int k = 0; k < N; k++) {
        double root = sqrt(l[packed(k, k)]), inv = 1.0 / root;
        l[packed(k, k)] = root;
#pragma unroll
        for (int i = k + 1; i < N; i++)
            l[packed(i, k)] *= inv;
#pragma unroll
        for (int j = k + 1; j < N; j++)
#pragma unroll
            for (int i = j; i < N; i++)
                l[packed(i, j)] -= l[packed(i, k)] * l[packed(j, k)];
    }
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int j = 0; j <= i; j++)
            a[(size_t)(i * N + j) * batch] = l[packed(i, j)];
}

const int WIDE = 128;

// batch is a multiple of WIDE.
__global__ void k100h(double *matrices, int batch)
{
    __shared__ double l[TRIANGLE][WIDE];
    int t = threadIdx.x;
    double *a = matrices + (size_t)blockIdx.x * WIDE + t;
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            l[packed(i, j)][t] = a[(size_t)(i * N + j) * batch];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        double root = sqrt(l[packed(k, k)][t]), inv = 1.0 / root;
        l[packed(k, k)][t] = root;
        for (int i = k + 1; i < N; i++)
            l[packed(i, k)][t] *= inv;
        for (int j = k + 1; j < N; j++)
            for (int i = j; i < N; i++)
                l[packed(i, j)][t] -= l[packed(i, k)][t] * l[packed(j, k)][t];
    }
    __syncthreads();
    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            a[(size_t)(i * N + j) * batch] = l[packed(i, j)][t];
}

__global__ void sample(const float *from, float *to, size_t stride, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        to[i] = from[i * stride];
}

static void waves()
{
    Field g = {448, 448, 312, 0, 0};
    g.row = g.nx + 2 * R;
    g.plane = g.row * (g.ny + 2 * R);
    const size_t n = (size_t)g.plane * (g.nz + 2 * R);
    const float weight[R + 1] = {-205.0f / 72.0f, 8.0f / 5.0f, -1.0f / 5.0f, 8.0f / 315.0f, -1.0f / 560.0f};
    MUST(cudaMemcpyToSymbol(c_w, weight, sizeof(weight)));
    float *now = input<float>(n, 1001, -1.0, 1.0), *past = input<float>(n, 1002, -1.0, 1.0);
    float *speed = input<float>(n, 1003, 0.05, 0.2), *next = output<float>(n);
    auto number = [](size_t i, unsigned seed, double low, double high) {
        return double(float(low + (high - low) * (scrambled(i, seed) / 4294967296.0)));
    };

    dim3 cube(8, 8, 8), flat(32, 4, 4);
    k100a<<<dim3(g.nx / 8, g.ny / 8, g.nz / 8), cube>>>(now, past, speed, next, g);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());

    // Every 263rd row on the host, with the values made again.
    std::vector<float> some, got;
    for (int r = 0; r < g.ny * g.nz; r += 263) {
        size_t first = (size_t)(r / g.ny + R) * g.plane + (size_t)(r % g.ny + R) * g.row + R;
        std::vector<float> line = on_host(next + first, g.nx);
        got.insert(got.end(), line.begin(), line.end());
        for (int x = 0; x < g.nx; x++) {
            size_t at = first + x;
            auto u = [&](size_t i) { return number(i, 1001, -1.0, 1.0); };
            double sum = 3.0 * weight[0] * u(at);
            for (int k = 1; k <= R; k++)
                sum += weight[k] * (u(at + k) + u(at - k) + u(at + (size_t)k * g.row) + u(at - (size_t)k * g.row) +
                                    u(at + (size_t)k * g.plane) + u(at - (size_t)k * g.plane));
            some.push_back(float(2.0 * u(at) - number(at, 1002, -1.0, 1.0) + number(at, 1003, 0.05, 0.2) * sum));
        }
    }
    float *d_got = on_device(got);
    check("k100a", d_got, some, 1e-5);

    const size_t stride = 11, points = n / stride;
    float *picked = output<float>(points);
    sample<<<1056, 256>>>(next, picked, stride, points);
    MUST(cudaDeviceSynchronize());
    std::vector<float> want = on_host(picked, points);
    auto again = [&] { MUST(cudaMemset(next, 0xA5, n * sizeof(float))); };
    auto pick_and_check = [&](const char *name) {
        MUST(cudaGetLastError());
        sample<<<1056, 256>>>(next, picked, stride, points);
        check(name, picked, want, 1e-5);
    };
    again();
    k100b<<<dim3(g.nx / 32, g.ny / 4, g.nz / 4), flat>>>(now, past, speed, next, g);
    pick_and_check("k100b");
    again();
    k100c<<<dim3(g.nx / 16, g.ny / 16), dim3(16, 16)>>>(now, past, speed, next, g);
    pick_and_check("k100c");
    again();
    k100d<<<dim3(g.nx / 32, g.ny / 16), dim3(32, 16)>>>(now, past, speed, next, g);
    pick_and_check("k100d");
    MUST(cudaFree(now));
    MUST(cudaFree(past));
    MUST(cudaFree(speed));
    MUST(cudaFree(next));
}

static void factors()
{
    const int batch = 1 << 18;
    const size_t n = (size_t)batch * N * N;
    std::vector<double> rows(n), columns(n), want_rows(n), want_columns(n);
    for (int b = 0; b < batch; b++) {
        double a[N][N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++) {
                double v = scrambled((size_t)b * N * N + i * N + j, 1004) / 2147483648.0 - 1.0;
                a[i][j] = a[j][i] = i == j ? 10.0 + v : v;
            }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                rows[((size_t)b * N + i) * N + j] = a[i][j];
                columns[(size_t)(i * N + j) * batch + b] = a[i][j];
            }
        for (int k = 0; k < N; k++) {
            a[k][k] = std::sqrt(a[k][k]);
            for (int i = k + 1; i < N; i++)
                a[i][k] /= a[k][k];
            for (int j = k + 1; j < N; j++)
                for (int i = j; i < N; i++)
                    a[i][j] -= a[i][k] * a[j][k];
        }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                want_rows[((size_t)b * N + i) * N + j] = a[i][j];
                want_columns[(size_t)(i * N + j) * batch + b] = a[i][j];
            }
    }
    double *d_rows = on_device(rows), *d_columns = on_device(columns), *work = output<double>(n);
    auto start = [&](const double *from) { MUST(cudaMemcpy(work, from, n * sizeof(double), cudaMemcpyDeviceToDevice)); };
    start(d_rows);
    k100e<<<batch / WIDE, WIDE>>>(work, N, batch);
    check("k100e", work, want_rows, 1e-11);
    start(d_columns);
    k100f<<<batch / WIDE, WIDE>>>(work, N, batch);
    check("k100f", work, want_columns, 1e-11);
    start(d_columns);
    k100g<<<batch / WIDE, WIDE>>>(work, batch);
    check("k100g", work, want_columns, 1e-11);
    start(d_columns);
    k100h<<<batch / WIDE, WIDE>>>(work, batch);
    check("k100h", work, want_columns, 1e-11);
}

int main()
{
    waves();
    factors();
    return 0;
}
