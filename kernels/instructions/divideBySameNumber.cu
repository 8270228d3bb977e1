/*--- ncuview
schema = 1
name = "divideBySameNumber"
family = "instructions"
step_number = 26
document = "GPU Hardware Performance II (Filipovič)"
section = "Arithmetic Operations"
teaches = "All divisions have one divisor, and each has its full cost: the compiler may not replace them, as the last bit would differ."
better = "multiplyByReciprocal"
oracle = "sum_divided"
tolerance = 3e-5

[sizes]
n = 4194304
rounds = 256
d = 3

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
name = "d"
kind = "float32 = d"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[expect]
first = "fast_math"
---*/

// ncuview: begin kernel
__global__ void divideBySameNumber(const float *in, float *out, float d, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0;

    #pragma unroll 16
    for (int r = 0; r < rounds; r++) {
        // ncuview: begin function
        sum += x / d;
        // ncuview: end function
        x += 1;
    }
    out[i] = sum;
}
// ncuview: end kernel
