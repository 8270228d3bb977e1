// The eighth-order first derivative along z on a periodic grid, and a step of a 3-D finite-difference stencil.
#include "../harness.h"

__constant__ float c_deriv[4];

const int M = 256;
const int NARROW = 4, WIDE = 32;

__global__ void k57a(const float *f, float *df)
{
    __shared__ float s[M + 8][NARROW];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int k = threadIdx.y;
    int si = threadIdx.x;
    int sk = k + 4;
    int at = (k * M + j) * M + i;

    s[sk][si] = f[at];
    __syncthreads();
    if (k < 4) {
        s[sk - 4][si] = s[sk + M - 4][si];
        s[sk + M][si] = s[sk][si];
    }
    __syncthreads();

    df[at] = c_deriv[0] * (s[sk + 1][si] - s[sk - 1][si]) + c_deriv[1] * (s[sk + 2][si] - s[sk - 2][si]) +
             c_deriv[2] * (s[sk + 3][si] - s[sk - 3][si]) + c_deriv[3] * (s[sk + 4][si] - s[sk - 4][si]);
}

__global__ void k57b(const float *f, float *df)
{
    __shared__ float s[M + 8][WIDE];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y;
    int si = threadIdx.x;

    for (int k = threadIdx.y; k < M; k += blockDim.y)
        s[k + 4][si] = f[(k * M + j) * M + i];
    __syncthreads();
    if (threadIdx.y < 4) {
        int sk = threadIdx.y + 4;
        s[sk - 4][si] = s[sk + M - 4][si];
        s[sk + M][si] = s[sk][si];
    }
    __syncthreads();

    for (int k = threadIdx.y; k < M; k += blockDim.y) {
        int sk = k + 4;
        df[(k * M + j) * M + i] =
            c_deriv[0] * (s[sk + 1][si] - s[sk - 1][si]) + c_deriv[1] * (s[sk + 2][si] - s[sk - 2][si]) +
            c_deriv[2] * (s[sk + 3][si] - s[sk - 3][si]) + c_deriv[3] * (s[sk + 4][si] - s[sk - 4][si]);
    }
}

const int R = 4;
const int BX = 32, BY = 16;

__constant__ float c_stencil[R + 1];

// The volume has a halo of R points on every side; nx, ny, nz count the points inside it.
struct Box {
    int nx, ny, nz;
};

__global__ void k57c(const float *in, float *out, Box b)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= b.nx || y >= b.ny || z >= b.nz)
        return;

    int sy = b.nx + 2 * R;
    int sz = sy * (b.ny + 2 * R);
    int at = (z + R) * sz + (y + R) * sy + x + R;
    float value = c_stencil[0] * in[at];
    for (int r = 1; r <= R; r++)
        value += c_stencil[r] * (in[at - r] + in[at + r] + in[at - r * sy] + in[at + r * sy] + in[at - r * sz] + in[at + r * sz]);
    out[at] = value;
}

// Planes from z0 to z1 - 1.
__device__ __forceinline__ void march(const float *in, float *out, Box b, int z0, int z1)
{
    __shared__ float tile[BY + 2 * R][BX + 2 * R];
    int x = blockIdx.x * BX + threadIdx.x;
    int y = blockIdx.y * BY + threadIdx.y;
    bool reads = x < b.nx + R && y < b.ny + R;
    bool writes = x < b.nx && y < b.ny;
    int sy = b.nx + 2 * R;
    int sz = sy * (b.ny + 2 * R);
    int tx = threadIdx.x + R, ty = threadIdx.y + R;

    int at = z0 * sz + (y + R) * sy + x + R;
    float front[R], behind[R], here = 0.0f;
#pragma unroll
    for (int r = 0; r < R; r++)
        front[r] = behind[r] = 0.0f;

    if (reads) {
#pragma unroll
        for (int r = R - 1; r >= 0; r--) {
            behind[r] = in[at];
            at += sz;
        }
        here = in[at];
        at += sz;
#pragma unroll
        for (int r = 0; r < R; r++) {
            front[r] = in[at];
            at += sz;
        }
    }
    // at is now R + 1 planes beyond the one of here.
    int centre = at - (R + 1) * sz;

    for (int z = z0; z < z1; z++) {
        __syncthreads();
        if (threadIdx.y < R && x < b.nx + R) {
            tile[threadIdx.y][tx] = y < b.ny + R ? in[centre - R * sy] : 0.0f;
            tile[threadIdx.y + BY + R][tx] = y + BY < b.ny + R ? in[centre + BY * sy] : 0.0f;
        }
        if (threadIdx.x < R && y < b.ny + R) {
            tile[ty][threadIdx.x] = x < b.nx + R ? in[centre - R] : 0.0f;
            tile[ty][threadIdx.x + BX + R] = x + BX < b.nx + R ? in[centre + BX] : 0.0f;
        }
        tile[ty][tx] = here;
        __syncthreads();

        float value = c_stencil[0] * here;
#pragma unroll
        for (int r = 1; r <= R; r++)
            value += c_stencil[r] * (front[r - 1] + behind[r - 1] + tile[ty - r][tx] + tile[ty + r][tx] + tile[ty][tx - r] + tile[ty][tx + r]);
        if (writes)
            out[centre] = value;

#pragma unroll
        for (int r = R - 1; r > 0; r--)
            behind[r] = behind[r - 1];
        behind[0] = here;
        here = front[0];
#pragma unroll
        for (int r = 0; r < R - 1; r++)
            front[r] = front[r + 1];
        centre += sz;
        if (reads && z + 1 < z1)
            front[R - 1] = in[centre + R * sz];
    }
}

