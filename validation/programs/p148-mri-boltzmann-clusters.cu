// MRI reconstruction sums (Q), a time step of a D2Q9 lattice Boltzmann fluid, and the assignment step of k-means.
#include "../harness.h"

#include <functional>

const int VOXELS = 64 * 64 * 64, SAMPLES = 2048;

struct Trajectory {
    float kx, ky, kz, phi;
};

__constant__ Trajectory trajectory[SAMPLES];

__global__ void k148a(float *__restrict__ qr, float *__restrict__ qi, const float *__restrict__ x,
                      const float *__restrict__ y, const float *__restrict__ z, int samples)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[v], py = y[v], pz = z[v];
    float re = 0.0f, im = 0.0f;
    for (int k = 0; k < samples; k++) {
        float arg = 6.2831853f * (trajectory[k].kx * px + trajectory[k].ky * py + trajectory[k].kz * pz);
        re += trajectory[k].phi * cosf(arg);
        im += trajectory[k].phi * sinf(arg);
    }
    qr[v] = re;
    qi[v] = im;
}

__global__ void k148b(float *__restrict__ qr, float *__restrict__ qi, const float *__restrict__ x,
                      const float *__restrict__ y, const float *__restrict__ z, int samples)
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    float px = x[v], py = y[v], pz = z[v];
    float re = 0.0f, im = 0.0f;
#pragma unroll 8
    for (int k = 0; k < samples; k++) {
        float arg = 6.2831853f * (trajectory[k].kx * px + trajectory[k].ky * py + trajectory[k].kz * pz);
        re += trajectory[k].phi * __cosf(arg);
        im += trajectory[k].phi * __sinf(arg);
    }
    qr[v] = re;
    qi[v] = im;
}

const int W = 4096, H = 2048, CELLS = W * H;

// Directions: 0 rest, 1 E, 2 N, 3 W, 4 S, 5 NE, 6 NW, 7 SW, 8 SE.
__host__ __device__ constexpr int cx(int q)
{
    return q == 1 || q == 5 || q == 8 ? 1 : q == 3 || q == 6 || q == 7 ? -1 : 0;
}

__host__ __device__ constexpr int cy(int q)
{
    return q == 2 || q == 5 || q == 6 ? 1 : q == 4 || q == 7 || q == 8 ? -1 : 0;
}

template <class T> __host__ __device__ inline void collide(T *f, T omega)
{
    T rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    T inv = T(1) / rho;
    T ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) * inv;
    T uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) * inv;
    T base = T(1) - T(1.5) * (ux * ux + uy * uy);
#pragma unroll
    for (int q = 0; q < 9; q++) {
        T weight = q == 0 ? T(4.0 / 9) : q < 5 ? T(1.0 / 9) : T(1.0 / 36);
        T cu = T(3) * (T(cx(q)) * ux + T(cy(q)) * uy);
        T equilibrium = weight * rho * (base + cu + T(0.5) * cu * cu);
        f[q] += omega * (equilibrium - f[q]);
    }
}

__global__ void k148c(float *__restrict__ out, const float *__restrict__ in, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; q++) {
        int from = ((y - cy(q)) & (H - 1)) * W + ((x - cx(q)) & (W - 1));
        f[q] = in[from * 9 + q];
    }
    collide(f, omega);
#pragma unroll
    for (int q = 0; q < 9; q++)
        out[(y * W + x) * 9 + q] = f[q];
}

__global__ void k148d(float *__restrict__ out, const float *__restrict__ in, float omega)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x, x = blockIdx.y * blockDim.y + threadIdx.y;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; q++) {
        int from = ((y - cy(q)) & (H - 1)) * W + ((x - cx(q)) & (W - 1));
        f[q] = in[q * CELLS + from];
    }
    collide(f, omega);
#pragma unroll
    for (int q = 0; q < 9; q++)
        out[q * CELLS + y * W + x] = f[q];
}

__global__ void k148e(float *__restrict__ out, const float *__restrict__ in, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; q++) {
        int from = ((y - cy(q)) & (H - 1)) * W + ((x - cx(q)) & (W - 1));
        f[q] = in[q * CELLS + from];
    }
    collide(f, omega);
#pragma unroll
    for (int q = 0; q < 9; q++)
        out[q * CELLS + y * W + x] = f[q];
}

const int LINE = 128;

