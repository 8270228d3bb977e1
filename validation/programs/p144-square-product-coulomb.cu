// Product of two square matrices, and the electrostatic potential of point charges on a slice of a grid.
#include "../harness.h"

#include <functional>

const int N = 2048;

// ---- C = A * B, row by row in memory ----

__global__ void k144a(float *C, const float *A, const float *B, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n && col < n) {
        float sum = 0.0f;
        for (int k = 0; k < n; k++)
            sum += A[row * n + k] * B[k * n + col];
        C[row * n + col] = sum;
    }
}

const int TILE = 16;

__global__ void k144b(float *C, const float *A, const float *B, int n)
{
    __shared__ float Ads[TILE][TILE];
    __shared__ float Bds[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int ph = 0; ph < n / TILE; ph++) {
        Ads[ty][tx] = A[row * n + ph * TILE + tx];
        Bds[ty][tx] = B[(ph * TILE + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += Ads[ty][k] * Bds[k][tx];
        __syncthreads();
    }
    C[row * n + col] = sum;
}

const int BM = 64, BN = 64, BK = 8, PER = 8;

// 512 threads; each makes PER elements of one column.
__global__ void k144c(float *C, const float *A, const float *B, int n)
{
    __shared__ float Ads[BM][BK];
    __shared__ float Bds[BK][BN];
    int t = threadIdx.x;
    int col = t % BN, rows = t / BN * PER;
    int a_row = t / BK, a_col = t % BK;
    int b_row = t / BN, b_col = t % BN;
    A += blockIdx.y * BM * n;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * n + blockIdx.x * BN;
    float sum[PER] = {};
    for (int k0 = 0; k0 < n; k0 += BK) {
        Ads[a_row][a_col] = A[a_row * n + k0 + a_col];
        Bds[b_row][b_col] = B[(k0 + b_row) * n + b_col];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float b = Bds[k][col];
#pragma unroll
            for (int i = 0; i < PER; i++)
                sum[i] += Ads[rows + i][k] * b;
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < PER; i++)
        C[(rows + i) * n + col] = sum[i];
}

// 256 threads make 128 x 128 elements; a warp makes 32 x 64 of them.
__global__ void __launch_bounds__(256, 2)
    k144d(float *__restrict__ C, const float *__restrict__ A, const float *__restrict__ B, int n)
{
    __shared__ __align__(16) float Ads[2][8][132];
    __shared__ __align__(16) float Bds[2][8][128];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    int m0 = warp / 2 * 32 + lane / 8 * 4;
    int n0 = warp % 2 * 64 + lane % 8 * 4;
    int a_row = t / 2, a_k = t % 2 * 4;
    int b_k = t / 32, b_col = t % 32 * 4;
    const float *a_from = A + (blockIdx.y * 128 + a_row) * n + a_k;
    const float *b_from = B + b_k * n + blockIdx.x * 128 + b_col;
    float sum[8][8] = {};

    float4 a_next = *reinterpret_cast<const float4 *>(a_from);
    float4 b_next = *reinterpret_cast<const float4 *>(b_from);
    int now = 0;
    for (int k0 = 0; k0 < n; k0 += 8) {
        Ads[now][a_k + 0][a_row] = a_next.x;
        Ads[now][a_k + 1][a_row] = a_next.y;
        Ads[now][a_k + 2][a_row] = a_next.z;
        Ads[now][a_k + 3][a_row] = a_next.w;
        *reinterpret_cast<float4 *>(&Bds[now][b_k][b_col]) = b_next;
        __syncthreads();
        if (k0 + 8 < n) {
            a_from += 8;
            b_from += 8 * n;
            a_next = *reinterpret_cast<const float4 *>(a_from);
            b_next = *reinterpret_cast<const float4 *>(b_from);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            float4 a0 = *reinterpret_cast<const float4 *>(&Ads[now][k][m0]);
            float4 a1 = *reinterpret_cast<const float4 *>(&Ads[now][k][m0 + 16]);
            float4 b0 = *reinterpret_cast<const float4 *>(&Bds[now][k][n0]);
            float4 b1 = *reinterpret_cast<const float4 *>(&Bds[now][k][n0 + 32]);
            float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
            float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 8; j++)
                    sum[i][j] += a[i] * b[j];
        }
        now ^= 1;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = blockIdx.y * 128 + m0 + i % 4 + i / 4 * 16;
        float *to = C + row * n + blockIdx.x * 128 + n0;
        *reinterpret_cast<float4 *>(to) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
        *reinterpret_cast<float4 *>(to + 32) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
    }
}

// ---- potential at the points (x, y) * spacing of the slice at height z; an atom is x, y, z, charge ----

const int WIDTH = 1024, HEIGHT = 1024, ATOMS = 2000;
__constant__ float atom_const[ATOMS * 4];

__global__ void k144e(float *energy, int width, float spacing, float z, int atoms)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    float x = spacing * i, y = spacing * j;
    float sum = 0.0f;
    for (int n = 0; n < atoms * 4; n += 4) {
        float dx = x - atom_const[n];
        float dy = y - atom_const[n + 1];
        float dz = z - atom_const[n + 2];
        sum += atom_const[n + 3] / sqrtf(dx * dx + dy * dy + dz * dz);
    }
    energy[j * width + i] = sum;
}

