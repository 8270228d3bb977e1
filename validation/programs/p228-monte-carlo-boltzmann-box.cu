// Monte Carlo paths of two correlated assets from given random numbers, a lattice Boltzmann step (nine velocities, periodic
// plane), and a box filter along columns.
#include "../harness.h"

#include <functional>

const int PATHS = 1 << 20, STEPS = 64, PER_BLOCK = 128;

__global__ void k228a(const float *d_z, float *d_v, int N, float rho, float alpha, float con1, float con2, float K)
{
    int ind = 2 * N * (threadIdx.x + blockIdx.x * blockDim.x);
    float s1 = 1.0f, s2 = 1.0f;
    for (int n = 0; n < N; n++) {
        float y1 = d_z[ind];
        ind += 1;
        float y2 = rho * y1 + alpha * d_z[ind];
        ind += 1;
        s1 = s1 * (con1 + con2 * y1);
        s2 = s2 * (con1 + con2 * y2);
    }
    d_v[threadIdx.x + blockIdx.x * blockDim.x] = fmaxf(0.5f * (s1 + s2) - K, 0.0f);
}

__global__ void k228b(const float *d_z, float *d_v, int N, float rho, float alpha, float con1, float con2, float K)
{
    int ind = threadIdx.x + 2 * N * blockIdx.x * blockDim.x;
    float s1 = 1.0f, s2 = 1.0f;
    for (int n = 0; n < N; n++) {
        float y1 = d_z[ind];
        ind += blockDim.x;
        float y2 = rho * y1 + alpha * d_z[ind];
        ind += blockDim.x;
        s1 = s1 * (con1 + con2 * y1);
        s2 = s2 * (con1 + con2 * y2);
    }
    d_v[threadIdx.x + blockIdx.x * blockDim.x] = fmaxf(0.5f * (s1 + s2) - K, 0.0f);
}

__constant__ int c_N;
__constant__ float c_rho, c_alpha, c_con1, c_con2, c_K;

__global__ void k228c(const float *d_z, float *d_v)
{
    int ind = threadIdx.x + 2 * c_N * blockIdx.x * blockDim.x;
    float s1 = 1.0f, s2 = 1.0f;
    for (int n = 0; n < c_N; n++) {
        float y1 = d_z[ind];
        ind += blockDim.x;
        float y2 = c_rho * y1 + c_alpha * d_z[ind];
        ind += blockDim.x;
        s1 = s1 * (c_con1 + c_con2 * y1);
        s2 = s2 * (c_con1 + c_con2 * y2);
    }
    d_v[threadIdx.x + blockIdx.x * blockDim.x] = fmaxf(0.5f * (s1 + s2) - c_K, 0.0f);
}

const int NX = 4096, NY = 2048, Q = 9;
const float OMEGA = 1.2f;

// Velocities: rest, east, north, west, south, north-east, north-west, south-west, south-east.
template <class T> __host__ __device__ inline void collide(T *f, T omega)
{
    T rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    T inverse = T(1) / rho;
    T ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) * inverse;
    T uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) * inverse;
    T rest = T(1) - T(1.5) * (ux * ux + uy * uy);
    T axis = rho * T(1.0 / 9.0), diagonal = rho * T(1.0 / 36.0), centre = rho * T(4.0 / 9.0);
    T p = ux + uy, m = uy - ux;
    f[0] += omega * (centre * rest - f[0]);
    f[1] += omega * (axis * (rest + T(3) * ux + T(4.5) * ux * ux) - f[1]);
    f[2] += omega * (axis * (rest + T(3) * uy + T(4.5) * uy * uy) - f[2]);
    f[3] += omega * (axis * (rest - T(3) * ux + T(4.5) * ux * ux) - f[3]);
    f[4] += omega * (axis * (rest - T(3) * uy + T(4.5) * uy * uy) - f[4]);
    f[5] += omega * (diagonal * (rest + T(3) * p + T(4.5) * p * p) - f[5]);
    f[6] += omega * (diagonal * (rest + T(3) * m + T(4.5) * m * m) - f[6]);
    f[7] += omega * (diagonal * (rest - T(3) * p + T(4.5) * p * p) - f[7]);
    f[8] += omega * (diagonal * (rest - T(3) * m + T(4.5) * m * m) - f[8]);
}

