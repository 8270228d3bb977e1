// Best of 32 position weight matrices of width 12 (integer scores) at every position of a genome.
#include "../harness.h"

constexpr int POSITIONS = 1 << 23, MOTIFS = 32, WIDTH = 12, ENTRIES = MOTIFS * WIDTH, PAIRS = WIDTH / 2;

// weights: [motif][place][base]; result: 32 * score + motif
__global__ void k262a(const unsigned char *genome, const int *weights, int *best, int n, int motifs, int width)
{
    __shared__ int table[4 * ENTRIES];
    int stride = motifs * width;
    for (int t = threadIdx.x; t < 4 * stride; t += blockDim.x)
        table[(t & 3) * stride + (t >> 2)] = weights[t];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int top = 0;
        for (int m = 0; m < motifs; m++) {
            int score = 0;
            for (int j = 0; j < width; j++)
                score += table[genome[i + j] * stride + m * width + j];
            top = max(top, score * 32 + m);
        }
        best[i] = top;
    }
}

__global__ void k262b(const unsigned char *genome, const int *weights, int *best, int n, int motifs, int width)
{
    __shared__ int table[4 * (ENTRIES + 1)];
    int stride = motifs * width + 1;
    for (int t = threadIdx.x; t < 4 * motifs * width; t += blockDim.x)
        table[(t & 3) * stride + (t >> 2)] = weights[t];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int top = 0;
        for (int m = 0; m < motifs; m++) {
            int score = 0;
            for (int j = 0; j < width; j++)
                score += table[genome[i + j] * stride + m * width + j];
            top = max(top, score * 32 + m);
        }
        best[i] = top;
    }
}

__global__ void k262c(const unsigned char *genome, const int *weights, int *best, int n)
{
    constexpr int STRIDE = ENTRIES + 1;
    __shared__ int table[4 * STRIDE];
    for (int t = threadIdx.x; t < 4 * ENTRIES; t += blockDim.x)
        table[(t & 3) * STRIDE + (t >> 2)] = weights[t];
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int *row[WIDTH];
#pragma unroll
        for (int j = 0; j < WIDTH; j++)
            row[j] = table + genome[i + j] * STRIDE;
        int top = 0;
#pragma unroll 4
        for (int m = 0; m < MOTIFS; m++) {
            int score = 0;
#pragma unroll
            for (int j = 0; j < WIDTH; j++)
                score += row[j][m * WIDTH + j];
            top = max(top, score * 32 + m);
        }
        best[i] = top;
    }
}

__global__ void k262d(const unsigned char *genome, const int *weights, int *best, int n)
{
    __shared__ int table[MOTIFS * PAIRS * 16]; // two neighbouring bases together
    for (int t = threadIdx.x; t < MOTIFS * PAIRS * 16; t += blockDim.x) {
        int two = t & 15, at = t >> 4; // at = motif * PAIRS + pair
        table[t] = weights[at * 8 + (two >> 2)] + weights[at * 8 + 4 + (two & 3)];
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int *row[PAIRS];
#pragma unroll
        for (int j = 0; j < PAIRS; j++)
            row[j] = table + genome[i + 2 * j] * 4 + genome[i + 2 * j + 1];
        int top = 0;
#pragma unroll 4
        for (int m = 0; m < MOTIFS; m++) {
            int score = 0;
#pragma unroll
            for (int j = 0; j < PAIRS; j++)
                score += row[j][(m * PAIRS + j) * 16];
            top = max(top, score * 32 + m);
        }
        best[i] = top;
    }
}

__device__ __forceinline__ unsigned pair_score(const int *weights, int motif, int pair, int two)
{
    const int *w = weights + (motif * PAIRS + pair) * 8;
    return unsigned(w[two >> 2] + w[4 + (two & 3)]);
}

