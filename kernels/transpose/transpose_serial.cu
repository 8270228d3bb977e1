/*--- ncuview
schema = 1
name = "transpose_serial"
family = "transpose"
step_number = 10
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Transpose 'C' code: GPU version 1"
teaches = "One thread transposes the complete matrix: the CPU program moved to the GPU, without any parallelism."
better = "transpose_parallel_per_element"
oracle = "transpose_CPU"

[sizes]
n = 1024

# ncuview: begin launch
[launch]
grid = ["1"]
block = ["1"]
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

[reported]
rate = 963.833
unit = "ms"
gpu = "Tegra (the document names no model)"

[expect]
first = "launch_configuration"
quiet = ["shared_memory_padding"]
---*/

// ncuview: begin kernel
__global__ void transpose_serial(const float *in, float *out, int n)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            out[j + i * n] = in[i + j * n];
}
// ncuview: end kernel
