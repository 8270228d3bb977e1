// The last phase of a round of the blocked Floyd-Warshall algorithm (all tiles but those of the pivot's row and column),
// and a generation of Conway's game of life.
#include "../harness.h"

#include <functional>

// ---- shortest paths: n is a multiple of TILE ----

const int TILE = 64, SIDE = TILE / 2;

__global__ void __launch_bounds__(1024) k64a(int *dist, int round, int n)
{
    if (blockIdx.x == round || blockIdx.y == round)
        return;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE * n + round * TILE;
    int col = round * TILE * n + blockIdx.x * TILE;
    int self = blockIdx.y * TILE * n + blockIdx.x * TILE;

    for (int k = 0; k < TILE; k++) {
        dist[self + ty * n + tx] = min(dist[self + ty * n + tx], dist[row + ty * n + k] + dist[col + k * n + tx]);
        dist[self + ty * n + tx + SIDE] =
            min(dist[self + ty * n + tx + SIDE], dist[row + ty * n + k] + dist[col + k * n + tx + SIDE]);
        dist[self + (ty + SIDE) * n + tx] =
            min(dist[self + (ty + SIDE) * n + tx], dist[row + (ty + SIDE) * n + k] + dist[col + k * n + tx]);
        dist[self + (ty + SIDE) * n + tx + SIDE] = min(dist[self + (ty + SIDE) * n + tx + SIDE],
                                                       dist[row + (ty + SIDE) * n + k] + dist[col + k * n + tx + SIDE]);
    }
}

__global__ void __launch_bounds__(1024) k64b(int *dist, int round, int n)
{
    if (blockIdx.x == round || blockIdx.y == round)
        return;
    __shared__ int s_row[TILE][TILE + 1], s_col[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE * n + round * TILE;
    int col = round * TILE * n + blockIdx.x * TILE;
    int self = blockIdx.y * TILE * n + blockIdx.x * TILE;

    int own[2][2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
#pragma unroll
        for (int j = 0; j < 2; j++) {
            int y = ty + i * SIDE, x = tx + j * SIDE;
            s_row[y][x] = dist[row + y * n + x];
            s_col[y][x] = dist[col + y * n + x];
            own[i][j] = dist[self + y * n + x];
        }
    }
    __syncthreads();
#pragma unroll 32
    for (int k = 0; k < TILE; k++) {
        int r0 = s_row[ty][k], r1 = s_row[ty + SIDE][k];
        int c0 = s_col[k][tx], c1 = s_col[k][tx + SIDE];
        own[0][0] = min(own[0][0], r0 + c0);
        own[0][1] = min(own[0][1], r0 + c1);
        own[1][0] = min(own[1][0], r1 + c0);
        own[1][1] = min(own[1][1], r1 + c1);
    }
#pragma unroll
    for (int i = 0; i < 2; i++)
#pragma unroll
        for (int j = 0; j < 2; j++)
            dist[self + (ty + i * SIDE) * n + tx + j * SIDE] = own[i][j];
}

const int EDGE = 16, EACH = TILE / EDGE;

__global__ void __launch_bounds__(256) k64c(int *dist, int round, int n)
{
    if (blockIdx.x == round || blockIdx.y == round)
        return;
    __shared__ int s_row[TILE][TILE + 1], s_col[TILE][TILE + 1];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE * n + round * TILE;
    int col = round * TILE * n + blockIdx.x * TILE;
    int self = blockIdx.y * TILE * n + blockIdx.x * TILE;

    for (int i = ty * EDGE + tx; i < TILE * TILE; i += EDGE * EDGE) {
        int y = i / TILE, x = i % TILE;
        s_row[y][x] = dist[row + y * n + x];
        s_col[y][x] = dist[col + y * n + x];
    }
    int own[EACH][EACH];
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
            own[i][j] = dist[self + (ty + i * EDGE) * n + tx + j * EDGE];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < TILE; k++) {
        int r[EACH], c[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++)
            r[i] = s_row[ty + i * EDGE][k];
#pragma unroll
        for (int j = 0; j < EACH; j++)
            c[j] = s_col[k][tx + j * EDGE];
#pragma unroll
        for (int i = 0; i < EACH; i++)
#pragma unroll
            for (int j = 0; j < EACH; j++)
                own[i][j] = min(own[i][j], r[i] + c[j]);
    }
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < EACH; j++)
            dist[self + (ty + i * EDGE) * n + tx + j * EDGE] = own[i][j];
}

