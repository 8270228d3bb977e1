// Push of charged particles in the fields of a two-dimensional grid (bilinear gather, Boris rotation), and one Jacobi step
// for Laplace's equation on a rectangle with the square norm of the change.
#include "../harness.h"

const int GRID = 2048;
const int PARTICLES = 1 << 24;

struct Step {
    float half, dt;
};

__device__ __forceinline__ int next(int i)
{
    return i + 1 < GRID ? i + 1 : 0;
}

// half: charge over mass times half of the time step.
__device__ __forceinline__ void boris(float &x, float &y, float &vx, float &vy, float ex, float ey, float bz, Step step)
{
    float ux = vx + step.half * ex;
    float uy = vy + step.half * ey;
    float t = step.half * bz;
    float s = 2.0f * t / (1.0f + t * t);
    float px = ux + uy * t;
    float py = uy - ux * t;
    vx = ux + py * s + step.half * ex;
    vy = uy - px * s + step.half * ey;
    x += vx * step.dt;
    y += vy * step.dt;
    if (x < 0.0f)
        x += GRID;
    if (x >= GRID)
        x -= GRID;
    if (y < 0.0f)
        y += GRID;
    if (y >= GRID)
        y -= GRID;
}

__device__ __forceinline__ void push(float *x, float *y, float *vx, float *vy, const float *ex, const float *ey,
                                     const float *bz, Step step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float px = x[i], py = y[i], pvx = vx[i], pvy = vy[i];
    int ix = (int)px, iy = (int)py;
    float fx = px - ix, fy = py - iy;
    int row0 = iy * GRID, row1 = next(iy) * GRID, ix1 = next(ix);
    float w00 = (1.0f - fx) * (1.0f - fy), w10 = fx * (1.0f - fy), w01 = (1.0f - fx) * fy, w11 = fx * fy;
    float e1 = w00 * ex[row0 + ix] + w10 * ex[row0 + ix1] + w01 * ex[row1 + ix] + w11 * ex[row1 + ix1];
    float e2 = w00 * ey[row0 + ix] + w10 * ey[row0 + ix1] + w01 * ey[row1 + ix] + w11 * ey[row1 + ix1];
    float b3 = w00 * bz[row0 + ix] + w10 * bz[row0 + ix1] + w01 * bz[row1 + ix] + w11 * bz[row1 + ix1];
    boris(px, py, pvx, pvy, e1, e2, b3, step);
    x[i] = px;
    y[i] = py;
    vx[i] = pvx;
    vy[i] = pvy;
}

__global__ void k75a(float *x, float *y, float *vx, float *vy, const float *ex, const float *ey, const float *bz,
                     Step step, int n)
{
    push(x, y, vx, vy, ex, ey, bz, step, n);
}

__global__ void k75b(float *x, float *y, float *vx, float *vy, const float *ex, const float *ey, const float *bz,
                     Step step, int n)
{
    push(x, y, vx, vy, ex, ey, bz, step, n);
}

__global__ void k75c(float *x, float *y, float *vx, float *vy, const float *__restrict__ ex,
                     const float *__restrict__ ey, const float *__restrict__ bz, Step step, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    float px = x[i], py = y[i], pvx = vx[i], pvy = vy[i];
    int ix = (int)px, iy = (int)py;
    float fx = px - ix, fy = py - iy;
    int row0 = iy * GRID, row1 = next(iy) * GRID, ix1 = next(ix);
    float w00 = (1.0f - fx) * (1.0f - fy), w10 = fx * (1.0f - fy), w01 = (1.0f - fx) * fy, w11 = fx * fy;
    float e1 = w00 * __ldg(&ex[row0 + ix]) + w10 * __ldg(&ex[row0 + ix1]) + w01 * __ldg(&ex[row1 + ix]) +
               w11 * __ldg(&ex[row1 + ix1]);
    float e2 = w00 * __ldg(&ey[row0 + ix]) + w10 * __ldg(&ey[row0 + ix1]) + w01 * __ldg(&ey[row1 + ix]) +
               w11 * __ldg(&ey[row1 + ix1]);
    float b3 = w00 * __ldg(&bz[row0 + ix]) + w10 * __ldg(&bz[row0 + ix1]) + w01 * __ldg(&bz[row1 + ix]) +
               w11 * __ldg(&bz[row1 + ix1]);
    boris(px, py, pvx, pvy, e1, e2, b3, step);
    x[i] = px;
    y[i] = py;
    vx[i] = pvx;
    vy[i] = pvy;
}

