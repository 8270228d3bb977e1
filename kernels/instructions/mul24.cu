/*--- ncuview
schema = 1
name = "mul24"
family = "instructions"
step_number = 40
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "24-bit multiplication was the fast one on GPUs of compute capability 1.x; today's have none and build it from masks and the 32-bit one."
better = "mul32"
oracle = "multiply_rounds"

[sizes]
n = 4194304
rounds = 256
factor = 16598013
shift = 8

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in uint32[n] below 16777216"

[[args]]
name = "out"
kind = "out uint32[n]"

[[args]]
name = "factor"
kind = "uint32 = factor"

[[args]]
name = "shift"
kind = "int32 = shift"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[expect]
first = "strength_reduction"
---*/

// ncuview: begin kernel
__global__ void mul24(const unsigned *in, unsigned *out, unsigned factor, int shift, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    // The shift leaves 24 bits, which the compiler cannot know.
    #pragma unroll 16
    for (int r = 0; r < rounds; r++)
        // ncuview: begin multiply
        value = (__umul24(value, factor) + 12345u) >> shift;
        // ncuview: end multiply

    out[i] = value;
}
// ncuview: end kernel
