// Blocks of one warp, of which a multiprocessor holds too few.
#include "check.h"

const int N = (1 << 19) + 77, STEPS = 256, WORDS = 1 << 20, THREADS = 32;

__global__ void chased(const unsigned *table, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned at = i;
    for (int s = 0; s < STEPS; s++)
        at = table[at & (WORDS - 1)];
    out[i] = at;
}

// From any line of the table to another one: lanes stay neighbours, and L1 seldom has the line.
unsigned value(size_t i) { return (unsigned(i) / 32 * 1664525u + 1013904223u) % (WORDS / 32) * 32 + unsigned(i) % 32; }
unsigned want(size_t i)
{
    unsigned at = unsigned(i);
    for (int s = 0; s < STEPS; s++)
        at = value(at & (WORDS - 1));
    return at;
}
unsigned nothing(size_t) { return 0xdeadbeef; }

int main()
{
    unsigned *table = filled(WORDS, value), *out = filled(N, nothing);
    int blocks = (N + THREADS - 1) / THREADS;
    chased<<<blocks, THREADS>>>(table, out, N);
    finished();
    return verdict(out, N, want, 0);
}
