/*--- ncuview
schema = 1
name = "preciseSine"
family = "instructions"
step_number = 20
document = "GPU Hardware Performance II (Filipovič)"
section = "Transcendental functions"
teaches = "sinf folds its argument into a quarter of the circle and evaluates a polynomial: some 25 instructions, and a path for huge arguments."
better = "fastSine"
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

[expect]
first = "fast_math"
---*/

// ncuview: begin kernel
__global__ void preciseSine(const float *in, float *out, float step, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0;

    #pragma unroll 4
    for (int r = 0; r < rounds; r++) {
        // ncuview: begin function
        sum += sinf(x);
        // ncuview: end function
        x += step;
    }
    out[i] = sum;
}
// ncuview: end kernel
