/*--- ncuview
schema = 1
name = "twoFloatLoads"
family = "instructions"
step_number = 71
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Introduction to Global Memory Bandwidth: Understanding Global Memory Accesses"
teaches = "Two floats in one instruction: half the instructions and twice the bytes in flight."
better = "vectorLoads"
oracle = "scaled"

[sizes]
n = 16777216
threads = 270336
a = 3

# ncuview: begin launch
[launch]
grid = ["threads / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[n]"

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "a"
kind = "float32 = a"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n"

[step]
after = "scalarLoads"
applies = "vectorized_access"

[expect]
first = "vectorized_access"
---*/

// ncuview: begin kernel
__global__ void twoFloatLoads(const float2 *in, float2 *out, float a, int n)
{
    int threads = gridDim.x * blockDim.x;

    #pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += threads) {
        float2 x = in[i];
        out[i] = make_float2(a * x.x, a * x.y);
    }
}
// ncuview: end kernel
