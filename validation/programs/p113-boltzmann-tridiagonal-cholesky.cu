// One step of a lattice Boltzmann fluid (D2Q9, 4096 x 2048 cells, periodic), tridiagonal systems in a batch (524288 of
// 32 unknowns), and the Cholesky factors of four million 4 x 4 matrices.
#include "../harness.h"

#include <functional>

const int NX = 4096, NY = 2048, CELLS = NX * NY, EVERY = 61, PICKED = (CELLS - 1) / EVERY + 1;
const int BATCH = 1 << 19, N = 32;
const int MATRICES = 1 << 22;

__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant__ int cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float weight[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};

// Nine populations side by side for each cell.
__global__ void k113a(float *out, const float *in, int nx, int ny, float tau)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    float f[9], rho = 0.0f, ux = 0.0f, uy = 0.0f;
    for (int q = 0; q < 9; q++) {
        f[q] = in[(y * nx + x) * 9 + q];
        rho += f[q];
        ux += cx[q] * f[q];
        uy += cy[q] * f[q];
    }
    ux /= rho;
    uy /= rho;
    for (int q = 0; q < 9; q++) {
        float cu = cx[q] * ux + cy[q] * uy;
        float feq = weight[q] * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
        int xn = (x + cx[q] + nx) % nx;
        int yn = (y + cy[q] + ny) % ny;
        out[(yn * nx + xn) * 9 + q] = f[q] - (f[q] - feq) / tau;
    }
}

// One array for each population.
__global__ void k113b(float *out, const float *in, int nx, int ny, float tau)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;
    const int cells = nx * ny;
    float f[9], rho = 0.0f, ux = 0.0f, uy = 0.0f;
    for (int q = 0; q < 9; q++) {
        f[q] = in[q * cells + y * nx + x];
        rho += f[q];
        ux += cx[q] * f[q];
        uy += cy[q] * f[q];
    }
    ux /= rho;
    uy /= rho;
    for (int q = 0; q < 9; q++) {
        float cu = cx[q] * ux + cy[q] * uy;
        float feq = weight[q] * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
        int xn = (x + cx[q] + nx) % nx;
        int yn = (y + cy[q] + ny) % ny;
        out[q * cells + yn * nx + xn] = f[q] - (f[q] - feq) / tau;
    }
}

__device__ inline float relaxed(float f, float w, float rho, float cu, float base, float omega)
{
    float feq = w * rho * (base + cu * (3.0f + 4.5f * cu));
    return f + omega * (feq - f);
}

__device__ inline void collide(float *f, float omega)
{
    float rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    float one = 1.0f / rho;
    float ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) * one;
    float uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) * one;
    float base = 1.0f - 1.5f * (ux * ux + uy * uy);
    const float w0 = 4.0f / 9, w1 = 1.0f / 9, w2 = 1.0f / 36;
    f[0] = relaxed(f[0], w0, rho, 0.0f, base, omega);
    f[1] = relaxed(f[1], w1, rho, ux, base, omega);
    f[2] = relaxed(f[2], w1, rho, uy, base, omega);
    f[3] = relaxed(f[3], w1, rho, -ux, base, omega);
    f[4] = relaxed(f[4], w1, rho, -uy, base, omega);
    f[5] = relaxed(f[5], w2, rho, ux + uy, base, omega);
    f[6] = relaxed(f[6], w2, rho, uy - ux, base, omega);
    f[7] = relaxed(f[7], w2, rho, -ux - uy, base, omega);
    f[8] = relaxed(f[8], w2, rho, ux - uy, base, omega);
}

__global__ void k113c(float *__restrict__ out, const float *__restrict__ in, int nx, int ny, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y;
    if (x >= nx)
        return;
    const int cells = nx * ny;
    int row = y * nx;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; q++)
        f[q] = in[q * cells + row + x];
    collide(f, omega);
    int e = x < nx - 1 ? x + 1 : 0, w = x > 0 ? x - 1 : nx - 1;
    int up = y < ny - 1 ? row + nx : 0, down = y > 0 ? row - nx : cells - nx;
    out[row + x] = f[0];
    out[cells + row + e] = f[1];
    out[2 * cells + up + x] = f[2];
    out[3 * cells + row + w] = f[3];
    out[4 * cells + down + x] = f[4];
    out[5 * cells + up + e] = f[5];
    out[6 * cells + up + w] = f[6];
    out[7 * cells + down + w] = f[7];
    out[8 * cells + down + e] = f[8];
}

