// A D3Q19 lattice Boltzmann step on a torus, orbits in the Henon-Heiles potential, and overlap integrals of complex
// orbitals on a grid.
#include "../harness.h"

#include <functional>

const int NX = 160, NY = 128, NZ = 128, CELLS = NX * NY * NZ, Q = 19;

__device__ inline void directions(int q, int &cx, int &cy, int &cz)
{
    const int x[Q] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
    const int y[Q] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
    const int z[Q] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
    cx = x[q];
    cy = y[q];
    cz = z[q];
}

__device__ inline int upstream(int x, int y, int z, int cx, int cy, int cz)
{
    int sx = x - cx, sy = y - cy, sz = z - cz;
    sx = sx < 0 ? NX - 1 : sx >= NX ? 0 : sx;
    sy = sy < 0 ? NY - 1 : sy >= NY ? 0 : sy;
    sz = sz < 0 ? NZ - 1 : sz >= NZ ? 0 : sz;
    return (sz * NY + sy) * NX + sx;
}

__device__ inline void relax(float *f, float omega)
{
    float rho = 0.0f, ux = 0.0f, uy = 0.0f, uz = 0.0f;
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int cx, cy, cz;
        directions(q, cx, cy, cz);
        rho += f[q];
        ux += cx * f[q];
        uy += cy * f[q];
        uz += cz * f[q];
    }
    float inverse = 1.0f / rho;
    ux *= inverse;
    uy *= inverse;
    uz *= inverse;
    float square = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int cx, cy, cz;
        directions(q, cx, cy, cz);
        float weight = q == 0 ? 1.0f / 3.0f : q < 7 ? 1.0f / 18.0f : 1.0f / 36.0f;
        float cu = cx * ux + cy * uy + cz * uz;
        float equilibrium = weight * rho * (square + 3.0f * cu + 4.5f * cu * cu);
        f[q] += omega * (equilibrium - f[q]);
    }
}

__global__ void k209a(float *__restrict__ next, const float *__restrict__ now, float omega)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= CELLS)
        return;
    int x = cell % NX, y = cell / NX % NY, z = cell / (NX * NY);
    float f[Q];
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int cx, cy, cz;
        directions(q, cx, cy, cz);
        f[q] = now[upstream(x, y, z, cx, cy, cz) * Q + q];
    }
    relax(f, omega);
#pragma unroll
    for (int q = 0; q < Q; q++)
        next[cell * Q + q] = f[q];
}

__global__ void k209b(float *__restrict__ next, const float *__restrict__ now, float omega)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= CELLS)
        return;
    int x = cell % NX, y = cell / NX % NY, z = cell / (NX * NY);
    float f[Q];
#pragma unroll
    for (int q = 0; q < Q; q++) {
        int cx, cy, cz;
        directions(q, cx, cy, cz);
        f[q] = now[q * CELLS + upstream(x, y, z, cx, cy, cz)];
    }
    relax(f, omega);
#pragma unroll
    for (int q = 0; q < Q; q++)
        next[q * CELLS + cell] = f[q];
}

__global__ void k209c(float4 *out, const float4 *in, int n, int steps, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 s = in[i];
    float x = s.x, y = s.y, px = s.z, py = s.w;
    for (int t = 0; t < steps; t++) {
        float ax = -1.0 * x - 2.0 * x * y;
        float ay = -1.0 * y - 1.0 * x * x + 1.0 * y * y;
        px += dt * ax;
        py += dt * ay;
        x += dt * px;
        y += dt * py;
    }
    out[i] = make_float4(x, y, px, py);
}

__global__ void k209d(float4 *out, const float4 *in, int n, int steps, float dt)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 s = in[i];
    float x = s.x, y = s.y, px = s.z, py = s.w;
#pragma unroll 8
    for (int t = 0; t < steps; t++) {
        float ax = -x - 2.0f * x * y;
        float ay = -y - x * x + y * y;
        px += dt * ax;
        py += dt * ay;
        x += dt * px;
        y += dt * py;
    }
    out[i] = make_float4(x, y, px, py);
}

const int ORBITALS = 1024, POINTS = 1024, TILE = 16, EDGE = 64, DEPTH = 16;

__device__ inline void gather(float2 &sum, float2 a, float2 b)
{
    sum.x += a.x * b.x;
    sum.x += a.y * b.y;
    sum.y += a.x * b.y;
    sum.y -= a.y * b.x;
}

// phi[orbital][point]
__global__ void k209e(float2 *s, const float2 *phi, int orbitals, int points)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int p = 0; p < points; p++)
        gather(sum, phi[i * points + p], phi[j * points + p]);
    s[i * orbitals + j] = sum;
}

// phi[point][orbital]
__global__ void k209f(float2 *s, const float2 *phi, int orbitals, int points)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int p = 0; p < points; p++)
        gather(sum, phi[p * orbitals + i], phi[p * orbitals + j]);
    s[i * orbitals + j] = sum;
}