__global__ void k262e(const unsigned char *genome, const int *weights, int *best, int n)
{
    __shared__ unsigned table[MOTIFS / 2 * PAIRS * 16]; // 16-bit scores of two motifs
    for (int t = threadIdx.x; t < MOTIFS / 2 * PAIRS * 16; t += blockDim.x) {
        int two = t & 15, pair = (t >> 4) % PAIRS, m = (t >> 4) / PAIRS * 2;
        table[t] = pair_score(weights, m, pair, two) | pair_score(weights, m + 1, pair, two) << 16;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const unsigned *row[PAIRS];
#pragma unroll
        for (int j = 0; j < PAIRS; j++)
            row[j] = table + genome[i + 2 * j] * 4 + genome[i + 2 * j + 1];
        int top = 0;
#pragma unroll 4
        for (int m = 0; m < MOTIFS / 2; m++) {
            unsigned score = 0;
#pragma unroll
            for (int j = 0; j < PAIRS; j++)
                score += row[j][(m * PAIRS + j) * 16];
            top = max(top, int(score & 0xFFFF) * 32 + 2 * m);
            top = max(top, int(score >> 16) * 32 + 2 * m + 1);
        }
        best[i] = top;
    }
}

__global__ void k262f(const unsigned char *genome, const int *weights, int *best, int n)
{
    __shared__ uint2 table[MOTIFS / 4 * PAIRS * 16]; // 16-bit scores of four motifs
    for (int t = threadIdx.x; t < MOTIFS / 4 * PAIRS * 16; t += blockDim.x) {
        int two = t & 15, pair = (t >> 4) % PAIRS, m = (t >> 4) / PAIRS * 4;
        table[t] = make_uint2(pair_score(weights, m, pair, two) | pair_score(weights, m + 1, pair, two) << 16,
                              pair_score(weights, m + 2, pair, two) | pair_score(weights, m + 3, pair, two) << 16);
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const uint2 *row[PAIRS];
#pragma unroll
        for (int j = 0; j < PAIRS; j++)
            row[j] = table + genome[i + 2 * j] * 4 + genome[i + 2 * j + 1];
        int top = 0;
#pragma unroll 4
        for (int m = 0; m < MOTIFS / 4; m++) {
            uint2 score = make_uint2(0, 0);
#pragma unroll
            for (int j = 0; j < PAIRS; j++) {
                uint2 w = row[j][(m * PAIRS + j) * 16];
                score.x += w.x;
                score.y += w.y;
            }
            top = max(top, int(score.x & 0xFFFF) * 32 + 4 * m);
            top = max(top, int(score.x >> 16) * 32 + 4 * m + 1);
            top = max(top, int(score.y & 0xFFFF) * 32 + 4 * m + 2);
            top = max(top, int(score.y >> 16) * 32 + 4 * m + 3);
        }
        best[i] = top;
    }
}

int main()
{
    unsigned char *genome = input<unsigned char>(POSITIONS + WIDTH, 1, 0, 4);
    int *weights = input<int>(ENTRIES * 4, 2, 0, 300);
    int *first = output<int>(POSITIONS), *other = output<int>(POSITIONS);

    const int samples = 20000;
    std::vector<unsigned char> g = on_host(genome, samples + WIDTH);
    std::vector<int> w = on_host(weights, ENTRIES * 4), sample(samples);
    for (int i = 0; i < samples; i++) {
        int top = 0;
        for (int m = 0; m < MOTIFS; m++) {
            int score = 0;
            for (int j = 0; j < WIDTH; j++)
                score += w[(m * WIDTH + j) * 4 + g[i + j]];
            top = std::max(top, score * 32 + m);
        }
        sample[i] = top;
    }

    const int blocks = 132 * 8;
    k262a<<<blocks, 256>>>(genome, weights, first, POSITIONS, MOTIFS, WIDTH);
    check("k262a, samples", first, sample, 0);
    std::vector<int> want = on_host(first, POSITIONS);
    check("k262a", first, want, 0);
    k262b<<<blocks, 256>>>(genome, weights, other, POSITIONS, MOTIFS, WIDTH);
    check("k262b", other, want, 0);
    MUST(cudaMemset(other, 0xA5, POSITIONS * sizeof(int)));
    k262c<<<blocks, 256>>>(genome, weights, other, POSITIONS);
    check("k262c", other, want, 0);
    MUST(cudaMemset(other, 0xA5, POSITIONS * sizeof(int)));
    k262d<<<blocks, 256>>>(genome, weights, other, POSITIONS);
    check("k262d", other, want, 0);
    MUST(cudaMemset(other, 0xA5, POSITIONS * sizeof(int)));
    k262e<<<blocks, 256>>>(genome, weights, other, POSITIONS);
    check("k262e", other, want, 0);
    MUST(cudaMemset(other, 0xA5, POSITIONS * sizeof(int)));
    k262f<<<blocks, 256>>>(genome, weights, other, POSITIONS);
    check("k262f", other, want, 0);
}
