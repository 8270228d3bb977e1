// Relaxation of a pressure field (7-point Jacobi) and its second derivative along z, on a grid with x as the inner index.
#include "../harness.h"

#include <algorithm>

constexpr int NX = 480, NY = 320, NZ = 256;
constexpr int PLANE = NX * NY;

struct Cell {
    float u, v, w, p;
    __host__ __device__ explicit Cell(double pressure) : u(0), v(0), w(0), p(float(pressure)) {}
};

__global__ void k06a(const Cell *__restrict__ cells, const float *__restrict__ rhs, float *__restrict__ p_new)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= NX || y >= NY)
        return;
    int c = z * PLANE + y * NX + x;
    if (x == 0 || x == NX - 1 || y == 0 || y == NY - 1 || z == 0 || z == NZ - 1) {
        p_new[c] = cells[c].p;
        return;
    }
    float sum = cells[c - 1].p + cells[c + 1].p + cells[c - NX].p + cells[c + NX].p + cells[c - PLANE].p +
                cells[c + PLANE].p;
    float relaxed = (sum - rhs[c]) * (1.0f / 6.0f);
    p_new[c] = 0.2f * cells[c].p + 0.8f * relaxed;
}

__global__ void k06b(const float *__restrict__ p, const float *__restrict__ rhs, float *__restrict__ p_new)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z;
    if (x >= NX || y >= NY)
        return;
    int c = z * PLANE + y * NX + x;
    if (x == 0 || x == NX - 1 || y == 0 || y == NY - 1 || z == 0 || z == NZ - 1) {
        p_new[c] = p[c];
        return;
    }
    float sum = p[c - 1] + p[c + 1] + p[c - NX] + p[c + NX] + p[c - PLANE] + p[c + PLANE];
    float relaxed = (sum - rhs[c]) * (1.0f / 6.0f);
    p_new[c] = 0.2f * p[c] + 0.8f * relaxed;
}

constexpr int TX = 96, TY = 4;

// The grid is a multiple of TX by TY.
__global__ void k06c(const float *__restrict__ p, const float *__restrict__ rhs, float *__restrict__ p_new)
{
    __shared__ float tile[TY + 2][TX + 2];
    int x = blockIdx.x * TX + threadIdx.x;
    int y = blockIdx.y * TY + threadIdx.y;
    int z = blockIdx.z;
    int c = z * PLANE + y * NX + x;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;

    tile[ty][tx] = p[c];
    if (threadIdx.x == 0 && x > 0)
        tile[ty][0] = p[c - 1];
    if (threadIdx.x == TX - 1 && x < NX - 1)
        tile[ty][TX + 1] = p[c + 1];
    if (threadIdx.y == 0 && y > 0)
        tile[0][tx] = p[c - NX];
    if (threadIdx.y == TY - 1 && y < NY - 1)
        tile[TY + 1][tx] = p[c + NX];
    __syncthreads();

    if (x == 0 || x == NX - 1 || y == 0 || y == NY - 1 || z == 0 || z == NZ - 1) {
        p_new[c] = tile[ty][tx];
        return;
    }
    float sum = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] + p[c - PLANE] + p[c + PLANE];
    float relaxed = (sum - rhs[c]) * (1.0f / 6.0f);
    p_new[c] = 0.2f * tile[ty][tx] + 0.8f * relaxed;
}

// Second derivative along z, eighth order; each thread goes through the planes from 4 to NZ - 5.
constexpr float W0 = -205.0f / 72.0f, W1 = 8.0f / 5.0f, W2 = -1.0f / 5.0f, W3 = 8.0f / 315.0f, W4 = -1.0f / 560.0f;

__global__ void k06d(const float *p, float *pzz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY)
        return;
    const float *in = p + y * NX + x;
    float *out = pzz + y * NX + x;

    float m4 = in[0 * PLANE], m3 = in[1 * PLANE], m2 = in[2 * PLANE], m1 = in[3 * PLANE];
    float c = in[4 * PLANE], p1 = in[5 * PLANE], p2 = in[6 * PLANE], p3 = in[7 * PLANE];
    for (int z = 4; z < NZ - 4; z++) {
        float p4 = in[(z + 4) * PLANE];
        out[z * PLANE] = W0 * c + W1 * (m1 + p1) + W2 * (m2 + p2) + W3 * (m3 + p3) + W4 * (m4 + p4);
        m4 = m3;
        m3 = m2;
        m2 = m1;
        m1 = c;
        c = p1;
        p1 = p2;
        p2 = p3;
        p3 = p4;
    }
}

