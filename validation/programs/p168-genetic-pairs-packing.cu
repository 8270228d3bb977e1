// Search for interacting pairs of genetic markers (two-way epistasis, cases against controls), and packing of the
// letters of a genome to two bits.
#include "../harness.h"

#include <functional>

// 1280 markers of 8192 people, 32 people a word; half of the people are cases.
const int SNPS = 1280, PEOPLE = 8192, WORDS = PEOPLE / 32, CLASS_WORDS = WORDS / 2;

__host__ __device__ inline float score_of(const int *controls, const int *cases)
{
    float sum = 0.0f;
    for (int k = 0; k < 9; k++) {
        float all = float(controls[k] + cases[k]), d = float(cases[k] - controls[k]);
        if (all > 0.0f)
            sum += d * d / all;
    }
    return sum;
}

// planes: [snp][genotype 0..2][word]
__global__ void k168a(float *score, const unsigned *planes, const unsigned *phenotype, int snps, int words)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= snps || j >= snps || i >= j)
        return;
    int controls[9] = {}, cases[9] = {};
    for (int w = 0; w < words; w++) {
        unsigned state = phenotype[w];
#pragma unroll
        for (int a = 0; a < 3; a++) {
            unsigned x = planes[(i * 3 + a) * words + w];
#pragma unroll
            for (int b = 0; b < 3; b++) {
                unsigned both = x & planes[(j * 3 + b) * words + w];
                cases[a * 3 + b] += __popc(both & state);
                controls[a * 3 + b] += __popc(both & ~state);
            }
        }
    }
    score[i * snps + j] = score_of(controls, cases);
}

// planes: [class][snp][genotype 0..1][word]
__global__ void k168b(float *score, const unsigned *planes, int snps, int words)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= snps || j >= snps || i >= j)
        return;
    int count[2][9] = {};
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const unsigned *mine = planes + ((c * snps + i) * 2) * words, *other = planes + ((c * snps + j) * 2) * words;
        for (int w = 0; w < words; w++) {
            unsigned x[3] = {mine[w], mine[words + w]}, y[3] = {other[w], other[words + w]};
            x[2] = ~(x[0] | x[1]);
            y[2] = ~(y[0] | y[1]);
#pragma unroll
            for (int k = 0; k < 9; k++)
                count[c][k] += __popc(x[k / 3] & y[k % 3]);
        }
    }
    score[i * snps + j] = score_of(count[0], count[1]);
}

// planes: [class][genotype 0..1][word][snp]
__global__ void k168c(float *score, const unsigned *planes, int snps, int words)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= snps || j >= snps || i >= j)
        return;
    int count[2][9] = {};
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const unsigned *zero = planes + c * 2 * words * snps, *one = zero + words * snps;
        for (int w = 0; w < words; w++) {
            unsigned x[3] = {zero[w * snps + i], one[w * snps + i]}, y[3] = {zero[w * snps + j], one[w * snps + j]};
            x[2] = ~(x[0] | x[1]);
            y[2] = ~(y[0] | y[1]);
#pragma unroll
            for (int k = 0; k < 9; k++)
                count[c][k] += __popc(x[k / 3] & y[k % 3]);
        }
    }
    score[i * snps + j] = score_of(count[0], count[1]);
}

// Nine cells from four of them and the totals of both markers.
__device__ inline void fill_cells(int *cell, int people, int2 row, int2 column)
{
    cell[2] = row.x - cell[0] - cell[1];
    cell[5] = row.y - cell[3] - cell[4];
    cell[6] = column.x - cell[0] - cell[3];
    cell[7] = column.y - cell[1] - cell[4];
    cell[8] = people - row.x - row.y - cell[6] - cell[7];
}

// totals: [class][snp], people with genotype 0 and 1
__global__ void k168d(float *__restrict__ score, const unsigned *__restrict__ planes, const int2 *__restrict__ totals,
                      int snps, int words)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= snps || j >= snps || i >= j)
        return;
    int count[2][9] = {};
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const unsigned *zero = planes + c * 2 * words * snps, *one = zero + words * snps;
#pragma unroll 8
        for (int w = 0; w < words; w++) {
            unsigned x0 = zero[w * snps + i], x1 = one[w * snps + i];
            unsigned y0 = zero[w * snps + j], y1 = one[w * snps + j];
            count[c][0] += __popc(x0 & y0);
            count[c][1] += __popc(x0 & y1);
            count[c][3] += __popc(x1 & y0);
            count[c][4] += __popc(x1 & y1);
        }
        fill_cells(count[c], words * 32, totals[c * snps + i], totals[c * snps + j]);
    }
    score[i * snps + j] = score_of(count[0], count[1]);
}

