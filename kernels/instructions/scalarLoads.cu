/*--- ncuview
schema = 1
name = "scalarLoads"
family = "instructions"
step_number = 70
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Introduction to Global Memory Bandwidth: Understanding Global Memory Accesses"
teaches = "One float per thread and iteration of the loop: 4 bytes in flight per thread, where device memory needs 16."
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

[expect]
first = "vectorized_access"
---*/

// ncuview: begin kernel
__global__ void scalarLoads(const float *in, float *out, float a, int n)
{
    int threads = gridDim.x * blockDim.x;

    #pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)
        out[i] = a * in[i];
}
// ncuview: end kernel
