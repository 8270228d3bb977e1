/*--- ncuview
schema = 1
name = "divideByAnything"
family = "instructions"
step_number = 10
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "Quotient and remainder by a number that is known only at run time: a dozen instructions, after a reciprocal that is taken once."
better = "divideByPowerOfTwo"
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

[expect]
first = "strength_reduction"

[[variant]]
step_number = 12
sizes = { d = 10 }
teaches = "The same code with a divisor that is no power of two: what it costs does not depend on the divisor."
better = "divideByConstant"

[variant.expect]
first = "strength_reduction"
---*/

// ncuview: begin kernel
__global__ void divideByAnything(const unsigned *in, unsigned *out, unsigned d, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 8
    for (int r = 0; r < rounds; r++)
        // ncuview: begin divide
        value = value / d + value % d * 2654435769u;
        // ncuview: end divide

    out[i] = value;
}
// ncuview: end kernel
