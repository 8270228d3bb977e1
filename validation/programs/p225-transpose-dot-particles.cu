// Transposition of a square matrix, the scalar product of two vectors, and one step of moving particles.
#include "../harness.h"

#include <functional>

const int SIDE = 8192, TILE = 32, ROWS = 8;
const int THREADS = 256;

__global__ void k225a(float *odata, const float *idata, int width)
{
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        odata[x * width + y + j] = idata[(y + j) * width + x];
}

__global__ void k225b(float *odata, const float *idata, int width)
{
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k225c(float *odata, const float *idata, int width)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k225d(float *odata, const float *idata, int width)
{
    __shared__ float tile[TILE][TILE + 1];
    int by = blockIdx.x;
    int bx = (blockIdx.x + blockIdx.y) % gridDim.x;
    int x = bx * TILE + threadIdx.x;
    int y = by * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
    __syncthreads();
    x = by * TILE + threadIdx.x;
    y = bx * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        odata[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k225e(const float *a, const float *b, float *partial)
{
    __shared__ float cache[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    cache[tid] = a[i] * b[i];
    __syncthreads();
    for (unsigned s = 1; s < blockDim.x; s *= 2) {
        if (tid % (2 * s) == 0)
            cache[tid] += cache[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = cache[0];
}

__global__ void k225f(const float *a, const float *b, float *partial)
{
    __shared__ float cache[THREADS];
    unsigned tid = threadIdx.x;
    unsigned i = blockIdx.x * blockDim.x + tid;
    cache[tid] = a[i] * b[i];
    __syncthreads();
    for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            cache[tid] += cache[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = cache[0];
}

__global__ void k225g(const float *a, const float *b, float *partial, int n)
{
    __shared__ float cache[THREADS];
    int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x)
        sum += a[i] * b[i];
    cache[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (tid < s)
            cache[tid] += cache[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        partial[blockIdx.x] = cache[0];
}

struct Particle {
    float x, y, z;
    float vx, vy, vz;
    float mass, charge, radius, age, kind, id;
};
const int FIELDS = sizeof(Particle) / sizeof(float);

__global__ void k225h(Particle *p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i].x += p[i].vx * dt;
        p[i].y += p[i].vy * dt;
        p[i].z += p[i].vz * dt;
    }
}

struct Particles {
    float *x, *y, *z;
    float *vx, *vy, *vz;
};

__global__ void k225i(Particles p, float dt, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p.x[i] += p.vx[i] * dt;
        p.y[i] += p.vy[i] * dt;
        p.z[i] += p.vz[i] * dt;
    }
}

// dst[i * to + first_to] = src[i * from + first_from] for n values of i.
__global__ void pick(float *dst, size_t to, size_t first_to, const float *src, size_t from, size_t first_from, size_t n)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n)
        dst[i * to + first_to] = src[i * from + first_from];
}

void picked(float *dst, size_t to, size_t first_to, const float *src, size_t from, size_t first_from, size_t n)
{
    pick<<<unsigned((n + 255) / 256), 256>>>(dst, to, first_to, src, from, first_from, n);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
}

float random_value(unsigned long long i, unsigned seed)
{
    return float(scrambled(i, seed) / 4294967296.0);
}

int main()
{
    // Rows 0, 61, 122, ... of the result are compared.
    const size_t cells = (size_t)SIDE * SIDE;
    const int skip = 61, taken = (SIDE - 1) / skip + 1;
    float *idata = input<float>(cells, 2251, 0.0, 1.0), *odata = output<float>(cells);
    float *some = output<float>((size_t)taken * SIDE);
    std::vector<float> turned((size_t)taken * SIDE);
    for (int t = 0; t < taken; t++)
        for (int c = 0; c < SIDE; c++)
            turned[(size_t)t * SIDE + c] = random_value((size_t)c * SIDE + t * skip, 2251);
    auto matrix = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(odata, 0xA5, cells * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = SIDE * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, odata, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, some, turned, 1e-6);
    };
    dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, ROWS);
    matrix("k225a", [&] { k225a<<<grid, block>>>(odata, idata, SIDE); });
    matrix("k225b", [&] { k225b<<<grid, block>>>(odata, idata, SIDE); });
    matrix("k225c", [&] { k225c<<<grid, block>>>(odata, idata, SIDE); });
    matrix("k225d", [&] { k225d<<<grid, block>>>(odata, idata, SIDE); });
    MUST(cudaFree(idata));
    MUST(cudaFree(odata));
    MUST(cudaFree(some));

    // The first kernel's partial sums are compared on the host (every 64th), then all totals with its total.
    const int n = 1 << 25, blocks = n / THREADS, every = 64, few = 132 * 8;
    float *a = input<float>(n, 2252, 0.0, 1.0), *b = input<float>(n, 2253, 0.0, 1.0), *partial = output<float>(blocks);
    std::vector<float> sums(blocks / every);
    for (int s = 0; s < blocks / every; s++) {
        double sum = 0.0;
        for (int i = 0; i < THREADS; i++) {
            size_t at = (size_t)s * every * THREADS + i;
            sum += double(random_value(at, 2252)) * random_value(at, 2253);
        }
        sums[s] = float(sum);
    }
    auto total = [&](int count) {
        MUST(cudaDeviceSynchronize());
        std::vector<float> host = on_host(partial, count);
        double sum = 0.0;
        for (float v : host)
            sum += v;
        return sum;
    };
    float *chosen = output<float>(sums.size());
    std::vector<double> want;
    auto product = [&](const char *name, int count, std::function<void()> launch) {
        MUST(cudaMemset(partial, 0xA5, blocks * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        if (want.empty()) {
            picked(chosen, 1, 0, partial, every, 0, sums.size());
            check(name, chosen, sums, 1e-5);
            want = {total(count)};
        }
        else
            check(name, on_device(std::vector<double>{total(count)}), want, 1e-5);
    };
    product("k225e", blocks, [&] { k225e<<<blocks, THREADS>>>(a, b, partial); });
    product("k225f", blocks, [&] { k225f<<<blocks, THREADS>>>(a, b, partial); });
    product("k225g", few, [&] { k225g<<<few, THREADS>>>(a, b, partial, n); });
    MUST(cudaFree(a));
    MUST(cudaFree(b));

    // Positions of every 101st particle are compared.
    const int count = 1 << 23, step = 101, shown = (count - 1) / step + 1;
    const float dt = 0.25f;
    float *raw = input<float>((size_t)count * FIELDS, 2254, 0.0, 1.0);
    float *field[6];
    for (int f = 0; f < 6; f++) {
        field[f] = output<float>(count);
        picked(field[f], 1, 0, raw, FIELDS, f, count);
    }
    std::vector<float> moved((size_t)shown * 3);
    for (int s = 0; s < shown; s++)
        for (int d = 0; d < 3; d++) {
            size_t at = (size_t)s * step * FIELDS + d;
            moved[s * 3 + d] = random_value(at, 2254) + random_value(at + 3, 2254) * dt;
        }
    float *positions = output<float>(moved.size());
    Particles apart = {field[0], field[1], field[2], field[3], field[4], field[5]};
    auto step_once = [&](const char *name, float *const *where, int stride, std::function<void()> launch) {
        MUST(cudaMemset(positions, 0xA5, moved.size() * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        for (int d = 0; d < 3; d++)
            picked(positions, 3, d, where[d], (size_t)step * stride, 0, shown);
        check(name, positions, moved, 1e-5);
    };
    float *inside[3] = {raw, raw + 1, raw + 2};
    const int grid_p = (count + 255) / 256;
    step_once("k225h", inside, FIELDS, [&] { k225h<<<grid_p, 256>>>(reinterpret_cast<Particle *>(raw), dt, count); });
    step_once("k225i", field, 1, [&] { k225i<<<grid_p, 256>>>(apart, dt, count); });
    return 0;
}
