// One time step (streaming and BGK collision) of the lattice Boltzmann method on periodic grids: D2Q9 in two dimensions,
// D3Q19 in three.
#include "../harness.h"

const int NX2 = 2048, NY2 = 2048;
const int NX3 = 192, NY3 = 192, NZ3 = 192;
const float HALF_SCALE = 32768.0f;

// The populations before the step.
__host__ __device__ inline float start_value(size_t cell, int q, float w, unsigned seed)
{
    return float(w * (0.95 + 0.1 * (scrambled(cell * 19 + q, seed) / 4294967296.0)));
}

__host__ __device__ inline float weight9(int q)
{
    return q == 0 ? 4.0f / 9.0f : q < 5 ? 1.0f / 9.0f : 1.0f / 36.0f;
}

__host__ __device__ inline float weight19(int q)
{
    return q == 0 ? 1.0f / 3.0f : q < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
}

// Directions of D2Q9: rest, +x, +y, -x, -y, (+,+), (-,+), (-,-), (+,-).
__device__ __forceinline__ void collide9(float f[9], float omega)
{
    float rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    float inv = 1.0f / rho;
    float ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) * inv;
    float uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) * inv;
    float base = 1.0f - 1.5f * (ux * ux + uy * uy);

    const float cu[9] = {0.0f, ux, uy, -ux, -uy, ux + uy, uy - ux, -ux - uy, ux - uy};
#pragma unroll
    for (int q = 0; q < 9; q++) {
        float feq = weight9(q) * rho * (base + 3.0f * cu[q] + 4.5f * cu[q] * cu[q]);
        f[q] += omega * (feq - f[q]);
    }
}

__global__ void k71a(const float *src, float *dst, int nx, int ny, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;

    int xm = x > 0 ? x - 1 : nx - 1;
    int xp = x < nx - 1 ? x + 1 : 0;
    int ym = y > 0 ? y - 1 : ny - 1;
    int yp = y < ny - 1 ? y + 1 : 0;

    float f[9];
    f[0] = src[(y * nx + x) * 9 + 0];
    f[1] = src[(y * nx + xm) * 9 + 1];
    f[2] = src[(ym * nx + x) * 9 + 2];
    f[3] = src[(y * nx + xp) * 9 + 3];
    f[4] = src[(yp * nx + x) * 9 + 4];
    f[5] = src[(ym * nx + xm) * 9 + 5];
    f[6] = src[(ym * nx + xp) * 9 + 6];
    f[7] = src[(yp * nx + xp) * 9 + 7];
    f[8] = src[(yp * nx + xm) * 9 + 8];

    collide9(f, omega);

#pragma unroll
    for (int q = 0; q < 9; q++)
        dst[(y * nx + x) * 9 + q] = f[q];
}

__global__ void k71b(const float *src, float *dst, int nx, int ny, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny)
        return;

    int xm = x > 0 ? x - 1 : nx - 1;
    int xp = x < nx - 1 ? x + 1 : 0;
    int ym = y > 0 ? y - 1 : ny - 1;
    int yp = y < ny - 1 ? y + 1 : 0;
    int n = nx * ny;

    float f[9];
    f[0] = src[0 * n + y * nx + x];
    f[1] = src[1 * n + y * nx + xm];
    f[2] = src[2 * n + ym * nx + x];
    f[3] = src[3 * n + y * nx + xp];
    f[4] = src[4 * n + yp * nx + x];
    f[5] = src[5 * n + ym * nx + xm];
    f[6] = src[6 * n + ym * nx + xp];
    f[7] = src[7 * n + yp * nx + xp];
    f[8] = src[8 * n + yp * nx + xm];

    collide9(f, omega);

#pragma unroll
    for (int q = 0; q < 9; q++)
        dst[q * n + y * nx + x] = f[q];
}

const int ROW = 128;

