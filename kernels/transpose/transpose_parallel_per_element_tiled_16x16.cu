/*--- ncuview
schema = 1
name = "transpose_parallel_per_element_tiled_16x16"
family = "transpose"
step_number = 14
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Granularity of Parallelism"
teaches = "A smaller tile: fewer threads wait at each barrier and a column of 16 conflicts eight ways instead of 32."
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
after = "transpose_parallel_per_element_tiled_32x32"
applies = "fewer_barriers"
not_first = "The step also reduces a 32-way conflict to a 16-way one; a padded tile has no conflict and keeps the block, so it comes first."

[reported]
rate = 4.44258
unit = "ms"
gpu = "Tegra (the document names no model)"

[expect]
first = "thread_coarsening"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#define K 16

// ncuview: begin kernel
__global__ void transpose_parallel_per_element_tiled_16x16(const float *in, float *out, int n)
{
    __shared__ float tile[K][K];

    int inCol = blockIdx.x * K, inRow = blockIdx.y * K;

    tile[threadIdx.y][threadIdx.x] = in[(inRow + threadIdx.y) * n + inCol + threadIdx.x];
    __syncthreads();
    out[(inCol + threadIdx.y) * n + inRow + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ncuview: end kernel
