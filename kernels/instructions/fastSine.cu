/*--- ncuview
schema = 1
name = "fastSine"
family = "instructions"
step_number = 21
document = "GPU Hardware Performance II (Filipovič)"
section = "Transcendental functions"
teaches = "__sinf is a multiplication and one instruction of the special-function unit; between -pi and pi it is off by at most 2**-21.4."
oracle = "sum_of_sines"
tolerance = 1e-5

[sizes]
n = 4194304
rounds = 64
parts = 32

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
name = "step"
kind = "float32 = 1 / parts"

[[args]]
name = "rounds"
kind = "int32 = rounds"

[useful]
bytes = "2 * 4 * n"

[step]
after = "preciseSine"
applies = "fast_math"

[expect]
verdict = "near-peak"
quiet = ["fast_math", "unrolling"]
---*/

// ncuview: begin kernel
__global__ void fastSine(const float *in, float *out, float step, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0;

    #pragma unroll 4
    for (int r = 0; r < rounds; r++) {
        // ncuview: begin function
        sum += __sinf(x);
        // ncuview: end function
        x += step;
    }
    out[i] = sum;
}
// ncuview: end kernel
