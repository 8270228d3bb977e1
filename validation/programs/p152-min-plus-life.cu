// Best two-hop route between all pairs of 2048 places (min-plus product of the distance table with itself), and a
// generation of Conway's game of life on a torus of 16384 x 16384 cells.
#include "../harness.h"

#include <functional>

const int PLACES = 2048;

__global__ void k152a(float *r, const float *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n)
        return;
    float v = HUGE_VALF;
    for (int k = 0; k < n; k++) {
        float x = d[n * i + k];
        float y = d[n * k + j];
        v = fminf(v, x + y);
    }
    r[n * i + j] = v;
}

__global__ void k152b(float *r, const float *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n)
        return;
    float v = HUGE_VALF;
    for (int k = 0; k < n; k++) {
        float x = d[n * j + k];
        float y = d[n * k + i];
        v = fminf(v, x + y);
    }
    r[n * j + i] = v;
}

__global__ void k152c(float *r, const float *d, int n)
{
    __shared__ float xs[32][32], ys[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * 32 + tx, j = blockIdx.y * 32 + ty;
    float v = HUGE_VALF;
    for (int k0 = 0; k0 < n; k0 += 32) {
        xs[ty][tx] = d[n * j + k0 + tx];
        ys[ty][tx] = d[n * (k0 + ty) + i];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++)
            v = fminf(v, xs[ty][k] + ys[k][tx]);
        __syncthreads();
    }
    r[n * j + i] = v;
}

