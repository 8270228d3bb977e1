// Cheapest path through a grid (dynamic programming): 16 rows in one launch, each cell adds its weight to the cheapest of
// the three cells above it. Blocks work on tiles with a halo as wide as the number of rows.
#include "../harness.h"
#include <algorithm>
#include <climits>

constexpr int COLS = 16 << 20, ROWS = 16, HALO = 16;

// One thread per column of the tile.
__device__ void rows_one_column(const int *wall, const int *src, int *dst, int rows, int *prev)
{
    int tid = threadIdx.x, last = blockDim.x - 1, useful = blockDim.x - 2 * HALO;
    int col = blockIdx.x * useful - HALO + tid;
    bool inside = col >= 0 && col < COLS;
    int mine = inside ? src[col] : INT_MAX / 2;
    prev[tid] = mine;
    __syncthreads();
    for (int r = 0; r < rows; r++) {
        int best = min(prev[max(tid - 1, 0)], min(prev[tid], prev[min(tid + 1, last)]));
        if (inside)
            mine = best + wall[(size_t)r * COLS + col];
        __syncthreads();
        prev[tid] = mine;
        __syncthreads();
    }
    if (inside && tid >= HALO && tid < HALO + useful)
        dst[col] = mine;
}

__global__ void k278a(const int *wall, const int *src, int *dst, int rows)
{
    __shared__ int prev[64];
    rows_one_column(wall, src, dst, rows, prev);
}

__global__ void k278b(const int *wall, const int *src, int *dst, int rows)
{
    __shared__ int prev[256];
    rows_one_column(wall, src, dst, rows, prev);
}

// The weights of eight rows are read before the eight steps.
template <class Weight> __device__ void rows_ahead(const Weight *wall, const int *src, int *dst, int rows, int *prev)
{
    constexpr int useful = 256 - 2 * HALO;
    int tid = threadIdx.x;
    int col = blockIdx.x * useful - HALO + tid;
    bool inside = col >= 0 && col < COLS;
    int mine = inside ? src[col] : INT_MAX / 2;
    prev[tid] = mine;
    __syncthreads();
    for (int r0 = 0; r0 < rows; r0 += 8) {
        Weight w[8];
#pragma unroll
        for (int k = 0; k < 8; k++)
            w[k] = inside ? wall[(size_t)(r0 + k) * COLS + col] : Weight(0);
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int best = min(prev[max(tid - 1, 0)], min(prev[tid], prev[min(tid + 1, 255)]));
            if (inside)
                mine = best + w[k];
            __syncthreads();
            prev[tid] = mine;
            __syncthreads();
        }
    }
    if (inside && tid >= HALO && tid < HALO + useful)
        dst[col] = mine;
}

__global__ void k278c(const int *wall, const int *src, int *dst, int rows)
{
    __shared__ int prev[256];
    rows_ahead(wall, src, dst, rows, prev);
}

__global__ void k278d(const unsigned short *wall, const int *src, int *dst, int rows)
{
    __shared__ int prev[256];
    rows_ahead(wall, src, dst, rows, prev);
}

template <bool LDG> __device__ ushort4 fetch(const unsigned short *wall, size_t i)
{
    return LDG ? __ldg((const ushort4 *)(wall + i)) : *(const ushort4 *)(wall + i);
}
__device__ int4 widened(ushort4 w) { return make_int4(w.x, w.y, w.z, w.w); }

// Four columns per thread in registers; only the outer ones go through shared memory.
template <int BUFFERS, bool LDG>
__device__ void rows_four_columns(const unsigned short *wall, const int *src, int *dst, int rows)
{
    __shared__ int left[BUFFERS][258], right[BUFFERS][258];
    constexpr int useful = 1024 - 2 * HALO;
    int tid = threadIdx.x, col = blockIdx.x * useful - HALO + 4 * tid;
    bool inside = col >= 0 && col < COLS;
    int4 m = make_int4(INT_MAX / 2, INT_MAX / 2, INT_MAX / 2, INT_MAX / 2);
    if (inside)
        m = *(const int4 *)(src + col);
    if (tid == 0)
        for (int b = 0; b < BUFFERS; b++)
            right[b][0] = left[b][257] = INT_MAX / 2;
    for (int r0 = 0; r0 < rows; r0 += 8) {
        ushort4 w[8] = {};
        if (inside) {
#pragma unroll
            for (int k = 0; k < 8; k++)
                w[k] = fetch<LDG>(wall, (size_t)(r0 + k) * COLS + col);
        }
#pragma unroll
        for (int k = 0; k < 8; k++) {
            int b = BUFFERS == 2 ? k & 1 : 0;
            left[b][tid + 1] = m.x;
            right[b][tid + 1] = m.w;
            __syncthreads();
            int l = right[b][tid], r = left[b][tid + 2];
            if (BUFFERS == 1)
                __syncthreads();
            if (inside) {
                int4 v = widened(w[k]);
                m = make_int4(v.x + min(l, min(m.x, m.y)), v.y + min(m.x, min(m.y, m.z)), v.z + min(m.y, min(m.z, m.w)),
                              v.w + min(m.z, min(m.w, r)));
            }
        }
    }
    if (inside && 4 * tid >= HALO && 4 * tid < HALO + useful)
        *(int4 *)(dst + col) = m;
}

