/*--- ncuview
schema = 1
name = "ApplySignal_global"
family = "constant_memory"
step_number = 20
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Constant Memory Example"
teaches = "The matrices are stored by columns, unlike in the document, so that a warp reads 32 neighbouring coefficients. The signal comes from global memory: one more load for each coefficient, of one address for all lanes of a warp."
better = "ApplySignal"
oracle = "apply_signal_to_columns"

[sizes]
n = 4096
m = 128

# ncuview: begin launch
[launch]
grid = ["n"]
block = ["m"]
# ncuview: end launch

[[args]]
name = "d_mat"
kind = "in float32[n, m, m] below 256"

[[args]]
name = "d_signalVector"
kind = "in float32[m] below 256"

[[args]]
name = "R"
kind = "out float32[n, m]"

[[args]]
name = "m"
kind = "int32 = m"

[useful]
bytes = "4 * n * m * m + 4 * m + 4 * n * m"

[step]
after = "ApplySignal_rows_global"
applies = "coalescing"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void ApplySignal_global(const float *d_mat, const float *d_signalVector, float *R, int m)
{
    const float *mat = d_mat + blockIdx.x * m * m;
    int t = threadIdx.x;
    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j++)
        result += mat[j * m + t] * d_signalVector[j];
    // ncuview: end loop

    R[blockIdx.x * m + t] = result;
}
// ncuview: end kernel