const int STEP = 32;

// Blocks of 32 x 8 threads.
__global__ void k168e(float *__restrict__ score, const unsigned *__restrict__ planes, const int2 *__restrict__ totals,
                      int snps, int words)
{
    __shared__ unsigned rows[2][STEP][8], columns[2][STEP][32];
    int i0 = blockIdx.y * 8, j0 = blockIdx.x * 32, t = threadIdx.y * 32 + threadIdx.x;
    int i = i0 + threadIdx.y, j = j0 + threadIdx.x;
    if (j0 + 31 <= i0)
        return;
    int count[2][9] = {};
#pragma unroll
    for (int c = 0; c < 2; c++) {
        const unsigned *base = planes + c * 2 * words * snps;
        for (int w0 = 0; w0 < words; w0 += STEP) {
#pragma unroll
            for (int g = 0; g < 2; g++) {
                rows[g][t / 8][t % 8] = base[(g * words + w0 + t / 8) * snps + i0 + t % 8];
#pragma unroll
                for (int s = 0; s < STEP; s += 8)
                    columns[g][s + threadIdx.y][threadIdx.x] = base[(g * words + w0 + s + threadIdx.y) * snps + j];
            }
            __syncthreads();
#pragma unroll 8
            for (int s = 0; s < STEP; s++) {
                unsigned x0 = rows[0][s][threadIdx.y], x1 = rows[1][s][threadIdx.y];
                unsigned y0 = columns[0][s][threadIdx.x], y1 = columns[1][s][threadIdx.x];
                count[c][0] += __popc(x0 & y0);
                count[c][1] += __popc(x0 & y1);
                count[c][3] += __popc(x1 & y0);
                count[c][4] += __popc(x1 & y1);
            }
            __syncthreads();
        }
        fill_cells(count[c], words * 32, totals[c * snps + i], totals[c * snps + j]);
    }
    if (i < j)
        score[i * snps + j] = score_of(count[0], count[1]);
}

__host__ __device__ inline unsigned code_of(unsigned char letter)
{
    switch (letter) {
    case 'A': case 'a': return 0;
    case 'C': case 'c': return 1;
    case 'T': case 't': return 2;
    default: return 3;
    }
}

// Sixteen letters to a word.
__global__ void k168f(unsigned *packed, const unsigned char *text, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words)
        return;
    unsigned bits = 0;
    for (int k = 0; k < 16; k++)
        bits |= code_of(text[(size_t)w * 16 + k]) << (2 * k);
    packed[w] = bits;
}

// Bits 1 and 2 of A, C, T, G are 0, 1, 2, 3.
__global__ void k168g(unsigned *packed, const unsigned char *text, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words)
        return;
    unsigned bits = 0;
    for (int k = 0; k < 16; k++)
        bits |= (text[(size_t)w * 16 + k] >> 1 & 3u) << (2 * k);
    packed[w] = bits;
}

__global__ void k168h(unsigned *packed, const uint4 *text, int words)
{
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words)
        return;
    uint4 v = text[w];
    unsigned part[4] = {v.x, v.y, v.z, v.w}, bits = 0;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        unsigned two = part[q] >> 1 & 0x03030303u;
        two |= two >> 6;
        bits |= ((two & 15) | (two >> 12 & 0xF0)) << (8 * q);
    }
    packed[w] = bits;
}

__global__ void fill_text(unsigned char *text, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        text[i] = "ACGTacgt"[scrambled(i, 1682) >> 29];
}