__global__ void k278e(const unsigned short *wall, const int *src, int *dst, int rows)
{
    rows_four_columns<1, false>(wall, src, dst, rows);
}

__global__ void k278f(const unsigned short *wall, const int *src, int *dst, int rows)
{
    rows_four_columns<2, false>(wall, src, dst, rows);
}

__global__ void k278g(const unsigned short *wall, const int *src, int *dst, int rows)
{
    rows_four_columns<2, true>(wall, src, dst, rows);
}

int main()
{
    const size_t n = (size_t)COLS * ROWS;
    int *wall = input<int>(n, 1, 0, 10), *src = input<int>(COLS, 2, 0, 100), *dst = output<int>(COLS);
    unsigned short *narrow = input<unsigned short>(n, 1, 0, 10);
    auto grid = [](int useful) { return (COLS + useful - 1) / useful; };

    k278a<<<grid(64 - 2 * HALO), 64>>>(wall, src, dst, ROWS);
    MUST(cudaDeviceSynchronize());
    std::vector<int> first = on_host(dst, COLS), s = on_host(src, COLS);
    auto weight = [&](int r, int c) { return int(10 * (scrambled((size_t)r * COLS + c, 1) / 4294967296.0)); };
    for (int part = 0; part < 12; part++) {
        const int width = 4096;
        int c0 = part == 0 ? 0 : part == 1 ? COLS - width : scrambled(part, 5) % (COLS - width);
        std::vector<int> now(s.begin() + c0, s.begin() + c0 + width), next(width);
        for (int r = 0; r < ROWS; r++) {
            for (int c = 0; c < width; c++)
                next[c] = weight(r, c0 + c) + std::min(now[c], std::min(now[std::max(c - 1, 0)], now[std::min(c + 1, width - 1)]));
            now.swap(next);
        }
        for (int c = c0 ? ROWS : 0; c < (c0 + width < COLS ? width - ROWS : width); c++)
            if (now[c] != first[c0 + c])
                return std::printf("k278a: column %d is %d, not %d\n", c0 + c, first[c0 + c], now[c]), 2;
    }
    check("k278a", dst, first, 0);
    MUST(cudaMemset(dst, 0xA5, COLS * 4));
    k278b<<<grid(256 - 2 * HALO), 256>>>(wall, src, dst, ROWS);
    check("k278b", dst, first, 0);
    MUST(cudaMemset(dst, 0xA5, COLS * 4));
    k278c<<<grid(256 - 2 * HALO), 256>>>(wall, src, dst, ROWS);
    check("k278c", dst, first, 0);
    MUST(cudaMemset(dst, 0xA5, COLS * 4));
    k278d<<<grid(256 - 2 * HALO), 256>>>(narrow, src, dst, ROWS);
    check("k278d", dst, first, 0);
    MUST(cudaMemset(dst, 0xA5, COLS * 4));
    k278e<<<grid(1024 - 2 * HALO), 256>>>(narrow, src, dst, ROWS);
    check("k278e", dst, first, 0);
    MUST(cudaMemset(dst, 0xA5, COLS * 4));
    k278f<<<grid(1024 - 2 * HALO), 256>>>(narrow, src, dst, ROWS);
    check("k278f", dst, first, 0);
    MUST(cudaMemset(dst, 0xA5, COLS * 4));
    k278g<<<grid(1024 - 2 * HALO), 256>>>(narrow, src, dst, ROWS);
    check("k278g", dst, first, 0);
}