__global__ void k209g(float2 *s, const float2 *phi, int orbitals, int points)
{
    __shared__ float2 left[TILE][TILE], right[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.y * TILE, j = blockIdx.x * TILE;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int p = 0; p < points; p += TILE) {
        left[ty][tx] = phi[(p + ty) * orbitals + i + tx];
        right[ty][tx] = phi[(p + ty) * orbitals + j + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            gather(sum, left[k][ty], right[k][tx]);
        __syncthreads();
    }
    s[(i + ty) * orbitals + j + tx] = sum;
}

__global__ void __launch_bounds__(256, 2) k209h(float2 *__restrict__ s, const float2 *__restrict__ phi, int orbitals, int points)
{
    __shared__ float4 left[DEPTH][EDGE / 2], right[DEPTH][EDGE / 2];
    int t = threadIdx.x, tx = t % 16, ty = t / 16;
    int i = blockIdx.y * EDGE, j = blockIdx.x * EDGE;
    int row = t / 32, pair = t % 32;
    const float4 *from_i = reinterpret_cast<const float4 *>(phi + row * orbitals + i) + pair;
    const float4 *from_j = reinterpret_cast<const float4 *>(phi + row * orbitals + j) + pair;
    const int eight = 8 * orbitals / 2;
    float4 a0 = from_i[0], a1 = from_i[eight], b0 = from_j[0], b1 = from_j[eight];
    float2 sum[4][4];
#pragma unroll
    for (int u = 0; u < 4; u++)
#pragma unroll
        for (int v = 0; v < 4; v++)
            sum[u][v] = make_float2(0.0f, 0.0f);
    for (int p = 0; p < points; p += DEPTH) {
        left[row][pair] = a0;
        left[row + 8][pair] = a1;
        right[row][pair] = b0;
        right[row + 8][pair] = b1;
        __syncthreads();
        if (p + DEPTH < points) {
            from_i += 2 * eight;
            from_j += 2 * eight;
            a0 = from_i[0];
            a1 = from_i[eight];
            b0 = from_j[0];
            b1 = from_j[eight];
        }
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float4 l0 = left[k][ty], l1 = left[k][16 + ty], r0 = right[k][tx], r1 = right[k][16 + tx];
            float2 l[4] = {{l0.x, l0.y}, {l0.z, l0.w}, {l1.x, l1.y}, {l1.z, l1.w}};
            float2 r[4] = {{r0.x, r0.y}, {r0.z, r0.w}, {r1.x, r1.y}, {r1.z, r1.w}};
#pragma unroll
            for (int u = 0; u < 4; u++)
#pragma unroll
                for (int v = 0; v < 4; v++)
                    gather(sum[u][v], l[u], r[v]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < 4; u++) {
        int line = i + u / 2 * 32 + ty * 2 + u % 2;
#pragma unroll
        for (int v = 0; v < 4; v += 2) {
            float4 two = make_float4(sum[u][v].x, sum[u][v].y, sum[u][v + 1].x, sum[u][v + 1].y);
            *reinterpret_cast<float4 *>(s + line * orbitals + j + v / 2 * 32 + tx * 2) = two;
        }
    }
}

__global__ void fill_swapped(float *to, const float *from, int rows, int columns, int width)
{
    long long n = (long long)rows * columns * width;
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
        int w = i % width, c = i / width % columns, r = i / ((long long)width * columns);
        to[((long long)c * rows + r) * width + w] = from[i];
    }
}

__global__ void fill_chosen(float *to, const float *from, int count, int every, int per_cell, int per_q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count * Q)
        to[i] = from[i / Q * every * per_cell + i % Q * per_q];
}