int main()
{
    auto is_case = [](int s) { return (scrambled(s / 2, 1680) & 1) ^ (s & 1); };
    std::vector<unsigned> full((size_t)SNPS * 3 * WORDS), split((size_t)2 * SNPS * 2 * CLASS_WORDS), across(split.size());
    std::vector<unsigned> phenotype(WORDS);
    std::vector<int2> totals(2 * SNPS, make_int2(0, 0));
    for (int s = 0; s < PEOPLE; s++)
        phenotype[s / 32] |= unsigned(is_case(s)) << (s % 32);
    for (int i = 0; i < SNPS; i++)
        for (int s = 0; s < PEOPLE; s++) {
            unsigned r = scrambled((size_t)i * PEOPLE + s, 1681) >> 28;
            int g = r < 6 ? 0 : r < 12 ? 1 : 2, c = phenotype[s / 32] >> (s % 32) & 1, k = s / 2;
            full[((size_t)i * 3 + g) * WORDS + s / 32] |= 1u << (s % 32);
            if (g == 2)
                continue;
            split[(((size_t)c * SNPS + i) * 2 + g) * CLASS_WORDS + k / 32] |= 1u << (k % 32);
            across[(((size_t)c * 2 + g) * CLASS_WORDS + k / 32) * SNPS + i] |= 1u << (k % 32);
            (g ? totals[c * SNPS + i].y : totals[c * SNPS + i].x)++;
        }
    // Every 64th row of the table of scores.
    const int every = 64, chosen = SNPS / every;
    std::vector<float> want((size_t)chosen * SNPS, 0.0f);
    for (int r = 0; r < chosen; r++)
        for (int i = r * every, j = i + 1; j < SNPS; j++) {
            int count[2][9] = {};
            for (int k = 0; k < 9; k++)
                for (int w = 0; w < WORDS; w++) {
                    unsigned both = full[((size_t)i * 3 + k / 3) * WORDS + w] & full[((size_t)j * 3 + k % 3) * WORDS + w];
                    count[1][k] += __builtin_popcount(both & phenotype[w]);
                    count[0][k] += __builtin_popcount(both & ~phenotype[w]);
                }
            want[(size_t)r * SNPS + j] = score_of(count[0], count[1]);
        }
    unsigned *d_full = on_device(full), *d_split = on_device(split), *d_across = on_device(across);
    unsigned *d_phenotype = on_device(phenotype);
    int2 *d_totals = on_device(totals);
    float *score = output<float>((size_t)SNPS * SNPS), *some = output<float>(want.size());
    auto pairs = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(score, 0xA5, (size_t)SNPS * SNPS * sizeof(float)));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = SNPS * sizeof(float);
        MUST(cudaMemcpy2D(some, bytes, score, every * bytes, bytes, chosen, cudaMemcpyDeviceToDevice));
        check(name, some, want, 1e-4);
    };
    dim3 grid(SNPS / 32, SNPS / 8), block(32, 8);
    pairs("k168a", [&] { k168a<<<grid, block>>>(score, d_full, d_phenotype, SNPS, WORDS); });
    pairs("k168b", [&] { k168b<<<grid, block>>>(score, d_split, SNPS, CLASS_WORDS); });
    pairs("k168c", [&] { k168c<<<grid, block>>>(score, d_across, SNPS, CLASS_WORDS); });
    pairs("k168d", [&] { k168d<<<grid, block>>>(score, d_across, d_totals, SNPS, CLASS_WORDS); });
    pairs("k168e", [&] { k168e<<<grid, block>>>(score, d_across, d_totals, SNPS, CLASS_WORDS); });

    // 512 Mi letters; checked on every 32nd row of 65536 words.
    const size_t letters = (size_t)1 << 29;
    const int words = int(letters / 16), row = 65536, skip = 32, taken = words / row / skip;
    unsigned char *text = output<unsigned char>(letters);
    unsigned *packed = output<unsigned>(words), *sample = output<unsigned>((size_t)taken * row);
    fill_text<<<1056, 256>>>(text, letters);
    MUST(cudaGetLastError());
    MUST(cudaDeviceSynchronize());
    std::vector<unsigned> codes((size_t)taken * row);
    for (int t = 0; t < taken; t++) {
        std::vector<unsigned char> part = on_host(text + (size_t)t * skip * row * 16, (size_t)row * 16);
        for (size_t i = 0; i < part.size(); i++)
            codes[(size_t)t * row + i / 16] |= code_of(part[i]) << (2 * (i % 16));
    }
    auto pack = [&](const char *name, std::function<void()> launch) {
        MUST(cudaMemset(packed, 0xA5, (size_t)words * 4));
        launch();
        MUST(cudaGetLastError());
        MUST(cudaDeviceSynchronize());
        const size_t bytes = (size_t)row * 4;
        MUST(cudaMemcpy2D(sample, bytes, packed, skip * bytes, bytes, taken, cudaMemcpyDeviceToDevice));
        check(name, sample, codes, 0.0);
    };
    const uint4 *wide = reinterpret_cast<const uint4 *>(text);
    pack("k168f", [&] { k168f<<<words / 256, 256>>>(packed, text, words); });
    pack("k168g", [&] { k168g<<<words / 256, 256>>>(packed, text, words); });
    pack("k168h", [&] { k168h<<<words / 256, 256>>>(packed, wide, words); });
    return 0;
}
