/*--- ncuview
schema = 1
name = "transposeNaive"
family = "transpose"
step_number = 20
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "A naive transpose kernel"
teaches = "Rows are read, columns are written: each store of a warp touches 32 different sectors."
better = "transposeNoBankConflicts"
oracle = "transpose_CPU"

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
rate = 55.3
unit = "GB/s"
gpu = "Tesla K20c"

[expect]
first = "shared_memory_tiling"
quiet = ["shared_memory_padding", "divergence_removal"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void transposeNaive(float *odata, const float *idata, int n)
{
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[x * n + (y + j)] = idata[(y + j) * n + x];
}
// ncuview: end kernel
