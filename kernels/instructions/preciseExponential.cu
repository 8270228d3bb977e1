/*--- ncuview
schema = 1
name = "preciseExponential"
family = "instructions"
step_number = 22
document = "GPU Hardware Performance II (Filipovič)"
section = "Transcendental functions"
teaches = "expf splits its argument into integer and fractional powers of two around one instruction of the special-function unit."
better = "fastExponential"
oracle = "sum_of_exponentials"
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

[expect]
first = "fast_math"
---*/

// ncuview: begin kernel
__global__ void preciseExponential(const float *in, float *out, float step, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0;

    #pragma unroll 4
    for (int r = 0; r < rounds; r++) {
        // ncuview: begin function
        sum += expf(-x);
        // ncuview: end function
        x += step;
    }
    out[i] = sum;
}
// ncuview: end kernel