// Blocks of 256 threads along x; populations that move sideways change lanes before they are stored.
__global__ void k113d(float *__restrict__ out, const float *__restrict__ in, int nx, int ny, float omega)
{
    __shared__ float east[3][256], west[3][256];
    int t = threadIdx.x;
    int x = blockIdx.x * 256 + t;
    int y = blockIdx.y;
    const int cells = nx * ny;
    int row = y * nx;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; q++)
        f[q] = in[q * cells + row + x];
    collide(f, omega);
    int e = x < nx - 1 ? x + 1 : 0, w = x > 0 ? x - 1 : nx - 1;
    int up = y < ny - 1 ? row + nx : 0, down = y > 0 ? row - nx : cells - nx;
    if (t < 255) {
        east[0][t + 1] = f[1];
        east[1][t + 1] = f[5];
        east[2][t + 1] = f[8];
    } else {
        out[cells + row + e] = f[1];
        out[5 * cells + up + e] = f[5];
        out[8 * cells + down + e] = f[8];
    }
    if (t > 0) {
        west[0][t - 1] = f[3];
        west[1][t - 1] = f[6];
        west[2][t - 1] = f[7];
    } else {
        out[3 * cells + row + w] = f[3];
        out[6 * cells + up + w] = f[6];
        out[7 * cells + down + w] = f[7];
    }
    out[row + x] = f[0];
    out[2 * cells + up + x] = f[2];
    out[4 * cells + down + x] = f[4];
    __syncthreads();
    if (t > 0) {
        out[cells + row + x] = east[0][t];
        out[5 * cells + up + x] = east[1][t];
        out[8 * cells + down + x] = east[2][t];
    }
    if (t < 255) {
        out[3 * cells + row + x] = west[0][t];
        out[6 * cells + up + x] = west[1][t];
        out[7 * cells + down + x] = west[2][t];
    }
}

// A thread solves a system: elimination down, substitution up. Here the unknowns of a system lie side by side.
__global__ void k113e(int n, int batch, const float *lower, const float *diag, const float *upper, const float *right,
                      float *scratch, float *x)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch)
        return;
    int at = s * n;
    float m = 1.0f / diag[at];
    float c = upper[at] * m, d = right[at] * m;
    scratch[at] = c;
    x[at] = d;
    for (int i = 1; i < n; i++) {
        m = 1.0f / (diag[at + i] - lower[at + i] * c);
        c = upper[at + i] * m;
        d = (right[at + i] - lower[at + i] * d) * m;
        scratch[at + i] = c;
        x[at + i] = d;
    }
    for (int i = n - 2; i >= 0; i--) {
        d = x[at + i] - scratch[at + i] * d;
        x[at + i] = d;
    }
}

// From here on the first unknowns of all systems, then the second ones, and so on.
__global__ void k113f(int n, int batch, const float *lower, const float *diag, const float *upper, const float *right,
                      float *scratch, float *x)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch)
        return;
    float m = 1.0f / diag[s];
    float c = upper[s] * m, d = right[s] * m;
    scratch[s] = c;
    x[s] = d;
    for (int i = 1; i < n; i++) {
        int at = i * batch + s;
        m = 1.0f / (diag[at] - lower[at] * c);
        c = upper[at] * m;
        d = (right[at] - lower[at] * d) * m;
        scratch[at] = c;
        x[at] = d;
    }
    for (int i = n - 2; i >= 0; i--) {
        int at = i * batch + s;
        d = x[at] - scratch[at] * d;
        x[at] = d;
    }
}

__global__ void __launch_bounds__(128) k113g(int batch, const float *__restrict__ lower, const float *__restrict__ diag,
                                             const float *__restrict__ upper, const float *__restrict__ right,
                                             float *__restrict__ x)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= batch)
        return;
    float c[N], d[N];
    float m = 1.0f / diag[s];
    c[0] = upper[s] * m;
    d[0] = right[s] * m;
#pragma unroll
    for (int i = 1; i < N; i++) {
        int at = i * batch + s;
        float a = lower[at];
        m = 1.0f / (diag[at] - a * c[i - 1]);
        c[i] = upper[at] * m;
        d[i] = (right[at] - a * d[i - 1]) * m;
    }
    x[(N - 1) * batch + s] = d[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; i--) {
        d[i] -= c[i] * d[i + 1];
        x[i * batch + s] = d[i];
    }
}