__global__ void k228d(float *next, const float *f, float omega, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int w = x == 0 ? nx - 1 : x - 1, e = x == nx - 1 ? 0 : x + 1;
    int s = y == 0 ? ny - 1 : y - 1, n = y == ny - 1 ? 0 : y + 1;
    float g[Q];
    g[0] = f[(y * nx + x) * Q + 0];
    g[1] = f[(y * nx + w) * Q + 1];
    g[2] = f[(s * nx + x) * Q + 2];
    g[3] = f[(y * nx + e) * Q + 3];
    g[4] = f[(n * nx + x) * Q + 4];
    g[5] = f[(s * nx + w) * Q + 5];
    g[6] = f[(s * nx + e) * Q + 6];
    g[7] = f[(n * nx + e) * Q + 7];
    g[8] = f[(n * nx + w) * Q + 8];
    collide(g, omega);
#pragma unroll
    for (int q = 0; q < Q; q++)
        next[(y * nx + x) * Q + q] = g[q];
}

__global__ void k228e(float *next, const float *f, float omega, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int w = x == 0 ? nx - 1 : x - 1, e = x == nx - 1 ? 0 : x + 1;
    int s = y == 0 ? ny - 1 : y - 1, n = y == ny - 1 ? 0 : y + 1;
    int cells = nx * ny;
    float g[Q];
    g[0] = f[0 * cells + x * ny + y];
    g[1] = f[1 * cells + w * ny + y];
    g[2] = f[2 * cells + x * ny + s];
    g[3] = f[3 * cells + e * ny + y];
    g[4] = f[4 * cells + x * ny + n];
    g[5] = f[5 * cells + w * ny + s];
    g[6] = f[6 * cells + e * ny + s];
    g[7] = f[7 * cells + e * ny + n];
    g[8] = f[8 * cells + w * ny + n];
    collide(g, omega);
#pragma unroll
    for (int q = 0; q < Q; q++)
        next[q * cells + x * ny + y] = g[q];
}

__global__ void k228f(float *next, const float *f, float omega, int nx, int ny)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int w = x == 0 ? nx - 1 : x - 1, e = x == nx - 1 ? 0 : x + 1;
    int s = y == 0 ? ny - 1 : y - 1, n = y == ny - 1 ? 0 : y + 1;
    int cells = nx * ny;
    float g[Q];
    g[0] = f[0 * cells + y * nx + x];
    g[1] = f[1 * cells + y * nx + w];
    g[2] = f[2 * cells + s * nx + x];
    g[3] = f[3 * cells + y * nx + e];
    g[4] = f[4 * cells + n * nx + x];
    g[5] = f[5 * cells + s * nx + w];
    g[6] = f[6 * cells + s * nx + e];
    g[7] = f[7 * cells + n * nx + e];
    g[8] = f[8 * cells + n * nx + w];
    collide(g, omega);
#pragma unroll
    for (int q = 0; q < Q; q++)
        next[q * cells + y * nx + x] = g[q];
}

__global__ void k228g(float *od, const float *id, int w, int h, int r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int k = -r; k <= r; k++) {
        int yy = min(max(y + k, 0), h - 1);
        sum += id[yy * w + x];
    }
    od[y * w + x] = sum / (2 * r + 1);
}

__global__ void k228h(float *__restrict__ od, const float *__restrict__ id, int w, int h, int r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    float scale = 1.0f / (2 * r + 1);
    od += x;
    id += x;
    float first = id[0], last = id[(h - 1) * w];
    float sum = first * r;
    for (int y = 0; y <= r; y++)
        sum += id[y * w];
    od[0] = sum * scale;
    for (int y = 1; y <= r; y++) {
        sum += id[(y + r) * w] - first;
        od[y * w] = sum * scale;
    }
    for (int y = r + 1; y < h - r; y++) {
        sum += id[(y + r) * w] - id[(y - r - 1) * w];
        od[y * w] = sum * scale;
    }
    for (int y = h - r; y < h; y++) {
        sum += last - id[(y - r - 1) * w];
        od[y * w] = sum * scale;
    }
}

const int SEGMENT = 256;

