/*--- ncuview
schema = 1
name = "transposeNoBankConflicts"
family = "transpose"
step_number = 22
document = "CUDA Optimization with Parallel Transpose (Lee, Yoo)"
section = "Shared memory bank conflicts 6"
teaches = "One padding column spreads a column of the tile over all 32 banks; the transpose now runs at memory speed."
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

[step]
after = "transposeCoalesced"
applies = "shared_memory_padding"

[reported]
rate = 144.3
unit = "GB/s"
gpu = "Tesla K20c"

[expect]
verdict = "near-peak"
quiet = ["shared_memory_padding", "diagonal_mapping", "fewer_barriers"]
---*/

#define TILE_DIM 32
#define BLOCK_ROWS 8

// ncuview: begin kernel
__global__ void transposeNoBankConflicts(float *odata, const float *idata, int n)
{
    // ncuview: begin tile
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];
    // ncuview: end tile

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * n + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;

    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        odata[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
// ncuview: end kernel