// nx is a multiple of ROW; a block has ROW threads.
__global__ void k71c(const float *src, float *dst, int nx, int ny, float omega)
{
    __shared__ float east[3][ROW], west[3][ROW];
    int tx = threadIdx.x;
    int x = blockIdx.x * ROW + tx;
    int y = blockIdx.y;
    int ym = y > 0 ? y - 1 : ny - 1;
    int yp = y < ny - 1 ? y + 1 : 0;
    int n = nx * ny;

    float f[9];
    f[0] = src[0 * n + y * nx + x];
    f[2] = src[2 * n + ym * nx + x];
    f[4] = src[4 * n + yp * nx + x];

    float e1 = src[1 * n + y * nx + x];
    float e5 = src[5 * n + ym * nx + x];
    float e8 = src[8 * n + yp * nx + x];
    float w3 = src[3 * n + y * nx + x];
    float w6 = src[6 * n + ym * nx + x];
    float w7 = src[7 * n + yp * nx + x];
    if (tx < ROW - 1) {
        east[0][tx + 1] = e1;
        east[1][tx + 1] = e5;
        east[2][tx + 1] = e8;
    }
    if (tx > 0) {
        west[0][tx - 1] = w3;
        west[1][tx - 1] = w6;
        west[2][tx - 1] = w7;
    }
    if (tx == 0) {
        int xm = x > 0 ? x - 1 : nx - 1;
        east[0][0] = src[1 * n + y * nx + xm];
        east[1][0] = src[5 * n + ym * nx + xm];
        east[2][0] = src[8 * n + yp * nx + xm];
    }
    if (tx == ROW - 1) {
        int xp = x < nx - 1 ? x + 1 : 0;
        west[0][tx] = src[3 * n + y * nx + xp];
        west[1][tx] = src[6 * n + ym * nx + xp];
        west[2][tx] = src[7 * n + yp * nx + xp];
    }
    __syncthreads();
    f[1] = east[0][tx];
    f[5] = east[1][tx];
    f[8] = east[2][tx];
    f[3] = west[0][tx];
    f[6] = west[1][tx];
    f[7] = west[2][tx];

    collide9(f, omega);

#pragma unroll
    for (int q = 0; q < 9; q++)
        dst[q * n + y * nx + x] = f[q];
}

// Directions of D3Q19: rest, the six axes in pairs, the twelve edges in pairs of opposites.
#define DIRECTIONS_19                                                                                                  \
    constexpr int cx[19] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 0, 0, 1, -1, 1, -1, 0, 0};                            \
    constexpr int cy[19] = {0, 0, 0, 1, -1, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 1, -1};                            \
    constexpr int cz[19] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 1, -1, 1, -1, 0, 0, -1, 1, -1, 1};

__device__ __forceinline__ float stored(const float *f, size_t i, int)
{
    return f[i];
}

__device__ __forceinline__ float stored(const __half *f, size_t i, int q)
{
    return __half2float(f[i]) * (1.0f / HALF_SCALE) + weight19(q);
}

__device__ __forceinline__ void store(float *f, size_t i, int, float v)
{
    f[i] = v;
}

__device__ __forceinline__ void store(__half *f, size_t i, int q, float v)
{
    f[i] = __float2half_rn((v - weight19(q)) * HALF_SCALE);
}

// A block is a line of nx cells.
template <class T>
__device__ __forceinline__ void step19(const T *__restrict__ src, T *__restrict__ dst, int nx, int ny, int nz,
                                       float omega)
{
    DIRECTIONS_19
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    int xm = x > 0 ? x - 1 : nx - 1;
    int xp = x < nx - 1 ? x + 1 : 0;
    int ym = y > 0 ? y - 1 : ny - 1;
    int yp = y < ny - 1 ? y + 1 : 0;
    int zm = z > 0 ? z - 1 : nz - 1;
    int zp = z < nz - 1 ? z + 1 : 0;
    size_t n = (size_t)nx * ny * nz;
    int cell = (z * ny + y) * nx + x;

    float f[19];
#pragma unroll
    for (int q = 0; q < 19; q++) {
        int xs = cx[q] == 0 ? x : cx[q] > 0 ? xm : xp;
        int ys = cy[q] == 0 ? y : cy[q] > 0 ? ym : yp;
        int zs = cz[q] == 0 ? z : cz[q] > 0 ? zm : zp;
        f[q] = stored(src, q * n + (zs * ny + ys) * nx + xs, q);
    }

    float rho = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
    for (int q = 0; q < 19; q++) {
        rho += f[q];
        ux += cx[q] * f[q];
        uy += cy[q] * f[q];
        uz += cz[q] * f[q];
    }
    float inv = 1.0f / rho;
    ux *= inv;
    uy *= inv;
    uz *= inv;
    float base = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);