__global__ void k148f(float *__restrict__ out, const float *__restrict__ in, float omega)
{
    __shared__ float line[9][LINE + 2];
    int tx = threadIdx.x, x = blockIdx.x * LINE + tx, y = blockIdx.y;
    float f[9];
#pragma unroll
    for (int q = 0; q < 9; q++) {
        const float *row = in + q * CELLS + ((y - cy(q)) & (H - 1)) * W;
        if (cx(q) == 0) {
            f[q] = row[x];
        } else {
            line[q][tx + 1] = row[x];
            if (cx(q) == 1 && tx == 0)
                line[q][0] = row[(x - 1) & (W - 1)];
            if (cx(q) == -1 && tx == LINE - 1)
                line[q][LINE + 1] = row[(x + 1) & (W - 1)];
        }
    }
    __syncthreads();
#pragma unroll
    for (int q = 0; q < 9; q++)
        if (cx(q) != 0)
            f[q] = line[q][tx + 1 - cx(q)];
    collide(f, omega);
#pragma unroll
    for (int q = 0; q < 9; q++)
        out[q * CELLS + y * W + x] = f[q];
}

const int POINTS = 1 << 21, FEATURES = 34, CLUSTERS = 5;

__constant__ float centre_const[CLUSTERS * FEATURES];

__global__ void k148g(int *__restrict__ member, const float *__restrict__ feature, const float *__restrict__ centre,
                      int points, int features, int clusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    int index = -1;
    float least = 3.4e38f;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int j = 0; j < features; j++) {
            float t = feature[p * features + j] - centre[c * features + j];
            distance += t * t;
        }
        if (distance < least) {
            least = distance;
            index = c;
        }
    }
    member[p] = index;
}

__global__ void k148h(int *__restrict__ member, const float *__restrict__ feature, const float *__restrict__ centre,
                      int points, int features, int clusters)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    int index = -1;
    float least = 3.4e38f;
    for (int c = 0; c < clusters; c++) {
        float distance = 0.0f;
        for (int j = 0; j < features; j++) {
            float t = feature[j * points + p] - centre[c * features + j];
            distance += t * t;
        }
        if (distance < least) {
            least = distance;
            index = c;
        }
    }
    member[p] = index;
}

__global__ void k148i(int *__restrict__ member, const float *__restrict__ feature, int points)
{
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= points)
        return;
    float distance[CLUSTERS] = {};
#pragma unroll
    for (int j = 0; j < FEATURES; j++) {
        float v = feature[j * points + p];
#pragma unroll
        for (int c = 0; c < CLUSTERS; c++) {
            float t = v - centre_const[c * FEATURES + j];
            distance[c] += t * t;
        }
    }
    int index = 0;
    float least = distance[0];
#pragma unroll
    for (int c = 1; c < CLUSTERS; c++)
        if (distance[c] < least) {
            least = distance[c];
            index = c;
        }
    member[p] = index;
}

__global__ void fill_transposed(float *to, const float *from, int rows, int columns)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * columns; i += gridDim.x * blockDim.x)
        to[i % rows * columns + i / rows] = from[i];
}

void reconstruction()
{
    float *table = input<float>(SAMPLES * 4, 1481, -4.0, 4.0);
    MUST(cudaMemcpyToSymbol(trajectory, table, sizeof(Trajectory) * SAMPLES, 0, cudaMemcpyDeviceToDevice));
    MUST(cudaFree(table));
}