__device__ inline void factor(float (*a)[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        float inverse = rsqrtf(a[k][k]);
        a[k][k] *= inverse;
#pragma unroll
        for (int i = k + 1; i < 4; i++)
            a[i][k] *= inverse;
#pragma unroll
        for (int j = k + 1; j < 4; j++) {
            a[k][j] = 0.0f;
#pragma unroll
            for (int i = j; i < 4; i++)
                a[i][j] -= a[i][k] * a[j][k];
        }
    }
}

__global__ void k113h(int matrices, const float *in, float *out)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= matrices)
        return;
    float a[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            a[i][j] = in[m * 16 + i * 4 + j];
    factor(a);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            out[m * 16 + i * 4 + j] = a[i][j];
}

__global__ void k113i(int matrices, const float4 *in, float4 *out)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m >= matrices)
        return;
    float a[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float4 v = in[m * 4 + i];
        a[i][0] = v.x;
        a[i][1] = v.y;
        a[i][2] = v.z;
        a[i][3] = v.w;
    }
    factor(a);
#pragma unroll
    for (int i = 0; i < 4; i++)
        out[m * 4 + i] = make_float4(a[i][0], a[i][1], a[i][2], a[i][3]);
}

// to[j * rows + i] = from[i * columns + j]
__global__ void fill_turned(float *to, const float *from, int rows, int columns)
{
    size_t n = (size_t)rows * columns;
    for (size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x; at < n; at += (size_t)gridDim.x * blockDim.x)
        to[at % columns * rows + at / columns] = from[at];
}

__global__ void fill_picked(float *to, const float *from, size_t cell_step, size_t q_step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < PICKED)
        for (int q = 0; q < 9; q++)
            to[i * 9 + q] = from[(size_t)i * EVERY * cell_step + q * q_step];
}

// Symmetric, with a heavy diagonal.
__global__ void fill_matrices(float *to)
{
    int m = blockIdx.x * blockDim.x + threadIdx.x;
    if (m < MATRICES)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                float v = scrambled((unsigned long long)m * 16 + i * 4 + j, 1136) * 2.3283064e-10f - 0.5f;
                to[m * 16 + i * 4 + j] = to[m * 16 + j * 4 + i] = i == j ? v + 3.0f : v;
            }
}

