/*--- ncuview
schema = 1
name = "transpose_parallel_per_element_tiled_32x32"
family = "transpose"
step_number = 13
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Deep Dive: transpose_parallel_per_element_tiled 32x32"
teaches = "A 32x32 tile makes both sides coalesced; 1024 threads wait at one barrier and every column read is a 32-way bank conflict."
better = "matrixTransposeSharedPad"
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
after = "transpose_parallel_per_element"
applies = "shared_memory_tiling"

[reported]
rate = 9.39575
unit = "ms"
gpu = "Tegra (the document names no model)"

[expect]
first = "shared_memory_padding"
quiet = ["coalescing", "shared_memory_tiling"]
---*/

#define K 32

// ncuview: begin kernel
__global__ void transpose_parallel_per_element_tiled_32x32(const float *in, float *out, int n)
{
    __shared__ float tile[K][K];

    int inCol = blockIdx.x * K, inRow = blockIdx.y * K;

    tile[threadIdx.y][threadIdx.x] = in[(inRow + threadIdx.y) * n + inCol + threadIdx.x];
    __syncthreads();
    out[(inCol + threadIdx.y) * n + inRow + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
// ncuview: end kernel