__global__ void k57d(const float *in, float *out, Box b)
{
    march(in, out, b, 0, b.nz);
}

__global__ void k57e(const float *in, float *out, Box b, int planes)
{
    int z0 = blockIdx.z * planes;
    march(in, out, b, z0, min(z0 + planes, b.nz));
}

int main()
{
    const size_t n = (size_t)M * M * M;
    float *f = input<float>(n, 571, -1.0, 1.0);
    float *df = output<float>(n);
    const float deriv[4] = {4.0f / 5.0f, -1.0f / 5.0f, 4.0f / 105.0f, -1.0f / 280.0f};
    MUST(cudaMemcpyToSymbol(c_deriv, deriv, sizeof(deriv)));

    std::vector<float> along_z(n);
    {
        std::vector<float> v = on_host(f, n);
        auto index = [](int k, int j, int i) { return ((size_t)k * M + j) * M + i; };
        for (int k = 0; k < M; k++)
            for (int j = 0; j < M; j++)
                for (int i = 0; i < M; i++) {
                    double dz = 0.0;
                    for (int r = 1; r <= 4; r++)
                        dz += deriv[r - 1] * (double(v[index((k + r) % M, j, i)]) - v[index((k + M - r) % M, j, i)]);
                    along_z[index(k, j, i)] = float(dz);
                }
    }

    k57a<<<dim3(M / NARROW, M), dim3(NARROW, M)>>>(f, df);
    check("k57a", df, along_z, 1e-5);

    MUST(cudaMemset(df, 0xA5, n * sizeof(float)));
    k57b<<<dim3(M / WIDE, M), dim3(WIDE, M * NARROW / WIDE)>>>(f, df);
    check("k57b", df, along_z, 1e-5);

    const Box b = {376, 376, 376};
    const int sy = b.nx + 2 * R, sz = sy * (b.ny + 2 * R);
    const size_t volume = (size_t)sz * (b.nz + 2 * R);
    float *in = input<float>(volume, 572, -1.0, 1.0);
    float *out = output<float>(volume);
    const float stencil[R + 1] = {0.4f, 0.05f, 0.03f, 0.015f, 0.005f};
    MUST(cudaMemcpyToSymbol(c_stencil, stencil, sizeof(stencil)));

    // Every 29th row inside the volume and the last one on the host; then all rows against the first kernel.
    const int rows = b.ny * b.nz;
    std::vector<int> chosen;
    for (int r = 0; r < rows; r += 29)
        chosen.push_back(r);
    chosen.push_back(rows - 1);
    k57c<<<dim3((b.nx + 31) / 32, (b.ny + 3) / 4, (b.nz + 3) / 4), dim3(32, 4, 4)>>>(in, out, b);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<float> all = on_host(out, volume);
    {
        std::vector<float> v = on_host(in, volume), got, want;
        for (int row : chosen)
            for (int x = 0; x < b.nx; x++) {
                size_t at = (size_t)(row / b.ny + R) * sz + (size_t)(row % b.ny + R) * sy + x + R;
                double value = double(stencil[0]) * v[at];
                for (int r = 1; r <= R; r++)
                    value += stencil[r] * (double(v[at - r]) + v[at + r] + v[at - r * sy] + v[at + r * sy] + v[at - (size_t)r * sz] + v[at + (size_t)r * sz]);
                want.push_back(float(value));
                got.push_back(all[at]);
            }
        check("k57c", on_device(got), want, 1e-5);
    }
    dim3 flat((b.nx + BX - 1) / BX, (b.ny + BY - 1) / BY), threads(BX, BY);
    MUST(cudaMemset(out, 0xA5, volume * sizeof(float)));
    k57d<<<flat, threads>>>(in, out, b);
    check("k57d", out, all, 1e-5);

    const int planes = 47;
    MUST(cudaMemset(out, 0xA5, volume * sizeof(float)));
    k57e<<<dim3(flat.x, flat.y, (b.nz + planes - 1) / planes), threads>>>(in, out, b, planes);
    check("k57e", out, all, 1e-5);
    return 0;
}