// ---- game of life: the cells of the border stay dead ----

typedef signed char cell;
typedef unsigned long long word;

__global__ void k64d(const cell *__restrict__ in, cell *__restrict__ out, long long n)
{
    long long x = blockIdx.x * blockDim.x + threadIdx.x;
    long long y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n - 2 || y >= n - 2)
        return;
    cell nw = in[y * n + x], no = in[y * n + x + 1], ne = in[y * n + x + 2];
    cell we = in[(y + 1) * n + x], me = in[(y + 1) * n + x + 1], ea = in[(y + 1) * n + x + 2];
    cell sw = in[(y + 2) * n + x], so = in[(y + 2) * n + x + 1], se = in[(y + 2) * n + x + 2];
    cell sum = nw + no + ne + we + ea + sw + so + se;
    out[(y + 1) * n + x + 1] = me > 0 ? (sum == 2 || sum == 3 ? 1 : 0) : (sum == 3 ? 1 : 0);
}

// n is a multiple of 4.
__global__ void k64e(const cell *__restrict__ in, cell *__restrict__ out, long long n)
{
    long long x = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    long long y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n - 2)
        return;
    bool more = x + 4 < n;
    unsigned a0 = *(const unsigned *)&in[y * n + x], a1 = more ? *(const unsigned *)&in[y * n + x + 4] : 0;
    unsigned b0 = *(const unsigned *)&in[(y + 1) * n + x], b1 = more ? *(const unsigned *)&in[(y + 1) * n + x + 4] : 0;
    unsigned c0 = *(const unsigned *)&in[(y + 2) * n + x], c1 = more ? *(const unsigned *)&in[(y + 2) * n + x + 4] : 0;

    unsigned s0 = a0 + b0 + c0, s1 = a1 + b1 + c1;
    unsigned s = s0 + (s0 >> 8) + (s0 >> 16) + (s1 << 16) + (s1 << 24);
    unsigned sum0 = s & 0xff, sum1 = s >> 8 & 0xff, sum2 = s >> 16 & 0xff, sum3 = s >> 24;
    unsigned me0 = b0 >> 8 & 1, me1 = b0 >> 16 & 1, me2 = b0 >> 24 & 1, me3 = b1 & 1;

    cell *to = &out[(y + 1) * n + x + 1];
    to[0] = (me0 & (sum0 == 4)) | (sum0 == 3);
    to[1] = (me1 & (sum1 == 4)) | (sum1 == 3);
    if (more) {
        to[2] = (me2 & (sum2 == 4)) | (sum2 == 3);
        to[3] = (me3 & (sum3 == 4)) | (sum3 == 3);
    }
}

__device__ __forceinline__ void half_add(word a, word b, word &s, word &c)
{
    s = a ^ b;
    c = a & b;
}

__device__ __forceinline__ void full_add(word a, word b, word d, word &s, word &c)
{
    s = a ^ b ^ d;
    c = (a & b) | (a & d) | (b & d);
}

