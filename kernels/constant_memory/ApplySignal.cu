/*--- ncuview
schema = 1
name = "ApplySignal"
family = "constant_memory"
step_number = 30
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Constant Memory Example"
teaches = "The signal in constant memory: all threads read one element at once, which costs no load through the L1 cache. The matrices, stored by columns so that they are read coalesced, remain the bottleneck."
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
after = "ApplySignal_global"
applies = "constant_cache"
not_first = "Today's L1 broadcasts the signal as constant memory does, and device memory is the bottleneck."

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal", "constant_cache"]
---*/

__constant__ float d_signalVector[128];

// ncuview: begin kernel
__global__ void ApplySignal(const float *d_mat, float *R, int m)
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