__global__ void k228i(float *__restrict__ od, const float *__restrict__ id, int w, int h, int r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int top = blockIdx.y * SEGMENT;
    float scale = 1.0f / (2 * r + 1);
    od += x;
    id += x;
    float sum = 0.0f;
    for (int k = -r; k <= r; k++)
        sum += id[min(max(top + k, 0), h - 1) * w];
    od[top * w] = sum * scale;
#pragma unroll 4
    for (int y = top + 1; y < top + SEGMENT; y++) {
        sum += id[min(y + r, h - 1) * w] - id[max(y - r - 1, 0) * w];
        od[y * w] = sum * scale;
    }
}

// Where velocity q of a cell lies: cell by cell (0), or velocity by velocity with columns (1) or rows (2) in one piece.
__device__ inline size_t place(int order, int x, int y, int q)
{
    if (order == 0)
        return ((size_t)y * NX + x) * Q + q;
    return (size_t)q * NX * NY + (order == 1 ? (size_t)x * NY + y : (size_t)y * NX + x);
}

__global__ void fill_lattice(float *f, const float *cells, int order)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < (size_t)NX * NY * Q) {
        int q = i % Q, cell = i / Q;
        f[place(order, cell % NX, cell / NX, q)] = cells[i];
    }
}

__global__ void gather_lattice(float *some, const float *f, int order, int every, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * Q) {
        int q = i % Q, cell = i / Q * every;
        some[i] = f[place(order, cell % NX, cell / NX, q)];
    }
}

double random_value(unsigned long long i, unsigned seed, double low, double high)
{
    return float(low + (high - low) * (scrambled(i, seed) / 4294967296.0));
}

void done()
{
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
}

