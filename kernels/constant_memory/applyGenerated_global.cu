/*--- ncuview
schema = 1
name = "applyGenerated_global"
family = "constant_memory"
step_number = 60
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Constant Memory Example"
teaches = "The matrices are computed instead of loaded, so that nothing hides how the signal is read: from global memory, one load of one address by each warp for each multiplication."
better = "applyGenerated_tiled_global"
oracle = "apply_generated"

[sizes]
rows = 4194304
m = 256

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

[useful]
flops = "2 * rows * m"

[expect]
first = "register_tiling"
quiet = ["coalescing", "divergence_removal"]

[[variant]]
step_number = 62
sizes = { rows = 262144, m = 16384 }
teaches = "A signal of 64 KB, as long as constant memory can hold, still fits in the L1 cache."

[variant.expect]
first = "register_tiling"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void applyGenerated_global(const float *d_signalVector, float *R, int m)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    // A row of the matrix repeats four coefficients, taken from the bits of its number.
    float coefficient[4];
    for (int i = 0; i < 4; i++)
        coefficient[i] = row >> 6 * i & 63;

    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j += 4)
        #pragma unroll
        for (int i = 0; i < 4; i++)
            result += coefficient[i] * d_signalVector[j + i];
    // ncuview: end loop

    R[row] = result;
}
// ncuview: end kernel
