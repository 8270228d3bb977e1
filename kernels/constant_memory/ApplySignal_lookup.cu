/*--- ncuview
schema = 1
name = "ApplySignal_lookup"
family = "constant_memory"
step_number = 50
document = "L5: Memory Bandwidth Optimization (CS6235)"
section = "Additional Detail"
teaches = "The same accesses through the read-only data cache: the 32 elements that a warp reads lie in one line, which the L1 cache serves at once. Data that each thread reads at a different address should not be in constant memory."
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
after = "ApplySignal_divergent"
applies = "read_only_cache"

[expect]
verdict = "near-peak"
quiet = ["coalescing", "divergence_removal", "read_only_cache"]
---*/

// ncuview: begin kernel
__global__ void ApplySignal_lookup(const float *d_mat, const float *__restrict__ d_signalVector, float *R, int m)
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