int main()
{
    {
        const size_t n = (size_t)CELLS * Q;
        const float omega = 1.2f;
        float *by_cell = input<float>(n, 2091, 0.02, 0.06), *by_q = output<float>(n), *next = output<float>(n);
        fill_swapped<<<1056, 256>>>(by_q, by_cell, CELLS, Q, 1);
        MUST(cudaDeviceSynchronize());
        std::vector<float> now = on_host(by_cell, n);
        const int every = 89, count = CELLS / every;
        const int cx[Q] = {0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0};
        const int cy[Q] = {0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1};
        const int cz[Q] = {0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1};
        std::vector<float> want((size_t)count * Q);
        for (int i = 0; i < count; i++) {
            int cell = i * every, x = cell % NX, y = cell / NX % NY, z = cell / (NX * NY);
            double f[Q], rho = 0, u[3] = {0, 0, 0};
            for (int q = 0; q < Q; q++) {
                int sx = (x - cx[q] + NX) % NX, sy = (y - cy[q] + NY) % NY, sz = (z - cz[q] + NZ) % NZ;
                f[q] = now[((size_t)(sz * NY + sy) * NX + sx) * Q + q];
                rho += f[q];
                u[0] += cx[q] * f[q];
                u[1] += cy[q] * f[q];
                u[2] += cz[q] * f[q];
            }
            for (double &v : u)
                v /= rho;
            for (int q = 0; q < Q; q++) {
                double w = q == 0 ? 1.0 / 3 : q < 7 ? 1.0 / 18 : 1.0 / 36, cu = cx[q] * u[0] + cy[q] * u[1] + cz[q] * u[2];
                double e = w * rho * (1 + 3 * cu + 4.5 * cu * cu - 1.5 * (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
                want[(size_t)i * Q + q] = float(f[q] + omega * (e - f[q]));
            }
        }
        float *some = output<float>(want.size());
        auto stream = [&](const char *name, int per_cell, int per_q, std::function<void()> launch) {
            MUST(cudaMemset(next, 0xA5, n * sizeof(float)));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            fill_chosen<<<(count * Q + 255) / 256, 256>>>(some, next, count, every, per_cell, per_q);
            check(name, some, want, 1e-5);
        };
        stream("k209a", Q, 1, [&] { k209a<<<CELLS / 256, 256>>>(next, by_cell, omega); });
        stream("k209b", 1, CELLS, [&] { k209b<<<CELLS / 256, 256>>>(next, by_q, omega); });
        MUST(cudaFree(by_cell));
        MUST(cudaFree(by_q));
        MUST(cudaFree(next));
    }
    {
        const int n = 1 << 20, steps = 512, every = 1024;
        const float dt = 0.01f;
        float *in = input<float>(4 * (size_t)n, 2092, -0.15, 0.15), *out = output<float>(4 * (size_t)n);
        std::vector<float> start = on_host(in, 4 * (size_t)n), want;
        for (int i = 0; i < n; i += every) {
            double x = start[4 * i], y = start[4 * i + 1], px = start[4 * i + 2], py = start[4 * i + 3];
            for (int t = 0; t < steps; t++) {
                double ax = -x - 2 * x * y, ay = -y - x * x + y * y;
                px += dt * ax;
                py += dt * ay;
                x += dt * px;
                y += dt * py;
            }
            want.insert(want.end(), {float(x), float(y), float(px), float(py)});
        }
        float *some = output<float>(want.size());
        auto orbits = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(out, 0xA5, 16 * (size_t)n));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(some, 16, out, 16 * every, 16, n / every, cudaMemcpyDeviceToDevice));
            check(name, some, want, 1e-4);
        };
        const float4 *from = reinterpret_cast<const float4 *>(in);
        float4 *to = reinterpret_cast<float4 *>(out);
        orbits("k209c", [&] { k209c<<<n / 256, 256>>>(to, from, n, steps, dt); });
        orbits("k209d", [&] { k209d<<<n / 256, 256>>>(to, from, n, steps, dt); });
    }
    {
        const size_t n = (size_t)ORBITALS * POINTS * 2;
        float *by_orbital = input<float>(n, 2093, -1.0, 1.0), *by_point = output<float>(n);
        float *s = output<float>((size_t)ORBITALS * ORBITALS * 2);
        fill_swapped<<<1056, 256>>>(by_point, by_orbital, ORBITALS, POINTS, 2);
        MUST(cudaDeviceSynchronize());
        std::vector<float> phi = on_host(by_orbital, n), want;
        const int every = 33, rows = (ORBITALS - 1) / every + 1;
        for (int r = 0; r < rows; r++)
            for (int j = 0; j < ORBITALS; j++) {
                const float *a = &phi[(size_t)r * every * POINTS * 2], *b = &phi[(size_t)j * POINTS * 2];
                double re = 0, im = 0;
                for (int p = 0; p < POINTS; p++) {
                    re += a[2 * p] * b[2 * p] + a[2 * p + 1] * b[2 * p + 1];
                    im += a[2 * p] * b[2 * p + 1] - a[2 * p + 1] * b[2 * p];
                }
                want.push_back(float(re));
                want.push_back(float(im));
            }
        float *some = output<float>(want.size());
        auto overlap = [&](const char *name, std::function<void()> launch) {
            const size_t bytes = ORBITALS * 2 * sizeof(float);
            MUST(cudaMemset(s, 0xA5, ORBITALS * bytes));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            MUST(cudaMemcpy2D(some, bytes, s, every * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
            check(name, some, want, 1e-3);
        };
        float2 *to = reinterpret_cast<float2 *>(s);
        const float2 *first = reinterpret_cast<const float2 *>(by_orbital), *second = reinterpret_cast<const float2 *>(by_point);
        dim3 square(16, 16), tiles(ORBITALS / 16, ORBITALS / 16), large(ORBITALS / EDGE, ORBITALS / EDGE);
        overlap("k209e", [&] { k209e<<<tiles, square>>>(to, first, ORBITALS, POINTS); });
        overlap("k209f", [&] { k209f<<<tiles, square>>>(to, second, ORBITALS, POINTS); });
        overlap("k209g", [&] { k209g<<<tiles, square>>>(to, second, ORBITALS, POINTS); });
        overlap("k209h", [&] { k209h<<<large, 256>>>(to, second, ORBITALS, POINTS); });
    }
    return 0;
}
