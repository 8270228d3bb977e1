// Needleman-Wunsch alignment: one wavefront of 32 x 32 tiles of many alignments (scores from the tile's northern and western
// edges), and the matrix of substitution scores of two sequences.
#include "../harness.h"
#include <algorithm>

constexpr int T = 32, TILES = 65536, PENALTY = 10, LETTERS = 24, LENGTH = 8192, WARPS = 4;

// A warp works on a tile, a lane on a column of it. STRIDE is the width of a row of scores in shared memory.
template <int STRIDE>
__device__ void tile_in_shared(const int *__restrict__ reference, const int *__restrict__ north,
                               const int *__restrict__ west, int *__restrict__ out)
{
    __shared__ int scores[WARPS][(T + 1) * STRIDE];
    __shared__ int4 similar[WARPS][T * T / 4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t tile = blockIdx.x * WARPS + warp;
    int *score = scores[warp], *ref = (int *)similar[warp];
#pragma unroll
    for (int k = 0; k < 8; k++)
        similar[warp][k * 32 + lane] = ((const int4 *)reference)[tile * (T * T / 4) + k * 32 + lane];
    score[lane + 1] = north[tile * (T + 1) + lane + 1];
    score[(lane + 1) * STRIDE] = west[tile * T + lane];
    if (lane == 0)
        score[0] = north[tile * (T + 1)];
    __syncthreads();
    for (int m = 0; m < 2 * T - 1; m++) {
        int r = m - lane;
        if (r >= 0 && r < T) {
            int *s = score + (r + 1) * STRIDE + lane + 1;
            *s = max(s[-STRIDE - 1] + ref[r * T + lane], max(s[-1], s[-STRIDE]) - PENALTY);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < T; r++)
        out[tile * T * T + r * T + lane] = score[(r + 1) * STRIDE + lane + 1];
}

__global__ void k280a(const int *__restrict__ reference, const int *__restrict__ north, const int *__restrict__ west,
                      int *__restrict__ out)
{
    tile_in_shared<T + 1>(reference, north, west, out);
}

__global__ void k280b(const int *__restrict__ reference, const int *__restrict__ north, const int *__restrict__ west,
                      int *__restrict__ out)
{
    tile_in_shared<T + 2>(reference, north, west, out);
}

// Lanes keep their column's last score and take their neighbour's; results replace the similarities.
template <int STRIDE>
__device__ void tile_in_registers(const int *__restrict__ reference, const int *__restrict__ north,
                                  const int *__restrict__ west, int *__restrict__ out)
{
    __shared__ int4 cells[WARPS][T * STRIDE / 4];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    size_t tile = blockIdx.x * WARPS + warp;
    int *cell = (int *)cells[warp];
#pragma unroll
    for (int k = 0; k < 8; k++)
        cells[warp][(k * 4 + lane / 8) * (STRIDE / 4) + lane % 8] =
            ((const int4 *)reference)[tile * (T * T / 4) + k * 32 + lane];
    int mine = north[tile * (T + 1) + lane + 1], edge = west[tile * T + lane], corner = north[tile * (T + 1)];
    __syncwarp();
    for (int m = 0; m < T; m++) {
        int r = m - lane, left = __shfl_up_sync(0xffffffffu, mine, 1), start = __shfl_sync(0xffffffffu, edge, m);
        if (lane == 0)
            left = start;
        if (r >= 0) {
            mine = max(corner + cell[r * STRIDE + lane], max(left, mine) - PENALTY);
            cell[r * STRIDE + lane] = mine;
        }
        corner = left;
    }
    for (int m = T; m < 2 * T - 1; m++) {
        int r = m - lane, left = __shfl_up_sync(0xffffffffu, mine, 1);
        if (r < T) {
            mine = max(corner + cell[r * STRIDE + lane], max(left, mine) - PENALTY);
            cell[r * STRIDE + lane] = mine;
        }
        corner = left;
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < T; r++)
        out[tile * T * T + r * T + lane] = cell[r * STRIDE + lane];
}

__global__ void k280c(const int *__restrict__ reference, const int *__restrict__ north, const int *__restrict__ west,
                      int *__restrict__ out)
{
    tile_in_registers<T>(reference, north, west, out);
}

__global__ void k280d(const int *__restrict__ reference, const int *__restrict__ north, const int *__restrict__ west,
                      int *__restrict__ out)
{
    tile_in_registers<T + 4>(reference, north, west, out);
}

// Substitution scores: a block fills 64 rows of 256 columns.
__constant__ int substitution[LETTERS * LETTERS];

__global__ void k280e(const unsigned char *__restrict__ down, const unsigned char *__restrict__ across, int *__restrict__ out)
{
    int col = blockIdx.x * 256 + threadIdx.x, row0 = blockIdx.y * 64;
    int letter = across[col];
#pragma unroll 4
    for (int r = row0; r < row0 + 64; r++)
        out[(size_t)r * LENGTH + col] = substitution[down[r] * LETTERS + letter];
}

__global__ void k280f(const unsigned char *__restrict__ down, const unsigned char *__restrict__ across, int *__restrict__ out)
{
    __shared__ int table[LETTERS * LETTERS];
    int col = blockIdx.x * 256 + threadIdx.x, row0 = blockIdx.y * 64;
    int letter = across[col];
    for (int i = threadIdx.x; i < LETTERS * LETTERS; i += 256)
        table[i] = substitution[i];
    __syncthreads();
#pragma unroll 4
    for (int r = row0; r < row0 + 64; r++)
        out[(size_t)r * LENGTH + col] = table[down[r] * LETTERS + letter];
}

__global__ void k280g(const unsigned char *__restrict__ down, const uchar4 *__restrict__ across, int4 *__restrict__ out)
{
    __shared__ int table[LETTERS * LETTERS];
    int col4 = blockIdx.x * 64 + threadIdx.x % 64, row0 = blockIdx.y * 64 + threadIdx.x / 64 * 16;
    uchar4 letter = across[col4];
    for (int i = threadIdx.x; i < LETTERS * LETTERS; i += 256)
        table[i] = substitution[i];
    __syncthreads();
#pragma unroll 4
    for (int r = row0; r < row0 + 16; r++) {
        const int *row = table + down[r] * LETTERS;
        out[(size_t)r * (LENGTH / 4) + col4] = make_int4(row[letter.x], row[letter.y], row[letter.z], row[letter.w]);
    }
}

int main()
{
    const size_t n = (size_t)TILES * T * T;
    int *reference = input<int>(n, 1, -4, 12), *north = input<int>((size_t)TILES * (T + 1), 2, -200, 0);
    int *west = input<int>((size_t)TILES * T, 3, -200, 0), *out = output<int>(n);

    k280a<<<TILES / WARPS, 32 * WARPS>>>(reference, north, west, out);
    MUST(cudaDeviceSynchronize());
    std::vector<int> first = on_host(out, n), ref = on_host(reference, n);
    std::vector<int> no = on_host(north, (size_t)TILES * (T + 1)), we = on_host(west, (size_t)TILES * T);
    for (size_t tile = 0; tile < TILES; tile += 61) {
        int s[T + 1][T + 1];
        for (int c = 0; c <= T; c++)
            s[0][c] = no[tile * (T + 1) + c];
        for (int r = 0; r < T; r++) {
            s[r + 1][0] = we[tile * T + r];
            for (int c = 0; c < T; c++) {
                size_t i = tile * T * T + r * T + c;
                s[r + 1][c + 1] = std::max(s[r][c] + ref[i], std::max(s[r + 1][c], s[r][c + 1]) - PENALTY);
                if (first[i] != s[r + 1][c + 1])
                    return std::printf("k280a: tile %zu, row %d, column %d\n", tile, r, c), 2;
            }
        }
    }
    check("k280a", out, first, 0);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k280b<<<TILES / WARPS, 32 * WARPS>>>(reference, north, west, out);
    check("k280b", out, first, 0);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k280c<<<TILES / WARPS, 32 * WARPS>>>(reference, north, west, out);
    check("k280c", out, first, 0);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k280d<<<TILES / WARPS, 32 * WARPS>>>(reference, north, west, out);
    check("k280d", out, first, 0);

    std::vector<int> table(LETTERS * LETTERS);
    for (int a = 0; a < LETTERS; a++)
        for (int b = 0; b < LETTERS; b++)
            table[a * LETTERS + b] = a == b ? 4 + a % 8 : (a + b) % 5 - 4;
    MUST(cudaMemcpyToSymbol(substitution, table.data(), table.size() * 4));
    unsigned char *down = input<unsigned char>(LENGTH, 4, 0, LETTERS), *across = input<unsigned char>(LENGTH, 5, 0, LETTERS);
    std::vector<unsigned char> d = on_host(down, LENGTH), a = on_host(across, LENGTH);
    std::vector<int> want((size_t)LENGTH * LENGTH);
    for (int r = 0; r < LENGTH; r++)
        for (int c = 0; c < LENGTH; c++)
            want[(size_t)r * LENGTH + c] = table[d[r] * LETTERS + a[c]];
    dim3 grid(LENGTH / 256, LENGTH / 64);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k280e<<<grid, 256>>>(down, across, out);
    check("k280e", out, want, 0);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k280f<<<grid, 256>>>(down, across, out);
    check("k280f", out, want, 0);
    MUST(cudaMemset(out, 0xA5, n * 4));
    k280g<<<grid, 256>>>(down, (const uchar4 *)across, (int4 *)out);
    check("k280g", out, want, 0);
}