// Interior points of a; norm grows by the sum of the squares of the changes.
__global__ void k75d(double *__restrict__ a_new, const double *__restrict__ a, double *__restrict__ norm, int ny, int nx)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int iy = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (iy < ny - 1 && ix < nx - 1) {
        double v = 0.25 * (a[iy * nx + ix + 1] + a[iy * nx + ix - 1] + a[(iy + 1) * nx + ix] + a[(iy - 1) * nx + ix]);
        a_new[iy * nx + ix] = v;
        double change = v - a[iy * nx + ix];
        atomicAdd(norm, change * change);
    }
}

__global__ void k75e(double *__restrict__ a_new, const double *__restrict__ a, double *__restrict__ norm, int ny, int nx)
{
    __shared__ double partial[1024];
    int ix = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int iy = blockIdx.y * blockDim.y + threadIdx.y + 1;
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    double square = 0.0;
    if (iy < ny - 1 && ix < nx - 1) {
        double v = 0.25 * (a[iy * nx + ix + 1] + a[iy * nx + ix - 1] + a[(iy + 1) * nx + ix] + a[(iy - 1) * nx + ix]);
        a_new[iy * nx + ix] = v;
        double change = v - a[iy * nx + ix];
        square = change * change;
    }
    partial[t] = square;
    __syncthreads();
    for (int s = blockDim.x * blockDim.y / 2; s > 0; s >>= 1) {
        if (t < s)
            partial[t] += partial[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(norm, partial[0]);
}

__device__ __forceinline__ void jacobi(double *__restrict__ a_new, const double *__restrict__ a,
                                       double *__restrict__ norm, int ny, int nx)
{
    __shared__ double partial[32];
    int ix = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int iy = blockIdx.y * blockDim.y + threadIdx.y + 1;
    double square = 0.0;
    if (iy < ny - 1 && ix < nx - 1) {
        double v = 0.25 * (a[iy * nx + ix + 1] + a[iy * nx + ix - 1] + a[(iy + 1) * nx + ix] + a[(iy - 1) * nx + ix]);
        a_new[iy * nx + ix] = v;
        double change = v - a[iy * nx + ix];
        square = change * change;
    }
    for (int offset = 16; offset > 0; offset >>= 1)
        square += __shfl_down_sync(0xffffffffu, square, offset);
    if (threadIdx.x == 0)
        partial[threadIdx.y] = square;
    __syncthreads();
    if (threadIdx.y == 0) {
        square = threadIdx.x < blockDim.y ? partial[threadIdx.x] : 0.0;
        for (int offset = 16; offset > 0; offset >>= 1)
            square += __shfl_down_sync(0xffffffffu, square, offset);
        if (threadIdx.x == 0)
            atomicAdd(norm, square);
    }
}

// Blocks of 32 columns.
__global__ void k75f(double *__restrict__ a_new, const double *__restrict__ a, double *__restrict__ norm, int ny, int nx)
{
    jacobi(a_new, a, norm, ny, nx);
}

__global__ void k75g(double *__restrict__ a_new, const double *__restrict__ a, double *__restrict__ norm, int ny, int nx)
{
    jacobi(a_new, a, norm, ny, nx);
}

// A shuffle of the numbers below 2^24.
__host__ __device__ inline unsigned shuffled(unsigned i)
{
    const unsigned mask = PARTICLES - 1;
    i = (i * 0x9E3779B1u + 0x7F4A7C15u) & mask;
    i ^= i >> 12;
    i = (i * 0x85EBCA6Bu) & mask;
    i ^= i >> 13;
    i = (i * 0xC2B2AE35u) & mask;
    i ^= i >> 12;
    return i;
}

// Four particles in each cell; particle p of the list in the order of the cells.
__host__ __device__ inline void first_state(unsigned p, float state[4])
{
    unsigned cell = p / 4;
    state[0] = float(cell % GRID) + (scrambled(4ull * p, 751) >> 20) * (1.0f / 4096.0f);
    state[1] = float(cell / GRID) + (scrambled(4ull * p + 1, 751) >> 20) * (1.0f / 4096.0f);
    state[2] = (scrambled(4ull * p + 2, 751) >> 8) * (2.0f / 16777216.0f) - 1.0f;
    state[3] = (scrambled(4ull * p + 3, 751) >> 8) * (2.0f / 16777216.0f) - 1.0f;
}

__global__ void prepare(float *x, float *y, float *vx, float *vy, bool mixed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float state[4];
    first_state(mixed ? shuffled(i) : i, state);
    x[i] = state[0];
    y[i] = state[1];
    vx[i] = state[2];
    vy[i] = state[3];
}

// Place in the array of the s-th sample, which differs between the two orders.
__host__ __device__ inline unsigned sampled(unsigned s)
{
    return (s * 8191u) & (PARTICLES - 1);
}

__global__ void pick(const float *x, const float *y, const float *vx, const float *vy, float *picked, int samples)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < samples) {
        unsigned i = sampled(s);
        picked[s * 4 + 0] = x[i];
        picked[s * 4 + 1] = y[i];
        picked[s * 4 + 2] = vx[i];
        picked[s * 4 + 3] = vy[i];
    }
}

