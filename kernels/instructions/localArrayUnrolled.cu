/*--- ncuview
schema = 1
name = "localArrayUnrolled"
family = "instructions"
step_number = 53
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Scalar Replacement (beyond sum)"
teaches = "Unrolled, every index is known when compiling, and the array is sixteen registers."
oracle = "lagged_fibonacci"

[sizes]
n = 4194304
rounds = 512

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[n]"

[[args]]
name = "out"
kind = "out uint32[n]"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[step]
after = "localArray"
applies = "unrolling"

[expect]
verdict = "near-peak"
quiet = ["unrolling"]
---*/

#define LAGS 16

// ncuview: begin kernel
__global__ void localArrayUnrolled(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned window[LAGS], value = in[i];

    for (int k = 0; k < LAGS; k++) {
        window[k] = value;
        value = value * 1664525u + 1013904223u;
    }

    #pragma unroll 1
    for (int r = 0; r < rounds; r += LAGS)
        // ncuview: begin loop
        #pragma unroll
        for (int k = 0; k < LAGS; k++)
            window[k] += window[(k + 5) % LAGS];
        // ncuview: end loop

    out[i] = window[LAGS - 1];
}
// ncuview: end kernel