#pragma unroll
    for (int q = 0; q < 19; q++) {
        float cu = cx[q] * ux + cy[q] * uy + cz[q] * uz;
        float feq = weight19(q) * rho * (base + 3.0f * cu + 4.5f * cu * cu);
        store(dst, q * n + cell, q, f[q] + omega * (feq - f[q]));
    }
}

__global__ void k71d(const float *src, float *dst, int nx, int ny, int nz, float omega)
{
    step19(src, dst, nx, ny, nz, omega);
}

__global__ void __launch_bounds__(NX3, 10)
    k71e(const float *src, float *dst, int nx, int ny, int nz, float omega)
{
    step19(src, dst, nx, ny, nz, omega);
}

__global__ void __launch_bounds__(NX3, 10)
    k71f(const __half *src, __half *dst, int nx, int ny, int nz, float omega)
{
    step19(src, dst, nx, ny, nz, omega);
}

__global__ void prepare2(float *f, int n, bool by_cell)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell < n)
        for (int q = 0; q < 9; q++)
            f[by_cell ? cell * 9 + q : q * n + cell] = start_value(cell, q, weight9(q), 711);
}

template <class T> __global__ void prepare3(T *f, size_t n)
{
    size_t cell = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (cell < n)
        for (int q = 0; q < 19; q++)
            store(f, q * n + cell, q, start_value(cell, q, weight19(q), 712));
}

// Cell of the s-th sample.
__host__ __device__ inline size_t sampled(int s, size_t cells)
{
    return ((size_t)s * 100003 + 17) % cells;
}

__global__ void pick2(const float *f, float *picked, int samples, int n, bool by_cell)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < samples) {
        int cell = int(sampled(s, n));
        for (int q = 0; q < 9; q++)
            picked[s * 9 + q] = f[by_cell ? cell * 9 + q : q * n + cell];
    }
}

template <class T> __global__ void pick3(const T *f, float *picked, int samples, size_t n)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < samples) {
        size_t cell = sampled(s, n);
        for (int q = 0; q < 19; q++)
            picked[s * 19 + q] = stored(f, q * n + cell, q);
    }
}

// Collision in double precision on the host.
static void relax(double *f, const int *cx, const int *cy, const int *cz, int count, float (*weight)(int), double omega)
{
    double rho = 0, ux = 0, uy = 0, uz = 0;
    for (int q = 0; q < count; q++) {
        rho += f[q];
        ux += cx[q] * f[q];
        uy += cy[q] * f[q];
        uz += cz[q] * f[q];
    }
    ux /= rho;
    uy /= rho;
    uz /= rho;
    double uu = ux * ux + uy * uy + uz * uz;
    for (int q = 0; q < count; q++) {
        double cu = cx[q] * ux + cy[q] * uy + cz[q] * uz;
        double feq = weight(q) * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * uu);
        f[q] += omega * (feq - f[q]);
    }
}

