// Van Genuchten's soil functions (water content, conductivity, capacity) for 16 Mi cells with their own parameters, and
// the field summary of a hydrodynamics mini-app: volume, mass, internal and kinetic energy, and pressure of a mesh.
#include "../harness.h"

#include <functional>

const int CELLS = 1 << 24;

__global__ void k198a(float *out, const float *psi, const float *alpha, const float *power, const float *ksat,
                      float wet, float dry, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) {
        double theta, k, c;
        if (psi[i] < 0) {
            double h = fabs(psi[i]), a = alpha[i], n = power[i];
            double m = 1.0 - 1.0 / n;
            theta = (wet - dry) / pow(1.0 + pow(a * h, n), m) + dry;
            double se = (theta - dry) / (wet - dry);
            double part = 1.0 - pow(1.0 - pow(se, 1.0 / m), m);
            k = ksat[i] * sqrt(se) * part * part;
            c = (wet - dry) * a * (n - 1.0) * pow(a * h, n - 1.0) * pow(1.0 + pow(a * h, n), -m - 1.0);
        } else {
            theta = wet;
            k = ksat[i];
            c = 0.0;
        }
        out[i] = theta;
        out[i + cells] = k;
        out[i + 2 * cells] = c;
    }
}

__global__ void k198b(float *out, const float *psi, const float *alpha, const float *power, const float *ksat,
                      float wet, float dry, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) {
        float theta, k, c;
        if (psi[i] < 0.0f) {
            float h = fabsf(psi[i]), a = alpha[i], n = power[i];
            float m = 1.0f - 1.0f / n;
            theta = (wet - dry) / powf(1.0f + powf(a * h, n), m) + dry;
            float se = (theta - dry) / (wet - dry);
            float part = 1.0f - powf(1.0f - powf(se, 1.0f / m), m);
            k = ksat[i] * sqrtf(se) * part * part;
            c = (wet - dry) * a * (n - 1.0f) * powf(a * h, n - 1.0f) * powf(1.0f + powf(a * h, n), -m - 1.0f);
        } else {
            theta = wet;
            k = ksat[i];
            c = 0.0f;
        }
        out[i] = theta;
        out[i + cells] = k;
        out[i + 2 * cells] = c;
    }
}

__global__ void k198c(float *__restrict__ out, const float *__restrict__ psi, const float *__restrict__ alpha,
                      const float *__restrict__ power, const float *__restrict__ ksat, float wet, float dry, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) {
        float p = psi[i], a = alpha[i], n = power[i], ks = ksat[i];
        float theta = wet, k = ks, c = 0.0f;
        if (p < 0.0f) {
            float h = -p, m = 1.0f - 1.0f / n;
            float t = powf(a * h, n), s = 1.0f + t, r = t / s;
            float root = powf(s, -0.5f * m), se = root * root;
            float part = 1.0f - powf(r, m);
            theta = dry + (wet - dry) * se;
            k = ks * root * part * part;
            c = (wet - dry) * (n - 1.0f) * r * se / h;
        }
        out[i] = theta;
        out[i + cells] = k;
        out[i + 2 * cells] = c;
    }
}

__global__ void k198d(float *__restrict__ out, const float *__restrict__ psi, const float *__restrict__ alpha,
                      const float *__restrict__ power, const float *__restrict__ ksat, float wet, float dry, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) {
        float p = psi[i], a = alpha[i], n = power[i], ks = ksat[i];
        float theta = wet, k = ks, c = 0.0f;
        if (p < 0.0f) {
            float h = -p, m = 1.0f - __fdividef(1.0f, n);
            float t = __powf(a * h, n), s = 1.0f + t, r = __fdividef(t, s);
            float root = __powf(s, -0.5f * m), se = root * root;
            float part = 1.0f - __powf(r, m);
            theta = dry + (wet - dry) * se;
            k = ks * root * part * part;
            c = (wet - dry) * (n - 1.0f) * __fdividef(r * se, h);
        }
        out[i] = theta;
        out[i + cells] = k;
        out[i + 2 * cells] = c;
    }
}

const int SIDE = 4096, NODES = SIDE + 1, THREADS = 1024, GRID = 264;

struct Mesh {
    const float *volume, *density, *energy, *pressure; // SIDE x SIDE cells
    const float *xvel, *yvel;                          // NODES x NODES corners
};

