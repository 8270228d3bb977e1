/*--- ncuview
schema = 1
name = "applyGenerated_lookup_global"
family = "constant_memory"
step_number = 84
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Additional Detail"
teaches = "The same accesses through the read-only data cache: the L1 cache serves any elements of one line at once."
oracle = "apply_generated"

[sizes]
rows = 4194304
m = 256
ways = 32

# ncuview: begin launch
[launch]
grid = ["rows / 256"]
block = ["256"]
# ncuview: end launch

[[args]]
name = "d_signalVector"
kind = "in float32[m] below 16"

[[args]]
name = "R"
kind = "out float32[rows]"

[[args]]
name = "m"
kind = "int32 = m"

[[args]]
name = "ways"
kind = "int32 = ways"

[useful]
flops = "2 * rows * m"

[step]
after = "applyGenerated_divergent"
applies = "read_only_cache"

[expect]
first = "shared_memory_tiling"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void applyGenerated_lookup_global(const float *__restrict__ d_signalVector, float *R, int m, int ways)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % ways;
    // A row of the matrix repeats four coefficients, taken from the bits of its number.
    float coefficient[4];
    for (int i = 0; i < 4; i++)
        coefficient[i] = row >> 6 * ((i ^ lane) & 3) & 63;

    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j += 4)
        #pragma unroll
        for (int i = 0; i < 4; i++)
            result += coefficient[i] * d_signalVector[(j + i) ^ lane];
    // ncuview: end loop

    R[row] = result;
}
// ncuview: end kernel
