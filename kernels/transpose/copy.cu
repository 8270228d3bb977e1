/*--- ncuview
schema = 1
name = "copy"
family = "transpose"
step_number = 1
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "A simple copy kernel 1"
teaches = "The yardstick: the same bytes as a transpose, with every access coalesced. A transpose is finished when it takes as long as a copy."
better = "copySharedMem"
oracle = "copy_CPU"

[sizes]
n = 8192

# ncuview: begin launch
[launch]
grid = ["n / 32", "n / 32"]
block = ["32", "8"]
# ncuview: end launch

[[args]]
name = "odata"
kind = "out float32[n, n]"

[[args]]
name = "idata"
kind = "in float32[n, n]"

[[args]]
name = "n"
kind = "int32 = n"

[useful]
bytes = "2 * 4 * n * n"

[reported]
rate = 136.0
unit = "GB/s"
gpu = "Tesla K20c"

[expect]
first = "unrolling"
quiet = ["coalescing", "shared_memory_tiling", "shared_memory_padding"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void copy(float *odata, const float *idata, int n)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    // odata may alias idata, so each load waits for the store before it.
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * n + x] = idata[(y + j) * n + x];
}
// ncuview: end kernel
