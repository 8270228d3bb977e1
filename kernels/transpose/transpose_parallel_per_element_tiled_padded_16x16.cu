/*--- ncuview
schema = 1
name = "transpose_parallel_per_element_tiled_padded_16x16"
family = "transpose"
step_number = 15
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Deep Dive: transpose_parallel_per_element_tiled_padded 16x16"
teaches = "One padding column removes the bank conflicts of the 16x16 tile."
better = "transposeNoBankConflicts"
oracle = "transpose_CPU"

[sizes]
n = 8192

# ncuview: begin launch
[launch]
grid = ["n / 16", "n / 16"]
block = ["16", "16"]
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
after = "transpose_parallel_per_element_tiled_16x16"
applies = "shared_memory_padding"
not_first = "With one element per thread too few bytes are in flight; several elements per thread come first."

[reported]
rate = 4.073
unit = "ms"
gpu = "Tegra (the document names no model)"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#define K 16

// ncuview: begin kernel
__global__ void transpose_parallel_per_element_tiled_padded_16x16(const float *in, float *out, int n)
{
    __shared__ float tile[K][K + 1];

    int inCol = blockIdx.x * K, inRow = blockIdx.y * K;

    tile[threadIdx.y][threadIdx.x] = in[(inRow + threadIdx.y) * n + inCol + threadIdx.x];
    __syncthreads();
    out[(inCol + threadIdx.y) * n + inRow + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ncuview: end kernel
