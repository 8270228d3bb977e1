/*--- ncuview
schema = 1
name = "floatLiteral"
family = "instructions"
step_number = 31
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "The same literals with an f: one multiply-add in single precision."
oracle = "damped_rounds"
tolerance = 3e-5

[sizes]
n = 4194304
rounds = 384

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[n]"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"
flops = "2 * rounds * n"

[step]
after = "doubleLiteral"
applies = "lower_precision"

[expect]
verdict = "near-peak"
quiet = ["lower_precision", "unrolling"]
---*/

// ncuview: begin kernel
__global__ void floatLiteral(const float *in, float *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i];

    #pragma unroll 32
    for (int r = 0; r < rounds; r++)
        // ncuview: begin literal
        x = x * 0.999f + 0.001f;
        // ncuview: end literal

    out[i] = x;
}
// ncuview: end kernel
