/*--- ncuview
schema = 1
name = "vectorLoads"
family = "instructions"
step_number = 72
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Introduction to Global Memory Bandwidth: Understanding Global Memory Accesses"
teaches = "Four floats in one instruction: 16 bytes in flight per thread without unrolling."
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
after = "twoFloatLoads"
applies = "vectorized_access"

[expect]
verdict = "near-peak"
quiet = ["vectorized_access"]
---*/

// ncuview: begin kernel
__global__ void vectorLoads(const float4 *in, float4 *out, float a, int n)
{
    int threads = gridDim.x * blockDim.x;

    #pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += threads) {
        float4 x = in[i];
        out[i] = make_float4(a * x.x, a * x.y, a * x.z, a * x.w);
    }
}
// ncuview: end kernel
