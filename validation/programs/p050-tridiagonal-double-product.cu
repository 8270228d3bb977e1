// In double precision: the solution of many tridiagonal systems, and the product of two dense matrices.
#include "../harness.h"

#include <functional>

// One thread for each system; system s has its m rows at s * m.
__global__ void k50a(const double *lower, const double *diag, double *upper, double *rhs, int m, int systems)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;
    int first = s * m;
    int last = first + m - 1;

    upper[first] /= diag[first];
    rhs[first] /= diag[first];
    for (int i = first + 1; i < last; i++) {
        upper[i] /= diag[i] - lower[i] * upper[i - 1];
        rhs[i] = (rhs[i] - lower[i] * rhs[i - 1]) / (diag[i] - lower[i] * upper[i - 1]);
    }
    rhs[last] = (rhs[last] - lower[last] * rhs[last - 1]) / (diag[last] - lower[last] * upper[last - 1]);
    for (int i = last - 1; i >= first; i--)
        rhs[i] -= upper[i] * rhs[i + 1];
}

// Row i of system s stands at i * systems + s, here and below.
__global__ void k50b(const double *lower, const double *diag, double *upper, double *rhs, int m, int systems)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;
    int first = s;
    int last = systems * (m - 1) + s;

    upper[first] /= diag[first];
    rhs[first] /= diag[first];
    for (int i = first + systems; i < last; i += systems) {
        upper[i] /= diag[i] - lower[i] * upper[i - systems];
        rhs[i] = (rhs[i] - lower[i] * rhs[i - systems]) / (diag[i] - lower[i] * upper[i - systems]);
    }
    rhs[last] = (rhs[last] - lower[last] * rhs[last - systems]) / (diag[last] - lower[last] * upper[last - systems]);
    for (int i = last - systems; i >= first; i -= systems)
        rhs[i] -= upper[i] * rhs[i + systems];
}

__global__ void k50c(const double *__restrict__ lower, const double *__restrict__ diag, double *__restrict__ upper,
                     double *__restrict__ rhs, int m, int systems)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= systems)
        return;
    int last = systems * (m - 1) + s;

    double inv = 1.0 / diag[s];
    double u = upper[s] * inv, r = rhs[s] * inv;
    upper[s] = u;
    rhs[s] = r;
    for (int i = s + systems; i < last; i += systems) {
        double l = lower[i];
        inv = 1.0 / (diag[i] - l * u);
        u = upper[i] * inv;
        r = (rhs[i] - l * r) * inv;
        upper[i] = u;
        rhs[i] = r;
    }
    r = (rhs[last] - lower[last] * r) / (diag[last] - lower[last] * u);
    rhs[last] = r;
    for (int i = last - systems; i >= s; i -= systems) {
        r = rhs[i] - upper[i] * r;
        rhs[i] = r;
    }
}

const int M = 256;

// One block for each system, one thread for each of its M rows.
__global__ void k50d(const double *__restrict__ lower, const double *__restrict__ diag,
                     const double *__restrict__ upper, double *__restrict__ rhs, int systems)
{
    __shared__ double sl[2][M], sd[2][M], su[2][M], sr[2][M];
    int i = threadIdx.x;
    int at = i * systems + blockIdx.x;
    sl[0][i] = i == 0 ? 0.0 : lower[at];
    sd[0][i] = diag[at];
    su[0][i] = i == M - 1 ? 0.0 : upper[at];
    sr[0][i] = rhs[at];
    __syncthreads();

    int now = 0;
    for (int reach = 1; reach < M; reach *= 2) {
        double l = 0.0, d = sd[now][i], u = 0.0, r = sr[now][i];
        if (i >= reach) {
            double f = sl[now][i] / sd[now][i - reach];
            l = -f * sl[now][i - reach];
            d -= f * su[now][i - reach];
            r -= f * sr[now][i - reach];
        }
        if (i + reach < M) {
            double f = su[now][i] / sd[now][i + reach];
            u = -f * su[now][i + reach];
            d -= f * sl[now][i + reach];
            r -= f * sr[now][i + reach];
        }
        sl[1 - now][i] = l;
        sd[1 - now][i] = d;
        su[1 - now][i] = u;
        sr[1 - now][i] = r;
        now = 1 - now;
        __syncthreads();
    }
    rhs[at] = sr[now][i] / sd[now][i];
}