// 128 x 128 results per block, 8 x 8 per thread.
__global__ void __launch_bounds__(256, 2) k152d(float *__restrict__ r, const float *__restrict__ d, int n)
{
    __shared__ __align__(16) float xs[16][132];
    __shared__ __align__(16) float ys[16][128];
    int tid = threadIdx.x, tx = tid % 16, ty = tid / 16;
    int top = blockIdx.y * 128, left = blockIdx.x * 128;
    float v[8][8];
#pragma unroll
    for (int a = 0; a < 8; a++)
#pragma unroll
        for (int b = 0; b < 8; b++)
            v[a][b] = HUGE_VALF;

    for (int k0 = 0; k0 < n; k0 += 16) {
#pragma unroll
        for (int p = 0; p < 2; p++) {
            int id = tid + p * 256;
            int row = id / 4, q = id % 4 * 4;
            float4 x = *reinterpret_cast<const float4 *>(&d[n * (top + row) + k0 + q]);
            xs[q][row] = x.x;
            xs[q + 1][row] = x.y;
            xs[q + 2][row] = x.z;
            xs[q + 3][row] = x.w;
            int line = id / 32, column = id % 32 * 4;
            *reinterpret_cast<float4 *>(&ys[line][column]) =
                *reinterpret_cast<const float4 *>(&d[n * (k0 + line) + left + column]);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float x[8], y[8];
            *reinterpret_cast<float4 *>(&x[0]) = *reinterpret_cast<const float4 *>(&xs[k][ty * 4]);
            *reinterpret_cast<float4 *>(&x[4]) = *reinterpret_cast<const float4 *>(&xs[k][64 + ty * 4]);
            *reinterpret_cast<float4 *>(&y[0]) = *reinterpret_cast<const float4 *>(&ys[k][tx * 4]);
            *reinterpret_cast<float4 *>(&y[4]) = *reinterpret_cast<const float4 *>(&ys[k][64 + tx * 4]);
#pragma unroll
            for (int a = 0; a < 8; a++)
#pragma unroll
                for (int b = 0; b < 8; b++)
                    v[a][b] = fminf(v[a][b], x[a] + y[b]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int a = 0; a < 8; a++) {
        float *line = &r[n * (top + a / 4 * 64 + ty * 4 + a % 4) + left + tx * 4];
        *reinterpret_cast<float4 *>(line) = make_float4(v[a][0], v[a][1], v[a][2], v[a][3]);
        *reinterpret_cast<float4 *>(line + 64) = make_float4(v[a][4], v[a][5], v[a][6], v[a][7]);
    }
}

const int WORLD = 16384;
typedef unsigned char Cell;

__global__ void k152e(int *next, const int *world, int width, int height)
{
    int cells = width * height;
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    int x1 = cell % width;
    int y1 = cell - x1;
    int y0 = (y1 + cells - width) % cells;
    int y2 = (y1 + width) % cells;
    int x0 = (x1 + width - 1) % width;
    int x2 = (x1 + 1) % width;
    int alive = world[x0 + y0] + world[x1 + y0] + world[x2 + y0] + world[x0 + y1] + world[x2 + y1] + world[x0 + y2] +
                world[x1 + y2] + world[x2 + y2];
    next[x1 + y1] = alive == 3 || (alive == 2 && world[x1 + y1]) ? 1 : 0;
}

__global__ void k152f(int *next, const int *world, int width, int height)
{
    int x1 = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (x1 >= width || row >= height)
        return;
    int x0 = x1 == 0 ? width - 1 : x1 - 1;
    int x2 = x1 == width - 1 ? 0 : x1 + 1;
    int y1 = row * width;
    int y0 = (row == 0 ? height - 1 : row - 1) * width;
    int y2 = (row == height - 1 ? 0 : row + 1) * width;
    int alive = world[x0 + y0] + world[x1 + y0] + world[x2 + y0] + world[x0 + y1] + world[x2 + y1] + world[x0 + y2] +
                world[x1 + y2] + world[x2 + y2];
    next[x1 + y1] = alive == 3 || (alive == 2 && world[x1 + y1]) ? 1 : 0;
}

__global__ void k152g(Cell *next, const Cell *world, int width, int height)
{
    int x1 = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (x1 >= width || row >= height)
        return;
    int x0 = x1 == 0 ? width - 1 : x1 - 1;
    int x2 = x1 == width - 1 ? 0 : x1 + 1;
    int y1 = row * width;
    int y0 = (row == 0 ? height - 1 : row - 1) * width;
    int y2 = (row == height - 1 ? 0 : row + 1) * width;
    int alive = world[x0 + y0] + world[x1 + y0] + world[x2 + y0] + world[x0 + y1] + world[x2 + y1] + world[x0 + y2] +
                world[x1 + y2] + world[x2 + y2];
    next[x1 + y1] = alive == 3 || (alive == 2 && world[x1 + y1]) ? 1 : 0;
}

__device__ inline uint4 add3(uint4 a, uint4 b, uint4 c)
{
    return make_uint4(a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w);
}

// Four cells of a word: v sums of columns, left and right those next to it, middle the cells.
__device__ inline unsigned rule(unsigned left, unsigned v, unsigned right, unsigned middle)
{
    unsigned count = v + (v << 8 | left >> 24) + (v >> 8 | right << 24) - middle;
    unsigned other = (count | middle) ^ 0x03030303u;
    return (0x10101010u - other) >> 4 & 0x01010101u;
}

__global__ void k152h(Cell *__restrict__ next, const Cell *__restrict__ world, int width, int height)
{
    int x = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    const Cell *up = world + (row == 0 ? height - 1 : row - 1) * width;
    const Cell *at = world + row * width;
    const Cell *down = world + (row == height - 1 ? 0 : row + 1) * width;
    uint4 middle = *reinterpret_cast<const uint4 *>(at + x);
    uint4 v = add3(*reinterpret_cast<const uint4 *>(up + x), middle, *reinterpret_cast<const uint4 *>(down + x));
    unsigned left = __shfl_up_sync(~0u, v.w, 1), right = __shfl_down_sync(~0u, v.x, 1);
    if (threadIdx.x % 32 == 0) {
        int x0 = x == 0 ? width - 1 : x - 1;
        left = unsigned(up[x0] + at[x0] + down[x0]) << 24;
    }
    if (threadIdx.x % 32 == 31) {
        int x2 = x + 16 == width ? 0 : x + 16;
        right = up[x2] + at[x2] + down[x2];
    }
    *reinterpret_cast<uint4 *>(next + row * width + x) =
        make_uint4(rule(left, v.x, v.y, middle.x), rule(v.x, v.y, v.z, middle.y), rule(v.y, v.z, v.w, middle.z),
                   rule(v.z, v.w, right, middle.w));
}

// Blocks of 64 x 4 threads; a tile of 6 rows of 66 words of 16 cells.
__global__ void k152i(Cell *__restrict__ next, const Cell *__restrict__ world, int width, int height)
{
    __shared__ uint4 tile[6][66];
    int words = width / 16;
    int first = blockIdx.x * 64 - 1, top = blockIdx.y * 4 - 1;
    const uint4 *src = reinterpret_cast<const uint4 *>(world);
    for (int id = threadIdx.y * 64 + threadIdx.x; id < 6 * 66; id += 256) {
        int r = id / 66, c = id % 66;
        int gy = top + r, gx = first + c;
        gy = gy < 0 ? height - 1 : gy == height ? 0 : gy;
        gx = gx < 0 ? words - 1 : gx == words ? 0 : gx;
        tile[r][c] = src[gy * words + gx];
    }
    __syncthreads();
    int c = threadIdx.x + 1, r = threadIdx.y + 1;
    uint4 middle = tile[r][c];
    uint4 v = add3(tile[r - 1][c], middle, tile[r + 1][c]);
    unsigned left = tile[r - 1][c - 1].w + tile[r][c - 1].w + tile[r + 1][c - 1].w;
    unsigned right = tile[r - 1][c + 1].x + tile[r][c + 1].x + tile[r + 1][c + 1].x;
    reinterpret_cast<uint4 *>(next)[(top + r) * words + first + c] =
        make_uint4(rule(left, v.x, v.y, middle.x), rule(v.x, v.y, v.z, middle.y), rule(v.y, v.z, v.w, middle.z),
                   rule(v.z, v.w, right, middle.w));
}

__global__ void fill_cells(Cell *cells, const int *from, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        cells[i] = Cell(from[i]);
}

// Copies rows 0, every, 2 every, ... and checks them.
template <class T> void rows(const char *name, const T *data, T *some, const std::vector<T> &want, int width, int every)
{
    const size_t bytes = width * sizeof(T);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    MUST(cudaMemcpy2D(some, bytes, data, every * bytes, bytes, want.size() / width, cudaMemcpyDeviceToDevice));
    check(name, some, want, 1e-6);
}

int main()
{
    const int n = PLACES;
    const size_t pairs = (size_t)n * n;
    float *d = input<float>(pairs, 1521, 1.0, 2.0), *r = output<float>(pairs);
    const std::vector<float> hd = on_host(d, pairs);
    const int every = 89, taken = (n - 1) / every + 1; // the first and the last row are among them
    std::vector<float> want((size_t)taken * n, HUGE_VALF), all;
    for (int t = 0; t < taken; t++)
        for (int k = 0; k < n; k++) {
            float x = hd[(size_t)t * every * n + k];
            const float *y = &hd[(size_t)k * n];
            float *w = &want[(size_t)t * n];
            for (int j = 0; j < n; j++)
                w[j] = x + y[j] < w[j] ? x + y[j] : w[j];
        }
    float *some = output<float>(want.size());
    auto route = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(r, 0xA5, pairs * sizeof(float)));
        launch();
        if (all.empty()) {
            rows(name, r, some, want, n, every);
            all = on_host(r, pairs);
        } else
            check(name, r, all, 1e-6);
    };
    dim3 square(16, 16), grid(n / 16, n / 16);
    route("k152a", [&] { k152a<<<grid, square>>>(r, d, n); });
    route("k152b", [&] { k152b<<<grid, square>>>(r, d, n); });
    route("k152c", [&] { k152c<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(r, d, n); });
    route("k152d", [&] { k152d<<<dim3(n / 128, n / 128), 256>>>(r, d, n); });

    const int w = WORLD, h = WORLD;
    const size_t cells = (size_t)w * h;
    int *world = input<int>(cells, 1522, 0.0, 2.0), *next = output<int>(cells);
    Cell *small = output<Cell>(cells), *small_next = output<Cell>(cells);
    fill_cells<<<2112, 256>>>(small, world, cells);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    const int step = 43, lines = (h - 1) / step + 1; // again with the first and the last row
    std::vector<int> wide((size_t)lines * w), column(w);
    std::vector<Cell> narrow((size_t)lines * w), middle(w);
    for (int t = 0; t < lines; t++) {
        for (int x = 0; x < w; x++)
            column[x] = 0;
        for (int dy = -1; dy <= 1; dy++) {
            size_t y = (t * step + dy + h) % h;
            for (int x = 0; x < w; x++) {
                int live = scrambled(y * w + x, 1522) >> 31;
                column[x] += live;
                if (dy == 0)
                    middle[x] = Cell(live);
            }
        }
        for (int x = 0; x < w; x++) {
            int around = column[(x + w - 1) % w] + column[x] + column[(x + 1) % w] - middle[x];
            narrow[(size_t)t * w + x] = around == 3 || (around == 2 && middle[x]);
            wide[(size_t)t * w + x] = narrow[(size_t)t * w + x];
        }
    }
    int *wide_some = output<int>(wide.size());
    Cell *narrow_some = output<Cell>(narrow.size());
    auto ints = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(next, 0xA5, cells * sizeof(int)));
        launch();
        rows(name, next, wide_some, wide, w, step);
    };
    auto bytes = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(small_next, 0xA5, cells));
        launch();
        rows(name, small_next, narrow_some, narrow, w, step);
    };
    dim3 flat(32, 8), tiles(w / 32, h / 8);
    ints("k152e", [&] { k152e<<<cells / 256, 256>>>(next, world, w, h); });
    ints("k152f", [&] { k152f<<<tiles, flat>>>(next, world, w, h); });
    bytes("k152g", [&] { k152g<<<tiles, flat>>>(small_next, small, w, h); });
    bytes("k152h", [&] { k152h<<<dim3(w / 1024, h / 4), dim3(64, 4)>>>(small_next, small, w, h); });
    bytes("k152i", [&] { k152i<<<dim3(w / 1024, h / 4), dim3(64, 4)>>>(small_next, small, w, h); });
    return 0;
}