__device__ __forceinline__ word evolve(const word *__restrict__ in, int xw, int y, long long n, long long words)
{
    const word *r0 = in + (long long)y * words;
    const word *r1 = r0 + words;
    const word *r2 = r1 + words;
    word l0 = xw > 0 ? r0[xw - 1] : 0, m0 = r0[xw], h0 = xw + 1 < words ? r0[xw + 1] : 0;
    word l1 = xw > 0 ? r1[xw - 1] : 0, m1 = r1[xw], h1 = xw + 1 < words ? r1[xw + 1] : 0;
    word l2 = xw > 0 ? r2[xw - 1] : 0, m2 = r2[xw], h2 = xw + 1 < words ? r2[xw + 1] : 0;

    word nw = m0 << 1 | l0 >> 63, ne = m0 >> 1 | h0 << 63;
    word we = m1 << 1 | l1 >> 63, ea = m1 >> 1 | h1 << 63;
    word sw = m2 << 1 | l2 >> 63, se = m2 >> 1 | h2 << 63;

    word s_a, c_a, s_b, c_b, s_c, c_c, bit0, c_1, t0, t1, bit1, t2, bit2, bit3;
    full_add(nw, m0, ne, s_a, c_a);
    full_add(we, ea, m2, s_b, c_b);
    half_add(sw, se, s_c, c_c);
    full_add(s_a, s_b, s_c, bit0, c_1);
    full_add(c_a, c_b, c_c, t0, t1);
    half_add(t0, c_1, bit1, t2);
    half_add(t1, t2, bit2, bit3);
    word two_or_three = ~bit2 & ~bit3 & bit1;
    word next = two_or_three & (bit0 | m1);

    long long base = (long long)xw * 64;
    long long start = max(0ll, 1 - base), end = min(64ll, n - 1 - base);
    word valid = 0;
    if (end > start) {
        int width = int(end - start);
        valid = width == 64 ? ~0ull : (~0ull >> (64 - width)) << start;
    }
    return next & valid;
}

__global__ void k64f(const word *__restrict__ in, word *__restrict__ out, long long n, long long words)
{
    int xw = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (xw >= words || y >= n - 2)
        return;
    out[(y + 1) * words + xw] = evolve(in, xw, y, n, words);
}

const int GROUP = 4;

__global__ void k64g(const word *__restrict__ in, word *__restrict__ out, long long n, long long words)
{
    int xw = blockIdx.x * blockDim.x + threadIdx.x;
    if (xw >= words)
        return;
    for (int j = 0; j < GROUP; j++) {
        int y = (blockIdx.y * blockDim.y + threadIdx.y) * GROUP + j;
        if (y >= n - 2)
            break;
        out[(y + 1) * words + xw] = evolve(in, xw, y, n, words);
    }
}

__global__ void pack(const cell *board, word *packed, size_t words)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < words; i += (size_t)gridDim.x * blockDim.x) {
        word w = 0;
        for (int b = 0; b < 64; b++)
            w |= (word)(board[i * 64 + b] & 1) << b;
        packed[i] = w;
    }
}

// The chosen rows of a packed board, a cell to a number.
__global__ void unpack(const word *packed, const int *rows, cell *few, int count, int n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < (size_t)count * n;
         i += (size_t)gridDim.x * blockDim.x) {
        size_t at = (size_t)rows[i / n] * n + i % n;
        few[i] = packed[at / 64] >> at % 64 & 1;
    }
}