__global__ void k144f(float *energy, int width, float spacing, float z, int atoms)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    float x = spacing * i, y = spacing * j;
    float sum = 0.0f;
    for (int n = 0; n < atoms * 4; n += 4) {
        float dx = x - atom_const[n];
        float dy = y - atom_const[n + 1];
        float dz = z - atom_const[n + 2];
        sum += atom_const[n + 3] * rsqrtf(dx * dx + dy * dy + dz * dz);
    }
    energy[j * width + i] = sum;
}

const int POINTS = 8;

__global__ void k144g(float *energy, int width, float spacing, float z, int atoms)
{
    int i = blockIdx.x * blockDim.x * POINTS + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    float x = spacing * i, y = spacing * j, apart = spacing * blockDim.x;
    float sum[POINTS] = {};
    for (int n = 0; n < atoms * 4; n += 4) {
        float dy = y - atom_const[n + 1];
        float dz = z - atom_const[n + 2];
        float dyz2 = dy * dy + dz * dz;
        float q = atom_const[n + 3];
        float dx = x - atom_const[n];
#pragma unroll
        for (int p = 0; p < POINTS; p++) {
            sum[p] += q * rsqrtf(dx * dx + dyz2);
            dx += apart;
        }
    }
#pragma unroll
    for (int p = 0; p < POINTS; p++)
        energy[j * width + i + p * blockDim.x] = sum[p];
}

int main()
{
    const size_t nn = (size_t)N * N;
    float *A = input<float>(nn, 1441, -1.0, 1.0), *B = input<float>(nn, 1442, -1.0, 1.0), *C = output<float>(nn);
    // Every 97th row on the host; later kernels against all of the first.
    const int skip = 97, taken = (N - 1) / skip + 1;
    std::vector<float> some_rows((size_t)taken * N), whole;
    {
        std::vector<float> hA = on_host(A, nn), hB = on_host(B, nn);
        for (int r = 0; r < taken; r++)
            for (int k = 0; k < N; k++) {
                float a = hA[(size_t)r * skip * N + k];
                const float *b = &hB[(size_t)k * N];
                float *c = &some_rows[(size_t)r * N];
                for (int j = 0; j < N; j++)
                    c[j] += a * b[j];
            }
    }
    float *rows = output<float>(some_rows.size());
    auto product = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(C, 0xA5, nn * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!whole.empty()) {
            check(name, C, whole, 1e-4);
            return;
        }
        const size_t bytes = N * sizeof(float);
        MUST(cudaMemcpy2D(rows, bytes, C, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, rows, some_rows, 1e-4);
        whole = on_host(C, nn);
    };
    dim3 square(TILE, TILE);
    product("k144a", [&] { k144a<<<dim3(N / TILE, N / TILE), square>>>(C, A, B, N); });
    product("k144b", [&] { k144b<<<dim3(N / TILE, N / TILE), square>>>(C, A, B, N); });
    product("k144c", [&] { k144c<<<dim3(N / BN, N / BM), BM * BN / PER>>>(C, A, B, N); });
    product("k144d", [&] { k144d<<<dim3(N / 128, N / 128), 256>>>(C, A, B, N); });

    const float spacing = 0.1f, z = 0.5f;
    std::vector<float> atoms(ATOMS * 4);
    for (int n = 0; n < ATOMS; n++) {
        atoms[4 * n] = scrambled(4 * n, 1443) / 4294967296.0f * spacing * WIDTH;
        atoms[4 * n + 1] = scrambled(4 * n + 1, 1443) / 4294967296.0f * spacing * HEIGHT;
        atoms[4 * n + 2] = 1.5f + scrambled(4 * n + 2, 1443) / 4294967296.0f * 30.0f;
        atoms[4 * n + 3] = 0.1f + scrambled(4 * n + 3, 1443) / 4294967296.0f;
    }
    MUST(cudaMemcpyToSymbol(atom_const, atoms.data(), atoms.size() * sizeof(float)));
    const size_t points = (size_t)WIDTH * HEIGHT;
    float *energy = output<float>(points);
    std::vector<float> every_point;
    auto potential = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(energy, 0xA5, points * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (!every_point.empty()) {
            check(name, energy, every_point, 1e-4);
            return;
        }
        // Every 211th point on the host.
        every_point = on_host(energy, points);
        std::vector<float> picked, want;
        for (size_t p = 0; p < points; p += 211) {
            double x = spacing * (p % WIDTH), y = spacing * (p / WIDTH), sum = 0;
            for (int n = 0; n < ATOMS; n++) {
                double dx = x - atoms[4 * n], dy = y - atoms[4 * n + 1], dz = z - atoms[4 * n + 2];
                sum += atoms[4 * n + 3] / std::sqrt(dx * dx + dy * dy + dz * dz);
            }
            picked.push_back(every_point[p]);
            want.push_back(float(sum));
        }
        check(name, on_device(picked), want, 1e-4);
    };
    dim3 block(32, 8), grid(WIDTH / 32, HEIGHT / 8), narrow(WIDTH / 32 / POINTS, HEIGHT / 8);
    potential("k144e", [&] { k144e<<<grid, block>>>(energy, WIDTH, spacing, z, ATOMS); });
    potential("k144f", [&] { k144f<<<grid, block>>>(energy, WIDTH, spacing, z, ATOMS); });
    potential("k144g", [&] { k144g<<<narrow, block>>>(energy, WIDTH, spacing, z, ATOMS); });
    return 0;
}
