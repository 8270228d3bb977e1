// Division by an argument that is the same power of two at every launch, as the finding assumes.
#include "check.h"

const int N = 1 << 22, ROUNDS = 64;
const unsigned BASE = 1024;

__global__ void digits(const unsigned *in, unsigned *out, unsigned base, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 8
    for (int r = 0; r < rounds; r++)
        value = value / base + value % base * 2654435769u;
    out[i] = value;
}

unsigned value(size_t i) { return unsigned(i) * 2654435761u; }
unsigned want(size_t i)
{
    unsigned word = value(i);
    for (int r = 0; r < ROUNDS; r++)
        word = word / BASE + word % BASE * 2654435769u;
    return word;
}
unsigned nothing(size_t) { return 0xdeadbeef; }

int main()
{
    unsigned *in = filled(N, value), *out = filled(N, nothing);
    digits<<<N / 256, 256>>>(in, out, BASE, ROUNDS);
    finished();
    return verdict(out, N, want, 0);
}
