/*--- ncuview
schema = 1
name = "preciseDivision"
family = "instructions"
step_number = 24
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "A division that is right to the last bit: a reciprocal, five multiply-adds that correct it, and a test for numbers that need more care."
better = "fastDivision"
oracle = "sum_of_quotients"
tolerance = 1e-5

[sizes]
n = 4194304
rounds = 64
numerator = 1

# ncuview: begin launch
[launch]
grid = ["n / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[n] below 1024"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "numerator"
kind = "float32 = numerator"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[expect]
first = "fast_math"
---*/

// ncuview: begin kernel
__global__ void preciseDivision(const float *in, float *out, float numerator, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i] + 1, sum = 0;

    #pragma unroll 8
    for (int r = 0; r < rounds; r++) {
        // ncuview: begin function
        sum += numerator / x;
        // ncuview: end function
        x += 1;
    }
    out[i] = sum;
}
// ncuview: end kernel
