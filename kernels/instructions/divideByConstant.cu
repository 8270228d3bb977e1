/*--- ncuview
schema = 1
name = "divideByConstant"
family = "instructions"
step_number = 13
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "A divisor that is known when compiling: the compiler multiplies by its reciprocal and shifts."
oracle = "division_rounds"

[sizes]
n = 4194304
rounds = 128
d = 10

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
template = ["d"]
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
after = "divideByAnything[d=10]"
applies = "strength_reduction"

[expect]
verdict = "near-peak"
quiet = ["strength_reduction", "unrolling"]

[[variant]]
step_number = 14
sizes = { d = 16 }
teaches = "A constant power of two: the compiler itself uses a shift and a mask."

[variant.step]
after = "divideByAnything"
applies = "strength_reduction"

[variant.expect]
verdict = "near-peak"
quiet = ["strength_reduction", "unrolling"]
---*/

// ncuview: begin kernel
template <unsigned D>
__global__ void divideByConstant(const unsigned *in, unsigned *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned value = in[i];

    #pragma unroll 8
    for (int r = 0; r < rounds; r++)
        // ncuview: begin divide
        value = value / D + value % D * 2654435769u;
        // ncuview: end divide

    out[i] = value;
}
// ncuview: end kernel

template __global__ void divideByConstant<10>(const unsigned *, unsigned *, int);
template __global__ void divideByConstant<16>(const unsigned *, unsigned *, int);
