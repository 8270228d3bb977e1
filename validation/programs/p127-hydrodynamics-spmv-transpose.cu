// The time step of a hydrodynamics code, a sparse matrix (27-point operator in a box) times a vector, and the
// transposition of a matrix of doubles.
#include "../harness.h"

#include <functional>

// ---- time step: the least time in which a wave crosses a cell

struct Cell {
    float density, energy, pressure, sound, u, v, viscosity, mass;
};

const int CELLS = 8192 * 4096;

__global__ void fill_cells(Cell *cell, const float *sound, const float *u, const float *v, int cells)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) {
        float other = i * 1e-8f;
        cell[i] = Cell{1.0f + other, 2.5f, 1.0f - other, sound[i], u[i], v[i], 0.0f, 1.0f};
    }
}

__host__ __device__ inline float crossing(float sound, float u, float v, float dx, float dy)
{
    return fminf(dx / (fabsf(u) + sound), dy / (fabsf(v) + sound));
}

__device__ inline float least_of_warp(float value)
{
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        value = fminf(value, __shfl_down_sync(0xffffffffu, value, offset));
    return value;
}

// Positive floats are ordered as their bits.
__device__ inline void block_least(int *dt, float least)
{
    __shared__ float partial[8];
    least = least_of_warp(least);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = least;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            least = fminf(least, partial[w]);
        atomicMin(dt, __float_as_int(least));
    }
}

__global__ void k127a(int *dt, const Cell *cell, int cells, float dx, float dy)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < cells) {
        float time = crossing(cell[i].sound, cell[i].u, cell[i].v, dx, dy);
        atomicMin(dt, __float_as_int(time));
    }
}

__global__ void k127b(int *dt, const Cell *cell, int cells, float dx, float dy)
{
    float least = 1e30f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < cells; i += gridDim.x * blockDim.x)
        least = fminf(least, crossing(cell[i].sound, cell[i].u, cell[i].v, dx, dy));
    block_least(dt, least);
}

__global__ void k127c(int *dt, const float4 *__restrict__ sound, const float4 *__restrict__ u,
                      const float4 *__restrict__ v, int quads, float dx, float dy)
{
    float least = 1e30f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        float4 s = sound[i], p = u[i], q = v[i];
        float one = fminf(crossing(s.x, p.x, q.x, dx, dy), crossing(s.y, p.y, q.y, dx, dy));
        float two = fminf(crossing(s.z, p.z, q.z, dx, dy), crossing(s.w, p.w, q.w, dx, dy));
        least = fminf(least, fminf(one, two));
    }
    block_least(dt, least);
}

// ---- sparse matrix times vector: a row for each point of the box, 27 entries but for the faces

const int BOX = 128, POINTS = BOX * BOX * BOX, WIDTH = 27;

__host__ __device__ inline double entry(int row, int k)
{
    return k == 13 ? 26.0 : -1.0 + scrambled((unsigned long long)row * WIDTH + k, 1271) / 8589934592.0;
}

// Column of entry k of a row, or -1 where the point lies outside.
__host__ __device__ inline int neighbour(int row, int k)
{
    int x = row % BOX + k % 3 - 1, y = row / BOX % BOX + k / 3 % 3 - 1, z = row / (BOX * BOX) + k / 9 - 1;
    bool inside = x >= 0 && x < BOX && y >= 0 && y < BOX && z >= 0 && z < BOX;
    return inside ? (z * BOX + y) * BOX + x : -1;
}

__global__ void fill_by_row(double *value, int *column, const int *start, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    int at = start[row];
    for (int k = 0; k < WIDTH; k++) {
        int c = neighbour(row, k);
        if (c >= 0) {
            column[at] = c;
            value[at++] = entry(row, k);
        }
    }
}

__global__ void fill_by_entry(double *value, int *column, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    for (int k = 0; k < WIDTH; k++) {
        int c = neighbour(row, k);
        column[k * rows + row] = c >= 0 ? c : row;
        value[k * rows + row] = c >= 0 ? entry(row, k) : 0.0;
    }
}

__global__ void k127d(double *y, const double *value, const int *column, const int *start, const double *x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double sum = 0.0;
        for (int j = start[row]; j < start[row + 1]; j++)
            sum += value[j] * x[column[j]];
        y[row] = sum;
    }
}

__global__ void k127e(double *__restrict__ y, const double *__restrict__ value, const int *__restrict__ column,
                      const double *__restrict__ x, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        double sum = 0.0;
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            sum += value[k * rows + row] * x[column[k * rows + row]];
        y[row] = sum;
    }
}

// ---- transposition; a block of 32 x 8 threads for 32 x 32 numbers

const int SIDE = 8192, TILE = 32, STEP = 8;

__global__ void k127f(double *out, const double *in, int n)
{
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        out[x * n + y + j] = in[(y + j) * n + x];
}