int main()
{
    // Every 257th path is compared; `across` is the distance of a path's numbers.
    const size_t numbers = (size_t)PATHS * STEPS * 2;
    const int every = 257, chosen = (PATHS - 1) / every + 1;
    const float rate = 0.05f, sigma = 0.1f, rho = 0.5f, dt = 1.0f / STEPS, strike = 0.9f;
    const float alpha = std::sqrt(1.0f - rho * rho), con1 = 1.0f + rate * dt, con2 = std::sqrt(dt) * sigma;
    float *z = input<float>(numbers, 2281, -1.73, 1.73), *v = output<float>(PATHS), *picked = output<float>(chosen);
    auto payoffs = [&](bool side_by_side) {
        std::vector<float> want(chosen);
        for (int s = 0; s < chosen; s++) {
            size_t path = (size_t)s * every, across = side_by_side ? PER_BLOCK : 1;
            size_t at = side_by_side ? path / PER_BLOCK * PER_BLOCK * 2 * STEPS + path % PER_BLOCK : path * 2 * STEPS;
            double s1 = 1.0, s2 = 1.0;
            for (int n = 0; n < STEPS; n++) {
                double y1 = random_value(at, 2281, -1.73, 1.73);
                double y2 = rho * y1 + alpha * random_value(at + across, 2281, -1.73, 1.73);
                at += 2 * across;
                s1 *= con1 + con2 * y1;
                s2 *= con1 + con2 * y2;
            }
            want[s] = float(std::fmax(0.5 * (s1 + s2) - strike, 0.0));
        }
        return want;
    };
    const std::vector<float> one_by_one = payoffs(false), side_by_side = payoffs(true);
    MUST(cudaMemcpyToSymbol(c_N, &STEPS, sizeof(int)));
    MUST(cudaMemcpyToSymbol(c_rho, &rho, sizeof(float)));
    MUST(cudaMemcpyToSymbol(c_alpha, &alpha, sizeof(float)));
    MUST(cudaMemcpyToSymbol(c_con1, &con1, sizeof(float)));
    MUST(cudaMemcpyToSymbol(c_con2, &con2, sizeof(float)));
    MUST(cudaMemcpyToSymbol(c_K, &strike, sizeof(float)));
    auto simulate = [&](const char *name, const std::vector<float> &want, std::function<void()> launch) {
        MUST(cudaMemset(v, 0xA5, PATHS * sizeof(float)));
        launch();
        done();
        const size_t bytes = sizeof(float);
        MUST(cudaMemcpy2D(picked, bytes, v, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-4);
    };
    const int groups = PATHS / PER_BLOCK;
    simulate("k228a", one_by_one, [&] { k228a<<<groups, PER_BLOCK>>>(z, v, STEPS, rho, alpha, con1, con2, strike); });
    simulate("k228b", side_by_side, [&] { k228b<<<groups, PER_BLOCK>>>(z, v, STEPS, rho, alpha, con1, con2, strike); });
    simulate("k228c", side_by_side, [&] { k228c<<<groups, PER_BLOCK>>>(z, v); });
    MUST(cudaFree(z));

    // Every 101st cell is compared.
    const size_t values = (size_t)NX * NY * Q;
    const int step = 101, cells = (NX * NY - 1) / step + 1;
    float *start = input<float>(values, 2282, 0.05, 0.15), *f = output<float>(values), *next = output<float>(values);
    float *some = output<float>((size_t)cells * Q);
    std::vector<float> streamed((size_t)cells * Q);
    const int cx[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    for (int i = 0; i < cells; i++) {
        double g[Q];
        int x = i * step % NX, y = i * step / NX;
        for (int q = 0; q < Q; q++) {
            int from_x = (x - cx[q] + NX) % NX, from_y = (y - cy[q] + NY) % NY;
            g[q] = random_value(((size_t)from_y * NX + from_x) * Q + q, 2282, 0.05, 0.15);
        }
        collide(g, double(OMEGA));
        for (int q = 0; q < Q; q++)
            streamed[(size_t)i * Q + q] = float(g[q]);
    }
    auto lattice = [&](const char *name, int order, std::function<void()> launch) {
        MUST(cudaMemset(next, 0xA5, values * sizeof(float)));
        fill_lattice<<<unsigned((values + 255) / 256), 256>>>(f, start, order);
        done();
        launch();
        done();
        MUST(cudaMemset(some, 0xA5, streamed.size() * sizeof(float)));
        gather_lattice<<<(cells * Q + 255) / 256, 256>>>(some, next, order, step, cells);
        check(name, some, streamed, 1e-5);
    };
    dim3 block(32, 8), plane(NX / 32, NY / 8);
    lattice("k228d", 0, [&] { k228d<<<plane, block>>>(next, f, OMEGA, NX, NY); });
    lattice("k228e", 1, [&] { k228e<<<plane, block>>>(next, f, OMEGA, NX, NY); });
    lattice("k228f", 2, [&] { k228f<<<plane, block>>>(next, f, OMEGA, NX, NY); });
    MUST(cudaFree(start));
    MUST(cudaFree(f));
    MUST(cudaFree(next));

    // Rows 0, 63, ..., 4095 of the image are compared.
    const int w = 16384, h = 4096, r = 8, skip = 63, rows = (h - 1) / skip + 1;
    const size_t pixels = (size_t)w * h;
    float *id = input<float>(pixels, 2283, 0.0, 1.0), *od = output<float>(pixels);
    float *shown = output<float>((size_t)rows * w);
    std::vector<float> smooth((size_t)rows * w);
    for (int t = 0; t < rows; t++)
        for (int x = 0; x < w; x++) {
            double sum = 0.0;
            for (int k = -r; k <= r; k++) {
                int y = t * skip + k;
                y = y < 0 ? 0 : y > h - 1 ? h - 1 : y;
                sum += random_value((size_t)y * w + x, 2283, 0.0, 1.0);
            }
            smooth[(size_t)t * w + x] = float(sum / (2 * r + 1));
        }
    auto blur = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(od, 0xA5, pixels * sizeof(float)));
        launch();
        done();
        const size_t bytes = w * sizeof(float);
        MUST(cudaMemcpy2D(shown, bytes, od, skip * bytes, bytes, rows, cudaMemcpyDeviceToDevice));
        check(name, shown, smooth, 1e-4);
    };
    dim3 square(16, 16), all(w / 16, h / 16), segments(w / 256, h / SEGMENT);
    blur("k228g", [&] { k228g<<<all, square>>>(od, id, w, h, r); });
    blur("k228h", [&] { k228h<<<w / 64, 64>>>(od, id, w, h, r); });
    blur("k228i", [&] { k228i<<<segments, 256>>>(od, id, w, h, r); });
    return 0;
}