__device__ inline void measure(float *of, const Mesh &mesh, int row, int column)
{
    int cell = row * SIDE + column, node = row * NODES + column;
    float squared = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        int at = node + (k >> 1) * NODES + (k & 1);
        squared += 0.25f * (mesh.xvel[at] * mesh.xvel[at] + mesh.yvel[at] * mesh.yvel[at]);
    }
    float volume = mesh.volume[cell], mass = volume * mesh.density[cell];
    of[0] = volume;
    of[1] = mass;
    of[2] = mass * mesh.energy[cell];
    of[3] = mass * 0.5f * squared;
    of[4] = volume * mesh.pressure[cell];
}

__global__ void __launch_bounds__(THREADS, 2) k198e(float *out, Mesh mesh)
{
    __shared__ float sums[5][THREADS];
    int tid = threadIdx.x, row = blockIdx.y, column = blockIdx.x * blockDim.x + tid;
    float of[5];
    measure(of, mesh, row, column);
    for (int q = 0; q < 5; q++)
        sums[q][tid] = of[q];
    __syncthreads();
    for (int s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            for (int q = 0; q < 5; q++)
                sums[q][tid] += sums[q][tid + s];
        __syncthreads();
    }
    if (tid < 5)
        out[tid * (gridDim.x * gridDim.y) + row * gridDim.x + blockIdx.x] = sums[tid][0];
}

__global__ void __launch_bounds__(THREADS, 2) k198f(float *out, Mesh mesh)
{
    __shared__ float sums[5][THREADS];
    int tid = threadIdx.x, row = blockIdx.y, column = blockIdx.x * blockDim.x + tid;
    float of[5];
    measure(of, mesh, row, column);
    for (int q = 0; q < 5; q++)
        sums[q][tid] = of[q];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            for (int q = 0; q < 5; q++)
                sums[q][tid] += sums[q][tid + s];
        __syncthreads();
    }
    if (tid < 5)
        out[tid * (gridDim.x * gridDim.y) + row * gridDim.x + blockIdx.x] = sums[tid][0];
}

__global__ void __launch_bounds__(THREADS, 2) k198g(float *out, Mesh mesh)
{
    __shared__ float sums[5][THREADS];
    int tid = threadIdx.x;
    float total[5] = {};
    for (int row = blockIdx.x; row < SIDE; row += gridDim.x)
        for (int column = tid; column < SIDE; column += THREADS) {
            float of[5];
            measure(of, mesh, row, column);
#pragma unroll
            for (int q = 0; q < 5; q++)
                total[q] += of[q];
        }
    for (int q = 0; q < 5; q++)
        sums[q][tid] = total[q];
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            for (int q = 0; q < 5; q++)
                sums[q][tid] += sums[q][tid + s];
        __syncthreads();
    }
    if (tid < 5)
        out[tid * gridDim.x + blockIdx.x] = sums[tid][0];
}

__global__ void __launch_bounds__(THREADS, 2) k198h(float *out, Mesh mesh)
{
    __shared__ float sums[5][32];
    int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;
    float total[5] = {};
    for (int row = blockIdx.x; row < SIDE; row += gridDim.x)
        for (int column = tid; column < SIDE; column += THREADS) {
            float of[5];
            measure(of, mesh, row, column);
#pragma unroll
            for (int q = 0; q < 5; q++)
                total[q] += of[q];
        }
#pragma unroll
    for (int q = 0; q < 5; q++) {
        for (int s = 16; s > 0; s /= 2)
            total[q] += __shfl_down_sync(0xffffffffu, total[q], s);
        if (lane == 0)
            sums[q][warp] = total[q];
    }
    __syncthreads();
    if (warp < 5) {
        float sum = sums[warp][lane];
        for (int s = 16; s > 0; s /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, s);
        if (lane == 0)
            out[warp * gridDim.x + blockIdx.x] = sum;
    }
}

// Block q adds the q-th row of partial sums.
__global__ void add_partials(double *totals, const float *partial, int blocks)
{
    __shared__ double sums[256];
    double sum = 0;
    for (int i = threadIdx.x; i < blocks; i += 256)
        sum += partial[(size_t)blockIdx.x * blocks + i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 256; i++)
            sum += sums[i];
        totals[blockIdx.x] = sum;
    }
}

double drawn(size_t i, unsigned seed, double low, double high)
{
    return float(low + (high - low) * (scrambled(i, seed) / 4294967296.0));
}

