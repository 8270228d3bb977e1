/*--- ncuview
schema = 1
name = "denormalsKept"
family = "instructions"
step_number = 28
document = "GPU Hardware Performance II (Filipovič)"
section = "Transcendental functions"
teaches = "Around each __expf the compiler puts a comparison and two multiplications, so that denormal numbers stay exact."
oracle = "weighted_variance"
tolerance = 1e-4

[sizes]
n = 4194304
rounds = 64
parts = 32
center = 1

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
name = "center"
kind = "float32 = center"

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
__global__ void denormalsKept(const float *in, float *out, float center, float step, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], weights = 0, sum = 0, squares = 0;

    #pragma unroll 4
    for (int r = 0; r < rounds; r++) {
        float d = x - center;
        // ncuview: begin function
        float weight = __expf(-d * d);
        // ncuview: end function
        float weighted = weight * x;
        weights += weight;
        sum += weighted;
        squares += weighted * x;
        x += step;
    }
    float mean = sum / weights;
    out[i] = squares / weights - mean * mean;
}
// ncuview: end kernel