// The number of planes from 4 to NZ - 5 is a multiple of four.
__global__ void k06e(const float *p, float *pzz)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= NX || y >= NY)
        return;
    const float *in = p + y * NX + x;
    float *out = pzz + y * NX + x;

    float q[12];
#pragma unroll
    for (int k = 0; k < 8; k++)
        q[k] = in[k * PLANE];
    for (int z = 4; z < NZ - 4; z += 4) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            q[8 + k] = in[(z + 4 + k) * PLANE];
#pragma unroll
        for (int k = 0; k < 4; k++)
            out[(z + k) * PLANE] = W0 * q[k + 4] + W1 * (q[k + 3] + q[k + 5]) + W2 * (q[k + 2] + q[k + 6]) +
                                   W3 * (q[k + 1] + q[k + 7]) + W4 * (q[k] + q[k + 8]);
#pragma unroll
        for (int k = 0; k < 8; k++)
            q[k] = q[k + 4];
    }
}

int main()
{
    const size_t n = (size_t)PLANE * NZ;
    float *p = input<float>(n, 8, -1.0, 1.0);
    float *rhs = input<float>(n, 9, -0.5, 0.5);
    Cell *cells = input<Cell>(n, 8, -1.0, 1.0);
    float *result = output<float>(n);

    // Some planes of the grid, and what they should be.
    const std::vector<int> planes = {0, 1, 2, 4, 5, 63, 64, 130, 199, NZ - 6, NZ - 5, NZ - 2, NZ - 1};
    std::vector<float> want_jacobi, want_pzz;
    std::vector<int> inner;
    for (int z : planes) {
        int lo = std::max(0, z - 4), hi = std::min(NZ - 1, z + 4);
        std::vector<float> v = on_host(p + (size_t)lo * PLANE, (size_t)(hi - lo + 1) * PLANE);
        std::vector<float> b = on_host(rhs + (size_t)z * PLANE, PLANE);
        auto at = [&](int zz, int i) { return v[(size_t)(zz - lo) * PLANE + i]; };
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                int i = y * NX + x;
                if (x == 0 || x == NX - 1 || y == 0 || y == NY - 1 || z == 0 || z == NZ - 1) {
                    want_jacobi.push_back(at(z, i));
                } else {
                    float sum = at(z, i - 1) + at(z, i + 1) + at(z, i - NX) + at(z, i + NX) + at(z - 1, i) + at(z + 1, i);
                    want_jacobi.push_back(0.2f * at(z, i) + 0.8f * (sum - b[i]) / 6.0f);
                }
            }
        if (z < 4 || z >= NZ - 4)
            continue;
        inner.push_back(z);
        for (int i = 0; i < PLANE; i++)
            want_pzz.push_back(W0 * at(z, i) + W1 * (at(z - 1, i) + at(z + 1, i)) + W2 * (at(z - 2, i) + at(z + 2, i)) +
                               W3 * (at(z - 3, i) + at(z + 3, i)) + W4 * (at(z - 4, i) + at(z + 4, i)));
    }
    float *picked = output<float>(planes.size() * PLANE);
    auto verify = [&](const char *kernel, const std::vector<int> &which, const std::vector<float> &want) {
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (size_t k = 0; k < which.size(); k++)
            MUST(cudaMemcpy(picked + k * PLANE, result + (size_t)which[k] * PLANE, PLANE * sizeof(float),
                            cudaMemcpyDeviceToDevice));
        check(kernel, picked, want, 1e-5);
        MUST(cudaMemset(result, 0xA5, n * sizeof(float)));
    };

    dim3 block(TX, TY), grid(NX / TX, NY / TY, NZ);
    k06a<<<grid, block>>>(cells, rhs, result);
    verify("k06a", planes, want_jacobi);
    k06b<<<grid, block>>>(p, rhs, result);
    verify("k06b", planes, want_jacobi);
    k06c<<<grid, block>>>(p, rhs, result);
    verify("k06c", planes, want_jacobi);

    dim3 columns(NX / 96, NY / 2);
    k06d<<<columns, dim3(96, 2)>>>(p, result);
    verify("k06d", inner, want_pzz);
    k06e<<<columns, dim3(96, 2)>>>(p, result);
    verify("k06e", inner, want_pzz);
    return 0;
}