int main()
{
    float *psi = input<float>(CELLS, 1981, -10.0, -0.1), *alpha = input<float>(CELLS, 1982, 0.5, 4.0);
    float *power = input<float>(CELLS, 1983, 1.4, 3.0), *ksat = input<float>(CELLS, 1984, 0.1, 1.0);
    float *soil = output<float>((size_t)3 * CELLS);
    const float wet = 0.43f, dry = 0.078f;

    // Every 251st number of the three results.
    const int every = 251, chosen = (3 * CELLS - 1) / every + 1;
    std::vector<float> want(chosen);
    for (int t = 0; t < chosen; t++) {
        size_t i = (size_t)t * every % CELLS, which = (size_t)t * every / CELLS;
        double h = -drawn(i, 1981, -10.0, -0.1), a = drawn(i, 1982, 0.5, 4.0), n = drawn(i, 1983, 1.4, 3.0);
        double m = 1 - 1 / n, x = std::pow(a * h, n), se = std::pow(1 + x, -m), range = double(wet) - double(dry);
        double part = 1 - std::pow(1 - 1 / (1 + x), m);
        want[t] = float(which == 0   ? dry + range * se
                        : which == 1 ? drawn(i, 1984, 0.1, 1.0) * std::sqrt(se) * part * part
                                     : range * (n - 1) * x / h * se / (1 + x));
    }
    float *picked = output<float>(chosen);
    auto wetting = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(soil, 0xA5, (size_t)3 * CELLS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(picked, sizeof(float), soil, every * sizeof(float), sizeof(float), chosen,
                          cudaMemcpyDeviceToDevice));
        check(name, picked, want, 1e-4);
    };
    const int blocks = CELLS / 256;
    wetting("k198a", [&] { k198a<<<blocks, 256>>>(soil, psi, alpha, power, ksat, wet, dry, CELLS); });
    wetting("k198b", [&] { k198b<<<blocks, 256>>>(soil, psi, alpha, power, ksat, wet, dry, CELLS); });
    wetting("k198c", [&] { k198c<<<blocks, 256>>>(soil, psi, alpha, power, ksat, wet, dry, CELLS); });
    wetting("k198d", [&] { k198d<<<blocks, 256>>>(soil, psi, alpha, power, ksat, wet, dry, CELLS); });

    const size_t cells = (size_t)SIDE * SIDE, nodes = (size_t)NODES * NODES;
    Mesh mesh = {input<float>(cells, 1985, 0.5, 1.5), input<float>(cells, 1986, 0.2, 1.2),
                 input<float>(cells, 1987, 1.0, 2.5), input<float>(cells, 1988, 0.1, 1.0),
                 input<float>(nodes, 1989, -1.0, 2.0), input<float>(nodes, 1990, -2.0, 1.0)};
    std::vector<double> totals(5);
    {
        std::vector<float> volume = on_host(mesh.volume, cells), density = on_host(mesh.density, cells);
        std::vector<float> energy = on_host(mesh.energy, cells), pressure = on_host(mesh.pressure, cells);
        std::vector<float> u = on_host(mesh.xvel, nodes), v = on_host(mesh.yvel, nodes);
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++) {
                size_t c = (size_t)row * SIDE + column, n = (size_t)row * NODES + column;
                double squared = 0;
                for (size_t at : {n, n + 1, n + NODES, n + NODES + 1})
                    squared += 0.25 * (u[at] * u[at] + v[at] * v[at]);
                double mass = double(volume[c]) * density[c];
                totals[0] += volume[c];
                totals[1] += mass;
                totals[2] += mass * energy[c];
                totals[3] += mass * 0.5 * squared;
                totals[4] += double(volume[c]) * pressure[c];
            }
    }
    const int most = SIDE / THREADS * SIDE;
    float *partial = output<float>(5 * most);
    double *sums = output<double>(5);
    auto summary = [&](const char *name, int parts, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, 5 * most * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        add_partials<<<5, 256>>>(sums, partial, parts);
        check(name, sums, totals, 3e-6);
    };
    dim3 grid(SIDE / THREADS, SIDE);
    summary("k198e", most, [&] { k198e<<<grid, THREADS>>>(partial, mesh); });
    summary("k198f", most, [&] { k198f<<<grid, THREADS>>>(partial, mesh); });
    summary("k198g", GRID, [&] { k198g<<<GRID, THREADS>>>(partial, mesh); });
    summary("k198h", GRID, [&] { k198h<<<GRID, THREADS>>>(partial, mesh); });
    return 0;
}
