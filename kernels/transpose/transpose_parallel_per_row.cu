/*--- ncuview
schema = 1
name = "transpose_parallel_per_row"
family = "transpose"
step_number = 11
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Transpose 'C' code: GPU version 2"
teaches = "One thread per row in a single block: parallel, but only one multiprocessor of the GPU is used."
better = "transpose_parallel_per_element"
oracle = "transpose_CPU"

[sizes]
n = 1024

# ncuview: begin launch
[launch]
grid = ["1"]
block = ["n"]
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
after = "transpose_serial"
applies = "launch_configuration"

[reported]
rate = 13.0229
unit = "ms"
gpu = "Tegra (the document names no model)"

[expect]
first = "launch_configuration"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void transpose_parallel_per_row(const float *in, float *out, int n)
{
    int i = threadIdx.x;

    for (int j = 0; j < n; j++)
        out[j + i * n] = in[i + j * n];
}
// ncuview: end kernel
