/*--- ncuview
schema = 1
name = "transpose_parallel_per_element"
family = "transpose"
step_number = 12
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Transpose 'C' code: GPU version 3"
teaches = "One thread per element fills the GPU; now the scattered stores are the remaining cost."
better = "transposeNoBankConflicts"
oracle = "transpose_CPU"

[sizes]
n = 8192

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 32"]
block = ["32", "32"]
# ncuview: end launch

[[args]]
name = "in"
kind = "in float32[n, n]"

[[args]]
name = "out"
kind = "out float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n * n"

[step]
after = "transpose_parallel_per_row"
applies = "launch_configuration"

[reported]
rate = 11.4738
unit = "ms"
gpu = "Tegra (the document names no model)"

[expect]
first = "shared_memory_tiling"
quiet = ["shared_memory_padding", "launch_configuration"]
---*/

#define K 32

// ncuview: begin kernel
__global__ void transpose_parallel_per_element(const float *in, float *out, int n)
{
    int i = blockIdx.x * K + threadIdx.x;
    int j = blockIdx.y * K + threadIdx.y;

    out[j + i * n] = in[i + j * n];
}
// ncuview: end kernel
