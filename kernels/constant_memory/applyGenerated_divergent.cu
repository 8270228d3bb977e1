/*--- ncuview
schema = 1
name = "applyGenerated_divergent"
family = "constant_memory"
step_number = 80
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Additional Detail"
teaches = "Each of the 32 lanes reads another element of the constant signal at the same instruction: 32 accesses to the constant cache, one after the other."
better = "applyGenerated_lookup_global"
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
kind = "constant float32[m] below 16"

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

[expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal"]

[[variant]]
step_number = 76
sizes = { ways = 2 }
teaches = "Two different elements at each instruction: two accesses to the constant cache."
better = "applyGenerated_lookup_global"

[variant.expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal"]

[[variant]]
step_number = 78
sizes = { ways = 8 }
teaches = "Eight different elements at each instruction: eight accesses to the constant cache."
better = "applyGenerated_lookup_global"

[variant.expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal"]
---*/

__constant__ float d_signalVector[16384];

// ncuview: begin kernel
__global__ void applyGenerated_divergent(float *R, int m, int ways)
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