int main()
{
    {
        const int n = 4096, round = 21, tiles = n / TILE;
        const size_t all = (size_t)n * n;
        int *graph = input<int>(all, 641, 1, 10000), *dist = output<int>(all);
        std::vector<int> chosen;
        for (int i = 3; i < n; i += 241)
            chosen.push_back(i);
        chosen.push_back(round * TILE + 5);
        chosen.push_back(n - 1);
        std::vector<int> panel = on_host(graph + (size_t)round * TILE * n, (size_t)TILE * n), want;
        for (int i : chosen) {
            std::vector<int> v = on_host(graph + (size_t)i * n, n);
            for (int j = 0; j < n; j++) {
                int best = v[j];
                if (i / TILE != round && j / TILE != round)
                    for (int k = 0; k < TILE; k++)
                        best = std::min(best, v[round * TILE + k] + panel[(size_t)k * n + j]);
                want.push_back(best);
            }
        }
        int *few = output<int>(want.size());
        auto launch_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemcpy(dist, graph, all * sizeof(int), cudaMemcpyDeviceToDevice));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            for (size_t c = 0; c < chosen.size(); c++)
                MUST(cudaMemcpy(few + c * n, dist + (size_t)chosen[c] * n, n * sizeof(int), cudaMemcpyDeviceToDevice));
            check(name, few, want, 0.0);
        };
        dim3 grid(tiles, tiles), wide(SIDE, SIDE), small(EDGE, EDGE);
        launch_and_check("k64a", [&] { k64a<<<grid, wide>>>(dist, round, n); });
        launch_and_check("k64b", [&] { k64b<<<grid, wide>>>(dist, round, n); });
        launch_and_check("k64c", [&] { k64c<<<grid, small>>>(dist, round, n); });
    }
    {
        const int n = 32768, words = n / 64;
        const size_t all = (size_t)n * n;
        cell *board = input<cell>(all, 642, 0, 2), *next = output<cell>(all);
        word *packed = output<word>(all / 64), *packed_next = output<word>(all / 64);
        pack<<<1056, 256>>>(board, packed, all / 64);
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());

        std::vector<int> chosen;
        for (int y = 1; y < n - 1; y += 1021)
            chosen.push_back(y);
        chosen.push_back(n - 2);
        const int count = int(chosen.size());
        int *d_chosen = on_device(chosen);
        std::vector<cell> want((size_t)count * n, 0);
        for (int c = 0; c < count; c++) {
            std::vector<cell> v = on_host(board + (size_t)(chosen[c] - 1) * n, (size_t)3 * n);
            for (int x = 1; x < n - 1; x++) {
                int sum = 0;
                for (int r = 0; r < 3; r++)
                    for (int q = -1; q <= 1; q++)
                        sum += v[(size_t)r * n + x + q];
                want[(size_t)c * n + x] = sum == 3 || (sum == 4 && v[n + x]);
            }
        }
        cell *few = output<cell>((size_t)count * n);
        auto step_and_check = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(next, 0xA5, all));
            MUST(cudaMemset(next, 0, n));
            MUST(cudaMemset2D(next, n, 0, 1, n));
            MUST(cudaMemset2D(next + n - 1, n, 0, 1, n));
            launch();
            MUST(cudaGetLastError());
            MUST(cudaDeviceSynchronize());
            for (int c = 0; c < count; c++)
                MUST(cudaMemcpy(few + (size_t)c * n, next + (size_t)chosen[c] * n, n, cudaMemcpyDeviceToDevice));
            check(name, few, want, 0.0);
        };
        auto step_and_check_packed = [&](const char *name, std::function<void()> launch) {
            MUST(cudaMemset(packed_next, 0xA5, all / 8));
            MUST(cudaMemset(few, 0xA5, (size_t)count * n));
            launch();
            MUST(cudaGetLastError());
            unpack<<<1056, 256>>>(packed_next, d_chosen, few, count, n);
            check(name, few, want, 0.0);
        };
        dim3 block(32, 8);
        step_and_check("k64d", [&] { k64d<<<dim3((n - 2 + 31) / 32, (n - 2 + 7) / 8), block>>>(board, next, n); });
        step_and_check("k64e", [&] { k64e<<<dim3((n / 4 + 31) / 32, (n - 2 + 7) / 8), block>>>(board, next, n); });
        step_and_check_packed("k64f", [&] {
            k64f<<<dim3((words + 31) / 32, (n - 2 + 7) / 8), block>>>(packed, packed_next, n, words);
        });
        step_and_check_packed("k64g", [&] {
            k64g<<<dim3((words + 31) / 32, (n - 2 + 8 * GROUP - 1) / (8 * GROUP)), block>>>(packed, packed_next, n,
                                                                                           words);
        });
    }
    return 0;
}