__global__ void k127g(double *__restrict__ out, const double *__restrict__ in, int n)
{
    __shared__ double tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k127h(double *__restrict__ out, const double *__restrict__ in, int n)
{
    __shared__ double tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void k127i(double *__restrict__ out, const double *__restrict__ in, int n)
{
    __shared__ double tile[TILE][TILE + 1];
    int by = blockIdx.x, bx = (blockIdx.x + blockIdx.y) % gridDim.x;
    int x = bx * TILE + threadIdx.x, y = by * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = by * TILE + threadIdx.x;
    y = bx * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += STEP)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main()
{
    // time step
    const float dx = 0.01f, dy = 0.008f;
    float *sound = input<float>(CELLS, 1272, 0.5, 1.5), *u = input<float>(CELLS, 1273, -2.0, 2.0);
    float *v = input<float>(CELLS, 1274, -1.5, 1.5);
    Cell *cell = output<Cell>(CELLS);
    fill_cells<<<CELLS / 256, 256>>>(cell, sound, u, v, CELLS);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    float shortest = 1e30f;
    {
        std::vector<float> hs = on_host(sound, CELLS), hu = on_host(u, CELLS), hv = on_host(v, CELLS);
        for (int i = 0; i < CELLS; i++) {
            float time = crossing(hs[i], hu[i], hv[i], dx, dy);
            shortest = time < shortest ? time : shortest;
        }
    }
    int *dt = output<int>(1);
    // In units of this time, so that the tolerance is a relative one.
    const std::vector<float> unit(1, 1.0f);
    auto step = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(dt, 0x7f, sizeof(int)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        float time = on_host(reinterpret_cast<float *>(dt), 1)[0];
        float *ratio = on_device(std::vector<float>(1, time / shortest));
        check(name, ratio, unit, 1e-6);
        MUST(cudaFree(ratio));
    };
    const float4 *s4 = reinterpret_cast<float4 *>(sound), *u4 = reinterpret_cast<float4 *>(u);
    const float4 *v4 = reinterpret_cast<float4 *>(v);
    step("k127a", [&] { k127a<<<CELLS / 256, 256>>>(dt, cell, CELLS, dx, dy); });
    step("k127b", [&] { k127b<<<132 * 8, 256>>>(dt, cell, CELLS, dx, dy); });
    step("k127c", [&] { k127c<<<132 * 6, 256>>>(dt, s4, u4, v4, CELLS / 4, dx, dy); });
    MUST(cudaFree(cell));

    // sparse matrix
    std::vector<int> start(POINTS + 1);
    int entries = 0;
    for (int row = 0; row < POINTS; row++) {
        start[row] = entries;
        int x = row % BOX, y = row / BOX % BOX, z = row / (BOX * BOX);
        auto reach = [](int i) { return i == 0 || i == BOX - 1 ? 2 : 3; };
        entries += reach(x) * reach(y) * reach(z);
    }
    start[POINTS] = entries;
    int *starts = on_device(start);
    double *by_row = output<double>(entries), *by_entry = output<double>((size_t)POINTS * WIDTH);
    int *row_columns = output<int>(entries), *entry_columns = output<int>((size_t)POINTS * WIDTH);
    fill_by_row<<<POINTS / 256, 256>>>(by_row, row_columns, starts, POINTS);
    fill_by_entry<<<POINTS / 256, 256>>>(by_entry, entry_columns, POINTS);
    MUST(cudaGetLastError());
    double *x = input<double>(POINTS, 1275, -1.0, 1.0), *y = output<double>(POINTS);
    std::vector<double> hx = on_host(x, POINTS);
    const int every = 53, taken = (POINTS - 1) / every + 1;
    std::vector<double> want(taken);
    for (int t = 0; t < taken; t++)
        for (int k = 0; k < WIDTH; k++) {
            int row = t * every, c = neighbour(row, k);
            if (c >= 0)
                want[t] += entry(row, k) * hx[c];
        }
    double *some = output<double>(taken);
    auto multiply = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(y, 0xA5, POINTS * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy2D(some, sizeof(double), y, every * sizeof(double), sizeof(double), taken,
                          cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-12);
    };
    multiply("k127d", [&] { k127d<<<POINTS / 256, 256>>>(y, by_row, row_columns, starts, x, POINTS); });
    multiply("k127e", [&] { k127e<<<POINTS / 256, 256>>>(y, by_entry, entry_columns, x, POINTS); });
    MUST(cudaFree(by_row));
    MUST(cudaFree(by_entry));

    // transposition; an input from 0 to 1 is scrambled(index) / 2^32
    const size_t numbers = (size_t)SIDE * SIDE;
    double *in = input<double>(numbers, 1276, 0.0, 1.0), *out = output<double>(numbers);
    std::vector<int> rows;
    for (int r = 0; r < SIDE - 1; r += 37)
        rows.push_back(r);
    rows.push_back(SIDE - 1);
    std::vector<double> lines(rows.size() * SIDE);
    for (size_t k = 0; k < rows.size(); k++)
        for (int c = 0; c < SIDE; c++)
            lines[k * SIDE + c] = scrambled((unsigned long long)c * SIDE + rows[k], 1276) / 4294967296.0;
    double *part = output<double>(lines.size());
    auto turn = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(out, 0xA5, numbers * sizeof(double)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        for (size_t k = 0; k < rows.size(); k++)
            MUST(cudaMemcpy(part + k * SIDE, out + (size_t)rows[k] * SIDE, SIDE * sizeof(double),
                            cudaMemcpyDeviceToDevice));
        check(name, part, lines, 1e-14);
    };
    const dim3 grid(SIDE / TILE, SIDE / TILE), block(TILE, STEP);
    turn("k127f", [&] { k127f<<<grid, block>>>(out, in, SIDE); });
    turn("k127g", [&] { k127g<<<grid, block>>>(out, in, SIDE); });
    turn("k127h", [&] { k127h<<<grid, block>>>(out, in, SIDE); });
    turn("k127i", [&] { k127i<<<grid, block>>>(out, in, SIDE); });
    return 0;
}