int main()
{
    reconstruction();
    std::vector<Trajectory> ht(SAMPLES);
    MUST(cudaMemcpyFromSymbol(ht.data(), trajectory, sizeof(Trajectory) * SAMPLES));
    float *x = input<float>(VOXELS, 1482, -1.0, 1.0), *y = input<float>(VOXELS, 1483, -1.0, 1.0);
    float *z = input<float>(VOXELS, 1484, -1.0, 1.0);
    float *q = output<float>(2 * VOXELS), *some = output<float>(512);
    std::vector<float> hx = on_host(x, VOXELS), hy = on_host(y, VOXELS), hz = on_host(z, VOXELS), sums(512), first;
    // Every 1024th voxel: 256 real parts, then 256 imaginary parts.
    for (int i = 0; i < 256; i++) {
        double re = 0, im = 0;
        for (const Trajectory &t : ht) {
            int v = i * 1024;
            double arg = 6.283185307179586 * (double(t.kx) * hx[v] + double(t.ky) * hy[v] + double(t.kz) * hz[v]);
            re += t.phi * std::cos(arg);
            im += t.phi * std::sin(arg);
        }
        sums[i] = float(re);
        sums[256 + i] = float(im);
    }
    auto volume = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(q, 0xA5, 2 * VOXELS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, 4, q, 4096, 4, 512, cudaMemcpyDeviceToDevice));
        check(name, some, sums, 2e-2);
        if (first.empty())
            first = on_host(q, 2 * VOXELS);
        else
            check(name, q, first, 2e-2);
    };
    volume("k148a", [&] { k148a<<<VOXELS / 256, 256>>>(q, q + VOXELS, x, y, z, SAMPLES); });
    volume("k148b", [&] { k148b<<<VOXELS / 256, 256>>>(q, q + VOXELS, x, y, z, SAMPLES); });

    const float omega = 1.2f;
    const int rows = 64;
    float *soa = input<float>((size_t)9 * CELLS, 1485, 0.05, 0.15), *aos = output<float>((size_t)9 * CELLS);
    fill_transposed<<<1056, 256>>>(aos, soa, CELLS, 9);
    MUST(cudaDeviceSynchronize());
    float *next = output<float>((size_t)9 * CELLS), *picked = output<float>(rows * 9 * W);
    std::vector<float> hf = on_host(soa, (size_t)9 * CELLS), by_cell(rows * 9 * W), by_direction(rows * 9 * W);
    auto chosen = [&](int r) { return r * (H - 1) / (rows - 1); };
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < W; i++) {
            double f[9];
            for (int d = 0; d < 9; d++)
                f[d] = hf[(size_t)d * CELLS + ((chosen(r) - cy(d)) & (H - 1)) * W + ((i - cx(d)) & (W - 1))];
            collide(f, double(omega));
            for (int d = 0; d < 9; d++) {
                by_cell[(r * W + i) * 9 + d] = float(f[d]);
                by_direction[(r * 9 + d) * W + i] = float(f[d]);
            }
        }
    auto fluid = [&](const char *name, bool cells, std::function<void()> launch) {
        MUST(cudaMemset(next, 0xA5, (size_t)9 * CELLS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (int r = 0; r < rows; r++)
            if (cells)
                MUST(cudaMemcpy(picked + r * W * 9, next + (size_t)chosen(r) * W * 9, W * 9 * sizeof(float),
                                cudaMemcpyDeviceToDevice));
            else
                MUST(cudaMemcpy2D(picked + r * 9 * W, W * sizeof(float), next + (size_t)chosen(r) * W,
                                  (size_t)CELLS * sizeof(float), W * sizeof(float), 9, cudaMemcpyDeviceToDevice));
        check(name, picked, cells ? by_cell : by_direction, 2e-6);
    };
    dim3 lines(W / LINE, H);
    fluid("k148c", true, [&] { k148c<<<lines, LINE>>>(next, aos, omega); });
    fluid("k148d", false, [&] { k148d<<<dim3(H / 16, W / 16), dim3(16, 16)>>>(next, soa, omega); });
    fluid("k148e", false, [&] { k148e<<<lines, LINE>>>(next, soa, omega); });
    fluid("k148f", false, [&] { k148f<<<lines, LINE>>>(next, soa, omega); });
    MUST(cudaFree(soa));
    MUST(cudaFree(aos));
    MUST(cudaFree(next));

    float *points = input<float>((size_t)POINTS * FEATURES, 1486, 0.0, 1.0);
    float *inverted = output<float>((size_t)POINTS * FEATURES);
    fill_transposed<<<1056, 256>>>(inverted, points, FEATURES, POINTS);
    MUST(cudaDeviceSynchronize());
    float *centre = input<float>(CLUSTERS * FEATURES, 1487, 0.2, 0.8);
    MUST(cudaMemcpyToSymbol(centre_const, centre, CLUSTERS * FEATURES * sizeof(float), 0, cudaMemcpyDeviceToDevice));
    int *member = output<int>(POINTS);
    std::vector<float> hp = on_host(points, (size_t)POINTS * FEATURES), hc = on_host(centre, CLUSTERS * FEATURES);
    std::vector<int> assigned;
    auto assignment = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(member, 0xA5, POINTS * sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (assigned.empty()) {
            // Every eighth point from the host; of two equally near centres either is right.
            assigned = on_host(member, POINTS);
            for (int p = 0; p < POINTS; p += 8) {
                float d[CLUSTERS];
                int best = 0, m = assigned[p];
                for (int c = 0; c < CLUSTERS; c++) {
                    d[c] = 0;
                    for (int j = 0; j < FEATURES; j++) {
                        float t = hp[(size_t)p * FEATURES + j] - hc[c * FEATURES + j];
                        d[c] += t * t;
                    }
                    best = d[c] < d[best] ? c : best;
                }
                if (m < 0 || m >= CLUSTERS || d[m] > d[best] * 1.00001f)
                    assigned[p] = best;
            }
        }
        check(name, member, assigned, 0);
    };
    assignment("k148g", [&] { k148g<<<POINTS / 256, 256>>>(member, points, centre, POINTS, FEATURES, CLUSTERS); });
    assignment("k148h", [&] { k148h<<<POINTS / 256, 256>>>(member, inverted, centre, POINTS, FEATURES, CLUSTERS); });
    assignment("k148i", [&] { k148i<<<POINTS / 256, 256>>>(member, inverted, POINTS); });
    return 0;
}