// Dense matrices of n x n.
__global__ void k50e(int n, double alpha, double *tmp, double *A, double *B)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        tmp[i * n + j] = 0;
        for (int k = 0; k < n; k++)
            tmp[i * n + j] += alpha * A[i * n + k] * B[k * n + j];
    }
}

__global__ void k50f(int n, double alpha, double *tmp, const double *A, const double *B)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += A[i * n + k] * B[k * n + j];
        tmp[i * n + j] = alpha * sum;
    }
}

const int TILE = 32;

// n is a multiple of TILE.
__global__ void k50g(int n, double alpha, double *tmp, const double *A, const double *B)
{
    __shared__ double a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int j = blockIdx.x * TILE + tx;
    int i = blockIdx.y * TILE + ty;
    double sum = 0;
    for (int t = 0; t < n; t += TILE) {
        a[ty][tx] = A[i * n + t + tx];
        b[ty][tx] = B[(t + ty) * n + j];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    tmp[i * n + j] = alpha * sum;
}

const int BIG = 64, DEPTH = 16, EACH = 4;

// A block of 16 x 16 threads makes a tile of BIG x BIG; n is a multiple of BIG.
__global__ void __launch_bounds__(256) k50h(int n, double alpha, double *tmp, const double *__restrict__ A,
                                           const double *__restrict__ B)
{
    __shared__ __align__(16) double a[DEPTH][BIG + 2];
    __shared__ __align__(16) double b[DEPTH][BIG];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int j0 = blockIdx.x * BIG, i0 = blockIdx.y * BIG;

    double sum[EACH][EACH] = {};
    for (int t = 0; t < n; t += DEPTH) {
#pragma unroll
        for (int p = 0; p < BIG * DEPTH / 256; p++) {
            int slot = threadIdx.x + p * 256;
            a[slot % DEPTH][slot / DEPTH] = A[(i0 + slot / DEPTH) * n + t + slot % DEPTH];
            b[slot / BIG][slot % BIG] = B[(t + slot / BIG) * n + j0 + slot % BIG];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            double ra[EACH], rb[EACH];
#pragma unroll
            for (int e = 0; e < EACH; e += 2) {
                double2 pa = *reinterpret_cast<const double2 *>(&a[k][ty * EACH + e]);
                double2 pb = *reinterpret_cast<const double2 *>(&b[k][tx * 2 + e * 16]);
                ra[e] = pa.x;
                ra[e + 1] = pa.y;
                rb[e] = pb.x;
                rb[e + 1] = pb.y;
            }
#pragma unroll
            for (int r = 0; r < EACH; r++)
#pragma unroll
                for (int c = 0; c < EACH; c++)
                    sum[r][c] += ra[r] * rb[c];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < EACH; r++)
#pragma unroll
        for (int c = 0; c < EACH; c += 2) {
            double2 pair = make_double2(alpha * sum[r][c], alpha * sum[r][c + 1]);
            *reinterpret_cast<double2 *>(&tmp[(i0 + ty * EACH + r) * n + j0 + tx * 2 + c * 16]) = pair;
        }
}

__global__ void interleave(const double *from, double *to, int m, int systems)
{
    size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (at < (size_t)m * systems)
        to[at] = from[(at % systems) * m + at / systems];
}

int main()
{
    // Tridiagonal systems.
    const int systems = 65536;
    const size_t n = (size_t)systems * M;
    double *lower = input<double>(n, 501, -2.0, 2.0), *diag = input<double>(n, 502, 5.0, 10.0);
    double *upper = input<double>(n, 503, -2.0, 2.0), *rhs = input<double>(n, 504, -1.0, 1.0);

    std::vector<double> by_system(n), by_row(n);
    {
        std::vector<double> l = on_host(lower, n), d = on_host(diag, n), u = on_host(upper, n);
        by_system = on_host(rhs, n);
        for (int s = 0; s < systems; s++) {
            double *lo = &l[(size_t)s * M], *di = &d[(size_t)s * M], *up = &u[(size_t)s * M];
            double *x = &by_system[(size_t)s * M];
            up[0] /= di[0];
            x[0] /= di[0];
            for (int i = 1; i < M; i++) {
                double inv = 1.0 / (di[i] - lo[i] * up[i - 1]);
                up[i] *= inv;
                x[i] = (x[i] - lo[i] * x[i - 1]) * inv;
            }
            for (int i = M - 2; i >= 0; i--)
                x[i] -= up[i] * x[i + 1];
        }
        for (int s0 = 0; s0 < systems; s0 += 16)
            for (int i = 0; i < M; i++)
                for (int s = s0; s < s0 + 16; s++)
                    by_row[(size_t)i * systems + s] = by_system[(size_t)s * M + i];
    }

    double *work_u = output<double>(n), *work_r = output<double>(n);
    auto solve = [&](const char *name, double *u, double *r, const std::vector<double> &want,
                     std::function<void()> launch) {
        MUST(cudaMemcpy(work_u, u, n * sizeof(double), cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(work_r, r, n * sizeof(double), cudaMemcpyDeviceToDevice));
        MUST(cudaDeviceSynchronize());
        launch();
        check(name, work_r, want, 1e-11);
    };
    solve("k50a", upper, rhs, by_system, [&] { k50a<<<systems / 64, 64>>>(lower, diag, work_u, work_r, M, systems); });

    double **all[] = {&lower, &diag, &upper, &rhs};
    for (double **array : all) {
        double *turned = output<double>(n);
        interleave<<<unsigned((n + 255) / 256), 256>>>(*array, turned, M, systems);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaFree(*array));
        *array = turned;
    }
    solve("k50b", upper, rhs, by_row, [&] { k50b<<<systems / 64, 64>>>(lower, diag, work_u, work_r, M, systems); });
    solve("k50c", upper, rhs, by_row, [&] { k50c<<<systems / 64, 64>>>(lower, diag, work_u, work_r, M, systems); });
    solve("k50d", upper, rhs, by_row, [&] { k50d<<<systems, M>>>(lower, diag, work_u, work_r, systems); });

    // Matrices.
    const int size = 1024;
    const double alpha = 1.5;
    double *A = input<double>((size_t)size * size, 505, -1.0, 1.0);
    double *B = input<double>((size_t)size * size, 506, -1.0, 1.0);
    double *tmp = output<double>((size_t)size * size);
    k50e<<<dim3(size / 32, size / 8), dim3(32, 8)>>>(size, alpha, tmp, A, B);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    // Every 37th row is made on the host.
    std::vector<double> want = on_host(tmp, (size_t)size * size);
    {
        std::vector<double> ha = on_host(A, (size_t)size * size), hb = on_host(B, (size_t)size * size);
        for (int i = 0; i < size; i += 37) {
            std::vector<double> row(size, 0.0);
            for (int k = 0; k < size; k++)
                for (int j = 0; j < size; j++)
                    row[j] += alpha * ha[(size_t)i * size + k] * hb[(size_t)k * size + j];
            for (int j = 0; j < size; j++)
                want[(size_t)i * size + j] = row[j];
        }
    }
    check("k50e", tmp, want, 1e-11);

    auto poison = [&] { MUST(cudaMemset(tmp, 0xA5, (size_t)size * size * sizeof(double))); };
    poison();
    k50f<<<dim3(size / 32, size / 8), dim3(32, 8)>>>(size, alpha, tmp, A, B);
    check("k50f", tmp, want, 1e-11);
    poison();
    k50g<<<dim3(size / TILE, size / TILE), dim3(TILE, TILE)>>>(size, alpha, tmp, A, B);
    check("k50g", tmp, want, 1e-11);
    poison();
    k50h<<<dim3(size / BIG, size / BIG), 256>>>(size, alpha, tmp, A, B);
    check("k50h", tmp, want, 1e-11);
    return 0;
}