static void fluid()
{
    const size_t n = (size_t)CELLS * 9;
    const float tau = 0.8f;
    float *beside = input<float>(n, 1131, 0.05, 0.15), *apart = output<float>(n), *out = output<float>(n);
    float *picked = output<float>((size_t)PICKED * 9);
    fill_turned<<<2112, 256>>>(apart, beside, CELLS, 9);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> in = on_host(beside, n), want((size_t)PICKED * 9);
    const int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    for (int i = 0; i < PICKED; i++)
        for (int q = 0; q < 9; q++) {
            int cell = i * EVERY, x = (cell % NX - ex[q] + NX) % NX, y = (cell / NX - ey[q] + NY) % NY;
            const float *f = &in[((size_t)y * NX + x) * 9];
            double rho = 0, ux = 0, uy = 0;
            for (int r = 0; r < 9; r++) {
                rho += f[r];
                ux += ex[r] * f[r];
                uy += ey[r] * f[r];
            }
            ux /= rho;
            uy /= rho;
            double cu = ex[q] * ux + ey[q] * uy, w = q == 0 ? 4.0 / 9 : q < 5 ? 1.0 / 9 : 1.0 / 36;
            double feq = w * rho * (1.0 + 3.0 * cu + 4.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
            want[(size_t)i * 9 + q] = float(f[q] - (f[q] - feq) / tau);
        }
    auto step = [&](const char *name, bool side_by_side, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        fill_picked<<<(PICKED + 255) / 256, 256>>>(picked, out, side_by_side ? 9 : 1, side_by_side ? 1 : CELLS);
        check(name, picked, want, 2e-6);
    };
    dim3 square(16, 16), squares(NX / 16, NY / 16), lines(NX / 256, NY);
    step("k113a", true, [&] { k113a<<<squares, square>>>(out, beside, NX, NY, tau); });
    step("k113b", false, [&] { k113b<<<squares, square>>>(out, apart, NX, NY, tau); });
    step("k113c", false, [&] { k113c<<<lines, 256>>>(out, apart, NX, NY, 1.0f / tau); });
    step("k113d", false, [&] { k113d<<<lines, 256>>>(out, apart, NX, NY, 1.0f / tau); });
    MUST(cudaFree(beside));
    MUST(cudaFree(apart));
    MUST(cudaFree(out));
}

static void tridiagonal()
{
    const size_t n = (size_t)BATCH * N;
    float *own[4] = {input<float>(n, 1132, -1.0, 1.0), input<float>(n, 1133, 3.0, 4.0), input<float>(n, 1134, -1.0, 1.0),
                     input<float>(n, 1135, -1.0, 1.0)};
    float *turned[4], *scratch = output<float>(n), *x = output<float>(n), *back = output<float>(n);
    std::vector<float> host[4], want, all;
    for (int i = 0; i < 4; i++) {
        turned[i] = output<float>(n);
        fill_turned<<<2112, 256>>>(turned[i], own[i], BATCH, N);
        host[i] = on_host(own[i], n);
    }
    // One system of every 511, in double.
    const int every = 511, chosen = (BATCH - 1) / every + 1;
    want.resize((size_t)chosen * N);
    for (int s = 0; s < chosen; s++) {
        size_t at = (size_t)s * every * N;
        double c[N], d[N];
        for (int i = 0; i < N; i++) {
            double a = i ? host[0][at + i] : 0.0, m = host[1][at + i] - a * (i ? c[i - 1] : 0.0);
            c[i] = host[2][at + i] / m;
            d[i] = (host[3][at + i] - a * (i ? d[i - 1] : 0.0)) / m;
        }
        for (int i = N - 2; i >= 0; i--)
            d[i] -= c[i] * d[i + 1];
        for (int i = 0; i < N; i++)
            want[(size_t)s * N + i] = float(d[i]);
    }
    auto clear = [&] {
        MUST(cudaMemset(x, 0xA5, n * sizeof(float)));
        MUST(cudaMemset(scratch, 0xA5, n * sizeof(float)));
        MUST(cudaMemset(back, 0xA5, n * sizeof(float)));
    };
    clear();
    k113e<<<BATCH / 128, 128>>>(N, BATCH, own[0], own[1], own[2], own[3], scratch, x);
    MUST(cudaGetLastError());
    all = on_host(x, n);
    std::vector<float> some((size_t)chosen * N);
    for (int s = 0; s < chosen; s++)
        for (int i = 0; i < N; i++)
            some[(size_t)s * N + i] = all[(size_t)s * every * N + i];
    check("k113e", on_device(some), want, 1e-5);
    clear();
    k113f<<<BATCH / 128, 128>>>(N, BATCH, turned[0], turned[1], turned[2], turned[3], scratch, x);
    MUST(cudaGetLastError());
    fill_turned<<<2112, 256>>>(back, x, N, BATCH);
    check("k113f", back, all, 1e-5);
    clear();
    k113g<<<BATCH / 128, 128>>>(BATCH, turned[0], turned[1], turned[2], turned[3], x);
    MUST(cudaGetLastError());
    fill_turned<<<2112, 256>>>(back, x, N, BATCH);
    check("k113g", back, all, 1e-5);
}

static void cholesky()
{
    const size_t n = (size_t)MATRICES * 16;
    float *in = output<float>(n), *out = output<float>(n);
    fill_matrices<<<MATRICES / 256, 256>>>(in);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> a = on_host(in, n), want;
    const int every = 63, chosen = (MATRICES - 1) / every + 1;
    want.assign((size_t)chosen * 16, 0.0f);
    for (int m = 0; m < chosen; m++) {
        const float *s = &a[(size_t)m * every * 16];
        double l[4][4] = {};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j <= i; j++) {
                double sum = s[i * 4 + j];
                for (int k = 0; k < j; k++)
                    sum -= l[i][k] * l[j][k];
                l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
                want[(size_t)m * 16 + i * 4 + j] = float(l[i][j]);
            }
    }
    float *picked = output<float>(want.size());
    auto factors = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, n * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, 64, out, every * 64, 64, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-5);
    };
    factors("k113h", [&] { k113h<<<MATRICES / 256, 256>>>(MATRICES, in, out); });
    factors("k113i", [&] {
        k113i<<<MATRICES / 256, 256>>>(MATRICES, reinterpret_cast<const float4 *>(in), reinterpret_cast<float4 *>(out));
    });
}

int main()
{
    fluid();
    tridiagonal();
    cholesky();
    return 0;
}
