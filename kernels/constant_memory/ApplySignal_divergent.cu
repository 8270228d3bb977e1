/*--- ncuview
schema = 1
name = "ApplySignal_divergent"
family = "constant_memory"
step_number = 40
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Additional Detail"
teaches = "Each lane reads another element of the constant signal at the same instruction, so the constant cache serves them one after the other. Each row of a matrix is stored in the order in which its thread takes the signal."
better = "ApplySignal_lookup"
oracle = "apply_signal_by_lane"

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

[expect]
first = "read_only_cache"
quiet = ["coalescing", "divergence_removal"]
---*/

__constant__ float d_signalVector[128];

// ncuview: begin kernel
__global__ void ApplySignal_divergent(const float *d_mat, float *R, int m)
{
    const float *mat = d_mat + blockIdx.x * m * m;
    int t = threadIdx.x;
    int lane = t % 32;
    float result = 0;

    // ncuview: begin loop
    for (int j = 0; j < m; j++)
        result += mat[j * m + t] * d_signalVector[j ^ lane];
    // ncuview: end loop

    R[blockIdx.x * m + t] = result;
}
// ncuview: end kernel
