/*--- ncuview
schema = 1
name = "ApplySignal_rows_global"
family = "constant_memory"
step_number = 10
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Constant Memory Example"
teaches = "The document's example before its optimization: each thread multiplies a row of its block's matrix by the signal, and both are in global memory. Threads read rows, so a warp touches 32 lines at once."
better = "ApplySignal_global"
oracle = "apply_signal_to_rows"

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

[expect]
first = "coalescing"
quiet = ["divergence_removal"]
---*/

// ncuview: begin kernel
__global__ void ApplySignal_rows_global(const float *d_mat, const float *d_signalVector, float *R, int m)
{
    const float *mat = d_mat + blockIdx.x * m * m;
    int t = threadIdx.x;
    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j++)
        result += mat[t * m + j] * d_signalVector[j];
    // ncuview: end loop

    R[blockIdx.x * m + t] = result;
}
// ncuview: end kernel