__global__ void pick_every(const double *a, double *picked, size_t step, int samples)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s < samples)
        picked[s] = a[s * step];
}

int main()
{
    // Particles.
    const int n = PARTICLES, cells = GRID * GRID, samples = 100000;
    const Step step = {0.05f, 0.1f};
    float *ex = input<float>(cells, 752, -1.0, 1.0), *ey = input<float>(cells, 753, -1.0, 1.0);
    float *bz = input<float>(cells, 754, 0.5, 2.0);
    std::vector<float> hex = on_host(ex, cells), hey = on_host(ey, cells), hbz = on_host(bz, cells);
    // The state after the step of each sample, for either order.
    auto pushed = [&](bool mixed) {
        std::vector<float> want(samples * 4);
        for (int s = 0; s < samples; s++) {
            float state[4];
            first_state(mixed ? shuffled(sampled(s)) : sampled(s), state);
            int ix = int(state[0]), iy = int(state[1]), ix1 = (ix + 1) % GRID, iy1 = (iy + 1) % GRID;
            double fx = double(state[0]) - ix, fy = double(state[1]) - iy;
            auto at = [&](const std::vector<float> &field) {
                return (1 - fy) * ((1 - fx) * field[iy * GRID + ix] + fx * field[iy * GRID + ix1]) +
                       fy * ((1 - fx) * field[iy1 * GRID + ix] + fx * field[iy1 * GRID + ix1]);
            };
            double e1 = at(hex), e2 = at(hey), t = step.half * at(hbz), r = 2 * t / (1 + t * t);
            double ux = state[2] + step.half * e1, uy = state[3] + step.half * e2;
            double px = ux + uy * t, py = uy - ux * t;
            double vx = ux + py * r + step.half * e1, vy = uy - px * r + step.half * e2;
            double x = state[0] + vx * step.dt, y = state[1] + vy * step.dt;
            x += x < 0 ? GRID : x >= GRID ? -GRID : 0;
            y += y < 0 ? GRID : y >= GRID ? -GRID : 0;
            want[s * 4 + 0] = float(x);
            want[s * 4 + 1] = float(y);
            want[s * 4 + 2] = float(vx);
            want[s * 4 + 3] = float(vy);
        }
        return want;
    };
    std::vector<float> want_mixed = pushed(true), want = pushed(false);
    float *x = output<float>(n), *y = output<float>(n), *vx = output<float>(n), *vy = output<float>(n);
    float *picked = output<float>(samples * 4);
    const int blocks = n / 256;

    prepare<<<blocks, 256>>>(x, y, vx, vy, true);
    k75a<<<blocks, 256>>>(x, y, vx, vy, ex, ey, bz, step, n);
    pick<<<(samples + 255) / 256, 256>>>(x, y, vx, vy, picked, samples);
    check("k75a", picked, want_mixed, 2e-4);

    prepare<<<blocks, 256>>>(x, y, vx, vy, false);
    MUST(cudaMemset(picked, 0xA5, samples * 4 * sizeof(float)));
    k75b<<<blocks, 256>>>(x, y, vx, vy, ex, ey, bz, step, n);
    pick<<<(samples + 255) / 256, 256>>>(x, y, vx, vy, picked, samples);
    check("k75b", picked, want, 2e-4);

    prepare<<<blocks, 256>>>(x, y, vx, vy, false);
    MUST(cudaMemset(picked, 0xA5, samples * 4 * sizeof(float)));
    k75c<<<blocks, 256>>>(x, y, vx, vy, ex, ey, bz, step, n);
    pick<<<(samples + 255) / 256, 256>>>(x, y, vx, vy, picked, samples);
    check("k75c", picked, want, 2e-4);

    // The Jacobi step.
    const int nx = 3072, ny = 2048, every = 61, points = (nx * ny + every - 1) / every;
    double *a = input<double>((size_t)nx * ny, 755, 0.0, 1.0);
    double *a_new = output<double>((size_t)nx * ny), *norm = zeroed<double>(1);
    double *some = output<double>(points);
    std::vector<double> values(points), sum(1, 0.0);
    {
        // The boundary keeps its values, which are copied into the new array in advance.
        std::vector<double> old = on_host(a, (size_t)nx * ny), result = old;
        for (int iy = 1; iy < ny - 1; iy++)
            for (int ix = 1; ix < nx - 1; ix++) {
                size_t i = (size_t)iy * nx + ix;
                result[i] = 0.25 * (old[i + 1] + old[i - 1] + old[i + nx] + old[i - nx]);
                sum[0] += (result[i] - old[i]) * (result[i] - old[i]);
            }
        for (int s = 0; s < points; s++)
            values[s] = result[(size_t)s * every];
    }
    const size_t line = nx * sizeof(double), pitch = line;
    auto reset = [&] {
        MUST(cudaMemset(a_new, 0xA5, ny * line));
        MUST(cudaMemcpy(a_new, a, line, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy(a_new + (size_t)(ny - 1) * nx, a + (size_t)(ny - 1) * nx, line, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy2D(a_new, pitch, a, pitch, sizeof(double), ny, cudaMemcpyDeviceToDevice));
        MUST(cudaMemcpy2D(a_new + nx - 1, pitch, a + nx - 1, pitch, sizeof(double), ny, cudaMemcpyDeviceToDevice));
        MUST(cudaMemset(norm, 0, sizeof(double)));
        MUST(cudaMemset(some, 0xA5, points * sizeof(double)));
    };
    auto verify = [&](const char *name) {
        MUST(cudaGetLastError());
        pick_every<<<(points + 255) / 256, 256>>>(a_new, some, every, points);
        check(name, some, values, 1e-13);
        check(name, norm, sum, 1e-9);
    };
    dim3 large(32, 32), small(32, 8);
    dim3 large_grid(nx / 32, ny / 32), small_grid(nx / 32, ny / 8);

    reset();
    k75d<<<large_grid, large>>>(a_new, a, norm, ny, nx);
    verify("k75d");
    reset();
    k75e<<<large_grid, large>>>(a_new, a, norm, ny, nx);
    verify("k75e");
    reset();
    k75f<<<large_grid, large>>>(a_new, a, norm, ny, nx);
    verify("k75f");
    reset();
    k75g<<<small_grid, small>>>(a_new, a, norm, ny, nx);
    verify("k75g");
    return 0;
}
