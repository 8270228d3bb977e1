/*--- ncuview
schema = 1
name = "applyGenerated_tiled"
family = "constant_memory"
step_number = 90
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "\"Tiling\" for Registers"
teaches = "Four rows per thread, held in registers: each element of the signal that comes from constant memory serves four multiplications."
better = "applyGenerated_tiled_global"
oracle = "apply_generated"

[sizes]
rows = 4194304
m = 256

# ncuview: begin launch
[launch]
grid = ["rows / 1024"]
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

[useful]
flops = "2 * rows * m"

[step]
after = "applyGenerated"
applies = "register_tiling"
not_first = "Each miss of the constant cache then serves four rows; reads from global memory have no such misses, and come first."

[expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal", "constant_cache"]
---*/

__constant__ float d_signalVector[16384];

#define ROWS 4

// ncuview: begin kernel
__global__ void applyGenerated_tiled(float *R, int m)
{
    int first = blockIdx.x * blockDim.x * ROWS + threadIdx.x;
    // A row of the matrix repeats four coefficients, taken from the bits of its number.
    float coefficient[ROWS][4];
    for (int k = 0; k < ROWS; k++)
        for (int i = 0; i < 4; i++)
            coefficient[k][i] = first + k * blockDim.x >> 6 * i & 63;

    float result[ROWS] = {};

    // ncuview: begin loop
    for (int j = 0; j < m; j += 4)
        #pragma unroll
        for (int i = 0; i < 4; i++)
            #pragma unroll
            for (int k = 0; k < ROWS; k++)
                result[k] += coefficient[k][i] * d_signalVector[j + i];
    // ncuview: end loop

    for (int k = 0; k < ROWS; k++)
        R[first + k * blockDim.x] = result[k];
}
// ncuview: end kernel