int main()
{
    const float omega = 1.6f;
    const int samples = 20000;

    // Two dimensions.
    const int n2 = NX2 * NY2;
    std::vector<float> want2(samples * 9);
    {
        const int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1}, cz[9] = {};
        for (int s = 0; s < samples; s++) {
            int cell = int(sampled(s, n2)), x = cell % NX2, y = cell / NX2;
            double f[9];
            for (int q = 0; q < 9; q++) {
                int from = (y - cy[q] + NY2) % NY2 * NX2 + (x - cx[q] + NX2) % NX2;
                f[q] = start_value(from, q, weight9(q), 711);
            }
            relax(f, cx, cy, cz, 9, weight9, omega);
            for (int q = 0; q < 9; q++)
                want2[s * 9 + q] = float(f[q]);
        }
    }
    float *src = output<float>((size_t)n2 * 9), *dst = output<float>((size_t)n2 * 9);
    float *picked2 = output<float>(samples * 9);
    dim3 row(ROW, 1), rows(NX2 / ROW, NY2);
    auto clear2 = [&] {
        MUST(cudaMemset(dst, 0xA5, (size_t)n2 * 9 * sizeof(float)));
        MUST(cudaMemset(picked2, 0xA5, samples * 9 * sizeof(float)));
    };

    prepare2<<<(n2 + 255) / 256, 256>>>(src, n2, true);
    clear2();
    k71a<<<rows, row>>>(src, dst, NX2, NY2, omega);
    pick2<<<(samples + 255) / 256, 256>>>(dst, picked2, samples, n2, true);
    check("k71a", picked2, want2, 2e-6);

    prepare2<<<(n2 + 255) / 256, 256>>>(src, n2, false);
    clear2();
    k71b<<<rows, row>>>(src, dst, NX2, NY2, omega);
    pick2<<<(samples + 255) / 256, 256>>>(dst, picked2, samples, n2, false);
    check("k71b", picked2, want2, 2e-6);

    clear2();
    k71c<<<rows, row>>>(src, dst, NX2, NY2, omega);
    pick2<<<(samples + 255) / 256, 256>>>(dst, picked2, samples, n2, false);
    check("k71c", picked2, want2, 2e-6);
    MUST(cudaFree(src));
    MUST(cudaFree(dst));

    // Three dimensions.
    const size_t n3 = (size_t)NX3 * NY3 * NZ3;
    std::vector<float> want3(samples * 19);
    {
        DIRECTIONS_19
        for (int s = 0; s < samples; s++) {
            size_t cell = sampled(s, n3);
            int x = int(cell % NX3), y = int(cell / NX3 % NY3), z = int(cell / NX3 / NY3);
            double f[19];
            for (int q = 0; q < 19; q++) {
                int xs = (x - cx[q] + NX3) % NX3, ys = (y - cy[q] + NY3) % NY3, zs = (z - cz[q] + NZ3) % NZ3;
                f[q] = start_value(((size_t)zs * NY3 + ys) * NX3 + xs, q, weight19(q), 712);
            }
            relax(f, cx, cy, cz, 19, weight19, omega);
            for (int q = 0; q < 19; q++)
                want3[s * 19 + q] = float(f[q]);
        }
    }
    float *src3 = output<float>(n3 * 19), *dst3 = output<float>(n3 * 19);
    float *picked3 = output<float>(samples * 19);
    dim3 lines(NY3, NZ3);
    prepare3<<<unsigned((n3 + 255) / 256), 256>>>(src3, n3);

    k71d<<<lines, NX3>>>(src3, dst3, NX3, NY3, NZ3, omega);
    pick3<<<(samples + 255) / 256, 256>>>(dst3, picked3, samples, n3);
    check("k71d", picked3, want3, 2e-6);

    MUST(cudaMemset(dst3, 0xA5, n3 * 19 * sizeof(float)));
    MUST(cudaMemset(picked3, 0xA5, samples * 19 * sizeof(float)));
    k71e<<<lines, NX3>>>(src3, dst3, NX3, NY3, NZ3, omega);
    pick3<<<(samples + 255) / 256, 256>>>(dst3, picked3, samples, n3);
    check("k71e", picked3, want3, 2e-6);
    MUST(cudaFree(src3));
    MUST(cudaFree(dst3));

    __half *src16 = output<__half>(n3 * 19), *dst16 = output<__half>(n3 * 19);
    prepare3<<<unsigned((n3 + 255) / 256), 256>>>(src16, n3);
    MUST(cudaMemset(picked3, 0xA5, samples * 19 * sizeof(float)));
    k71f<<<lines, NX3>>>(src16, dst16, NX3, NY3, NZ3, omega);
    pick3<<<(samples + 255) / 256, 256>>>(dst16, picked3, samples, n3);
    check("k71f", picked3, want3, 3e-5);
    return 0;
}
