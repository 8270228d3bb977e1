/*--- ncuview
schema = 1
name = "ApplySignal_rows"
family = "constant_memory"
step_number = 12
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Constant Memory Example"
teaches = "The document's example without changes: the signal is in constant memory, read by all threads at once, but the rows of the matrix are still read with a stride."
better = "ApplySignal"
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
kind = "constant float32[m] below 256"

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
applies = "constant_cache"
not_first = "The matrix is the cost, not the signal, so its loads are coalesced first."

[expect]
first = "coalescing"
quiet = ["divergence_removal", "constant_cache"]
---*/

__constant__ float d_signalVector[128];

// ncuview: begin kernel
__global__ void ApplySignal_rows(const float *d_mat, float *R, int m)
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
