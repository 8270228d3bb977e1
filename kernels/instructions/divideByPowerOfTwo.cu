/*--- ncuview
schema = 1
name = "divideByPowerOfTwo"
family = "instructions"
step_number = 11
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "A divisor that is a power of two: the quotient is a shift and the remainder a mask."
oracle = "division_rounds"

[sizes]
n = 4194304
rounds = 128
d = 16

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
name = "d"
kind = "uint32 = d"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[step]
after = "divideByAnything"
applies = "strength_reduction"

[expect]
verdict = "near-peak"
quiet = ["strength_reduction", "unrolling"]
---*/

// ncuview: begin kernel
__global__ void divideByPowerOfTwo(const unsigned *in, unsigned *out, unsigned d, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];
    int log2d = __ffs(d) - 1;

    #pragma unroll 8
    for (int r = 0; r < rounds; r++)
        // ncuview: begin divide
        value = (value >> log2d) + (value & (d - 1)) * 2654435769u;
        // ncuview: end divide

    out[i] = value;
}
// ncuview: end kernel
